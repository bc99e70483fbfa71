"""Compiled loops of the reconstruction: the walk away from a secret, the look-up of many outputs, the sampling."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENTER, MEET, LEAVE = 1, 2, 4  # what happens at a record, seen from the secret; see `tabulate`


@kernel
def tabulate(
    steps: Floats, origin: int, start: int, direction: int, hidden: Floats, first: Floats, turns: Ints
) -> tuple[Floats, Floats]:
    """Log-likelihoods of all that can be seen on one side of a secret: forward-backward for every output at once.

    What is seen there is a run of records that are not shown and the first one that is; whatever lies beyond it is
    independent of the secret, given that record.

    Parameters
    ----------
    steps : (period, s, s)
        One-step laws in the direction of the walk; the step between records t and t + 1 is
        ``steps[(origin + t) % period]``.
    start, direction : int
        The secret's end, and +1 or -1.
    hidden, first : (m + 1, tags, s)
        At each distance: the probability that the record is not shown, or is the first one shown, by its value and by
        the *tag*, which is the value of the secret that its own walk belongs to (a local policy has one tag).
    turns : (m + 1,)
        ENTER: a walk in this direction begins after this record, whose value is the tag from here on. MEET: this record
        is the outermost of a walk that comes from beyond, whose tag is not known yet. LEAVE: that walk's own secret,
        whose value must be the tag.

    Returns
    -------
    shown : (m + 1, s, s)
        ``[d, x, v]``: ln Pr(nothing shown before distance d, v shown there | secret's end x), up to a constant that
        does not depend on x.
    nothing : (s,)
        ln Pr(nothing shown at all | x).
    """
    period, size, tags = steps.shape[0], steps.shape[1], hidden.shape[1]
    count = hidden.shape[0] - 1
    shown = np.full((count + 1, size, size), -np.inf)
    nothing = np.full(size, -np.inf)
    mass = np.zeros((size, tags, size))  # Pr(nothing shown so far, tag, value | x), scaled
    for x in range(size):
        mass[x, 0, x] = 1.0
    scale = 0.0
    turn(mass, turns[0])
    row = np.empty(size)
    for distance in range(1, count + 1):
        t = start + direction * (distance - 1)
        step = steps[(origin + min(t, t + direction)) % period]
        for x in range(size):
            for tag in range(tags):
                for v in range(size):
                    row[v] = 0.0
                    for u in range(size):
                        row[v] += mass[x, tag, u] * step[u, v]
                for v in range(size):
                    mass[x, tag, v] = row[v]
        turn(mass, turns[distance] & MEET)
        highest = 0.0
        for x in range(size):
            for v in range(size):
                event = 0.0
                for tag in range(tags):
                    event += mass[x, tag, v] * first[distance, tag, v]
                    mass[x, tag, v] *= hidden[distance, tag, v]
                    highest = max(highest, mass[x, tag, v])
                if event > 0.0:
                    shown[distance, x, v] = math.log(event) + scale
        if highest == 0.0:
            return shown[: distance + 1], nothing
        turn(mass, turns[distance] & (LEAVE | ENTER))
        if highest < 1e-100:
            scale += math.log(highest)
            for x in range(size):
                for tag in range(tags):
                    for v in range(size):
                        mass[x, tag, v] /= highest
    for x in range(size):
        total = 0.0
        for tag in range(tags):
            for v in range(size):
                total += mass[x, tag, v]
        if total > 0.0:
            nothing[x] = math.log(total) + scale
    return shown, nothing


@kernel
def turn(mass: Floats, what: int) -> None:
    """Forget, guess or check the tag: see `tabulate`."""
    size, tags = mass.shape[0], mass.shape[1]
    for x in range(size):
        for v in range(size):
            if what & LEAVE:
                for tag in range(tags):
                    if tag != v:
                        mass[x, tag, v] = 0.0
            if what & (ENTER | MEET):
                total = 0.0
                for tag in range(tags):
                    total += mass[x, tag, v]
                for tag in range(tags):
                    mass[x, tag, v] = total if what & MEET or tag == v else 0.0


@kernel
def look_up(outputs: Ints, start: int, direction: int, shown: Floats, nothing: Floats, found: Floats) -> None:
    """``found[k, x]``: the log-likelihood of what output k shows on one side of a secret (-1: not shown)."""
    size = nothing.size
    for k in range(outputs.shape[0]):
        t = start + direction
        distance = 1
        while distance < shown.shape[0] and outputs[k, t] < 0:
            t += direction
            distance += 1
        for x in range(size):
            found[k, x] = shown[distance, x, outputs[k, t]] if distance < shown.shape[0] else nothing[x]


@kernel
def sample(uniform: Floats, laws: Floats, steps: Floats, origin: int, codes: Ints) -> None:
    """Series of a chain, one a row of `codes`, by inversion of one uniform number a record."""
    period, size = steps.shape[0], steps.shape[1]
    for k in range(codes.shape[0]):
        for t in range(codes.shape[1]):
            rest, v = uniform[k, t], 0
            while v < size - 1:
                share = laws[origin % period, v] if t == 0 else steps[(origin + t - 1) % period, codes[k, t - 1], v]
                if rest < share:
                    break
                rest -= share
                v += 1
            codes[k, t] = v


@kernel
def count_steps(outputs: Ints, phase: int, counts: Floats) -> None:
    """Add the transitions between neighbouring records that are both shown, to counts (period, s, s)."""
    period = counts.shape[0]
    for k in range(outputs.shape[0]):
        for t in range(outputs.shape[1] - 1):
            if outputs[k, t] >= 0 and outputs[k, t + 1] >= 0:
                counts[(phase + t) % period, outputs[k, t], outputs[k, t + 1]] += 1.0


@kernel
def look_up_twice(
    one: Ints,
    other: Ints,
    steps: Floats,
    origin: int,
    start: int,
    direction: int,
    release: Floats,
    present: NDArray[np.bool_],
    found: Floats,
) -> None:
    """``found[k, x]``: log-likelihood of one side of a secret in two draws of the same walk over the same series.

    Up to the first release in either draw both withhold, each by itself, and the values are unknown. From there on one
    draw shows every value, and the other, while it still withholds them, tells how well x goes with each.
    """
    period, size = steps.shape[0], steps.shape[1]
    count, reach = present.size - 1, release.shape[0] - 1
    rows = np.empty((size, size))
    row = np.empty(size)
    for k in range(one.shape[0]):
        for x in range(size):
            found[k, x] = 0.0
            for v in range(size):
                rows[x, v] = 1.0 if x == v else 0.0
        open_one = open_other = False
        for distance in range(1, count + 1):
            t = start + direction * distance
            if open_one and open_other:
                break
            if not (open_one or open_other):
                step = steps[(origin + min(t, t - direction)) % period]
                for x in range(size):
                    for v in range(size):
                        row[v] = 0.0
                        for u in range(size):
                            row[v] += rows[x, u] * step[u, v]
                    for v in range(size):
                        rows[x, v] = row[v]
            if not present[distance]:
                continue
            shown = max(one[k, t], other[k, t])
            for x in range(size):
                for v in range(size):
                    share = release[distance, x, v] if distance <= reach else 0.0
                    factor = 1.0 if open_one else share if one[k, t] >= 0 else 1.0 - share
                    factor *= 1.0 if open_other else share if other[k, t] >= 0 else 1.0 - share
                    if shown < 0:
                        rows[x, v] *= factor
                    elif v == shown:
                        if not (open_one or open_other):
                            factor *= rows[x, v]
                        found[k, x] += math.log(factor) if factor > 0.0 else -np.inf
            open_one = open_one or one[k, t] >= 0
            open_other = open_other or other[k, t] >= 0
        if not (open_one or open_other):
            for x in range(size):
                total = 0.0
                for v in range(size):
                    total += rows[x, v]
                found[k, x] = math.log(total) if total > 0.0 else -np.inf
