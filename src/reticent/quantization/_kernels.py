"""Compiled loops over records: codes from exact thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.compiled import kernel

MISSING = -1


@kernel
def encode_guess(
    x: Any, thresholds: Any, low: float, scale: float, start: Any, below: int, above: int, codes: Any
) -> int:
    """Codes of values by an arithmetic guess, corrected by the exact thresholds.

    Bucket ``int((x - low) * scale)`` begins about in cell ``start[bucket]``; `thresholds` has all levels + 1 entries.
    Returns how many values lie outside the range.
    """
    first = thresholds[0]
    last = thresholds[thresholds.size - 1]
    final = start.size - 1
    outside = 0
    for i in range(x.size):
        value = x[i]
        if value >= first and value < last:
            bucket = int((np.float64(value) - low) * scale)
            if bucket < 0:
                bucket = 0
            elif bucket > final:
                bucket = final
            cell = start[bucket]
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


@kernel
def encode_search(x: Any, thresholds: Any, levels: int, below: int, above: int, codes: Any) -> int:
    """Codes of values in any cells, by binary search; unreachable thresholds may have been left off."""
    size = thresholds.size
    outside = 0
    for i in range(x.size):
        value = x[i]
        if value != value:
            codes[i] = MISSING
            continue
        start = 0
        rest = size
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


def largest_sums(contributions: Any, offsets: Any, largest: int) -> Any:
    """Per group, the sum of its `largest` largest contributions (0: of all of them), exact in int64."""
    out = np.zeros(offsets.size - 1, dtype=np.int64)
    _largest_sums(contributions, offsets, largest, np.zeros(largest, dtype=np.int64), out)
    return out


@kernel
def _largest_sums(contributions: Any, offsets: Any, largest: int, top: Any, out: Any) -> None:
    for g in range(out.size):
        if largest == 0:
            for i in range(offsets[g], offsets[g + 1]):
                out[g] += contributions[i]
            continue
        for k in range(largest):
            top[k] = 0
        for i in range(offsets[g], offsets[g + 1]):
            value = contributions[i]
            k = largest - 1
            if value <= top[k]:
                continue
            while k > 0 and top[k - 1] < value:
                top[k] = top[k - 1]
                k -= 1
            top[k] = value
        for k in range(largest):
            out[g] += top[k]


@kernel
def group_sums(units: Any, groups: Any, out: Any) -> None:
    """Exact sums by group, added to `out`."""
    for i in range(units.size):
        out[groups[i]] += units[i]


@kernel
def group_extremes(units: Any, groups: Any, sign: int, out: Any) -> None:
    """Largest of sign × units by group, kept in `out`."""
    for i in range(units.size):
        value = sign * units[i]
        if value > out[groups[i]]:
            out[groups[i]] = value
