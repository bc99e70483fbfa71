"""Times as text: one format a column, found when it is certain, asked for when it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reticent.errors import ArgumentError, InputError
from reticent.tables.sql import quoted, text

if TYPE_CHECKING:
    import duckdb

ISO = "ISO 8601"
ISO_OFFSET = "ISO 8601 with offset"
WHOLE = "whole numbers"
COMPACT = "%Y%m%d"
EPOCHS = {"epoch s": 10**6, "epoch ms": 10**3, "epoch us": 1, "epoch ns": -(10**3)}  # microseconds; one in so many

_DATES = ("%d.%m.%Y", "%m.%d.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p", " %I:%M %p")
FORMATS = tuple(date + clock for date in _DATES for clock in _CLOCKS)

_ISO = r"\s*\d{4,6}[-/]\d{1,2}[-/]\d{1,2}"
_CLOCK = r"[T ]\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
_GLANCE = 2000  # rows that rule most formats out, before all rows are read with the others
_COMPACT = r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
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
        case "%Y%m%d":
            return f"CASE WHEN regexp_full_match({name}, '{_COMPACT}') THEN TRY_STRPTIME({name}, '%Y%m%d') END"
    if format in EPOCHS:
        return f"CASE WHEN regexp_full_match({name}, '[+-]?\\d+') THEN {epoch(name, format)} END"
    return f"TRY_STRPTIME({name}, {text(format)})"


def epoch(number: str, format: str) -> str:
    """SQL of the instant that is so many seconds (or parts of one) from 1970 on; null where there is none."""
    size = EPOCHS[format]
    whole = f"TRY_CAST({number} AS BIGINT)"
    ticks = f"{whole} // {-size}" if size < 0 else f"TRY_CAST(CAST({whole} AS HUGEINT) * {size} AS BIGINT)"
    return f"CASE WHEN {ticks} BETWEEN {-_FAR} AND {_FAR} THEN make_timestamp({ticks}) AT TIME ZONE 'UTC' END"


_FAR = 8 * 10**18  # microseconds that a time stamp holds, and more than any datum is away


class MisfitError(InputError):
    """An entry that cannot be read, in a data row; the line is found where there is one.

    Parameters
    ----------
    message : str
        With ``{place}`` where the place belongs.
    row : int
        From one.
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message.replace("{place}", f"data row {row}"))
        self.message, self.row = message, row

    def on_line(self, line: int) -> InputError:
        """The same with the line of the file."""
        return InputError(self.message.replace("{place}", f"data row {self.row}, line {line}"))


def find_format(
    con: duckdb.DuckDBPyConnection, view: str, column: str, asked: str | None, most: bool = False
) -> tuple[str, str]:
    """The one format that reads every time of the column: its name, and the SQL that reads it.

    Eight digits that are dates throughout are dates; "whole numbers" has to be asked for.

    Parameters
    ----------
    most : bool
        Take the format that reads more of the entries than any other; null where it does not fit.

    Raises
    ------
    InputError
        No format reads all (or any); or two formats do and disagree.
    """
    name = quoted(column)
    if asked:
        _check_asked(con, asked)
    candidates = [asked] if asked else [COMPACT, WHOLE, ISO, ISO_OFFSET, *FORMATS]
    present, hits = _hits(con, f"(SELECT {name} FROM {view} LIMIT {_GLANCE})", column, candidates)
    likely = [each for each in candidates if most or hits[each] == present]
    present, hits = _hits(con, view, column, likely)
    fits = [each for each in likely if hits[each] == (max(hits.values()) if most else present)]
    if not fits or not max(hits[each] for each in fits):
        _complain(con, view, column, candidates)
    if COMPACT in fits:
        fits = [COMPACT]
    if len(fits) > 1:
        first, second = (expression(column, each) for each in fits[:2])
        if con.sql(f"SELECT count(*) FROM {view} WHERE {first} IS DISTINCT FROM {second}").fetchall()[0][0]:
            raise InputError(
                f"time: the dates of column {column} can be read as {' or as '.join(fits[:2])}; "
                "say which with --time-format"
            )
    return fits[0], expression(column, fits[0])


def _complain(con: duckdb.DuckDBPyConnection, view: str, column: str, candidates: list[str]) -> None:
    present, hits = _hits(con, view, column, candidates)
    best = max((hits[each], each) for each in candidates)
    if present == 0:
        return  # that they are missing is said elsewhere
    if best[0] == 0:
        raise InputError(
            f"time: column {column} holds no times that can be read; name the right column, or its format with "
            "--time-format (such as '%d.%m.%Y %H:%M')"
        )
    row = first_misfit(con, view, column, expression(column, best[1]))
    raise MisfitError(
        f"time: {present - best[0]} of {present} entries of column {column} are no times as {best[1]} (first in "
        "{place}); correct them, name the format with --time-format, or set such rows aside with --quarantine",
        row,
    )


@dataclass(frozen=True)
class Clock:
    """Clock times read in a zone.

    Attributes
    ----------
    read : str
        SQL of the instant; in an hour that occurs twice, that of its second time.
    skipped : str
        SQL: whether the clocks never showed it.
    again : str
        SQL: whether they showed it twice.
    before : str
        SQL of the instant with, there, that of the first time.
    """

    read: str
    skipped: str
    again: str
    before: str


def in_zone(con: duckdb.DuckDBPyConnection, view: str, clock: str, zone: str) -> tuple[Clock, int, int]:
    """Clock times (SQL) as instants in a zone, with the numbers that the clocks never showed, and showed twice.

    The clocks went back by as much as they were ahead of themselves a day before: an hour, or half of one.

    Raises
    ------
    ArgumentError
        A zone that is not known.
    """
    if not con.execute("SELECT count(*) FROM pg_timezone_names() WHERE name = ?", [zone]).fetchall()[0][0]:
        raise ArgumentError(f"time-zone: {zone} is not known; write it like Europe/Berlin")
    local = f"CAST({clock} AS TIMESTAMP)"
    there = f"{local} AT TIME ZONE {text(zone)}"
    skipped = f"(({there}) AT TIME ZONE {text(zone)} <> {local})"
    day_before = f"(({there}) - INTERVAL 24 HOUR)"
    ahead, now = (f"({t} AT TIME ZONE {text(zone)}) - ({t} AT TIME ZONE 'UTC')" for t in (day_before, f"({there})"))
    back = f"(({ahead}) - ({now}))"
    first = f"(({there}) - {back})"
    again = f"({back} > INTERVAL 0 SECOND AND {first} AT TIME ZONE {text(zone)} = {local})"
    missing, twice = con.sql(f"SELECT count(*) FILTER ({skipped}), count(*) FILTER ({again}) FROM {view}").fetchall()[0]
    return Clock(f"({there})", skipped, again, f"CASE WHEN {again} THEN {first} ELSE {there} END"), missing, twice


def _hits(
    con: duckdb.DuckDBPyConnection, relation: str, column: str, candidates: list[str]
) -> tuple[int, dict[str, int]]:
    """Entries that are present, and how many of them each format reads."""
    counts = [quoted(column), *(expression(column, each) for each in candidates)]
    found = con.sql(f"SELECT {', '.join(f'count({each})' for each in counts)} FROM {relation}").fetchall()[0]
    return found[0], dict(zip(candidates, found[1:], strict=True))


def _check_asked(con: duckdb.DuckDBPyConnection, asked: str) -> None:
    import duckdb

    if asked in (WHOLE, ISO, ISO_OFFSET) or asked in EPOCHS:
        return
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
