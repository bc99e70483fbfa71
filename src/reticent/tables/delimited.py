"""Text files: how their fields are cut, and what their columns hold."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import ArgumentError, EmptyInputError, InputError
from reticent.tables.formats import Format, first_lines, format_of_file, open_bytes, rows_of
from reticent.tables.sifting import sift
from reticent.tables.sql import quoted, text
from reticent.tables.times import MisfitError, first_misfit

if TYPE_CHECKING:
    import duckdb

NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
ROW_NAME = "(row name)"
NULL_IDS = ("error", "drop", "group")
AMBIGUOUS = ("second", "first", "error")

_READ_BY_DUCKDB = {"utf-8": "utf-8", "ascii": "utf-8", "utf-16": "utf-16", "iso8859-1": "latin-1"}
_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16-be"}
_LIKE_DATA = r"\s*([+-]?\d+([.,]\d+)*|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*)\s*"


@dataclass(frozen=True)
class Reading:
    """Options that overrule how the input is understood; None leaves it to be found.

    Parameters
    ----------
    delimiter, decimal, thousands, quote : str, optional
        Marks of a text file, each a single character; no mark groups thousands unless one is named.
    encoding : str, optional
        That of the byte-order mark, or UTF-8, by default.
    time_format : str, optional
        As `strptime` writes it; "whole numbers" for steps, or "epoch s", "epoch ms", "epoch us" or "epoch ns".
    time_zone : str, optional
        Of times that have none.
    ambiguous : {"second", "first", "error"}
        Times in the hour that occurs twice, when the clocks go back: which of the two they are.
    nulls : tuple of str
        Texts that mean missing.
    row_names : bool
        Each row begins with its name, which the header omits.
    kinds : mapping
        What text columns hold ("whole numbers", "numbers", "booleans" or "words"); with it a quoted text is never a
        null.
    header : bool
        Whether the first line holds the names of the columns.
    names : tuple of str
        Names of the columns, in their order; they replace those of a header.
    skip_rows : int
        Lines before the header, or before the first row.
    states : mapping
        For each state the values that stand for it: see `spellings.Spellings`.
    null_id : {"error", "drop", "group"}
        Rows without an identifier: refuse them, leave them out, or take them as a series of their own.
    quarantine : path, optional
        A private file for rows that cannot be read, which are refused otherwise.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    time_format: str | None = None
    time_zone: str | None = None
    nulls: tuple[str, ...] = NULLS
    row_names: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict)
    thousands: str | None = None
    quote: str = '"'
    header: bool = True
    names: tuple[str, ...] = ()
    skip_rows: int = 0
    states: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict)
    null_id: str = "error"
    quarantine: Path | None = None
    ambiguous: str = "second"

    def __post_init__(self) -> None:
        marks = {name: getattr(self, name) for name in ("delimiter", "decimal", "thousands", "quote")}
        for name, mark in marks.items():
            if mark is not None and (len(mark) != 1 or mark in "\r\n" or (mark == '"' and name != "quote")):
                raise ArgumentError(f"{name}: must be a single character, and no line end or quotation mark")
        if len({*marks.values()} - {None}) != sum(mark is not None for mark in marks.values()):
            raise ArgumentError("delimiter, decimal, thousands, quote: must be different characters")
        if self.null_id not in NULL_IDS:
            raise ArgumentError(f"null-id: must be one of {', '.join(NULL_IDS)}")
        if self.ambiguous not in AMBIGUOUS:
            raise ArgumentError(f"ambiguous: must be one of {', '.join(AMBIGUOUS)}")
        if self.skip_rows < 0:
            raise ArgumentError("skip-rows: must be zero or more lines")


