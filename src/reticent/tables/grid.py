"""Records on a grid of equal steps, so that a gap of g steps is g steps of the chain and not one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, InputError
from reticent.tables.chunks import with_any_flag
from reticent.tables.duplicates import averaged
from reticent.tables.sql import quoted, quoted_list

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.tables.chunks import Chunk
    from reticent.tables.reading import Records

Ints = NDArray[np.int64]

_UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}

_MOST_STEPS = 1 << 22
_FEW_STATES = 1 << 10
_LOOKED_AT = 1 << 18


@dataclass(frozen=True)
class Grid:
    """The sampling period: `step` microseconds, or plain units where times are whole numbers."""

    step: int
    whole: bool = False

    def __str__(self) -> str:
        if self.whole:
            return str(self.step)
        for unit in ("d", "h", "m", "s", "ms"):
            if self.step % _UNITS[unit] == 0:
                return f"{self.step // _UNITS[unit]}{unit}"
        return f"{self.step}us"

    @classmethod
    def parse(cls, text: str, whole: bool) -> Grid:
        """``30m``, ``1h``, ``1d``; a plain number where times are whole numbers."""
        match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip())
        if match and int(match[1]) > 0:
            if whole and not match[2]:
                return cls(int(match[1]), True)
            if not whole and match[2] in _UNITS:
                return cls(int(match[1]) * _UNITS[match[2]])
        raise ArgumentError(
            "every: must be a positive "
            + ("number, since times are whole numbers" if whole else "number with a unit: s, m, h or d (such as 30m)")
        )

    @classmethod
    def find(cls, records: Records) -> Grid:
        """The most common step between neighbouring records of a series (times are public).

        Of many series the first are looked at, in the order of their identifiers, that have about 262,000 records; of
        one series the first records. `positions` refuses a series that is sampled by another period.
        """
        columns = records.columns
        time = quoted(columns.time)
        unit = time if records.time_is_whole else f"epoch_us({time}::TIMESTAMP)"
        looked_at = records.view
        if not columns.id and records.rows > _LOOKED_AT:
            looked_at = f"(SELECT {time} FROM {records.view} ORDER BY {time} LIMIT {_LOOKED_AT})"
        elif records.rows > _LOOKED_AT:
            ids = quoted_list(columns.id)
            before = f"sum(count(*)) OVER (ORDER BY {ids}) - count(*) AS before"
            first = f"SELECT {ids} FROM (SELECT {ids}, {before} FROM {records.view} GROUP BY {ids})"
            looked_at += f" SEMI JOIN ({first} WHERE before < {_LOOKED_AT}) USING ({ids})"
        window = f"PARTITION BY {quoted_list(columns.id)} ORDER BY {time}" if columns.id else f"ORDER BY {time}"
        found = records.con.sql(
            f"SELECT d FROM (SELECT {unit} - lag({unit}) OVER ({window}) AS d FROM {looked_at}) WHERE d > 0 "
            "GROUP BY d ORDER BY count(*) DESC, d LIMIT 1"
        ).fetchall()
        only_one_record_each = 1 if records.time_is_whole else _UNITS["s"]
        return cls(int(found[0][0]) if found else only_one_record_each, records.time_is_whole)

    def a_day(self) -> int | None:
        """Steps in a day, if there are a whole number from 2 to 1440."""
        day = _UNITS["d"]
        return day // self.step if not self.whole and day % self.step == 0 and 2 <= day // self.step <= 1440 else None

    def ticks(self, times: pa.ChunkedArray | pa.Array) -> Ints:
        """Times as integers in the unit of `step`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.whole:
            zone = getattr(times.type, "tz", None)
            times = pc.cast(times, pa.timestamp("us", zone), safe=False)
        return np.asarray(pc.cast(times, pa.int64()), dtype=np.int64)

    def steps(self, ticks: Ints, offsets: Ints) -> Ints:
        """Steps since the record before, in each series (0 for its first): ``round(difference / step)``.

        Neighbours are compared, so stamps that jitter or drift stay on the grid.
        """
        difference = np.diff(ticks, prepend=ticks[:1])
        difference[offsets[:-1]] = self.step
        if (difference == self.step).all():
            counts = np.ones(ticks.size, dtype=np.int64)
            counts[offsets[:-1]] = 0
            return counts
        difference[offsets[:-1]] = 0
        return (2 * difference + self.step) // (2 * self.step)

    def positions(self, ticks: Ints, offsets: Ints) -> Ints:
        """Step number of each record within its series (the first is 0).

        Raises
        ------
        InputError
            Records less than half a step apart; a series that is sampled by another period; a span that is nearly all
            gaps.
        """
        from reticent.tables._kernels import place_on_grid

        positions = np.zeros(ticks.size, dtype=np.int64)
        close = place_on_grid(ticks, offsets, self.step, positions)
        if close:
            raise InputError(
                f"time: {close} records lie less than half a step ({self}) after the one before; state "
                "the sampling period with --every, or keep one a step with --duplicates min, max or mean"
            )
        lengths = np.diff(offsets)
        spans = positions[offsets[1:] - 1]
        self._check_pace(spans, ticks[offsets[1:] - 1] - ticks[offsets[:-1]])
        if ((spans > _MOST_STEPS) & (spans > 64 * lengths)).any():
            raise InputError(
                f"time: a series is spread over {int(spans.max()):,} steps ({self}), nearly all of them empty; is a "
                "stamp far off, or the sampling period (--every) too short?"
            )
        return positions

    def _check_pace(self, spans: Ints, lasted: Ints) -> None:
        """Refuse series that are sampled by another period: a step of the chain would stand for more time, or less.

        Jitter cancels from record to record, another period adds up: to more than a step in eight, and half a one.
        """
        astray = int((np.abs(lasted - spans * self.step) > (spans + 4) * self.step // 8).sum())
        if astray:
            raise InputError(
                f"time: {astray} series are sampled by another period than {self}, so their steps would be miscounted; "
                "state their period with --every, or release them by themselves"
            )

    def one_a_step(self, chunk: Chunk, column: str, rule: str) -> Chunk:
        """Of several records in one step keep the smallest, the largest or the mean value, at the time of the first.

        The time of the record that was chosen would tell how the values compare.
        """
        if rule not in ("min", "max", "mean"):
            return chunk
        counts = self.steps(self.ticks(chunk.table[chunk.columns.time]), chunk.offsets)
        counts[chunk.offsets[:-1]] = 1
        if counts.all():
            return chunk
        values = chunk.table[column]
        first = counts > 0
        if rule == "mean":
            table = with_any_flag(chunk.table, averaged(chunk.table, first, [column]), first, chunk.columns)
            return replace(chunk, table=table, offsets=np.concatenate([[0], np.cumsum(first)])[chunk.offsets])
        chosen = np.flatnonzero(first)
        positions = np.concatenate([[0], np.cumsum(first)])
        choose = min if rule == "min" else max
        for a, b in runs(~first):
            step = {row: values[row].as_py() for row in range(a - 1, b + 1)}
            present = {row: value for row, value in step.items() if value is not None and value == value}
            chosen[positions[a] - 1] = choose(present or step, key=lambda row: (present.get(row, 0), row))
        table = with_any_flag(chunk.table, chunk.table.filter(first), first, chunk.columns)
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), values.take(chosen))
        return replace(chunk, table=table, offsets=positions[chunk.offsets])


