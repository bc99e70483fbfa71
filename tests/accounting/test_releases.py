"""Releases of tables: charged first, answered again, completed after a crash, never drawn afresh."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import reticent as rt
from reticent.accounting import Budget, Event, Ledger
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, LedgerError, RefusedError
from reticent.tables.charging import calendar, file_hash

COLUMNS: dict[str, Any] = {"id": "meter", "time": "ts", "value": "kwh"}


def frame(meters: int = 4, hours: int = 40, start: str = "2024-01-01") -> pd.DataFrame:
    times = pd.date_range(start, periods=hours, freq="h")
    rows = [(f"m{m}", t, (m + i) % 10) for m in range(meters) for i, t in enumerate(times)]
    return pd.DataFrame(rows, columns=["meter", "ts", "kwh"])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    frame().to_csv(path, index=False)
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def switch(data: Any, output: Path | None, ledger: Any, **options: Any) -> Any:
    return rt.tables.switch(data, window=4, epsilon=1.0, output=output, ledger=ledger, **COLUMNS, **options)


def epsilon(ledger: Ledger, dataset: str = "") -> Any:
    (spending,) = ledger.spent(dataset, window=4)
    return spending.spent.epsilon


def test_the_same_data_under_another_name_or_order_are_charged_together(data: Path, ledger: Ledger) -> None:
    one = float(epsilon_of(switch(data, data.with_name("a.csv"), ledger)))
    shuffled = frame().sample(frac=1, random_state=3)
    shuffled.to_parquet(data.with_name("renamed.parquet"))
    release = switch(data.with_name("renamed.parquet"), data.with_name("b.csv"), ledger)
    assert release.charge.again == 4
    assert float(epsilon(ledger)) == pytest.approx(2 * one)
    release = switch(frame(meters=6), None, ledger)  # two more meters
    assert release.charge.again == 4
    assert float(epsilon(ledger)) == pytest.approx(3 * one)


def epsilon_of(release: Any) -> Any:
    return release.charge.spent[0].spent.epsilon


def test_an_extended_file_is_charged_on_the_overlap(data: Path, ledger: Ledger) -> None:
    common: dict[str, Any] = {"low": 0, "high": 10, **COLUMNS, "ledger": ledger}
    rt.tables.quantize(data, outputs=4, output=data.with_name("a.csv"), **common)
    later = rt.tables.quantize(frame(start="2024-02-01"), outputs=5, **common)
    assert later.charge.spent[0].spent.outputs == 5
    longer = rt.tables.quantize(frame(hours=24 * 40), outputs=5, **common)
    assert longer.charge.spent[0].spent.outputs == 8  # the common refinement of 4 and 5 cells
    switch(data, None, ledger, dataset="switched")
    with pytest.raises(RefusedError, match="which stretch a value came from"):
        switch(frame(hours=50), None, ledger, dataset="switched")


def test_a_limit_refuses_and_leaves_nothing_behind(data: Path, ledger: Ledger) -> None:
    ledger.limit(epsilon="1.5", window=4)
    switch(data, data.with_name("a.csv"), ledger)
    with pytest.raises(RefusedError, match="budget would be exceeded"):
        switch(data, data.with_name("b.csv"), ledger, request="r")
    assert sorted(path.name for path in data.parent.iterdir()) == [
        "a.csv",
        "a.csv.certificate.json",
        "a.csv.report.html",
        "in.csv",
        "ledger.sqlite",
        "ledger.sqlite.answers",
    ]
    assert not list((data.parent / "ledger.sqlite.answers").iterdir())


def test_a_request_is_answered_again_with_the_same_file(data: Path, ledger: Ledger) -> None:
    first = switch(data, data.with_name("a.csv"), ledger, request="r")
    spent = epsilon(ledger)
    for name in ("a.csv", "b.csv"):
        again = switch(data, data.with_name(name), ledger, request="r")
        assert again.charge.answered
        assert file_hash(data.with_name(name)) == first.certificate.released["sha256"]
        assert Certificate.read(again.outputs.certificate).verify(again.outputs.released).verdict == "consistent"
    assert epsilon(ledger) == spent
    with pytest.raises(RefusedError, match="name of its own"):
        rt.tables.switch(
            data, window=5, epsilon=1.0, output=data.with_name("c.csv"), ledger=ledger, request="r", **COLUMNS
        )
    switch(frame(), None, ledger, dataset="s", request="s")
    with pytest.raises(RefusedError, match="data frame"):
        switch(frame(), None, ledger, dataset="s", request="s")
    (stored,) = (data.parent / "ledger.sqlite.answers").glob("*/released")
    stored.unlink()
    stored.write_text("other")
    with pytest.raises(LedgerError, match="altered"):
        switch(data, data.with_name("d.csv"), ledger, request="r")
    assert not data.with_name("d.csv").exists()


def test_a_sequential_redaction_is_drawn_once(tmp_path: Path, ledger: Ledger) -> None:
    table = frame(meters=2)
    table["kwh"] = (table["kwh"] > 4).astype(int)
    table.to_csv(tmp_path / "in.csv", index=False)
    common: dict[str, Any] = {
        "private": "2024-01-01 10:00/2024-01-01 11:00",
        "epsilon": 0.5,
        "model": rt.MarkovChain.binary(0.1, 0.3),
        "mechanism": "sequential",
        **COLUMNS,
    }
    one = rt.tables.redact(tmp_path / "in.csv", output=tmp_path / "a.csv", ledger=ledger, **common)
    again = rt.tables.redact(tmp_path / "in.csv", output=tmp_path / "b.csv", ledger=ledger, **common)
    assert (one.charge.answered, again.charge.answered) == (False, True)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert Certificate.read(again.outputs.certificate).verify(again.outputs.released).verdict == "consistent"
    with pytest.raises(RefusedError, match="drawn once"):
        rt.tables.redact(tmp_path / "in.csv", output=tmp_path / "c.csv", ledger=ledger, **{**common, "epsilon": 0.6})
    with pytest.raises(RefusedError, match="which only a ledger can see to"):
        rt.tables.redact(tmp_path / "in.csv", output=tmp_path / "d.csv", ledger=False, **common)
    rt.tables.redact(table, **common)  # the curator's own ledger, since it may be drawn only once
    with pytest.raises(RefusedError, match="data frame"):
        rt.tables.redact(table, **common)


def test_redactions_are_charged_by_what_they_leak_together(tmp_path: Path, ledger: Ledger) -> None:
    table = frame(meters=2)
    table["kwh"] = (table["kwh"] > 4).astype(int)
    common: dict[str, Any] = {
        "private": "2024-01-01 20:00/2024-01-01 21:00",
        "model": rt.MarkovChain.binary(0.1, 0.3),
        "mechanism": "quilt",
        "ledger": ledger,
        **COLUMNS,
    }
    wide = rt.tables.redact(table, epsilon=0.5, **common)
    narrow = rt.tables.redact(table, epsilon=1.5, **common)
    leaked = [float(each.charge.spent[0].spent.epsilon) for each in (wide, narrow)]
    assert leaked[0] == pytest.approx(wide.certificate.claims["guarantee"]["epsilon"])
    assert leaked[1] == pytest.approx(narrow.certificate.claims["guarantee"]["epsilon"])  # the narrow one shows more
    with pytest.raises(RefusedError, match="would show a record"):
        rt.tables.redact(table, epsilon=1.5, **{**common, "private": "2024-01-01 02:00/2024-01-01 02:00"})


def test_other_cells_with_the_same_symbols_are_other_states(ledger: Ledger) -> None:
    """Midpoints 1 and 3 both, but together the releases show on which side of 1.5 and of 2 a value lies."""
    table = pd.DataFrame({"t": range(60), "v": [1.0, 1.7, 3.0] * 20})

    def redact(edges: list[float]) -> Any:
        chain = rt.MarkovChain([[0.6, 0.4], [0.5, 0.5]], states=rt.Quantizer(edges).symbols)
        given = {"epsilon": 1.0, "model": chain, "edges": edges, "symbols": "midpoint", "mechanism": "optimal"}
        return rt.tables.redact(table, time="t", value="v", private="30/30", ledger=ledger, **given)

    redact([0, 2, 4])
    redact([0, 2, 4])
    with pytest.raises(RefusedError, match="states"):
        redact([0.5, 1.5, 4.5])


def test_quantise_then_switch_is_one_pipeline(data: Path, ledger: Ledger) -> None:
    coarse = data.with_name("coarse.csv")
    common: dict[str, Any] = {"low": 0, "high": 10, "outputs": 4, **COLUMNS, "ledger": ledger}
    rt.tables.quantize(data, output=coarse, internal=True, **common)
    assert ledger.spent() == ()
    release = switch(coarse, data.with_name("out.csv"), ledger)
    assert {each.spent.kind for each in release.charge.spent} == {"noiseless", "temporal"}
    with pytest.raises(RefusedError, match="pipeline"):
        rt.tables.quantize(data, output=data.with_name("also.csv"), **common)
    rt.tables.quantize(data, output=data.with_name("also.csv"), dataset="x", **common)
    with pytest.raises(RefusedError, match="shows the order of the values"):
        switch(data, data.with_name("and.csv"), ledger, dataset="x")


def test_redact_then_quantise_keeps_the_redaction_s_account(tmp_path: Path, ledger: Ledger) -> None:
    table = frame(meters=3)
    table["kwh"] = (table["kwh"] > 4).astype(int)
    table.iloc[50:].to_csv(tmp_path / "in.csv", index=False)  # series of unequal lengths
    common: dict[str, Any] = {
        "private": "2024-01-01 20:00/2024-01-01 21:00",
        "model": rt.MarkovChain.binary(0.1, 0.3),
        "mechanism": "quilt",
        "ledger": ledger,
        **COLUMNS,
    }
    rt.tables.redact(tmp_path / "in.csv", epsilon=1.0, output=tmp_path / "step.csv", internal=True, **common)
    coarse: dict[str, Any] = {"low": 0, "high": 1, "outputs": 2, "ledger": ledger, **COLUMNS}
    release = rt.tables.quantize(tmp_path / "step.csv", output=tmp_path / "out.csv", **coarse)
    (spending,) = release.charge.spent
    assert spending.spent.kind == "pufferfish"
    assert 0 < spending.spent.epsilon <= 1
    again = rt.tables.redact(tmp_path / "in.csv", epsilon=1.0, output=tmp_path / "other.csv", **common)
    assert again.charge.again == again.certificate.released["series"]
    part = tmp_path / "step.csv"
    part.write_text("\n".join(part.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(RefusedError):
        rt.tables.quantize(part, output=tmp_path / "out2.csv", **coarse)


def test_a_request_names_its_input(data: Path, ledger: Ledger) -> None:
    switch(data, data.with_name("a.csv"), ledger, request="r")
    frame(meters=2).to_csv(data.with_name("other.csv"), index=False)
    with pytest.raises(RefusedError, match="name of its own"):
        switch(data.with_name("other.csv"), data.with_name("b.csv"), ledger, request="r")


def test_a_request_names_its_data_frame_too(tmp_path: Path, ledger: Ledger) -> None:
    first = switch(frame(), tmp_path / "a.csv", ledger, request="r")
    assert switch(frame(), tmp_path / "b.csv", ledger, request="r").charge.number == first.charge.number
    with pytest.raises(RefusedError, match="name of its own"):
        switch(frame().assign(kwh=1), tmp_path / "c.csv", ledger, request="r")


@pytest.mark.parametrize("mechanism", ["optimal", "sequential"])
def test_a_model_of_the_released_records_that_was_refused_is_not_tried_again(mechanism: str, ledger: Ledger) -> None:
    """Another margin would be chosen by looking at records that it may hide."""
    slow = rt.MarkovChain.binary(0.02, 0.02).sample(3000, rt.seeded_source(3))

    def redact(first: int = 0, values: Any = slow, **options: Any) -> Any:
        table = pd.DataFrame({"id": "a", "t": np.arange(first, first + len(values)), "v": values})
        given = {"epsilon": 1.0, "model": "released", "margin": 90, "mechanism": mechanism, "ledger": ledger} | options
        return rt.tables.redact(table, id="id", time="t", value="v", private=f"{first + 20}/{first + 20}", **given)

    with pytest.raises(RefusedError, match="another margin must not be tried"):
        redact(epsilon=0.1, margin=2, ledger=False, mechanism="optimal")
    with pytest.raises(RefusedError, match="another margin must not be tried"):
        redact(epsilon=0.1, margin=2)
    assert [each.entry for each in ledger.history()] == ["refusal"]
    ledger.reset(reason="what was told stays told")
    for book in (ledger, Ledger(ledger.path)):
        with pytest.raises(RefusedError, match="was refused before"):
            redact(ledger=book)
    with pytest.raises(RefusedError, match="was refused before"):
        redact(2900)
    assert not ledger.spent()
    assert redact(dataset="other").charge.spent
    assert redact(model=rt.MarkovChain.binary(0.3, 0.3), margin=None).charge.spent  # no function of these records


def test_aggregates_are_charged_to_their_individuals(data: Path, ledger: Ledger) -> None:
    common: dict[str, Any] = {"query": "mean", "low": 0, "high": 10, "resolution": 1, **COLUMNS, "ledger": ledger}
    common |= {"since": "2024-01-01", "until": "2024-01-03"}
    rt.tables.aggregate(data, outputs=3, per="1d", every="1h", participation="private", **common)
    release = rt.tables.aggregate(data, outputs=2, per="1d", every="1h", participation="private", **common)
    assert release.charge.again == 4
    (spending,) = ledger.spent()
    assert (spending.series, spending.spent.outputs) == (4, 6)


def test_months_between_public_cuts_are_pieces_of_their_own(ledger: Ledger) -> None:
    for start in ("2024-01-01", "2024-02-01"):
        switch(frame(start=start), None, ledger, cuts="month")
    (spending,) = ledger.spent(window=4)
    assert spending.releases == 2
    assert spending.spent.epsilon <= 1


def test_a_file_that_ends_within_a_piece_is_no_public_cut(ledger: Ledger) -> None:
    """Two values of one month, switched in two files, are told apart with certainty by the file that each is in."""
    release = {"output": None, "ledger": ledger, "cuts": "month"}
    switch(frame(start="2024-01-01"), **release)
    for start in ("2024-01-03", "2024-01-01 20:00", "2023-12-31"):
        with pytest.raises(RefusedError, match="which stretch"):
            switch(frame(start=start), **release)
    with pytest.raises(RefusedError, match="which stretch"):
        switch(frame(start="2024-01-20"), **release | {"cuts": "day"})
    switch(frame(start="2024-01-01"), **release)
    switch(frame(start="2024-02-20"), **release)
    switch(frame(start="2024-01-01"), **release | {"cuts": "day"})
    with pytest.raises(RefusedError, match="which stretch"):
        switch(frame(start="2024-01-20"), **release | {"cuts": "day"})
    (spending,) = ledger.spent(window=4)
    assert spending.releases == 4
    assert spending.spent.epsilon <= 3


@pytest.mark.parametrize("cuts", ["day", "week", "month", "quarter", "year"])
def test_the_calendar_is_that_of_the_cuts(cuts: str) -> None:
    con = duckdb.connect()
    for day in (-400, -1, 0, 3, 4, 19722, 19782, 19783, 20000):
        tick = day * 86_400_000_000 + 12_345
        query = f"SELECT epoch_us(date_trunc('{cuts}', make_timestamp(?))), "
        query += f"epoch_us(date_trunc('{cuts}', make_timestamp(?)) + INTERVAL 1 {cuts})"
        first, after = con.execute(query, [tick, tick]).fetchone() or ()
        assert calendar(tick, cuts) == (first, after - 1)


def test_an_answer_outlives_what_is_done_to_the_released_file(data: Path, ledger: Ledger) -> None:
    out = data.with_name("a.csv")
    switch(data, out, ledger, request="r")
    released = out.read_bytes()
    with out.open("ab") as file:
        file.write(b"edited in place")
    switch(data, out, ledger, request="r", overwrite=True)
    assert out.read_bytes() == released


def test_files_are_charged_by_default_and_frames_where_asked(data: Path, curator: Path) -> None:
    switch(frame(), None, None)
    assert not (curator / "ledger.sqlite").exists()
    switch(data, data.with_name("a.csv"), None)
    switch(data, data.with_name("b.csv"), False)
    assert Ledger().spent()[0].releases == 1
    for options in ({"request": "r"}, {"dataset": "d"}, {"internal": True}):
        with pytest.raises(ArgumentError, match="ledger"):
            switch(frame(), None, None, **options)
    (curator / "ledgers").rename(curator / "gone")
    with pytest.raises(LedgerError):
        switch(data, data.with_name("c.csv"), None)
    assert not data.with_name("c.csv").exists()


def test_a_sharded_job_is_charged_once(ledger: Ledger) -> None:
    event = Event.of(Budget.temporal(1, 4), dataset="meters", series=range(100))
    charges = [ledger.charge(event, request="job 9") for _ in range(8)]
    assert [charge.answered for charge in charges] == [False] + 7 * [True]
    assert epsilon(ledger, "meters") == Fraction(1)


CRASH = """
import os, sys
from pathlib import Path
import reticent.accounting.chain as chain, reticent.accounting.heads as heads
import reticent as rt

