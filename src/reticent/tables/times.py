"""Times as text: one format a column, found when it is certain, asked for when it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.errors import ArgumentError, InputError
from reticent.tables.sql import quoted, text

if TYPE_CHECKING:
    import duckdb

ISO = "ISO 8601"
ISO_OFFSET = "ISO 8601 with offset"
WHOLE = "whole numbers"

_DATES = ("%d.%m.%Y", "%m.%d.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p", " %I:%M %p")
FORMATS = tuple(date + clock for date in _DATES for clock in _CLOCKS)

_ISO = r"\s*\d{4,6}[-/]\d{1,2}[-/]\d{1,2}"
_CLOCK = r"[T ]\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
_GLANCE = 2000  # rows that rule most formats out, before all rows are read with the others
_OFFSET = r"\s?(Z|UTC|[+-]\d{2}(:?\d{2})?)"


def expression(column: str, format: str) -> str:
    """SQL that reads `column` in `format`, null where it does not fit."""
    name = quoted(column)
    match format:  # the whole text is matched: DuckDB's cast would also take 'infinity', or drop the name of a zone
        case "ISO 8601":
            fits = f"regexp_full_match({name}, '{_ISO}({_CLOCK})?\\s*')"
            return f"CASE WHEN {fits} THEN TRY_CAST(trim({name}) AS TIMESTAMP) END"
        case "ISO 8601 with offset":
            fits = f"regexp_full_match({name}, '{_ISO}{_CLOCK}{_OFFSET}\\s*')"
            return f"CASE WHEN {fits} THEN TRY_CAST(trim({name}) AS TIMESTAMPTZ) END"
        case "whole numbers":
            return f"CASE WHEN regexp_full_match({name}, '[+-]?\\d+') THEN TRY_CAST({name} AS BIGINT) END"
    return f"TRY_STRPTIME({name}, {text(format)})"


def find_format(con: duckdb.DuckDBPyConnection, view: str, column: str, asked: str | None) -> tuple[str, str]:
    """The one format that reads every time of the column: its name, and the SQL that reads it.

    Raises
    ------
    InputError
        No format reads all; or two formats do and disagree.
    """
    name = quoted(column)
    if asked:
        _check_asked(con, asked)
    candidates = [asked] if asked else [WHOLE, ISO, ISO_OFFSET, *FORMATS]
    present, hits = _hits(con, f"(SELECT {name} FROM {view} LIMIT {_GLANCE})", column, candidates)
    likely = [each for each in candidates if hits[each] == present]
    present, hits = _hits(con, view, column, likely)
    fits = [each for each in likely if hits[each] == present]
    if not fits:
        present, hits = _hits(con, view, column, candidates)
        best = max((hits[each], each) for each in candidates)
        if best[0] == 0:
            raise InputError(
                f"time: column {column} holds no times that can be read; name the right column, or its format with "
                "--time-format (such as '%d.%m.%Y %H:%M')"
            )
        line = first_misfit(con, view, column, expression(column, best[1]))
        raise InputError(
            f"time: {present - best[0]} of {present} entries of column {column} are no times as {best[1]} "
            f"(first in data row {line}); correct them, or name the format with --time-format"
        )
    if len(fits) > 1:
        first, second = (expression(column, each) for each in fits[:2])
        if con.sql(f"SELECT count(*) FROM {view} WHERE {first} IS DISTINCT FROM {second}").fetchall()[0][0]:
            raise InputError(
                f"time: the dates of column {column} can be read as {' or as '.join(fits[:2])}; "
                "say which with --time-format"
            )
    return fits[0], expression(column, fits[0])


def _hits(
    con: duckdb.DuckDBPyConnection, relation: str, column: str, candidates: list[str]
) -> tuple[int, dict[str, int]]:
    """Entries that are present, and how many of them each format reads."""
    counts = [quoted(column), *(expression(column, each) for each in candidates)]
    found = con.sql(f"SELECT {', '.join(f'count({each})' for each in counts)} FROM {relation}").fetchall()[0]
    return found[0], dict(zip(candidates, found[1:], strict=True))


def _check_asked(con: duckdb.DuckDBPyConnection, asked: str) -> None:
    import duckdb

    try:
        con.execute(f"SELECT TRY_STRPTIME('', {text(asked)})").fetchall()
    except duckdb.Error:
        raise ArgumentError(f"time-format: {asked} is no format of times; write it like '%d.%m.%Y %H:%M'") from None


def first_misfit(con: duckdb.DuckDBPyConnection, view: str, column: str, expression: str) -> int:
    """Number (from one) of the first data row whose entry is present but does not fit."""
    con.execute("SET preserve_insertion_order = true")  # else rows would not be counted in the order of the file
    rows = con.sql(
        f"SELECT min(n) FROM (SELECT row_number() OVER () AS n, {quoted(column)} AS raw, {expression} AS read "
        f"FROM {view}) WHERE raw IS NOT NULL AND read IS NULL"
    ).fetchall()
    return int(rows[0][0])
