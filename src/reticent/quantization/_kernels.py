"""Compiled loops over records: codes from exact thresholds."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

MISSING = -1


@numba.njit(cache=True)
def encode_equal(x: Any, thresholds: Any, low: float, scale: float, below: int, above: int, codes: Any) -> int:
    """Codes of values in equal cells: an arithmetic guess, corrected by the exact thresholds.

    `thresholds` has all levels + 1 entries. Returns how many values lie outside the range.
    """
    top = thresholds.size - 1
    first, last = thresholds[0], thresholds[top]
    outside = 0
    for i in range(x.size):
        value = x[i]
        if value >= first and value < last:
            cell = min(max(int((np.float64(value) - low) * scale), 0), top - 1)
            while value < thresholds[cell]:
                cell -= 1
            while value >= thresholds[cell + 1]:
                cell += 1
            codes[i] = cell
        elif value < first:
            codes[i] = below
            outside += 1
        elif value >= last:
            codes[i] = above
            outside += 1
        else:
            codes[i] = MISSING
    return outside


@numba.njit(cache=True)
def encode_search(x: Any, thresholds: Any, levels: int, below: int, above: int, codes: Any) -> int:
    """Codes of values in any cells, by binary search; unreachable thresholds may have been left off."""
    size = thresholds.size
    outside = 0
    for i in range(x.size):
        value = x[i]
        if value != value:
            codes[i] = MISSING
            continue
        start, rest = 0, size
        while rest > 0:
            half = rest >> 1
            right = value >= thresholds[start + half]
            start = start + half + 1 if right else start
            rest = rest - half - 1 if right else half
        if start == 0:
            codes[i] = below
            outside += 1
        elif start > levels:
            codes[i] = above
            outside += 1
        else:
            codes[i] = start - 1
    return outside
