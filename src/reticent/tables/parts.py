"""Columns of the input as SQL: how each is read, and what is wrong with a row that cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reticent.errors import ArgumentError, InputError
from reticent.tables.delimited import Reading, text_expression
from reticent.tables.spellings import state_expression
from reticent.tables.sql import quoted
from reticent.tables.times import COMPACT, EPOCHS, WHOLE, epoch, expression, find_format, in_zone

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from reticent.tables.reading import Columns

Plan = list[tuple[str, str]]

TEMPORAL = ("TIMESTAMP", "DATE")
WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
NUMBERS = (*WHOLE_TYPES, "FLOAT", "DOUBLE", "DECIMAL")


@dataclass
class Part:
    """A column as SQL, and what is wrong with a row: reason and condition."""

    read: str
    faults: list[tuple[str, str]] = field(default_factory=list)


def read_column(
    con: duckdb.DuckDBPyConnection,
    name: str,
    kind: str,
    columns: Columns,
    reading: Reading,
    plan: list[tuple[str, str]],
    schema: pa.Schema | None,
) -> Part:
    column = quoted(name)
    if name == columns.time:
        return _time(con, name, kind, reading, plan)
    if name in columns.value and reading.states:
        plan.append(("value", f"{name}, {len(reading.states)} states, as declared"))
        held = "VARCHAR" if kind.startswith("ENUM") else kind
        state = state_expression(f"CAST({column} AS VARCHAR)" if held != kind else column, held, reading.states)
        present = f"{column} IS NOT NULL" + (f" AND NOT isnan({column})" if kind in ("FLOAT", "DOUBLE") else "")
        return Part(state, [(f"a value of column {name} that stands for no state", f"{present} AND {state} IS NULL")])
    if schema is None and (name in columns.value or name in columns.id or name not in columns.all):
        read = text_expression(con, name, reading, plan, "id" if name in columns.id else "value")
        if reading.quarantine is None or read == column:
            return Part(read)
        return Part(read, [(f"text among the numbers of column {name}", f"{column} IS NOT NULL AND {read} IS NULL")])
    if name in columns.value:
        plan.append(("value", f"{name}, {kind.lower()}"))
    if name in columns.id:
        plan.append(("id", f"{name}, {kind.lower()}"))
    if name in columns.id and kind in ("FLOAT", "DOUBLE"):
        return Part(f"CASE WHEN NOT isnan({column}) THEN {column} END")
    if kind == '"NULL"':  # nothing but nulls
        return Part(f"CAST({column} AS DOUBLE)")
    if kind.startswith("ENUM"):  # a dictionary names values that occur nowhere else
        return Part(f"CAST({column} AS VARCHAR)")
    return Part(column)


def _time(con: duckdb.DuckDBPyConnection, name: str, kind: str, reading: Reading, plan: list[tuple[str, str]]) -> Part:
    zone, how, asked, column = reading.time_zone, kind.lower(), reading.time_format, quoted(name)
    read, faults = column, []
    if kind == "VARCHAR":
        how, read = find_format(con, "raw", name, asked, most=reading.quarantine is not None)
        kind = con.sql(f"SELECT {read} FROM raw LIMIT 0").types[0].id.upper()
        faults.append(
            (f"a time in column {name} that is none as {how}", f"{quoted(name)} IS NOT NULL AND {read} IS NULL")
        )
    elif asked in EPOCHS and kind.startswith(NUMBERS):
        how, read, kind = asked, epoch(read, asked), "TIMESTAMP WITH TIME ZONE"
        faults.append(
            (f"a time in column {name} that is out of range", f"{quoted(name)} IS NOT NULL AND {read} IS NULL")
        )
    elif not kind.startswith((*TEMPORAL, *WHOLE_TYPES)):
        raise InputError(f"time: column {name} holds {kind} values, which are no times")
    else:
        finite = f"isfinite(CAST({read} AS TIMESTAMP))" if kind.startswith(TEMPORAL) else f"{read} <= {2**63 - 1}"
        date = _date_of_whole(read) if kind.startswith(WHOLE_TYPES) and asked != WHOLE else "NULL"
        infinite, present, dates = con.sql(
            f"SELECT count(*) FILTER (NOT {finite}), count({read}), count({date}) FROM raw"
        ).fetchall()[0]
        if infinite:
            raise InputError(f"time: column {name} holds infinite times, or numbers beyond 2^63; correct them")
        if present and dates == present:
            how, read, kind = COMPACT, date, "TIMESTAMP"
    if how == COMPACT and asked is None:
        how += " (dates; if they are plain numbers, pass --time-format 'whole numbers')"
    if zone and not ("TZ" in kind or "WITH TIME ZONE" in kind):  # a zone is for times that have none
        if kind.startswith(WHOLE_TYPES):
            raise ArgumentError(
                f"time-zone: the times of column {name} are whole numbers, which have no zone; if they are instants, "
                "pass --time-format 'epoch s'"
            )
        clock, skipped, twice = in_zone(con, "raw", read, zone)
        if skipped and reading.quarantine is None:
            raise InputError(
                f"time: {skipped} entries of column {name} never were in {zone}, where the clocks go forward over "
                "them; correct them, set such rows aside with --quarantine, or name a zone whose clocks do not change"
            )
        faults.append((f"a time in column {name} that {zone} skips", clock.skipped))
        read = clock.before if reading.ambiguous == "first" and twice else clock.read
        how += f", {zone}"
        if reading.ambiguous == "error":
            faults.append((f"a time in column {name} that {zone} has twice", clock.again))
            if twice and reading.quarantine is None:
                raise InputError(
                    f"time: {twice} entries of column {name} were in {zone} twice, where the clocks go back; choose "
                    "--ambiguous first or second, or write each with its offset"
                )
        elif twice:
            how += f", {twice:,} in an hour that occurs twice, read as its {reading.ambiguous} time"
    plan.append(("time", f"{name}, {how}"))
    return Part(read, faults if reading.quarantine is not None else [])


def _date_of_whole(column: str) -> str:
    """SQL of the date that a whole number of eight digits writes."""
    return expression("date", COMPACT).replace('"date"', f"CAST({column} AS VARCHAR)")


def zone_of(time: str, kind: str, reading: Reading, schema: pa.Schema | None) -> str | None:
    if reading.time_zone is not None:
        return reading.time_zone
    at = -1 if schema is None else schema.get_field_index(time)
    own = getattr(schema.field(at).type, "tz", None) if schema is not None and at >= 0 else None
    return own if own is not None and "/" in own and "TIME ZONE" in kind else None


def rows_line(read: int, kept: int, dropped: int, aside: int) -> tuple[str, str]:
    """Rows in, and where each went."""
    parts = [f"{kept:,} kept"]
    parts += [f"{dropped:,} dropped"] if dropped else []
    parts += [f"{aside:,} set aside"] if aside else []
    return ("rows", f"{read:,} read" + (f" = {' + '.join(parts)}" if len(parts) > 1 else ""))
