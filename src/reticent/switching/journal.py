"""What a saved stream has been given since: so that two restorations never draw alike for different data."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, RefusedError

_BLOCK = 256  # records


def encoded(values: NDArray[Any]) -> tuple[bytes, NDArray[np.int64]]:
    """Records as bytes, the same however the input is cut into chunks; record i is ``data[ends[i]:ends[i + 1]]``."""
    if values.dtype.kind == "U":
        rows = values.reshape(values.shape[0], -1)
        texts = [[text.encode("utf-8", "surrogatepass") for text in row] for row in rows.tolist()]
        records = [b"".join(len(text).to_bytes(8, "big") + text for text in row) for row in texts]
        return b"".join(records), np.cumsum([0, *map(len, records)], dtype=np.int64)
    width = values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    return np.ascontiguousarray(values).tobytes(), np.arange(values.shape[0] + 1) * width


class Digest:
    """A keyed digest of a sequence of records that can be saved and resumed: blocks are chained."""

    def __init__(self, key: bytes, chained: bytes = b"", rest: bytes = b"", records: int = 0) -> None:
        self._key, self.chained, self.rest, self.records = key, chained, rest, records

    def _hash(self, rest: bytes) -> bytes:
        return hashlib.blake2b(self.chained + rest, key=self._key, digest_size=32).digest()

    def update(self, values: NDArray[Any]) -> None:
        """Take in further records."""
        data, ends = encoded(values)
        first, count = 0, values.shape[0]
        while first < count:
            last = min(count, first + _BLOCK - self.records % _BLOCK)
            self.rest += data[ends[first] : ends[last]]
            self.records += last - first
            if self.records % _BLOCK == 0:
                self.chained, self.rest = self._hash(self.rest), b""
            first = last

    def value(self) -> str:
        """Of all records so far."""
        return self._hash(self.rest).hex()

    def copy(self) -> Digest:
        return Digest(self._key, self.chained, self.rest, self.records)


class Journal:
    """How far a stream has been given records, with the digest there, and where it was ended.

    Parameters
    ----------
    path : path, optional
        A private file, written and synchronised before anything is drawn. Without one the journal lives as long as the
        process, and protects only from a second restoration within it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._entries: dict[int, str] = {}
        self._end: int | None = None
        if self._path is not None and self._path.exists():
            self._read(self._path.read_text())

    def _read(self, text: str) -> None:
        lines = text.split("\n")
        if lines.pop():  # a line that a crash cut short: nothing was drawn for it
            text = "\n".join([*lines, ""])
            assert self._path is not None
            self._path.write_text(text)
        for line in lines:
            kind, _, rest = line.partition(" ")
            position, _, digest = rest.partition(" ")
            if kind not in ("given", "ended") or not position.isdecimal():
                raise ArgumentError("journal: this file is no journal of a stream; pass the one that was kept with it")
            if kind == "ended":
                self._end = int(position)
            self._entries[int(position)] = digest

    def _write(self, kind: str, position: int, digest: str) -> None:
        if self._path is None:
            return
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, f"{kind} {position} {digest}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def next_position(self, position: int) -> int | None:
        """The next position, after this one, that an earlier run is known to have reached."""
        positions = sorted(self._entries)
        index = bisect_right(positions, position)
        return positions[index] if index < len(positions) else None

    def check_room(self, position: int) -> None:
        """Refuse records beyond where the series was ended."""
        if self._end is not None and position > self._end:
            raise RefusedError("This stream was ended earlier at fewer records; it cannot be given more of them")

    def given(self, digest: Digest) -> None:
        """Record, or verify, what has been given so far."""
        known = self._entries.get(digest.records)
        if known is None:
            self._entries[digest.records] = digest.value()
            self._write("given", digest.records, digest.value())
        elif known != digest.value():
            raise RefusedError(
                "The input differs from what this stream was given after it was saved; push the same records again, "
                "or release the whole series afresh and count it as a second release"
            )

    def ended(self, digest: Digest) -> None:
        """Record, or verify, that the series ends here."""
        if self._end not in (None, digest.records) or self.next_position(digest.records) is not None:
            raise RefusedError("This stream was given more records after it was saved; push them before it is flushed")
        self.given(digest)
        if self._end is None:
            self._end = digest.records
            self._write("ended", digest.records, digest.value())
