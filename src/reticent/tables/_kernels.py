"""Compiled loops over rows: where each belongs, so that a file is put in order without comparing its series.

Each first release compiles them, so they hold little that takes long to compile: no arrays, tuples, min or max.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from reticent.compiled import kernel

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Marks = NDArray[np.uint8]

_FEW = 24  # rows that are put in order by insertion alone
_MOVES = 16  # of insertion, for each row, before another way is better

_codes = nb.types.Array(nb.int32, 1, "C", readonly=True)
_int32, _int64, _bool = nb.int32[::1], nb.int64[::1], nb.boolean[::1]


@kernel(nb.void(_codes, _int64, _int64))
def next_places(codes: Codes, free: Ints, places: Ints) -> None:
    """The next free place of each row's group, which is then taken."""
    for i in range(codes.size):
        place = free[codes[i]]
        free[codes[i]] = place + 1
        places[i] = place


@kernel(nb.void(_int64, _int64, _int32, _bool, _int32, _int64, _int32))
def order_in_time(ticks: Ints, starts: Ints, rows: Codes, left: Bools, ends: Codes, ticks2: Ints, rows2: Codes) -> None:
    """Sort the times of each series in place; `rows` becomes where each came from.

    Those that do not rise are put into as many equal stretches as there are rows, then sorted by insertion: linear if
    times are spread about evenly, as those of a series are. Series where they are not are marked as `left`, with the
    rows in some order and much to do. The last three are scratch space for the longest series (one more for `ends`).
    """
    for s in range(starts.size - 1):
        a = starts[s]
        b = starts[s + 1]
        n = b - a
        left[s] = False
        rising = True
        for i in range(a, b):
            rows[i] = i
            rising &= i == a or ticks[i - 1] <= ticks[i]
        if rising:
            continue
        if n > _FEW:
            low = high = ticks[a]
            for i in range(a, b):
                tick = ticks[i]
                if tick < low:
                    low = tick
                if tick > high:
                    high = tick
            first = np.uint64(low)
            scale = n / (np.float64(np.uint64(high) - first) + 1.0)
            for k in range(n + 1):
                ends[k] = 0
            for i in range(a, b):
                k = int(np.float64(np.uint64(ticks[i]) - first) * scale)
                if k >= n:
                    k = n - 1
                ends[k + 1] += 1
            for k in range(n):
                ends[k + 1] += ends[k]
            for i in range(a, b):
                k = int(np.float64(np.uint64(ticks[i]) - first) * scale)
                if k >= n:
                    k = n - 1
                j = ends[k]
                ends[k] = j + 1
                ticks2[j] = ticks[i]
                rows2[j] = rows[i]
            for j in range(n):
                ticks[a + j] = ticks2[j]
                rows[a + j] = rows2[j]
        moves = _MOVES * n
        for i in range(a + 1, b):
            tick = ticks[i]
            row = rows[i]
            j = i
            while j > a and ticks[j - 1] > tick:
                ticks[j] = ticks[j - 1]
                rows[j] = rows[j - 1]
                j -= 1
            ticks[j] = tick
            rows[j] = row
            moves -= i - j
            if n > _FEW and moves < 0:
                left[s] = True
                break


@kernel
def first_alike(marks: Marks, offsets: Ints, phases: Ints, chosen: Ints, table: Ints, first: Ints) -> None:
    """For each chosen series the first of them that has the same marks and phase, compared in full.

    A hash only says where to look, so that what falls on one place is never taken for the same. `table` is for the
    places: more than series, a power of two, all -1.
    """
    for i in range(chosen.size):
        s = chosen[i]
        a = offsets[s]
        n = offsets[s + 1] - a
        code = np.uint64(phases[s]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(n)
        for j in range(a, a + n):
            code = (code ^ np.uint64(marks[j])) * np.uint64(0x100000001B3)
        place = np.int64((code >> np.uint64(20)) & np.uint64(table.size - 1))
        while True:
            other = table[place]
            if other < 0:
                table[place] = s
                first[i] = s
                break
            b = offsets[other]
            same = offsets[other + 1] - b == n and phases[other] == phases[s]
            j = 0
            while same and j < n:
                same = marks[a + j] == marks[b + j]
                j += 1
            if same:
                first[i] = other
                break
            place = (place + 1) & (table.size - 1)


@kernel
def place_on_grid(ticks: Ints, offsets: Ints, step: int, positions: Ints) -> int:
    """The step of each record within its series, of which the first (zero) is there; how many records share one.

    The difference to the record before, over `step`, is rounded half up.
    """
    shared = 0
    for s in range(offsets.size - 1):
        place = 0
        for i in range(offsets[s] + 1, offsets[s + 1]):
            difference = ticks[i] - ticks[i - 1]
            count = 1 if difference == step else (2 * difference + step) // (2 * step)
            if count < 1:
                shared += 1
            place += count
            positions[i] = place
    return shared
