"""One reading path for files and frames: a typed DuckDB view of the columns that were asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import ArgumentError, EmptyInputError, InputError
from reticent.tables.delimited import Reading, open_csv, text_expression, with_one_line_end
from reticent.tables.formats import Format, format_of_file
from reticent.tables.sql import quoted, text
from reticent.tables.times import find_format

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_TEMPORAL = ("TIMESTAMP", "DATE")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_NUMBERS = (*_WHOLE, "FLOAT", "DOUBLE", "DECIMAL")
_UNREAD = ("decimal256", "duration")  # DuckDB would read them as something else
_VALUES = (*_NUMBERS, *_TEMPORAL, "VARCHAR", "BOOLEAN", "TIME")


@dataclass(frozen=True)
class Columns:
    """Which columns play which part.

    Parameters
    ----------
    time : str
    value : tuple of str
        One or several; several move as one record.
    id : tuple of str
        None, one or several; together they name the series.
    keep : tuple of str
        Carried along unchanged. Everything else is dropped.
    """

    time: str
    value: tuple[str, ...]
    id: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.value:
            raise ArgumentError("value: name at least one column to release")
        twice = {name for name, times in Counter(self.all).items() if times > 1}
        if twice:
            raise ArgumentError(f"columns: {', '.join(sorted(twice))} is named for two parts; give each column one")

    @property
    def all(self) -> tuple[str, ...]:
        """In the order of the output."""
        return (*self.id, self.time, *self.value, *self.keep)


@dataclass(frozen=True)
class Records:
    """A typed view of the input: the columns of `columns`, by their own names."""

    con: duckdb.DuckDBPyConnection
    view: str
    columns: Columns
    format: Format
    types: dict[str, str]
    rows: int
    whole_seconds: bool = False
    schema: pa.Schema | None = None
    plan: tuple[tuple[str, str], ...] = field(default=())

    @property
    def time_is_whole(self) -> bool:
        """Whether times are plain integers (steps) and not instants."""
        return self.types[self.columns.time].startswith(_WHOLE)


class DoesNotFitError(InputError):
    """Sorting asks for more memory than it was allowed."""


@contextmanager
def connect(memory: str | None, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A private in-memory DuckDB that spills into `scratch` and loads nothing from outside."""
    import duckdb

    con = duckdb.connect()
    try:
        con.execute(f"SET temp_directory = {text(str(scratch))}")
        con.execute(
            "SET preserve_insertion_order = false; SET TimeZone = 'UTC'; SET autoinstall_known_extensions = false"
        )
        if memory is not None:
            try:
                con.execute(f"SET memory_limit = {text(memory)}")
            except duckdb.Error:
                raise ArgumentError(f"memory: {memory} is no amount; write 500MB or 4GB") from None
        yield con
    finally:
        con.close()


def open_records(
    con: duckdb.DuckDBPyConnection, source: Path | Any, columns: Columns, reading: Reading, extra: Sequence[str] = ()
) -> Records:
    """Open a file (a path) or an Arrow table; `extra` columns are read but not released.

    Raises
    ------
    InputError
        A column that is not there, text among numbers, times that are none, null identifiers or times, no rows.
    """
    import duckdb

    try:
        return _open(con, source, columns, reading, tuple(extra))
    except duckdb.Error as error:
        if not (isinstance(source, Path) and "state machine" in str(error)):
            raise sentence(error, source) from None
    con.execute("DROP VIEW IF EXISTS records; DROP VIEW IF EXISTS typed; DROP VIEW raw")
    try:
        return _open(con, with_one_line_end(con, source), columns, reading, tuple(extra))
    except duckdb.Error as error:
        raise sentence(error, source) from None


def _open(
    con: duckdb.DuckDBPyConnection, source: Path | Any, columns: Columns, reading: Reading, extra: tuple[str, ...]
) -> Records:
    if isinstance(source, Path):
        format = format_of_file(source)
        if format.kind == "csv":
            format, plan = open_csv(con, source, format, reading)
            return _typed(con, columns, reading, format, plan, None, extra)
        schema = _open_binary(con, source, format)
        return _typed(con, columns, reading, format, [("format", str(format))], schema, extra)
    con.register("raw", source)
    return _typed(con, columns, reading, Format("feather"), [], source.schema, extra)


def _open_binary(con: duckdb.DuckDBPyConnection, path: Path, format: Format) -> pa.Schema:
    import pyarrow as pa

    try:
        if format.kind == "parquet":
            import pyarrow.parquet

            con.execute(f"CREATE VIEW raw AS FROM read_parquet({text(str(path))}, hive_partitioning = false)")
            return pyarrow.parquet.read_schema(path)
        import pyarrow.dataset

        data = pyarrow.dataset.dataset(path, format="feather")
        con.register("raw", data)
        return data.schema
    except pa.ArrowException:
        raise InputError(f"input: {path.name} cannot be read as {format.kind}; is the file whole?") from None


