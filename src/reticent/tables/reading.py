"""One reading path for files and frames: a typed DuckDB view of the columns that were asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import ArgumentError, EmptyInputError, InputError
from reticent.tables.delimited import Cut, Reading, open_csv, with_one_line_end, written_as
from reticent.tables.formats import Format, check_whole, format_of_file
from reticent.tables.parts import NUMBERS, TEMPORAL, WHOLE_TYPES, Part, read_column, rows_line, zone_of
from reticent.tables.sifting import LINE, RECORD, number_rows, reasons_of, set_aside
from reticent.tables.sources import Several, joined, open_several
from reticent.tables.sql import quoted, text
from reticent.tables.times import MisfitError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_UNREAD = ("decimal256", "duration", "halffloat")  # DuckDB would read them as something else, or not at all
_VALUES = (*NUMBERS, *TEMPORAL, "VARCHAR", "BOOLEAN", "TIME")


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
    """A typed view of the input: the columns of `columns`, by their own names.

    Attributes
    ----------
    rows : int
        How many it has.
    read, dropped, aside : int
        Rows of the input; those without an identifier that were left out; those that were set aside.
    zone : str, optional
        Whose calendar the days of the data follow; UTC, or the clock they are written in, where it is None.
    anonymous : bool
        Whether some rows have no identifier, and are a series of their own.
    part : bool
        Whether others hold the rest of the data, in a worker: then what all must show is checked elsewhere.
    fractions : bool
        Whether some time before, in an earlier file of the stream, has a fraction of a second.
    plan : tuple of (str, str)
        How the input was understood: counts, formats and declared things only.
    """

    con: duckdb.DuckDBPyConnection
    view: str
    columns: Columns
    format: Format
    types: dict[str, str]
    rows: int
    schema: pa.Schema | None = None
    plan: tuple[tuple[str, str], ...] = field(default=())
    read: int = 0
    dropped: int = 0
    aside: int = 0
    zone: str | None = None
    anonymous: bool = False
    part: bool = False
    fractions: bool = False

    @cached_property
    def whole_seconds(self) -> bool:
        """Whether no time has a fraction of a second, so that text need not show one: a pass over the times."""
        return not self.fractions and _whole_seconds(self.con, self.columns.time)

    @property
    def time_is_whole(self) -> bool:
        """Whether times are plain integers (steps) and not instants."""
        return self.types[self.columns.time].startswith(WHOLE_TYPES)


class DoesNotFitError(InputError):
    """Sorting asks for more memory than it was allowed."""


@contextmanager
def connect(memory: str | None, scratch: Path | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A private in-memory DuckDB that spills into `scratch`, if there is one, and loads nothing from outside."""
    import duckdb

    con = duckdb.connect()
    try:
        con.execute(f"SET temp_directory = {text('' if scratch is None else str(scratch))}")
        con.execute(
            "SET preserve_insertion_order = false; SET TimeZone = 'UTC'; SET autoinstall_known_extensions = false; "
            "SET enable_progress_bar = false"  # it would be drawn among what is printed
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
    con.execute("DROP VIEW IF EXISTS records; DROP VIEW IF EXISTS typed; DROP VIEW IF EXISTS raw")
    try:
        return _open(con, with_one_line_end(con, source), columns, reading, tuple(extra))
    except duckdb.Error as error:
        raise sentence(error, source) from None


def _open(
    con: duckdb.DuckDBPyConnection, source: Path | Any, columns: Columns, reading: Reading, extra: tuple[str, ...]
) -> Records:
    wanted = [*columns.all, *(name for name in extra if name not in columns.all)]
    if isinstance(source, Several) and format_of_file(source.paths[0]).kind == "csv":
        scratch = Path(con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
        source, reading = joined(source, scratch, reading)
    if isinstance(source, Several):
        schema, format = open_several(con, source), format_of_file(source.paths[0])
        plan = [("format", f"{format}, {len(source.paths)} files")]
    elif isinstance(source, Path):
        format = format_of_file(source)
        if format.kind == "csv":
            cut, plan = open_csv(con, source, format, reading)
            try:
                return _typed(con, columns, reading, written_as(cut), plan, None, wanted, cut)
            except MisfitError as error:
                raise error.on_line(cut.line_of(error.row)) from None
        schema = _open_binary(con, source, format, columns, wanted)
        plan = [("format", str(format))]
    else:
        format, plan, schema = Format("feather"), [("format", "data frame")], source.schema
        con.register("frame", _readable(source, columns, wanted))
        con.execute("CREATE VIEW raw AS FROM frame")
    _check_types(schema, columns, wanted)
    if reading.quarantine is not None:
        number_rows(con)
    return _typed(con, columns, reading, format, plan, schema, wanted)


def _readable(data: Any, columns: Columns, wanted: list[str]) -> Any:
    """A table or data set without the columns that are neither wanted nor read."""
    names = [name for name in wanted if name in data.schema.names]
    _check_types(data.schema, columns, names)
    return data.select(names) if hasattr(data, "select") else data.replace_schema(_only(data.schema, names))


def _only(schema: pa.Schema, names: list[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


def _check_types(schema: pa.Schema, columns: Columns, wanted: list[str]) -> None:
    alike = Counter(name.casefold() for name in schema.names)
    for name in wanted:
        if alike[name.casefold()] > 1:
            raise InputError(
                f"{_part(name, columns)}: two columns have the name {name} (capitals do not count); rename one"
            )
        if schema.get_field_index(name) >= 0:
            held = str(schema.field(name).type)
            if held.startswith(_UNREAD):
                raise InputError(
                    f"{_part(name, columns)}: column {name} holds {held} values, which are not released; convert it"
                )


def _open_binary(
    con: duckdb.DuckDBPyConnection, path: Path, format: Format, columns: Columns, wanted: list[str]
) -> pa.Schema:
    import pyarrow as pa

    try:
        if format.kind == "parquet":
            import pyarrow.parquet

            con.execute(f"CREATE VIEW raw AS FROM read_parquet({text(str(path))}, hive_partitioning = false)")
            return pyarrow.parquet.read_schema(path)
        import pyarrow.dataset

        check_whole(path)
        data = pyarrow.dataset.dataset(path, format="feather")
        _check_types(data.schema, columns, wanted)
        unread = [each for each in data.schema if str(each.type).startswith(_UNREAD)]
        names = [name for name in data.schema.names if name not in {each.name for each in unread} or name in wanted]
        con.register("file", data.replace_schema(_only(data.schema, names)) if unread else data)
        con.execute("CREATE VIEW raw AS FROM file")
        return data.schema
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise InputError(f"input: {path.name} cannot be read as {format.kind}; is the file whole?") from None


def _typed(
    con: duckdb.DuckDBPyConnection,
    columns: Columns,
    reading: Reading,
    format: Format,
    plan: list[tuple[str, str]],
    schema: pa.Schema | None,
    names: list[str],
    cut: Cut | None = None,
) -> Records:
    described = {name: str(kind) for name, kind, *_ in con.sql("DESCRIBE raw").fetchall()}
    given = list(schema.names) if schema is not None else [name for name in described if name not in (LINE, RECORD)]
    for name in names:
        if name not in described:
            raise ArgumentError(f"{_part(name, columns)}: column {name} is not in the input, which {_has(given, cut)}")
    if reading.states and len(columns.value) != 1:
        raise ArgumentError("states: a mapping is for one value column; name one with --value")
    parts = {name: read_column(con, name, described[name], columns, reading, plan, schema) for name in names}
    missing = {name: f"({parts[name].read}) IS NULL" for name in (columns.time, *columns.id)}
    anonymous = f"({' OR '.join(missing[name] for name in columns.id)})" if columns.id else "false"
    keep = ["true"]
    read = dropped = aside = None
    if reading.null_id == "drop" and columns.id:
        keep.append(f"NOT {anonymous}")
        dropped = int(con.sql(f"SELECT count(*) FILTER ({anonymous}) FROM raw").fetchall()[0][0])
    if reading.quarantine is not None:
        faults = [fault for part in parts.values() for fault in part.faults]
        faults.append((f"no time in column {columns.time}", missing[columns.time]))
        faults = [(reason, f"({condition}) AND {' AND '.join(keep)}") for reason, condition in faults]
        keep += [f"NOT coalesce({condition}, false)" for _, condition in faults]
        set_aside(con, faults)
        aside = reasons_of(con)
        plan += [("set aside", f"{count:,} rows: {reason}") for reason, count in aside]
    else:
        _refuse_faults(con, parts, columns)
    where = " AND ".join(keep)
    selected = ", ".join(f"{part.read} AS {quoted(name)}" for name, part in parts.items())
    con.execute(f"CREATE VIEW typed AS SELECT {selected} FROM raw" + (f" WHERE {where}" if len(keep) > 1 else ""))
    con.execute("CREATE VIEW records AS FROM typed")
    types = {name: str(kind) for name, kind, *_ in con.sql("DESCRIBE records").fetchall()}
    for name in columns.value:
        if not types[name].startswith(_VALUES) or types[name].endswith("]"):
            raise InputError(f"value: column {name} holds {types[name]} values, which are not released")
    counted = con.sql(
        f"SELECT count(*), {', '.join(f'count({quoted(name)})' for name in (columns.time, *columns.id))} FROM records"
    ).fetchall()[0]
    rows = int(counted[0])
    out = sum(count for _, count in aside or ())
    read = rows + (dropped or 0) + out
    if rows == 0:
        raise EmptyInputError("input: there are no rows" + (" that can be read" if read else ""))
    for name, present in zip((columns.time, *columns.id), counted[1:], strict=True):
        if present != rows and (name == columns.time or reading.null_id == "error"):
            remedy = "; each row needs one" + (", or say --null-id drop or group" if name in columns.id else "")
            raise InputError(f"column {name}: {rows - present} of {rows} entries are missing{remedy}")
        if present != rows:
            plan.append(("no identifier", f"{rows - present:,} rows of a series of their own ({name})"))
    if dropped is not None:
        plan.append(("no identifier", f"{dropped:,} rows dropped"))
    plan.append(rows_line(read, rows, dropped or 0, out))
    left = [name for name in given if name not in columns.all]
    if left:
        shown = f"{len(left):,}" if cut is not None and cut.first_line_is_data else _some(left)
        plan.append(("columns dropped", shown))
    if reading.states and schema is not None:
        at = schema.get_field_index(columns.value[0])
        schema = schema.remove(at)  # the states have a type of their own
    zone = zone_of(columns.time, types[columns.time], reading, schema)
    return Records(
        con,
        "records",
        columns,
        format,
        types,
        rows,
        schema,
        tuple(plan),
        read,
        dropped or 0,
        out,
        zone,
        rows != min(counted[1:]),
    )


def _refuse_faults(con: duckdb.DuckDBPyConnection, parts: dict[str, Part], columns: Columns) -> None:
    """What would be set aside is an error where there is no quarantine."""
    for name, part in parts.items():
        for reason, condition in part.faults:
            count = con.sql(f"SELECT count(*) FILTER ({condition}) FROM raw").fetchall()[0][0]
            if count:
                raise InputError(
                    f"{_part(name, columns)}: {count} rows have {reason}; correct them, or set them aside with "
                    "--quarantine"
                )


def _has(names: list[str], cut: Cut | None) -> str:
    """The names of the columns, if they are names."""
    if cut is not None and cut.first_line_is_data:
        return (
            f"has {len(names)} columns, and a first line that looks like data; if it is, pass --no-header and name the "
            "columns with --columns"
        )
    return f"has {_some(names)}"


def _some(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - 12
    return ", ".join(names[:12]) + (f" and {more:,} more" if more > 0 else "")


def _part(name: str, columns: Columns) -> str:
    """The option that a column was named by."""
    parts = {"id": columns.id, "time": (columns.time,), "value": columns.value, "keep": columns.keep}
    return next((part for part, names in parts.items() if name in names), "public")


def _whole_seconds(con: duckdb.DuckDBPyConnection, column: str) -> bool:
    time = quoted(column)
    kind = con.sql(f"SELECT typeof({time}) FROM records LIMIT 1").fetchall()[0][0]
    if not kind.startswith("TIMESTAMP"):
        return False
    fraction = f"epoch_ns({time}) % 1000000000" if "NS" in kind else f"epoch_us({time}) % 1000000"
    return bool(con.sql(f"SELECT bool_and({fraction} = 0) FROM records").fetchall()[0][0])


def sentence(error: Exception, source: Path | Any) -> InputError:
    """A reader's error without the content of the offending line."""
    name = source.name if isinstance(source, Path | Several) else "the frame"
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