@dataclass(frozen=True)
class Cut:
    """How the lines of a text file become fields.

    Attributes
    ----------
    skip : int
        Lines before the header, or before the first row where there is none.
    header : bool
    names : tuple of str
    extra : int
        Fields without a name at the end of each row, which must all be empty.
    """

    path: Path
    format: Format
    encoding: str
    delimiter: str
    quote: str
    skip: int
    header: bool
    names: tuple[str, ...]
    extra: int = 0

    @classmethod
    def find(cls, path: Path, format: Format, reading: Reading) -> Cut:
        """Read the first lines.

        Raises
        ------
        ArgumentError, InputError
            An encoding that is not known; a header that does not fit its rows, or none.
        """
        encoding = encoding_of(path, format, reading.encoding)
        errors = "strict" if reading.quarantine is None else "replace"
        lines = first_lines(path, format, encoding, 50 + reading.skip_rows, errors)[reading.skip_rows :]
        blank = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
        lines = [line.removeprefix("\ufeff") for line in lines[blank:]]
        if not lines:
            raise InputError(f"input: {path.name} has blank lines only")
        if any("\0" in line for line in lines):
            raise InputError(f"input: {path.name} has NUL bytes; if it is UTF-16 text, pass --encoding utf-16-le")
        delimiter = reading.delimiter or _delimiter(lines, reading.decimal, reading.quote)
        rows = rows_of(lines, delimiter, reading.quote)
        if not reading.header:
            rows = [list(reading.names) or [f"column{at}" for at in range(1, len(rows[0]) + 1)], *rows]
        elif reading.names:
            rows[0] = list(reading.names)
        names = [name or f"(column {at})" for at, name in enumerate(rows[0], 1)]
        if reading.row_names:
            names = [ROW_NAME, *names]
        if len(rows) == 1:
            raise EmptyInputError(f"input: {path.name} has a header and no rows")
        cut = cls(
            path, format, encoding, delimiter, reading.quote, reading.skip_rows + blank, reading.header, tuple(names)
        )
        return cut._fitting(rows[1:], reading)

    def _fitting(self, rows: list[list[str]], reading: Reading) -> Cut:
        """The cut, if the names fit the rows."""
        width, asked = len(self.names), len(rows[0])
        where = "the names given have" if reading.names or not reading.header else "the header has"
        ends_empty = asked > width and all(len(row) == asked and not any(row[width:]) for row in rows[:-1] or rows)
        unfit = asked != width and not ends_empty
        if reading.quarantine is not None:  # then a row that does not fit is set aside, but not all of them
            unfit = unfit and all(len(row) == asked for row in rows)
        if unfit and asked == width + 1 and not reading.row_names:
            raise InputError(
                f"input: {where} {width} fields and the rows have {asked}; if each row begins with its name, pass "
                "--row-names"
            )
        if unfit:
            line = self.line_of(1)
            raise InputError(f"input: {where} {width} fields and the first row (line {line}) has {asked}")
        if len({name.casefold() for name in self.names}) != width:
            raise InputError(
                "input: two columns have the same name (capitals do not count); give other names with --columns"
            )
        if not ends_empty:
            return self
        added = [f"(column {at})" for at in range(width + 1, asked + 1)]
        return Cut(**{**vars(self), "names": (*self.names, *added), "extra": len(added)})

    @property
    def first_line_is_data(self) -> bool:
        """Whether the names look like values, so that they must not be shown."""
        return self.header and any(re.fullmatch(_LIKE_DATA, name, re.DOTALL) for name in self.names)

    def line_of(self, row: int) -> int:
        """Line, from one, at which data row `row` (from one) ends."""
        with open_bytes(self.path, self.format.compression) as stream:
            lines = io.TextIOWrapper(stream, encoding=self.encoding, errors="replace", newline="")
            for _ in range(self.skip):
                next(lines)
            found = csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote)
            with contextlib.suppress(csv.Error):  # fields beyond what the module reads: the line so far
                next(itertools.islice((each for each in found if each), row - 1 + self.header, None), None)
            return self.skip + found.line_num


def encoding_of(path: Path, format: Format, stated: str | None) -> str:
    """The name of the encoding that was stated, or that of the byte-order mark."""
    if stated is not None:
        try:
            name = codecs.lookup(stated).name
        except LookupError:
            raise ArgumentError(f"encoding: {stated} is not known; try utf-8, latin-1 or cp1252") from None
        if name != "utf-16":  # which a mark tells more of
            return name
    try:
        with open_bytes(path, format.compression) as stream:
            head = stream.read(3)
    except OSError:
        raise InputError(f"input: {path.name} is damaged ({format.compression} data end too early)") from None
    if stated is not None:
        return "utf-16-be" if head.startswith(b"\xfe\xff") else "utf-16"
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "utf-8")


def open_csv(
    con: duckdb.DuckDBPyConnection, path: Path, format: Format, reading: Reading
) -> tuple[Cut, list[tuple[str, str]]]:
    """Make the view `raw` of a text file, all of it text, and say how it is cut.

    Raises
    ------
    ArgumentError, InputError
        See `Cut.find`; a field beyond the header that is not empty.
    """
    cut = Cut.find(path, format, reading)
    if reading.quarantine is not None:
        sift(con, cut, reading.nulls)
    else:
        _view(con, cut, reading)
    _check_ends(con, cut)
    plan = [
        ("format", str(format)),
        ("delimiter", {"\t": "tab"}.get(cut.delimiter, cut.delimiter)),
        ("decimal mark", (reading.decimal or ".") + (f", thousands {reading.thousands}" if reading.thousands else "")),
        ("encoding", cut.encoding + (", by its byte-order mark" if _has_mark(path, format) else "")),
        ("header", f"{len(cut.names) - cut.extra} columns" + ("" if cut.header else ", not named in the file")),
    ]
    return cut, plan


