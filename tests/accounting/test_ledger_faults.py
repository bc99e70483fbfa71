"""Many processes, crashes at every write, damage at every byte, copies and older copies: never below the truth."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from reticent.accounting import Budget, Event, Ledger
from reticent.errors import LedgerError, RefusedError


def spend(epsilon: Any = "0.1", **options: Any) -> Event:
    return Event.of(Budget.temporal(epsilon, 24), dataset="meters", **options)


def spent(path: Path) -> Fraction | float | int:
    spending = Ledger(path).spent("meters")
    return spending[0].spent.epsilon if spending else 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def _charge(job: tuple[Path, Path]) -> bool:
    path, home = job
    os.environ["RETICENT_HOME"] = str(home)
    try:
        Ledger(path).charge(spend())
    except RefusedError:
        return False
    return True


def _processes(count: int) -> Any:
    context = get_context("forkserver")
    context.set_forkserver_preload(["reticent.accounting.ledger"])
    return context.Pool(count)


def test_twenty_processes_exactly_ten_succeed_on_ten_runs(path: Path, curator: Path) -> None:
    with _processes(20) as pool:
        for run in range(10):
            each = path.with_name(f"{run}.sqlite")
            Ledger(each).limit("meters", epsilon=1, window=24)
            assert sum(pool.map(_charge, [(each, curator)] * 20, chunksize=1)) == 10
            assert spent(each) == 1


def test_eight_processes_make_one_ledger(path: Path, curator: Path) -> None:
    with _processes(8) as pool:
        assert all(pool.map(_charge, [(path, curator)] * 8, chunksize=1))
    assert spent(path) == Fraction(8, 10)


def test_a_fork_goes_on(path: Path) -> None:
    ledger = Ledger(path)
    ledger.charge(spend())
    child = os.fork()
    if child == 0:
        ledger.charge(spend())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    ledger.charge(spend())
    assert ledger.spent("meters")[0].spent.epsilon == Fraction(3, 10)


# --- crashes ---------------------------------------------------------------------------------------------------------

CRASH = """
import os, sqlite3, sys
from pathlib import Path
import reticent.accounting.chain as chain, reticent.accounting.heads as heads
from reticent.accounting import *

left = 0
def dying(function):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        result = function(*args, **kwargs)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return result
    return call

def charge(path, step):
    global left
    left = step
    os.pwrite, os.fsync, heads._flush = dying(os.pwrite), dying(os.fsync), dying(heads._flush)
    Path.replace, Path.write_text = dying(Path.replace), dying(Path.write_text)

    class Connection(sqlite3.Connection):
        def execute(self, statement, *args):
            if statement.startswith(("SELECT", "PRAGMA")):
                return super().execute(statement, *args)
            return dying(super().execute)(statement, *args)

    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **kwargs: connect(*args, **{**kwargs, "factory": Connection})
    event = Event.of(Budget.temporal("0.1", 24), dataset="meters")
    Ledger(path).charge(event, request="r", released="ab" * 32)
    Path(path + ".said").touch()
    os._exit(0)

Event.of(Budget.temporal("0.1", 24))
for step in range(1, 300):
    child = os.fork()
    if child == 0:
        charge(f"{sys.argv[1]}/{step}.sqlite", step)
    status = os.waitpid(child, 0)[1]
    print(step, status, flush=True)
    if status == 0:
        break
