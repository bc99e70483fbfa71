"""Redaction of tables: the grid, the model and where it may come from, and what verification finds."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables_kit import START, store

import reticent as rt
from reticent import tables
from reticent.certificates import Certificate, _digest
from reticent.errors import ArgumentError, InputError, RefusedError, VerificationError
from reticent.tables import Private

CHAIN = rt.MarkovChain.binary(0.2, 0.3)


def series(minutes: list[float], states: list[Any]) -> pa.Table:
    times = [START + dt.timedelta(minutes=m) for m in minutes]
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "v": states})


def redact(table: Any, **options: Any) -> tables.Release:
    defaults = {"time": "ts", "value": "v", "model": CHAIN, "epsilon": 0.6, "every": "10m", "ledger": False,
                "source": rt.seeded_source(5), "private": "2024-01-01 03:20/2024-01-01 03:20"}  # fmt: skip
    return tables.redact(table, **defaults | options)


def states(n: int, seed: int = 1) -> list[int]:
    return [int(state) for state in CHAIN.sample(n, rt.seeded_source(seed))]


def test_the_design_is_the_one_made_by_hand_on_the_grid() -> None:
    """Positions 5 and 6 are absent: they are steps of the chain, not bridges."""
    minutes = [10 * i for i in range(40) if i not in (5, 6)]
    done = redact(series(minutes, states(38)), mechanism="quilt")
    by_hand = rt.markov_quilt(CHAIN, 40, [(20, 20)], 0.6, missing=(5, 6))
    (leakage,) = done.certificate.claims["leakage"]
    assert leakage == by_hand.leakage() > 0
    (mechanism,) = done.certificate.parameters["mechanisms"]
    assert mechanism["n"] == 40
    certain = np.flatnonzero(by_hand.certain)
    hidden = {minutes.index(10 * i) for i in certain if i not in (5, 6)}
    assert {i for i, flag in enumerate(done.table["v_redacted"].to_pylist()) if flag} >= hidden


def test_a_gap_is_so_many_steps() -> None:
    near = redact(series([10 * i for i in range(40)], states(40)))
    far = redact(series([10 * i for i in range(19)] + [200] + [10 * i for i in range(22, 40)], states(38)))
    assert near.certificate.parameters["mechanisms"][0]["n"] == far.certificate.parameters["mechanisms"][0]["n"] == 40
    assert far.table["v_redacted"].to_pylist()[19]


@pytest.mark.parametrize("jitter", [0.0, 1.0, 4.0])
def test_stamps_that_jitter_stay_on_the_grid(jitter: float) -> None:
    rng = np.random.default_rng(2)
    minutes = (10 * np.arange(40) + rng.uniform(-jitter, jitter, 40) / 2).tolist()
    done = redact(series(minutes, states(40)), private="2024-01-01 03:15/2024-01-01 03:25")
    (mechanism,) = done.certificate.parameters["mechanisms"]
    assert (mechanism["n"], mechanism["private"]) == (40, [[20, 20]])


def test_stamps_that_drift_stay_on_the_grid() -> None:
    done = redact(series([10.2 * i for i in range(40)], states(40)), private="2024-01-01 03:15/2024-01-01 03:25")
    assert done.certificate.parameters["mechanisms"][0]["n"] == 40


def test_a_stamp_that_is_far_off_is_found_before_memory_is_gone() -> None:
    with pytest.raises(InputError, match="far off"):
        redact(
            series([-(60 * 24 * 365 * 50), *range(40)], states(41)),
            every="1m",
            private="2024-01-01 00:10/2024-01-01 00:10",
        )


def test_records_within_half_a_step_need_a_rule() -> None:
    with pytest.raises(InputError, match="less than half a step"):
        redact(series([0, 10, 12, 20, 200], [0, 1, 1, 0, 1]))


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (3, "39 records lie less than half a step"),
        (5, "1 series are sampled by another period than 10m"),
        (7, "1 series are sampled by another period than 10m"),
        (13, "1 series are sampled by another period than 10m"),
    ],
)
def test_a_late_series_of_another_period_is_refused(step: int, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The period is found from the first series alone; a step of the chain must not stand for another time."""
    monkeypatch.setattr("reticent.tables.grid._LOOKED_AT", 40)
    panel = pa.concat_tables(
        series([period * i for i in range(40)], states(40)).append_column("who", [[who] * 40])
        for who, period in (("a", 10), ("b", step))
    )
    with pytest.raises(InputError, match=sentence):
        redact(panel, id="who", every=None, private="2024-01-01 01:00/2024-01-01 01:00")


