"""All files of a release appear together or not at all.

They are written into a hidden folder beside the output, marked ready when all are whole, then moved into place, the
released file last. Whatever an interrupted run left is completed (if it was ready) or removed by the next.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reticent.errors import ArgumentError

Charged = Callable[[Path], bool]

_READY = "ready.json"
_SEALED = "sealed"


@dataclass(frozen=True)
class Outputs:
    """Where the files of one release go."""

    released: Path

    @property
    def certificate(self) -> Path:
        """OUT.certificate.json"""
        return self._beside("certificate.json")

    @property
    def report(self) -> Path:
        """OUT.report.html"""
        return self._beside("report.html")

    @property
    def private_report(self) -> Path:
        """OUT.PRIVATE.report.html"""
        return self._beside("PRIVATE.report.html")

    @property
    def companions(self) -> tuple[Path, ...]:
        """What may lie beside the released file, and speaks of it."""
        return self.certificate, self.report, self.private_report

    def _beside(self, suffix: str) -> Path:
        return self.released.with_name(f"{self.released.name}.{suffix}")


@contextmanager
def staged(
    output: Path,
    *,
    overwrite: bool = False,
    charged: Charged | None = None,
    ready: Callable[[], None] = lambda: None,
    folder: bool = False,
) -> Iterator[Path]:
    """A folder to write the files of a release into, under their final names; they move when the block ends well.

    Parameters
    ----------
    output : Path
    overwrite : bool
    charged : callable, optional
        Whether a staged file has been charged: then the release is completed, by this run or the next, never made anew.
    ready : callable, optional
        Called when the release is sure to come, before any of its files is in place.
    folder : bool
        Whether the output is a folder.

    Raises
    ------
    ArgumentError
        A folder that cannot be written, an output that exists (without `overwrite`), another run on the same output.
    """
    if not output.name:
        raise ArgumentError("output: name a file")
    stage = _folder(output)
    with locked(stage, output):
        try:
            yield _begin(stage, output, overwrite, charged, folder)
            seal(stage / "files")
            _mark_ready(stage)
            ready()
            _move(stage, output)
        except BaseException:
            if not _is_whole(stage, output, charged):  # else the next run moves the files
                shutil.rmtree(stage, ignore_errors=True)
            raise
        shutil.rmtree(stage, ignore_errors=True)


def waiting(output: Path, charged: Charged | None = None) -> bool:
    """Whether an interrupted release to `output` is whole, and waits to be moved into place."""
    return _is_whole(_folder(output), output, charged)


def complete(output: Path, charged: Charged | None = None) -> bool:
    """Move the files of such a release into place; whether there were any."""
    if not waiting(output, charged):
        return False
    with locked(_folder(output), output):
        _move(_folder(output), output)
        shutil.rmtree(_folder(output), ignore_errors=True)
    return True


def _folder(output: Path) -> Path:
    return output.with_name(f".{output.name}.staged")


@contextmanager
def locked(folder: Path, output: Path) -> Iterator[None]:
    """Make a folder beside `output` and hold its lock."""
    if os.path.islink(folder):
        raise ArgumentError(f"output: {folder.name} is a link, and all in it would be removed; remove the link")
    for _ in range(10):  # the run before may be removing the folder just now
        try:
            folder.mkdir(exist_ok=True)
            lock = (folder / "lock").open("w")
        except (OSError, ValueError) as error:
            failure = getattr(error, "strerror", None) or "the name cannot be used"
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArgumentError(f"output: another release to {output.name} is under way") from None
            try:
                current = os.path.samestat(os.fstat(lock.fileno()), (folder / "lock").stat())
            except FileNotFoundError:
                current = False
            if current:
                yield
                return
        failure = "others write to it all the time"
    raise ArgumentError(f"output: {output.parent} cannot be written to ({failure})")


def _begin(folder: Path, output: Path, overwrite: bool, charged: Charged | None, parted: bool) -> Path:
    completed = _is_whole(folder, output, charged)
    if completed:
        _move(folder, output)
    _clear(folder)
    if completed and not overwrite:
        raise ArgumentError(
            f"output: an interrupted release to {output.name} was complete and is now in place; "
            "pass --overwrite to release again"
        )
    if output.is_dir() and not (parted and overwrite):
        if parted:
            raise ArgumentError(f"output: {output.name} exists; name another folder, or pass --overwrite")
        raise ArgumentError(f"output: {output.name} is a folder; name a file in it")
    if output.exists() and not (output.is_file() or output.is_dir()):
        raise ArgumentError(f"output: {output.name} is a pipe or a device, which a file would replace; name a file")
    if output.exists() and not overwrite:
        raise ArgumentError(f"output: {output.name} exists; name another file, or pass --overwrite")
    work = folder / "files"
    work.mkdir()
    return work


def seal(files: Path) -> None:
    """Make the staged files durable, as they must be before they are charged."""
    for path in files.rglob("*"):
        sync(path)
    sync(files)
    (files.parent / _SEALED).touch()
    sync(files.parent)


def _is_whole(folder: Path, output: Path, charged: Charged | None) -> bool:
    """Whether all files are there: they were marked ready, or sealed and charged.

    That the released file was charged is not enough: a release that says the same may have been made before.
    """
    if (folder / _READY).exists():
        return True
    released = folder / "files" / output.name
    if charged is None or not (folder / _SEALED).exists() or not released.exists() or not charged(released):
        return False
    _mark_ready(folder)
    return True


def _mark_ready(folder: Path) -> None:
    ready = folder / "ready.tmp"
    ready.write_text(json.dumps(sorted(path.name for path in (folder / "files").iterdir())))
    sync(ready)
    ready.rename(folder / _READY)
    sync(folder)


def _move(folder: Path, output: Path) -> None:
    """Move what is ready into place, the released file last; safe to repeat.

    A certificate or report of an earlier release, which this one does not replace, would seem to speak of it.
    """
    names = json.loads((folder / _READY).read_text())
    for path in Outputs(output).companions:
        if path.name not in names:
            path.unlink(missing_ok=True)
    for name in sorted(names, key=lambda name: name == output.name):
        staged, place = folder / "files" / name, output.with_name(name)
        if staged.exists():
            if staged.is_dir() and place.exists():  # a folder does not replace another in one step
                place.replace(folder / f"replaced {os.urandom(4).hex()}")
            staged.replace(place)
    sync(output.parent)


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a small file whole or not at all; with `mode` 0o600 for its owner alone to read.

    Raises
    ------
    ArgumentError
        A folder that cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
        sync(part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ArgumentError(f"output: {path.name} cannot be written ({error.strerror})") from None
