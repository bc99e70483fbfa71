"""A stream that is followed: each record once, whatever is killed when, and nothing is drawn twice."""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables_kit import START

import reticent as rt
from reticent.accounting import Ledger
from reticent.accounting.fingerprints import home
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, EmptyInputError, InputError, RefusedError, ReticentError
from reticent.tables import following
from reticent.tables.following import Followed, Following, checkpoints, running, sinks
from reticent.tables.reading import Columns

COLUMNS = Columns("t", ("v",), ("i",), ("k",))
MALLOWS: dict[str, Any] = {"window": 4, "epsilon": 2.0, "delta": 1e-2}
CELLS: dict[str, Any] = {"low": 0, "high": 100, "outputs": 8}
ROWS = [
    (name, (START + dt.timedelta(hours=h)).isoformat(), f"{(7 * h + 31 * n) % 97}", f"{name}{h}")
    for h in range(60)
    for n, name in enumerate(["a", "b", "ü"])
    if (h + n) % 7
]


def text(rows: list[tuple[str, ...]], format: str = "csv") -> bytes:
    if format == "jsonl":
        return "".join(json.dumps(dict(zip("itvk", row, strict=True))) + "\n" for row in rows).encode()
    return "".join(",".join(row) + "\n" for row in [tuple("itvk"), *rows]).encode()


def given(data: bytes, verb: str = "switch", seed: int | None = 3, **options: Any) -> Followed:
    """One run over an input that holds `data`, as a pipe."""
    arguments = MALLOWS if verb == "switch" else CELLS
    arguments = {**arguments, **{name: options.pop(name) for name in list(options) if name not in FIELDS}}
    if seed is not None:
        options["source"] = rt.seeded_source(seed)
    job = Following(options.pop("columns", COLUMNS), commit=0.0, **options)
    reader, writer = os.pipe()
    feeding = threading.Thread(target=_feed, args=(writer, data))
    feeding.start()
    try:
        return getattr(following, verb)(reader, job, **arguments)
    finally:
        os.close(reader)
        feeding.join()


FIELDS = set(Following.__dataclass_fields__)


def _feed(writer: int, data: bytes) -> None:
    draw = random.Random(len(data))
    view = memoryview(data)
    with os.fdopen(writer, "wb", buffering=0) as file:
        while view:
            try:
                view = view[file.write(view[: draw.randrange(1, 2000)]) :]
            except BrokenPipeError:
                return


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text().splitlines()))[1:]


def test_a_followed_stream_is_the_release_of_each_series(tmp_path: Path) -> None:
    """The same draws as of a file, in the order in which records set each other free."""
    out = tmp_path / "out.csv"
    done = given(text(ROWS), checkpoint=tmp_path / "c", output=out)
    assert done.finished
    assert (done.taken, done.released) == (len(ROWS), len(ROWS))
    released = rows_of(out)
    switch = rt.MallowsSwitch(4, 2.0, delta=1e-2)
    for name in ("a", "b", "ü"):
        mine = [row for row in ROWS if row[0] == name]
        came = [row for row in released if row[0] == name]
        expected = switch.release(np.array([row[2] for row in mine]), rt.seeded_source(3).spawn(name))
        assert [row[2] for row in came] == expected.tolist()
        assert [(row[1], row[3]) for row in came] == [(row[1], row[3]) for row in mine]
    certificate = Certificate.read(tmp_path / "out.csv.certificate.json")
    assert certificate.verify(out).verdict == "consistent"
    assert "continued" not in certificate.parameters


