"""From a sound policy to the frontier: every probability lowered as far as the exact leakage allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats, Secret, local_leakage
from reticent.redaction.probabilities import mean_laws, on_grid

FINEST = 2.0**-36


def to_frontier(
    chains: Sequence[MarkovChain], secrets: Sequence[Secret], r: Floats, free: Bools, epsilon: float
) -> Floats:
    """Lower the probabilities of the `free` records one by one, the commonest values first, by bisection.

    Leakage is monotone in each of them, and only secrets up to the next record that is always released are concerned.
    The result keeps its exact leakage at most `epsilon`, if `r` does.
    """
    n = len(r)
    r = on_grid(r)
    always = (r == 0).all(axis=1)
    weights = mean_laws(chains, n)
    entries = np.argwhere((r > 0) & free[:, None] & (weights > 0))
    order = np.lexsort((np.arange(len(entries)), -weights[entries[:, 0], entries[:, 1]]))

    def sound(t: int, v: int, value: float) -> bool:
        before, r[t, v] = r[t, v], value
        inside = all(local_leakage(chain, r, secret) <= epsilon for secret in concerned[t] for chain in chains)
        r[t, v] = before
        return inside

    concerned = {int(t): _concerned(int(t), always, secrets) for t in np.unique(entries[:, 0])}
    for t, v in entries[order]:
        high = float(r[t, v])
        if not sound(t, v, max(0.0, high - 1e-9)):
            continue
        low = 0.0
        if sound(t, v, 0.0):
            r[t, v] = 0.0
            continue
        while high - low > FINEST:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if sound(t, v, middle) else (middle, high)
        rounded = math.ceil(high / FINEST) * FINEST  # coarse enough that equal surroundings give equal numbers
        if rounded < r[t, v] and sound(t, v, rounded):
            r[t, v] = rounded
    return r


def _concerned(t: int, always: Bools, secrets: Sequence[Secret]) -> list[Secret]:
    """Secrets that see record t: no record in between is always released."""
    shown = np.flatnonzero(always)
    i = int(np.searchsorted(shown, t))
    low = int(shown[i - 1]) if i else -1
    high = int(shown[i]) if i < shown.size else len(always)
    return [secret for secret in secrets if secret[1] > low and secret[0] < high]
