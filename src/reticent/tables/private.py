"""Where the secrets are: time intervals, a predicate over public columns, or a boolean column; never the values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, InputError
from reticent.tables.grid import Grid, Gridded, runs
from reticent.tables.sql import quoted, quoted_list, text

if TYPE_CHECKING:
    from reticent.tables.reading import Columns, Records

Bools = NDArray[np.bool_]

FLAG = "reticent private"


@dataclass(frozen=True)
class Private:
    """What is to be hidden, as the curator stated it.

    Parameters
    ----------
    intervals : sequence of str
        ``START/END`` in the words of the time column, both ends included.
    where : str, optional
        An SQL predicate over identifiers, the time and `public` columns.
    column : str, optional
        A boolean column.
    public : sequence of str
        Columns that the predicate may read.
    """

    intervals: tuple[str, ...] = ()
    where: str | None = None
    column: str | None = None
    public: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.intervals or self.where or self.column):
            raise ArgumentError("private: say what is to be hidden: an interval START/END, a predicate, or a column")
        for interval in self.intervals:
            if interval.count("/") != 1:
                raise ArgumentError("private: an interval is START/END, such as '2015-02-05 08:00/2015-02-05 12:00'")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns to be read beside those of the release."""
        return (*((self.column,) if self.column else ()), *self.public)

    def describe(self) -> list[str]:
        """In words; all of it is public."""
        words = list(self.intervals)
        if self.where:
            words.append(f"where {self.where}")
        if self.column:
            words.append(f"where the column {self.column} is true")
        return words


@dataclass(frozen=True)
class Finder:
    """Finds the secrets of a series on its grid."""

    bounds: tuple[tuple[int, int], ...]
    flag: str | None

    def secrets(self, series: Gridded, flags: Bools | None) -> list[tuple[int, int]]:
        """Runs of private positions; a gap inside an interval, or between two private records, belongs to it."""
        stretches = [np.searchsorted(series.ticks, [first, last + 1]).tolist() for first, last in self.bounds]
        if flags is None and sum(end > begin for begin, end in stretches) < 2:
            return [(begin, end - 1) for begin, end in stretches if end > begin]
        hidden = np.zeros(series.n, dtype=bool)
        for begin, end in stretches:
            hidden[begin:end] = True
        if flags is not None:
            hidden[series.rows] |= flags
            pairs = np.flatnonzero(flags[:-1] & flags[1:])
            for a, b in zip(series.rows[pairs].tolist(), series.rows[pairs + 1].tolist(), strict=True):
                hidden[a : b + 1] = True
        return runs(hidden)


def make_finder(records: Records, private: Private, grid: Grid, duplicates: str = "error") -> Finder:
    """Read the intervals in the units of the time column; add the flag of predicate or column to the view.

    Raises
    ------
    ArgumentError, InputError
        An interval that is no time or ends before it begins; a predicate that reads other columns; a column that is
        not boolean; an interval outside the data; nothing that is private at all.
    """
    import duckdb

    bounds = tuple(_bounds(records, interval) for interval in private.intervals)
    if not records.part:
        _check_inside(records, private, bounds)
    flags = []
    if duplicates in (
        "min",
        "max",
        "mean",
    ):  # a step is private if any of its records is, and only one of them will stay
        flags += [f"({_ticks(records)} BETWEEN {first} AND {last})" for first, last in bounds]
    if private.where is None and private.column is None and not flags:
        return Finder(bounds, None)
    if private.column is not None:
        if private.column in records.columns.value:
            raise ArgumentError("private: the places of the secrets must not depend on values, and that column is one")
        if records.types[private.column] != "BOOLEAN":
            raise InputError(f"private: column {private.column} is not boolean; give one of true and false")
        flags.append(f"coalesce({quoted(private.column)}, true)")
    if private.where is not None:
        _check_predicate(records, private)
        flags.append(f"coalesce(({private.where}\n), true)")
    flag = " OR ".join(flags)
    try:
        records.con.execute(f"CREATE OR REPLACE VIEW {records.view} AS SELECT *, {flag} AS {quoted(FLAG)} FROM typed")
        any_private = records.con.sql(f"SELECT bool_or({quoted(FLAG)}) FROM {records.view}").fetchall()[0][0]
    except duckdb.Error:
        raise ArgumentError(
            "private: the predicate fails on some records (a cast, or a number out of range); write it so that it is "
            "true or false for each"
        ) from None
    if not (bounds or any_private or records.part):
        raise InputError("private: no record is private; is the predicate or the column right?")
    return Finder(bounds, FLAG)