@pytest.mark.parametrize("mechanism", ["ran", "sta"])
def test_other_mechanisms_that_stream(tmp_path: Path, mechanism: str) -> None:
    out = tmp_path / "out.csv"
    given(text(ROWS), checkpoint=tmp_path / "c", output=out, mechanism=mechanism, delta=0.9)
    assert Counter((r[0], r[2]) for r in rows_of(out)) == Counter((r[0], r[2]) for r in ROWS)
    assert [r[2] for r in rows_of(out)] != [r[2] for r in ROWS]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_symbols_are_those_of_the_file_path(tmp_path: Path, format: str) -> None:
    values = ["0", "12.5", "12.499999", "100", "", "87.5", "1e1", "99.99"]
    rows = [("a", str(n), value, "k") for n, value in enumerate(values)]
    data = (
        text(rows, format)
        if format == "csv"
        else "".join(
            json.dumps({"i": "a", "t": n, "v": float(v) if v else None, "k": "k"}) + "\n" for n, v in enumerate(values)
        ).encode()
    )
    out = tmp_path / f"out.{format}"
    given(data, "quantize", None, checkpoint=tmp_path / "c", output=out, format=format)
    if format == "csv":
        came = [float(row[2]) if row[2] else None for row in rows_of(out)]
    else:
        came = [json.loads(line)["v"] for line in out.read_text().splitlines()]
    path = tmp_path / "whole.csv"
    path.write_bytes(text(rows))
    whole = rt.tables.quantize(
        path, time="t", value="v", id="i", keep="k", **CELLS, output=tmp_path / "w.csv", ledger=False
    )
    assert whole.outputs is not None
    assert came == [float(row[2]) if row[2] else None for row in rows_of(whole.outputs.released)]
    assert Certificate.read(tmp_path / f"{out.name}.certificate.json").verify(out).verdict == "consistent"


# --- the end, and what comes late -------------------------------------------------------------------------------------

CASE_27 = [("a", str(t), v, "-") for t, v in [(1, "10"), (2, "20"), (4, "40"), (1, "15"), (5, "50")]]  # the 4th is late


def test_five_events_one_very_late(tmp_path: Path) -> None:
    """Window 3: the rule is declared, all five are accounted for, and the tail is flushed."""
    out = tmp_path / "out.csv"
    options: dict[str, Any] = {"output": out, "window": 3, "delta": 1e-2}
    with pytest.raises(InputError, match=r"record 4 lies before the one before it.*--late drop"):
        given(text(CASE_27), checkpoint=tmp_path / "c", **options)
    assert out.read_text() == "i,t,v,k\n"  # three were taken, and all three are held back
    done = given(text(CASE_27), checkpoint=tmp_path / "d", **{**options, "output": tmp_path / "two.csv"}, late="drop")
    assert (done.taken, done.released, done.dropped) == (5, 4, {"late": 1})
    assert sorted(row[2] for row in rows_of(tmp_path / "two.csv")) == ["10", "20", "40", "50"]
    assert [row[1] for row in rows_of(tmp_path / "two.csv")] == ["1", "2", "4", "5"]
    assert any("after later ones" in each for each in done.certificate.claims["assumptions"])
    assert '"1"' not in done.certificate.to_json()  # how many were late stays in the house


def test_the_first_of_two_at_one_time(tmp_path: Path) -> None:
    rows = [("a", "1", "10", "-"), ("a", "1", "11", "-"), ("b", "1", "12", "-")]
    with pytest.raises(InputError, match=r"record 2 has the time of"):
        given(text(rows), "quantize", None, checkpoint=tmp_path / "c", output=tmp_path / "o.csv")
    done = given(text(rows), "quantize", None, checkpoint=tmp_path / "d", output=tmp_path / "p.csv", duplicates="first")
    assert done.dropped == {"duplicates": 1}
    assert [row[0] for row in rows_of(tmp_path / "p.csv")] == ["a", "b"]
    assert any("first counts" in each for each in done.certificate.claims["assumptions"])


