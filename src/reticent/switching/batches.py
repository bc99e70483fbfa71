"""Many series at once, with no Python loop over records or series."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import ArgumentError
from reticent.randomness import EncodedIds, Source
from reticent.switching.mechanism import Order, Switch

_WORDS_AT_ONCE = 1 << 17  # 1 MB: what was drawn is used while it is still in the cache


def switch_batch(switch: Switch, offsets: ArrayLike, source: Source, ids: Sequence[Any] | EncodedIds) -> Order:
    """Draw a permutation within each of many series.

    Parameters
    ----------
    switch : Switch
        Any mechanism that can do a whole series.
    offsets : int array, shape (series + 1,)
        Series i is records ``offsets[i]`` … ``offsets[i + 1] - 1`` of the flat batch; begins with 0, never falls.
    source : Source
        The source of the job.
    ids : sequence or EncodedIds, length series
        The identifier of each series.

    Returns
    -------
    order : int64, shape (offsets[-1],)
        ``values[order]`` is the release; series i holds ``offsets[i] + switch.order(n_i, source.spawn(ids[i]))``.

    Raises
    ------
    ArgumentError
        For offsets that are none, or another number of identifiers.

    Notes
    -----
    Like `Switch.order` it only draws; who releases with it calls `Switch.check_accepted` first.
    """
    bounds = np.asarray(offsets, dtype=np.int64)
    if bounds.ndim != 1 or bounds.size == 0 or bounds[0] != 0 or np.any(np.diff(bounds) < 0):
        raise ArgumentError("offsets: must be a one-dimensional array that begins with 0 and never falls")
    if len(ids) != bounds.size - 1:
        raise ArgumentError("ids: must be one identifier for each series that the offsets delimit")
    sampler = switch.sampler()
    order, tags = np.arange(bounds[-1], dtype=np.int64), source.tags(ids)
    lengths = np.diff(bounds)
    needed = sampler.words_needed(lengths)
    for series in np.flatnonzero(needed > _WORDS_AT_ONCE).tolist():
        order[bounds[series] : bounds[series + 1]] = bounds[series] + switch.order(
            int(lengths[series]), source.tagged(tags[series].tobytes())
        )
    waiting = np.flatnonzero((needed <= _WORDS_AT_ONCE) & (lengths > 0))
    while waiting.size:
        again, counts = [], needed[waiting]
        reached = np.cumsum(counts)
        cuts = np.searchsorted(reached, np.arange(_WORDS_AT_ONCE, reached[-1], _WORDS_AT_ONCE))
        for a, b in itertools.pairwise([0, *cuts.tolist(), waiting.size]):
            chosen = waiting[a:b]
            words, word_offsets = source.batch(tags[chosen], counts[a:b])
            words.flags.writeable = False
            done = np.zeros(chosen.size, dtype=np.bool_)
            sampler.draw_many(order, bounds, chosen, words, word_offsets, done)
            if not done.all():
                again.append(chosen[~done])
        waiting = np.concatenate(again) if again else waiting[:0]
        if waiting.size:
            needed = 2 * needed + 16
    return order