@dataclass(frozen=True)
class Gridded:
    """One series on its grid.

    Attributes
    ----------
    rows : int64, shape (rows,)
        Grid position of each row.
    ticks : int64, shape (n,)
        Time of each position (of absent records: so many steps after the one before).
    """

    rows: Ints
    ticks: Ints

    @classmethod
    def of(cls, rows: Ints, ticks: Ints, step: int) -> Gridded:
        """Fill the gaps."""
        n = int(rows[-1]) + 1
        if n == rows.size:
            return cls(rows, ticks)
        before = np.searchsorted(rows, np.arange(n), side="right") - 1
        return cls(rows, ticks[before] + (np.arange(n) - rows[before]) * step)

    @property
    def n(self) -> int:
        """Number of grid positions."""
        return len(self.ticks)


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last position of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def encode_states(values: pa.ChunkedArray, states: tuple[Any, ...]) -> Ints:
    """Codes of the states in a column, -1 where null or NaN, -2 where the value is no state."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(values.type) and (codes := _encode_whole(values, states)) is not None:
        return codes
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    encoded = values.combine_chunks().dictionary_encode() if isinstance(values, pa.ChunkedArray) else values
    index = {state: code for code, state in enumerate(states)}
    table = [
        -1 if value is None or value != value else index.get(value, -2) for value in encoded.dictionary.to_pylist()
    ]
    positions = pc.fill_null(encoded.indices, len(table)).to_numpy(zero_copy_only=False)
    return np.array([*table, -1], dtype=np.int64)[positions]


def _encode_whole(values: pa.ChunkedArray | pa.Array, states: tuple[Any, ...]) -> Ints | None:
    """Codes where all states are small whole numbers, by a table; None where they are not."""
    import pyarrow as pa

    if not all(isinstance(state, int | np.integer) and abs(int(state)) < _FEW_STATES for state in states):
        return None
    table = np.full(2 * _FEW_STATES + 1, -2, dtype=np.int64)
    table[np.array(states, dtype=np.int64)] = np.arange(len(states))  # a negative state counts from the end
    column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    numbers = np.asarray(column.fill_null(0))
    low, high = (-_FEW_STATES, _FEW_STATES) if numbers.dtype.kind == "i" else (0, _FEW_STATES)
    codes = table[np.clip(numbers, low, high) if numbers.dtype.itemsize > 1 else numbers]
    if column.null_count:
        codes[np.asarray(column.is_null())] = -1
    return codes
