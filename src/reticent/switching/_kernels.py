"""Compiled samplers: each draws whole words and rearranges indices in place.

A ``*_series`` kernel releases instants ``t … stop - 1`` of the series held in ``order[:end]`` and returns how far it
came and the next unused word. It stops before an instant for which the words do not suffice, with nothing of that
instant drawn, so that output never depends on how words or records are cut into chunks. A ``*_batch`` kernel does that
for many series of one flat array and marks those that ran out of words, whose indices it puts back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from reticent.compiled import kernel

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@intrinsic
def shift_up(typing_context: Any, array: Any, start: Any, count: Any) -> Any:
    """``array[start + 1 : start + count + 1] = array[start : start + count]``, by memmove: thrice as fast as a loop."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        after = builder.add(arguments[1], arguments[1].type(1))
        cgutils.raw_memmove(
            builder,
            builder.gep(data, [after]),
            builder.gep(data, [arguments[1]]),
            arguments[2],
            signature.args[0].dtype.bitwidth // 8,
        )
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), code


@kernel
def reset(order: Indices, start: int, end: int) -> None:
    """The identity on ``order[start:end]``."""
    for t in range(start, end):
        order[t] = t


@kernel
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
            shift_up(order, t, rank)
            order[t] = released
        t += 1
    return t, w


@kernel
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


@kernel
def quotient(u: np.uint64, divisor: np.uint64, inverse: float) -> Any:
    """u // divisor for quotients below 2^50, by floating point and a correction: dividing words is slow.

    `inverse` is 2/divisor. The product is off by less than one, so the whole number below it is by at most one.
    """
    guess = np.int64(np.float64(np.int64(u >> np.uint64(1))) * inverse)
    below = np.uint64(guess) * divisor
    if below > u:
        return guess - 1
    return guess + np.int64(u - below >= divisor)


@kernel
def ran_series(
    order: Indices,
    t: int,
    stop: int,
    end: int,
    words: Words,
    w: int,
    w_end: int,
    window: int,
    move: Any,
    inverse: float,
    lasts: Words,
    shifts: Words,
) -> tuple[int, int]:
    """RanSwitch: exchange with each later instant in reach by weight `move`, with itself by the rest.

    ``lasts[m - 1]`` is the total weight of m choices less one: a whole number up to it is drawn by rejection.
    """
    while t < stop:
        limit = min(window, end - t)
        if limit > 1:
            first = w
            last = lasts[limit - 1]
            shift = shifts[limit - 1]
            while True:
                if w == w_end:
                    return t, first
                u = words[w] >> shift
                w += 1
                if u <= last:
                    break
            offset = 1 + quotient(u, move, inverse)
            place = t + (offset if offset < limit else 0)  # without a branch that could not be foreseen
            order[t], order[place] = order[place], order[t]
        t += 1
    return t, w


@kernel
def ran_batch(
    order: Indices,
    offsets: Indices,
    chosen: Indices,
    words: Words,
    word_offsets: Indices,
    done: NDArray[np.bool_],
    window: int,
    move: Any,
    inverse: float,
    lasts: Words,
    shifts: Words,
) -> None:
    """`ran_series` for the series `chosen`, each with its own words."""
    for index in range(chosen.size):
        start, end = offsets[chosen[index]], offsets[chosen[index] + 1]
        t, _ = ran_series(
            order, start, end, end, words, word_offsets[index], word_offsets[index + 1],
            window, move, inverse, lasts, shifts,
        )  # fmt: skip
        done[index] = t == end
        if t < end:
            reset(order, start, end)


@kernel
def sta_series(
    order: Indices,
    t: int,
    stop: int,
    end: int,
    words: Words,
    w: int,
    w_end: int,
    window: int,
    move: Any,
    inverse: float,
    last: Any,
) -> tuple[int, int]:
    """StaSwitch: each later instant that the content may still be put off to by weight `move`, itself by the rest.

    ``last`` is the total weight less one. The delay of the content is t less its origin, ``order[t]``.
    """
    while t < stop:
        if w == w_end:
            return t, w
        u = words[w]
        w += 1
        if u > last:
            continue
        offset = 1 + quotient(u, move, inverse)
        reach = min(window - 1 - (t - order[t]), end - t - 1)
        place = t + (offset if offset <= reach else 0)  # without a branch that could not be foreseen
        order[t], order[place] = order[place], order[t]
        t += 1
    return t, w


@kernel
def sta_batch(
    order: Indices,
    offsets: Indices,
    chosen: Indices,
    words: Words,
    word_offsets: Indices,
    done: NDArray[np.bool_],
    window: int,
    move: Any,
    inverse: float,
    last: Any,
) -> None:
    """`sta_series` for the series `chosen`, each with its own words."""
    for index in range(chosen.size):
        start, end = offsets[chosen[index]], offsets[chosen[index] + 1]
        t, _ = sta_series(
            order, start, end, end, words, word_offsets[index], word_offsets[index + 1], window, move, inverse, last
        )
        done[index] = t == end
        if t < end:
            reset(order, start, end)