def _view(con: duckdb.DuckDBPyConnection, cut: Cut, reading: Reading) -> None:
    """Make the view `raw` of all lines; one that cannot be cut is an error."""
    source, packed = cut.path, cut.format.compression
    if cut.encoding not in _READ_BY_DUCKDB:
        source, packed = _in_utf8(con, cut.path, cut.format, cut.encoding), None
    fields = ", ".join(f"{text(name)}: 'VARCHAR'" for name in cut.names)
    con.execute(
        f"CREATE VIEW raw AS FROM read_csv({text(str(source))}, auto_detect = false, delim = {text(cut.delimiter)}, "
        f"quote = {text(cut.quote)}, escape = {text(cut.quote)}, header = {cut.header}, skip = {cut.skip}, "
        f"columns = {{{fields}}}, encoding = {text(_READ_BY_DUCKDB.get(cut.encoding, 'utf-8'))}, "
        f"allow_quoted_nulls = {not reading.kinds}, compression = {text(packed or 'none')}, "
        f"nullstr = [{', '.join(map(text, reading.nulls))}])"
    )


def _has_mark(path: Path, format: Format) -> bool:
    with open_bytes(path, format.compression) as stream:
        head = stream.read(3)
    return head.startswith(tuple(_MARKS))


def _check_ends(con: duckdb.DuckDBPyConnection, cut: Cut) -> None:
    """Fields beyond the header are empty in every row, or they are not dropped."""
    if not cut.extra:
        return
    ends = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in cut.names[-cut.extra :])
    filled = con.sql(f"SELECT count(*) FROM raw WHERE {ends}").fetchall()[0][0]
    if filled:
        raise InputError(
            f"input: {filled} rows have values beyond the {len(cut.names) - cut.extra} columns of the header; name all "
            "columns with --columns"
        )


def written_as(cut: Cut) -> Format:
    """The format of a release where its name says nothing: a mark that occurs in times is not written."""
    occurs_in_times = cut.delimiter.isalnum() or cut.delimiter in " :-.+"  # which are written without quotes
    return Format("csv", cut.format.compression, "," if occurs_in_times else cut.delimiter)


def _delimiter(lines: list[str], decimal: str | None, quote: str) -> str:
    """The mark that cuts the first rows into the same number of fields, the most of them."""
    found = [(False, 1, ",")]
    for mark in ",;\t|":
        if mark in (decimal, quote):
            continue
        header, *counts = [len(row) for row in rows_of(lines, mark, quote)][:20]
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
    digits = column if reading.thousands is None or part == "id" else _ungrouped(column, reading.thousands, decimal)
    plain = digits if decimal == "." else f"replace(replace({digits}, '.', ' '), {text(decimal)}, '.')"
    whole = f"regexp_full_match({digits}, '0|-?[1-9]\\d*')"
    numbers = f"TRY_CAST({plain} AS DOUBLE)"
    candidates = [
        ("whole numbers", f"CASE WHEN {whole} THEN TRY_CAST({digits} AS BIGINT) END"),
        ("whole numbers", f"CASE WHEN {whole} THEN TRY_CAST({digits} AS UBIGINT) END"),
        ("whole numbers", f"CASE WHEN {whole} THEN TRY_CAST({digits} AS DECIMAL(38, 0)) END"),
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
    wanted = like_numbers if like_numbers and part == "value" and reading.quarantine is not None else present
    kind, read = next((each for each, hit in zip(candidates, counts, strict=True) if hit >= wanted), ("words", column))
    if kind == "words" and name not in reading.kinds and part == "value":
        if with_comma and decimal == "." and with_comma + like_numbers == present:
            raise InputError(f"column {name} has numbers with a decimal comma; pass --decimal ,")
        if like_numbers:
            row = first_misfit(con, "raw", name, numbers)
            raise MisfitError(
                f"value: {present - like_numbers} of {present} entries of column {name} are text among numbers "
                "(first in {place}); correct them, declare that text missing with --null, or set such rows aside with "
                "--quarantine",
                row,
            )
    plan.append((part, f"{name}, {kind}"))
    return read


def _ungrouped(column: str, mark: str, decimal: str) -> str:
    """SQL of a number without the marks between its thousands; of anything else as it is."""
    group, point = re.escape(mark), re.escape(decimal)
    grouped = text(f"[+-]?\\d{{1,3}}({group}\\d{{3}})+({point}\\d+)?")
    return (
        f"CASE WHEN regexp_full_match({column}, {grouped}) THEN replace({column}, {text(mark)}, '') ELSE {column} END"
    )
