"""Rows put into the order of (id, time) by distribution: series are counted, so the place of each is known beforehand.

Rows are read once, in any order, and laid where their series is; then each series is sorted by itself. What exceeds the
memory allowed first goes to disk, in parts of whole series. Time is linear, and no identifier is compared or carried
along: a row bears the number of its series.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.tables.reading import Records
from reticent.tables.sql import quoted, quoted_list

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Ints = NDArray[np.int64]

MOST_MEMORY = 10**9  # bytes: more does not make it faster

_NUMBER, _COUNT = "reticent series", "reticent rows"
_BATCH = 1 << 17
_FEW_WORDS = 1 << 16  # texts in a column, at most, that are carried along as numbers
_MOST_PARTS = 200  # files that are open at once
_MOST_ROWS = 2**31 - 1  # of a series: they are counted in 32 bits
_SERIES_BYTES = 64
_WHOLE = frozenset(["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"])
_STAMPS = frozenset({"DATE", *(f"TIMESTAMP{kind}" for kind in ("", "_S", "_MS", "_NS", " WITH TIME ZONE"))})
_TIMES = _WHOLE | _STAMPS
_IDS = _TIMES | {"HUGEINT", "DECIMAL", "VARCHAR", "TIME", "BOOLEAN"}  # not floats, of which two zeros are one id
_LAID = _IDS | {"FLOAT", "DOUBLE"}
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@dataclass(frozen=True)
class _Plan:
    """What to read, and what is known beforehand.

    Attributes
    ----------
    sql : str
        Each row: the number of its series, then `schema`.
    schema : pa.Schema
        Of what is laid out; a text is its number among `words`.
    time : str
    series : pa.Table or None
        Identifiers, in order.
    starts : int64, shape (series + 1,)
        First row of each series.
    ranks : int32, optional
        The number of a series by what `sql` gives instead.
    """

    con: duckdb.DuckDBPyConnection
    sql: str
    schema: pa.Schema
    words: Mapping[str, pa.Array]
    time: str
    series: pa.Table | None
    starts: Ints
    ranks: NDArray[np.int32] | None = None

    @property
    def row_bytes(self) -> int:
        """Of a row in memory: its time, where it came from, and all else."""
        return 12 + sum(_dtype(field.type).itemsize for field in self.schema if field.name != self.time)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in any order."""
        yield from self.con.sql(self.sql).to_arrow_reader(_BATCH)

    def numbers(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """Of the series of each row."""
        found = _plain(batch.column(0))
        return found if self.ranks is None else self.ranks[found]


def limit_memory(con: duckdb.DuckDBPyConnection) -> None:
    """A quarter of the machine's, as far as that is of use (DuckDB's own limit is 80% of it)."""
    con.execute(f"SET memory_limit = '{min(int(_memory(con) / 0.8 / 4), MOST_MEMORY)}B'")


def arranged(
    records: Records, names: Iterable[str], rows: int, longest: int = _MOST_ROWS
) -> Iterator[tuple[pa.Table, Ints]] | None:
    """Tables of whole series with their offsets, about `rows` rows each, in order of (id, time).

    None where the columns are not of kinds that can be laid out like this, or a series has more than `longest` rows:
    then DuckDB sorts them. Rows of one series and time come in any order.
    """
    plan = _plan(records, [name for name in names if name not in records.columns.id])
    if plan is None:
        return None
    memory, series = _memory(records.con), plan.starts.size - 1
    room = memory // plan.row_bytes
    if series * _SERIES_BYTES > memory or np.diff(plan.starts).max() > min(longest, _MOST_ROWS):
        return None
    if plan.starts[-1] <= room:
        return _in_memory(plan, rows)
    cuts = _shares(plan.starts, rows)  # which depend on the data alone, so that the memory shows nowhere
    parts = cuts[_shares(plan.starts[cuts], max(room // 2, 1))]  # while one is being written the next is laid out
    return None if parts.size > _MOST_PARTS else _by_way_of_disk(plan, parts, rows)


def _plan(records: Records, carried: list[str]) -> _Plan | None:
    import pyarrow as pa

    con, ids, time = records.con, records.columns.id, records.columns.time
    types = {name: str(kind) for name, kind, *_ in con.sql(f"DESCRIBE {records.view}").fetchall()}
    kinds = ((_TIMES, (time,)), (_IDS, ids), (_LAID, carried))
    fit = all(re.sub(r"\(.*\)$", "", types[name]) in kind for kind, names in kinds for name in names)
    if records.format.kind == "csv" or not fit:  # text is read through as seldom as possible
        return None
    columns, source, words = {name: f"given.{quoted(name)}" for name in carried}, f"{records.view} AS given", {}
    for i, name in enumerate(name for name in carried if types[name] == "VARCHAR"):
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE words{i} AS SELECT *, (row_number() OVER () - 1)::INTEGER AS number FROM "
            f"(SELECT DISTINCT {quoted(name)} AS word FROM {records.view} WHERE word IS NOT NULL "
            f"LIMIT {_FEW_WORDS + 1})"
        )
        words[name] = con.sql(f"SELECT word FROM words{i} ORDER BY number").to_arrow_table()["word"].combine_chunks()
        if len(words[name]) > _FEW_WORDS:
            return None
        columns[name] = f"words{i}.number"
        source += f" LEFT JOIN words{i} ON words{i}.word = given.{quoted(name)}"
    series, starts, ranks, number = None, np.array([0, records.rows]), None, "0::INTEGER"
    if (close := _close_together(records, types)) is not None:
        series, starts, ranks, number = close
    elif ids:
        listed = quoted_list(ids)
        found = con.sql(
            f"SELECT {listed}, count(*) AS {quoted(_COUNT)} FROM {records.view} GROUP BY {listed} ORDER BY {listed}"
        ).to_arrow_table()
        starts, series = _ends(found[_COUNT].to_numpy()), found.select(ids).combine_chunks()
        number = f"series.{quoted(_NUMBER)}"
        con.register("series", series.append_column(_NUMBER, pa.array(np.arange(series.num_rows, dtype=np.int32))))
        source += " JOIN series ON " + " AND ".join(f"series.{quoted(name)} = given.{quoted(name)}" for name in ids)
    chosen = ", ".join(f"{column} AS {quoted(name)}" for name, column in columns.items())
    sql = f"SELECT {number} AS {quoted(_NUMBER)}, {chosen} FROM {source}"
    schema = con.sql(f"{sql} LIMIT 0").to_arrow_table().schema.remove(0)
    return _Plan(con, sql, schema, words, time, series, starts, ranks)


def _close_together(records: Records, types: Mapping[str, str]) -> tuple[pa.Table, Ints, NDArray[np.int32], str] | None:
    """Identifiers that are whole numbers and lie close together say by themselves where they are counted.

    Returns them in order, the first row of each, the number of each by its distance from the least, and that in SQL.
    """
    import pyarrow as pa

    con, ids = records.con, records.columns.id
    if len(ids) != 1 or types[ids[0]] not in _WHOLE:
        return None
    column = quoted(ids[0])
    least, most = con.sql(f"SELECT min({column}), max({column}) FROM {records.view}").fetchall()[0]
    if most - least >= min(records.rows, _memory(con) // _SERIES_BYTES) or most >= 2**63:
        return None
    number = f"({column}::HUGEINT - {least})::INTEGER"
    counts = np.zeros(most - least + 1, dtype=np.int64)
    for batch in con.sql(f"SELECT {number} FROM {records.view}").to_arrow_reader(_BATCH):
        np.add.at(counts, _plain(batch.column(0)), 1)
    there = np.flatnonzero(counts)
    kind = con.sql(f"SELECT {column} FROM {records.view} LIMIT 0").to_arrow_table().schema.field(0).type
    series = pa.table({ids[0]: pa.array(there + least).cast(kind)})
    ranks = (np.cumsum(counts > 0) - 1).astype(np.int32)
    return series, _ends(counts[there]), ranks, f"(given.{column}::HUGEINT - {least})::INTEGER"


def _ends(counts: Ints) -> Ints:
    """Where each group begins, and the end."""
    return np.concatenate([[0], np.cumsum(counts)])


def _in_memory(plan: _Plan, rows: int) -> Iterator[tuple[pa.Table, Ints]]:
    part = _Part(plan, 0, plan.starts.size - 1)
    for batch in plan.batches():
        part.add(batch)
    yield from part.tables(rows)


def _by_way_of_disk(plan: _Plan, parts: Ints, rows: int) -> Iterator[tuple[pa.Table, Ints]]:
    """The rows of each part (of the series ``parts[i]`` to ``parts[i + 1] - 1``) go to a file of its own first."""
    import pyarrow as pa

    place = plan.con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0]
    Path(place).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        files = [Path(folder, f"{i}.arrow") for i in range(parts.size - 1)]
        _divide(plan, parts, files)
        for file, first, last in zip(files, parts[:-1].tolist(), parts[1:].tolist(), strict=True):
            part = _Part(plan, first, last)
            with pa.OSFile(str(file)) as opened, pa.ipc.open_stream(opened) as batches:
                for batch in batches:
                    part.add(batch)
            file.unlink()
            yield from part.tables(rows)


def _divide(plan: _Plan, parts: Ints, files: list[Path]) -> None:
    """Each row to the file of its part."""
    import pyarrow as pa

    from reticent.tables._kernels import next_places

    part_of = np.repeat(np.arange(len(files), dtype=np.int32), np.diff(parts))
    with ExitStack() as stack:
        sinks: list[Any] = []
        for batch in plan.batches():
            if not sinks:
                sinks = [stack.enter_context(pa.ipc.new_stream(str(file), batch.schema)) for file in files]
            codes = part_of[plan.numbers(batch)]
            bounds = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(files)))])
            places = np.empty(codes.size, dtype=np.int64)
            next_places(codes, bounds[:-1].copy(), places)
            order = np.empty(codes.size, dtype=np.int64)
            order[places] = np.arange(codes.size)
            batch = batch.take(pa.array(order))
            for i in np.flatnonzero(np.diff(bounds)).tolist():
                sinks[i].write_batch(batch.slice(bounds[i], bounds[i + 1] - bounds[i]))


