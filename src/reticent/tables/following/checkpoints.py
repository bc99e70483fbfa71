"""The checkpoint of a stream that is followed, and the number outside it by which an old copy is known."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reticent.accounting.fingerprints import home
from reticent.errors import ArgumentError, InputError, RefusedError, ReticentError
from reticent.randomness import Source
from reticent.tables.staging import sync
from reticent.tables.stream_state import private_file

_MAGIC = b"reticent checkpoint 1: AS SECRET AS THE DATA\n"
_DIGITS = 20


@dataclass(frozen=True)
class Checkpoint:
    """All that a stream needs to go on after a crash; private.

    Parameters
    ----------
    stream : str
        Random name of the stream.
    source : str
        Of all series (hexadecimal); empty once all is released.
    parameters : dict
        What every run must ask for alike.
    number : int
        How many times it was written.
    taken : int
        Records of the input so far, those that were left out included.
    chained : str
        Keyed digest of these.
    clock, delimiter : str
        How times are written, and how fields are parted ("" before the first).
    written, digest : int, str
        Bytes of the output before `pending`; and, of a file, their SHA-256.
    sent : int
        Records of the output before `pending`.
    pending : str
        What was released with this checkpoint: emitted again, byte for byte, when the run ends before the next one.
    pending_records : int
        How many records it holds.
    runs : int
        How many times the stream was taken up.
    dropped : dict
        Records that were left out, by rule; the curator's alone.
    series : dict
        State of each series that holds records back.
    last, rows : dict
        Time of the last record of each series, and how many were released.
    ended, finished : bool
        All is released; and the certificate is written too.
    """

    stream: str
    source: str
    parameters: dict[str, Any]
    number: int = 0
    taken: int = 0
    chained: str = ""
    clock: str = ""
    delimiter: str = ""
    written: int = 0
    digest: str = ""
    sent: int = 0
    pending: str = ""
    pending_records: int = 0
    runs: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    series: dict[str, Any] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    ended: bool = False
    finished: bool = False

    @classmethod
    def fresh(cls, source: Source, parameters: dict[str, Any]) -> Checkpoint:
        """Of a stream that begins."""
        return cls(os.urandom(16).hex(), source.state().hex(), parameters)

    def check(self, parameters: dict[str, Any]) -> None:
        """Refuse to go on otherwise than the stream began.

        Raises
        ------
        ArgumentError
            Other parameters; a stream that was finished.
        """
        if self.finished:
            raise ArgumentError("checkpoint: this stream was finished; begin another one with another checkpoint")
        for name, known in self.parameters.items():
            if parameters.get(name) != known:
                raise ArgumentError(
                    f"checkpoint: the stream began with {name} {known}, and now it is {parameters.get(name)}; a stream "
                    "goes on as it began"
                )


class Store:
    """Where the checkpoint of one stream is kept, for one run at a time.

    The checkpoint is written whole and synchronised **before** what it releases is emitted, then its number is written
    to the curator's own folder: a copy that is older than what was emitted is refused, since records that came after it
    would be drawn alike.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(f".{path.name}.part")
        self._journal: Path | None = None

    def read(self) -> Checkpoint | None:
        """The last checkpoint, or None where there is none.

        Raises
        ------
        InputError
            A file that is none, or was altered.
        RefusedError
            An old copy.
        """
        if not self.path.exists():
            return None
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"checkpoint: {self.path.name} cannot be read ({error.strerror})") from None
        check, _, body = data.removeprefix(_MAGIC).partition(b"\n")
        if not data.startswith(_MAGIC) or hashlib.sha256(body).hexdigest().encode() != check:
            raise InputError(f"checkpoint: {self.path.name} is no checkpoint, or was altered; put the right file back")
        return Checkpoint(**json.loads(body))

    @contextmanager
    def held(self, checkpoint: Checkpoint) -> Iterator[None]:
        """Keep every other run of this stream away, whichever copy of the checkpoint it begins from."""
        folder = home() / "streams"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._journal = folder / f"{checkpoint.stream}.number"
            lock = (folder / f"{checkpoint.stream}.lock").open("w")
        except OSError as error:
            raise _unkept(folder, error) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArgumentError("checkpoint: another run of this stream is under way") from None
            if checkpoint.number:
                self._check_number(checkpoint.number)
            yield

    def _check_number(self, number: int) -> None:
        assert self._journal is not None
        try:
            known = int(self._journal.read_bytes())
        except (OSError, ValueError):
            raise RefusedError(
                "checkpoint: its number is not in the curator's folder, so it cannot be told whether this is an old "
                "copy; bring it back, or set RETICENT_HOME to where it is"
            ) from None
        if number < known:
            raise RefusedError(
                "checkpoint: this is an old copy, and what was released since would be drawn again for other records; "
                "go on from the newest one"
            )
        if number > known:  # a crash came between the two: nothing of it was emitted
            self._note(number)

    def write(self, checkpoint: Checkpoint) -> Checkpoint:
        """Make the next checkpoint durable; from then on what is pending may be emitted.

        Raises
        ------
        InputError
            If it cannot be written: then nothing is emitted.
        """
        following = replace(checkpoint, number=checkpoint.number + 1)
        body = json.dumps(vars(following), ensure_ascii=True, separators=(",", ":")).encode()
        if not checkpoint.number:
            self._note(0)
        try:
            with private_file(self._part) as file:
                file.write(_MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
                file.flush()
                os.fsync(file.fileno())
            if checkpoint.number:
                self._part.replace(self.path)
            else:  # never over one that another run has begun meanwhile
                os.link(self._part, self.path)
                self._part.unlink()
            sync(self.path.parent)
        except OSError as error:
            raise InputError(f"checkpoint: {self.path.name} cannot be written ({error.strerror})") from None
        self._note(following.number)
        return following

    def _note(self, number: int) -> None:
        assert self._journal is not None
        try:
            descriptor = os.open(self._journal, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, str(number).rjust(_DIGITS).encode(), 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _unkept(self._journal.parent, error) from None


def _unkept(folder: Path, error: OSError) -> ReticentError:
    return ReticentError(
        f"the number of a checkpoint cannot be kept in {folder} ({error.strerror}); set RETICENT_HOME to a folder that "
        "can be written"
    )
