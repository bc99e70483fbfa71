"""Compiled parts of FootruleSwitch: its tables, its sampler and the law of one value's displacement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import inner, kernel

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = 2.0**64
_COMMON = 2.0**48  # a case of less weight than 2^-16 of a word is drawn by `_rare_case`
_RESOLVED = 2.0**52
_STEPS = 4096  # of a displacement law, found together
_NEVER, _STAY, _JOIN, _UP, _CLOSE, _FIXED = -1, 0, 1, 2, 3, 4


@kernel
def fill_ratios(ratios: Floats, theta: float, phi2: float, closure: float, inside: int, tolerance: float) -> int:
    """Backward pass: ``ratios[R, c] = h_R(c)/h_R(c-1)`` with R instants to go, 0 where c > R.

    h_R(c) = Z_R(c)·φ^{2c}·h_{R-1}(c), so the ratios obey ρ_R(c) = ρ_{R-1}(c)·φ²·Z_R(c)/Z_R(c-1): products and sums
    of positive numbers, none of which overflows. The last column is held at `closure`. Returns the first row that
    repeats the one before it up to `tolerance` (log ratio, columns to `inside`), or -1.
    """
    rows, width = ratios.shape
    top = width - 2
    for remaining in range(1, rows):
        before, after = ratios[remaining - 1], ratios[remaining]
        lower = theta + phi2 * before[1]
        change = 0.0
        for c in range(1, min(remaining, top) + 1):
            if c == remaining:
                after[c] = c * (c - 1 + theta) / lower
                break
            here = theta + 2 * c + phi2 * before[c + 1] + c * (c - 1 + theta) / (phi2 * before[c])
            factor = phi2 * here / lower
            after[c] = before[c] * factor
            if c <= inside:
                change = max(change, abs(factor - 1.0))
            lower = here
        if remaining > top:
            after[top + 1] = closure
            if remaining > top + 2 and change <= tolerance:
                return remaining
    return -1


@inner
def _rare_case(weights: Floats, words: Words, w: int, w_end: int, cases: Indices) -> tuple[int, int]:
    """The case, where some are so rare that a word does not resolve them: rarest first, on a uniform number in [0, 1)
    of as many words as it takes to have 52 significant bits. No case of positive weight is lost.
    """
    for i in range(5):
        cases[i] = i
    for i in range(1, 5):
        j = i
        while j > 0 and weights[cases[j - 1]] > weights[cases[j]]:
            other = cases[j - 1]
            cases[j - 1] = cases[j]
            cases[j] = other
            j -= 1
    uniform = 0.0
    scale = 1.0
    while uniform < _RESOLVED * scale:
        if w == w_end:
            return _NEVER, w
        scale /= _WORD
        uniform += np.float64(words[w]) * scale
        w += 1
    total = 0.0
    for i in range(5):
        total += weights[i]
    sought = uniform * total
    reached = 0.0
    for i in range(4):
        reached += weights[cases[i]]
        if sought < reached:
            return cases[i], w
    return cases[4], w


@kernel
def weigh_cases(before: float, after: float, c: int, theta: float, phi2: float, weights: Floats, marks: Words) -> bool:
    """Weights of the five cases with c chains open, and where each ends among the words; False if some is too rare.

    `before`, `after`: the ratios h(c)/h(c-1) and h(c+1)/h(c) of the row of the next instant. The words from the last
    mark on (some 2^14) are drawn again.
    """
    weights[_STAY] = 2.0 * c
    weights[_JOIN] = 0.0
    weights[_UP] = phi2 * after
    weights[_CLOSE] = 0.0
    weights[_FIXED] = theta
    if c > 0:
        if before > 0.0:
            down = c / (phi2 * before)
            weights[_JOIN] = down * (c - 1)
            weights[_CLOSE] = down * theta
        else:  # as many instants left as chains: each instant ends one
            weights[_STAY] = weights[_UP] = weights[_FIXED] = 0.0
            weights[_JOIN] = c - 1.0
            weights[_CLOSE] = theta
    total = 0.0
    for case in range(5):
        total += weights[case]
    scale = _WORD * (1 - 2.0**-50) / total
    reached = np.uint64(0)
    common = True
    for case in range(5):
        weight = weights[case] * scale
        common &= weight == 0.0 or weight >= _COMMON
        reached += np.uint64(weight)
        marks[case] = reached
    return common


@kernel
def mark_rows(
    ratios: Floats, theta: float, phi2: float, weights: Floats, marks: Words, common: NDArray[np.bool_]
) -> None:
    """`weigh_cases` near the end, for each number of chains that can still be closed, and last far from the end."""
    near = marks.shape[0] - 1
    for r in range(near + 1):
        row = r if r < near else ratios.shape[0] - 1
        for c in range(marks.shape[1]):
            if r == near or c <= r + 1:
                common[r, c] = weigh_cases(ratios[row, c], ratios[row, c + 1], c, theta, phi2, weights, marks[r, c])


@inner
def _kept(low: np.uint64, count: np.uint64) -> bool:
    """Whether a half word that was multiplied by `count` is kept, so that each outcome is equally likely (Lemire)."""
    return bool(low >= count or low >= (_LOW + np.uint64(1)) % count)


@kernel(forceinline=True)
def footrule_series(
    order: Indices,
    t: int,
    stop: int,
    end: int,
    words: Words,
    w: int,
    w_end: int,
    state: Indices,
    waiting: Indices,
    weights: Floats,
    cases: Indices,
    own_marks: Words,
    ratios: Floats,
    marks: Words,
    known: NDArray[np.bool_],
    inside: int,
    theta: float,
    phi2: float,
) -> tuple[int, int]:
    """FootruleSwitch by its open chains: ``waiting[0, a]`` is a value without a slot and ``waiting[1, a]`` a slot
    without a value, a < state[0].

    One word draws the case, another the chains (uniform whole numbers by rejection on its halves). ``state[1]`` is set
    where the number of chains leaves the table.
    """
    c = state[0]
    last_row, near = ratios.shape[0] - 1, marks.shape[0] - 1
    while t < stop:
        if c > inside:
            state[1] = 1
            break
        first = w
        remaining = end - t - 1
        place = min(remaining, near)
        common = known[place, c] and (remaining < near or remaining >= last_row)
        if common:
            a_stay, a_join, a_up = marks[place, c, 0], marks[place, c, 1], marks[place, c, 2]
            a_close, a_fixed = marks[place, c, 3], marks[place, c, 4]
        else:
            row = ratios[min(remaining, last_row)]
            common = weigh_cases(row[c], row[c + 1], c, theta, phi2, weights, own_marks)
            a_stay, a_join, a_up = own_marks[0], own_marks[1], own_marks[2]
            a_close, a_fixed = own_marks[3], own_marks[4]
        case = np.int64(_NEVER)
        if common:
            while w < w_end:
                u = words[w]
                w += 1
                if u < a_fixed:
                    case = np.int64(u >= a_stay) + np.int64(u >= a_join) + np.int64(u >= a_up) + np.int64(u >= a_close)
                    break
        else:
            rare, w = _rare_case(weights, words, w, w_end, cases)
            case = np.int64(rare)
        if case == _NEVER:
            w = first
            break
        if case == _FIXED:
            order[t] = t
            t += 1
            continue
        if case == _UP:
            waiting[0, c] = t
            waiting[1, c] = t
            c += 1
            t += 1
            continue
        one = np.uint64(2 * c if case == _STAY else c)
        two = np.uint64(c - 1 if case == _JOIN else 1)
        a = b = np.int64(-1)
        while w < w_end:
            u = words[w]
            w += 1
            high = (u >> _HALF) * one
            low = (u & _LOW) * two
            if _kept(high & _LOW, one) and _kept(low & _LOW, two):
                a = np.int64(high >> _HALF)
                b = np.int64(low >> _HALF)
                break
        if a < 0:
            w = first
            break
        if case == _STAY:  # either is as likely, so nothing branches on which it is
            for_value = a >= c
            kind = np.int64(for_value)
            a -= c * kind
            other = waiting[kind, a]
            waiting[kind, a] = t
            order[other if for_value else t] = t if for_value else other
        elif case == _CLOSE:
            order[t] = waiting[0, a]
            order[waiting[1, a]] = t
            c -= 1
            waiting[0, a] = waiting[0, c]
            waiting[1, a] = waiting[1, c]
        else:
            if b >= a:
                b += 1
            order[t] = waiting[0, a]
            order[waiting[1, b]] = t
            waiting[0, a] = waiting[0, b]
            c -= 1
            waiting[0, b] = waiting[0, c]
            waiting[1, b] = waiting[1, c]
        t += 1
    state[0] = c
    return t, w


@kernel
def footrule_batch(
    order: Indices,
    offsets: Indices,
    chosen: Indices,
    words: Words,
    word_offsets: Indices,
    done: NDArray[np.bool_],
    state: Indices,
    waiting: Indices,
    weights: Floats,
    cases: Indices,
    own_marks: Words,
    ratios: Floats,
    marks: Words,
    known: NDArray[np.bool_],
    inside: int,
    theta: float,
    phi2: float,
) -> None:
    """`footrule_series` for the series `chosen`, each with its own words."""
    for index in range(chosen.size):
        start, end = offsets[chosen[index]], offsets[chosen[index] + 1]
        state[0] = 0
        t, _ = footrule_series(
            order, start, end, end, words, word_offsets[index], word_offsets[index + 1],
            state, waiting, weights, cases, own_marks, ratios, marks, known, inside, theta, phi2,
        )  # fmt: skip
        done[index] = t == end
        if t < end:
            for place in range(start, end):
                order[place] = place


def footrule_displacement(row: Floats, law: Floats, theta: float, phi2: float, tail: float) -> Floats:
    """Pr(a value is released d steps late), d = 0, 1, …, until less than `tail` is still waiting.

    Parameters: stationary ratios and stationary law of the number of chains. The waiting value of a given chain is
    taken by one of the 2c ways to stay, and by (c-1+θ) of the c(c-1+θ) ways down.
    """
    c = np.arange(law.size)
    total = theta + 2 * c + phi2 * row[1 : law.size + 1]
    total[1:] += c[1:] * (c[1:] - 1 + theta) / (phi2 * row[1 : law.size])
    waiting, after = np.zeros(law.size + 1), np.zeros(law.size + 1)
    waiting[:-1] += law * c / total
    waiting[1:] += law * phi2 * row[1 : law.size + 1] / total
    late = [np.cumsum(law * theta / total)[-1:]]
    done = False
    while not done:
        part = np.empty(_STEPS)
        count = _wait(row, total, theta, phi2, tail, waiting, after, part)
        late.append(part[: abs(count)])
        done = count > 0
    return np.concatenate(late)


@kernel
def _wait(
    row: Floats, total: Floats, theta: float, phi2: float, tail: float, waiting: Floats, after: Floats, late: Floats
) -> int:
    """The next steps of `footrule_displacement`: how many, negative if more are to come."""
    size = total.size
    for step in range(late.size):
        for c in range(size + 1):
            after[c] = 0.0
        released = 0.0
        for c in range(1, size):
            share = waiting[c] / total[c]
            after[c] += share * (theta + 2 * c - 1)
            after[c + 1] += share * phi2 * row[c + 1]
            down = share * (c - 1 + theta) / (phi2 * row[c])
            after[c - 1] += down * (c - 1)
            released += share + down
        late[step] = released
        left = 0.0
        for c in range(size + 1):
            waiting[c] = after[c]
            left += after[c]
        if left <= tail:
            return step + 1
    return -late.size