def _bounds(records: Records, interval: str) -> tuple[int, int]:
    import duckdb

    parts = [part.strip() for part in interval.split("/")]
    kind = records.types[records.columns.time]
    try:
        if records.time_is_whole:
            first, last = (int(part) for part in parts)
        else:
            casts = ", ".join(f"epoch_us(CAST(CAST({text(part)} AS {kind}) AS TIMESTAMP))" for part in parts)
            first, last = records.con.sql(f"SELECT {casts}").fetchall()[0]
    except (duckdb.Error, ValueError):
        raise ArgumentError(
            f"private: {interval} is no interval of times; write START/END, such as '2015-02-05 08:00/2015-02-05 12:00'"
        ) from None
    if first > last:
        raise ArgumentError(f"private: {interval} ends before it begins")
    return int(first), int(last)


def _ticks(records: Records) -> str:
    time = quoted(records.columns.time)
    return time if records.time_is_whole else f"epoch_us({time}::TIMESTAMP)"


def _check_inside(records: Records, private: Private, bounds: Sequence[tuple[int, int]]) -> None:
    time, ticks = quoted(records.columns.time), _ticks(records)
    for interval, (first, last) in zip(private.intervals, bounds, strict=True):
        inside, begin, end = records.con.sql(
            f"SELECT count(*) FILTER ({ticks} BETWEEN {first} AND {last}), min({time}), max({time}) FROM {records.view}"
        ).fetchall()[0]
        if not inside:
            raise InputError(f"private: no record lies in {interval}; the data run from {begin} to {end}")


_READ_THE_CLOCK = {"age", "current_setting", "getvariable"}
_PLAIN = {
    "CONSTANT",
    "COLUMN_REF",
    "COMPARISON",
    "CONJUNCTION",
    "OPERATOR",
    "BETWEEN",
    "CASE",
    "CAST",
    "TYPE",
    "COLLATE",
}


def _check_predicate(records: Records, private: Private) -> None:
    """Bind the predicate to a relation that has the public columns only, where files are out of reach.

    Whatever could mean something else where the values are in reach is refused first: by the kind of each part of the
    parsed expression (`_PLAIN` and plain functions), so a place in the select list (#3), a star or a query cannot pass.
    """
    import duckdb

    columns: Columns = records.columns
    if {name.casefold() for name in private.public} & {name.casefold() for name in columns.value}:
        raise ArgumentError("public: a value column is not public; the places of the secrets must not depend on values")
    names = tuple(dict.fromkeys((*columns.id, columns.time, *private.public)))
    types = ", ".join(f"{quoted(name)} {records.types[name]}" for name in names)
    with duckdb.connect() as sandbox:
        sandbox.execute("SET enable_external_access = false; SET lock_configuration = true")
        sandbox.execute(f"CREATE TABLE records ({types})")
        query = f"SELECT ({private.where}\n) AS flag FROM records"
        parsed = json.loads(sandbox.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])
        if parsed["error"]:
            raise ArgumentError('private: the predicate is no condition in SQL; write it like "hour(ts) >= 22"')
        if len(parsed["statements"]) != 1 or len(parsed["statements"][0]["node"]["select_list"]) != 1:
            raise ArgumentError("private: the predicate must be one condition")
        plain = sandbox.sql(
            "SELECT function_name FROM duckdb_functions() GROUP BY function_name "
            "HAVING bool_and(function_type = 'scalar' AND stability <> 'VOLATILE') "
            "AND NOT bool_or(stability = 'CONSISTENT_WITHIN_QUERY' AND len(parameters) = 0)"
        )
        functions = {name for (name,) in plain.fetchall()} - _READ_THE_CLOCK
        condition = parsed["statements"][0]["node"]["select_list"]
        _check_plain(condition, functions, {name.casefold() for name in names})
        try:
            kind = sandbox.sql(query).types[0]
        except duckdb.Error as error:
            known = "; it may read " + quoted_list(names) + " (declare more with --public)"
            reason = str(error).splitlines()[0].split(":", 1)[-1].strip()
            raise ArgumentError(f"private: the predicate cannot be used: {reason}{known}") from None
    if str(kind) != "BOOLEAN":
        raise ArgumentError("private: the predicate must be true or false for each record")


def _check_plain(tree: Any, functions: set[str], names: set[str]) -> None:
    """Refuse all but comparisons and plain functions of columns, in every branch of a parsed expression."""
    for part in tree if isinstance(tree, list) else tree.values():
        if isinstance(part, dict | list):
            _check_plain(part, functions, names)
    kind = tree.get("class") if isinstance(tree, dict) else None
    if kind == "COLUMN_REF" and (len(tree["column_names"]) > 1 or tree["column_names"][0].casefold() not in names):
        raise ArgumentError(
            f"private: the predicate cannot read {'.'.join(tree['column_names'])}; it may read "
            f"{', '.join(sorted(names))} (declare more with --public)"
        )
    if isinstance(kind, str) and kind not in _PLAIN and not (kind == "FUNCTION" and tree["function_name"] in functions):
        what = f"the function {tree['function_name']}" if kind == "FUNCTION" else kind.lower().replace("_", " ")
        raise ArgumentError(
            f"private: the predicate must be a plain condition on each record, and {what} is none: no query inside, "
            "no star, no aggregate, nothing that is drawn or differs from one run to the next"
        )