"""


def test_killed_at_every_write_the_ledger_is_never_below_what_was_released(tmp_path: Path) -> None:
    """From making the ledger to the last write of a charge; then the same request, until it is answered."""
    run = subprocess.run([sys.executable, "-c", CRASH, tmp_path], capture_output=True, text=True, check=True)
    steps = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    assert len(steps) > 20
    assert [status for _, status in steps[:-1]] == [signal.SIGKILL] * (len(steps) - 1), run.stderr
    assert steps[-1][1] == 0, run.stderr
    answered = 0
    for step, _ in steps:
        path = tmp_path / f"{step}.sqlite"
        again = Ledger(path).charge(spend(), request="r", released="cd" * 32)
        assert again.answered or not path.with_name(f"{step}.sqlite.said").exists()
        if again.answered:
            assert again.released == "ab" * 32  # never a fresh draw
        answered += again.answered
        assert spent(path) == Fraction(1, 10)
    assert 3 <= answered < len(steps) - 3


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """SIGKILL inside SQLite's own writes too: what a process said that it had charged is in the ledger."""
    path = tmp_path / "ledger.sqlite"
    Ledger(path)
    program = (
        "import sys; from reticent.accounting import *; l = Ledger(sys.argv[1])\n"
        "e = Event.of(Budget.temporal('0.1', 24), dataset='meters')\n"
        "while True: l.charge(e); print('c', flush=True)"
    )
    said = 0
    for run in range(40):
        with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said += len(process.stdout.readline().split())
            time.sleep(0.003 * run % 0.05)
            process.kill()
            said += len(process.stdout.read().split())
        assert said <= spent(path) * 10 <= said + run + 1


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(path: Path) -> Path:
    ledger = Ledger(path)
    ledger.limit("meters", epsilon=1, window=24)
    for i in range(6):
        ledger.charge(spend(series=["a", i]))
    ledger.close()
    return path


def opens_rightly_or_refuses(path: Path, truth: Any) -> bool:
    try:
        with Ledger(path) as ledger:
            found = ledger.spent(), [(each.number, each.text, each.at) for each in ledger.history()]
    except LedgerError:
        return False
    assert found == truth
    return True


def test_truncated_anywhere_it_refuses(filled: Path) -> None:
    with Ledger(filled) as ledger:
        truth = ledger.spent(), [(each.number, each.text, each.at) for each in ledger.history()]
    whole = filled.read_bytes()
    cuts = [0, 1, 15, 16, 99, 100, *range(512, len(whole), 512), len(whole) - 1]
    for size in cuts:
        filled.write_bytes(whole[:size])
        assert not opens_rightly_or_refuses(filled, truth), size
    filled.write_bytes(whole)
    assert opens_rightly_or_refuses(filled, truth)


def _flip_every(filled: Path, places: Any) -> int:
    with Ledger(filled) as ledger:
        truth = ledger.spent(), [(each.number, each.text, each.at) for each in ledger.history()]
    whole = filled.read_bytes()
    refused = 0
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 0x20 if place % 2 else 0xFF
        filled.write_bytes(damaged)
        filled.with_name(filled.name + "-journal").unlink(missing_ok=True)
        refused += not opens_rightly_or_refuses(filled, truth)
    filled.write_bytes(whole)
    assert opens_rightly_or_refuses(filled, truth)
    return refused


def test_one_byte_changed_it_opens_rightly_or_refuses(filled: Path) -> None:
    size = filled.stat().st_size
    assert _flip_every(filled, range(0, size, 23)) > size / 23 / 8


@pytest.mark.slow
def test_every_byte_changed_it_opens_rightly_or_refuses(filled: Path) -> None:
    _flip_every(filled, range(filled.stat().st_size))


def test_rows_deleted_altered_or_added_are_noticed(filled: Path) -> None:
    whole = filled.read_bytes()
    statements = (
        "DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)",
        "DELETE FROM entries WHERE seq = 3",
        "DELETE FROM entries",
        "UPDATE entries SET body = replace(CAST(body AS TEXT), '0.1', '0.0') WHERE seq = 4",
        "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), '0.1', '0.0') AS BLOB) WHERE seq = 4",
        "UPDATE entries SET seq = 100 WHERE seq = 4",
        "INSERT INTO entries SELECT (SELECT max(seq) FROM entries) + 1, body, mac FROM entries WHERE seq = 4",
        "DROP TABLE entries",
        "DELETE FROM coverages WHERE id = 2",
        "UPDATE coverages SET data = (SELECT data FROM coverages WHERE id = 3) WHERE id = 2",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE seq > 3; END",
    )
    for statement in statements:
        filled.write_bytes(whole)
        with sqlite3.connect(filled) as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(LedgerError), Ledger(filled) as ledger:
            ledger.spent()