@pytest.mark.parametrize("later", [5, 13])
def test_a_series_whose_period_changes_late_is_refused(later: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.tables.grid._LOOKED_AT", 40)
    minutes = [10 * i for i in range(40)] + [390 + later * i for i in range(1, 400)]
    with pytest.raises(InputError, match="1 series are sampled by another period than 10m"):
        redact(series(minutes, states(439)), every=None, private="2024-01-01 01:00/2024-01-01 01:00")


def test_a_late_series_of_a_multiple_has_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.tables.grid._LOOKED_AT", 40)
    panel = pa.concat_tables(
        series([period * i for i in range(40)], states(40)).append_column("who", [[who] * 40])
        for who, period in (("a", 10), ("b", 20))
    )
    done = redact(panel, id="who", every=None, private="2024-01-01 01:00/2024-01-01 01:00")
    assert [(each["n"], len(each["missing"])) for each in done.certificate.parameters["mechanisms"]] == [
        (40, 0),
        (79, 39),
    ]


@pytest.mark.parametrize(
    "private",
    ["2024-01-01 03:20/2024-01-01 03:40", Private(where="ts between '2024-01-01 03:20' and '2024-01-01 03:40'")],
)
def test_a_missing_record_inside_a_secret_belongs_to_it(private: Any) -> None:
    minutes = [10 * i for i in range(40) if i != 21]
    done = redact(series(minutes, states(39)), private=private)
    assert done.certificate.parameters["mechanisms"][0]["private"] == [[20, 22]]


def test_the_sampling_period_of_the_model_must_be_that_of_the_release() -> None:
    found = tables.fit(series([30 * i for i in range(400)], states(400)), time="ts", value="v")
    assert found.every == "30m"
    model = replace(found, spans={})
    with pytest.raises(ArgumentError, match="every"):
        redact(series([10 * i for i in range(40)], states(40)), model=model)


# Where the model may come from


def fitted(table: pa.Table, path: Path, **options: Any) -> Path:
    path.write_text(tables.fit(table, time="ts", value="v", **options).to_json())
    return path


def test_a_model_of_other_data_serves_and_one_of_the_secrets_does_not(tmp_path: Path) -> None:
    table = series([10 * i for i in range(600)], states(600))
    earlier = fitted(table, tmp_path / "earlier.json", until="2024-01-03")
    late = "2024-01-04 03:20/2024-01-04 03:20"
    done = redact(table, model=earlier, private=late)
    assert done.certificate.parameters["model"]["origin"] == "file"
    for bounds in ({}, {"since": "2024-01-04"}, {"until": "2024-01-04 03:30"}):
        with pytest.raises(RefusedError, match="fitted on records that are to be hidden"):
            redact(table, model=fitted(table, tmp_path / "m.json", **bounds), private=late)


def test_the_margin_of_the_secret_counts_too(tmp_path: Path) -> None:
    table = series([10 * i for i in range(600)], states(600))
    late = "2024-01-04 03:20/2024-01-04 03:20"
    with pytest.raises(RefusedError, match="margin"):
        redact(table, model=fitted(table, tmp_path / "m.json", until="2024-01-04 03:20"), private=late)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.int8(), pa.float64()])
def test_fingerprints_know_a_series_whatever_the_type_of_its_name(tmp_path: Path, kind: Any) -> None:
    table = series([10 * i for i in range(200)], states(200)).append_column("id", pa.array([5] * 200))
    model = tables.fit(table, time="ts", value="v", id="id")
    other = table.set_column(2, "id", table["id"].cast(kind))
    with pytest.raises(RefusedError, match="fitted on records"):
        redact(other, id="id", model=model)


def test_fingerprints_under_another_key_cannot_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = series([10 * i for i in range(600)], states(600))
    model = fitted(table, tmp_path / "m.json", until="2024-01-02")
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(RefusedError, match="another key"):
        redact(table, model=model, private="2024-01-04 03:20/2024-01-04 03:20")


