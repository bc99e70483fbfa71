"""Local designs one secret at a time: only the records near it matter, and equal surroundings are designed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats, Secret, covered

Design = Callable[[tuple[MarkovChain, ...], Secret, bytes, float], Floats]
"""(chains, secret, present as bytes, ε) to probabilities of redaction, for a stretch of records."""

_FADED = 1 / 64  # of ε: beyond the distance at which the influence is below it, records are released
_MORE = 16  # records looked at beyond it


def one_by_one(
    chains: Sequence[MarkovChain],
    n: int,
    secrets: Sequence[Secret],
    missing: Sequence[int],
    epsilon: float,
    design: Design,
) -> Floats:
    """The strictest of the rules that `design` makes about each secret, shape (n, s).

    Withholding more never leaks more, so each secret keeps what it was designed for. A rule for the records nearby is
    extended outward: where one of them is always released, whatever lies beyond is independent of the secret given it,
    and is released; otherwise it is withheld.
    """
    present = ~covered(secrets, n)
    present[list(missing)] = False
    inner = epsilon - min(1e-12, epsilon / 1000)  # the strictest of several rules may round differently
    r = np.zeros((n, chains[0].size))
    for secret in secrets:
        low, high = _stretch(chains, n, secret, epsilon)
        near = present[low : high + 1]
        inside = (secret[0] - low, secret[1] - low)
        rule = design(tuple(chain.shifted(low) for chain in chains), inside, near.tobytes(), inner)
        r[low : high + 1] = np.maximum(r[low : high + 1], rule)
        shown = (rule == 0).all(axis=1) & near
        if not shown[: inside[0]].any():
            r[:low] = 1.0
        if not shown[inside[1] + 1 :].any():
            r[high + 1 :] = 1.0
    return r


def as_present(pattern: bytes) -> Bools:
    """The records that can be released, from the bytes that a `Design` is given."""
    return np.frombuffer(pattern, dtype=np.bool_)


def _stretch(chains: Sequence[MarkovChain], n: int, secret: Secret, epsilon: float) -> Secret:
    """First and last record near a secret."""
    from reticent.redaction import kernels

    first, last = secret
    enough, before, after = epsilon * _FADED, 0, 0
    for chain in chains:
        live_first, live_last = chain.law(first) > 0, chain.law(last) > 0
        left = kernels.influences(chain.backs, chain.phase, first, -1, first, live_first, enough)
        right = kernels.influences(chain.transitions, chain.phase, last, 1, n - 1 - last, live_last, enough)
        before, after = max(before, len(left) + _MORE), max(after, len(right) + _MORE)
    return max(0, first - before), min(n - 1, last + after)
