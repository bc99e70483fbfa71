"""Compiled samplers: each draws whole words and rearranges indices in place.

A ``*_series`` kernel releases instants ``t … stop - 1`` of the series held in ``order[:end]`` and returns how far it
came and the next unused word. It stops before an instant for which the words do not suffice, with nothing of that instant
drawn, so that output never depends on how words or records are cut into chunks. A ``*_batch`` kernel does that for
many series of one flat array and marks those that ran out of words, whose indices it puts back.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@nb.njit(cache=True)
def reset(order: Indices, start: int, end: int) -> None:
    """The identity on ``order[start:end]``."""
    for t in range(start, end):
        order[t] = t


@nb.njit(cache=True)
def mallows_series(
    order: Indices,
    t: int,
    stop: int,
    end: int,
    words: Words,
    w: int,
    w_end: int,
    reach: int,
    cumulative: Words,
    shifts: Words,
    guide: Indices,
    guide_shift: Any,
) -> tuple[int, int]:
    """MallowsSwitch: the r-th oldest of the next `reach` values, by weights ``diff(cumulative)``.

    Ranks beyond the table: the weight 2^64 - cumulative[-1] means "as many again and draw once more", which the law's
    lack of memory makes exact. Where fewer values are left than the table has ranks, a whole number below their total
    weight is drawn by rejection.
    """
    table = cumulative.size
    top = cumulative[table - 1]
    while t < stop:
        first = w
        limit = min(reach, end - t)
        rank = 0
        if limit <= table:
            if limit > 1:
                total = cumulative[limit - 1]
                shift = shifts[limit - 1]
                while True:
                    if w == w_end:
                        return t, first
                    u = words[w] >> shift
                    w += 1
                    if u < total:
                        break
                rank = guide[np.int64(u >> guide_shift)]
                while u >= cumulative[rank]:
                    rank += 1
        else:
            base = 0
            while True:
                if w == w_end:
                    return t, first
                u = words[w]
                w += 1
                if u >= top:
                    base += table
                    if base >= limit:
                        base = 0
                    continue
                rank = guide[np.int64(u >> guide_shift)]
                while u >= cumulative[rank]:
                    rank += 1
                rank += base
                if rank < limit:
                    break
                base = 0
        if rank > 0:
            released = order[t + rank]
            for place in range(t + rank, t, -1):
                order[place] = order[place - 1]
            order[t] = released
        t += 1
    return t, w


@nb.njit(cache=True)
def mallows_batch(
    order: Indices,
    offsets: Indices,
    chosen: Indices,
    words: Words,
    word_offsets: Indices,
    done: NDArray[np.bool_],
    reach: int,
    cumulative: Words,
    shifts: Words,
    guide: Indices,
    guide_shift: Any,
) -> None:
    """`mallows_series` for the series `chosen`, each with its own words."""
    for index in range(chosen.size):
        start, end = offsets[chosen[index]], offsets[chosen[index] + 1]
        t, _ = mallows_series(
            order, start, end, end, words, word_offsets[index], word_offsets[index + 1],
            reach, cumulative, shifts, guide, guide_shift,
        )  # fmt: skip
        done[index] = t == end
        if t < end:
            reset(order, start, end)


@nb.njit(cache=True)
def buffer_ranks(order: Indices, reach: int) -> Indices:
    """Rank of each released value among those still waiting, oldest first; -1 where it was not within `reach`."""
    n = order.size
    waiting = np.arange(n)
    ranks = np.empty(n, dtype=np.int64)
    for t in range(n):
        limit = min(reach, n - t)
        rank = 0
        while rank < limit and waiting[t + rank] != order[t]:
            rank += 1
        if rank == limit:
            ranks[t] = -1
            return ranks[: t + 1]
        for place in range(t + rank, t, -1):
            waiting[place] = waiting[place - 1]
        ranks[t] = rank
    return ranks


@nb.njit(cache=True)
def early_release(weights: Floats, steps: int) -> float:
    """Probability that a value is released before another enters the buffer, the largest over where it starts.

    D_s(r), released within s steps from rank r, by the recursion of the design; a value i enters at the highest rank,
    or starts at rank i with so many steps fewer.
    """
    reach = weights.size
    below = np.empty(reach)
    above = np.empty(reach)
    total = 0.0
    for r in range(reach):
        below[r] = total
        total += weights[r]
    rest = 0.0
    for r in range(reach - 1, -1, -1):
        above[r] = rest
        rest += weights[r]
    released = np.zeros(reach)
    worst = 0.0
    for s in range(1, steps + 1):
        for r in range(reach - 1, -1, -1):
            falls = below[r] * released[r - 1] if r > 0 else 0.0
            released[r] = (weights[r] + falls + above[r] * released[r]) / total
        start = reach - 1 - (steps - s)
        if start >= 0:
            worst = max(worst, released[start])
    return worst


@nb.njit(cache=True)
def mallows_displacement(weights: Floats, tail: float) -> Floats:
    """Law of (release step) of a value that enters at the highest rank, until less than `tail` is still waiting."""
    reach = weights.size
    below = np.empty(reach)
    total = 0.0
    for r in range(reach):
        below[r] = total
        total += weights[r]
    above = np.empty(reach)
    rest = 0.0
    for r in range(reach - 1, -1, -1):
        above[r] = rest
        rest += weights[r]
    mass = np.zeros(reach)
    mass[reach - 1] = 1.0
    low = reach - 1
    law = []
    waiting = 1.0
    while waiting > tail:
        out = 0.0
        low = max(low - 1, 0)
        for r in range(low, reach):
            out += mass[r] * weights[r]
            falls = mass[r + 1] * below[r + 1] if r + 1 < reach else 0.0
            mass[r] = (mass[r] * above[r] + falls) / total
        law.append(out / total)
        waiting = 0.0
        for r in range(low, reach):
            waiting += mass[r]
    return np.array(law)
