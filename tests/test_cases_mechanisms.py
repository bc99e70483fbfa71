"""The kinds of messy input 10 and 13 to 28 (the files' own, 1 to 12, are in tables/test_cases_files.py).

A line each and its siblings, on the path that people take; what says more of a kind is named in its heading.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import reticent as rt
from redaction.redaction_twin import enumerated_leakage, local_law
from reticent import cli, reports, tables
from reticent.accounting.events import Event
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, InputError, LedgerError, RefusedError, VerificationError
from reticent.guarantees import TemporalGuarantee
from reticent.reports import public_report
from reticent.tables import formulas


@pytest.fixture(autouse=True)
def blank_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "public_report", lambda certificate: "<html></html>")


def quantized(values: Any, **options: Any) -> list[Any]:
    """What the table path releases for some values, in order of time."""
    column = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({"t": range(len(column)), "v": column})
    return tables.quantize(table, time="t", value="v", **options).table["v"].to_pylist()


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["reticent", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


# --- 10: text that means something elsewhere (names: reports/test_reports.py) ----------------------------------------

FORMULAS = ["=1+1", "+cmd", "-x", "@sum", "\tq", "\rq", "'=1", "''+x"]
HARMLESS = ["-3", "+2.5e1", "a=b", "", "'", "x@y", "−3"]


def labelled(names: list[str], header: str = "id") -> pa.Table:
    return pa.table({header: names, "t": range(len(names)), "v": [-3.0, *([1.0] * (len(names) - 1))]})


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv"])
def test_case_10_text_that_a_spreadsheet_would_run(tmp_path: Path, suffix: str) -> None:
    table, output = labelled(FORMULAS + HARMLESS), tmp_path / f"out{suffix}"
    common: dict[str, Any] = {"id": "id", "time": "t", "value": "v", "window": 2, "epsilon": 1.0, "ledger": False}
    done = tables.switch(table, output=output, formulas="quote", **common)
    assert done.formulas == len(FORMULAS)
    assert done.outputs is not None
    assert done.certificate.released["formulas"] == "quote"
    assert Certificate.read(done.outputs.certificate).verify(output).verdict == "consistent"
    with pa.input_stream(str(output)) as stream:
        text = stream.read().decode()
    for name in FORMULAS:
        assert f"'{name}" in text
    assert "'-3" not in text
    assert ("\t-3" if suffix == ".tsv" else ",-3") in text.replace('"', "")  # the number is one
    assert "apostrophe" in public_report(done.certificate)
    kept = tables.switch(table, output=tmp_path / f"kept{suffix}", **common)
    assert kept.formulas == len(FORMULAS)
    assert "formulas" not in kept.certificate.released


def test_case_10_what_is_quoted_can_be_taken_back(tmp_path: Path) -> None:
    names = FORMULAS + HARMLESS
    quoted, count = formulas.guarded(pa.table({"v": names}), "quote")
    assert count == len(FORMULAS)
    texts = quoted["v"].to_pylist()
    assert len(set(texts)) == len(names)
    assert [text[1:] if text != name else text for text, name in zip(texts, names, strict=True)] == names
    with pytest.raises(ArgumentError, match="formulas: the name of a column"):
        tables.switch(
            labelled(["a"], "=id"), id="=id", time="t", value="v", window=2, epsilon=1.0, ledger=False,
            formulas="quote", output=tmp_path / "out.csv",
        )  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_case_10_the_command_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("id,t,v\n=1+1,1,-3\nb,1,2\n")
    switch = ["switch", "in.csv", "--id", "id", "--time", "t", "--value", "v", "--window", "2", "--epsilon", "1"]
    assert command(monkeypatch, *switch, "-o", "out.csv") == 0
    assert "1 texts of the released file start like a formula" in capsys.readouterr().err
    assert command(monkeypatch, *switch, "--no-ledger", "--formulas", "quote", "-o", "two.csv") == 0
    assert "formula" not in capsys.readouterr().err
    assert command(monkeypatch, *switch, "--no-ledger", "-o", "out.parquet", "--compression", "snappy") == 0
    assert "formula" not in capsys.readouterr().err  # no spreadsheet runs those
    assert pyarrow.parquet.ParquetFile("out.parquet").metadata.row_group(0).column(0).compression == "SNAPPY"
    for wrong in (("--formulas", "eval"), ("--compression", "zip")):
        assert command(monkeypatch, *switch, "--no-ledger", "-o", "no.parquet", *wrong) == 2
    assert command(monkeypatch, *switch, "--no-ledger", "-o", "no.csv", "--compression", "zstd") == 2


def test_case_10_names_are_text_on_a_page_and_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    name = "</script><b>\x1b[31mred\x07[bold]\u202e"
    table = pa.table({name: ["a", "a"], "t": [1, 2], "v": [1, 2], "k\nverdict: signed": ["x", "x"]})
    output = tmp_path / "out.parquet"
    columns: dict[str, Any] = {"id": name, "time": "t", "value": "v", "keep": "k\nverdict: signed"}
    done = tables.switch(table, window=2, epsilon=1.0, output=output, ledger=False, **columns)
    assert done.outputs is not None
    page = public_report(done.certificate)
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    for form in ((), ("--json",)):
        assert command(monkeypatch, "verify", str(done.outputs.certificate), str(output), *form) == 0
        shown = capsys.readouterr().out
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
        assert "\nverdict: signed" not in shown  # a name makes no line of its own
    assert json.loads(shown)["verdict"] == "consistent"
    assert command(monkeypatch, "switch", "in\x1b[2J.csv", "--time", "t", "--value", "v", "--window", "2",
                   "--epsilon", "1", "-o", "o.csv") == 1  # fmt: skip
    assert "\x1b" not in capsys.readouterr().err


def test_case_10_a_certificate_is_strict_json() -> None:
    for bound in (math.inf, -math.inf, math.nan, "infinity", "1e999"):
        with pytest.raises(ArgumentError, match=r"high|low"):
            quantized([1.0], low=0, high=bound, bits=1)
    switch = tables.switch(pa.table({"t": [1, 2], "v": [1, 2]}), time="t", value="v", window=1, epsilon=1.0)
    text = switch.certificate.to_json()
    assert json.loads(text, parse_constant=lambda name: pytest.fail(name)) == switch.certificate.body
    with pytest.raises(VerificationError, match="strict JSON"):
        Certificate.parse(text.replace('"epsilon": 1.0', '"epsilon": Infinity'))


# --- 13 to 17: cells (quantization/test_quantizers.py, tables/test_same_cell.py, the fuzz run) -----------------------


@pytest.mark.parametrize("type", [pa.float32(), pa.float64(), pa.decimal128(6, 1)])
def test_case_13_a_value_on_an_edge(type: Any) -> None:
    exact = [Decimal(each) for each in ("6.7", "3.0", "4.0")]
    values = pa.array(exact if pa.types.is_decimal(type) else [float(each) for each in exact], type)
    symbols = quantized(values, low="3.0", high="6.7", outputs=3, symbols="interval")
    assert symbols[0].endswith("67/10]") or symbols[0].endswith("6.7]")
    assert symbols[1] == symbols[2]
    tenths = [Decimal(i) / 10 for i in range(11)]
    values = pa.array(tenths if pa.types.is_decimal(type) else [float(each) for each in tenths], type)
    assert quantized(values, low=0, high=1, outputs=10, symbols="left") == [i / 10 for i in range(10)] + [0.9]


def test_case_13_the_same_cell_by_library_command_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("t,v\n" + "".join(f"{i},{i / 10}\n" for i in range(11)))
    arguments = ["--time", "t", "--value", "v", "--low", "0", "--high", "1", "--outputs", "10", "--symbols", "left"]
    assert command(monkeypatch, "quantize", "in.csv", *arguments, "-o", "out.csv") == 0
    released = [float(line.split(",")[1]) for line in Path("out.csv").read_text().splitlines()[1:]]
    values = [i / 10 for i in range(11)]
    library = rt.LocalQuantization(0, 1, outputs=10, symbols="left").release(values).tolist()
    cells = [min(math.floor(Fraction(i, 10) * 10), 9) for i in range(11)]
    assert (
        released == library == quantized(values, low=0, high=1, outputs=10, symbols="left") == [c / 10 for c in cells]
    )


@pytest.mark.parametrize("kind", ["null", "nan"])
def test_case_14_missing_is_missing_and_infinite_is_outside(kind: str) -> None:
    gap = None if kind == "null" else math.nan
    values = [0.0, gap, 0.5, math.inf, -math.inf]
    with pytest.raises(InputError, match="2 of"):
        quantized(values, low=0, high=1, bits=1)
    assert quantized(values, low=0, high=1, bits=1, outside="clip") == [0.25, None, 0.75, 0.75, 0.25]
    assert quantized(values, low=0, high=1, outputs=3, outside="missing") == [0.25, None, 0.75, None, None]


@pytest.mark.parametrize("type", [pa.float64(), pa.float32(), pa.int64(), pa.null()])
def test_case_14_a_series_of_nothing_but_gaps(type: Any) -> None:
    gaps = pa.nulls(3, type)
    assert quantized(gaps, low=0, high=1, bits=1) == [None] * 3
    table = pa.table({"t": range(3), "v": gaps})
    switched = tables.switch(table, time="t", value="v", window=2, epsilon=1.0).table
    assert switched["v"].null_count == 3


@pytest.mark.parametrize(
    ("type", "low", "high"),
    [(pa.int8(), -128, 127), (pa.uint8(), 0, 255), (pa.int16(), -32768, 32767), (pa.int64(), -(2**63), 2**63 - 1)],
)
def test_case_15_the_ends_of_a_type(type: Any, low: int, high: int) -> None:
    released = quantized(pa.array([low, high, (low + high) // 2], type), low=low, high=high, bits=1, symbols="left")
    assert released == [low, float((low + high) / 2), low]
    cells = rt.LinearQuantizer(low, high, 2)
    assert cells.high - cells.low == high - low


@pytest.mark.parametrize("edges", [[1, 3, 1], [1, 1], [3, 2, 1]])
def test_case_15_edges_that_do_not_increase(edges: list[int]) -> None:
    for type in (np.uint8, np.uint64, np.int64):
        with pytest.raises(ArgumentError, match="increase"):
            rt.Quantizer(np.array(edges, type))


def test_case_16_zero_has_no_sign() -> None:
    values = pa.array([0.0, -0.0, 1.0])
    released = quantized(values, low=-1, high=1, outputs=2, symbols="left")
    assert [math.copysign(1, each) for each in released] == [1, 1, 1]
    chain = rt.MarkovChain.binary(0.3, 0.3, states=(0.0, 1.0))
    table = pa.table({"t": range(6), "v": [0.0, -0.0, 1.0, -0.0, 0.0, -0.0]})
    for kind in (pa.float64(), pa.float32()):
        shown = tables.redact(
            table.set_column(1, "v", table["v"].cast(kind)), time="t", value="v", private="0/0", epsilon=9.0,
            model=chain, mechanism="optimal",
        ).table  # fmt: skip
        assert {math.copysign(1, each) for each in shown["v"].to_pylist() if each is not None} == {1.0}
    assert rt.MarkovChain.fit([[0.0, -0.0, 1.0, 0.0]], states=(0.0, 1.0)).size == 2


def test_case_17_ranges_that_are_none() -> None:
    with pytest.raises(ArgumentError, match="low < high"):
        quantized([5.0] * 3, low=5, high=5, bits=1)
    assert quantized([5.0] * 3, low=0, high=10, outputs=1) == [5.0] * 3  # one state
    assert quantized([-1.0, 1.0], low=-1, high=1, outputs=3) == [-2 / 3, 2 / 3]
    assert quantized([2**53], low=2**53, high=2**53 + 8, outputs=1) == [2**53 + 4]
    with pytest.raises(ArgumentError, match="distinct"):
        quantized([2**53], low=2**53, high=2**53 + 1, outputs=4)


@pytest.mark.parametrize(("outputs", "levels"), [(1, 1), (3, 3), (7, 7)])
def test_case_17_the_number_of_levels_is_certified(outputs: int, levels: int) -> None:
    table = pa.table({"t": [0], "v": [1.0]})
    certificate = tables.quantize(table, time="t", value="v", low=0, high=2, outputs=outputs).certificate
    assert certificate.claims["cells"][0]["levels"] == levels
    assert certificate.claims["guarantee"]["outputs"] == levels
    both = pa.table({"t": [0], "v": [1.0], "w": [1.0]})
    joint = tables.quantize(both, time="t", value=("v", "w"), low=[0, 0], high=[2, 2], outputs=outputs).certificate
    assert (
        joint.claims["guarantee"]["outputs"] == math.prod(each["levels"] for each in joint.claims["cells"]) <= outputs
    )


# --- 18: a range that is read off the data (canaries: tables/test_canary.py) -----------------------------------------

OUTLIER = 98765.4375


def test_case_18_bounds_are_asked_for() -> None:
    with pytest.raises(ArgumentError, match="low: state the public range"):
        quantized([1.0, OUTLIER], bits=2)
    with pytest.raises(ArgumentError, match="high: state the public range"):
        quantized([1.0, OUTLIER], low=0, bits=2)


@pytest.mark.parametrize("type", [pa.float64(), pa.float32(), pa.int32(), pa.decimal128(12, 4)])
def test_case_18_a_range_from_the_data_promises_nothing_and_is_not_printed(tmp_path: Path, type: Any) -> None:
    whole = pa.types.is_integer(type)
    values = [
        Decimal(each) for each in (["2", "98765", "2", "50000"] if whole else ["2.25", "98765.4375", "2.25", "5"])
    ]
    kind: Any = int if whole else (lambda each: each) if pa.types.is_decimal(type) else float
    table = pa.table({"t": range(5), "v": pa.array([*map(kind, values), None], type)})
    output = tmp_path / "out.csv"
    done = tables.quantize(table, time="t", value="v", outputs=4, range_from_data=True, output=output, ledger=False)
    assert done.outputs is not None
    certificate = Certificate.read(done.outputs.certificate)
    assert certificate.verify(output).verdict == "consistent"
    assert certificate.claims["guarantee"]["kind"] == "none"
    assert "no guarantee" in certificate.claims["guarantee"]["promise"]
    page = public_report(certificate)
    assert "no guarantee" in page
    for text in (output.read_text(), certificate.to_json(), page):
        assert "98765" not in text
        assert "98,765" not in text
        assert "2.25" not in text
    assert output.read_text().splitlines()[1:] == ["0,0", "1,3", "2,0", "3,2" if whole else "3,0", "4,"]


def test_case_18_nothing_that_is_not_promised_is_charged(tmp_path: Path) -> None:
    table = pa.table({"t": range(2), "v": [1.0, OUTLIER]})
    common: dict[str, Any] = {"time": "t", "value": "v", "range_from_data": True}
    with pytest.raises(ArgumentError, match=r"cannot be charged.*--no-ledger"):
        tables.quantize(table, outputs=2, output=tmp_path / "out.csv", **common)
    assert not list(tmp_path.iterdir())
    for wrong in ({"low": 0}, {"high": 1}, {"symbols": "interval"}, {"symbols": "left"}):
        with pytest.raises(ArgumentError, match="range"):
            tables.quantize(table, outputs=2, **common, **wrong)
    for values in ([5.0, 5.0], [None, None], [math.inf, 1.0]):
        with pytest.raises(InputError, match="two different numbers"):
            tables.quantize(pa.table({"t": range(2), "v": pa.array(values, pa.float64())}), outputs=2, **common)
    certificate = tables.quantize(table, outputs=2, **common).certificate
    forged = {**certificate.parameters, "cells": [{**certificate.parameters["cells"][0], "levels": 9}]}
    with pytest.raises(VerificationError):
        Certificate({**certificate.body, "parameters": forged}).verify()


def test_case_18_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(f"t,v\n1,2\n2,{OUTLIER}\n")
    quantize = ["quantize", "in.csv", "--time", "t", "--value", "v", "--bits", "2", "-o", "out.csv"]
    assert command(monkeypatch, *quantize) == 2
    assert "--range-from-data" in capsys.readouterr().err
    assert command(monkeypatch, *quantize, "--range-from-data") == 2
    assert "--no-ledger" in capsys.readouterr().err
    assert command(monkeypatch, *quantize, "--range-from-data", "--no-ledger") == 0
    assert "Nothing is promised" in capsys.readouterr().out
    for audit in ("audit", "verify"):
        assert command(monkeypatch, audit, "out.csv.certificate.json") == 0
        shown = capsys.readouterr()
        assert "no guarantee" in shown.out
        assert "98765" not in shown.out
    assert command(monkeypatch, "ledger", "charge", "out.csv.certificate.json") != 0


# --- 19 to 23: models and exact leakage (test_markov.py, redaction/) -------------------------------------------------


def test_case_19_rows_that_are_not_identified() -> None:
    with pytest.raises(ArgumentError, match="state number 2, 3 is never left"):
        rt.MarkovChain.fit([list("abac")], states=list("abcd"))
    chain = rt.MarkovChain.fit([list("abac")], states=list("abcd"), smoothing=1.0)
    assert chain.transition.shape == (4, 4)
    assert chain.transition[0] == pytest.approx([1 / 6, 2 / 6, 2 / 6, 1 / 6])
    assert chain.transition[3] == pytest.approx([1 / 4] * 4)


def test_case_19_in_a_table_and_with_no_sequence_at_all(tmp_path: Path) -> None:
    table = pa.table({"t": range(4), "v": list("abac")})
    with pytest.raises(ArgumentError, match="never left"):
        tables.fit(table, time="t", value="v", states=list("abcd"))
    model = tables.fit(table, time="t", value="v", states=list("abcd"), smoothing=0.5)
    assert model.chain.transition.shape == (4, 4)
    for smoothing in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ArgumentError, match="smoothing"):
            rt.MarkovChain.fit([list("abac")], states=list("abcd"), smoothing=smoothing)
    with pytest.raises(ArgumentError, match="not among"):
        rt.MarkovChain.fit([list("abac")], states=list("ab"), smoothing=1.0)


def test_case_20_series_and_gaps_are_no_bridges() -> None:
    sequences = [[0, 0, 0], [1, 1, 1], [0], [0, None, 0]]
    counts = sum(rt.markov.count_transitions(rt.markov.encode(each, (0, 1)), 2)[0] for each in sequences)
    assert counts.tolist() == [[2, 0], [0, 2]]
    with pytest.raises(ArgumentError, match="closed classes"):
        rt.MarkovChain.fit(sequences)


@pytest.mark.parametrize("gap", [None, math.nan])
def test_case_20_in_a_table(gap: Any) -> None:
    ids, times = list("aaabbbcddd"), [0, 1, 2, 0, 1, 2, 0, 0, 1, 2]
    values = pa.array([0, 0, 0, 1, 1, 1, 0, 0, gap, 0], pa.float64())
    model = tables.fit(
        pa.table({"id": ids, "t": times, "v": values}), id="id", time="t", value="v", states=(0, 1), smoothing=1.0
    )
    assert model.chain.transition == pytest.approx(np.array([[3, 1], [1, 3]]) / 4)
    absent = pa.table({"t": [0, 1, 3, 4], "v": [0, 0, 1, 1]})  # a row that is not there is no bridge either
    counted = tables.fit(absent, time="t", value="v", states=(0, 1), smoothing=1.0, every="1").chain.transition
    assert counted == pytest.approx(np.array([[2, 1], [1, 2]]) / 3)


def test_case_21_chains_without_a_law_or_with_a_period() -> None:
    with pytest.raises(ArgumentError, match="no unique stationary law"):
        rt.MarkovChain([[1, 0], [0, 1]])
    turn = rt.MarkovChain([[0, 1], [1, 0]])
    assert turn.stationary.tolist() == [0.5, 0.5]
    assert turn.power(2).tolist() == [[1, 0], [0, 1]]
    assert "mixing" not in f"{turn!r} {turn.diagnose([[0, 1] * 20]).describe()}"


@pytest.mark.parametrize("n", [3, 6])
def test_case_21_a_chain_that_forgets_nothing_shows_nothing(n: int) -> None:
    """Of 0, 1, 0, 1 … any record tells all: whatever the ε, nothing may be shown."""
    turn = rt.MarkovChain([[0, 1], [1, 0]])
    for mechanism in (rt.markov_quilt, rt.three_region, rt.optimal_policy, rt.sequential_redaction):
        assert mechanism(turn, n, 1, 5.0).utility() == 0
    assert math.isinf(rt.max_influence(turn, 1))
    three = rt.MarkovChain(np.roll(np.eye(3), 1, axis=1))
    assert rt.optimal_policy(three, n, 1, 5.0).utility() == 0
    with pytest.raises(ArgumentError, match="closed classes"):
        rt.MarkovChain([[1, 0, 0], [0, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("mechanism", ["quilt", "three-region", "optimal"])
@pytest.mark.parametrize("epsilon", [0.0, 1e-12])
def test_case_22_an_epsilon_that_nothing_can_meet(tmp_path: Path, mechanism: str, epsilon: float) -> None:
    table = pa.table({"t": range(3), "v": [0, 1, 1]})
    chain = rt.MarkovChain.binary(0.01, 0.02)
    began = time.monotonic()
    done = tables.redact(
        table, time="t", value="v", private="1/1", epsilon=epsilon, model=chain, mechanism=mechanism, every="1"
    )
    assert time.monotonic() - began < 60
    assert done.table["v"].null_count == 3
    assert done.table["v_redacted"].to_pylist() == [True] * 3
    assert done.certificate.verify().verdict == "consistent"


@pytest.mark.parametrize("fault", ["claims", "leakage", "ledger", "ledger is gone"])
def test_case_22_no_release_where_a_check_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, fault: str, curator: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("t,v\n" + "".join(f"{i},{i % 2}\n" for i in range(8)))
    Path("model.json").write_text(tables.models.Model(rt.MarkovChain.binary(0.3, 0.3), "1").to_json())
    redact = ["redact", "in.csv", "--time", "t", "--value", "v", "--private", "3/3", "--model", "model.json",
              "--epsilon", "1", "--mechanism", "optimal", "--no-diagnosis", "-o"]  # fmt: skip
    assert command(monkeypatch, *redact, "first.csv") == 0
    before = sorted(path.name for path in tmp_path.iterdir())
    if fault == "claims":
        from reticent import certificates

        right = certificates.claims
        monkeypatch.setattr(certificates, "claims", lambda *each: {**right(*each), "kept": False})
    elif fault == "leakage":
        monkeypatch.setattr(rt.RedactionPolicy, "leakage", lambda self: 9.0)
    else:
        (path,) = [each for each in curator.rglob("*") if each.suffix in (".sqlite", ".db", ".sqlite3")]
        path.write_bytes(path.read_bytes()[:1000]) if fault == "ledger" else path.unlink()
    capsys.readouterr()
    assert command(monkeypatch, *redact, "second.csv") == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


GRID = [0.0, 0.5, 1.0]


def coarse_policies(secret: tuple[int, int], n: int = 4) -> list[np.ndarray]:
    """Every policy over two states on the grid, the secret withheld."""
    hidden = range(secret[0], secret[1] + 1)
    rows = [[(1.0, 1.0)] if t in hidden else list(itertools.product(GRID, repeat=2)) for t in range(n)]
    return [np.array(each) for each in itertools.product(*rows)]


@pytest.mark.parametrize(
    ("secret", "every"), [((1, 2), 1), ((0, 1), 1), ((2, 3), 1), ((0, 0), 9), ((1, 1), 9), ((3, 3), 9), ((0, 3), 1)]
)
def test_case_23_every_policy_on_a_coarse_grid(secret: tuple[int, int], every: int) -> None:
    chain = rt.MarkovChain.binary(0.2, 0.35)
    for chances in coarse_policies(secret)[::every]:
        policy = rt.RedactionPolicy(chain, chances, secret)
        right = enumerated_leakage(chain, 4, secret, local_law(policy.probabilities))
        assert policy.leakage() == right or policy.leakage() == pytest.approx(right, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("fault", ["left side", "last record", "first step"])
def test_case_23_a_kernel_broken_on_purpose_is_caught(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """The comparison above must be able to fail: one side, an end or the first step left out."""
    from reticent.redaction import kernels

    right = kernels.walk

    def walk(steps: Any, phase: int, r: Any, at: int, direction: int, count: int, possible: Any) -> Any:
        if fault == "left side" and direction == -1:
            count = 0
        if fault == "last record" and direction == 1:
            count = max(count - 1, 0)
        if fault == "first step":
            at += direction if count else 0
            count = max(count - 1, 0)
        return right(steps, phase, r, at, direction, count, possible)

    monkeypatch.setattr(kernels, "walk", walk)
    with pytest.raises(AssertionError):
        test_case_23_every_policy_on_a_coarse_grid((1, 2), 1)


# --- 24: randomness (test_randomness.py, switching/test_conformance.py) ----------------------------------------------


def two_series(order: list[int] | None = None) -> pa.Table:
    rows = [(name, t, t + 1) for name in "ab" for t in range(8)]
    rows = rows if order is None else [rows[i] for i in order]
    return pa.table(dict(zip(("id", "t", "v"), map(list, zip(*rows, strict=True)), strict=True)))


def permutations_of(table: pa.Table) -> list[tuple[int, ...]]:
    values = table["v"].to_pylist()
    return [tuple(values[:8]), tuple(values[8:])]


def test_case_24_two_series_are_permuted_on_their_own() -> None:
    """At window 8 and ε = 0 each of the eight values is as likely anywhere: agreement at an instant has chance 1/8."""
    switch: dict[str, Any] = {"id": "id", "time": "t", "value": "v", "window": 8, "epsilon": 0.0, "mechanism": "ran"}
    agree = same = 0
    for seed in range(200):
        one, two = permutations_of(
            tables.switch(two_series(), source=rt.seeded_source(seed), delta=0.999, **switch).table
        )
        agree += sum(a == b for a, b in zip(one, two, strict=True))
        same += one == two
    n, p = 200 * 8, 1 / 8
    assert abs(agree - n * p) < 5 * math.sqrt(n * p * (1 - p))
    assert same <= 1


def test_case_24_a_seed_is_reproducible_whatever_the_order_and_marked(tmp_path: Path) -> None:
    switch: dict[str, Any] = {"id": "id", "time": "t", "value": "v", "window": 4, "epsilon": 1.0}
    rng = np.random.default_rng(1)
    orders = [None, list(range(16))[::-1], rng.permutation(16).tolist()]
    done = [tables.switch(two_series(order), source=rt.seeded_source(5), **switch) for order in orders]
    assert len({tuple(permutations_of(each.table)) for each in done}) == 1
    assert len({each.certificate.to_json() for each in done}) == 1
    assert done[0].certificate.body["randomness"] == "seeded: not private"
    assert "NOT PRIVATE" in public_report(done[0].certificate)
    assert permutations_of(tables.switch(two_series(), source=rt.seeded_source(6), **switch).table) != permutations_of(
        done[0].table
    )
    alone = two_series().slice(8)  # nor does it matter which other series are there
    assert tables.switch(alone, source=rt.seeded_source(5), **switch).table["v"].to_pylist() == list(
        permutations_of(done[0].table)[1]
    )
    secure = tables.switch(two_series(), **switch).certificate
    assert secure.body["randomness"] == "secure"


# --- 25 and 26: the ledger (accounting/test_ledger_faults.py: ten runs of 20 processes, every byte) ------------------


def _spend(path: str) -> bool:
    try:
        rt.Ledger(Path(path)).charge(Event.of(TemporalGuarantee(0.1, 0.0, 24), dataset="meters"))
    except RefusedError:
        return False
    return True


def test_case_25_twenty_processes_fill_a_budget_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    rt.Ledger(path).limit("meters", epsilon=1, window=24)
    with ProcessPoolExecutor(4) as pool:
        assert sum(pool.map(_spend, [str(path)] * 20)) == 10


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_case_25_a_truncated_ledger_fails_closed(tmp_path: Path, share: float) -> None:
    path = tmp_path / "ledger.sqlite"
    assert _spend(str(path))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(LedgerError):
        _spend(str(path))
    output = tmp_path / "out.csv"
    with pytest.raises(LedgerError):
        tables.switch(two_series(), id="id", time="t", value="v", window=2, epsilon=1.0, output=output, ledger=path)
    assert not output.exists()


def test_case_26_reading_changes_nothing_and_the_same_data_stay_charged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    for name in ("one", "renamed"):
        pyarrow.parquet.write_table(
            two_series(None if name == "one" else list(range(16))[::-1]), tmp_path / f"{name}.parquet"
        )
    switch: dict[str, Any] = {"id": "id", "time": "t", "value": "v", "window": 4, "epsilon": 1.0}
    first = tables.switch(tmp_path / "one.parquet", output=tmp_path / "a.csv", ledger=path, **switch)
    before = path.read_bytes()
    for _ in range(2):
        ledger = rt.Ledger(path)
        ledger.spent()
        ledger.history()
    assert path.read_bytes() == before
    second = tables.switch(tmp_path / "renamed.parquet", output=tmp_path / "b.csv", ledger=path, **switch)
    assert first.charge is not None
    assert second.charge is not None
    assert second.charge.again == 2
    rt.Ledger(path).reset(reason="a test")
    history = rt.Ledger(path).history()
    assert len(history) == 3  # what was charged before is still in it
    assert "a test" in history[-1].text


# --- 27: streams (tables/test_following.py, tables/test_continuing.py, switching/test_streams.py) --------------------


def test_case_27_five_events_one_very_late(tmp_path: Path) -> None:
    """Of a stream of files, what comes too late is refused and counted, and the tail is flushed by the last one."""
    switch: dict[str, Any] = {
        "time": "t", "value": "v", "window": 3, "epsilon": 2.0, "mechanism": "mallows", "delta": 1e-3, "ledger": False,
        "continue_from": tmp_path / "state",
    }  # fmt: skip
    released: list[Any] = []
    parts = [([0, 1, 2], False), ([3], False), ([4], True)]
    for number, (times, finish) in enumerate(parts):
        table = pa.table({"t": times, "v": [float(each) for each in times]})
        if number:
            late = pa.table({"t": [0], "v": [9.0]})
            with pytest.raises(InputError, match="1 records do not lie after"):
                tables.switch(late, output=tmp_path / "late.csv", **switch)
        done = tables.switch(table, output=tmp_path / f"{number}.parquet", finish=finish, **switch)
        assert done.outputs is not None
        released += pyarrow.parquet.read_table(done.outputs.released)["v"].to_pylist()
    assert sorted(released) == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("chunks", [[5], [1, 1, 1, 1, 1], [3, 2]])
def test_case_27_the_tail_is_flushed(chunks: list[int]) -> None:
    stream = rt.RanSwitch(window=3, epsilon=2.0).stream(rt.seeded_source(1))
    begin, released = 0, []
    for size in chunks:
        released += np.asarray(stream.push(np.arange(begin, begin + size))).tolist()
        begin += size
    assert len(released) == 3  # two are held back
    released += np.asarray(stream.flush()).tolist()
    assert sorted(released) == list(range(5))
    with pytest.raises((ArgumentError, RuntimeError, ValueError)):
        stream.push(np.arange(1))


# --- 28: starting (test_imports.py) ----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_case_28_nothing_heavy_is_loaded_to_say_what_there_is(option: str) -> None:
    """By what is loaded and by processor time, in ratio to Python itself; by the clock a busy machine says nothing."""
    code = (
        "import sys, resource; base = resource.getrusage(resource.RUSAGE_SELF).ru_utime; sys.argv = ['reticent', "
        f"{option!r}]\n"
        "from reticent.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'duckdb', 'pyarrow', 'numba', 'scipy', 'altair', 'pandas', 'polars', 'jinja2'} & set(sys.modules)\n"
        "print(sorted(heavy), resource.getrusage(resource.RUSAGE_SELF).ru_utime - base, file=sys.stderr)"
    )
    done = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    assert {each.stderr.rpartition("]")[0] for each in done} == {"["}
    assert min(float(each.stderr.rpartition("]")[2]) for each in done) < 0.5
