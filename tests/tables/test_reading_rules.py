"""Options of reading, duplicates by a rule, and dry runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tables_kit import load, plan_of, rows, switched, text_file, tried

import reticent as rt
from reticent import tables
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, InputError, ReticentError
from reticent.tables import Private, Reading

TWO = "ts,kwh\n2024-01-01,5\n2024-01-02,6\n"
GAPPY = "ts,state\n2024-01-01 00:00,on\n2024-01-01 00:15,on\n2024-01-01 06:00,off\n2024-01-01 06:15,on\n"


# --- how text is cut --------------------------------------------------------------------------------------------------


def test_no_header(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "2024-01-01,5\n2024-01-02,6\n2024-01-03,7\n")
    with pytest.raises(ArgumentError, match="--no-header") as caught:
        tried(source)
    assert "2024-01-01" not in str(caught.value)
    assert plan_of(tried(source, reading=Reading(header=False, names=("ts", "kwh"))))["rows"] == "3 read"
    numbered = tried(source, time="column1", value="column2", reading=Reading(header=False))
    assert plan_of(numbered)["header"] == "2 columns, not named in the file"
    with pytest.raises(InputError, match="the names given have 3 fields"):
        tried(source, reading=Reading(header=False, names=("ts", "kwh", "x")))


def test_names_replace_those_of_the_header(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "kwh,kwh\n2024-01-01,5\n2024-01-02,6\n")
    with pytest.raises(InputError, match="--columns"):
        tried(source)
    assert plan_of(tried(source, reading=Reading(names=("ts", "kwh"))))["rows"] == "2 read"


@pytest.mark.parametrize("quarantined", [False, True])
def test_lines_before_the_header(tmp_path: Path, quarantined: bool) -> None:
    source = text_file(tmp_path / "in.csv", 'made by "a meter\nunits;kWh\n\n' + TWO)
    reading = Reading(skip_rows=2, quarantine=tmp_path / "q.csv" if quarantined else None)
    assert plan_of(tried(source, reading=reading))["rows"] == "2 read"


def test_another_quotation_mark(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "id,ts,kwh\n'a,\"b',2024-01-01,5\n'a,\"b',2024-01-02,6\n")
    out = switched(source, tmp_path / "out.csv", id="id", reading=Reading(quote="'"))
    assert rows(out)[1][0] == 'a,"b'


@pytest.mark.parametrize("ends", [",", ",,"])
def test_marks_at_the_end_of_each_row(tmp_path: Path, ends: str) -> None:
    source = text_file(tmp_path / "in.csv", f"ts,kwh\n2024-01-01,5{ends}\n\n2024-01-02,6{ends}\n")
    assert plan_of(tried(source))["rows"] == "2 read"
    filled = "".join(f"2024-01-{day:02},5{ends}\n" for day in range(1, 28)) * 3 + f"2024-01-28,5{ends}9\n"
    with pytest.raises(InputError, match="1 rows have values beyond the 2 columns"):
        tried(text_file(tmp_path / "filled.csv", "ts,kwh\n" + filled), duplicates="keep")


@pytest.mark.parametrize(
    ("numbers", "reading", "found"),
    [
        (["1.234,5", "7", "-1.234.567"], Reading(delimiter=";", decimal=",", thousands="."), [1234.5, 7, -1234567]),
        (["1,234.5", "7", "12"], Reading(delimiter=";", thousands=","), [1234.5, 7, 12]),
        (["1'234", "7", "12"], Reading(delimiter=";", thousands="'"), [1234, 7, 12]),
        (["1 234", "7", "12"], Reading(delimiter=";", thousands=" "), [1234, 7, 12]),
    ],
)
def test_thousands(tmp_path: Path, numbers: list[str], reading: Reading, found: list[float]) -> None:
    lines = "".join(f"2024-01-0{day};{number}\n" for day, number in enumerate(numbers, 1))
    out = load(switched(text_file(tmp_path / "in.csv", "ts;kwh\n" + lines), tmp_path / "out.parquet", reading=reading))
    assert sorted(out["kwh"].to_pylist()) == sorted(found)
    assert pa.types.is_integer(out["kwh"].type) == all(isinstance(each, int) and "." not in str(each) for each in found)


def test_thousands_that_were_not_declared_are_no_numbers(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", "ts;kwh\n2024-01-01;1.234,5\n2024-01-02;2,5\n")
    with pytest.raises(InputError, match="text among numbers"):
        tried(source, reading=Reading(decimal=","))


@pytest.mark.parametrize("marks", [{"delimiter": ",", "decimal": ","}, {"quote": ""}, {"thousands": "''"}])
def test_marks_that_cannot_be(marks: dict[str, str]) -> None:
    with pytest.raises(ArgumentError, match=r"single character|different"):
        Reading(**marks)  # type: ignore[arg-type]


# --- duplicates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        (pa.array([1, 2]), 1.5),
        (pa.array([0.1, 0.2, 0.3]), 0.2),
        (pa.array([1e308, 1e308]), 1e308),
        (pa.array([1e16, 1.0, -1e16]), 1 / 3),
        (pa.array([None, 3.0, float("nan")]), 3.0),
        (pa.array([None, None], pa.float64()), None),
        (pa.array(["1.10", "1.11", "1.12"]).cast(pa.decimal128(9, 2)), 1.11),
        (pa.array(["1.00", "1.01"]).cast(pa.decimal128(9, 2)), 1.00),
    ],
)
def test_the_mean_of_duplicates_is_exact_and_knows_no_order(values: pa.Array, mean: float | None) -> None:
    for order in (range(len(values)), reversed(range(len(values)))):
        table = pa.table({"ts": [0] * len(values), "kwh": values.take(list(order))})
        release = tables.switch(table, time="ts", value="kwh", window=2, epsilon=1.0, duplicates="mean")
        (found,) = release.table["kwh"].to_pylist()
        assert (None if found is None else float(found)) == mean
        assert any("their mean" in each for each in release.certificate.claims["assumptions"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pa.array(["a", "b"]), "no mean"),
        (pa.array([True, False]), "no mean"),
        (pa.array([float("inf"), 1.0]), "infinite"),
        (pa.array([2**53 + 1, 1]), "beyond 2\\^53"),
    ],
)
def test_what_has_no_mean(values: pa.Array, message: str) -> None:
    with pytest.raises(InputError, match=f"duplicates: .*{message}"):
        tried(pa.table({"ts": [0, 0], "kwh": values}), duplicates="mean")


@pytest.mark.parametrize(("rule", "value"), [("min", 2.0), ("max", 4.0), ("mean", 3.0)])
def test_aggregates_take_the_rule(rule: str, value: float) -> None:
    table = pa.table({"id": ["a", "a", "b", "c"], "ts": [0, 0, 0, 0], "kwh": [2.0, 4.0, value, value]})
    options = {"id": "id", "time": "ts", "value": "kwh", "query": "max", "low": 0, "high": 8, "outputs": 8}
    release = tables.aggregate(table, duplicates=rule, resolution=1, symbols="left", **options)
    assert release.table["kwh"].to_pylist() == [value]
    assert release.certificate.parameters["duplicates"] == rule
    with pytest.raises(InputError, match="--duplicates min, max or mean"):
        tables.aggregate(table, resolution=1, **options)
    with pytest.raises(ArgumentError, match="one reading of an individual"):
        tables.aggregate(table, duplicates="keep", resolution=1, **options)


# --- dry runs ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_draws_writes_and_charges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("RETICENT_HOME", str(home))

    def no_draw(*_: Any, **__: Any) -> None:
        raise AssertionError("something was drawn")

    monkeypatch.setattr(rt.randomness.Source, "peek", no_draw)
    monkeypatch.setattr(rt.randomness.Source, "spawn", no_draw)
    source = text_file(tmp_path / "in.csv", GAPPY)
    common: dict[str, Any] = {"time": "ts", "value": "state", "output": tmp_path / "out.csv", "dry_run": True}
    switch = tables.switch(source, window=2, epsilon=1.0, **common)
    chain = rt.MarkovChain.binary(0.2, 0.3, ("on", "off"))
    private = "2024-01-01 00:15/2024-01-01 00:15"
    redact = tables.redact(source, private=private, epsilon=1.0, model=chain, every="15m", **common)
    number = text_file(tmp_path / "n.csv", TWO)
    quantize = tables.quantize(number, low=0, high=8, bits=2, **{**common, "value": "kwh"})
    for release in (switch, redact, quantize):
        assert (release.table, release.outputs, release.charge) == (None, None, None)
    assert switch.certificate.claims["guarantee"]["epsilon"] == pytest.approx(1.0)
    assert 0 < redact.certificate.claims["leakage"][0] <= 1.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "n.csv"]


def test_a_dry_run_says_what_the_ledger_would(tmp_path: Path) -> None:
    source, ledger = text_file(tmp_path / "in.csv", TWO), tmp_path / "ledger.sqlite"
    common: dict[str, Any] = {"time": "ts", "value": "kwh", "window": 2, "epsilon": 1.0, "ledger": ledger}
    tables.switch(source, output=tmp_path / "out.csv", **common)
    before = ledger.read_bytes()
    charge = tables.switch(source, output=tmp_path / "out2.csv", dry_run=True, **common).charge
    assert charge is not None
    assert charge.again == 1
    assert "2 releases" in str(charge.spent[0])
    rt.Ledger(ledger).limit(epsilon=1, window=2)
    with pytest.raises(ReticentError, match="limit"):
        tables.switch(source, output=tmp_path / "out2.csv", dry_run=True, **common)
    assert before != b""


def test_private_stays_private_in_plans() -> None:
    table = pa.table({"id": ["CANARY-1"] * 3, "ts": [0, 1, 2], "kwh": [987654321, 2, 3]})
    words = repr(tables.redact(
        table.set_column(2, "kwh", pa.array([0, 1, 0])), id="id", time="ts", value="kwh",
        private=Private(where="ts = 1"),
        epsilon=1.0, model=rt.MarkovChain.binary(0.4, 0.4), dry_run=True, ledger=False,
    ).plan) + repr(tried(table, id="id").plan)  # fmt: skip
    assert "CANARY" not in words
    assert "987654321" not in words


def test_the_certificate_of_what_was_set_aside_verifies(tmp_path: Path) -> None:
    source = text_file(tmp_path / "in.csv", TWO + "x,7\n")
    out = switched(source, tmp_path / "out.csv", reading=Reading(quarantine=tmp_path / "q.csv"))
    certificate = Certificate.read(tmp_path / "out.csv.certificate.json")
    assert certificate.verify(out).verdict == "consistent"


def test_a_series_that_goes_on_in_the_next_table_is_one() -> None:
    from reticent.tables.extent import Extent

    ids = ["a", "a", "a", "b", "b", None, None, "d"]
    table = pa.table({"id": ids, "ts": range(8)})
    for cuts in ([8], [1, 7], [2, 2, 2, 2], [1] * 8, [3, 0, 5]):
        extent, at = Extent(), 0
        for size in cuts:
            extent.add(table.slice(at, size), ("id",))
            at += size
        assert extent.facts() == {"rows": 8, "series": 4, "longest": 3}
    alone = Extent()
    for at in (0, 4):
        alone.add(table.slice(at, 4), ())
    assert alone.facts() == {"rows": 8, "series": 1, "longest": 8}
