"""Quarantine: rows that cannot be read are set aside to a private file, and the release goes on without them."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.errors import ArgumentError, InputError
from reticent.tables.formats import open_bytes
from reticent.tables.sql import quoted, text
from reticent.tables.staging import sync

if TYPE_CHECKING:
    import duckdb

    from reticent.tables.delimited import Cut
    from reticent.tables.reading import Records

LINE = "reticent line"
RECORD = "reticent record"
ASIDE = "aside"

_Record = tuple[int, str, list[str], str | None]
_BATCH = 20_000
_SPAN = 100  # lines that one record may span before an open quote is taken for a fault of its first line


def sift(con: duckdb.DuckDBPyConnection, cut: Cut, nulls: Sequence[str]) -> None:
    """Make the table `raw` of the lines that can be cut into fields, each with its number and its text.

    The others are in the table `aside`. DuckDB cuts no line: what it would take for a line end may stand in quotes.
    """
    import pyarrow as pa

    _make_aside(con)
    names = (LINE, RECORD, *cut.names)
    columns = ", ".join(f"{quoted(name)} {'BIGINT' if name == LINE else 'VARCHAR'}" for name in names)
    con.execute(f"CREATE TABLE raw ({columns})")
    missing = dict.fromkeys(nulls)
    for some in _batches(_records(cut)):
        kept = [
            (line, record, *(missing.get(each, each) for each in fields))
            for line, record, fields, bad in some
            if not bad
        ]
        left = [(line, bad, _shown(record)) for line, record, _, bad in some if bad is not None]
        for table, rows, width in (("raw", kept, len(names)), (ASIDE, left, 3)):
            if rows:
                kinds = [pa.int64(), *[pa.string()] * (width - 1)]
                arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
                con.register("batch", pa.Table.from_arrays(arrays, [f"c{at}" for at in range(width)]))
                con.execute(f"INSERT INTO {table} FROM batch")
                con.unregister("batch")


def _batches(records: Iterator[_Record]) -> Iterator[list[_Record]]:
    while some := list(itertools.islice(records, _BATCH)):
        yield some


def _shown(record: str) -> str:
    """A record, with what is no text in its encoding as escapes."""
    return record.encode("utf-8", "backslashreplace").decode()


def _records(cut: Cut) -> Iterator[_Record]:
    """Line, text, fields, and what is wrong with each record."""
    lines = _lines(cut)
    for _ in range(cut.skip):
        next(lines, None)
    number, header = cut.skip, cut.header
    waiting: deque[str] = deque()
    opened = _opened(cut)
    while True:
        line = waiting.popleft() if waiting else next(lines, None)
        if line is None:
            return
        number += 1
        more: list[str] = []
        goes_on = opened.fullmatch(line)
        while goes_on and len(more) < _SPAN:
            following = waiting.popleft() if waiting else next(lines, None)
            if following is None:
                break
            more.append(following)
            goes_on = opened.fullmatch(line + "".join(more)) if cut.quote in following else goes_on
        whole = line + "".join(more)
        if not whole.strip():
            continue
        fields, fault = _fields(whole, cut)
        if fault is not None and more:  # a quote that does not close where it should is a fault of this line alone
            waiting.extendleft(reversed(more))
            whole, more, fault = line, [], "a quote that does not close"
        begin = number
        number += len(more)
        if header:
            header = False
        else:
            yield begin, whole.rstrip("\r\n"), fields, fault


def _opened(cut: Cut) -> re.Pattern[str]:
    """What a text matches whose last field begins with a quote that is still open: only such a field spans lines."""
    quote, mark = re.escape(cut.quote), re.escape(cut.delimiter)
    inside = f"{quote}(?:[^{quote}]|{quote}{quote})*+"
    return re.compile(f"(?>(?:{inside}{quote}|[^{quote}{mark}][^{mark}]*+)?{mark})*+{inside}", re.DOTALL)


def _fields(whole: str, cut: Cut) -> tuple[list[str], str | None]:
    if any("\udc80" <= mark <= "\udcff" for mark in whole):
        return [], "not text in this encoding"
    try:
        (fields,) = csv.reader([whole], delimiter=cut.delimiter, quotechar=cut.quote, strict=True)
    except (csv.Error, ValueError):
        return [], "quotes that cannot be read"
    if len(fields) != len(cut.names):
        return [], f"{len(fields)} fields where there are {len(cut.names)} columns"
    return fields, None


def _lines(cut: Cut) -> Iterator[str]:
    with open_bytes(cut.path, cut.format.compression) as stream:
        codec = "utf-8-sig" if cut.encoding == "utf-8" else cut.encoding
        errors = "surrogateescape" if cut.encoding in ("utf-8", "ascii") else "strict"
        try:
            with io.TextIOWrapper(stream, encoding=codec, errors=errors, newline="") as lines:
                yield next(lines, "").removeprefix("\ufeff")
                yield from lines
        except UnicodeError:
            raise InputError(
                f"input: {cut.path.name} is not {cut.encoding} text; name its encoding with --encoding"
            ) from None


def number_rows(con: duckdb.DuckDBPyConnection) -> None:
    """Make of the view `raw` a table whose rows bear their number and what they hold."""
    _make_aside(con)
    con.execute("SET preserve_insertion_order = true")
    con.execute(
        f"CREATE TABLE numbered AS SELECT *, row_number() OVER () AS {quoted(LINE)}, "
        f"CAST(to_json(whole) AS VARCHAR) AS {quoted(RECORD)} FROM raw AS whole"
    )
    con.execute("SET preserve_insertion_order = false; DROP VIEW raw; ALTER TABLE numbered RENAME TO raw")


def _make_aside(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE OR REPLACE TABLE {ASIDE} (line BIGINT, reason VARCHAR, record VARCHAR)")


def set_aside(con: duckdb.DuckDBPyConnection, faults: list[tuple[str, str]]) -> None:
    """Put the rows of `raw` for which a condition holds into the table `aside`, each with its first reason."""
    if faults:
        reasons = " ".join(f"WHEN {condition} THEN {text(reason)}" for reason, condition in faults)
        judged = f"SELECT {quoted(LINE)}, CASE {reasons} END AS reason, {quoted(RECORD)} FROM raw"
        con.execute(f"INSERT INTO {ASIDE} FROM ({judged}) WHERE reason IS NOT NULL")


def reasons_of(con: duckdb.DuckDBPyConnection) -> list[tuple[str, int]]:
    """Why rows were set aside, and how many for each reason."""
    return con.sql(f"SELECT reason, count(*) FROM {ASIDE} GROUP BY reason ORDER BY reason").fetchall()


class Quarantine:
    """The private file of what was set aside: laid ready beside its place, moved there with the release."""

    def __init__(self, path: Path | None, overwrite: bool) -> None:
        self._path = path
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise ArgumentError(f"quarantine: {path.name} is a folder, or lies in none; name a file in one")
        if path is not None and path.exists() and not overwrite:
            raise ArgumentError(f"quarantine: {path.name} exists; name another file, or pass --overwrite")

    @property
    def _part(self) -> Path:
        assert self._path is not None
        return self._path.with_name(f".{self._path.name}.part")

    def write(self, records: Records) -> Records:
        """Lay the file ready, for its owner's eyes only."""
        if self._path is None:
            return records
        found = records.con.execute(f"FROM {ASIDE} ORDER BY line")
        try:
            self._part.unlink(missing_ok=True)
            descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["line", "reason", "record"])
                while some := found.fetchmany(10_000):
                    rows.writerows(some)
            sync(self._part)
        except OSError as error:
            raise ArgumentError(f"quarantine: {self._path.name} cannot be written ({error.strerror})") from None
        return records

    def commit(self) -> None:
        """Move it into place, where it was written at all."""
        if self._path is not None and self._part.exists():
            self._part.replace(self._path)
            sync(self._path.parent)


@contextmanager
def quarantine(path: Path | None, overwrite: bool) -> Iterator[Quarantine]:
    """A quarantine that leaves nothing behind where the release fails."""
    kept = Quarantine(path, overwrite)
    try:
        yield kept
    finally:
        if path is not None:
            path.with_name(f".{path.name}.part").unlink(missing_ok=True)
