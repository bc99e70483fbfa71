"""Messy files of the kinds that people meet, each with its siblings: the numbers are those of the list of cases."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tables_kit import hours, load, plan_of, rows, stamps, store, switched, text_file, tried

import reticent as rt
from reticent import tables
from reticent.errors import ArgumentError, InputError, ReticentError
from reticent.tables import Reading
from reticent.tables.spellings import states_from

STATES = states_from("off=off|0|False, on=on|1|True")[1]


# --- 1: marks and encodings -------------------------------------------------------------------------------------------

TWO = "ts,kwh\n2024-01-01,5\n2024-01-02,6\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + TWO.encode(),
        b"\xef\xbb\xbf" + TWO.replace("ts,kwh", '"ts","kwh"').encode(),
        b"\xef\xbb\xbf\r\n" + TWO.replace("\n", "\r\n").encode(),
        TWO.encode("utf-16"),
        b"\xfe\xff" + TWO.encode("utf-16-be"),
        gzip.compress(b"\xef\xbb\xbf" + TWO.encode()),
    ],
)
def test_case_01_byte_order_marks(tmp_path: Path, content: bytes) -> None:
    source = text_file(tmp_path / "in.csv", content)
    assert "by its byte-order mark" in plan_of(tried(source))["encoding"]
    out = switched(source, tmp_path / "out.csv")
    assert rows(out)[0] == ["ts", "kwh"]
    assert stamps(out) == ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]
    written = (path.read_bytes() for path in tmp_path.glob("out.csv*"))
    assert not any("\ufeff".encode() in content for content in written)


def test_case_01_nul_bytes_ask_for_an_encoding(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"NUL bytes.*--encoding utf-16-le"):
        tried(text_file(tmp_path / "in.csv", TWO, "utf-16-le"))
    assert plan_of(tried(tmp_path / "in.csv", reading=Reading(encoding="utf-16-le")))["rows"] == "2 read"


# --- 2: dates ---------------------------------------------------------------------------------------------------------


def test_case_02_one_format_a_column(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts,kwh\n12.01.2024,5\n13.01.2024,6\n")
    assert stamps(switched(source, tmp_path / "out.csv")) == ["2024-01-12 00:00:00", "2024-01-13 00:00:00"]
    assert "%d.%m.%Y" in plan_of(tried(source))["time"]
    unsure = text_file(tmp_path / "unsure.csv", "ts,kwh\n11.01.2024,5\n12.01.2024,6\n")
    with pytest.raises(InputError, match="--time-format"):
        tried(unsure)


@pytest.mark.parametrize("kind", ["text", "int32", "int64"])
def test_case_02_digits_that_are_dates(tmp_path: Path, kind: str) -> None:
    days = [20240131, 20240201, 20240202]
    if kind == "text":
        source: Any = text_file(tmp_path / "in.csv", "ts,kwh\n" + "".join(f"{day},1\n" for day in days))
    else:
        source = pa.table({"ts": pa.array(days, kind), "kwh": [1, 1, 1]})
    assert "dates" in plan_of(tried(source))["time"]
    assert plan_of(tried(source))["sampling period"] == "1d, found"
    assert plan_of(tried(source))["gaps"] == "none"
    steps = tried(source, reading=Reading(time_format="whole numbers"))
    assert plan_of(steps)["gaps"] == "1 gaps of 69 steps in all, the longest of 69"


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_case_02_epochs(tmp_path: Path, unit: str, factor: int) -> None:
    begin = 1_700_000_000
    content = "ts,kwh\n" + "".join(f"{(begin + 1800 * i) * factor},{i}\n" for i in range(3))
    reading = Reading(time_format=f"epoch {unit}")
    out = switched(text_file(tmp_path / "in.csv", content), tmp_path / "out.csv", reading=reading)
    assert stamps(out)[0] == "2023-11-14 22:13:20Z"
    table = pa.table({"ts": [(begin + 1800 * i) * factor for i in range(3)], "kwh": [1, 2, 3]})
    assert plan_of(tried(table, reading=reading))["sampling period"] == "30m, found"


# --- 3: clocks --------------------------------------------------------------------------------------------------------

BERLIN = Reading(time_zone="Europe/Berlin")


def test_case_03_clocks_that_go_back(tmp_path: Path) -> None:
    both = text_file(tmp_path / "o.csv", "ts,kwh\n2024-10-27T02:30+02:00,5\n2024-10-27T02:30+01:00,6\n")
    assert stamps(switched(both, tmp_path / "out.csv", reading=BERLIN)) == [
        "2024-10-27 00:30:00Z",
        "2024-10-27 01:30:00Z",
    ]
    naive = text_file(tmp_path / "n.csv", "ts,kwh\n2024-10-27 01:30,4\n2024-10-27 02:30,5\n2024-10-27 02:30,6\n")
    with pytest.raises(InputError, match="--duplicates"):
        tried(naive, reading=BERLIN)
    known = tried(naive, reading=BERLIN, duplicates="mean")
    assert "2 in an hour that occurs twice" in plan_of(known)["time"]
    assert "1 rows shared a time with another" in plan_of(known)["released"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_case_03_clocks_that_skip_an_hour(tmp_path: Path, suffix: str) -> None:
    clock = [dt.datetime(2024, 3, 31, hour, 30) for hour in (1, 2, 3)]
    source = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        text_file(source, "ts,kwh\n" + "".join(f"{each},1\n" for each in clock))
    else:
        store(source, pa.table({"ts": clock, "kwh": [1, 1, 1]}))
    with pytest.raises(InputError, match=r"1 entries of column ts never were in Europe/Berlin.*--quarantine"):
        tried(source, reading=BERLIN)
    aside = tmp_path / "aside.csv"
    reading = Reading(time_zone="Europe/Berlin", quarantine=aside)
    out = switched(source, tmp_path / "out.csv", reading=reading)
    assert stamps(out) == ["2024-03-31 00:30:00Z", "2024-03-31 01:30:00Z"]
    assert rows(aside)[1][:2] == [
        {".csv": "3", ".parquet": "2"}[suffix],
        "a time in column ts that Europe/Berlin skips",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_case_03_days_are_those_of_the_zone(tmp_path: Path, suffix: str) -> None:
    """Each local day is one piece: what is in a UTC day but in two local ones never mixes."""
    moments = [dt.datetime(2024, 7, 1) + dt.timedelta(hours=hour) for hour in range(48)]
    source = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        text_file(source, "ts,kwh\n" + "".join(f"{each},{i}\n" for i, each in enumerate(moments)))
        reading = Reading(time_zone="America/New_York")
    else:
        zoned = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        zoned = pa.compute.add(zoned, 4 * 3600 * 10**6).cast(pa.timestamp("us", "America/New_York"))
        store(source, pa.table({"ts": zoned, "kwh": range(48)}))
        reading = Reading()
    release = tables.switch(
        source, time="ts", value="kwh", window=4, epsilon=0.1, cuts="day", reading=reading, source=rt.seeded_source(1),
    )  # fmt: skip
    values = release.table["kwh"].to_pylist()
    assert sorted(values[:24]) == list(range(24))
    assert values != list(range(48))
    assert release.certificate.parameters["zone"] == "America/New_York"
    assert plan_of(release)["cuts"] == "one piece a day, of America/New_York"


# --- 4: gaps ----------------------------------------------------------------------------------------------------------


def gappy(extra: str = "") -> str:
    return "ts,state\n2024-01-01 00:00,on\n2024-01-01 00:15,on\n2024-01-01 06:00,off\n" + extra


def test_case_04_a_gap_is_no_transition(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", gappy())
    model = tables.fit(source, time="ts", value="state", states=["on", "off"], smoothing=0.5, every="15m")
    assert model.chain.transition[0].tolist() == pytest.approx([0.75, 0.25])  # 1 of on to on; none of on to off
    plan = tried(source, value="state")
    assert plan_of(plan)["gaps"] == "1 gaps of 22 steps in all, the longest of 22"
    assert plan_of(plan)["sampling period"] == "15m, found"


def test_case_04_the_chain_takes_a_step_for_each_missing_record(tmp_path: Path) -> None:
    chain = rt.MarkovChain.binary(0.2, 0.3, ("on", "off"))
    source = text_file(tmp_path / "in.csv", gappy())
    private = "2024-01-01 00:15/2024-01-01 00:15"
    release = tables.redact(
        source, time="ts", value="state", private=private, epsilon=1.0, model=chain, every="15m",
        output=tmp_path / "out.csv", ledger=False,
    )  # fmt: skip
    (mechanism,) = release.certificate.parameters["mechanisms"]
    assert mechanism["n"] == 25
    assert mechanism["missing"] == [[2, 23]]
    assert plan_of(release)["sampling period"] == "15m, stated"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([0, 1, 2, 3], "none"),
        ([0, 1, 3, 4, 9], "2 gaps of 5 steps in all, the longest of 4"),
        ([0, 1, 2, 2.2, 3], "none; 1 records share a step with another"),
    ],
)
def test_case_04_gaps_are_counted(steps: list[float], line: str) -> None:
    moments = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=15 * step) for step in steps]
    assert plan_of(tried(pa.table({"ts": moments, "kwh": range(len(steps))})))["gaps"] == line


# --- 5: rows that cannot be read --------------------------------------------------------------------------------------

BAD_ROWS = {
    "short": ("2024-01-03", "2 columns"),
    "long": ("2024-01-03,7,8", "3 fields"),
    "date": ("2024-1-NA,7", "a time in column ts"),
    "no time": (",7", "no time in column ts"),
    "text": ("2024-01-03,CANARY", "text among the numbers of column kwh"),
    "quote": ('2024-01-03,"7', "a quote that does not close"),
    "odd quote": ('"2024-01-03"x,7', "quotes that cannot be read"),
    "bytes": (b"2024-01-03,\xff7", "not text in this encoding"),
}


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_case_05_a_row_that_cannot_be_plan_of(tmp_path: Path, bad: str) -> None:
    row, reason = BAD_ROWS[bad]
    raw = row if isinstance(row, bytes) else row.encode()
    content = b"ts,kwh\n2024-01-01,5\n2024-01-02,6\n" + raw + b"\n2024-01-04,8\n2024-01-05,9\n"
    source = text_file(tmp_path / "in.csv", content)
    with pytest.raises(InputError) as caught:
        tried(source)
    assert "CANARY" not in str(caught.value)
    assert "2024-1-NA" not in str(caught.value)
    if bad in ("short", "long", "date", "text"):
        assert "line 4" in str(caught.value)
    aside = tmp_path / "aside.csv"
    out = switched(source, tmp_path / "out.csv", reading=Reading(quarantine=aside))
    assert sorted(row[1] for row in rows(out)[1:]) == ["5", "6", "8", "9"]
    (found,) = rows(aside)[1:]
    assert found[0] == "4"
    assert reason in found[1]
    assert aside.stat().st_mode & 0o777 == 0o600
    certificate = (tmp_path / "out.csv.certificate.json").read_text()
    assert "CANARY" not in certificate
    assert "set aside first" in certificate
    plan = plan_of(tried(source, reading=Reading(quarantine=tmp_path / "never.csv")))
    assert plan["rows"] == "5 read = 4 kept + 1 set aside"
    assert not (tmp_path / "never.csv").exists()


def test_case_05_a_header_of_three_fields_over_rows_of_two(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts,kwh,note\n2024-01-01,5\n2024-01-02,6\n")
    with pytest.raises(InputError, match=r"the header has 3 fields and the first row \(line 2\) has 2"):
        tried(source)


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "pandas", "polars", "arrow"])
def test_case_05_rows_in_are_rows_out_and_dropped_and_set_aside(tmp_path: Path, kind: str) -> None:
    ids: list[Any] = ["a", "a", None, "b", "b", "b", "a", "a"]
    times = ["2024-01-01", "2024-01-02", "2024-01-01", "2024-01-01", "x", None, "2024-01-03", "2024-01-03"]
    table = pa.table({"id": ids, "ts": times, "kwh": [1, 2, 3, 4, 5, 6, 7, 9]})
    source: Any = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "arrow": lambda: table}.get(
        kind, lambda: tmp_path / f"in.{kind}"
    )()
    if kind == "csv":
        lines = zip(ids, times, table["kwh"].to_pylist(), strict=True)
        text_file(source, "id,ts,kwh\n" + "".join(f"{a or ''},{b or ''},{c}\n" for a, b, c in lines))
    elif isinstance(source, Path):
        store(source, table)
    aside = tmp_path / "aside.csv"
    release = tables.switch(
        source, id="id", time="ts", value="kwh", window=2, epsilon=1.0, duplicates="max", source=rt.seeded_source(3),
        reading=Reading(null_id="drop", quarantine=aside),
    )  # fmt: skip
    assert plan_of(release)["rows"] == "8 read = 5 kept + 1 dropped + 2 set aside"
    assert "1 rows shared a time" in plan_of(release)["released"]
    assert len(release.table) == 4
    assert len(rows(aside)) == 3
    assert release.certificate.parameters["null_id"] == "drop"


def test_case_05_a_quarantine_is_not_the_input_nor_written_over(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", TWO)
    with pytest.raises(ArgumentError, match="quarantine: it is the input"):
        switched(source, tmp_path / "out.csv", reading=Reading(quarantine=source))
    kept = text_file(tmp_path / "kept.csv", "precious")
    with pytest.raises(ArgumentError, match=r"quarantine: kept.csv exists"):
        switched(source, tmp_path / "out.csv", reading=Reading(quarantine=kept))
    assert kept.read_text() == "precious"
    with pytest.raises(ReticentError):  # what fails leaves nothing
        switched(source, tmp_path / "out.csv", value="ts2", reading=Reading(quarantine=tmp_path / "q.csv"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "kept.csv"]


# --- 6: states --------------------------------------------------------------------------------------------------------


def fitted(source: Any, **options: Any) -> Any:
    return tables.fit(source, time="ts", value="state", smoothing=1.0, **options)


COLUMNS: dict[str, Any] = {
    "mixed text": ["on", "off", "0", "False", None, "on", "1", "TRUE"],
    "numbers as text": ["1", "0", "0.0", "00", None, "1", "+1", "1.00"],
    "booleans": [True, False, False, False, None, True, True, True],
    "whole numbers": [1, 0, 0, 0, None, 1, 1, 1],
    "floats": [1.0, 0.0, -0.0, 0.0, float("nan"), 1.0, 1.0, 1.0],
    "words": ["on", "off", " off ", "off", None, "on", "on", "on"],
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", COLUMNS)
def test_case_06_a_declared_mapping_reads_all_alike(tmp_path: Path, name: str, suffix: str) -> None:
    source = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        words = ("" if each is None or each != each else str(each) for each in COLUMNS[name])
        lines = zip(hours(8).to_pylist(), words, strict=True)
        text_file(source, "ts,state\n" + "".join(f"{when},{word}\n" for when, word in lines))
    else:
        store(source, pa.table({"ts": hours(8), "state": pa.array(COLUMNS[name], from_pandas=True)}))
    model = fitted(source, reading=Reading(states=STATES))
    expected = fitted(pa.table({"ts": hours(8), "state": ["on", "off", "off", "off", None, "on", "on", "on"]}),
                      states=["off", "on"])  # fmt: skip
    assert model.chain.states == ("off", "on")
    assert np.array_equal(model.chain.transition, expected.chain.transition)
    path = text_file(tmp_path / "model.json", model.to_json())
    release = tables.redact(
        source, time="ts", value="state", private="2024-01-01 05:00/2024-01-01 05:00", epsilon=5.0,
        model=tables.fitting.Model.read(path).chain, reading=Reading(states=STATES), source=rt.seeded_source(1),
    )  # fmt: skip
    assert set(release.table["state"].drop_null().to_pylist()) <= {"off", "on"}
    assert release.certificate.parameters["states"] == [["off", ["off", "0", "False"]], ["on", ["on", "1", "True"]]]


def test_case_06_a_model_file_remembers_the_mapping(tmp_path: Path) -> None:
    past = text_file(tmp_path / "past.csv", "ts,state\n2024-01-01,on\n2024-01-02,0\n2024-01-03,off\n2024-01-04,1\n")
    model = text_file(tmp_path / "m.json", fitted(past, reading=Reading(states=STATES)).to_json())
    now = pa.table({"ts": hours(6).cast(pa.timestamp("us")), "state": [True, False, False, True, None, True]})
    now = now.set_column(0, "ts", pa.array([dt.datetime(2024, 2, day) for day in range(1, 7)]))
    release = tables.redact(
        now, time="ts", value="state", private="2024-02-03/2024-02-03", epsilon=9.0, model=model,
        source=rt.seeded_source(2),
    )  # fmt: skip
    assert release.table["state"].to_pylist()[0] in ("on", None)
    assert dict(release.plan)["value"] == "state, 2 states, as declared"


@pytest.mark.parametrize(
    "words",
    ["off=off|0, on=on|0.0", "off=a, off=b", "off=, on=1", "off=off, on", "off=true|TRUE, on=1", "nothing.json"],
)
def test_case_06_mappings_that_cannot_be(words: str) -> None:
    with pytest.raises(ArgumentError, match="states: "):
        states_from(words)


def test_case_06_mappings_from_a_file_and_for_numbers(tmp_path: Path) -> None:
    path = text_file(tmp_path / "states.json", json.dumps({"off": ["off", 0, False], "on": ["on", 1, True]}))
    assert states_from(str(path))[1] == {"off": ("off", 0, False), "on": ("on", 1, True)}
    assert states_from("0=off|False, 1=on|True")[1] == {0: ("off", "False"), 1: ("on", "True")}
    assert states_from("off,on") == (["off", "on"], {})
    assert states_from("0,1") == ([0, 1], {})


def test_case_06_what_stands_for_no_state_is_counted(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts,state\n2024-01-01,on\n2024-01-02,CANARY\n2024-01-03,off\n")
    with pytest.raises(InputError, match="1 rows have a value of column state that stands for no state") as caught:
        fitted(source, reading=Reading(states=STATES))
    assert "CANARY" not in str(caught.value)
    aside = tmp_path / "aside.csv"
    fitted(source, reading=Reading(states=STATES, quarantine=aside))
    assert rows(aside)[1][0] == "3"


# --- 7: whole numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [9007199254740993, 2**63 - 1, 2**64 - 1, -(2**63)])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_case_07_the_exact_value_survives(tmp_path: Path, number: int, suffix: str) -> None:
    source = text_file(tmp_path / "in.csv", f"ts,kwh\n2024-01-01,{number}\n2024-01-02,\n2024-01-03,7\n")
    out = switched(source, tmp_path / f"out{suffix}")
    found = (
        [row[1] for row in rows(out)[1:]] if suffix == ".csv" else [str(v or "") for v in load(out)["kwh"].to_pylist()]
    )
    assert sorted(found) == sorted(["", "7", str(number)])


# --- 8: identifiers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_case_08_missing_identifiers(tmp_path: Path, missing: Any) -> None:
    ids = ["a", "a", None, None, "b", "b"] if missing is None else [1.0, 1.0, missing, missing, 2.0, 2.0]
    table = pa.table({"id": pa.array(ids), "ts": [0, 1, 0, 1, 0, 1], "kwh": range(6)})
    with pytest.raises(InputError, match=r"2 of 6 entries are missing.*--null-id"):
        tried(table, id="id")
    dropped = tried(table, id="id", reading=Reading(null_id="drop"))
    assert plan_of(dropped)["rows"] == "6 read = 4 kept + 2 dropped"
    assert plan_of(dropped)["released"] == "4 rows in 2 series"
    grouped = tried(table, id="id", reading=Reading(null_id="group"))
    assert plan_of(grouped)["released"] == "6 rows in 3 series"
    assert plan_of(grouped)["no identifier"] == "2 rows of a series of their own (id)"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_case_08_a_group_of_its_own_is_released_and_verified(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"id": ["a", "a", None, None, "", ""], "ts": [0, 1, 0, 1, 0, 1], "kwh": range(6)})
    source = store(tmp_path / "in.parquet", table)
    out = switched(source, tmp_path / f"out{suffix}", id="id", reading=Reading(null_id="group"))
    if suffix != ".csv":
        assert load(out)["id"].to_pylist() == ["", "", "a", "a", None, None]
        assert sorted(load(out)["kwh"].to_pylist()[4:]) == [2, 3]


def test_case_08_two_columns_of_identifiers_and_a_rule_that_is_none() -> None:
    table = pa.table({"a": ["x", None, "x"], "b": [1, 1, None], "ts": [0, 0, 0], "kwh": [1, 2, 3]})
    assert (
        plan_of(tried(table, id=("a", "b"), reading=Reading(null_id="drop")))["rows"] == "3 read = 1 kept + 2 dropped"
    )
    assert plan_of(tried(table, id=("a", "b"), reading=Reading(null_id="group")))["released"] == "3 rows in 3 series"
    with pytest.raises(ArgumentError, match="null-id: must be one of"):
        Reading(null_id="perhaps")


# --- 9: types that differ from file to file ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        pa.array([0.0, 1.0, None, 1.0, 0.0, 1.0]),
        pa.array([0, 1, None, 1, 0, 1], pa.int8()),
        pa.array([False, True, None, True, False, True]),
        pa.array([0, 1, None, 1, 0, 1], pa.decimal128(5, 2)),
        pa.array(["0", "1", None, "1.0", "0", "1"]),
    ],
)
def test_case_09_a_count_has_the_same_codes_in_every_file(other: pa.Array) -> None:
    mapping = states_from("0=0|False, 1=1|True")[1]
    one = pa.table({"ts": hours(6), "state": [0, 1, None, 1, 0, 1]})
    two = one.set_column(1, "state", other)
    models = [fitted(each, reading=Reading(states=mapping)) for each in (one, two)]
    assert models[0].chain.states == models[1].chain.states == (0, 1)
    assert np.array_equal(models[0].chain.transition, models[1].chain.transition)
    released = [
        tables.redact(
            each, time="ts", value="state", private="2024-01-01 03:00/2024-01-01 03:00", model=models[0].chain,
            epsilon=2.0, reading=Reading(states=mapping), source=rt.seeded_source(7),
        )
        for each in (one, two)
    ]  # fmt: skip
    assert released[0].table == released[1].table
    assert released[0].certificate.body == released[1].certificate.body


# --- 10: what other programs make of text -----------------------------------------------------------------------------


def test_case_10_names_and_texts_are_literal(tmp_path: Path) -> None:
    name = "</script><b>"
    table = pa.table({"id": ["=1+1", "=1+1", "b", "b"], "ts": [0, 1, 0, 1], name: [-3, -3, -3, -3]})
    out = switched(store(tmp_path / "in.parquet", table), tmp_path / "out.csv", id="id", value=name)
    assert rows(out)[0][2] == name
    assert [row[2] for row in rows(out)[1:]] == ["-3"] * 4
    json.loads((tmp_path / "out.csv.certificate.json").read_text(), parse_constant=pytest.fail)
    with pytest.raises(ArgumentError, match="high"):
        tables.quantize(table, id="id", time="ts", value=name, low=0, high=float("inf"), bits=1)


@pytest.mark.parametrize("name", ["reticent piece", "Reticent Private", "reticent window", "reticent line"])
def test_case_10_names_that_are_used_inside(name: str) -> None:
    table = pa.table({"id": ["a", "a"], name: [0, 1], "kwh": [1, 2]})
    with pytest.raises(ArgumentError, match="used inside; rename"):
        tried(table, time=name)
    assert plan_of(tried(table.append_column("ts", pa.array([0, 1]))))["rows"] == "2 read"  # where it is not used


def test_case_10_a_header_with_a_line_end(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", 'ts,"kwh\nper hour"\n2024-01-01,5\n2024-01-02,6\n')
    out = switched(source, tmp_path / "out.csv", value="kwh\nper hour")
    assert rows(out)[0] == ["ts", "kwh\nper hour"]
    aside = Reading(quarantine=tmp_path / "aside.csv")
    assert plan_of(tried(source, value="kwh\nper hour", reading=aside))["rows"] == "2 read"


# --- 11: data frames --------------------------------------------------------------------------------------------------


def test_case_11_no_index_and_no_metadata() -> None:
    frame = pd.DataFrame({"ts": [2, 0, 1], "kwh": [30, 10, 20]}, index=pd.Index([7, 3, 5], name="secret"))
    release = tables.switch(frame, time="ts", value="kwh", window=2, epsilon=1.0, source=rt.seeded_source(1))
    assert list(release.table.columns) == ["ts", "kwh"]
    assert release.table["ts"].tolist() == [0, 1, 2]
    assert release.table.index.name is None
    again = frame.sample(frac=1, random_state=1)
    other = tables.switch(again, time="ts", value="kwh", window=2, epsilon=1.0, source=rt.seeded_source(1))
    pd.testing.assert_frame_equal(release.table, other.table)
    arrow = pa.Table.from_pandas(frame)
    out = tables.switch(arrow, time="ts", value="kwh", window=2, epsilon=1.0, source=rt.seeded_source(1)).table
    assert out.schema.metadata is None
    assert out.column_names == ["ts", "kwh"]


@pytest.mark.parametrize("names", [[0, 1], ["ts", 1], [("a", "b"), ("a", "c")]])
def test_case_11_names_that_are_no_text(names: list[Any]) -> None:
    frame = pd.DataFrame([[0, 1], [1, 2]])
    frame.columns = pd.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else pd.Index(names)
    with pytest.raises(InputError, match="names that are no text; rename them"):
        tried(frame)


@pytest.mark.parametrize(
    "unread", [pa.array([1, 2], pa.float32()).cast(pa.float16()), pa.array([1, 2]).cast(pa.decimal256(50, 2))]
)
def test_case_11_a_column_that_is_not_read_blocks_nothing(tmp_path: Path, unread: pa.Array) -> None:
    table = pa.table({"ts": [0, 1], "kwh": [1, 2], "odd": unread})
    for source in (table, store(tmp_path / "in.parquet", table), store(tmp_path / "in.feather", table)):
        assert plan_of(tried(source))["rows"] == "2 read"
        with pytest.raises(InputError, match="value: column odd holds"):
            tried(source, value="odd")


def test_case_11_views_and_dictionaries(tmp_path: Path) -> None:
    words = pa.array(["a", "a", "b", "b"])
    for kind in (pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        table = pa.table({"id": words.cast(kind), "ts": [0, 1, 0, 1], "kwh": range(4)})
        assert plan_of(tried(table, id="id"))["released"] == "4 rows in 2 series"


# --- 12: many series --------------------------------------------------------------------------------------------------


def seconds(series: int, pairs: bool) -> float:
    number = np.repeat(np.arange(series), 2)
    ids = {"a": number % 1000, "b": number // 1000} if pairs else {"a": number}
    table = pa.table({**ids, "ts": np.tile([0, 1], series), "kwh": np.arange(2 * series) % 7})
    began = time.process_time()
    tables.quantize(table, id=list(ids), time="ts", value="kwh", low=0, high=7, bits=1)
    return time.process_time() - began


@pytest.mark.parametrize("pairs", [False, True])
def test_case_12_many_series_take_time_in_proportion(pairs: bool) -> None:
    seconds(1000, pairs)
    small, large = seconds(20_000, pairs), seconds(160_000, pairs)
    assert large < 8 * max(small, 0.05) * 2.5


@pytest.mark.slow
def test_case_12_a_million_series_of_two_rows() -> None:
    assert seconds(1_000_000, False) < 60
    sparse = pa.table({"a": np.arange(1000) * 100, "b": (np.arange(1000) * 77) % 100_000, "ts": 0, "kwh": 1} | {
        "ts": np.zeros(1000, int), "kwh": np.ones(1000, int)})  # fmt: skip
    assert plan_of(tried(sparse, id=("a", "b")))["released"] == "1,000 rows in 1,000 series"
