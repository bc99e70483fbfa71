"""Rows laid out by counting are in the order that DuckDB sorts them into, whatever the columns and the memory."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.errors import InputError
from reticent.randomness import EncodedIds
from reticent.tables import arranging
from reticent.tables._kernels import order_in_time
from reticent.tables.chunks import Chunk, _sorted, chunks
from reticent.tables.delimited import Reading
from reticent.tables.reading import Columns, Records, connect, open_records

START = dt.datetime(2024, 1, 1)


@contextmanager
def opened(table: pa.Table, columns: Columns, scratch: Path) -> Iterator[Records]:
    with connect(None, scratch) as con:
        yield open_records(con, table, columns, Reading())


def panel(series: int, most: int, seed: int, ids: Any = str) -> pa.Table:
    """Series of unequal length in shuffled order, with a column of each kind, half of them with nulls."""
    rng = np.random.default_rng(seed)
    names = np.repeat(np.arange(series), rng.integers(1, most + 1, series))
    times = np.concatenate([rng.choice(10 * most, int(n), replace=False) for n in np.bincount(names)])
    order = rng.permutation(names.size)
    absent = rng.random(names.size) < 0.5
    numbers = rng.integers(0, 100, names.size)
    columns: dict[str, Any] = {
        "double": pa.array(numbers / 7),
        "float": pa.array(numbers / 7, pa.float32(), mask=absent),
        "int8": pa.array(numbers, pa.int8()),
        "uint64": pa.array(numbers.astype(np.uint64) + 2**63, mask=absent),
        "bool": pa.array(numbers > 50),
        "flag": pa.array(numbers > 50, mask=absent),
        "decimal": pa.array([decimal.Decimal(int(n)) / 4 for n in numbers], pa.decimal128(20, 2), mask=absent),
        "word": pa.array([f"word {n}" for n in numbers], mask=absent),
        "date": pa.array([dt.date(2024, 1, 1) + dt.timedelta(int(n)) for n in numbers], mask=absent),
        "clock": pa.array([dt.time(int(n) % 24) for n in numbers]),
    }
    stamps = pa.array([START + dt.timedelta(hours=int(t)) for t in times], pa.timestamp("us"))
    return pa.table({"id": [ids(n) for n in names], "ts": stamps, **columns}).take(pa.array(order))


def sorted_by_duckdb(records: Any, columns: Columns, rows: int) -> list[tuple[pa.Table, Any]]:
    return [each[:2] for each in _sorted(records, columns.all, "error", rows)]


def same(found: list[tuple[pa.Table, Any]], wanted: list[tuple[pa.Table, Any]]) -> None:
    one, two = (pa.concat_tables([table for table, _ in each]) for each in (found, wanted))
    assert one.schema == two.schema
    assert one.to_pylist() == two.to_pylist()


@pytest.mark.parametrize("memory", [5 * 10**8, 90_000])  # of the rows; DuckDB itself needs more
@pytest.mark.parametrize(
    "ids",
    [
        str,
        int,
        lambda n: int(2 * n) - 2**63,
        lambda n: int(n) * 10**15,
        lambda n: np.uint64(int(n) + 2**63),
        lambda n: dt.date(2024, 1, 1) + dt.timedelta(int(n)),
        lambda n: n == 1,
    ],
)
def test_the_order_is_that_of_duckdb(tmp_path: Path, monkeypatch: Any, ids: Any, memory: int) -> None:
    table = panel(2 if ids(1) is True else 40, 60, seed=1, ids=ids)
    columns = Columns("ts", tuple(table.column_names[2:]), ("id",))
    monkeypatch.setattr(arranging, "_memory", lambda con: memory)
    with opened(table, columns, tmp_path) as records:
        tables = arranging.arranged(records, columns.all, 100)
        assert tables is not None
        found = list(tables)
        assert len(found) > 1 or len(found[0][1]) == 3
        same(found, sorted_by_duckdb(records, columns, 100))
        for part, offsets in found:
            assert offsets[0] == 0
            assert offsets[-1] == part.num_rows
            names = part["id"].to_pylist()
            assert all(len(set(names[a:b])) == 1 for a, b in pairwise(offsets.tolist()))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint32()])
def test_numbers_that_lie_close_together(tmp_path: Path, kind: Any) -> None:
    """With gaps among them, and at the ends of what their type holds."""
    ends = (-128, 127) if kind == pa.int8() else (0, 255) if kind == pa.uint8() else (5, 205)
    table = panel(60, 30, seed=9, ids=lambda n: ends[int(n) % 2] if n > 50 else ends[0] + int(n) * 3)
    table = table.set_column(0, "id", table["id"].cast(kind))
    table = table.set_column(1, "ts", pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    columns = Columns("ts", ("double",), ("id",))
    with opened(table, columns, tmp_path) as records:
        assert arranging._close_together(records, records.types) is not None
        tables = arranging.arranged(records, columns.all, 50)
        assert tables is not None
        same(list(tables), sorted_by_duckdb(records, columns, 50))


def test_memory_changes_no_table(tmp_path: Path, monkeypatch: Any) -> None:
    columns = Columns("ts", ("double",), ("id",))
    with opened(panel(300, 60, seed=8), columns, tmp_path) as records:
        sizes = []
        for memory in (10**9, 100_000, 40_000):
            monkeypatch.setattr(arranging, "_memory", lambda con, memory=memory: memory)
            tables = arranging.arranged(records, columns.all, 200)
            assert tables is not None
            sizes.append([table.num_rows for table, _ in tables])
    assert sizes[0] == sizes[1] == sizes[2]


def test_several_identifiers_none_and_one(tmp_path: Path) -> None:
    table = panel(30, 20, seed=2)
    for ids in (("id", "word2"), ()):
        given = table.append_column("word2", pa.array([f"{i % 3}" for i in range(table.num_rows)]))
        if not ids:
            given = given.set_column(1, "ts", pa.array(np.random.default_rng(0).permutation(table.num_rows)))
        columns = Columns("ts", ("double", "word"), ids)
        with opened(given, columns, tmp_path) as records:
            tables = arranging.arranged(records, columns.all, 50)
            assert tables is not None
            same(list(tables), sorted_by_duckdb(records, columns, 50))


def test_what_cannot_be_laid_out_is_left_to_duckdb(tmp_path: Path, monkeypatch: Any) -> None:
    table = panel(5, 5, seed=3)
    floats = table.append_column("other", pa.array(np.arange(table.num_rows) / 3))
    with opened(floats, Columns("ts", ("double",), ("other",)), tmp_path) as records:
        assert arranging.arranged(records, ("other", "ts", "double"), 10) is None
    monkeypatch.setattr(arranging, "_FEW_WORDS", 3)
    with opened(table, Columns("ts", ("word",), ("id",)), tmp_path) as records:
        assert arranging.arranged(records, ("id", "ts", "word"), 10) is None
        assert sum(chunk.table.num_rows for chunk in chunks(records)) == table.num_rows


def test_a_time_that_occurs_twice_is_found(tmp_path: Path) -> None:
    table = panel(5, 50, seed=4)
    twice = pa.concat_tables([table, table.slice(7, 1)])
    with (
        opened(twice, Columns("ts", ("double",), ("id",)), tmp_path) as records,
        pytest.raises(InputError, match="1 records"),
    ):
        list(chunks(records))


def test_nothing_is_to_be_seen_below_a_null(tmp_path: Path) -> None:
    values = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.array([5, 77]).buffers()[1]])
    with opened(pa.table({"ts": [2, 1], "kwh": values}), Columns("ts", ("kwh",)), tmp_path) as records:
        (chunk,) = chunks(records)
    assert chunk.table["kwh"].to_pylist() == [None, 5]
    assert np.frombuffer(chunk.table["kwh"].chunk(0).buffers()[1], np.int64)[:2].tolist() == [0, 5]


@pytest.mark.parametrize("kind", [pa.int16(), pa.uint64(), pa.string(), pa.large_string(), pa.bool_(), pa.date32()])
def test_identifiers_are_encoded_as_plain_values_are(kind: Any) -> None:
    words = pa.array([3, 1, 1, 0, 100]) if kind != pa.bool_() else pa.array([True, False, False, True, True])
    names = (
        pa.array([f"mé{i}" for i in words.to_pylist()], kind)
        if "string" in str(kind)
        else (words.cast(pa.int32()).cast(kind) if kind == pa.date32() else words.cast(kind))
    )
    for table in (pa.table({"id": names}), pa.table({"id": names.slice(1)})):
        size = table.num_rows
        offsets = np.array([0, 1, size - 1, size])
        chunk = Chunk(table, offsets, Columns("ts", ("kwh",), ("id",)))
        found, wanted = chunk.encoded_ids, EncodedIds.of(chunk.ids)
        assert np.array_equal(found.offsets, wanted.offsets)
        assert np.array_equal(found.data, wanted.data)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=80),
            st.lists(st.integers(-3, 3), min_size=1, max_size=80),
            st.lists(st.integers(0, 40).map(lambda n: 2**n), min_size=30, max_size=300),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_times_are_sorted_however_they_lie(lists: list[list[int]]) -> None:
    starts = np.cumsum([0, *map(len, lists)])
    ticks = np.array([tick for each in lists for tick in each], dtype=np.int64)
    longest, given_ticks = max(map(len, lists)), ticks.copy()
    rows, left = np.empty(ticks.size, np.int32), np.zeros(len(lists), np.bool_)
    room = np.empty(longest + 1, np.int32), np.empty(longest, np.int64), np.empty(longest, np.int32)
    order_in_time(ticks, starts, rows, left, *room)
    assert np.array_equal(given_ticks[rows], ticks)
    for series, (a, b) in enumerate(pairwise(starts)):
        assert np.array_equal(np.sort(rows[a:b]), np.arange(a, b))
        assert left[series] or (np.diff(ticks[a:b].astype(object)) >= 0).all()


def test_uneven_times_are_sorted_in_another_way(tmp_path: Path) -> None:
    ticks = np.random.default_rng(5).permutation(np.concatenate([np.arange(5000), [2**62]]))
    table = pa.table({"ts": ticks, "kwh": ticks})
    with opened(table, Columns("ts", ("kwh",)), tmp_path) as records:
        (chunk,) = chunks(records)
    assert chunk.table["ts"].to_pylist() == chunk.table["kwh"].to_pylist() == sorted(ticks.tolist())
