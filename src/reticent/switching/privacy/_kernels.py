"""Compiled analyses: the exact laws of single values, and the replay of drawn permutations."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


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


@nb.njit(cache=True)
def count_cycles(order: Indices) -> int:
    """Number of cycles of a permutation."""
    seen = np.zeros(order.size, dtype=np.bool_)
    cycles = 0
    for start in range(order.size):
        if not seen[start]:
            cycles += 1
            place = start
            while not seen[place]:
                seen[place] = True
                place = order[place]
    return cycles


@nb.njit(cache=True)
def endless_displacement(rate: float, farthest: int) -> Floats:
    """Pr(displacement d), 0 ≤ d < farthest, of MallowsSwitch in an endless series: a sum over r of positive terms.

    Term r+1 is term r times q^{2r+d+3}/((1-q^{r+1})(1-q^{r+d+1})), which is one near r = ln(1+q^d)/rate: from there
    outwards until terms no longer count.
    """
    most = 2 * farthest + 2
    power = np.exp(-rate * np.arange(most + 1))
    log_product = np.zeros(most + 1)  # ln (q; q)_r
    for r in range(1, most + 1):
        log_product[r] = log_product[r - 1] + np.log(-np.expm1(-rate * r))
    law = np.empty(farthest)
    for d in range(farthest):
        peak = int(np.log1p(power[d]) / rate)
        exponent = peak * (peak + d) + 2.0 * peak + d
        highest = np.exp(-rate * exponent + log_product[most] - log_product[peak] - log_product[peak + d])
        total, term, r = highest, highest, peak
        while term > 1e-18 * total and r + d + 1 < most:
            term *= power[r] * power[r] * power[d] * power[3] / ((1 - power[r + 1]) * (1 - power[r + d + 1]))
            total += term
            r += 1
        term, r = highest, peak
        while term > 1e-18 * total and r > 0:
            r -= 1
            term *= (1 - power[r + 1]) * (1 - power[r + d + 1]) / (power[r] * power[r] * power[d] * power[3])
            total += term
        law[d] = -np.expm1(-rate) * total
    return law
