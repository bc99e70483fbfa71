"""What a release of a valid table must hold, in plain Python, and what a released file or frame does hold."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from fuzz.fuzz_grammar import EPOCH, Row, Table, instants


def expected(table: Table) -> list[Row]:
    """The rows in canonical order: by identifiers (text by code point), then by time."""
    at = len(table.ids)
    moved = instants(table)
    rows = [(*row[:at], moved[row[at]], plain(row[at + 1]), *row[at + 2 :]) for row in table.rows]
    return sorted(rows, key=lambda row: row[: at + 1])


def plain(value: Any) -> Any:
    """A value as it is compared: numbers exactly, by their shortest decimal; missing is None."""
    if value is None or (isinstance(value, float | np.floating) and value != value):
        return None
    if isinstance(value, bool | str):
        return value
    return Fraction(Decimal(str(value)))


def released_rows(out: Any, table: Table, names: tuple[str, ...]) -> list[Row]:
    """The rows of a released file or frame."""
    columns = dict(zip(table.names, zip(*table.rows, strict=True), strict=True))
    texts = {name for name, values in columns.items() if any(isinstance(value, str) for value in values)}
    if isinstance(out, Path):
        if out.suffix in (".csv", ".tsv", ".gz", ".zst", ".txt"):
            return _text_rows(out, names, texts, table.time if table.clock != "whole" else "")
        out = (pyarrow.parquet if out.suffix == ".parquet" else pyarrow.feather).read_table(out)
    elif not isinstance(out, pa.Table):
        out = pa.Table.from_pandas(out, preserve_index=False) if hasattr(out, "iloc") else out.to_arrow()
    assert tuple(out.column_names) == names, out.column_names
    columns = [_plain_column(out[name], name in texts) for name in names]
    return list(zip(*columns, strict=True))


def _plain_column(column: pa.ChunkedArray, text: bool) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return [plain(each) for each in column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        return [each.toordinal() * 86400 * 10**6 - EPOCH.toordinal() * 86400 * 10**6 for each in column.to_pylist()]
    if pa.types.is_float32(kind):
        return [None if each is None else plain(np.float32(each)) for each in column.to_pylist()]
    return [each if text else plain(each) for each in column.to_pylist()]


def _text_rows(path: Path, names: tuple[str, ...], texts: set[str], time: str) -> list[Row]:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    elif path.suffix == ".zst":
        content = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    text = content.decode("utf-8")
    mark = next(
        each for each in (",", ";", "\t", "|") if next(csv.reader(io.StringIO(text), delimiter=each)) == list(names)
    )
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    assert tuple(header) == names, header
    readers = [_instant if name == time else _word if name in texts else _plain_text for name in names]
    return [tuple(read(each) for read, each in zip(readers, row, strict=True)) for row in rows]


def _word(text: str) -> str | None:
    return text or None


def _plain_text(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return Fraction(Decimal(text)) if text else None


def _instant(text: str) -> int:
    stamp = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    stamp = stamp.astimezone(dt.UTC).replace(tzinfo=None) if stamp.tzinfo else stamp
    return (stamp - EPOCH) // dt.timedelta(microseconds=1)


# --- the verbs -------------------------------------------------------------------------------------------------------


def check_quantized(
    table: Table, out: list[Row], low: Fraction, high: Fraction, levels: int, outside: str, symbols: str
) -> None:
    """Each value is the symbol of its cell, computed with exact fractions; all else is as it was."""
    at = len(table.ids) + 1
    rows = expected(table)
    assert len(out) == len(rows)
    for got, row in zip(out, rows, strict=True):
        value = row[at]
        if value is not None and not low <= value <= high:
            value = None if outside == "missing" else min(max(value, low), high)
        cell = None if value is None else min(int((value - low) * levels / (high - low)), levels - 1)
        width = (high - low) / levels
        shift = Fraction(1, 2) if symbols == "midpoint" else 0
        symbol = None if cell is None else plain(float(low + (cell + shift) * width))
        assert got == (*row[:at], symbol, *row[at + 1 :]), (got, row, cell)


def check_switched(table: Table, out: list[Row], window: int, bounded: bool) -> None:
    """Each series keeps its values; nothing else moves; where it is bounded, no value comes `window` steps early."""
    at = len(table.ids) + 1
    rows = expected(table)
    assert [(*row[:at], *row[at + 1 :]) for row in out] == [(*row[:at], *row[at + 1 :]) for row in rows]
    series: dict[Row, tuple[list[Any], list[Any]]] = {}
    for got, row in zip(out, rows, strict=True):
        before, after = series.setdefault(row[: at - 1], ([], []))
        before.append(row[at])
        after.append(got[at])
    for before, after in series.values():
        assert Counter(before) == Counter(after)
        for i, value in enumerate(after) if bounded else ():
            assert value in before[: i + window]


def check_redacted(table: Table, out: list[Row], secret: tuple[int, int]) -> None:
    """Secrets are withheld, what is shown is what it was, and a series without secrets is whole."""
    at = len(table.ids) + 1
    rows = expected(table)
    assert len(out) == len(rows)
    spans: dict[Row, tuple[int, int]] = {}
    for row in rows:
        first, last = spans.get(row[: at - 1], (row[at - 1],) * 2)
        spans[row[: at - 1]] = min(first, row[at - 1]), max(last, row[at - 1])
    for got, row in zip(out, rows, strict=True):
        (first, last), tick, value, flag = spans[row[: at - 1]], row[at - 1], row[at], got[at + 1]
        assert (*got[:at], *got[at + 2 :]) == (*row[:at], *row[at + 1 :])
        assert got[at] == (None if flag else value)
        assert flag is True if secret[0] <= tick <= secret[1] else flag in (True, False)
        guarded = any(secret[0] <= each <= secret[1] for each in range(first, last + 1, table.step))
        assert guarded or not flag