class _Part:
    """The rows of the series `first` to `last` - 1, laid out one after another."""

    def __init__(self, plan: _Plan, first: int, last: int) -> None:
        self._plan, self._first = plan, first
        self._starts = plan.starts[first : last + 1] - plan.starts[first]
        self._free = self._starts[:-1].copy()
        size = int(self._starts[-1])
        self._ticks = np.empty(size, dtype=np.int64)
        kinds = {field.name: field.type for field in plan.schema if field.name != plan.time}
        self._values = {name: np.empty(size, dtype=_dtype(kind)) for name, kind in kinds.items()}
        self._absent: dict[str, NDArray[np.bool_]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Lay out some rows."""
        from reticent.tables._kernels import next_places

        places = np.empty(batch.num_rows, dtype=np.int64)
        next_places(self._plan.numbers(batch) - np.int32(self._first), self._free, places)
        for name, column in zip(batch.schema.names[1:], batch.columns[1:], strict=True):
            values = _plain(column)
            if column.null_count:
                absent = column.is_null().to_numpy(zero_copy_only=False)
                values = np.where(absent, np.zeros(1, values.dtype), values)  # nothing is to be seen below a null
                self._absent.setdefault(name, np.zeros(self._ticks.size, dtype=bool))[places] = absent
            (self._ticks if name == self._plan.time else self._values[name])[places] = values

    def tables(self, rows: int) -> Iterator[tuple[pa.Table, Ints]]:
        """The series in order of time, about `rows` rows at once."""
        import pyarrow as pa

        last = self._first + self._starts.size - 1
        longest = int(np.diff(self._starts).max())
        room = np.empty(longest + 1, np.int32), np.empty(longest, np.int64), np.empty(longest, np.int32)
        cuts = _shares(self._plan.starts[self._first : last + 1], rows)
        for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            offsets = self._starts[a : b + 1]
            here, places = slice(int(offsets[0]), int(offsets[-1])), self._in_time(offsets, room)
            table = {}
            if self._plan.series is not None:
                series = pa.array(self._first + np.repeat(np.arange(a, b), np.diff(offsets)))
                table = dict(zip(self._plan.series.column_names, self._plan.series.take(series).columns, strict=True))
            for field in self._plan.schema:
                table[field.name] = self._column(field, here, places)
            yield pa.table(table), offsets - offsets[0]

    def _column(self, field: pa.Field, here: slice, rows: NDArray[np.int32]) -> pa.Array:
        if field.name == self._plan.time:
            return _array(field.type, self._ticks[here].astype(_dtype(field.type), copy=False), None)
        absent = self._absent.get(field.name)
        values = self._values[field.name][here][rows]
        column = _array(field.type, values, None if absent is None else absent[here][rows])
        words = self._plan.words.get(field.name)
        return column if words is None else words.take(column)

    def _in_time(self, offsets: Ints, room: tuple[NDArray[Any], ...]) -> NDArray[np.int32]:
        """Sort the times of each series; where each row of it lies."""
        from reticent.tables._kernels import order_in_time

        first = int(offsets[0])
        ticks = self._ticks[first : int(offsets[-1])]
        rows, left = np.empty(ticks.size, dtype=np.int32), np.zeros(offsets.size - 1, dtype=np.bool_)
        order_in_time(ticks, offsets - first, rows, left, *room)
        for series in np.flatnonzero(left).tolist():
            here = slice(offsets[series] - first, offsets[series + 1] - first)
            again = np.argsort(ticks[here], kind="stable")
            ticks[here], rows[here] = ticks[here][again], rows[here][again]
        return rows


def _shares(starts: Ints, rows: int) -> Ints:
    """Cuts between series, so that those between two cuts have about `rows` rows."""
    return np.concatenate([[0], np.flatnonzero(np.diff(starts[1:] // rows)) + 1, [starts.size - 1]])


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    """What the values of a fixed width are in memory; whole numbers where they serve as times or codes."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return np.dtype(np.uint8)
    size = kind.bit_width // 8
    return np.dtype(f"{'u' if pa.types.is_unsigned_integer(kind) else 'i'}{size}" if size <= 8 else f"V{size}")


def _plain(column: pa.Array) -> NDArray[Any]:
    """The values of a column of fixed width, whatever is null."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    kind = _dtype(column.type)
    return np.frombuffer(column.buffers()[1], dtype=kind, count=len(column), offset=column.offset * kind.itemsize)


def _array(kind: pa.DataType, values: NDArray[Any], absent: NDArray[np.bool_] | None) -> pa.Array:
    """A column of these values."""
    import pyarrow as pa

    valid = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    data = np.packbits(values, bitorder="little") if pa.types.is_boolean(kind) else values
    return pa.Array.from_buffers(kind, values.size, [valid, pa.py_buffer(data)])


def _memory(con: duckdb.DuckDBPyConnection) -> int:
    """Bytes that DuckDB may use."""
    amount, unit = con.sql("SELECT current_setting('memory_limit')").fetchall()[0][0].split()
    return int(float(amount) * _UNITS[unit])