def test_a_ledger_in_another_journal_mode_is_refused(filled: Path) -> None:
    with sqlite3.connect(filled) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with pytest.raises(LedgerError, match="converted"):
        Ledger(filled)


# --- copies ----------------------------------------------------------------------------------------------------------


def test_an_older_copy_put_back_is_noticed(filled: Path) -> None:
    older = filled.read_bytes()
    with Ledger(filled) as ledger:
        ledger.charge(spend(series=["a"]))
        filled.write_bytes(older)
        with pytest.raises(LedgerError, match="older or a shortened copy"):
            ledger.charge(spend(series=["a"]))
    with pytest.raises(LedgerError, match="older or a shortened copy"):
        Ledger(filled)


def test_a_ledger_that_is_gone_is_missed(filled: Path, curator: Path) -> None:
    moved = filled.with_name("moved.sqlite")
    filled.rename(moved)
    with pytest.raises(LedgerError, match="missing"):
        Ledger(filled)
    assert spent(moved) == Fraction(6, 10)
    Ledger(filled.with_name("new.sqlite")).close()
    filled.with_name("new.sqlite").rename(filled)
    with pytest.raises(LedgerError, match="another ledger than the one that was here"):
        Ledger(filled)


def test_a_ledger_that_is_gone_with_its_head_is_missed(filled: Path, curator: Path) -> None:
    filled.unlink()
    for head in (curator / "ledgers").glob("*.head"):
        head.unlink()
    with pytest.raises(LedgerError, match="missing"):
        Ledger(filled)
    assert not Ledger.replace_lost(filled, reason="both are gone").spent()


def test_without_its_head_or_key_it_is_refused(filled: Path, curator: Path) -> None:
    (head,) = (curator / "ledgers").glob("*.head")
    kept = head.read_bytes()
    head.write_bytes(b"\\0" * len(kept))
    with pytest.raises(LedgerError, match="head"):
        Ledger(filled)
    head.unlink()
    with pytest.raises(LedgerError, match="head"):
        Ledger(filled)
    head.write_bytes(kept)
    (curator / "fingerprint.key").write_bytes(bytes(32))
    with pytest.raises(LedgerError, match="another key"):
        Ledger(filled)


def test_a_copy_is_stale_once_the_original_was_charged(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    shutil.copy(filled, copy)
    assert spent(copy) == Fraction(6, 10)
    with Ledger(filled) as ledger:
        ledger.charge(spend(series=["a"]))
    with pytest.raises(LedgerError):
        Ledger(copy)


def test_a_copy_taken_during_a_charge_never_lacks_one(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(path)
    program = (
        "import sys; from reticent.accounting import *; l = Ledger(sys.argv[1])\n"
        "e = Event.of(Budget.temporal('0.1', 24), dataset='meters')\n"
        "for _ in range(150): l.charge(e); print('c', flush=True)"
    )
    copies = []
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while process.poll() is None and len(copies) < 60:
            copy = tmp_path / f"copy{len(copies)}.sqlite"
            shutil.copy(path, copy)
            copies.append(copy)
            time.sleep(0.005)
        process.stdout.read()
    truth = spent(path)
    assert truth == 15
    assert copies
    for copy in copies:
        try:
            assert spent(copy) == truth
        except LedgerError:
            continue


def test_a_folder_that_cannot_be_written_fails_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError):
        Ledger(tmp_path / "file" / "ledger.sqlite")
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path / "file"))
    with pytest.raises(Exception, match="RETICENT_HOME"):
        Ledger(tmp_path / "ledger.sqlite")
    (tmp_path / "other.sqlite").write_text("this is no ledger")
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path / "home"))
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger(tmp_path / "other.sqlite")
    with pytest.raises(LedgerError, match="there is no"):
        Ledger(tmp_path / "none.sqlite", create=False)
