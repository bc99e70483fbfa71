"""All files of a release appear together or not at all, whatever stops the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tables_kit import hours, store

import reticent as rt
from reticent import tables
from reticent.certificates import Certificate
from reticent.errors import ArgumentError
from reticent.tables.staging import Outputs, staged, write_whole

TABLE = pa.table({"ts": hours(50), "kwh": range(50)})
NAMES = ["out.csv", "out.csv.certificate.json", "out.csv.report.html"]


def switch(output: Path, table: Any = TABLE, **options: Any) -> tables.Release:
    return tables.switch(
        table, time="ts", value="kwh", window=4, epsilon=2.0, output=output, ledger=False,
        source=rt.seeded_source(1), **options,
    )  # fmt: skip


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def whole(folder: Path) -> bool:
    Certificate.read(folder / NAMES[1]).verify(folder / NAMES[0])
    return names(folder) == NAMES


class Stopped(BaseException):
    """Stands for the end of the process: nothing is cleaned up after it."""


def test_what_appears(tmp_path: Path) -> None:
    switch(tmp_path / "out.csv")
    assert whole(tmp_path)
    assert all(path.stat().st_mode & 0o777 == 0o666 & ~_umask() for path in tmp_path.iterdir())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_output_that_exists_is_kept_unless_it_may_go(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine")
    with pytest.raises(ArgumentError, match="--overwrite"):
        switch(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert names(tmp_path) == ["out.csv"]
    switch(tmp_path / "out.csv", overwrite=True)
    assert whole(tmp_path)


def test_the_input_is_never_replaced(tmp_path: Path) -> None:
    source = store(tmp_path / "in.parquet", TABLE)
    (tmp_path / "link.parquet").symlink_to(source)
    before = source.read_bytes()
    for output in (source, tmp_path / "link.parquet"):
        with pytest.raises(ArgumentError, match="input itself"):
            switch(output, source, overwrite=True)
    assert source.read_bytes() == before


@pytest.mark.parametrize("output", ["none/out.csv", "file/out.csv", "", ".", "x" * 300 + ".csv", "a\0b.csv", "folder"])
def test_outputs_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ArgumentError, match="output: "):
        switch(Path(output))
    assert names(tmp_path) == ["file", "folder"]


def test_a_place_that_nobody_can_write_to() -> None:
    with pytest.raises(ArgumentError, match="/proc cannot be written to"):
        switch(Path("/proc/out.csv"))


def test_a_staging_folder_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "treasure").mkdir()
    (tmp_path / "treasure" / "gold").write_text("gold")
    (tmp_path / ".out.csv.staged").symlink_to(tmp_path / "treasure")
    with pytest.raises(ArgumentError, match="link"):
        switch(tmp_path / "out.csv")
    assert names(tmp_path / "treasure") == ["gold"]


def test_a_link_in_the_place_of_the_output_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "out.csv").symlink_to(tmp_path / "elsewhere")
    switch(tmp_path / "out.csv", overwrite=True)
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert not (tmp_path / "out.csv").is_symlink()


STEPS = [
    "tables.formats.Writer.write",
    "tables.formats.Writer.close",
    "certificates.Certificate.issue",
    "reports.public_report",
]


@pytest.mark.parametrize("target", STEPS)
@pytest.mark.parametrize(
    "kind", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError(), RuntimeError("x")]
)
def test_nothing_is_left_behind_by_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, kind: BaseException
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise kind

    monkeypatch.setattr(f"reticent.{target}", fail)
    with pytest.raises(type(kind)):
        switch(tmp_path / "out.csv")
    assert names(tmp_path) == []


def _stop_at(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> Callable[[], int]:
    """Stop the process at its n-th call of a function of the file system; returns how many calls there were."""
    owner, attribute = {"replace": (Path, "replace"), "rename": (Path, "rename"), "fsync": (os, "fsync")}[name]
    original, calls = getattr(owner, attribute), [0]

    def stopping(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            raise Stopped
        return original(*args)

    monkeypatch.setattr(owner, attribute, stopping)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    return lambda: calls[0]


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(
    ("name", "number"), [*(("fsync", n) for n in range(1, 7)), ("rename", 1), *(("replace", n) for n in range(1, 4))]
)
def test_the_next_run_completes_or_cleans_up(tmp_path: Path, name: str, number: int, existing: bool) -> None:
    output = tmp_path / "out.csv"
    if existing:
        switch(output)
    old = output.read_bytes() if existing else None
    with pytest.MonkeyPatch.context() as patch:
        count = _stop_at(patch, name, number)
        with pytest.raises(Stopped):
            switch(output, TABLE.slice(0, 40), overwrite=existing)
        assert count() == number
    now = output.read_bytes() if output.exists() else None
    assert now in (old, None) or whole_release(tmp_path, now)
    ready = (tmp_path / ".out.csv.staged" / "ready.json").exists()
    if ready:
        with pytest.raises(ArgumentError, match="complete and is now in place"):
            switch(output)
        assert output.read_bytes().count(b"\n") == 41
    else:
        switch(output, overwrite=existing)
        assert output.read_bytes().count(b"\n") == 51
    assert whole(tmp_path)


def whole_release(folder: Path, content: bytes) -> bool:
    """Whether the released file, if it is already the new one, has its certificate beside it."""
    Certificate.read(folder / NAMES[1]).verify(folder / NAMES[0])
    return content.count(b"\n") == 41


SCRIPT = """
import sys, time
from pathlib import Path
import reticent as rt
from reticent import reports, tables
from reticent.tables import formats
reports.public_report = lambda certificate: "<html></html>"
write = formats.Writer.write
def slow(self, table):
    write(self, table)
    print("writing", flush=True)
    time.sleep(60)
