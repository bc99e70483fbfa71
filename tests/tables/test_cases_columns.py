"""Messy columns of the kinds that people meet, each with its siblings: the numbers are those of the list of cases."""

from __future__ import annotations

import datetime as dt
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tables_kit import hours, load, plan_of, rows, store, switched, text_file, tried

import reticent as rt
from reticent import tables
from reticent.errors import ArgumentError, InputError
from reticent.tables import Reading
from reticent.tables.spellings import states_from

STATES = states_from("off=off|0|False, on=on|1|True")[1]


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
