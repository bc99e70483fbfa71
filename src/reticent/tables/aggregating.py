"""Coarsened aggregates over groups and windows of time: *the half-hourly mean load of each street of 8 homes*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, InputError
from reticent.quantization import AggregateQuantization, Roster
from reticent.randomness import Source
from reticent.tables.chunks import Chunk
from reticent.tables.grid import Grid
from reticent.tables.reading import Columns, Records
from reticent.tables.sql import quoted, quoted_list, text

if TYPE_CHECKING:
    import pyarrow as pa

WINDOW = "reticent window"
MEMBERS = "reticent members"


@dataclass
class AggregateVerb:
    """One aggregate a group and window; the individuals' columns go in, the group's come out.

    Parameters
    ----------
    records : Records
        In the order of group, window, individual: see `grouped`.
    released : Columns
        The group's columns, the start of the window, the aggregate.
    mechanism : AggregateQuantization
    asked : dict
    grid : Grid
        The window.
    readings : int
        Readings that an individual of the roster has in a window.
    duplicates : str
        The rule by which an individual had one reading at a time.
    """

    records: Records
    released: Columns
    mechanism: AggregateQuantization
    asked: dict[str, Any]
    grid: Grid
    readings: int
    duplicates: str = "error"
    action = "quantize"
    extra = (MEMBERS,)
    look_ahead = None
    _groups: list[tuple[Any, Roster]] = field(default_factory=list)

    def warm_up(self) -> None:
        """Load the compiler of the kernels."""
        import_module("numba")

    def apply(self, chunk: Chunk, source: Source) -> pa.Table:
        """The aggregates of whole groups and windows."""
        return self._aggregates(chunk)

    def _aggregates(self, chunk: Chunk) -> pa.Table:
        import pyarrow as pa

        table = chunk.table
        first = table.take(pa.array(chunk.offsets[:-1]))
        rosters = [Roster(members, members * self.readings, self.readings) for members in first[MEMBERS].to_pylist()]
        self._note(first, rosters)
        (column,) = chunk.columns.value
        lengths = np.diff(chunk.offsets)
        symbols = self.mechanism.release(
            values_of(table[column], column),
            rosters,
            np.repeat(np.arange(len(rosters)), lengths),
            individual_codes(table, chunk.columns.keep),
        )
        released = pa.array(symbols, from_pandas=True)
        (name,) = self.released.value
        out = first.select([*self.released.id, WINDOW]).rename_columns([*self.released.id, self.released.time])
        return out.append_column(pa.field(name, released.type), released)

    def _note(self, first: pa.Table, rosters: Sequence[Roster]) -> None:
        names = zip(*(first[name].to_pylist() for name in self.released.id), strict=True)
        for name, roster in zip(names if self.released.id else [()] * len(rosters), rosters, strict=True):
            if not self._groups or self._groups[-1][0] != name:
                self._groups.append((name, roster))

    def examine(self, chunk: Chunk) -> pa.Table:
        """As `apply`: nothing is drawn."""
        return self._aggregates(chunk)

    def parameters(self) -> dict[str, Any]:
        """Public parameters."""
        counts: list[list[int]] = []
        for _, roster in self._groups:
            if counts and counts[-1][0] == roster.individuals:
                counts[-1][1] += 1
            else:
                counts.append([roster.individuals, 1])
        return {
            "asked": self.asked,
            "aggregate": self.mechanism.to_dict(),
            "window": {"step": self.grid.step, "unit": "1" if self.grid.whole else "us"},
            "readings": self.readings,
            "duplicates": self.duplicates,
            "groups": counts,
        }


def values_of(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """Numbers of a column as the quantisers read them: exact where the type is; NaN or None where missing.

    Raises
    ------
    InputError
        A column that holds no numbers.
    """
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(f"value: column {name} holds {kind} values; only numbers are quantised")
    if pa.types.is_floating(kind) or not (column.null_count or pa.types.is_decimal(kind)):
        return np.asarray(column.to_numpy())
    return np.array(column.to_pylist(), dtype=object)


def individual_codes(table: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    """One integer an individual."""
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for name in names:
        encoded = table[name].combine_chunks().dictionary_encode()
        codes = codes * len(encoded.dictionary) + np.asarray(encoded.indices, dtype=np.int64)
    return codes


def grouped(
    records: Records,
    over: tuple[str, ...],
    window: Grid,
    roster: Path | None,
    at_least: int,
    complete: int,
    period: tuple[int, int] | None,
) -> Records:
    """The records in the order of group, window and individual, with the size of each group's roster.

    Groups of fewer than `at_least` are left out: the roster is public. With `complete`, rows without a value stand for
    readings that are absent, so that each individual of the roster has at least `complete` in every window of `period`
    (its first and its last window, as numbers of microseconds or as they are; those of the data by default); which rows
    the input lacks can then not be seen.

    Raises
    ------
    ArgumentError, InputError
        A roster without the columns, individuals that are not in it or in two groups, no group that is
        large enough.
    """
    columns = records.columns
    con = records.con
    keys, people = quoted_list(over), quoted_list(columns.id)
    both = ", ".join(filter(None, (keys, people)))
    if roster is None:
        con.execute(f"CREATE TABLE roster AS SELECT DISTINCT {both} FROM {records.view}")
    else:
        _read_roster(records, roster, (*over, *columns.id))
    size = f"SELECT {keys + ',' if keys else ''} count(DISTINCT ({people})) AS {quoted(MEMBERS)} FROM roster"
    by = f"GROUP BY {keys}" if keys else ""
    con.execute(f"CREATE TABLE sizes AS FROM ({size} {by}) WHERE {quoted(MEMBERS)} >= {at_least}")
    if not con.sql("SELECT count(*) FROM sizes").fetchall()[0][0]:
        raise InputError(f"at-least: no group has {at_least} individuals or more")
    join = f"JOIN sizes USING ({keys})" if keys else "CROSS JOIN sizes"
    again = f"SELECT {people} FROM roster {join} GROUP BY ALL HAVING count(*) > 1"
    if twice := con.sql(f"SELECT count(*) FROM ({again})").fetchall()[0][0]:
        raise InputError(
            f"over: {twice} individuals are in more than one group, and would be in several aggregates of one window; "
            "give each individual one group, and an identifier of its own"
        )
    start = _window_start(records, window)
    con.execute(f"CREATE VIEW windowed AS SELECT *, {start} AS {quoted(WINDOW)} FROM {records.view} {join}")
    view = "windowed"
    if complete:
        _complete(con, columns, over, window, _stamp(records, "w"), complete, _bounds(window, period))
        view = "completed"
    else:
        _check_windows(con, over, window, _bounds(window, period))
    inner = Columns(columns.time, columns.value, (*over, WINDOW), columns.id)
    rows = con.sql(f"SELECT count(*) FROM {view}").fetchall()[0][0]
    return replace(records, view=view, columns=inner, rows=int(rows))


def _bounds(window: Grid, period: tuple[int, int] | None) -> str:
    """SQL of the first and the last window (a and b): those of the stated period, else of the data."""
    if period is not None:
        return f"SELECT {period[0]} AS a, {period[1]} AS b"
    ticks = _ticks(quoted(WINDOW), window.whole)
    return f"SELECT min({ticks}) AS a, max({ticks}) AS b FROM windowed"


def period_of(records: Records, window: Grid, since: str | None, until: str | None) -> tuple[int, int] | None:
    """The first and the last window from `since` on and before `until`, in microseconds (or as whole numbers).

    Raises
    ------
    ArgumentError
        One of the two alone, limits that are no times, or an empty period.
    """
    import duckdb

    if since is None and until is None:
        return None
    if since is None or until is None:
        raise ArgumentError("since, until: give both, the public period of the aggregates")
    kind = records.types[records.columns.time]
    ticks = ", ".join(_ticks(f"CAST({text(limit)} AS {kind})", records.time_is_whole) for limit in (since, until))
    try:
        first, end = records.con.sql(f"SELECT {ticks}").fetchall()[0]
    except duckdb.Error:
        raise ArgumentError("since, until: must be times like those of the time column") from None
    if first >= end:
        raise ArgumentError("since, until: the period is empty; it goes from since up to, not including, until")
    return int(first) // window.step * window.step, (int(end) - 1) // window.step * window.step


def _complete(
    con: Any, columns: Columns, over: tuple[str, ...], window: Grid, stamp: str, readings: int, bounds: str
) -> None:
    """Add rows without a value for what the roster lacks in each window of the period."""
    windows = (
        f"SELECT {stamp} AS {quoted(WINDOW)} FROM (SELECT unnest(range(a, b + 1, {window.step})) AS w FROM ({bounds}))"
    )
    keys = quoted_list((*over, *columns.id, WINDOW))
    sized = f"JOIN sizes USING ({quoted_list(over)})" if over else "CROSS JOIN sizes"
    con.execute(
        f"CREATE VIEW completed AS FROM windowed UNION ALL BY NAME "
        f"SELECT {keys}, {quoted(MEMBERS)}, {quoted(WINDOW)} AS {quoted(columns.time)} "
        f"FROM roster {sized} CROSS JOIN ({windows}) "
        f"LEFT JOIN (SELECT {keys}, count(*) AS present FROM windowed GROUP BY ALL) USING ({keys}), "
        f"unnest(range({readings} - coalesce(present, 0)))"
    )


def _check_windows(con: Any, over: tuple[str, ...], window: Grid, bounds: str) -> None:
    """Each group must have every window of the period: one that is absent would show."""
    asked = f"SELECT (b - a) // {window.step} + 1 FROM ({bounds})"
    there = f"SELECT count(*) FROM (SELECT DISTINCT {quoted_list((*over, WINDOW))} FROM windowed)"
    windows, groups, found = con.sql(f"SELECT ({asked}), (SELECT count(*) FROM sizes), ({there})").fetchall()[0]
    if windows * groups != found:
        raise InputError(
            f"values: {windows * groups - found} windows of groups lack rows of their roster altogether; state fill=, "
            "or choose participation='private'"
        )


def _ticks(time: str, whole: bool) -> str:
    """SQL of a time in microseconds, or of a whole number as it is."""
    return time if whole else f"epoch_us({time}::TIMESTAMP)"


def _window_start(records: Records, window: Grid) -> str:
    ticks, step = _ticks(quoted(records.columns.time), records.time_is_whole), window.step
    return _stamp(records, f"({ticks} - ({ticks} % {step} + {step}) % {step})")  # floats do not hold such numbers


def _stamp(records: Records, ticks: str) -> str:
    """SQL of a time from microseconds (or of a whole number), in the type of the time column."""
    kind = records.types[records.columns.time]
    if records.time_is_whole:
        return f"CAST({ticks} AS {kind})"
    zoned = " AT TIME ZONE 'UTC'" if "TIME ZONE" in kind else ""
    return f"(make_timestamp({ticks}){zoned})" if zoned else f"make_timestamp({ticks})"


def _read_roster(records: Records, path: Path, names: tuple[str, ...]) -> None:
    """A public list of the individuals of each group, in the types of the input: as text 007 and 7 are two."""
    import duckdb

    con, both = records.con, quoted_list(names)
    source = (
        f"read_parquet({text(str(path))}, hive_partitioning = false)"
        if path.suffix in (".parquet", ".pq")
        else f"read_csv({text(str(path))}, header = true, all_varchar = true)"
    )
    typed = ", ".join(f"TRY_CAST({quoted(name)} AS {records.types[name]}) AS {quoted(name)}" for name in names)
    absent = " OR ".join(f"{quoted(name)} IS NULL" for name in names)
    try:
        con.execute(f"CREATE TABLE roster AS SELECT DISTINCT {typed} FROM {source}")
        wrong = con.sql(f"SELECT count(*) FROM roster WHERE {absent}").fetchall()[0][0]
        known = con.sql(f"SELECT count(*) FROM (SELECT DISTINCT {both} FROM {records.view} EXCEPT FROM roster)")
        strangers = known.fetchall()[0][0]
    except duckdb.Error:
        raise InputError(f"roster: {path.name} cannot be read, or lacks one of the columns {both}") from None
    if wrong:
        raise InputError(
            f"roster: {wrong} rows of {path.name} lack one of the columns {both}, or hold what the input's cannot"
        )
    if strangers:
        raise InputError(f"roster: {strangers} individuals of the input are not in their group of {path.name}")
