"""Series on their grids, many at once, and which of them are alike in all that a design depends on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reticent.tables.private import Finder

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Marks = NDArray[np.uint8]

PRESENT, ABSENT, PRIVATE = 0, 1, 2

_STEPS_AT_ONCE = 1 << 22
_NONE = 2**62


@dataclass(frozen=True)
class Panel:
    """Series on their grids, one after the other.

    Attributes
    ----------
    ticks : int64, shape (positions,)
        Time of each position (of absent records: so many steps after the one before).
    offsets : int64, shape (series + 1,)
        First position of each series.
    places : int64, shape (rows,), or slice
        Position of each row; a slice of all where no record is absent.
    before : int64, shape (positions,), or slice
        The last row at or before each position.
    """

    ticks: Ints
    offsets: Ints
    places: Ints | slice
    before: Ints | slice

    @classmethod
    def of(cls, rows: Ints, ticks: Ints, bounds: Ints, step: int) -> Panel:
        """Fill the gaps; series i has the `rows` ``bounds[i] … bounds[i + 1] - 1``, at these positions of its own."""
        offsets = np.concatenate([[0], np.cumsum(rows[bounds[1:] - 1] + 1)])
        total = int(offsets[-1])
        if total == rows.size:
            return cls(ticks, offsets, slice(None), slice(None))
        places = rows + np.repeat(offsets[:-1], np.diff(bounds))
        there = np.zeros(total, dtype=np.int64)
        there[places] = 1
        before = np.cumsum(there) - 1
        return cls(ticks[before] + (np.arange(total) - places[before]) * step, offsets, places, before)

    def marks(self, finder: Finder, codes: Ints, flags: Bools | None) -> Marks:
        """What each position is: private, absent (or missing), or present.

        A gap inside an interval, or between two private records, belongs to it: see `Finder.secrets`.
        """
        private = np.zeros(self.ticks.size, dtype=bool)
        for first, last in finder.bounds:
            private |= (self.ticks >= first) & (self.ticks <= last)
        if flags is not None:
            flagged = flags[self.before]
            if not isinstance(self.before, slice):  # a gap has a row of its series on either side
                gaps = np.ones(self.ticks.size, dtype=bool)
                gaps[self.places] = False
                flagged[gaps] &= flags[self.before[gaps] + 1]
            private |= flagged
        marks = np.full(self.ticks.size, ABSENT, dtype=np.uint8)
        marks[self.places] = np.where(codes < 0, ABSENT, PRESENT)
        marks[private] = PRIVATE
        return marks

    def alike(self, marks: Marks, phases: Ints, chosen: Ints) -> Ints:
        """For each of the `chosen` series the first of them that has its marks and its phase, shape (chosen,)."""
        from reticent.tables._kernels import first_alike

        first = np.empty(chosen.size, dtype=np.int64)
        table = np.full(1 << max(4, (2 * chosen.size - 1).bit_length()), -1, dtype=np.int64)
        first_alike(marks, self.offsets, phases, chosen, table, first)
        return first

    def reach(self, marks: Marks, series: Ints, begins: Ints, ends: Ints) -> Ints:
        """Steps between the secrets of each series and the nearest of its positions at the ticks of a stretch of it.

        Stretch j, ``begins[j]`` to ``ends[j]``, is one of ``series[j]``. -1 where a series has none of its positions
        in any, or no secret; shape (series,).
        """
        first, after = self._places(series, begins, strictly=False), self._places(series, ends, strictly=True)
        there = first < after
        series, first, last = series[there], first[there], after[there] - 1
        private = np.flatnonzero(marks == PRIVATE)
        found = np.full(self.offsets.size - 1, _NONE)
        if private.size:
            at = np.searchsorted(private, first)
            behind, ahead = private[np.maximum(at - 1, 0)], private[np.minimum(at, private.size - 1)]
            steps = np.where((behind < first) & (behind >= self.offsets[series]), first - behind - 1, _NONE)
            beyond = (ahead >= first) & (ahead < self.offsets[series + 1])
            np.minimum.at(found, series, np.where(beyond, np.minimum(steps, np.maximum(ahead - last - 1, 0)), steps))
        found[found == _NONE] = -1
        return found

    def _places(self, series: Ints, ticks: Ints, *, strictly: bool) -> Ints:
        """The first position of each series at this tick or later (or strictly later); its end where there is none."""
        low, high = self.offsets[series], self.offsets[series + 1]
        while (low < high).any():
            middle = np.minimum((low + high) // 2, self.ticks.size - 1)
            early = self.ticks[middle] <= ticks if strictly else self.ticks[middle] < ticks
            early &= low < high
            low, high = np.where(early, middle + 1, low), np.where(early, high, np.minimum(high, middle))
        return low


def bites(rows: Ints, bounds: Ints) -> Iterator[slice]:
    """Series in groups whose grids are of bounded size together, or of one series."""
    total = np.cumsum(rows[bounds[1:] - 1] + 1)
    cuts = [0, *(np.flatnonzero(np.diff(total // _STEPS_AT_ONCE)) + 1).tolist(), total.size]
    yield from (slice(a, b) for a, b in pairwise(cuts))
