"""Identifiers taken a column at once are those taken one by one."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    "column",
    [
        pa.array([5, -7, 2**62]),
        pa.array([5, 200], pa.uint8()),
        pa.array([5.0, 0.5]),
        pa.array([True, False]),
        pa.array(["a", None]),
        pa.array([5, None]),
    ],
)
def test_other_kinds_too(column: Any) -> None:
    table = pa.table({"id": column, "other": ["x", "y", "z"][: len(column)]})
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
    old = Coverage(coverage.series, coverage.which, coverage.geometries)
    data, digest = old.to_bytes(), old.digest
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="another version"):
        Coverage.from_bytes(data, digest)
