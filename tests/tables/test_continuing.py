"""A stream that goes on from file to file gives what one run gives, and draws no instant again for other data."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import shutil
import stat
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_kit import START, load, store, text_file
from typer.testing import CliRunner

import reticent as rt
from reticent import tables
from reticent.accounting.fingerprints import home
from reticent.certificates import Certificate
from reticent.cli import app
from reticent.errors import ArgumentError, InputError, RefusedError, ReticentError, VerificationError
from reticent.tables import pipeline
from reticent.tables.chunks import chunks
from reticent.tables.stream_state import Given

MALLOWS: dict[str, Any] = {"mechanism": "mallows", "window": 4, "epsilon": 2.0, "delta": 1e-2}
SWITCHES: dict[str, dict[str, Any]] = {
    "mallows": MALLOWS,
    "ran": {"mechanism": "ran", "window": 5, "epsilon": 2.0, "delta": 0.5},
    "sta": {"mechanism": "sta", "window": 4, "epsilon": 2.0, "delta": 0.5},
}
NAMES: dict[str, Any] = {"time": "t", "value": "v", "id": "i", "keep": "k"}


def panel(stretches: dict[Any, tuple[int, int]], make: Any = float) -> pa.Table:
    """Series with a record an hour from the first hour to before the last; the kept column says when."""
    rows = [
        (i, START + dt.timedelta(hours=h), make(h), f"hour {h}") for i, (a, b) in stretches.items() for h in range(a, b)
    ]
    i, t, v, k = map(list, zip(*rows, strict=True))
    return pa.table({"i": i, "t": pa.array(t, pa.timestamp("us")), "v": v, "k": k})


def once(parts: list[pa.Table], **options: Any) -> pa.Table:
    return tables.switch(pa.concat_tables(parts), source=rt.seeded_source(3), **{**NAMES, **options}).table


def in_turn(parts: list[Any], state: Path, finish: bool = True, **options: Any) -> list[pa.Table]:
    """One run for each part, the last one finishing."""
    options = {**NAMES, **options}
    last = len(parts) - 1
    runs = []
    for n, part in enumerate(parts):
        done = tables.switch(
            part, continue_from=state, finish=finish and n == last, source=rt.seeded_source(3), **options
        )
        assert done.certificate.verify().verdict == "consistent"
        runs.append(done.table)
    return runs


def together(runs: list[pa.Table], ids: tuple[str, ...] = ("i",)) -> pa.Table:
    """All rows in the order of one run: by series, and within one as they came."""
    whole = pa.concat_tables(runs)
    order = range(whole.num_rows)
    names = [whole[name].to_pylist() for name in ids]
    return whole.take(pa.array(sorted(order, key=lambda row: tuple(name[row] for name in names)), pa.int64()))


MONTHS = [
    panel({"a": (0, 90), "b": (0, 70), "c": (10, 12)}),
    panel({"a": (90, 91), "c": (12, 60)}),
    panel({"b": (70, 200), "d": (100, 104), "e": (95, 160)}),
    panel({"a": (91, 150), "d": (104, 105)}),
]


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("rows", [40, 1 << 18])
def test_all_runs_together_are_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: int) -> None:
    monkeypatch.setattr(pipeline, "chunks", functools.partial(chunks, rows=rows))
    options = SWITCHES[name]
    runs = in_turn(MONTHS, tmp_path / "state", **options)
    assert together(runs) == once(MONTHS, **options)
    assert [run.num_rows for run in runs[:-1]] != [part.num_rows for part in MONTHS[:-1]]
    assert runs[0].num_rows + runs[1].num_rows < MONTHS[0].num_rows + MONTHS[1].num_rows


@pytest.mark.parametrize("name", SWITCHES)
def test_many_series_cut_anywhere(tmp_path: Path, name: str) -> None:
    options = {**SWITCHES[name], "epsilon": 0.5, "delta": 0.9}
    first, second = {i: (0, 6 + i % 11) for i in range(300)}, {i: (6 + i % 11, 30) for i in range(300)}
    parts = [panel(first), panel(second)]
    assert together(in_turn(parts, tmp_path / "state", **options)) == once(parts, **options)


def test_each_run_releases_as_much_as_a_stream_does(tmp_path: Path) -> None:
    switch = rt.MallowsSwitch(4, 2.0, delta=1e-2)
    runs = in_turn(MONTHS, tmp_path / "state", finish=False, **MALLOWS)
    for name in "abcde":
        stream = switch.stream(rt.seeded_source(3).spawn(name))
        for part, run in zip(MONTHS, runs, strict=True):
            pushed = [v for i, v in zip(part["i"].to_pylist(), part["v"].to_pylist(), strict=True) if i == name]
            came = [v for i, v in zip(run["i"].to_pylist(), run["v"].to_pylist(), strict=True) if i == name]
            assert stream.push(np.array(pushed)).tolist() == came


@settings(max_examples=12)
@given(
    cuts=st.lists(st.integers(1, 60), min_size=1, max_size=4, unique=True).map(sorted),
    starts=st.lists(st.integers(0, 40), min_size=1, max_size=4),
    name=st.sampled_from(sorted(SWITCHES)),
    duplicates=st.sampled_from(["keep", "max"]),
)
def test_any_cuts(cuts: list[int], starts: list[int], name: str, duplicates: str) -> None:
    draw = np.random.default_rng(sum(cuts) + len(starts))
    rows = [(i, int(h), int(draw.integers(4)), f"{i}") for i, start in enumerate(starts) for h in range(start, 61)]
    if duplicates != "error":
        rows += [(i, h, v + 1, k) for i, h, v, k in rows if draw.random() < 0.3]
    edges = [0, *cuts, 61]
    parts = []
    for a, b in pairwise(edges):
        mine = [row for row in rows if a <= row[1] < b]
        draw.shuffle(mine)  # type: ignore[arg-type]  # a list will do
        if mine:
            parts.append(pa.table(dict(zip("itvk", map(list, zip(*mine, strict=True)), strict=True))))
    options = {**SWITCHES[name], "duplicates": duplicates}
    with tempfile.TemporaryDirectory() as folder:
        runs = in_turn(parts, Path(folder) / "state", **options)
    assert together(runs) == once(parts, **options)


KINDS: dict[str, list[Any]] = {
    "numbers": [0.5, -0.0, float("inf"), None],
    "whole": [1, 2**62, None, -5],
    "words": ["", None, "Zürich", "x" * 300],
    "times": [START, None, dt.datetime(1950, 1, 1, 1, 1, 1, 5)],
    "days": [dt.date(2020, 2, 29), None],
    "exact": [decimal.Decimal("1.10"), decimal.Decimal("-7.25"), None],
    "flags": [True, False, None],
    "small": pa.array([1, 2, None], pa.uint8()).to_pylist(),
}
TYPES = {"small": pa.uint8(), "times": pa.timestamp("ms", "Europe/Berlin")}


def test_values_of_every_type_and_several_columns_move_as_one(tmp_path: Path) -> None:
    def part(a: int, b: int) -> pa.Table:
        columns = {
            name: pa.array([members[(7 * h) % len(members)] for h in range(a, b)], TYPES.get(name))
            for name, members in KINDS.items()
        }
        numbers = pa.array(range(a, b), pa.int32())
        kept = pa.array([[{"at": h}] for h in range(a, b)])
        return pa.table({"t": pa.array(range(a, b), pa.int64()), **columns, "n": numbers, "k": kept})

    parts = [part(0, 40), part(40, 43), part(43, 120)]
    options = {**MALLOWS, "id": (), "value": [*KINDS, "n"]}
    runs = in_turn(parts, tmp_path / "state", **options)
    whole = once(parts, **options)
    assert pa.concat_tables(runs) == whole
    assert whole["n"].to_pylist() != list(range(120))
    moved = whole["n"].to_pylist()
    for name, members in KINDS.items():
        if name != "times":
            assert whole[name].to_pylist() == [members[(7 * n) % len(members)] for n in moved]
    assert [k[0]["at"] for k in whole["k"].to_pylist()] == list(range(120))


def test_a_value_that_is_no_number_and_several_ids(tmp_path: Path) -> None:
    def part(a: int, b: int) -> pa.Table:
        rows = [
            (i, f"s{j}", h, float("nan") if h % 3 else float(h)) for i in (1, 2) for j in (1, 2) for h in range(a, b)
        ]
        return pa.table(dict(zip(("i", "j", "t", "v"), map(list, zip(*rows, strict=True)), strict=True)))

    parts = [part(0, 30), part(30, 80)]
    options = {**SWITCHES["ran"], "id": ["i", "j"], "keep": ()}
    runs, whole = in_turn(parts, tmp_path / "state", **options), once(parts, **options)
    assert together(runs, ("i", "j")).drop(["v"]) == whole.drop(["v"])
    assert repr(together(runs, ("i", "j"))["v"].to_pylist()) == repr(whole["v"].to_pylist())


# --- files -----------------------------------------------------------------------------------------------------------


def release(part: Path, out: Path, state: Path, **options: Any) -> Path:
    done = tables.switch(
        part,
        continue_from=state,
        output=out,
        **{**NAMES, **MALLOWS, "source": rt.seeded_source(3), "ledger": False, **options},
    )
    assert done.outputs is not None
    Certificate.read(done.outputs.certificate).verify(out)
    return out


def test_files_and_their_certificates(tmp_path: Path) -> None:
    state, house = tmp_path / "house" / "state", tmp_path / "out"
    state.parent.mkdir()
    house.mkdir()
    outs = []
    for n, month in enumerate(MONTHS):
        part = store(tmp_path / f"{n}.parquet", month)
        outs.append(release(part, house / f"{n}.parquet", state, finish=n == 3))
        assert stat.S_IMODE(state.stat().st_mode) == 0o600
        assert b"AS SECRET AS THE DATA" in state.read_bytes()[:80]
        assert [path.name for path in state.parent.iterdir()] == ["state"]
        certificate = Certificate.read(house / f"{n}.parquet.certificate.json")
        stated = certificate.parameters["continued"]
        assert (stated["run"], stated["finished"]) == (n + 1, n == 3)
        assert any(
            f"release {n + 1} of the stream {stated['stream']}" in each for each in certificate.claims["assumptions"]
        )
        assert any("all releases of the stream together" in each for each in certificate.claims["assumptions"])
        guarantee = rt.MallowsSwitch(4, 2.0, delta=1e-2).guarantee
        assert certificate.claims["guarantee"]["delta"] == guarantee.delta > 0
    assert len(list(house.iterdir())) == 12
    assert together([load(out) for out in outs]) == once(MONTHS, **MALLOWS)
    source = state.read_bytes().split(b'"source": "')[1]
    assert source.startswith(b'"')  # the key is forgotten


def test_text_files_whose_types_are_found_anew(tmp_path: Path) -> None:
    halves = [("a", 0, 60, 0.5), ("a", 60, 61, None), ("17", 0, 1, 0.0), ("17", 60, 90, 1.0), ("a", 61, 150, 1.0)]
    parts = []
    for n, chosen in enumerate([halves[:1], halves[1:2], halves[2:4], halves[4:]]):
        lines = [
            f"{i},2024-01-{1 + h // 24:02} {h % 24:02}:00:00,{'' if step is None else f'{h * step:g}'}"
            for i, a, b, step in chosen
            for h in range(a, b)
        ]
        parts.append(text_file(tmp_path / f"{n}.csv", "\n".join(["i,t,v", *lines, ""])))
    whole = text_file(
        tmp_path / "whole.csv", "i,t,v\n" + "".join(part.read_text().partition("\n")[2] for part in parts)
    )
    outs = [
        release(part, tmp_path / f"out{n}.csv", tmp_path / "state", keep=(), finish=n == 3)
        for n, part in enumerate(parts)
    ]
    tables.switch(
        whole,
        output=tmp_path / "once.csv",
        source=rt.seeded_source(3),
        ledger=False,
        **{**NAMES, "keep": ()},
        **MALLOWS,
    )
    lines = [line for out in outs for line in out.read_text().splitlines()[1:]]
    assert sorted(lines, key=lambda line: line.split(",")[0]) == (tmp_path / "once.csv").read_text().splitlines()[1:]


def test_a_run_that_holds_all_back(tmp_path: Path) -> None:
    for suffix in ("csv", "parquet"):
        state = tmp_path / suffix
        parts = [panel({"a": (0, 4)}), panel({"a": (4, 60)})]
        outs = []
        for n, part in enumerate(parts):
            store(tmp_path / f"{n}.parquet", part)
            outs.append(release(tmp_path / f"{n}.parquet", tmp_path / f"out{n}.{suffix}", state, finish=n == 1))
        first, second = outs
        if suffix == "parquet":
            assert load(first).num_rows == 0
            assert load(second) == once(parts, **MALLOWS)
        certificate = Certificate.read(tmp_path / f"out0.{suffix}.certificate.json")
        body = {**certificate.body, "released": {**certificate.released, "rows": 0, "series": 0, "longest": 0}}
        (tmp_path / "other").write_bytes(second.read_bytes())
        with pytest.raises(VerificationError):
            Certificate(body).verify(tmp_path / "other")


def test_the_command(tmp_path: Path) -> None:
    run = functools.partial(CliRunner().invoke, app)
    common = ["--time", "t", "--value", "v", "--id", "i"]
    common += ["--window", "4", "--epsilon", "2", "--mechanism", "mallows", "--delta", "1e-2"]
    state = tmp_path / "state"
    outs = []
    for n, month in enumerate(MONTHS):
        part, out = store(tmp_path / f"{n}.parquet", month), tmp_path / f"out{n}.parquet"
        last = ["--finish"] if n == 3 else []
        done = run(["switch", str(part), *common, "--continue", str(state), *last, "-o", str(out)])
        assert done.exit_code == 0, done.exception
        assert ("PRIVATE" in done.output) == (n < 3)
        outs.append(load(out))
        checked = run(["verify", f"{out}.certificate.json", str(out)])
        assert checked.exit_code == 0
    assert sorted(together(outs)["v"].to_pylist()) == sorted(pa.concat_tables(MONTHS)["v"].to_pylist())
    ledger = rt.Ledger()
    (spent,) = ledger.spent(window=4)
    assert float(spent.spent.epsilon) <= 2.0  # one release, not four


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mechanism": "auto", "delta": None}, "needs the whole series .* --mechanism mallows"),
        ({"mechanism": "footrule", "delta": None}, "needs the whole series .* --delta above 0"),
        ({"mechanism": "mallows", "delta": None}, "needs the whole series"),
        ({"window": 1}, "at window 1"),
        ({"cuts": "month"}, "a stream is one piece"),
        ({"private_report": True}, "leave it away"),
    ],
)
def test_what_is_no_stream(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        in_turn(MONTHS[:1], tmp_path / "state", **{**MALLOWS, **options})
    assert not list(tmp_path.iterdir())


def test_finish_needs_a_stream_and_output_another_name(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="no stream to finish"):
        tables.switch(MONTHS[0], finish=True, **NAMES, **MALLOWS)
    part = store(tmp_path / "0.parquet", MONTHS[0])
    with pytest.raises(ArgumentError, match="one file"):
        release(part, tmp_path / "out.parquet", tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"window": 5}, "began with window 4, and now it is 5"),
        ({"epsilon": 1.0}, "epsilon 2.0, and now it is 1.0"),
        ({"delta": 1e-3}, "delta 0.01, and now it is 0.001"),
        (SWITCHES["sta"], "mechanism mallows, and now it is sta"),
        ({"keep": ()}, "keep"),
        ({"value": ["v", "k"], "keep": ()}, "value"),
        ({"duplicates": "max"}, "duplicates error"),
    ],
)
def test_a_stream_goes_on_as_it_began(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    in_turn(MONTHS[:1], tmp_path / "state", finish=False, **MALLOWS)
    before = (tmp_path / "state").read_bytes()
    with pytest.raises(ArgumentError, match=why):
        in_turn(MONTHS[1:2], tmp_path / "state", **{**MALLOWS, **options})
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert (tmp_path / "state").read_bytes() == before
    in_turn(MONTHS[1:2], tmp_path / "state", **MALLOWS)


def test_records_must_lie_after_all_before(tmp_path: Path) -> None:
    state = tmp_path / "state"
    in_turn(MONTHS[:1], state, finish=False, **MALLOWS)
    with pytest.raises(InputError, match=r"^time: 3 records do not lie after"):
        in_turn([panel({"a": (88, 95), "b": (69, 75), "z": (0, 5)})], state, **MALLOWS)
    single = tmp_path / "single"
    options = {**MALLOWS, "id": ()}
    in_turn([panel({"a": (0, 90)})], single, finish=False, **options)
    with pytest.raises(InputError, match=r"^time: 2 records"):
        in_turn([panel({"b": (88, 99)})], single, **options)


def test_types_must_stay(tmp_path: Path) -> None:
    in_turn(MONTHS[:1], tmp_path / "state", finish=False, **MALLOWS)
    for make in (int, str):
        with pytest.raises(InputError, match=r"^column v: it holds (BIGINT|VARCHAR) here, and DOUBLE"):
            in_turn([panel({"a": (90, 99)}, make)], tmp_path / "state", **MALLOWS)
    fine = panel({"a": (0, 90)})
    odd = [t + dt.timedelta(microseconds=1) for t in fine["t"].to_pylist()]
    fine = fine.set_column(1, "t", pa.array(odd, pa.timestamp("us", "UTC")))
    in_turn([fine], tmp_path / "fine", finish=False, **MALLOWS)
    coarse = panel({"a": (90, 99)})
    coarse = coarse.set_column(1, "t", coarse["t"].cast(pa.timestamp("ms", "UTC")))
    with pytest.raises(InputError, match="narrower"):
        in_turn([coarse], tmp_path / "fine", **MALLOWS)


def test_a_finished_stream_and_another_seed(tmp_path: Path) -> None:
    in_turn(MONTHS[:1], tmp_path / "state", **MALLOWS)
    with pytest.raises(ArgumentError, match="was finished"):
        in_turn(MONTHS[1:2], tmp_path / "state", **MALLOWS)
    in_turn(MONTHS[:1], tmp_path / "other", finish=False, **MALLOWS)
    with pytest.raises(ArgumentError, match=r"^seed"):
        tables.switch(MONTHS[1], continue_from=tmp_path / "other", source=rt.seeded_source(4), **NAMES, **MALLOWS)
    done = tables.switch(MONTHS[1], continue_from=tmp_path / "other", **NAMES, **MALLOWS)
    assert not done.certificate.private  # the seed is the stream's


def test_files_that_are_no_state(tmp_path: Path) -> None:
    state = tmp_path / "state"
    in_turn(MONTHS[:1], state, finish=False, **MALLOWS)
    whole = state.read_bytes()
    at = whole.index(b'"runs": 1')
    for damaged in (b"", b"i,t,v\n", whole[:200], whole[:-1], whole[:at] + b'"runs": 2' + whole[at + 9 :]):
        state.write_bytes(damaged)
        with pytest.raises(InputError, match="put the right file back"):
            in_turn(MONTHS[1:2], state, **MALLOWS)
    state.unlink()
    state.mkdir()
    with pytest.raises(ReticentError):
        in_turn(MONTHS[1:2], state, **MALLOWS)


# --- old copies, and runs that were interrupted -----------------------------------------------------------------------


def test_an_old_copy_gives_the_same_output_or_none(tmp_path: Path) -> None:
    state, copy = tmp_path / "state", tmp_path / "elsewhere" / "copy"
    copy.parent.mkdir()
    in_turn(MONTHS[:1], state, finish=False, **MALLOWS)
    shutil.copy(state, copy)
    (first,) = in_turn(MONTHS[1:2], state, finish=False, **MALLOWS)
    other = panel({"a": (90, 92), "c": (12, 60)})
    for part, finish in ((other, False), (MONTHS[1], True), (MONTHS[2], False)):
        with pytest.raises(RefusedError, match="an earlier run was begun with other records"):
            in_turn([part], copy, finish=finish, **MALLOWS)
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]
    rows = MONTHS[1].take(pa.array(range(MONTHS[1].num_rows)[::-1]))  # the order of rows is no part of the data
    (again,) = in_turn([rows], copy, finish=False, **MALLOWS)
    assert again == first
    for here in (state, copy):  # and both go on
        (third,) = in_turn(MONTHS[2:3], here, finish=False, **MALLOWS)
    (last,) = in_turn(MONTHS[3:], copy, **MALLOWS)
    runs = in_turn(MONTHS[:1], tmp_path / "afresh", finish=False, **MALLOWS)
    assert together([*runs, first, third, last]) == once(MONTHS, **MALLOWS)


def test_without_the_journal_nothing_is_drawn(tmp_path: Path) -> None:
    in_turn(MONTHS[:1], tmp_path / "state", finish=False, **MALLOWS)
    (journal,) = (home() / "streams").glob("*.journal")
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    kept = journal.read_bytes()
    for lost in (None, b""):
        journal.unlink() if lost is None else journal.write_bytes(lost)
        with pytest.raises(RefusedError, match="journal of this stream is not in the curator's folder"):
            in_turn(MONTHS[1:2], tmp_path / "state", **MALLOWS)
    journal.write_bytes(kept)
    in_turn(MONTHS[1:2], tmp_path / "state", **MALLOWS)


def test_two_runs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    in_turn(MONTHS[:1], state, finish=False, **MALLOWS)
    shutil.copy(state, tmp_path / "copy")
    plain, refused = pipeline._pass, []

    def during(*arguments: Any) -> Any:
        monkeypatch.setattr(pipeline, "_pass", plain)
        for here, why in ((state, "another release"), (tmp_path / "copy", "another run of this stream")):
            with pytest.raises(ArgumentError, match=why):
                in_turn(MONTHS[1:2], here, finish=False, **MALLOWS)
            refused.append(here)
        return plain(*arguments)

    monkeypatch.setattr(pipeline, "_pass", during)
    in_turn(MONTHS[1:2], state, finish=False, **MALLOWS)
    assert len(refused) == 2


CRASH = """
import os, sys
from pathlib import Path
import reticent as rt
from reticent import reports, tables
from reticent.tables import continuing, pipeline, staging

