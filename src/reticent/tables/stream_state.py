"""The private state of a stream that goes on from file to file, and a digest of what each run was given."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from reticent.errors import InputError
from reticent.randomness import Source
from reticent.switching.journal import Digest
from reticent.tables.charging import file_hash

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"reticent stream state 1: AS SECRET AS THE DATA\n"


@dataclass(frozen=True)
class State:
    """What a run leaves to the next one, beside the held rows; private.

    Parameters
    ----------
    stream : str
        Random name of the stream.
    runs : int
        So far.
    finished : bool
        All has been released, and the key is forgotten.
    source : str
        Of all series (hexadecimal).
    parameters : dict
        What every run must ask for alike.
    types : dict
        Of the columns, in DuckDB's words.
    whole_seconds : bool
        No time so far has a fraction of a second.
    chained, given : str
        Digests of what the runs before the last one, and the last one, were given.
    output : str, optional
        Where the last run's release goes.
    """

    stream: str
    runs: int
    finished: bool
    source: str
    parameters: dict[str, Any]
    types: dict[str, str]
    whole_seconds: bool
    chained: str
    given: str
    output: str | None

    @classmethod
    def fresh(cls, source: Source, parameters: dict[str, Any]) -> State:
        """Of a stream that begins."""
        return cls(os.urandom(16).hex(), 0, False, source.state().hex(), parameters, {}, True, "", "", None)

    @property
    def own_source(self) -> Source:
        """The source of all series."""
        return Source.from_state(bytes.fromhex(self.source))

    def digest(self) -> Digest:
        """Of all that was given so far, under a key of the stream's own."""
        key = self.own_source.tag("stream journal")
        return Digest(key, bytes.fromhex(self.chained), bytes.fromhex(self.given), self.runs)


class Given:
    """A digest of all rows of a run, the same however they are cut into chunks."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], Any] = {}

    def add(self, table: pa.Table) -> None:
        """Further rows."""
        for name in table.column_names:
            for part, data in _bytes_of(table[name].combine_chunks()):
                self._parts.setdefault((name, part), hashlib.sha256()).update(data)

    def value(self, finish: bool) -> str:
        """Of all rows so far, and of whether they are the last ones."""
        parts = [[*name, digest.hexdigest()] for name, digest in sorted(self._parts.items())]
        return hashlib.sha256(json.dumps([finish, parts]).encode()).hexdigest()


def _bytes_of(array: pa.Array) -> Iterator[tuple[str, bytes]]:
    """The content of a column in parts that grow as rows are added."""
    import pyarrow as pa
    from pyarrow import types

    yield "valid", array.is_valid().to_numpy(zero_copy_only=False).tobytes()
    present, kind = array.drop_null(), array.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        present = present.cast(pa.large_binary())
        start, stop = present.offset, present.offset + len(present)
        ends = np.frombuffer(present.buffers()[1] or b"", dtype=np.int64)[start : stop + 1]
        yield "lengths", np.diff(ends).tobytes()
        if len(present) and ends[-1] > ends[0]:
            yield "text", memoryview(present.buffers()[2])[ends[0] : ends[-1]].tobytes()
    elif types.is_boolean(kind):
        yield "booleans", present.to_numpy(zero_copy_only=False).tobytes()
    elif types.is_primitive(kind) or types.is_decimal(kind):
        width = kind.bit_width // 8
        if len(present):
            start = present.offset * width
            yield str(kind), memoryview(present.buffers()[1])[start : start + len(present) * width].tobytes()
    else:
        yield "values", "".join(f"{value!r}\n" for value in present.to_pylist()).encode("utf-8", "surrogatepass")


def private_file(path: Path) -> IO[bytes]:
    """A new file that its owner alone can read."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def write_state(path: Path, state: State, rows: Path) -> None:
    head = json.dumps([asdict(state), file_hash(rows)]).encode() + b"\n"
    with private_file(path) as file, rows.open("rb") as held:
        file.write(_MAGIC + hashlib.sha256(head).hexdigest().encode() + b"\n" + head)
        shutil.copyfileobj(held, file)
        file.flush()
        os.fsync(file.fileno())


def read_state(path: Path) -> tuple[State, pa.Table]:
    """A state and its held rows.

    Raises
    ------
    InputError
        A file that is none, or was altered.
    """
    import pyarrow as pa

    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"continue: {path.name} cannot be read ({error.strerror})") from None
    check, _, body = data.removeprefix(_MAGIC).partition(b"\n")
    head, _, rows = body.partition(b"\n")
    if not data.startswith(_MAGIC) or hashlib.sha256(head + b"\n").hexdigest().encode() != check:
        raise InputError(f"continue: {path.name} is no state of a stream, or was altered; put the right file back")
    state, digest = json.loads(head)
    if hashlib.sha256(rows).hexdigest() != digest:
        raise InputError(f"continue: {path.name} was cut short or altered; put the right file back")
    return State(**state), pa.ipc.open_stream(pa.py_buffer(rows)).read_all()
