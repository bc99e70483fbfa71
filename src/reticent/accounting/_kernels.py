"""Compiled parts of the ledger."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import kernel

_CROWDED = 256  # codes in one bucket: these are not the keyed codes of as many series


@kernel
def sort_codes(codes: NDArray[np.uint64], found: NDArray[np.uint64], order: NDArray[np.int64]) -> bool:
    """Sort codes that are spread evenly: first into buckets of about ten, then each bucket by insertion.

    Writes ``found = codes[order]``, ascending. False where the codes are not spread evenly; then nothing is sorted.
    """
    bits = 1
    while codes.size >> (bits + 3) > 0:
        bits += 1
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    for code in codes:
        starts[np.int64(code >> shift) + 1] += 1
    if starts.max() > _CROWDED:
        return False
    for after in range(1, starts.size):
        starts[after] += starts[after - 1]
    free = starts.copy()
    for i in range(codes.size):
        own_bucket = np.int64(codes[i] >> shift)
        spot = free[own_bucket]
        found[spot], order[spot] = codes[i], i
        free[own_bucket] = spot + 1
    for bucket in range(starts.size - 1):
        first = starts[bucket]
        for i in range(first + 1, starts[bucket + 1]):
            code, own, place = found[i], order[i], i
            while place > first and found[place - 1] > code:
                found[place], order[place] = found[place - 1], order[place - 1]
                place -= 1
            found[place], order[place] = code, own
    return True