def test_a_record_at_fault_stops_the_stream_after_those_before_it(tmp_path: Path) -> None:
    good = [("a", str(t), str(t), "-") for t in range(10)]
    for bad, said in (
        ("a,10,1234567,-", r"record 11: .*1 of 1 lie outside"),
        ("a,10,secret,-", r"record 11: value: an entry is no number"),
        ("a,10,1", r"record 11 cannot be read as csv"),
        (",10,1,-", r"id: that of record 11 is missing"),
        ("a,noon,1,-", r"time: that of record 11 cannot be read among whole numbers"),
        ('a,10,"1,-', r"record 11 cannot be read"),
    ):
        out, checkpoint = tmp_path / "o.csv", tmp_path / "c"
        with pytest.raises(InputError, match=said) as caught:
            given(text(good) + bad.encode() + b"\n", "quantize", None, checkpoint=checkpoint, output=out)
        assert not {"1234567", "secret", "noon"} & set(str(caught.value).replace(",", " ").split())
        assert len(rows_of(out)) == 10
        done = given(text([*good, ("a", "10", "1", "-")]), "quantize", None, checkpoint=checkpoint, output=out)
        assert done.finished
        assert len(rows_of(out)) == 11
        for each in tmp_path.iterdir():
            each.unlink()


def test_a_cut_record_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no line end"):
        given(text(ROWS)[:-1], checkpoint=tmp_path / "c", output=tmp_path / "o.csv")
    assert given(text(ROWS), checkpoint=tmp_path / "c", output=tmp_path / "o.csv").released == len(ROWS)


# --- going on ---------------------------------------------------------------------------------------------------------


def test_runs_in_turn_give_what_one_run_gives(tmp_path: Path) -> None:
    given(text(ROWS), checkpoint=tmp_path / "c", output=tmp_path / "one.csv")
    out = tmp_path / "out.csv"
    first = given(text(ROWS[:50]), checkpoint=tmp_path / "d", output=out, keep_open=True)
    assert not first.finished
    assert first.certificate.verify(out).verdict == "consistent"
    assert first.certificate.parameters["continued"]["finished"] is False
    given(text(ROWS[:90]), checkpoint=tmp_path / "d", output=out, keep_open=True)  # again from the beginning
    given(text(ROWS[80:120]), checkpoint=tmp_path / "d", output=out, keep_open=True, after=80)
    with pytest.raises(ArgumentError, match=r"after: the stream was given 120 records"):
        given(text(ROWS[121:]), checkpoint=tmp_path / "d", output=out, after=121)
    given(text(ROWS[120:]), checkpoint=tmp_path / "d", output=out, after=120)
    assert out.read_bytes() == (tmp_path / "one.csv").read_bytes()
    with pytest.raises(ArgumentError, match="was finished"):
        given(text(ROWS), checkpoint=tmp_path / "d", output=out)


def test_other_input_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    given(text(ROWS[:50]), checkpoint=tmp_path / "c", output=out, keep_open=True)
    changed = [*ROWS[:20], (*ROWS[20][:2], "99", ROWS[20][3]), *ROWS[21:]]
    with pytest.raises(RefusedError, match="not those that this stream was given"):
        given(text(changed), checkpoint=tmp_path / "c", output=out)
    swapped = text(ROWS).replace(b"i,t,v,k\n", b"i,t,k,v\n", 1)  # the same lines under another header
    with pytest.raises(RefusedError, match="not those that this stream was given"):
        given(swapped, checkpoint=tmp_path / "c", output=out)
    with pytest.raises(InputError, match="ends before the 50 records"):
        given(text(ROWS[:30]), checkpoint=tmp_path / "c", output=out)
    with pytest.raises(ArgumentError, match="began with"):
        given(text(ROWS), checkpoint=tmp_path / "c", output=out, window=5)
    with pytest.raises(ArgumentError, match="same seed"):
        given(text(ROWS), seed=4, checkpoint=tmp_path / "c", output=out)


