"""The lines of a stream: records in, CSV or JSON, and released records out in the same form."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reticent.errors import InputError
from reticent.tables.reading import Columns

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("csv", "jsonl")
SEQUENCE = "seq"

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")


class Event(NamedTuple):
    """One record of the stream; texts and numbers as they were written.

    Attributes
    ----------
    key : str
        Identifier of the series, as JSON.
    tick : int
        Its time, comparable within the stream.
    time : str or int
    values, kept : list
    """

    key: str
    tick: int
    time: Any
    values: list[Any]
    kept: list[Any]


@lru_cache(maxsize=1 << 16, typed=True)
def key_of(*name: str | int) -> str:
    """A series as JSON text."""
    return json.dumps(name)


@lru_cache(maxsize=1 << 16)
def name_of(key: str) -> tuple[str | int, ...]:
    """The identifiers of a series."""
    return tuple(json.loads(key))


class Clock:
    """Reads times of one kind: whole numbers, ISO 8601 without or with an offset, or a declared format.

    Parameters
    ----------
    format : str, optional
        As for `datetime.strptime`.
    kind : str
        What the times of the stream were so far; "" before the first.
    """

    def __init__(self, format: str | None, kind: str = "") -> None:
        self._format = format
        self.kind = kind

    def tick(self, written: Any) -> int:
        """A time as a whole number (microseconds, unless it is one).

        Raises
        ------
        ValueError
            A text that is no time, or one of another kind than those before.
        """
        if isinstance(written, int) and not isinstance(written, bool):
            kind, tick = "whole numbers", written
        elif not isinstance(written, str):
            raise ValueError
        elif self._format is None and _WHOLE.fullmatch(written):
            kind, tick = "whole numbers", int(written)
        else:
            moment = (
                dt.datetime.fromisoformat(written.strip())
                if self._format is None
                else dt.datetime.strptime(written, self._format)
            )
            kind = "times without offset" if moment.tzinfo is None else "times with offset"
            if moment.tzinfo is not None:
                moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
            tick = (moment - _EPOCH) // _MICROSECOND
        self.kind = self.kind or kind
        if kind != self.kind:
            raise ValueError
        return tick


@dataclass
class Lines:
    """How lines are read and written.

    Parameters
    ----------
    columns : Columns
    format : {"csv", "jsonl"}
    clock : Clock
    delimiter : str, optional
        Of CSV; found in the header by default.
    """

    columns: Columns
    format: str
    clock: Clock
    delimiter: str | None = None

    def __post_init__(self) -> None:
        self._places: list[int] | None = None
        self._width = 0

    @property
    def needs_header(self) -> bool:
        """Whether the next line of the input is the header."""
        return self.format == "csv" and self._places is None

    def header(self, line: bytes) -> None:
        """Take the header of a CSV stream.

        Raises
        ------
        InputError
            A column that is not there, or there twice.
        """
        text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
        if self.delimiter is None:
            self.delimiter = max(",;\t|", key=lambda mark: (text.count(mark), mark == ","))
        names = next(csv.reader([text], delimiter=self.delimiter), [])
        for name in self.columns.all:
            if names.count(name) != 1:
                raise InputError(f"input: column {name} is in the header {names.count(name)} times; name others")
        self._places = [names.index(name) for name in self.columns.all]
        self._width = len(names)

    def event(self, line: bytes, number: int) -> Event:
        """One record.

        Raises
        ------
        InputError
            A line that is no record: it is named by its number, and nothing of it is shown.
        """
        try:
            fields = self._csv(line) if self.format == "csv" else self._json(line)
        except (ValueError, csv.Error, RecursionError):
            raise InputError(f"input: record {number:,} cannot be read as {self.format}") from None
        ids = len(self.columns.id)
        written = fields[ids]
        name = fields[:ids]
        if any(not isinstance(part, str | int) or isinstance(part, bool) or part == "" for part in name):
            raise InputError(f"id: that of record {number:,} is missing, or no text or whole number")
        try:
            tick = self.clock.tick(written)
        except (ValueError, OverflowError):
            known = f" among {self.clock.kind}" if self.clock.kind else ""
            raise InputError(
                f"time: that of record {number:,} cannot be read{known}; name its format with --time-format"
            ) from None
        first = ids + 1 + len(self.columns.value)
        return Event(key_of(*name), tick, written, fields[ids + 1 : first], fields[first:])

    def _csv(self, line: bytes) -> list[Any]:
        assert self._places is not None
        text = line.decode("utf-8").rstrip("\r\n")
        if text.count('"') % 2:  # it would go on in the next line
            raise ValueError
        fields = next(csv.reader([text], delimiter=self.delimiter or ",", strict=True), [])
        if len(fields) != self._width:
            raise ValueError
        return [fields[place] for place in self._places]

    def _json(self, line: bytes) -> list[Any]:
        body = json.loads(line, parse_constant=_no_constant)
        if not isinstance(body, dict):
            raise ValueError
        fields = [body.get(name) for name in self.columns.all]
        if any(isinstance(value, dict | list) or (isinstance(value, float) and math.isinf(value)) for value in fields):
            raise ValueError
        return fields

    def head(self, numbered: bool) -> str:
        """What the output begins with."""
        if self.format != "csv":
            return ""
        return self._rows([[*([SEQUENCE] if numbered else []), *self.columns.all]])

    def text(self, events: Sequence[Event], first: int | None) -> str:
        """Released records as lines; numbered from `first` on, if it is given."""
        numbers = [[] if first is None else [first + i] for i in range(len(events))]
        rows = (
            [*number, *name_of(each.key), each.time, *each.values, *each.kept]
            for number, each in zip(numbers, events, strict=True)
        )
        if self.format == "csv":
            return self._rows(rows)
        names = [*([] if first is None else [SEQUENCE]), *self.columns.all]
        return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)

    def _rows(self, rows: Iterable[list[Any]]) -> str:
        sink = io.StringIO()
        csv.writer(sink, delimiter=self.delimiter or ",", lineterminator="\n").writerows(rows)
        return sink.getvalue()


def released_table(path: Path, columns: Columns) -> pa.Table:
    """What a stream of JSON lines released, as a table.

    Raises
    ------
    ValueError
        Lines that are no objects with these columns.
    """
    import pyarrow as pa

    with path.open("rb") as file:
        rows = [json.loads(line, parse_constant=_no_constant) for line in file]
    held = {name: [row[name] for row in rows] for name in columns.all}
    return pa.table(
        {
            name: list(map(str, each)) if len(set(map(type, each)) & {int, str}) > 1 else each
            for name, each in held.items()
        }
    )


def _no_constant(name: str) -> Any:
    raise ValueError
