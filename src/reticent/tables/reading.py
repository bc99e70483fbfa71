"""One reading path for files and frames: a typed DuckDB view of the columns that were asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import ArgumentError, InputError
from reticent.tables.formats import Format, first_lines, format_of_file, header_of, open_bytes
from reticent.tables.sql import quoted, text
from reticent.tables.times import find_format, first_misfit

if TYPE_CHECKING:
    import duckdb

NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
ROW_NAME = "(row name)"

_TEMPORAL = ("TIMESTAMP", "DATE")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_NUMBERS = (*_WHOLE, "FLOAT", "DOUBLE", "DECIMAL")
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
        names = self.all
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ArgumentError(f"columns: {', '.join(sorted(twice))} is named for two parts; give each column one")

    @property
    def all(self) -> tuple[str, ...]:
        """In the order of the output."""
        return (*self.id, self.time, *self.value, *self.keep)


@dataclass(frozen=True)
class Reading:
    """Options that overrule how a file is understood; None leaves it to be found."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str = "utf-8"
    time_format: str | None = None
    time_zone: str | None = None
    nulls: tuple[str, ...] = NULLS
    row_names: bool = False


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
    plan: tuple[tuple[str, str], ...] = field(default=())

    def numeric(self, column: str) -> bool:
        """Whether a column holds numbers."""
        return self.types[column].startswith(_NUMBERS)

    @property
    def time_is_whole(self) -> bool:
        """Whether times are plain integers (steps) and not instants."""
        return self.types[self.columns.time].startswith(_WHOLE)


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
            raise _sentence(error, source) from None
    con.execute("DROP VIEW IF EXISTS records; DROP VIEW IF EXISTS typed; DROP VIEW raw")
    try:
        return _open(con, with_one_line_end(con, source), columns, reading, tuple(extra))
    except duckdb.Error as error:
        raise _sentence(error, source) from None


def _open(
    con: duckdb.DuckDBPyConnection, source: Path | Any, columns: Columns, reading: Reading, extra: tuple[str, ...]
) -> Records:
    if isinstance(source, Path):
        format = format_of_file(source)
        opening = _open_csv if format.kind == "csv" else _open_binary
        format, plan, is_text = opening(con, source, format, reading)
    else:
        con.register("raw", source)
        format, plan, is_text = Format("arrow"), [], False
    return _typed(con, columns, reading, format, plan, is_text, extra)