def test_an_old_copy_of_the_checkpoint_is_refused(tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "out.csv", tmp_path / "c"
    given(text(ROWS[:50]), checkpoint=checkpoint, output=out, keep_open=True)
    assert stat.S_IMODE(checkpoint.stat().st_mode) == 0o600
    old = checkpoint.read_bytes()
    given(text(ROWS[:90]), checkpoint=checkpoint, output=out, keep_open=True)
    new = checkpoint.read_bytes()
    checkpoint.write_bytes(old)
    with pytest.raises(RefusedError, match="old copy"):
        given(text(ROWS), checkpoint=checkpoint, output=out)
    checkpoint.write_bytes(new[:-1] + b"x")
    with pytest.raises(InputError, match="altered"):
        given(text(ROWS), checkpoint=checkpoint, output=out)
    checkpoint.write_bytes(new)
    (number,) = (home() / "streams").glob("*.number")
    number.unlink()
    with pytest.raises(RefusedError, match="number is not in the curator's folder"):
        given(text(ROWS), checkpoint=checkpoint, output=out)


def test_the_output_must_be_as_it_was_left(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    given(text(ROWS[:50]), checkpoint=tmp_path / "c", output=out, keep_open=True)
    given(text(ROWS[:90]), checkpoint=tmp_path / "c", output=out, keep_open=True)
    whole = out.read_bytes()
    for other in (whole[:40], whole.replace(b"a", b"A", 1)):  # a certificate would speak of what was never released
        out.write_bytes(other)
        with pytest.raises(InputError, match="does not hold what was released into it"):
            given(text(ROWS), checkpoint=tmp_path / "c", output=out)
    out.write_bytes(whole + b"torn off in the mid")  # what a kill leaves is cut back
    given(text(ROWS), checkpoint=tmp_path / "c", output=out)
    given(text(ROWS), checkpoint=tmp_path / "d", output=tmp_path / "one.csv")
    assert out.read_bytes() == (tmp_path / "one.csv").read_bytes()


def test_what_cannot_be_followed(tmp_path: Path) -> None:
    def refused(said: str, kind: type[ReticentError] = ArgumentError, **options: Any) -> None:
        with pytest.raises(kind, match=said):
            given(text(ROWS), **{"checkpoint": tmp_path / "c", "output": tmp_path / "o.csv", **options})
        assert not (tmp_path / "c").exists()

    refused("needs the whole series", mechanism="footrule")
    refused("must be one of", late="keep")
    refused("must be one of", format="parquet")
    refused("in the header 0 times", InputError, columns=Columns("t", ("nothing",), ("i",)))
    refused("one file", output=tmp_path / "c")
    refused("one file", checkpoint=tmp_path / "o.csv.certificate.json")
    refused("is no file", output=tmp_path, overwrite=True)
    refused("is no file", output=Path(os.devnull), overwrite=True)
    (tmp_path / "o.csv").write_text("mine")
    refused("exists")
    (tmp_path / "o.csv").unlink()
    with pytest.raises(EmptyInputError):
        given(text([]), checkpoint=tmp_path / "c", output=tmp_path / "o.csv")
    assert not (tmp_path / "o.csv").exists()


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(text(ROWS))
    for name, options in (("output", {"output": path, "overwrite": True}), ("checkpoint", {"checkpoint": path})):
        descriptor = os.open(path, os.O_RDONLY)
        job = Following(COLUMNS, **{"checkpoint": tmp_path / "c", "output": tmp_path / "o.csv", **options})
        with pytest.raises(ArgumentError, match=f"{name}: it is the input"):
            following.quantize(descriptor, job, **CELLS)
        os.close(descriptor)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(InputError, match="it is a folder"):
        following.quantize(descriptor, Following(COLUMNS, tmp_path / "c"), **CELLS)
    os.close(descriptor)
    assert path.read_bytes() == text(ROWS)
    assert [each.name for each in tmp_path.iterdir()] == ["in.csv"]


def test_a_file_that_is_written_over_leaves_nothing_that_speaks_of_it(tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    given(text(ROWS), checkpoint=tmp_path / "c", output=out)
    done = given(text(ROWS[:50]), checkpoint=tmp_path / "d", output=out, overwrite=True, keep_open=True)
    assert done.certificate.verify(out).verdict == "consistent"
    with pytest.raises(InputError):
        given(b"i,t,v,k\nbad\n", checkpoint=tmp_path / "e", output=out, overwrite=True)
    assert not done.outputs.certificate.exists()


def test_a_record_without_end_stops_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_LONGEST", 1000)
    with pytest.raises(InputError, match="a record is longer than 1,000 bytes"):
        given(text(ROWS[:20]) + b"x" * 5000, "quantize", None, checkpoint=tmp_path / "c", output=tmp_path / "o.csv")
    assert len(rows_of(tmp_path / "o.csv")) == 20  # those before it are out


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_each_series_is_charged_once_however_often_the_stream_is_taken_up(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    options: dict[str, Any] = {"checkpoint": tmp_path / "c", "output": tmp_path / "o.csv", "ledger": ledger}
    given(text(ROWS[:50]), **options, keep_open=True)
    given(text(ROWS), **options)
    (spent,) = ledger.spent("")
    assert (spent.series, spent.releases) == (3, 1)
    given(text(ROWS[:50]), checkpoint=tmp_path / "e", output=tmp_path / "q.csv", keep_open=True)
    with pytest.raises(ArgumentError, match="began with ledger False"):  # its first series would go uncharged
        given(text(ROWS), checkpoint=tmp_path / "e", output=tmp_path / "q.csv", ledger=ledger)
    ledger.limit(epsilon=2, delta="0.1", window=4)
    with pytest.raises(RefusedError):  # another stream of the same series
        given(text(ROWS), checkpoint=tmp_path / "d", output=tmp_path / "p.csv", ledger=ledger)
    assert not (tmp_path / "p.csv").exists()
    assert not (tmp_path / "d").exists()


# --- crashes ----------------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """Stands for a kill at a certain step."""


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts down over all steps that change a file, and crashes before the one that is reached at zero."""
    left = [10**9]

    def before(function: Any) -> Any:
        def step(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Crash
            return function(*arguments, **options)

        return step

    monkeypatch.setattr(os, "fsync", before(os.fsync))
    monkeypatch.setattr(os, "pwrite", before(os.pwrite))
    monkeypatch.setattr(checkpoints, "private_file", before(checkpoints.private_file))
    monkeypatch.setattr(checkpoints, "sync", before(checkpoints.sync))
    monkeypatch.setattr(Path, "replace", before(Path.replace))
    monkeypatch.setattr(sinks.FileSink, "emit", before(sinks.FileSink.emit))
    return left


@pytest.mark.parametrize("verb", ["switch", "quantize"])
def test_a_crash_at_every_step(tmp_path: Path, crashing: list[int], verb: str) -> None:
    """One crash at each step in turn, and always another one soon after in the next run."""
    rows = ROWS[:20]
    seed = 3 if verb == "switch" else None
    given(text(rows), verb, seed, checkpoint=tmp_path / "c", output=tmp_path / "one.csv")
    expected = (tmp_path / "one.csv").read_bytes()
    step = crashes = 0
    while True:
        folder = tmp_path / f"{step}"
        folder.mkdir()
        options: dict[str, Any] = {"checkpoint": folder / "c", "output": folder / "o.csv", "overwrite": True}
        for limit in (step, 3, 10**9):
            crashing[0] = limit
            try:
                given(text(rows), verb, seed, **options)
            except Crash:
                crashes += 1
                if (folder / "o.csv").exists():  # what is there at any time is a beginning of the whole
                    assert expected.startswith((folder / "o.csv").read_bytes())
                continue
            except ArgumentError as error:
                said = str(error)
                assert "finished" in said
            break
        assert (folder / "o.csv").read_bytes() == expected
        if limit == step:
            break
        step += 1
    assert crashes > step > 20


def command(verb: str, checkpoint: Path, output: Path | None, *more: str) -> list[str]:
    own = ["--window", "4", "--epsilon", "2", "--delta", "1e-2", "--seed", "3"]
    if verb == "quantize":
        own = ["--low", "0", "--high", "100", "--outputs", "8"]
    where = [] if output is None else ["-o", str(output)]
    named = ["--id", "i", "--time", "t", "--value", "v", "--keep", "k", "--format", "jsonl", "--commit", "0"]
    return [
        *(sys.executable, "-c", "from reticent.cli import main; main()", verb, "--follow"),
        *(*named, *own, *where, "--checkpoint", str(checkpoint), "--no-ledger", *more),
    ]


def slowly(process: subprocess.Popen[bytes], data: bytes, seconds: float) -> None:
    """Give the input in pieces, so that there is time to be killed in."""
    lines = data.splitlines(keepends=True)
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            for line in lines:
                stdin.write(line)
                stdin.flush()
                time.sleep(seconds / len(lines))
    except BrokenPipeError:
        pass


def killed_often(folder: Path, verb: str, times: int, pipe: bool, draw: random.Random) -> int:
    """Kill runs at random moments until one of them ends; compare with a run that nobody disturbed; how many kills."""
    folder.mkdir()
    data = text(ROWS, "jsonl")
    one = folder / "one.jsonl"
    given(data, verb, 3 if verb == "switch" else None, checkpoint=folder / "o", output=one, format="jsonl")
    expected = [json.loads(line) for line in one.read_text().splitlines()]
    checkpoint, out = folder / "c", folder / "out.jsonl"
    received: list[dict[str, Any]] = []
    kills = 0
    while True:
        more = ["--seen", str(received[-1]["seq"])] if pipe and received and draw.random() < 0.5 else []
        process = subprocess.Popen(
            command(verb, checkpoint, None if pipe else out, *more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        feeding = threading.Thread(target=slowly, args=(process, data, 1.5))
        feeding.start()
        last = kills >= times
        if not last:
            latest = 3.0 if kills else 1.4  # the first one comes while records are still being fed
            threading.Timer(draw.uniform(0.8, latest), process.send_signal, [signal.SIGKILL]).start()
        assert process.stdout is not None
        printed = process.stdout.read()
        code = process.wait()
        feeding.join()
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()
        process.stderr.close()
        for line in printed.split(b"\n")[:-1]:  # a torn last line is not a record, and comes again
            record = json.loads(line)
            if received and record["seq"] <= received[-1]["seq"]:
                assert record == received[record["seq"] - 1]  # repeated lines are equal
            else:
                assert record["seq"] == len(received) + 1  # and none is left out
                received.append(record)
        if code == 0 or (kills and b"this stream was finished" in told):  # killed between the last step and the exit
            break
        assert code == -signal.SIGKILL
        kills += 1
    if pipe:
        assert [{name: each[name] for name in "itvk"} for each in received] == expected
    else:
        assert out.read_bytes() == one.read_bytes()
        assert Certificate.read(folder / "out.jsonl.certificate.json").verify(out).verdict == "consistent"
    assert kills >= min(times, 1)
    return kills


@pytest.mark.parametrize(("verb", "pipe"), [("switch", False), ("quantize", True)])
def test_killed_at_random_moments(tmp_path: Path, verb: str, pipe: bool) -> None:
    killed_often(tmp_path / "f", verb, 3, pipe, random.Random(verb))


@pytest.mark.slow
@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("verb", ["switch", "quantize"])
def test_killed_at_fifty_random_moments(tmp_path: Path, verb: str, pipe: bool) -> None:
    draw, kills = random.Random(f"{verb}{pipe}"), 0
    while kills < 50:
        kills += killed_often(tmp_path / f"{kills}", verb, 5, pipe, draw)


def test_asked_to_stop_it_stops_at_a_checkpoint(tmp_path: Path) -> None:
    data, out = text(ROWS, "jsonl"), tmp_path / "out.jsonl"
    process = subprocess.Popen(
        command("switch", tmp_path / "c", out), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(data[: len(data) // 2])
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not (out.exists() and out.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert b"not at its end" in said
    assert Certificate.read(tmp_path / "out.jsonl.certificate.json").verify(out).verdict == "consistent"
    given(data, checkpoint=tmp_path / "o", output=tmp_path / "one.jsonl", format="jsonl")
    subprocess.run(command("switch", tmp_path / "c", out), input=data, check=True, capture_output=True)
    assert out.read_bytes() == (tmp_path / "one.jsonl").read_bytes()
