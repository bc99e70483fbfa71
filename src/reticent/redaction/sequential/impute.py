"""A secret that is missing in the data: its value is drawn, so that the release is as if it were there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.markov import MarkovChain

Ints = NDArray[np.int64]


def fill(
    chain: MarkovChain, n: int, codes: Ints, starts: Ints, records: Sequence[int], words: NDArray[np.uint64]
) -> Ints:
    """Values of some records in many series, shape (records, series).

    Where such a record is missing its value is drawn given the nearest known records on either side, those drawn
    before it included: together with the known ones it then has the law of the chain, and so has the release.
    """
    values = codes[starts[None, :] + np.asarray(records, dtype=np.int64)[:, None]]
    for k in np.flatnonzero((values < 0).any(axis=0)):
        series = codes[starts[k] : starts[k] + n].copy()
        for i, record in enumerate(records):
            if series[record] < 0:
                law = np.cumsum(_law(chain, series, record))
                uniform = float(words[i, k]) * 2.0**-64
                series[record] = min(int(np.searchsorted(law, uniform * law[-1], side="right")), chain.size - 1)
            values[i, k] = series[record]
    return values


def _law(chain: MarkovChain, series: Ints, record: int) -> NDArray[np.float64]:
    """Law of a missing record given the nearest known ones, not normalised."""
    known = np.flatnonzero(series >= 0)
    place = int(np.searchsorted(known, record))
    if place == 0:
        law = chain.law(record)
    else:
        before = int(known[place - 1])
        law = np.eye(chain.size)[series[before]]
        for t in range(before, record):
            law = law @ chain.step(t)
    if place == known.size:
        return law
    after = int(known[place])
    later = np.eye(chain.size)[:, series[after]]
    for t in range(after - 1, record - 1, -1):
        later = chain.step(t) @ later
    return law * later
