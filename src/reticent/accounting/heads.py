"""What is kept outside a ledger: its key, and the head and count of its chain.

Two slots are written in turn, each in a sector of its own and with a code of authenticity, so that one is always whole.
A charge writes what the head is about to become, commits, then writes what it is: a crash between the two leaves a
ledger that matches either, and an older, shorter or altered one matches none.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reticent.accounting.fingerprints import derived_key, fingerprint_key, home
from reticent.errors import LedgerError

MAC_BYTES = 32
_SLOT = 4096
_RECORD = struct.Struct("<QQ32sB32s")
_PATIENCE = 60.0
_flush = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True)
class Head:
    """Where a chain ends.

    Attributes
    ----------
    serial : int
        Of the write.
    count : int
        Number of entries.
    mac : bytes
        Of the last entry.
    pending : bytes or None
        Of the entry that may have followed.
    """

    serial: int
    count: int
    mac: bytes
    pending: bytes | None = None


def ledger_key() -> bytes:
    """The key of chains and heads, from the curator's key."""
    return derived_key(fingerprint_key(), "ledger")


def path_name(path: Path) -> str:
    """A name for the place of a ledger."""
    return hashlib.blake2b(os.fsencode(path.resolve()), digest_size=16).hexdigest()


class HeadFile:
    """The head of one ledger, by the ledger's name, and the lock of those who charge it.

    Parameters
    ----------
    key : bytes
    name : str
        The ledger's own name (hexadecimal).
    """

    def __init__(self, key: bytes, name: str) -> None:
        self._descriptor = -1
        self._key = key
        self._name = name.encode()
        self.path = _folder() / f"{name}.head"
        self.lock = Lock(name)

    def _sealed(self, head: Head) -> bytes:
        record = _RECORD.pack(
            head.serial, head.count, head.mac, head.pending is not None, head.pending or bytes(MAC_BYTES)
        )
        return record + hmac.digest(self._key, self._name + record, "sha256")

    def write(self, head: Head) -> None:
        """Durably, into the slot that does not hold the last head."""
        descriptor = self._open(os.O_RDWR | os.O_CREAT)
        os.pwrite(descriptor, self._sealed(head), (head.serial % 2) * _SLOT)
        _flush(descriptor)

    def read(self) -> Head | None:
        """The last head that was written whole; None if there never was one.

        Raises
        ------
        LedgerError
            If neither slot is whole.
        """
        try:
            descriptor = self._open(os.O_RDWR)
        except FileNotFoundError:
            return None
        slots = [os.pread(descriptor, _RECORD.size + MAC_BYTES, place) for place in (0, _SLOT)]
        found = []
        for slot in slots:
            if len(slot) == _RECORD.size + MAC_BYTES:
                serial, count, mac, waits, pending = _RECORD.unpack_from(slot)
                head = Head(serial, count, mac, pending if waits else None)
                if hmac.compare_digest(self._sealed(head), slot):
                    found.append(head)
        if not found:
            raise LedgerError(f"ledger: its head in {self.path.parent} is damaged; restore that folder from a copy")
        return max(found, key=lambda head: head.serial)

    def _open(self, flags: int) -> int:
        """The file stays open, unless it was put back from a copy or removed."""
        if self._descriptor >= 0 and os.fstat(self._descriptor).st_nlink == 0:
            self.close()
        if self._descriptor < 0:
            self._descriptor = os.open(self.path, flags, 0o600)
        return self._descriptor

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


class Lock:
    """One charge (or the making of one ledger) at a time, over all processes.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        self._path = _folder() / f"{name}.lock"

    @contextmanager
    def held(self, *, shared: bool = False) -> Iterator[None]:
        """Hold it for a block.

        Raises
        ------
        LedgerError
            If others hold it for a minute.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            wait, deadline = 0.0005, time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise LedgerError("ledger: others have held it for a minute; try again later") from None
                    time.sleep(wait)
                    wait = min(2 * wait, 0.02)
            yield
        finally:
            os.close(descriptor)


def place_of(path: Path) -> str | None:
    """Name of the ledger that was last made at a path."""
    try:
        return (_folder() / f"{path_name(path)}.place").read_text()
    except FileNotFoundError:
        return None


def remember_place(path: Path, name: str) -> None:
    """So that a ledger that is gone is missed."""
    place = _folder() / f"{path_name(path)}.place"
    part = place.with_suffix(".part")
    part.write_text(name)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(place)


def _folder() -> Path:
    folder = home() / "ledgers"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LedgerError(
            f"ledger: its head cannot be kept in {folder} ({error.strerror}); set RETICENT_HOME to a folder that can "
            "be written"
        ) from None
    return folder
