"""Types of columns: whole numbers stay whole, times keep zone and unit, dictionaries say nothing of their own."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables_kit import hours, load, store, switched

import reticent as rt
from reticent import tables
from reticent.errors import InputError

DECIMALS = [decimal.Decimal("1.10"), None, decimal.Decimal("3.33"), decimal.Decimal("-4")]
VALUES: dict[str, pa.Array] = {
    "uint64": pa.array([2**64 - 1, 1, None, 3], pa.uint64()),
    "int64": pa.array([9007199254740993, -(2**63), None, 2**63 - 1]),
    "int8": pa.array([-128, 127, None, 0], pa.int8()),
    "uint8": pa.array([255, 0, None, 1], pa.uint8()),
    "float": pa.array([1.1, 2, None, float("nan")], pa.float32()),
    "double": pa.array([-0.0, 0.0, float("nan"), None]),
    "bool": pa.array([True, False, None, True]),
    "decimal128": pa.array(DECIMALS, pa.decimal128(20, 2)),
    "decimal32": pa.array(DECIMALS, pa.decimal32(5, 2)),
    "string": pa.array(["", "a", None, "=1"]),
    "large_string": pa.array(["", "a", None, "=1"], pa.large_string()),
    "date32": pa.array([dt.date(2024, 1, 1), dt.date(1900, 2, 3), dt.date(2024, 1, 1), None]),
    "time64": pa.array([dt.time(1, 2, 3, 4), None, None, dt.time(0)], pa.time64("us")),
    "all null": pa.nulls(4, pa.int64()),
    **{f"timestamp {unit}": pa.array([1, 2, 3, None], pa.timestamp(unit)) for unit in ("ms", "us", "ns")},
    **{f"zoned {unit}": pa.array([1, 2, 3, None], pa.timestamp(unit, "Europe/Berlin")) for unit in ("ms", "us", "ns")},
}


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("name", VALUES)
def test_values_keep_their_type(tmp_path: Path, name: str, suffix: str) -> None:
    table = pa.table({"ts": hours(4), "kwh": VALUES[name]})
    out = load(switched(store(tmp_path / f"in{suffix}", table), tmp_path / f"out{suffix}"))
    assert out.schema == table.schema
    assert sorted(map(repr, out["kwh"].to_pylist())) == sorted(map(repr, table["kwh"].to_pylist()))
    frame = tables.switch(table, time="ts", value="kwh", window=2, epsilon=1.0).table
    assert frame.schema == table.schema


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+02:00"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_keep_zone_and_unit(tmp_path: Path, unit: str, zone: str | None, suffix: str) -> None:
    if unit == "s" and suffix == ".parquet":
        unit = "ms"  # Parquet has no seconds
    times = pa.array([3, 1, 2, 5], pa.timestamp(unit, zone))
    table = pa.table({"id": times, "ts": times, "kwh": range(4), "other": times})
    out = load(switched(store(tmp_path / f"in{suffix}", table), tmp_path / f"out{suffix}", id="id", keep="other"))
    assert out.schema == table.schema
    assert out.drop_columns("kwh") == table.drop_columns("kwh").sort_by("ts")


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.int64(), pa.date32()])
def test_other_times_keep_their_type(tmp_path: Path, kind: Any) -> None:
    table = pa.table({"ts": pa.array([3, 1, 2], pa.int32()).cast(kind), "kwh": range(3)})
    assert load(switched(store(tmp_path / "in.parquet", table), tmp_path / "out.parquet")).schema == table.schema


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_nanoseconds_do_not_collapse(tmp_path: Path, zone: str | None) -> None:
    table = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("ns", zone)), "kwh": range(3)})
    assert switched(store(tmp_path / "in.parquet", table), tmp_path / "out.csv").read_text().count("\n") == 4


@pytest.mark.parametrize(
    "values",
    [pa.array([1, 2], pa.duration("s")), pa.array([[1], [2]]), pa.array([{"a": 1}] * 2), pa.array([b"a", b"b"]),
     pa.array([decimal.Decimal(1)] * 2, pa.decimal256(50, 2))],
    ids=str,
)  # fmt: skip
def test_types_that_are_not_released(tmp_path: Path, values: pa.Array) -> None:
    table = pa.table({"ts": hours(2), "kwh": values})
    for source in (table, store(tmp_path / "in.parquet", table), store(tmp_path / "in.feather", table)):
        with pytest.raises(InputError):
            switched(source, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("times", [pa.array([1.0, 2.0]), pa.array([True, False]), pa.array([2**63, 1], pa.uint64())])
def test_columns_that_are_no_times(times: pa.Array) -> None:
    with pytest.raises(InputError, match="time: "):
        tables.switch(pa.table({"ts": times, "kwh": [1, 2]}), time="ts", value="kwh", window=2, epsilon=1.0)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_dictionaries_do_not_name_what_is_withheld(tmp_path: Path, suffix: str) -> None:
    states = pa.array(["off", "on", "off", "CANARY", "CANARY", "on", "off", "on", "off", "off"]).dictionary_encode()
    table = pa.table({"id": pa.array(["b"] * 10).dictionary_encode(), "ts": hours(10), "v": states})
    chain = rt.MarkovChain([[0.8, 0.1, 0.1]] * 3, ("off", "on", "CANARY"))
    release = tables.redact(
        store(tmp_path / "in.feather", table), id="id", time="ts", value="v", model=chain, epsilon=0.1,
        private="2024-01-01 03:00/2024-01-01 04:00", output=tmp_path / f"out{suffix}", ledger=False,
    )  # fmt: skip
    assert release.outputs is not None
    assert b"CANARY" not in (tmp_path / f"out{suffix}").read_bytes()


def test_no_buffer_of_a_release_holds_a_withheld_value(tmp_path: Path) -> None:
    """Below a null there may lie anything: what was there before must not."""
    canary = 0x5EC12E7C0FFEE
    values = pa.array(np.where(np.arange(64) % 16 == 3, canary, np.arange(64) % 2))
    below = pa.Array.from_buffers(
        pa.int64(), 64, [pa.array(np.arange(64) != 9).cast(pa.bool_()).buffers()[1], values.buffers()[1]]
    )
    flags = [i % 16 == 3 for i in range(64)]
    table = pa.table({"ts": hours(64), "v": below, "p": flags})
    chain = rt.MarkovChain([[0.4, 0.4, 0.2]] * 3, (0, 1, canary))
    for source in (table, store(tmp_path / "in.feather", table)):
        frame = tables.redact(
            source, time="ts", value="v", model=chain, epsilon=0.5, private=tables.Private(column="p")
        ).table  # fmt: skip
        assert frame["v"].null_count >= 4
        for chunk in frame["v"].chunks:
            assert canary.to_bytes(8, "little") not in chunk.buffers()[1].to_pybytes()


def test_no_buffer_holds_what_was_null_in_the_source() -> None:
    canary = 0x5EC12E7C0FFEE
    values = pa.array(np.where(np.arange(64) == 9, canary, np.arange(64)))
    below = pa.Array.from_buffers(pa.int64(), 64, [pa.array(np.arange(64) != 9).buffers()[1], values.buffers()[1]])
    table = pa.table({"ts": hours(64), "kwh": below})
    frame = tables.switch(table, time="ts", value="kwh", window=4, epsilon=1.0, keep=()).table
    assert frame["kwh"].null_count == 1
    for chunk in frame["kwh"].chunks:
        assert canary.to_bytes(8, "little") not in chunk.buffers()[1].to_pybytes()
