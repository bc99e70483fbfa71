"""Compiled loops: the walk away from a secret, and the draw of a release.

To compile takes most of the first release. So arrays are made in Python, next to the loop that fills them; laws
(`steps`) and probabilities (`r`) are always given read-only (each other kind of array would be compiled once more); and
what is as fast in NumPy is not here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import inner, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LN2 = math.log(2.0)
UNIT = 2.0**-53
AT_FIRST = 16  # distances of which the influence is found together; then ever more
SMALLEST = 1e-150  # below it an entry is no longer told from zero, and the walk answers "infinite"


@kernel
def rounding(size: int, distance: int) -> float:
    """Bound on the rounding error of a log-ratio after `distance` steps (all terms are positive, so it is relative)."""
    return 2.0 * (size + 8) * distance * UNIT


@kernel
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


@inner
def row_sum(rows: Floats, x: int) -> float:
    """Sum of one row."""
    total = 0.0
    for v in range(rows.shape[1]):
        total += rows[x, v]
    return total


@inner
def raise_to(best: Floats, logs: Floats, live: Bools, slack: float) -> None:
    """Raise ``best[x, x']`` to ``logs[x] - logs[x'] + slack``; 0/0 is skipped, something/0 is infinite.

    `slack` bounds the error of what the logarithms are of. Their own, with that of their difference, is less than two
    units in the last place of each.
    """
    size = best.shape[0]
    for x in range(size):
        if live[x] and logs[x] > -np.inf:
            for y in range(size):
                if live[y] and y != x:
                    ratio = logs[x] - logs[y] + slack + 4.0 * UNIT * (abs(logs[x]) + abs(logs[y]))
                    if ratio > best[x, y]:
                        best[x, y] = ratio


@inner
def give_up(best: Floats, live: Bools) -> None:
    """Infinite between any two live values: the answer where floating point has lost the true one."""
    size = live.size
    for x in range(size):
        for y in range(size):
            best[x, y] = np.inf if x != y and live[x] and live[y] else 0.0


@inner(forceinline=True)
def raise_column(
    best: Floats, rows: Floats, v: int, exponents: Floats, logs: Floats, live: Bools, distance: int
) -> None:
    """`raise_to` by the logarithms of one column of ``rows[x] * 2**exponents[x]``; `logs` is scratch space."""
    for x in range(live.size):
        logs[x] = -np.inf
        if rows[x, v] > 0.0:
            logs[x] = math.log(rows[x, v]) + exponents[x] * LN2
    raise_to(best, logs, live, rounding(live.size, distance))


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
    best = np.zeros(steps.shape[1:])
    instant = first_instant(steps, origin, start, direction)
    if not _forgotten(steps[instant], live, count):
        _walk(steps, instant, r, start, direction, count, live, *_scratch(live), best)
    return best


@kernel
def _walk(
    steps: Floats,
    instant: int,
    r: Floats,
    t: int,
    direction: int,
    count: int,
    live: Bools,
    rows: Floats,
    other: Floats,
    exponents: Floats,
    logs: Floats,
    best: Floats,
) -> None:
    size = steps.shape[1]
    informative = False
    for distance in range(1, count + 1):
        advance(rows, steps[instant], live, other)
        t += direction
        instant = onward(instant, direction, steps.shape[0])
        highest = 0.0
        for v in range(size):
            if r[t, v] > highest:
                highest = r[t, v]
            if r[t, v] != r[t, 0]:
                informative = True
            if r[t, v] < 1.0:
                raise_column(best, other, v, exponents, logs, live, distance)
        if highest == 0.0:
            return
        possible = False
        for x in range(size):
            top = 0.0
            for v in range(size):
                rows[x, v] = other[x, v] * r[t, v]
                if rows[x, v] > top:
                    top = rows[x, v]
                if 0.0 < rows[x, v] < SMALLEST:
                    give_up(best, live)
                    return
            if top > 0.0:
                possible = True
                if top < 1e-18:
                    exponent = -math.frexp(top)[1]
                    for v in range(size):
                        rows[x, v] = math.ldexp(rows[x, v], exponent)
                    exponents[x] -= exponent
        if not possible:
            return
    if informative:
        last = size - 1
        for x in range(size):
            other[x, last] = row_sum(rows, x)
        raise_column(best, other, last, exponents, logs, live, count + 1)


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
    forever = np.where(live & live[:, None] & ~np.eye(live.size, dtype=np.bool_), np.inf, 0.0)
    out = np.zeros((count + 1, *forever.shape))
    out[0] = forever
    instant = first_instant(steps, origin, start, direction)
    if _forgotten(steps[instant], live, count):
        return out[:2]
    law, _, exponents, logs = _scratch(live)
    done = 0
    while done < count:
        part = out[done : 2 * done + AT_FIRST + 1]
        laws = unseen(steps, origin, start + direction * done, direction, law, np.ones((len(part), live.size)))
        law = laws[-1]
        _ratios(laws, done, live, exponents, logs, part)
        part[1:][((laws[1:] > 0) & (laws[1:] < SMALLEST)).any(axis=(1, 2))] = forever
        faded = part[1:].max(axis=(1, 2)) <= enough
        if faded.any():
            return out[: done + 2 + int(faded.argmax())]
        done += len(part) - 1
    return out


@kernel
def _ratios(laws: Floats, before: int, live: Bools, exponents: Floats, logs: Floats, out: Floats) -> None:
    """Largest log-ratios under each law but the first, of which the distance is `before`."""
    for d in range(1, laws.shape[0]):
        for v in range(live.size):
            raise_column(out[d], laws[d], v, exponents, logs, live, before + d)


@kernel
def onward(instant: int, direction: int, period: int) -> int:
    """The instant of the next step, in either direction."""
    instant += direction
    if instant == period:
        return 0
    return instant if instant >= 0 else period - 1


def first_instant(steps: Floats, origin: int, start: int, direction: int) -> int:
    """Which law is that of the first step."""
    return int((origin + min(start, start + direction)) % len(steps))


def _forgotten(step: Floats, live: Bools, count: int) -> bool:
    """Whether the first step, if there is one, leads to one law from all live values, bit by bit."""
    reached = step[live]
    return count > 0 and bool((reached == reached[0]).all())


def _scratch(live: Bools) -> tuple[Floats, Floats, Floats, Floats]:
    """Of a walk: its rows (one for each live value: nothing has happened yet), the next ones, exponents, logarithms."""
    size = live.size
    return np.diag(live.astype(np.float64)), np.zeros((size, size)), np.zeros(size), np.zeros(size)


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
    out = np.zeros((len(r), *steps.shape[1:]))
    fixed = r.view()
    fixed.flags.writeable = False
    _unseen(steps, first_instant(steps, origin, start, direction), direction, law.copy(), fixed, out)
    return out


@kernel
def _unseen(steps: Floats, instant: int, direction: int, rows: Floats, r: Floats, out: Floats) -> None:
    size = steps.shape[1]
    for distance in range(1, r.shape[0]):
        for x in range(size):
            for v in range(size):
                total = 0.0
                for u in range(size):
                    total += rows[x, u] * steps[instant, u, v]
                out[distance, x, v] = total
            for v in range(size):
                rows[x, v] = out[distance, x, v] * r[distance, v]
        instant = onward(instant, direction, steps.shape[0])


@kernel
def combine(left: Floats, right: Floats, ends: Ints) -> float:
    """Largest ``left[a, a'] + right[b, b']`` over two pairs of possible end values (a, b) and (a', b')."""
    worst = 0.0
    for i in range(ends.shape[0]):
        for j in range(ends.shape[0]):
            ratio = left[ends[i, 0], ends[j, 0]] + right[ends[i, 1], ends[j, 1]]
            if ratio > worst:
                worst = ratio
    return worst


@kernel
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


@kernel
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
    out = np.empty(len(left), dtype=np.int64)
    nothing = np.zeros((1, *left.shape[1:]))
    _least_right(np.concatenate([left[1:], nothing]), np.concatenate([nothing, right[1:]]), ends, epsilon, out)
    return np.roll(out, 1)


@kernel
def _least_right(left: Floats, right: Floats, ends: Ints, epsilon: float, out: Ints) -> None:
    r = right.shape[0]
    for d in range(left.shape[0]):
        if combine(left[d], right[0], ends) > epsilon:
            out[d] = right.shape[0] + 1
        else:
            while r > 1 and combine(left[d], right[r - 1], ends) <= epsilon:
                r -= 1
            out[d] = r
