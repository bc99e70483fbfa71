"""Probabilities of redaction as the machine uses them, which of them count, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats

GRID = 2.0**64


def on_grid(probabilities: Floats) -> Floats:
    """Rounded up to multiples of 2^-64: a record is withheld where a 64-bit word is below ``r · 2^64``.

    Redacting more never leaks more, so upwards is towards safety. Doubles from 2^-11 on are such multiples already.
    """
    return np.ceil(probabilities * GRID) / GRID


def stretch(n: int, low: int, r: Floats, gaps: NDArray[np.int64]) -> tuple[int, Floats]:
    """(first record, probabilities) of the stretch that counts, see `RedactionPolicy`; `r` begins at record `low`.

    From the first to the last record that is not missing and may be withheld, and on either side on to the next record
    that is there: nothing is ever withheld of it, so the walk away from a secret ends there.
    """
    acts: Bools = np.asarray((r > 0).any(axis=1))
    acts[gaps[(gaps >= low) & (gaps < low + len(r))] - low] = False
    first, last = (low + int(t) for t in np.flatnonzero(acts)[[0, -1]])
    before, after = gaps[gaps < first], gaps[gaps > last]
    skipped = before.size - int(np.searchsorted(before - np.arange(before.size), first - before.size))
    begin = max(0, first - skipped - 1)
    end = min(n - 1, last + 1 + int(np.searchsorted(after - np.arange(after.size), last + 1, side="right")))
    near = np.zeros((end - begin + 1, r.shape[1]))
    near[first - begin : last - begin + 1] = on_grid(r[first - low : last - low + 1])
    near[gaps[(gaps >= begin) & (gaps <= end)] - begin] = 1.0
    return begin, near


def expected_loss(chain: MarkovChain, r: Floats) -> float:
    """Expected number of withheld records: one for each that is surely withheld, however a law is rounded."""
    laws = chain.laws[(chain.phase + np.arange(len(r))) % chain.period]
    return float((1.0 - ((1.0 - r) * laws).sum(axis=1)).sum())


def mean_laws(chains: Sequence[MarkovChain], n: int) -> Floats:
    """Law of each record, averaged over the listed chains, shape (n, s): the weights of a design's objective."""
    return np.mean([chain.laws[(chain.phase + np.arange(n)) % chain.period] for chain in chains], axis=0)
