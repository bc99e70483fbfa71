"""Compiled analyses: the exact laws of single values, and the replay of drawn permutations.

What a first release needs makes its arrays in Python: in a compiled function that takes long to compile.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import kernel

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

_STEPS = 4096  # of a displacement law, found together


@kernel
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


def early_release(weights: Floats, steps: int) -> float:
    """Probability that a value is released before another enters the buffer, the largest over where it starts.

    D_s(r), released within s steps from rank r, by the recursion of the design; a value i enters at the highest rank,
    or starts at rank i with so many steps fewer.
    """
    return float(_early_release(weights, *_around(weights), steps, np.zeros(weights.size)))


@kernel
def _early_release(weights: Floats, below: Floats, above: Floats, total: float, steps: int, released: Floats) -> float:
    reach = weights.size
    worst = 0.0
    for s in range(1, steps + 1):
        for r in range(reach - 1, -1, -1):
            falls = below[r] * released[r - 1] if r > 0 else 0.0
            released[r] = (weights[r] + falls + above[r] * released[r]) / total
        start = reach - 1 - (steps - s)
        if start >= 0 and released[start] > worst:
            worst = released[start]
    return worst


def _around(weights: Floats) -> tuple[Floats, Floats, float]:
    """Total weight of the ranks below each, of those above, and of all."""
    below = np.concatenate([[0.0], np.cumsum(weights)])
    above = np.concatenate([[0.0], np.cumsum(weights[::-1])])
    return below[:-1], above[-2::-1].copy(), float(below[-1])


def mallows_displacement(weights: Floats, tail: float) -> Floats:
    """Law of (release step) of a value that enters at the highest rank, until less than `tail` is still waiting."""
    below, above, total = _around(weights)
    mass = np.zeros(weights.size)
    mass[-1] = 1.0
    law: list[Floats] = []
    done = False
    while not done:
        part = np.empty(_STEPS)
        low = max(weights.size - 1 - len(law) * _STEPS, 0)
        count = _wait(weights, below, above, total, tail, low, mass, part)
        law.append(part[: abs(count)])
        done = count > 0
    return np.concatenate(law)


@kernel
def _wait(
    weights: Floats, below: Floats, above: Floats, total: float, tail: float, low: int, mass: Floats, law: Floats
) -> int:
    """The next steps of `mallows_displacement`: how many, negative if more are to come."""
    reach = weights.size
    for step in range(law.size):
        if low > 0:
            low -= 1
        out = 0.0
        for r in range(low, reach):
            out += mass[r] * weights[r]
            falls = mass[r + 1] * below[r + 1] if r + 1 < reach else 0.0
            mass[r] = (mass[r] * above[r] + falls) / total
        law[step] = out / total
        waiting = 0.0
        for r in range(low, reach):
            waiting += mass[r]
        if waiting <= tail:
            return step + 1
    return -law.size


@kernel
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


def endless_displacement(rate: float, farthest: int) -> Floats:
    """Pr(displacement d), 0 ≤ d < farthest, of MallowsSwitch in an endless series: a sum over r of positive terms.

    Term r+1 is term r times q^{2r+d+3}/((1-q^{r+1})(1-q^{r+d+1})), which is one near r = ln(1+q^d)/rate: from there
    outwards until terms no longer count.
    """
    most = 2 * farthest + 2
    law = np.empty(farthest)
    _endless(rate, np.empty(most + 1), np.zeros(most + 1), law)
    return law


@kernel
def _endless(rate: float, power: Floats, log_product: Floats, law: Floats) -> None:
    most = power.size - 1
    for r in range(most + 1):
        power[r] = math.exp(-rate * r)
        if r > 0:  # ln (q; q)_r
            log_product[r] = log_product[r - 1] + math.log(-math.expm1(-rate * r))
    for d in range(law.size):
        peak = int(math.log1p(power[d]) / rate)
        exponent = peak * (peak + d) + 2.0 * peak + d
        highest = math.exp(-rate * exponent + log_product[most] - log_product[peak] - log_product[peak + d])
        total = highest
        term = highest
        r = peak
        while term > 1e-18 * total and r + d + 1 < most:
            term *= power[r] * power[r] * power[d] * power[3] / ((1 - power[r + 1]) * (1 - power[r + d + 1]))
            total += term
            r += 1
        term = highest
        r = peak
        while term > 1e-18 * total and r > 0:
            r -= 1
            term *= (1 - power[r + 1]) * (1 - power[r + d + 1]) / (power[r] * power[r] * power[d] * power[3])
            total += term
        law[d] = -math.expm1(-rate) * total


@kernel
def stateful_log_probability(order: Indices, window: int, q: float) -> float:
    """ln Pr of a release of StaSwitch, by replaying the choices; -inf where one of them cannot be made."""
    n = order.size
    content = np.arange(n)
    place = np.arange(n)
    total = 0.0
    for t in range(n):
        offset = place[order[t]] - t
        reach = min(window - 1 - (t - content[t]), n - t - 1)
        if offset < 0 or offset > reach:
            return -np.inf
        total += np.log(q if offset > 0 else 1 - reach * q)
        other = content[t]
        content[t + offset] = other
        place[other] = t + offset
    return total


@kernel
def stateful_losses(
    words: NDArray[np.uint64],
    n: int,
    window: int,
    move: np.uint64,
    q: float,
    firsts: Indices,
    seconds: Indices,
    losses: Floats,
) -> None:
    """Privacy loss ln Pr(σ)/Pr(τσ) of every pair, for as many drawn releases σ of n records as `losses` has rows.

    The joint replay of `privacy.stateful`, with A drawn once for all pairs. `move` is q in units of 2^-64: no word is
    refused, and none used twice.
    """
    k = window
    content = np.empty(n + k, dtype=np.int64)
    offsets = np.empty(n, dtype=np.int64)
    late = np.empty(n, dtype=np.int64)
    w = 0
    for run in range(losses.shape[0]):
        for t in range(n + k):
            content[t] = t
        for t in range(n):
            late[t] = t - content[t]
            reach = min(k - 1 - late[t], n - t - 1)
            u = words[w]
            w += 1
            offsets[t] = 0
            if reach > 0 and u < move * np.uint64(reach):
                offsets[t] = 1 + np.int64(u // move)
                content[t + offsets[t]] = content[t]
        for pair in range(firsts.size):
            u, v = firsts[pair], seconds[pair]  # places
            late_u, late_v, a_u, a_v = 0, 0, 0, 0  # delays there, in B and in A
            loss = 0.0
            t = max(0, u - k + 1)
            while t < n:
                offset = offsets[t]
                reach_a = min(k - 1 - late[t], n - t - 1)
                here_b = late_u if u == t else late_v if v == t else late[t]
                reach_b = min(k - 1 - here_b, n - t - 1)
                place = t + offset
                found = v if place == u else u if place == v else place
                if found - t > reach_b:
                    loss = np.inf
                    break
                share_a = q if offset > 0 else 1 - reach_a * q
                share_b = q if found > t else 1 - reach_b * q
                if share_a != share_b:
                    loss += np.log(share_a / share_b)
                if u == v:
                    if place == u:
                        break
                    if u == t:
                        u = v = place
                        late_u = late_v = here_b + offset
                elif u == t or v == t:
                    other = v if u == t else u
                    if place in (t, other):
                        late_other = late_v if u == t else late_u
                        in_b = here_b + other - t if place == t else late_other
                        in_a = late[t] + offset if place == other else (a_v if u == t else a_u)
                        if in_a == in_b:
                            break
                        u = v = other
                        late_u = late_v = in_b
                        a_u = a_v = in_a
                    elif u == t:
                        u = place
                        late_u = here_b + offset
                        a_u = late[t] + offset
                    else:
                        v = place
                        late_v = here_b + offset
                        a_v = late[t] + offset
                elif place == u:
                    late_v = late[t] + v - t
                    a_u = late[t] + offset
                elif place == v:
                    late_u = late[t] + u - t
                    a_v = late[t] + offset
                t += 1
            losses[run, pair] = loss


@kernel
def mallows_losses(orders: Indices, log_weights: Floats, firsts: Indices, seconds: Indices, losses: Floats) -> None:
    """ln Pr(σ)/Pr(τσ) of MallowsSwitch for the exchange of i and j: only the ranks between their two releases change.

    If i goes first, at s, and j at u: i's rank grows by one and by the values between i and j that still wait, that of
    each of those released meanwhile by one, and j's falls by those left. The other way round, the reverse.
    """
    runs, n = orders.shape
    reach = log_weights.size
    slot = np.empty(n, dtype=np.int64)
    for run in range(runs):
        ranks = buffer_ranks(orders[run], reach)
        for t in range(n):
            slot[orders[run, t]] = t
        for pair in range(firsts.size):
            i, j = firsts[pair], seconds[pair]
            early, late = min(slot[i], slot[j]), max(slot[i], slot[j])
            sign = 1 if slot[i] < slot[j] else -1
            waiting_early, waiting_late = 0, 0
            loss = 0.0
            for x in range(i + 1, j):
                if slot[x] > late:
                    waiting_late += 1
                if slot[x] > early:
                    waiting_early += 1
                    if slot[x] < late:
                        rank = ranks[slot[x]]
                        loss += np.inf if rank + sign >= reach else log_weights[rank] - log_weights[rank + sign]
            rank = ranks[early] + sign * (1 + waiting_early)
            loss += np.inf if rank >= reach else log_weights[ranks[early]] - log_weights[rank]
            rank = ranks[late] - sign * waiting_late
            loss += np.inf if rank >= reach else log_weights[ranks[late]] - log_weights[rank]
            losses[run, pair] = loss


@kernel
def footrule_losses(
    orders: Indices, alpha: float, log_phi: float, firsts: Indices, seconds: Indices, losses: Floats
) -> None:
    """ln Pr(σ)/Pr(τσ) of FootruleSwitch: an exchange splits the cycle that holds both labels, or joins their two."""
    runs, n = orders.shape
    slot = np.empty(n, dtype=np.int64)
    cycle = np.empty(n, dtype=np.int64)
    for run in range(runs):
        cycle[:] = -1
        for t in range(n):
            slot[orders[run, t]] = t
            place = t
            while cycle[place] < 0:
                cycle[place] = t
                place = orders[run, place]
        for pair in range(firsts.size):
            i, j = firsts[pair], seconds[pair]
            moved = abs(slot[i] - i) + abs(slot[j] - j) - abs(slot[j] - i) - abs(slot[i] - j)
            losses[run, pair] = log_phi * moved + (-alpha if cycle[i] == cycle[j] else alpha)