ODD_MODELS = [
    "",
    "{}",
    "[]",
    "null",
    "\ufffd",
    "[" * 100000,
    '{"format": "reticent model", "schema": 1}',
    '{"format": "reticent model", "schema": 99}',
    '{"format": "reticent model", "schema": 1, "every": null, "fitted_on": {"key": null, "series": {}}, "chain": {}}',
]


@pytest.mark.parametrize("content", ODD_MODELS)
def test_files_that_are_no_models(tmp_path: Path, content: str) -> None:
    (tmp_path / "m.json").write_text(content)
    with pytest.raises((InputError, ArgumentError)):
        redact(series([0, 10], [0, 1]), model=tmp_path / "m.json")
    with pytest.raises(InputError, match="cannot be read"):
        redact(series([0, 10], [0, 1]), model=tmp_path / "none.json")


FAST = rt.MarkovChain.binary(0.45, 0.5)
LONG = [10 * i for i in range(3000)]


def from_released(values: list[int], **options: Any) -> tables.Release:
    return redact(series(LONG, values), **{"model": "released", "margin": 30, "epsilon": 1.0} | options)


def test_a_model_of_the_released_records_is_a_function_of_them_alone(tmp_path: Path) -> None:
    values = [int(v) for v in FAST.sample(3000, rt.seeded_source(3))]
    first = from_released(values)
    chain = first.certificate.parameters["chains"]
    for flipped in ([20], [19, 20, 21], list(range(-10, 51))):
        other = list(values)
        for at in flipped:
            if at >= 0:
                other[at] = 1 - other[at]
        assert from_released(other).certificate.parameters["chains"] == chain
    outside = list(values)
    outside[60] = 1 - outside[60]
    assert from_released(outside).certificate.parameters["chains"] != chain


def test_a_design_that_needs_more_than_the_margin_is_refused() -> None:
    slow = [int(v) for v in rt.MarkovChain.binary(0.02, 0.02).sample(3000, rt.seeded_source(3))]
    with pytest.raises(RefusedError, match="margin"):
        from_released(slow, margin=2, epsilon=0.1)


def test_verify_recomputes_the_released_chain(tmp_path: Path) -> None:
    values = [int(v) for v in FAST.sample(3000, rt.seeded_source(3))]
    out = tmp_path / "out.parquet"
    from_released(values, output=out)
    body = json.loads((tmp_path / "out.parquet.certificate.json").read_text())
    assert Certificate(body).verify(out).checks
    chain = [[[0.55, 0.45], [0.5, 0.5]]]
    body["parameters"]["chains"][0]["transitions"] = chain
    body = coherent(body)
    Certificate(body).verify()
    with pytest.raises(VerificationError, match="do not give the chain"):
        Certificate(body).verify(out)


def coherent(body: dict[str, Any]) -> dict[str, Any]:
    """The certificate with claims and digest computed afresh: what a forger would do."""
    from reticent.claims import claims

    body = json.loads(json.dumps({key: value for key, value in body.items() if key != "digest"}))
    body["claims"] = json.loads(json.dumps(claims(body["action"], body["parameters"], body["released"])))
    return {**body, "digest": _digest(body)}


@pytest.mark.parametrize("model", ["file", "released"])
def test_a_rhythm_is_counted_from_the_epoch_by_all(tmp_path: Path, model: str) -> None:
    """Fitted on one stretch, released on another that begins at another hour, verified from the file."""
    by_hour = rt.MarkovChain.periodic(
        [[[0.5, 0.5], [0.4, 0.6]] if h % 2 else [[0.7, 0.3], [0.5, 0.5]] for h in range(4)]
    )
    minutes = [10 * i for i in range(8001)]
    epoch_steps = int((START - dt.datetime(1970, 1, 1)) / dt.timedelta(minutes=10))
    values = [int(v) for v in by_hour.shifted(epoch_steps).sample(8001, rt.seeded_source(1))]
    table = series(minutes, values)
    source = store(tmp_path / "in.parquet", table.slice(4003 if model == "file" else 3))
    private = "2024-02-05 03:20/2024-02-05 03:20"
    options: dict[str, Any] = {"margin": 40, "period": 4, "model": "released"}
    if model == "file":
        found = tables.fit(table.slice(0, 4000), time="ts", value="v", period=4)
        assert np.abs(found.chain.transitions - by_hour.transitions).max() < 0.06
        options = {"model": found}
    out = tmp_path / "out.csv"
    done = redact(source, private=private, epsilon=1.0, output=out, **options)
    used = rt.MarkovChain.from_dict(done.certificate.parameters["chains"][0])
    assert np.abs(used.transitions - by_hour.transitions).max() < 0.06
    first = epoch_steps + (4003 if model == "file" else 3)
    assert (used.phase + done.certificate.parameters["mechanisms"][0]["phase"]) % 4 == first % 4
    assert Certificate.read(tmp_path / "out.csv.certificate.json").verify(out).checks