reports.public_report = lambda certificate: ""
part, out, state, where, ledger = sys.argv[1:]
places = {
    "before it is journalled": (continuing._Stage, "prepare"),
    "before it is charged": (pipeline, "seal"),
    "after it was charged": (staging, "_mark_ready"),
    "before the state": (continuing._Stage, "commit"),
    "before the output": (staging, "_move"),
}
owner, name = places[where]
if where == "before it is charged":
    inner = continuing._Stage.prepare
    continuing._Stage.prepare = lambda stage: (inner(stage), os._exit(9))
else:
    setattr(owner, name, lambda *arguments: os._exit(9))
tables.switch(
    Path(part), continue_from=state, output=out, ledger=ledger == "True", source=rt.seeded_source(3), time="t",
    value="v", id="i", keep="k", mechanism="mallows", window=4, epsilon=2.0, delta=1e-2,
)
"""


@pytest.mark.parametrize(
    ("where", "ledger", "complete"),
    [
        ("before it is journalled", False, False),
        ("before it is charged", True, False),
        ("after it was charged", False, False),
        ("after it was charged", True, True),
        ("before the state", False, True),
        ("before the output", True, True),
    ],
)
def test_a_run_that_was_killed(tmp_path: Path, where: str, ledger: bool, complete: bool) -> None:
    state, out = tmp_path / "state", tmp_path / "out1.parquet"
    parts = [store(tmp_path / f"{n}.parquet", month) for n, month in enumerate(MONTHS)]
    outs = [release(parts[0], tmp_path / "out0.parquet", state, ledger=ledger)]
    command = [sys.executable, "-c", CRASH, str(parts[1]), str(out), str(state), where, str(ledger)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == 9, killed.stderr
    assert not out.exists()
    other = store(tmp_path / "other.parquet", panel({"a": (90, 95), "c": (12, 60)}))
    if complete:  # any next run of the stream puts it in place
        outs += [out, release(parts[2], tmp_path / "out2.parquet", state, ledger=ledger)]
        Certificate.read(tmp_path / "out1.parquet.certificate.json").verify(out)
        with pytest.raises(InputError, match="do not lie after"):
            release(parts[1], out, state, overwrite=True, ledger=ledger)
    else:
        if where != "before it is journalled":  # what was never published may not be drawn for other data either
            with pytest.raises(RefusedError, match="other records"):
                release(other, out, state, ledger=ledger)
        outs.append(release(parts[1], out, state, ledger=ledger))
        outs.append(release(parts[2], tmp_path / "out2.parquet", state, ledger=ledger))
    outs.append(release(parts[3], tmp_path / "out3.parquet", state, finish=True, ledger=ledger))
    assert together([load(each) for each in outs]) == once(MONTHS, **MALLOWS)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_same_command_again_after_it_was_killed(tmp_path: Path) -> None:
    state, out = tmp_path / "state", tmp_path / "out0.parquet"
    part = store(tmp_path / "0.parquet", MONTHS[0])
    command = [sys.executable, "-c", CRASH, str(part), str(out), str(state), "before the state", "False"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 9
    with pytest.raises(ArgumentError, match="was complete and is now in place"):
        release(part, out, state)
    runs = [load(out), *in_turn(MONTHS[1:], state, **MALLOWS)]
    assert together(runs) == once(MONTHS, **MALLOWS)


# --- the ledger ------------------------------------------------------------------------------------------------------


def test_a_stream_is_charged_once_and_stands_alone(tmp_path: Path) -> None:
    ledger = rt.Ledger()
    limit = ledger.limit(epsilon=3, delta=0.1, window=4)
    state = tmp_path / "state"
    parts = [store(tmp_path / f"{n}.parquet", month) for n, month in enumerate(MONTHS)]
    for n, part in enumerate(parts[:3]):
        release(part, tmp_path / f"out{n}.parquet", state, ledger=ledger)
    (spent,) = ledger.spent(window=4)
    assert spent.spent.within(limit)
    with pytest.raises(RefusedError, match="stretch"):  # a month of its own betrays what is on its two sides
        tables.switch(parts[1], output=tmp_path / "alone.parquet", ledger=ledger, **NAMES, **MALLOWS)
    release(parts[3], tmp_path / "out3.parquet", state, ledger=ledger, finish=True)
    whole = store(tmp_path / "whole.parquet", pa.concat_tables(MONTHS))
    again = {**NAMES, **MALLOWS, "epsilon": 0.5}
    tables.switch(whole, output=tmp_path / "again.parquet", ledger=ledger, **again)  # the same records: it adds
    (spent,) = ledger.spent(window=4)
    assert 2.4 < float(spent.spent.epsilon) <= 2.5
    more = store(tmp_path / "more.parquet", panel({"a": (150, 200)}))
    with pytest.raises(RefusedError, match="stretch"):
        release(more, tmp_path / "more.out.parquet", tmp_path / "another", ledger=ledger)


def test_an_old_copy_is_not_charged_twice(tmp_path: Path) -> None:
    ledger = rt.Ledger()
    state, copy = tmp_path / "state", tmp_path / "copy"
    parts = [store(tmp_path / f"{n}.parquet", month) for n, month in enumerate(MONTHS)]
    release(parts[0], tmp_path / "out0.parquet", state, ledger=ledger)
    shutil.copy(state, copy)
    first = load(release(parts[1], tmp_path / "out1.parquet", state, ledger=ledger))
    before = ledger.spent(window=4)[0].spent
    assert load(release(parts[1], tmp_path / "out1b.parquet", copy, ledger=ledger)) == first
    assert ledger.spent(window=4)[0].spent == before


# --- the digest of what was given ------------------------------------------------------------------------------------


def test_the_digest_does_not_depend_on_cuts_and_tells_data_apart() -> None:
    table = pa.table(
        {
            "words": ["", None, "ab", "a", "b", None],
            "numbers": [0.0, None, 1.0, 2.0, float("nan"), 3.0],
            "flags": [True, None, False, True, True, False],
            "exact": pa.array([decimal.Decimal("1.5"), None, None, None, decimal.Decimal("2.5"), None]),
            "nested": [[1], None, [], [2, 3], [4], None],
            "times": pa.array([1, None, 2, 3, 4, 5], pa.timestamp("ns")),
        }
    )

    def digest(*parts: pa.Table, finish: bool = False) -> str:
        given = Given()
        for part in parts:
            given.add(part)
        return given.value(finish)

    whole = digest(table)
    for cut in range(7):
        assert digest(table.slice(0, cut), table.slice(cut)) == whole
    assert digest(table, finish=True) != whole
    assert digest(table.slice(1)) != whole
    for name in table.column_names:
        at = table.schema.get_field_index(name)
        turned = pa.concat_arrays([table[name].combine_chunks().slice(1), table[name].combine_chunks().slice(0, 1)])
        assert digest(table.set_column(at, name, turned)) != whole
    for one, other in ([["ab", ""], ["a", "b"]], [[""], [None]], [["a", None], [None, "a"]]):
        assert digest(pa.table({"x": one})) != digest(pa.table({"x": other}))