formats.Writer.write = slow
tables.switch(sys.argv[1], time="ts", value="kwh", window=4, epsilon=2.0, output=Path(sys.argv[2]), ledger=False)
"""


def test_a_killed_process_leaves_what_the_next_removes(tmp_path: Path) -> None:
    source = store(tmp_path / "in.parquet", TABLE)
    folder = tmp_path / "out"
    folder.mkdir()
    output = folder / "out.csv"
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(source), str(output)], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "writing\n"
        with pytest.raises(ArgumentError, match="under way"):  # and meanwhile no other run may touch it
            switch(output, source)
        run.send_signal(signal.SIGKILL)
    assert names(folder) == [".out.csv.staged"]
    switch(output, source)
    assert whole(folder)


def test_of_two_runs_at_once_one_waits_for_nobody(tmp_path: Path) -> None:
    outcomes = []

    def attempt() -> None:
        try:
            with staged(tmp_path / "out.csv", overwrite=True) as folder:
                time.sleep(0.01)
                (folder / "out.csv").write_text(threading.current_thread().name)
            outcomes.append("done")
        except ArgumentError as error:
            outcomes.append("refused" if "under way" in str(error) else str(error))

    for _ in range(5):
        threads = [threading.Thread(target=attempt) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(outcomes) == {"done", "refused"}
    assert names(tmp_path) == ["out.csv"]


def test_small_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "m.json", "one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", _fail)
        with pytest.raises(ArgumentError):
            write_whole(tmp_path / "m.json", "two")
    assert (tmp_path / "m.json").read_text() == "one"
    assert names(tmp_path) == ["m.json"]
    for place in (tmp_path / "none" / "m.json", tmp_path):
        with pytest.raises(ArgumentError):
            write_whole(place, "two")


def _fail(*_: Any) -> Any:
    raise OSError(28, "No space left on device")


def test_names_of_the_outputs(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "out.csv")
    assert [outputs.certificate.name, outputs.report.name, outputs.private_report.name] == [
        "out.csv.certificate.json",
        "out.csv.report.html",
        "out.csv.PRIVATE.report.html",
    ]


@pytest.mark.parametrize("existing", [False, True], ids=["OUT is gone", "OUT is replaced"])
def test_nothing_of_an_earlier_release_stays_beside_a_new_one(tmp_path: Path, existing: bool) -> None:
    output = tmp_path / "out.csv"
    switch(output, private_report=True)
    assert (tmp_path / "out.csv.PRIVATE.report.html").exists()
    if not existing:
        output.unlink()
    switch(output, TABLE.slice(0, 40), overwrite=existing)
    assert whole(tmp_path)


def test_a_refused_release_leaves_what_was_there(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    switch(output, private_report=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ArgumentError):
        switch(output)
    with pytest.raises(ArgumentError):
        tables.quantize(TABLE, time="ts", value="kwh", output=output, overwrite=True, ledger=False, bits=1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_interrupted_release_completed_later_removes_them_too(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    switch(output, private_report=True)
    with pytest.MonkeyPatch.context() as patch:
        _stop_at(patch, "replace", 2)
        with pytest.raises(Stopped):
            switch(output, TABLE.slice(0, 40), overwrite=True)
    with pytest.raises(ArgumentError, match="now in place"):
        switch(output)
    assert whole(tmp_path)


def test_a_file_that_was_charged_before_is_not_taken_for_a_whole_release(tmp_path: Path) -> None:
    """Coarsening the same data again gives the same file, which the ledger knows; its certificate may still fail."""
    quantize: dict[str, Any] = {"time": "ts", "value": "kwh", "low": 0, "high": 50, "bits": 1}
    tables.quantize(TABLE, output=tmp_path / "one.csv", **quantize)
    before = names(tmp_path)
    for target in ("certificates.Certificate.issue", "reports.public_report"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"reticent.{target}", _fail)
            with pytest.raises(OSError, match="No space"):
                tables.quantize(TABLE, output=tmp_path / "two.csv", **quantize)
        assert names(tmp_path) == before
    tables.quantize(TABLE, output=tmp_path / "two.csv", **quantize)
    Certificate.read(tmp_path / "two.csv.certificate.json").verify(tmp_path / "two.csv")


def test_a_range_whose_end_is_no_float() -> None:
    table = pa.table({"ts": [0, 1], "kwh": pa.array([-(2**63), 2**63 - 1])})
    done = tables.quantize(table, time="ts", value="kwh", low=-(2**63), high=2**63 - 1, bits=1, symbols="left")
    assert done.table["kwh"].to_pylist() == [-(2.0**63), -0.5]