def _typed(
    con: duckdb.DuckDBPyConnection,
    columns: Columns,
    reading: Reading,
    format: Format,
    plan: list[tuple[str, str]],
    schema: pa.Schema | None,
    extra: tuple[str, ...],
) -> Records:
    described = {name: str(kind) for name, kind, *_ in con.sql("DESCRIBE raw").fetchall()}
    names = [*columns.all, *(name for name in extra if name not in columns.all)]
    for name in names:
        if name not in described:
            known = ", ".join(list(described)[:20])
            raise ArgumentError(f"{_part(name, columns)}: column {name} is not in the input, which has {known}")
    selected = []
    for name in names:
        if name == columns.time:
            selected.append(_time_expression(con, name, described[name], reading, plan))
        elif schema is None and (name in columns.value or name in columns.id or name in extra):
            selected.append(text_expression(con, name, reading, plan, "id" if name in columns.id else "value"))
        elif name in columns.id and described[name] in ("FLOAT", "DOUBLE"):
            selected.append(f"CASE WHEN NOT isnan({quoted(name)}) THEN {quoted(name)} END")
        elif described[name] == '"NULL"':  # nothing but nulls
            selected.append(f"CAST({quoted(name)} AS DOUBLE)")
        elif described[name].startswith("ENUM"):  # a dictionary names values that occur nowhere else
            selected.append(f"CAST({quoted(name)} AS VARCHAR)")
        else:
            selected.append(quoted(name))
    con.execute(
        "CREATE VIEW typed AS SELECT "
        + ", ".join(f"{each} AS {quoted(name)}" for each, name in zip(selected, names, strict=True))
        + " FROM raw"
    )
    con.execute("CREATE VIEW records AS FROM typed")
    types = {name: str(kind) for name, kind, *_ in con.sql("DESCRIBE records").fetchall()}
    for name in columns.value:
        held = str(schema.field(name).type) if schema is not None else ""
        if not types[name].startswith(_VALUES) or types[name].endswith("]") or held.startswith(_UNREAD):
            raise InputError(f"value: column {name} holds {held or types[name]} values, which are not released")
    counted = con.sql(
        f"SELECT count(*), {', '.join(f'count({quoted(name)})' for name in (columns.time, *columns.id))} FROM records"
    ).fetchall()[0]
    rows = int(counted[0])
    if rows == 0:
        raise EmptyInputError("input: there are no rows")
    for name, present in zip((columns.time, *columns.id), counted[1:], strict=True):
        if present != rows:
            raise InputError(f"column {name}: {rows - present} of {rows} entries are missing; each row needs one")
    plan.append(("rows", f"{rows:,}"))
    dropped = [name for name in described if name not in columns.all]
    if dropped:
        plan.append(("columns dropped", ", ".join(dropped)))
    whole_seconds = _whole_seconds(con, columns, types)
    return Records(con, "records", columns, format, types, rows, whole_seconds, schema, tuple(plan))


def _part(name: str, columns: Columns) -> str:
    """The option that a column was named by."""
    parts = {"id": columns.id, "time": (columns.time,), "value": columns.value, "keep": columns.keep}
    return next((part for part, names in parts.items() if name in names), "public")


def _whole_seconds(con: duckdb.DuckDBPyConnection, columns: Columns, types: dict[str, str]) -> bool:
    """Whether no time has a fraction of a second, so that text need not show one."""
    kind, time = types[columns.time], quoted(columns.time)
    if not kind.startswith("TIMESTAMP"):
        return False
    fraction = f"epoch_ns({time}) % 1000000000" if "NS" in kind else f"epoch_us({time}) % 1000000"
    return bool(con.sql(f"SELECT bool_and({fraction} = 0) FROM records").fetchall()[0][0])


def _time_expression(
    con: duckdb.DuckDBPyConnection, name: str, kind: str, reading: Reading, plan: list[tuple[str, str]]
) -> str:
    zone, how, read = reading.time_zone, kind.lower(), quoted(name)
    if kind == "VARCHAR":
        how, read = find_format(con, "raw", name, reading.time_format)
        kind = con.sql(f"SELECT {read} FROM raw LIMIT 0").types[0].id.upper()
    elif not kind.startswith((*_TEMPORAL, *_WHOLE)):
        raise InputError(f"time: column {name} holds {kind} values, which are no times")
    else:
        finite = f"isfinite(CAST({read} AS TIMESTAMP))" if kind.startswith(_TEMPORAL) else f"{read} <= {2**63 - 1}"
        if con.sql(f"SELECT count(*) FILTER (NOT {finite}) FROM raw").fetchall()[0][0]:
            raise InputError(f"time: column {name} holds infinite times, or numbers beyond 2^63; correct them")
    plan.append(("time", f"{name}, {how}" + (f", {zone}" if zone else "")))
    if not zone or "TZ" in kind or "WITH TIME ZONE" in kind:  # a zone is for times that have none
        return read
    if kind.startswith(_WHOLE):
        raise ArgumentError(f"time-zone: the times of column {name} are whole numbers, which have no zone")
    if not con.execute("SELECT count(*) FROM pg_timezone_names() WHERE name = ?", [zone]).fetchall()[0][0]:
        raise ArgumentError(f"time-zone: {zone} is not known; write it like Europe/Berlin")
    return f"CAST({read} AS TIMESTAMP) AT TIME ZONE {text(zone)}"


def sentence(error: Exception, source: Path | Any) -> InputError:
    """A reader's error without the content of the offending line."""
    name = source.name if isinstance(source, Path) else "the frame"
    message = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", message)
    found = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if line and found:
        return InputError(f"input: line {line[1]} of {name} has {found[2]} fields where the header has {found[1]}")
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return InputError(f"input: {name} is not valid text in this encoding; name it with --encoding")
    if "NotImplemented" in type(error).__name__:
        return InputError(f"input: {name} has a column of a type that is not read; convert it, or leave it out")
    if "Out of Memory" in message:
        return DoesNotFitError(f"input: {name} does not fit; allow more with --memory, or free room on the disk")
    if line:
        return InputError(f"input: line {line[1]} of {name} cannot be read (quoting or encoding)")
    return InputError(f"input: {name} cannot be read ({type(error).__name__}); is the file whole?")