def with_one_line_end(con: duckdb.DuckDBPyConnection, path: Path) -> Path:
    """A copy, in the scratch folder, of a text file that mixes two kinds of line ends: DuckDB reads one kind."""
    scratch = Path(con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
    copy = scratch / "lines.csv"
    with open_bytes(path, format_of_file(path).compression) as lines, copy.open("wb") as out:
        while block := lines.read(1 << 24):
            if block.endswith(b"\r"):
                block += lines.read(1)
            out.write(block.replace(b"\r\n", b"\n"))
    return copy


def _open_binary(
    con: duckdb.DuckDBPyConnection, path: Path, format: Format, reading: Reading
) -> tuple[Format, list[tuple[str, str]], bool]:
    if format.kind == "parquet":
        con.execute(f"CREATE VIEW raw AS FROM read_parquet({text(str(path))}, hive_partitioning = false)")
    else:
        import pyarrow.dataset

        con.register("raw", pyarrow.dataset.dataset(path, format="feather"))
    return format, [("format", str(format))], False


def _open_csv(
    con: duckdb.DuckDBPyConnection, path: Path, format: Format, reading: Reading
) -> tuple[Format, list[tuple[str, str]], bool]:
    lines = first_lines(path, format, reading.encoding)
    delimiter = reading.delimiter or _delimiter(lines, reading.decimal)
    names, row = header_of(lines, delimiter, '"')
    if reading.row_names:
        names = [ROW_NAME, *names]
    if row is None:
        raise InputError(f"input: {path.name} has a header and no rows")
    if len(row) == len(names) + 1 and not reading.row_names:
        raise InputError(
            f"input: the header has {len(names)} fields and the rows have {len(row)}; if each row begins with its "
            "name, pass --row-names"
        )
    if len(row) != len(names):
        raise InputError(f"input: the header has {len(names)} fields and the first row has {len(row)}")
    if len(set(names)) != len(names):
        raise InputError("input: two columns have the same name; rename one")
    fields = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    con.execute(
        f"CREATE VIEW raw AS FROM read_csv({text(str(path))}, auto_detect = false, delim = {text(delimiter)}, "
        f"""quote = '"', escape = '"', header = true, columns = {{{fields}}}, encoding = {text(reading.encoding)}, """
        f"compression = {text(format.compression or 'none')}, nullstr = [{', '.join(map(text, reading.nulls))}])"
    )
    format = Format("csv", format.compression, delimiter, reading.decimal or ".")
    plan = [
        ("format", str(format)),
        ("delimiter", {"\t": "tab"}.get(delimiter, delimiter)),
        ("encoding", reading.encoding),
    ]
    return format, plan, True


def _delimiter(lines: list[str], decimal: str | None) -> str:
    """The mark that cuts the first lines into the same number of fields, the most of them."""
    best = ","
    most = 1
    for mark in ",;\t|":
        if mark == decimal:
            continue
        counts = [len(header_of([line], mark, '"')[0]) for line in lines[:20] if line.strip()]
        if len(set(counts[1:])) <= 1 and counts and counts[-1] > most and abs(counts[0] - counts[-1]) <= 1:
            best, most = mark, counts[-1]
    return best


def _typed(
    con: duckdb.DuckDBPyConnection,
    columns: Columns,
    reading: Reading,
    format: Format,
    plan: list[tuple[str, str]],
    is_text: bool,
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
        elif is_text and (name in columns.value or name in columns.id or name in extra):
            selected.append(_text_expression(con, name, reading, plan, name in columns.value))
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
        if not types[name].startswith(_VALUES):
            raise InputError(f"value: column {name} holds {types[name]} values, which are not released")
    counted = con.sql(
        f"SELECT count(*), {', '.join(f'count({quoted(name)})' for name in (columns.time, *columns.id))} FROM records"
    ).fetchall()[0]
    rows = int(counted[0])
    if rows == 0:
        raise InputError("input: there are no rows")
    for name, present in zip((columns.time, *columns.id), counted[1:], strict=True):
        if present != rows:
            raise InputError(f"column {name}: {rows - present} of {rows} entries are missing; each row needs one")
    plan.append(("rows", f"{rows:,}"))
    dropped = [name for name in described if name not in columns.all]
    if dropped:
        plan.append(("columns dropped", ", ".join(dropped)))
    return Records(con, "records", columns, format, types, rows, _whole_seconds(con, columns, types), tuple(plan))


def _part(name: str, columns: Columns) -> str:
    """The option that a column was named by."""
    parts = {"id": columns.id, "time": (columns.time,), "value": columns.value, "keep": columns.keep}
    return next((part for part, names in parts.items() if name in names), "public")


def _whole_seconds(con: duckdb.DuckDBPyConnection, columns: Columns, types: dict[str, str]) -> bool:
    """Whether no time has a fraction of a second, so that text need not show one."""
    if not types[columns.time].startswith("TIMESTAMP"):
        return False
    return bool(
        con.sql(f"SELECT bool_and(epoch_us({quoted(columns.time)}) % 1000000 = 0) FROM records").fetchall()[0][0]
    )


def _time_expression(
    con: duckdb.DuckDBPyConnection, name: str, kind: str, reading: Reading, plan: list[tuple[str, str]]
) -> str:
    zone = reading.time_zone
    if kind == "VARCHAR":
        found = find_format(con, "raw", name, reading.time_format)
        plan.append(("time", f"{name}, {found.name}" + (f", {zone}" if zone else "")))
        read = found.expression
    elif kind.startswith((*_TEMPORAL, *_WHOLE)):
        plan.append(("time", f"{name}, {kind.lower()}"))
        read = quoted(name)
    else:
        raise InputError(f"time: column {name} holds {kind} values, which are no times")
    return f"({read}) AT TIME ZONE {text(zone)}" if zone else read


def _text_expression(
    con: duckdb.DuckDBPyConnection, name: str, reading: Reading, plan: list[tuple[str, str]], value: bool
) -> str:
    """SQL that reads a text column as whole numbers, numbers, booleans or words, whichever fits all of it."""
    column = quoted(name)
    decimal = reading.decimal or "."
    plain = column if decimal == "." else f"replace(replace({column}, '.', ' '), {text(decimal)}, '.')"
    whole = f"regexp_full_match({column}, '-?(0|[1-9]\\d*)')"
    candidates = {
        "whole numbers": f"CASE WHEN {whole} THEN TRY_CAST({column} AS BIGINT) END",
        "numbers": f"TRY_CAST({plain} AS DOUBLE)",
        "booleans": f"CASE WHEN lower({column}) IN ('true', 'false') THEN lower({column}) = 'true' END",
    }
    commas = f"count(*) FILTER (regexp_full_match({column}, '[+-]?\\d+,\\d+'))"
    present, *hits, with_comma = con.sql(
        f"SELECT count({column}), {', '.join(f'count({each})' for each in candidates.values())}, {commas} FROM raw"
    ).fetchall()[0]
    if present == 0:
        return f"TRY_CAST({column} AS DOUBLE)"
    for (kind, read), hit in zip(candidates.items(), hits, strict=True):
        if hit == present:
            plan.append(("value" if value else "column", f"{name}, {kind}"))
            return read
    if with_comma and decimal == "." and with_comma + hits[1] == present:
        raise InputError(f"column {name} has numbers with a decimal comma; pass --decimal ,")
    if value and hits[1]:
        row = first_misfit(con, "raw", name, candidates["numbers"])
        raise InputError(
            f"value: {present - hits[1]} of {present} entries of column {name} are text among numbers "
            f"(first in data row {row}); correct them, or declare that text missing with --null"
        )
    plan.append(("value" if value else "column", f"{name}, words"))
    return column


def _sentence(error: Exception, source: Path | Any) -> InputError:
    """A reader's error without the content of the offending line."""
    name = source.name if isinstance(source, Path) else "the frame"
    message = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", message)
    found = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if line and found:
        return InputError(f"input: line {line[1]} of {name} has {found[2]} fields where the header has {found[1]}")
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return InputError(f"input: {name} is not valid text in this encoding; name it with --encoding")
    if line:
        return InputError(f"input: line {line[1]} of {name} cannot be read (quoting or encoding)")
    return InputError(f"input: {name} cannot be read ({type(error).__name__}); is the file whole?")
