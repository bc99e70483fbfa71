"""Compiled loops: the walk away from a secret, and the draw of a release.

To compile takes most of the first release. So laws (`steps`) and probabilities (`r`) are always given read-only (each
other kind of array would be compiled once more), and what is as fast in NumPy is not here.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LN2 = math.log(2.0)
UNIT = 2.0**-53
SMALLEST = 1e-150  # below it an entry is no longer told from zero, and the walk answers "infinite"


@numba.njit(cache=True, nogil=True)
def rounding(size: int, distance: int) -> float:
    """Bound on the rounding error of a log-ratio after `distance` steps (all terms are positive, so it is relative)."""
    return 2.0 * (size + 8) * distance * UNIT


@numba.njit(cache=True, nogil=True)
def advance(rows: Floats, step: Floats, live: Bools, out: Floats) -> None:
    """``out = rows @ step`` for the live rows."""
    size = step.shape[0]
    for x in range(size):
        if live[x]:
            for v in range(size):
                total = 0.0
                for u in range(size):
                    total += rows[x, u] * step[u, v]
                out[x, v] = total


@numba.njit(cache=True, nogil=True)
def identity(live: Bools) -> Floats:
    """One row for each live value: nothing has happened yet."""
    rows = np.zeros((live.size, live.size))
    for x in range(live.size):
        if live[x]:
            rows[x, x] = 1.0
    return rows


@numba.njit(cache=True, nogil=True)
def row_sum(rows: Floats, x: int) -> float:
    """Sum of one row."""
    total = 0.0
    for v in range(rows.shape[1]):
        total += rows[x, v]
    return total


@numba.njit(cache=True, nogil=True)
def same_rows(rows: Floats, live: Bools) -> bool:
    """Whether all live rows are equal, bit by bit."""
    first = -1
    for x in range(rows.shape[0]):
        if live[x]:
            if first < 0:
                first = x
            else:
                for v in range(rows.shape[1]):
                    if rows[x, v] != rows[first, v]:
                        return False
    return True


@numba.njit(cache=True, nogil=True)
def raise_to(best: Floats, logs: Floats, live: Bools, slack: float) -> None:
    """Raise ``best[x, x']`` to ``logs[x] - logs[x'] + slack``; 0/0 is skipped, something/0 is infinite."""
    size = best.shape[0]
    for x in range(size):
        if live[x] and logs[x] > -np.inf:
            for y in range(size):
                if live[y] and y != x:
                    best[x, y] = max(best[x, y], logs[x] - logs[y] + slack)


@numba.njit(cache=True, nogil=True)
def give_up(best: Floats, live: Bools) -> None:
    """Infinite between any two live values: the answer where floating point has lost the true one."""
    size = live.size
    for x in range(size):
        for y in range(size):
            best[x, y] = np.inf if x != y and live[x] and live[y] else 0.0


@numba.njit(cache=True, nogil=True)
def walk(steps: Floats, origin: int, r: Floats, start: int, direction: int, count: int, live: Bools) -> Floats:
    """Largest log-likelihood ratio of what is seen on one side of a secret.

    Parameters
    ----------
    steps : (period, s, s)
        One-step laws in the direction of the walk; the step between records t and t + 1 is
        ``steps[(origin + t) % period]``.
    r : (n, s)
        Probability of redaction.
    start, direction, count : int
        The secret's end, +1 or -1, and the number of records beyond it.
    live : (s,) bool
        Values of positive probability at `start`.

    Returns
    -------
    (s, s)
        ``[x, x']``: the largest log Pr(seen | x) / Pr(seen | x'), rounded up; 0 on the diagonal.
    """
    size = steps.shape[1]
    period = steps.shape[0]
    best = np.zeros((size, size))
    rows, other = identity(live), np.zeros((size, size))
    exponents = np.zeros(size)
    logs = np.zeros(size)
    informative = False
    t = start
    instant = (origin + min(t, t + direction)) % period  # of the next step
    for distance in range(1, count + 1):
        advance(rows, steps[instant], live, other)
        t += direction
        instant += direction
        if instant == period:
            instant = 0
        elif instant < 0:
            instant = period - 1
        rows, other = other, rows
        if distance == 1 and same_rows(rows, live):
            return best
        slack = rounding(size, distance)
        highest = 0.0
        for v in range(size):
            highest = max(highest, r[t, v])
            if r[t, v] != r[t, 0]:
                informative = True
            if r[t, v] < 1.0:
                for x in range(size):
                    logs[x] = math.log(rows[x, v]) + exponents[x] * LN2 if rows[x, v] > 0.0 else -np.inf
                raise_to(best, logs, live, slack)
        if highest == 0.0:
            return best
        possible = False
        for x in range(size):
            top = 0.0
            for v in range(size):
                rows[x, v] *= r[t, v]
                top = max(top, rows[x, v])
                if 0.0 < rows[x, v] < SMALLEST:
                    give_up(best, live)
                    return best
            if 0.0 < top < 1e-18:
                _, exponent = math.frexp(top)
                for v in range(size):
                    rows[x, v] = math.ldexp(rows[x, v], -exponent)
                exponents[x] += exponent
            possible = possible or top > 0.0
        if not possible:
            return best
    if informative:
        for x in range(size):
            total = row_sum(rows, x)
            logs[x] = math.log(total) + exponents[x] * LN2 if total > 0.0 else -np.inf
        raise_to(best, logs, live, rounding(size, count + 1))
    return best


@numba.njit(cache=True, nogil=True)
def influences(
    steps: Floats, origin: int, start: int, direction: int, count: int, live: Bools, enough: float
) -> Floats:
    """Log-ratios of the record itself, at each distance from the secret.

    Returns
    -------
    (m + 1, s, s)
        ``[d, x, x']`` for d = 1 … m, the largest log Pr(X = v | x) / Pr(X = v | x') over v; ends early, at the first
        distance where all are at most `enough`. Row 0 is infinite.
    """
    size = steps.shape[1]
    period = steps.shape[0]
    out = np.zeros((count + 1, size, size))
    give_up(out[0], live)
    rows, other = identity(live), np.zeros((size, size))
    logs = np.zeros(size)
    t = start
    instant = (origin + min(t, t + direction)) % period  # of the next step
    for distance in range(1, count + 1):
        advance(rows, steps[instant], live, other)
        t += direction
        instant += direction
        if instant == period:
            instant = 0
        elif instant < 0:
            instant = period - 1
        rows, other = other, rows
        if distance == 1 and same_rows(rows, live):
            return out[:2]
        lost = False
        for v in range(size):
            for x in range(size):
                logs[x] = math.log(rows[x, v]) if rows[x, v] > 0.0 else -np.inf
                lost = lost or 0.0 < rows[x, v] < SMALLEST
            raise_to(out[distance], logs, live, rounding(size, distance))
        if lost:
            give_up(out[distance], live)
        most = 0.0
        for x in range(size):
            for y in range(size):
                most = max(most, out[distance, x, y])
        if most <= enough:
            return out[: distance + 1]
    return out


@numba.njit(cache=True, nogil=True)
def unseen(steps: Floats, origin: int, start: int, direction: int, law: Floats, r: Floats) -> Floats:
    """Law of the record at each distance where all nearer ones are withheld, given the secret's end.

    Parameters
    ----------
    steps, origin, start, direction
        As for `walk`.
    law : (s, s)
        That of the record at `start`: the identity where it is the secret's end, with zero rows for impossible values.
    r : (m + 1, s)
        Probabilities of redaction by distance.

    Returns
    -------
    (m + 1, s, s)
        ``[d, x, v]`` for d = 1 … m: Pr(nothing released up to d - 1, value v at d | x). Row 0 is zero.
    """
    size = steps.shape[1]
    period = steps.shape[0]
    out = np.zeros((r.shape[0], size, size))
    rows = np.zeros((size, size))
    for x in range(size):
        for v in range(size):
            rows[x, v] = law[x, v]
    for distance in range(1, r.shape[0]):
        t = start + direction * (distance - 1)
        step = steps[(origin + min(t, t + direction)) % period]
        for x in range(size):
            for v in range(size):
                for u in range(size):
                    out[distance, x, v] += rows[x, u] * step[u, v]
            for v in range(size):
                rows[x, v] = out[distance, x, v] * r[distance, v]
    return out


@numba.njit(cache=True, nogil=True)
def combine(left: Floats, right: Floats, ends: Ints) -> float:
    """Largest ``left[a, a'] + right[b, b']`` over two pairs of possible end values (a, b) and (a', b')."""
    worst = 0.0
    for i in range(ends.shape[0]):
        for j in range(ends.shape[0]):
            worst = max(worst, left[ends[i, 0], ends[j, 0]] + right[ends[i, 1], ends[j, 1]])
    return worst


@numba.njit(cache=True, nogil=True)
def draw(
    codes: Ints,
    starts: Ints,
    n: int,
    low: int,
    r: Floats,
    drawn: Bools,
    words: NDArray[np.uint64],
    first_words: Ints,
    mask: Bools,
) -> None:
    """Redact series of n records that share one policy: ``mask[t]`` becomes True where record t is withheld.

    Of record ``low + i`` the probabilities are ``r[i]``; what lies beyond these is released, if it is there. Series k
    begins at ``codes[starts[k]]`` and uses one word, from ``words[first_words[k]]`` on, for each record whose fate is
    not certain (`drawn`), whatever its value.
    """
    for k in range(starts.size):
        base = starts[k]
        w = first_words[k]
        for t in range(n):
            mask[base + t] = codes[base + t] < 0
        base += low
        for t in range(r.shape[0]):
            v = codes[base + t]
            withheld = True
            if v >= 0:
                withheld = r[t, v] >= 1.0
                if 0.0 < r[t, v] < 1.0:
                    withheld = words[w] < np.uint64(r[t, v] * 18446744073709551616.0)
            mask[base + t] = withheld
            if drawn[t]:
                w += 1


@numba.njit(cache=True, nogil=True)
def faults(codes: Ints, starts: Ints, certain: Bools, steps: Floats, laws: Floats, origin: int, found: Ints) -> None:
    """Count, for each series, undeclared gaps, strangers and impossible records: ``found`` (series, 3).

    `certain[t]` is True where record t is withheld whatever its value, so that it may be missing.
    """
    n = certain.size
    period = steps.shape[0]
    size = steps.shape[1]
    for k in range(starts.size):
        base = starts[k]
        before = -1
        now, ago = origin % period, (origin - 1) % period  # instants of this record and of the one before
        for t in range(n):
            v = codes[base + t]
            if v < 0:
                if not certain[t]:
                    found[k, 0] += 1
            elif v >= size:
                found[k, 1] += 1
                v = -1
            elif laws[now, v] == 0.0 or (before >= 0 and steps[ago, before, v] == 0.0):
                found[k, 2] += 1
            before = v
            ago = now
            now = now + 1 if now + 1 < period else 0


@numba.njit(cache=True, nogil=True)
def least_right(left: Floats, right: Floats, ends: Ints, epsilon: float) -> Ints:
    """For each left distance, the least right distance that keeps a secret's leakage at most `epsilon`.

    Parameters
    ----------
    left, right : (m + 1, s, s)
        From `influences`; row 0 is not used.

    Returns
    -------
    (m + 1,) int
        Entry d for the left distance d, entry 0 for nothing released on the left. ``len(right)`` where nothing may be
        released on the right, and ``len(right) + 1`` where even that is too much.
    """
    out = np.empty(left.shape[0], dtype=np.int64)
    nothing = np.zeros((left.shape[1], left.shape[2]))
    r = right.shape[0]
    for place in range(1, left.shape[0] + 1):
        here = left[place] if place < left.shape[0] else nothing
        d = place % left.shape[0]
        if combine(here, nothing, ends) > epsilon:
            out[d] = right.shape[0] + 1
            continue
        while r > 1 and combine(here, right[r - 1], ends) <= epsilon:
            r -= 1
        out[d] = r
    return out