left = 0
def dying(function):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return function(*args, **kwargs)
    return call

def release(folder, step):
    global left
    os.environ["RETICENT_HOME"] = folder + "/home"
    ledger = rt.Ledger(folder + "/ledger.sqlite")
    left = step
    for module, name in ((os, "pwrite"), (os, "fsync"), (os, "link"), (heads, "_flush"), (Path, "replace"),
                         (Path, "rename"), (Path, "write_text")):
        setattr(module, name, dying(getattr(module, name)))
    rt.tables.switch(folder + "/in.csv", window=4, epsilon=1.0, output=folder + "/out.csv", ledger=ledger, request="r",
                     id="meter", time="ts", value="kwh")
    os._exit(0)

rt.tables.switch(sys.argv[1] + "/in.csv", window=4, epsilon=1.0, id="meter", time="ts", value="kwh")
for step in range(1, 200):
    folder = f"{sys.argv[1]}/{step}"
    os.mkdir(folder)
    os.link(sys.argv[1] + "/in.csv", folder + "/in.csv")
    child = os.fork()
    if child == 0:
        try:
            release(folder, step)
        finally:
            os._exit(7)
    status = os.waitpid(child, 0)[1]
    print(step, status, flush=True)
    if status == 0:
        break
"""


@pytest.mark.slow
def test_killed_between_charge_and_release_it_is_completed_from_the_staged_file(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = subprocess.run([sys.executable, "-c", CRASH, data.parent], capture_output=True, text=True, check=True)
    steps = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    assert [status for _, status in steps] == [signal.SIGKILL] * (len(steps) - 1) + [0], run.stderr
    completed = 0
    for step, _ in steps:
        folder = data.parent / str(step)
        monkeypatch.setenv("RETICENT_HOME", str(folder / "home"))
        ledger = Ledger(folder / "ledger.sqlite")
        answer = next((each for each in ledger.history() if each.entry == "charge"), None)
        seen = file_hash(folder / "out.csv") if (folder / "out.csv").exists() else None
        assert seen is None or (answer is not None and answer.released == seen)
        again = switch(folder / "in.csv", folder / "out.csv", ledger, request="r")
        assert again.charge.answered == (answer is not None)
        if answer is not None:
            completed += 1
            assert file_hash(folder / "out.csv") == answer.released
        assert again.certificate.verify(folder / "out.csv").verdict == "consistent"
        assert epsilon(ledger) <= 1
        assert len(ledger.history()) == 1
        assert not list(folder.glob(".*staged/files/*"))
    assert completed > 3
    assert os.environ["RETICENT_HOME"].endswith("home")
