"""Where the records of a stream that is followed go: a file that is cut back, or a pipe of numbered records."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, Self

from reticent.errors import ArgumentError, InputError, ReticentError
from reticent.tables.following.checkpoints import Checkpoint
from reticent.tables.staging import Outputs, sync

_PIECE = 1 << 20  # bytes read at once


class Sink(Protocol):
    """Where released records go."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that was emitted, where it stays."""

    def check_new(self, overwrite: bool) -> None:
        """Before a stream begins."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def discard(self) -> None:
        """Of a stream that did not begin."""

    def begin(self, checkpoint: Checkpoint, head: str) -> None:
        """Emit again what the last checkpoint released."""

    def emit(self, text: str, head: str) -> None:
        """Emit what a checkpoint released."""

    def sync(self) -> None:
        """Make it durable."""


class FileSink:
    """An output file: compared with and cut back to what is committed, then appended to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def check_new(self, overwrite: bool) -> None:
        if not self._path.exists():
            return
        if not self._path.is_file():  # a device or a pipe cannot be cut back
            raise ArgumentError(f"output: {self._path.name} is no file; without -o the release is on standard output")
        if not overwrite:
            raise ArgumentError(f"output: {self._path.name} exists; name another file, or pass --overwrite")
        for each in (*Outputs(self._path).companions, self._path):  # they would seem to speak of the stream
            each.unlink(missing_ok=True)

    def discard(self) -> None:
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def begin(self, checkpoint: Checkpoint, head: str) -> None:
        written = checkpoint.written
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise ArgumentError(f"output: {self._path.name} cannot be written ({error.strerror})") from None
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        left = written
        while left and (data := self._file.read(min(left, _PIECE))):
            self._hash.update(data)
            left -= len(data)
        if left or (written and self.digest != checkpoint.digest):
            raise InputError(
                f"output: {self._path.name} does not hold what was released into it; put the file back as it was left"
            )
        self._file.truncate(written)
        self.emit(checkpoint.pending, "")

    def emit(self, text: str, head: str) -> None:
        data = text.encode()
        view = memoryview(data)
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise ReticentError(
                f"output: {self._path.name} cannot be written ({error.strerror}); once it can, the next run goes on"
            ) from None
        self._hash.update(data)

    def sync(self) -> None:
        os.fsync(self._file.fileno())
        sync(self._path.parent)


class PipeSink:
    """Standard output: numbered records, and the header of a CSV stream at the beginning of each run."""

    digest = ""

    def __init__(self, seen: int | None) -> None:
        self._seen = seen
        self._begun = False

    def check_new(self, overwrite: bool) -> None:
        pass

    def discard(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, checkpoint: Checkpoint, head: str) -> None:
        sent, records = checkpoint.sent, checkpoint.pending_records
        seen = sent if self._seen is None else self._seen
        if not sent <= seen <= sent + records:
            raise InputError(
                f"seen: this run can begin with records {sent + 1:,} to {sent + records + 1:,} of the output, and no "
                "others; those before are gone from the pipe"
            )
        lines = checkpoint.pending.split("\n")[seen - sent :]
        self.emit("\n".join(lines), head)

    def emit(self, text: str, head: str) -> None:
        if not text:
            return
        data = text if self._begun else head + text
        self._begun = True
        view = memoryview(data.encode())
        try:
            while view:
                view = view[os.write(sys.stdout.fileno(), view) :]
        except BrokenPipeError:
            raise ReticentError(
                "output: nobody reads it any more; the next run emits again what was not read (--seen says what was)"
            ) from None

    def sync(self) -> None:
        pass


@contextlib.contextmanager
def stop_signals() -> Iterator[int]:
    """A descriptor that becomes readable when the process is asked to stop."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    before = {each: signal.signal(each, lambda *_: None) for each in (signal.SIGTERM, signal.SIGINT)}
    former = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(former)
        for each, handler in before.items():
            signal.signal(each, handler)
        os.close(woken)
        os.close(wake)
