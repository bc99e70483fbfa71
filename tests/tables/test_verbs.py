"""What each verb may and may not do to the values, for files and frames, whatever the order of the rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_kit import START, by_series, hours, load, rows, store, switched

import reticent as rt
from reticent import tables
from reticent.accounting.fingerprints import fingerprint_key
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, InputError, RefusedError
from reticent.tables import Private, pipeline
from reticent.tables import chunks as chunking

NAN = float("nan")
CHAIN = rt.MarkovChain.binary(0.3, 0.4)


def panel(series: int = 5, length: int = 40, seed: int = 3) -> pa.Table:
    """Series of unequal length over two states, with a second value, a null, a NaN, and columns to keep or drop."""
    rng = np.random.default_rng(seed)
    ids, times, states, loads = [], [], [], []
    for name in range(series):
        size = length - 3 * name
        ids += [f"s{name}"] * size
        times += [START + dt.timedelta(hours=h) for h in range(size)]
        states += rng.integers(0, 2, size).tolist()
        loads += rng.normal(size=size).round(3).tolist()
    loads[1], loads[4], loads[7] = None, NAN, -0.0
    note = [f"n{i}" for i in range(len(ids))]
    return pa.table({"id": ids, "ts": times, "state": states, "load": loads, "note": note, "extra": note})


PANEL = panel()
HIDDEN = Private(("2024-01-01 10:00/2024-01-01 12:00",))


def release(verb: str, table: Any, **options: Any) -> tables.Release:
    options = {"id": "id", "time": "ts", "source": rt.seeded_source(7), "ledger": False} | options
    match verb:
        case "switch":
            return tables.switch(table, **{"value": ("state", "load"), "window": 4, "epsilon": 1.0} | options)
        case "quantize":
            options.pop("source")
            return tables.quantize(table, **{"value": "load", "low": -5, "high": 5, "bits": 3} | options)
    return tables.redact(table, **{"value": "state", "private": HIDDEN, "epsilon": 0.4, "model": CHAIN} | options)


VERBS = ("switch", "quantize", "redact")


@pytest.mark.parametrize("mechanism", ["footrule", "mallows"])
def test_switch_keeps_the_values_of_each_series_and_moves_records_whole(mechanism: str) -> None:
    out = release("switch", PANEL, mechanism=mechanism).table
    pairs = list(zip(PANEL["state"].to_pylist(), PANEL["load"].to_pylist(), strict=True))
    moved = list(zip(out["state"].to_pylist(), out["load"].to_pylist(), strict=True))
    assert by_series(out["id"].to_pylist(), moved) == by_series(PANEL["id"].to_pylist(), pairs)
    assert moved != pairs
    assert out["ts"].to_pylist() == PANEL["ts"].to_pylist()


def test_redact_gives_the_original_or_nothing() -> None:
    out = release("redact", PANEL).table
    hidden = out["state_redacted"].to_pylist()
    for before, after, flag, time in zip(
        PANEL["state"].to_pylist(), out["state"].to_pylist(), hidden, out["ts"].to_pylist(), strict=True
    ):
        assert after is None if flag else after == before
        assert flag or not 10 <= (time - START) / dt.timedelta(hours=1) <= 12
    assert 15 <= sum(hidden) < len(hidden)


def test_quantize_gives_declared_symbols() -> None:
    done = release("quantize", PANEL)
    symbols = {-5 + 10 / 16 + i * 10 / 8 for i in range(8)}
    assert set(done.table["load"].drop_null().to_pylist()) <= symbols
    missing = [value is None or value != value for value in PANEL["load"].to_pylist()]
    assert [value is None for value in done.table["load"].to_pylist()] == missing
    for before, after in zip(PANEL["load"].to_pylist(), done.table["load"].to_pylist(), strict=True):
        assert after is None or abs(after - before) <= 10 / 16


@pytest.mark.parametrize("verb", VERBS)
def test_other_columns_are_dropped_unless_kept(verb: str) -> None:
    assert not {"note", "extra"} & set(release(verb, PANEL).table.column_names)
    done = release(verb, PANEL, keep="note")
    assert "note" in done.table.column_names
    assert "extra" not in done.table.column_names
    assert done.table["note"].to_pylist() == PANEL["note"].to_pylist()
    assert any("note" in each for each in done.certificate.claims["assumptions"])


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_kind_of_frame_comes_out(verb: str) -> None:
    arrow = release(verb, PANEL).table
    pandas = PANEL.to_pandas().sample(frac=1, random_state=1)
    pandas.index = pd.Index(range(100, 100 + len(pandas)), name="customer")
    out = release(verb, pandas).table
    assert isinstance(out, pd.DataFrame)
    assert out.index.equals(pd.RangeIndex(len(pandas)))
    assert list(out.columns) == arrow.column_names
    lazy = release(verb, pl.from_arrow(PANEL).lazy()).table  # type: ignore[union-attr]
    eager = release(verb, pl.from_arrow(PANEL).sample(fraction=1.0, shuffle=True, seed=1)).table  # type: ignore[union-attr]
    assert isinstance(eager, pl.DataFrame)
    assert lazy.equals(eager, null_equal=True)
    assert eager["ts"].to_list() == arrow["ts"].to_pylist()
    assert arrow.schema.metadata is None
    named = [name for name in eager.columns if name != "load"]
    assert eager.select(named).rows() == pl.from_arrow(arrow).select(named).rows()  # type: ignore[union-attr]
    shown = [None if value is pd.NA or value != value else value for value in out[named[-1]].tolist()]
    assert shown == arrow[named[-1]].to_pylist()


def test_whole_numbers_of_pandas_stay_whole_when_some_are_withheld() -> None:
    out = release("redact", PANEL.to_pandas().astype({"state": "int8"})).table
    assert out["state"].dtype == pd.Int8Dtype()
    assert out["state_redacted"].dtype == bool


@pytest.mark.parametrize("frame", [[1, 2], {"ts": [1]}, 5, None, np.zeros(3)])
def test_what_is_no_frame(frame: Any) -> None:
    with pytest.raises(ArgumentError, match="table: "):
        release("switch", frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"id": ["a", "a"], "ts": [1, 2], "load": [1.0, "CANARY"], "state": [0, 1]}),
        pd.DataFrame([["a", 1, 0.5, 0.5]], columns=["id", "ts", "load", "load"]),
    ],
)
def test_frames_whose_columns_cannot_be_read(frame: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="table: ") as caught:
        release("quantize", frame)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
@pytest.mark.parametrize("verb", VERBS)
@given(order=st.permutations(range(PANEL.num_rows)))
@settings(max_examples=4)
def test_the_order_of_rows_has_no_influence(
    tmp_path_factory: pytest.TempPathFactory, verb: str, suffix: str, order: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("order")
    seen = []
    for rows_in in (range(PANEL.num_rows), order):
        source = store(folder / "in.parquet", PANEL.take(list(rows_in)))
        out = release(verb, source, output=folder / f"out{suffix}", overwrite=True).outputs
        assert out is not None
        seen.append((out.released.read_bytes(), out.certificate.read_bytes()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("verb", VERBS)
def test_where_chunks_end_changes_nothing(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = release(verb, PANEL)
    original = chunking.chunks
    for size in (1, 7, 39, 41, 100):  # the longest series has 40 rows
        small = lambda records, _size=size, **options: original(records, **options | {"rows": _size})  # noqa: E731
        for room in ("pipeline", "models"):
            monkeypatch.setattr(f"reticent.tables.{room}.chunks", small)
        again = release(verb, PANEL)
        assert (
            again.table.drop_columns("load").equals(whole.table.drop_columns("load"))
            if "load" in whole.table.column_names
            else again.table.equals(whole.table)
        )
        assert again.certificate.body == whole.certificate.body


@pytest.mark.parametrize("size", [1, 3, 8, 1000])
def test_chunks_hold_whole_series_in_order(size: int) -> None:
    job = tables.jobs.job_of(PANEL, {"id": "id", "time": "ts", "value": "load"})
    with pipeline.opened(job, ()) as records:
        parts = list(chunking.chunks(records, rows=size))
    names = [name for part in parts for name in part.ids]
    assert names == ["s0", "s1", "s2", "s3", "s4"]
    assert [int(n) for part in parts for n in part.lengths] == [40, 37, 34, 31, 28]
    assert [name for part in parts for name in part.table["id"].to_pylist()] == PANEL["id"].to_pylist()


def test_one_row(tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "ts": hours(1), "state": [1], "load": [0.5]})
    assert release("switch", table).table["state"].to_pylist() == [1]
    assert release("quantize", table).table["load"].to_pylist() == [0.625]
    done = release("redact", table, private="2024-01-01/2024-01-01", output=tmp_path / "o.csv")
    assert done.outputs is not None
    assert rows(tmp_path / "o.csv")[1] == ["a", "2024-01-01 00:00:00", "", "true"]
    Certificate.read(done.outputs.certificate).verify(tmp_path / "o.csv")


@pytest.mark.parametrize("verb", VERBS)
def test_many_tiny_series(tmp_path: Path, verb: str) -> None:
    count = 30_000
    ids = np.repeat(np.arange(count), 2)
    table = pa.table({"id": ids, "ts": np.tile([0, 1], count), "state": ids % 2, "load": (ids % 5).astype(float)})
    out = tmp_path / "out.parquet"
    done = release(verb, table, output=out, **({"private": "1/1"} if verb == "redact" else {}))
    assert done.certificate.released["series"] == count
    assert (tmp_path / "out.parquet.certificate.json").stat().st_size < 20_000
    assert done.certificate.verify(out).checks


def test_null_and_nan_are_told_apart_by_a_switch() -> None:
    values = [1.0, None, NAN, -0.0, 0.0, None, 2.0, NAN]
    table = pa.table({"ts": hours(8), "v": pa.array(values)})
    out = tables.switch(table, time="ts", value="v", window=8, epsilon=0.5).table["v"].to_pylist()
    assert sorted(map(repr, out)) == sorted(map(repr, values))


def test_a_private_record_looks_the_same_whether_it_was_missing() -> None:
    base = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    shown = []
    for secret in (0.0, 1.0, None, NAN, -0.0):
        values = [*base[:3], secret, *base[4:]]
        table = pa.table({"ts": hours(8), "v": pa.array(values, pa.float64())})
        chain = rt.MarkovChain([[0.5, 0.5], [0.5, 0.5]], (0.0, 1.0))
        done = tables.redact(
            table, time="ts", value="v", private="2024-01-01 03:00/2024-01-01 03:00", epsilon=0.5, model=chain,
            source=rt.seeded_source(1),
        )  # fmt: skip
        shown.append((done.table.to_pydict(), done.certificate.body))
    assert all(each == shown[0] for each in shown)
    assert shown[0][0]["v"] == [*base[:3], None, *base[4:]]


def test_series_without_secrets_are_released_whole() -> None:
    done = release("redact", PANEL, private=Private(where="id = 's1' and hour(ts) = 5"), epsilon=0.3)
    other = np.array(PANEL["id"]) != "s1"
    out = done.table
    assert not np.array(out["state_redacted"])[other].any()
    assert np.array(out["state"].to_pylist(), dtype=object)[other].tolist() == np.array(PANEL["state"])[other].tolist()
    assert done.certificate.claims["utility"]["series_released_whole"] == 4


def test_a_released_state_carries_no_sign_of_zero() -> None:
    table = pa.table({"ts": hours(4), "v": [0.0, -0.0, 1.0, -0.0]})
    out = tables.redact(
        table, time="ts", value="v", private="2024-01-01/2024-01-01", epsilon=0.5,
        model=rt.MarkovChain([[0.5, 0.5], [0.5, 0.5]], (0.0, 1.0)),
    ).table  # fmt: skip
    assert list(map(repr, out["v"].to_pylist())) == ["None", "0.0", "1.0", "0.0"]


def test_a_column_that_would_take_the_name_of_the_flag_is_refused() -> None:
    table = PANEL.append_column("state_redacted", PANEL["note"])
    with pytest.raises(ArgumentError, match="state_redacted"):
        release("redact", table, keep="state_redacted")


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("switch", {"epsilon": -1.0}),
        ("switch", {"epsilon": NAN}),
        ("switch", {"window": 0}),
        ("switch", {"window": 2.5}),
        ("switch", {"mechanism": "shuffle"}),
        ("switch", {"mechanism": "ran", "delta": NAN}),
        ("switch", {"mechanism": "ran", "delta": 1.0}),
        ("redact", {"epsilon": -1.0}),
        ("redact", {"epsilon": NAN}),
        ("redact", {"epsilon": float("inf")}),
        ("redact", {"mechanism": "shuffle"}),
        ("redact", {"value": ("state", "load")}),
        ("redact", {"margin": 3}),
        ("redact", {"model": "released"}),
        ("redact", {"private": "yesterday"}),
        ("redact", {"private": "a/b"}),
        ("redact", {"private": "2024-01-02/2024-01-01"}),
        ("redact", {"every": "soon"}),
        ("quantize", {"bits": None}),
        ("quantize", {"bits": -1}),
        ("quantize", {"bits": "many"}),
        ("quantize", {"low": 5, "high": -5}),
        ("quantize", {"low": NAN}),
        ("quantize", {"low": (0, 1)}),
    ],
)
def test_arguments_that_cannot_be(verb: str, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^[a-zμ, -]+: "):
        release(verb, PANEL, **options)


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("redact", {"private": "2030-01-01/2030-01-02"}),
        ("redact", {"value": "load"}),
        ("quantize", {"low": -1, "high": 1}),
        ("quantize", {"value": "note"}),
    ],
)
def test_data_that_do_not_fit(verb: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        release(verb, PANEL, **options)


def test_an_epsilon_that_nothing_meets_withholds_all() -> None:
    table = pa.table({"ts": hours(4), "state": [0, 0, 1, 1], "id": ["a"] * 4})
    out = release("redact", table, private="2024-01-01/2024-01-01", epsilon=0.0, model=rt.MarkovChain.binary(0.1, 0.1))
    assert out.table["state"].null_count == 4


def test_the_key_of_fingerprints_is_the_owners_alone() -> None:
    import os

    fingerprint_key()
    path = Path(os.environ["RETICENT_HOME"]) / "fingerprint.key"
    assert path.stat().st_mode & 0o077 == 0


def test_a_claim_that_does_not_hold_releases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.certificates.claims", lambda *_: {"kept": False})
    for verb in VERBS:
        with pytest.raises(RefusedError):
            release(verb, PANEL, output=tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_formats_change_with_the_suffix(tmp_path: Path) -> None:
    source = store(tmp_path / "in.feather", PANEL.select(["ts", "state"]).slice(0, 10).rename_columns(["ts", "kwh"]))
    for name in ("o.csv", "o.tsv", "o.parquet", "o.feather", "o.csv.gz", "o"):
        out = switched(source, tmp_path / name)
        assert out.read_bytes()[:4] == {
            "o.csv": b'"ts"',
            "o.tsv": b'"ts"',
            "o.parquet": b"PAR1",
            "o.csv.gz": b"\x1f\x8b\x08\x00",
        }.get(name, b"ARRO")
    assert rows(tmp_path / "o.tsv", "\t")[0] == ["ts", "kwh"]
    assert load(tmp_path / "o.parquet").schema.metadata is None
    with pytest.raises(ArgumentError, match=r"\.xlsx"):
        switched(source, tmp_path / "o.xlsx")
    frame_out = switched(PANEL.select(["ts", "state"]).slice(0, 10).rename_columns(["ts", "kwh"]), tmp_path / "f")
    assert frame_out.read_bytes()[:4] == b"ARRO"


def tied(values: list[list[float]], notes: list[str] | None = None, copies: int = 1) -> pa.Table:
    """One record at the first time and two at the second, in as many series as `copies`."""
    columns = {name: column * copies for name, column in zip("vw", values, strict=False)}
    times = pa.array([START, *[START + dt.timedelta(hours=1)] * 2] * copies, pa.timestamp("us"))
    return pa.table(
        {"id": np.repeat(np.arange(copies), 3), "ts": times, **columns, "note": (notes or [""] * 3) * copies}
    )


def test_records_of_one_time_are_exchanged_as_others_are() -> None:
    """In the order of their values the exchange of 5 and 1 in 5 | 1, 3 would be another one as well: e^{2ε}."""
    options = {"window": 3, "mechanism": "ran", "delta": 0.99, "epsilon": 2.0, "value": "v", "duplicates": "keep"}
    counts = []
    for values in ([5, 1, 3], [1, 5, 3]):
        out = release("switch", tied([values], copies=6000), **options).table
        kinds, found = np.unique(out["v"].to_numpy().reshape(-1, 3), axis=0, return_counts=True)
        counts.append(dict(zip(map(tuple, kinds.tolist()), found.tolist(), strict=True)))
    for order in counts[0]:
        assert abs(np.log(counts[0][order] / counts[1][order])) < 2.0 + 5 * sum(c[order] ** -0.5 for c in counts)


@pytest.mark.parametrize("rule", ["keep", "min", "max"])
def test_records_of_one_time_show_no_more_than_their_symbols(rule: str) -> None:
    options = {"duplicates": rule, "value": ("v", "w"), "low": (0, 0), "high": (10, 10), "outside": "missing"}
    one = release("quantize", tied([[0, 1.1, 1.2], [0, 9, 1]]), **options).table
    two = release("quantize", tied([[0, 1.2, 1.1], [0, 9, 1]]), **options).table
    if rule == "keep":
        assert one.equals(two)
    assert one["v"].to_pylist() == two["v"].to_pylist()
    low, high = (
        release("quantize", tied([[0, out, 5]]), **options | {"value": "v", "low": 0, "high": 10, "duplicates": "keep"})
        for out in (-1, 11)
    )
    assert low.table.equals(high.table), "missing because below, or because above"
    for verb in ("quantize", "switch"):
        with pytest.raises(InputError, match="differ in a column that is kept"):
            release(verb, tied([[0, 1, 2], [0, 0, 0]], ["", "a", "b"]), duplicates=rule, value="v", keep="note")
    tables.quantize(tied([[0, 1, 2]]), low=0, high=9, bits=1, time="ts", value="v", id="id", duplicates=rule)
