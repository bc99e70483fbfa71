"""Text files: how their fields are cut, and what their columns hold."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.errors import ArgumentError, EmptyInputError, InputError
from reticent.tables.formats import Format, first_lines, format_of_file, header_of, open_bytes, rows_of
from reticent.tables.sql import quoted, text
from reticent.tables.times import first_misfit

if TYPE_CHECKING:
    import duckdb

NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
ROW_NAME = "(row name)"

_READ_BY_DUCKDB = {"utf-8": "utf-8", "ascii": "utf-8", "utf-16": "utf-16", "iso8859-1": "latin-1"}


@dataclass(frozen=True)
class Reading:
    """Options that overrule how a file is understood; None leaves it to be found.

    `kinds` says what text columns hold ("whole numbers", "numbers", "booleans" or "words"); with it a quoted text is
    never a null.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str = "utf-8"
    time_format: str | None = None
    time_zone: str | None = None
    nulls: tuple[str, ...] = NULLS
    row_names: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict)


def open_csv(
    con: duckdb.DuckDBPyConnection, path: Path, format: Format, reading: Reading
) -> tuple[Format, list[tuple[str, str]]]:
    """Make the view `raw` of a text file, all of it text, and say how it is cut.

    Raises
    ------
    ArgumentError, InputError
        An encoding that is not known; a header that does not fit its rows, or none.
    """
    try:
        encoding = codecs.lookup(reading.encoding).name
    except LookupError:
        raise ArgumentError(f"encoding: {reading.encoding} is not known; try utf-8, latin-1 or cp1252") from None
    for name, mark in (("delimiter", reading.delimiter), ("decimal", reading.decimal)):
        if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
            raise ArgumentError(f"{name}: must be a single character, and no quote or line end")
    lines = first_lines(path, format, encoding)
    blank = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    lines = lines[blank:]
    if not lines:
        raise InputError(f"input: {path.name} has blank lines only")
    delimiter = reading.delimiter or _delimiter(lines, reading.decimal)
    names, row = header_of(lines, delimiter, '"')
    names = [name or f"(column {at})" for at, name in enumerate(names, 1)]
    if reading.row_names:
        names = [ROW_NAME, *names]
    if row is None:
        raise EmptyInputError(f"input: {path.name} has a header and no rows")
    if len(row) == len(names) + 1 and not reading.row_names:
        raise InputError(
            f"input: the header has {len(names)} fields and the rows have {len(row)}; if each row begins with its "
            "name, pass --row-names"
        )
    if len(row) != len(names):
        raise InputError(f"input: the header has {len(names)} fields and the first row has {len(row)}")
    if len({name.casefold() for name in names}) != len(names):
        raise InputError("input: two columns have the same name (capitals do not count); rename one")
    copied = encoding not in _READ_BY_DUCKDB
    source = _in_utf8(con, path, format, encoding) if copied else path
    fields = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    con.execute(
        f"CREATE VIEW raw AS FROM read_csv({text(str(source))}, auto_detect = false, delim = {text(delimiter)}, "
        f"""quote = '"', escape = '"', header = true, skip = {blank}, columns = {{{fields}}}, """
        f"encoding = {text(_READ_BY_DUCKDB.get(encoding, 'utf-8'))}, allow_quoted_nulls = {not reading.kinds}, "
        f"compression = {text('none' if copied else format.compression or 'none')}, "
        f"nullstr = [{', '.join(map(text, reading.nulls))}])"
    )
    occurs_in_times = delimiter.isalnum() or delimiter in " :-.+"  # which are written without quotes
    format = Format("csv", format.compression, "," if occurs_in_times else delimiter)
    plan = [
        ("format", str(format)),
        ("delimiter", {"\t": "tab"}.get(delimiter, delimiter)),
        ("encoding", reading.encoding),
    ]
    return format, plan


def _delimiter(lines: list[str], decimal: str | None) -> str:
    """The mark that cuts the first rows into the same number of fields, the most of them."""
    found = [(False, 1, ",")]
    for mark in ",;\t|":
        if mark == decimal:
            continue
        header, *counts = [len(row) for row in rows_of(lines, mark, '"')][:20]
        if len(set(counts)) == 1 and counts[0] > 1 and abs(header - counts[0]) <= 1:
            found.append((header == counts[0], counts[0], mark))
    return max(found, key=lambda each: each[:2])[2]


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


def _in_utf8(con: duckdb.DuckDBPyConnection, path: Path, format: Format, encoding: str) -> Path:
    """A copy, in the scratch folder, of a text file in an encoding that DuckDB does not read."""
    scratch = Path(con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
    copy = scratch / "text.csv"
    with open_bytes(path, format.compression) as stream, copy.open("wb") as out:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            while block := stream.read(1 << 24):
                out.write(decoder.decode(block).encode())
            out.write(decoder.decode(b"", final=True).encode())
        except UnicodeError:
            raise InputError(f"input: {path.name} is not {encoding} text; name its encoding with --encoding") from None
    return copy


def text_expression(
    con: duckdb.DuckDBPyConnection, name: str, reading: Reading, plan: list[tuple[str, str]], part: str
) -> str:
    """SQL that reads a text column as whole numbers, numbers, booleans or words, whichever fits all of it.

    An identifier is no number unless it is a whole one in the usual writing: 007 and 7, or 1e5 and 100000, are two.

    Raises
    ------
    InputError
        A value column with text among its numbers, or with decimal commas that were not declared.
    """
    column = quoted(name)
    decimal = reading.decimal or "."
    plain = column if decimal == "." else f"replace(replace({column}, '.', ' '), {text(decimal)}, '.')"
    whole = f"regexp_full_match({column}, '0|-?[1-9]\\d*')"
    numbers = f"TRY_CAST({plain} AS DOUBLE)"
    candidates = [
        ("whole numbers", f"CASE WHEN {whole} THEN TRY_CAST({column} AS BIGINT) END"),
        ("whole numbers", f"CASE WHEN {whole} THEN TRY_CAST({column} AS UBIGINT) END"),
        ("whole numbers", f"CASE WHEN {whole} THEN TRY_CAST({column} AS DECIMAL(38, 0)) END"),
        ("numbers", numbers if part == "value" or name in reading.kinds else "NULL"),
        ("booleans", f"CASE WHEN lower({column}) IN ('true', 'false') THEN lower({column}) = 'true' END"),
        ("words", column),
    ]
    if name in reading.kinds:
        candidates = [each for each in candidates if each[0] == reading.kinds[name]]
    commas = f"count(*) FILTER (regexp_full_match({column}, '[+-]?\\d+,\\d+'))"
    hits = f"{', '.join(f'count({read})' for _, read in candidates)}, count({numbers}), {commas}"
    present, *counts, like_numbers, with_comma = con.sql(f"SELECT count({column}), {hits} FROM raw").fetchall()[0]
    if present == 0 and name not in reading.kinds:
        return numbers
    kind, read = next((each for each, hit in zip(candidates, counts, strict=True) if hit == present), ("words", column))
    if kind == "words" and name not in reading.kinds and part == "value":
        if with_comma and decimal == "." and with_comma + like_numbers == present:
            raise InputError(f"column {name} has numbers with a decimal comma; pass --decimal ,")
        if like_numbers:
            row = first_misfit(con, "raw", name, numbers)
            raise InputError(
                f"value: {present - like_numbers} of {present} entries of column {name} are text among numbers "
                f"(first in data row {row}); correct them, or declare that text missing with --null"
            )
    plan.append((part, f"{name}, {kind}"))
    return read
