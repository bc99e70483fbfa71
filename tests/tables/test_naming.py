"""Identifiers taken a column at once are those taken one by one."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reticent.accounting.coverage import Coverage
from reticent.accounting.fingerprints import plain_id, series_codes
from reticent.errors import LedgerError
from reticent.randomness import EncodedIds, encode_id
from reticent.tables.naming import encoded_ids, identifiers, plain_ids

KEY = bytes(range(32))

words = st.one_of(st.text(max_size=40), st.from_regex(r"\A\s?0{0,2}[0-9]{0,3}(\.0{0,2})?\s?\Z"))


def texts(ids: EncodedIds) -> list[bytes]:
    data = ids.data.tobytes()
    return [data[a:b] for a, b in zip(ids.offsets[:-1].tolist(), ids.offsets[1:].tolist(), strict=True)]


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=20))
@example(["5", "5.0", "05", " 5", "5\n", "\x1c5", "5\u2003", "५", "5.00", ".0", "0", "00", "-5.0", "", "a", "é", "a.0"])
def test_text_is_named_for_the_ledger_as_one_by_one(names: list[str]) -> None:
    table = pa.table({"id": names})
    rows = np.arange(len(names))
    wanted = [encode_id(plain_id(name)) for name in names]
    assert texts(plain_ids(table, ["id"], rows)) == wanted
    assert texts(encoded_ids(table, ["id"], rows)) == [encode_id(name) for name in names]
    assert series_codes(KEY, plain_ids(table, ["id"], rows)).tolist() == series_codes(KEY, names).tolist()


whole = st.integers(-(2**63), 2**63 - 1)
instants = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
seconds = instants.map(lambda each: each.replace(microsecond=0))
floats = st.one_of(st.floats(), st.integers(-(10**17), 10**17).map(float), st.sampled_from([-0.0, 1e15, 1e16, 2.0**63]))
KINDS = {
    pa.int64(): whole,
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.bool_(): st.booleans(),
    pa.float64(): floats,
    pa.float32(): st.floats(width=32),
    pa.string(): words,
    pa.large_string(): words,
    pa.dictionary(pa.int32(), pa.string()): words,
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.one_of(instants, seconds),
    pa.timestamp("ms"): seconds,
    pa.timestamp("s"): seconds,
    pa.timestamp("us", "Europe/Berlin"): st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1)),
    pa.decimal128(20, 12): st.decimals(-(10**7), 10**7, places=12),
    pa.decimal128(5, 0): st.decimals(-99999, 99999, places=0),
    pa.decimal256(50, 3): st.decimals(-(10**9), 10**9, places=3),
    pa.time64("us"): st.times(),
    pa.binary(): st.binary(max_size=20),
}


@st.composite
def columns(draw: st.DrawFn, rows: int) -> pa.ChunkedArray:
    kind = draw(st.sampled_from(list(KINDS)))
    values = draw(st.lists(st.one_of(KINDS[kind], KINDS[kind], st.none()), min_size=rows, max_size=rows))
    cut = draw(st.integers(0, rows))
    return pa.chunked_array([pa.array(values[:cut], kind), pa.array(values[cut:], kind)])


@settings(deadline=None, max_examples=300)
@given(st.data(), st.integers(1, 9), st.integers(0, 3))
def test_any_columns_are_named_as_one_by_one(data: st.DataObject, size: int, count: int) -> None:
    table = pa.table({f"{i}": data.draw(columns(size)) for i in range(max(count, 1))})
    rows = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9)))
    names = table.column_names[:count]
    plain = identifiers(table, names, rows)
    assert texts(encoded_ids(table, names, rows)) == [encode_id(each) for each in plain]
    assert texts(plain_ids(table, names, rows)) == [encode_id(plain_id(each)) for each in plain]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([5, -7, 2**62]),
        pa.array([5.0, 0.5, -0.0, 1e16, 9999999999999998.0, -1e300, math.nan, math.inf, 2.0**63, -(2.0**63)]),
        pa.array([None, None], pa.int64()),
        pa.array([None, None], pa.string()),
        pa.array(["a", None, "007", "0", "00", "0.0", " 7"]),
        pa.array(["1E-7", "0", "-0.5"]).cast(pa.decimal128(20, 12)),
        pa.array([None, None], pa.null()),
    ],
)
def test_values_that_are_written_otherwise(column: Any) -> None:
    table = pa.table({"id": column, "other": [f"{i}" for i in range(len(column))]})
    rows = np.arange(len(column))[::-1]
    for names in (["id"], ["id", "other"], []):
        plain = identifiers(table, names, rows)
        assert texts(encoded_ids(table, names, rows)) == [encode_id(each) for each in plain]
        assert texts(plain_ids(table, names, rows)) == [encode_id(plain_id(each)) for each in plain]


def test_codes_are_keyed_and_the_same_for_a_number_and_its_text() -> None:
    one, other = series_codes(KEY, [5, "5", 5.0, " 5 ", np.int32(5), "6"]), series_codes(KEY[::-1], [5])
    assert len(set(one[:5].tolist())) == 1
    assert one[5] != one[0] != other[0]
    assert np.unique(series_codes(KEY, range(100_000))).size == 100_000


def test_codes_of_an_earlier_version_are_not_compared(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path))
    coverage = Coverage.of(["a"])
    monkeypatch.setattr("reticent.accounting.coverage._MAGIC", b"rtc1")
    old = Coverage(coverage.series, coverage.which, coverage.table)
    data, digest = old.to_bytes(), old.digest
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="another version"):
        Coverage.from_bytes(data, digest)