def test_states_that_cannot_be_written_down_are_refused() -> None:
    for odd in ([0.0, float("inf")], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]):
        with pytest.raises((ArgumentError, InputError)):
            tables.fit(series([10 * i for i in range(8)], odd * 4), time="ts", value="v")
        with pytest.raises((ArgumentError, InputError)):
            redact(series([10 * i for i in range(40)], odd * 20), model=rt.MarkovChain.binary(0.5, 0.5, tuple(odd)))


# What verification finds in the released file


def edited(tmp_path: Path, change: Any) -> None:
    """Release, change the file as a forger would (hash, claims and digest included), and verify."""
    out = tmp_path / "out.parquet"
    done = redact(series([10 * i for i in range(40)], states(40)), output=out, epsilon=1.5)
    body = json.loads((tmp_path / "out.parquet.certificate.json").read_text())
    columns = change(pa.parquet.read_table(out).to_pydict())
    table = pa.table({"ts": pa.array(columns["ts"], pa.timestamp("us")), "v": pa.array(columns["v"], pa.int64()),
                      "v_redacted": pa.array(columns["v_redacted"], pa.bool_())})  # fmt: skip
    store(out, table)
    from reticent.tables.pipeline import file_hash

    body["released"] |= {"sha256": file_hash(out), "rows": table.num_rows, "longest": table.num_rows}
    assert done.outputs is not None
    Certificate(coherent(body)).verify(out)


def test_the_edit_that_changes_nothing_passes(tmp_path: Path) -> None:
    edited(tmp_path, lambda columns: columns)


def _set(columns: dict[str, list[Any]], at: int, **cells: Any) -> dict[str, list[Any]]:
    for name, value in cells.items():
        columns[name][at] = value
    return columns


@pytest.mark.parametrize(
    "change",
    [
        lambda c: _set(c, 20, v=1, v_redacted=False),
        lambda c: _set(c, 20, v=1),
        lambda c: _set(c, 20, v_redacted=False),
        lambda c: _set(c, 39, v=None, v_redacted=True),
        lambda c: _set(c, 39, v=None),
        lambda c: _set(c, 39, v=7),
        lambda c: {name: column[:-1] for name, column in c.items()},
        lambda c: {name: column[:5] + column[6:] for name, column in c.items()},
        lambda c: _set(c, 39, ts=c["ts"][39] + dt.timedelta(hours=9)),
    ],
)
def test_a_file_that_the_mechanism_cannot_give_is_found(tmp_path: Path, change: Any) -> None:
    with pytest.raises(VerificationError):
        edited(tmp_path, change)


# Numbers, through cells

EDGES = ["0", "1", "2.5", "10"]
WATTS = [float(w) for w in np.random.default_rng(3).choice([0.2, 0.9, 1.7, 2.4999, 2.5, 7.0, 10.0], 400)]
LATE = "2024-01-03 03:20/2024-01-03 03:20"


def numbers(values: list[Any] = WATTS) -> pa.Table:
    return series([10.0 * i for i in range(len(values))], values)


