"""Compiled loops of the sequential redaction: its law, its exact analysis, its draw."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import inner, kernel
from reticent.redaction.kernels import SMALLEST, advance, first_instant, give_up, onward, raise_to, rounding, row_sum

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

GRID = 18446744073709551616.0  # 2^64: release probabilities are multiples of its inverse
RAREST = 2.0**-20  # a release less likely than this is given up: its rounding would be felt
NOTHING = 2.0**-50  # the walk ends where less than this has not yet released


def carry(
    steps: Floats, origin: int, start: int, direction: int, live: Bools, present: Bools, targets: Floats, epsilon: float
) -> tuple[Floats, Floats, Floats, bool]:
    """Walk outward from a secret, releasing as much as ε and the targets allow.

    Parameters
    ----------
    steps, origin, start, direction, live
        As for `redaction.kernels.walk`.
    present : (m + 1,) bool
        Whether the record at each distance can be released.
    targets : (m + 1, s, s)
        Bounds on B; infinite for the greedy law.

    Returns
    -------
    release : (m + 1, s, s)
        ``[t, x, v]``: probability of the first release at distance t, given the secret x, the value v and that nothing
        has been released yet; multiples of 2^-64.
    first : (m + 1, s, s)
        The law B of the first release.
    rest : (s, s)
        C at the end: nothing released, by the last value.
    walking : bool
        Whether more might be released beyond.
    """
    size = live.size
    release, first = np.zeros((2, present.size, size, size))
    rows, other = np.diag(live.astype(np.float64)), np.zeros((size, size))
    factor = 1.0 if epsilon == 0.0 else math.exp(epsilon)
    instant = first_instant(steps, origin, start, direction)
    scratch = np.zeros((2, size))
    walking = _carry(
        steps, instant, direction, live, present, targets, factor, epsilon == 0.0, rows, other, *scratch, release, first
    )
    return release, first, rows, walking


@kernel
def _carry(
    steps: Floats,
    instant: int,
    direction: int,
    live: Bools,
    present: Bools,
    targets: Floats,
    factor: float,
    even: bool,
    rows: Floats,
    other: Floats,
    lows: Floats,
    excess: Floats,
    release: Floats,
    first: Floats,
) -> bool:
    size = live.size
    walking = True
    for distance in range(1, present.size):
        advance(rows, steps[instant], live, other)
        for x in range(size):
            for v in range(size):
                rows[x, v] = other[x, v]
        instant = onward(instant, direction, steps.shape[0])
        if not present[distance] or not walking:
            continue
        if even:
            surplus(rows, live, lows, excess)
        for v in range(size):
            low = np.inf
            for x in range(size):
                if live[x]:
                    wanted = rows[x, v]
                    if targets[distance, x, v] < wanted:
                        wanted = targets[distance, x, v]
                    wanted = rows[x, v] * grid_share(wanted, rows[x, v])
                    if wanted < low:
                        low = wanted
            fine = low > 0.0
            for x in range(size):
                if live[x] and fine:
                    most = factor * low * (1.0 + excess[x])
                    if rows[x, v] < most:
                        most = rows[x, v]
                    if targets[distance, x, v] < most:
                        most = targets[distance, x, v]
                    share = grid_share(most, rows[x, v])
                    release[distance, x, v] = share
                    if share < RAREST:
                        fine = False
            for x in range(size):
                if not fine:
                    release[distance, x, v] = 0.0
                first[distance, x, v] = rows[x, v] * release[distance, x, v]
                rows[x, v] *= 1.0 - release[distance, x, v]
        walking = goes_on(rows, live, factor)
    return walking


@kernel
def goes_on(rows: Floats, live: Bools, factor: float) -> bool:
    """Whether a walk may release more: enough is left, and not too little of it with one secret beside another.

    With x' a value v is released with probability factor · C(x, v) / C(x', v) at most. The largest of these ratios over
    v grows no more (for C·P they are mixtures of those for C): below `RAREST` nothing will be released any more.
    """
    size = rows.shape[0]
    least = most = 0
    lowest = np.inf
    highest = -1.0
    for x in range(size):
        if live[x]:
            total = row_sum(rows, x)
            if total < lowest:
                least = x
                lowest = total
            if total > highest:
                most = x
                highest = total
    if highest < NOTHING:
        return False
    possible = False
    for v in range(size):
        possible = possible or (rows[least, v] > 0.0 and factor * rows[least, v] >= RAREST * rows[most, v])
    return possible


@inner
def surplus(rows: Floats, live: Bools, lows: Floats, excess: Floats) -> None:
    """How much more than the least, relatively, each secret has to release at ε = 0 so that all keep the same mass.

    Without rounding nothing. But a difference of 1e-16 stays while the masses fade, and would in the end be seen.
    `lows` is scratch space.
    """
    size = rows.shape[0]
    least = np.inf
    for v in range(size):
        lows[v] = np.inf
    for x in range(size):
        if live[x]:
            total = row_sum(rows, x)
            if total < least:
                least = total
            for v in range(size):
                if rows[x, v] < lows[v]:
                    lows[v] = rows[x, v]
    for x in range(size):
        excess[x] = 0.0
        over = row_sum(rows, x) - least
        if live[x] and over > 0.0:
            shared = 0.0
            for v in range(size):
                if rows[x, v] - lows[v] > over:
                    shared += lows[v]
            if shared > 0.0:
                excess[x] = over / shared


def first_release(steps: Floats, origin: int, start: int, direction: int, live: Bools, release: Floats) -> Floats:
    """The law B of the first release under a given walk, shape of `release`."""
    first = np.zeros(release.shape)
    rows, other = np.diag(live.astype(np.float64)), np.zeros((live.size, live.size))
    _first_release(steps, first_instant(steps, origin, start, direction), direction, live, release, rows, other, first)
    return first


@kernel
def _first_release(
    steps: Floats,
    instant: int,
    direction: int,
    live: Bools,
    release: Floats,
    rows: Floats,
    other: Floats,
    first: Floats,
) -> None:
    for distance in range(1, release.shape[0]):
        advance(rows, steps[instant], live, other)
        instant = onward(instant, direction, steps.shape[0])
        for x in range(live.size):
            for v in range(live.size):
                first[distance, x, v] = other[x, v] * release[distance, x, v]
                rows[x, v] = other[x, v] * (1.0 - release[distance, x, v])


def hops(steps: Floats, origin: int, start: int, direction: int, places: Ints, count: int) -> Floats:
    """Laws from each of some distances to the next, the first from the secret, the last to ``count + 1``."""
    size = steps.shape[1]
    ends = np.append(places, count + 1)
    out = np.zeros((ends.size, size, size))
    _hops(steps, first_instant(steps, origin, start, direction), direction, ends, np.zeros((size, size)), out)
    return out


@kernel
def _hops(steps: Floats, instant: int, direction: int, ends: Ints, rows: Floats, out: Floats) -> None:
    size = steps.shape[1]
    done = 0
    fresh = True
    for distance in range(1, ends[ends.size - 1] + 1):
        for x in range(size):
            for v in range(size):
                if fresh:
                    out[done, x, v] = steps[instant, x, v]
                else:
                    out[done, x, v] = 0.0
                    for u in range(size):
                        out[done, x, v] += rows[x, u] * steps[instant, u, v]
        fresh = distance == ends[done]
        if fresh:
            done += 1
        else:
            for x in range(size):
                for v in range(size):
                    rows[x, v] = out[done, x, v]
        instant = onward(instant, direction, steps.shape[0])


@inner
def grid_share(part: float, whole: float) -> float:
    """``part / whole`` rounded down to a multiple of 2^-64; 0 for an empty whole."""
    if whole <= 0.0:
        return 0.0
    if part >= whole:
        return 1.0
    return np.floor(part / whole * GRID) / GRID


def seen(
    steps: Floats,
    origin: int,
    start: int,
    direction: int,
    count: int,
    live: Bools,
    release: Floats,
    joined: bool,
    onto: Floats,
    far: int,
    link: Floats,
    linked: Bools,
    lag: int,
) -> Floats:
    """Largest log-likelihood ratio of what a walk shows, between values of a secret (s, s); rounded up.

    Parameters
    ----------
    release : (h + 1, s, s)
        The walk's law; nothing is released beyond distance h < count + 1 unless something was released before.
    joined : bool
        A record beyond may be seen; otherwise the series ends.
    onto : (s, s)
        Pr(value of that record | value at distance count + 1): the identity where it is the same.
    far : int
        Steps between these two.
    link : (s, s)
        Pr(value at the walk's start | value of the secret): the identity for the walk's own secret.
    linked : (s,) bool
        Values of positive probability of the secret.
    lag : int
        Steps from the secret to the walk's start.
    """
    size = live.size
    best = np.zeros((size, size))
    rows, other = np.diag(live.astype(np.float64)), np.zeros((size, size))
    instant = first_instant(steps, origin, start, direction)
    _seen(
        steps, instant, direction, count, live, release, joined, onto, far, link, linked, lag,
        rows, other, *np.zeros((2, size)), best,
    )  # fmt: skip
    return best


@kernel
def _seen(
    steps: Floats,
    instant: int,
    direction: int,
    count: int,
    live: Bools,
    release: Floats,
    joined: bool,
    onto: Floats,
    far: int,
    link: Floats,
    linked: Bools,
    lag: int,
    rows: Floats,
    other: Floats,
    event: Floats,
    logs: Floats,
    best: Floats,
) -> None:
    size = live.size
    reach = count + 1
    if not joined:
        reach = count if count < release.shape[0] else release.shape[0] - 1
    for distance in range(1, reach + 1):
        advance(rows, steps[instant], live, other)
        instant = onward(instant, direction, steps.shape[0])
        last = distance == count + 1
        if last:
            for x in range(size):
                for v in range(size):
                    rows[x, v] = other[x, v]
            advance(rows, onto, live, other)
        for v in range(size):
            if last or distance < release.shape[0]:
                for x in range(size):
                    event[x] = other[x, v] * (1.0 if last else release[distance, x, v])
                if not log_rows(link, event, logs):
                    give_up(best, linked)
                    return
                raise_to(best, logs, linked, rounding(size, distance + (far if last else 0) + 1 + lag))
            for x in range(size):
                rows[x, v] = other[x, v]
                if not last and distance < release.shape[0]:
                    rows[x, v] *= 1.0 - release[distance, x, v]
    if not joined and count > 0:
        for x in range(size):
            event[x] = row_sum(rows, x)
        if not log_rows(link, event, logs):
            give_up(best, linked)
            return
        raise_to(best, logs, linked, rounding(size, reach + 1 + lag))


@inner
def log_rows(link: Floats, event: Floats, logs: Floats) -> bool:
    """``logs = log(link @ event)``; False where floating point can no longer tell a term from zero."""
    for x in range(link.shape[0]):
        total = 0.0
        for y in range(link.shape[1]):
            if 0.0 < event[y] < SMALLEST:
                return False
            total += link[x, y] * event[y]
        logs[x] = math.log(total) if total > 0.0 else -np.inf
    return True


@kernel
def draw(
    codes: Ints,
    starts: Ints,
    ends: Ints,
    start: int,
    direction: int,
    present: Bools,
    release: Floats,
    drawn: Bools,
    words: NDArray[np.uint64],
    first_words: Ints,
    mask: Bools,
) -> None:
    """One walk of many series: ``mask`` becomes False where a record is released.

    `ends[k]` is the value of the secret's end in series k; one word is used for each distance in `drawn`, from
    ``words[first_words[k]]`` on.
    """
    for k in range(starts.size):
        x = ends[k]
        w = first_words[k]
        open_ = False
        for distance in range(1, present.size):
            t = starts[k] + start + direction * distance
            if not open_ and distance < release.shape[0] and present[distance]:
                share = release[distance, x, codes[t]]
                open_ = share >= 1.0 or (share > 0.0 and words[w] < np.uint64(share * GRID))
            if distance < release.shape[0] and drawn[distance]:
                w += 1
            if open_ and present[distance]:
                mask[t] = False