@pytest.mark.parametrize(
    ("symbols", "states"), [("interval", ("[0, 1)", "[1, 2.5)", "[2.5, 10]")), ("midpoint", (0.5, 1.75, 6.25))]
)
@pytest.mark.parametrize("mechanism", ["optimal", "sequential"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_numbers_are_released_as_the_cells_that_the_chain_models(
    tmp_path: Path, symbols: str, states: tuple[Any, ...], mechanism: str, suffix: str
) -> None:
    values: list[Any] = [None if i == 50 else w for i, w in enumerate(WATTS)]
    path = tmp_path / "model.json"
    past = tables.fit(numbers(), time="ts", value="v", edges=EDGES, symbols=symbols, until="2024-01-02")
    path.write_text(past.to_json())
    model = tables.models.Model.read(path)
    assert model == past
    assert model.chain.states == states
    out = tmp_path / f"out.{suffix}"
    done = redact(numbers(values), model=path, edges=EDGES, symbols=symbols, private=LATE, output=out,
                  mechanism=mechanism, ledger=tmp_path / "ledger", private_report=True)  # fmt: skip
    again = redact(numbers(values), model=path, private=LATE, mechanism=mechanism, ledger=tmp_path / "other")
    certificate = Certificate.read(done.outputs.certificate)  # type: ignore[union-attr]
    certificate.verify(out)
    assert (
        certificate.parameters["quantizer"]["edges"] == ["0", "1", "5/2", "10"]
        or certificate.parameters["quantizer"]["edges"] == EDGES
    )
    assert certificate.claims["guarantee"] == again.certificate.claims["guarantee"]
    assert any("coarsened first" in line for line in certificate.claims["assumptions"])
    cell = rt.Quantizer(EDGES, symbols).quantize(WATTS)
    table = again.table
    for i, (value, hidden) in enumerate(zip(*(table[name].to_pylist() for name in ("v", "v_redacted")), strict=True)):
        assert value == (None if hidden or i == 50 else cell[i])
    assert table["v_redacted"][308].as_py()  # the private one


def test_a_model_of_released_cells_and_the_smallest_of_a_step() -> None:
    """The smallest value of a step is chosen before it becomes a word: "[10, 20]" sorts before "[2, 10)"."""
    table = series([m for i in range(400) for m in (10.0 * i, 10.0 * i + 1)], [v for w in WATTS for v in (w, 15.0)])
    done = redact(table, model="released", margin=40, edges=[0, 1, 2, 10, 20], smoothing=1.0, private=LATE,
                  duplicates="min", mechanism="quilt", epsilon=2.0)  # fmt: skip
    done.certificate.verify()
    shown = [value for value in done.table["v"].to_pylist() if value is not None]
    assert set(shown) == {"[0, 1)", "[1, 2)", "[2, 10)", "[10, 20]"} - ({"[10, 20]"} if 10.0 not in WATTS else set())


def test_cells_that_do_not_fit_are_refused() -> None:
    past = tables.fit(numbers(), time="ts", value="v", edges=EDGES, until="2024-01-02")
    for wrong in ({"edges": [0, 1, 2, 10]}, {"edges": EDGES, "symbols": "midpoint"}):
        with pytest.raises(ArgumentError, match="edges"):
            redact(numbers(), model=past, private=LATE, **wrong)
    with pytest.raises(ArgumentError, match="edges"):
        redact(numbers(), model=CHAIN, private=LATE, edges=EDGES)
    with pytest.raises(ArgumentError, match="states"):
        tables.fit(numbers(), time="ts", value="v", edges=EDGES, states=["a", "b"])
    with pytest.raises(InputError, match="1 of 400 lie outside"):
        redact(numbers([11.0, *WATTS[1:]]), model=past, private=LATE)
    with pytest.raises(InputError, match="only numbers"):
        redact(numbers(["a"] * 400), model=past, private=LATE)


def test_verify_finds_cells_that_are_not_the_states() -> None:
    past = tables.fit(numbers(), time="ts", value="v", edges=EDGES, until="2024-01-02")
    certificate = redact(numbers(), model=past, private=LATE).certificate
    body = json.loads(json.dumps(certificate.body))
    body["parameters"]["quantizer"]["edges"][1] = "2"
    del body["digest"]
    body["digest"] = _digest(body)
    with pytest.raises(VerificationError, match="parameters"):
        Certificate(body).verify()


def test_a_model_file_whose_states_are_not_its_cells_is_refused(tmp_path: Path) -> None:
    body = json.loads(tables.fit(numbers(), time="ts", value="v", edges=EDGES).to_json())
    body["quantizer"]["edges"][1] = "2"
    (tmp_path / "m.json").write_text(json.dumps(body))
    with pytest.raises(InputError, match="cells"):
        tables.models.Model.read(tmp_path / "m.json")
