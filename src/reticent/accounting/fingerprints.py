"""Data are recognised by keyed fingerprints; the key is the curator's and never leaves the house."""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ReticentError
from reticent.randomness import EncodedIds, authenticated, encode_id, whole_numbers

_KEY_BYTES = 32

_borrowed: contextvars.ContextVar[bytes | None] = contextvars.ContextVar("borrowed", default=None)


def home() -> Path:
    """The folder of the curator's own files: ``$RETICENT_HOME``, else ``$XDG_DATA_HOME/reticent``, else in the home."""
    named = os.environ.get("RETICENT_HOME")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "reticent"


@contextlib.contextmanager
def borrowed_key(key: bytes) -> Iterator[None]:
    """Use the curator's key where the curator's folder is not: in a worker, for the time of its task."""
    token = _borrowed.set(key)
    try:
        yield
    finally:
        _borrowed.reset(token)


def fingerprint_key() -> bytes:
    """The key of fingerprints; made on first use, readable by its owner alone.

    Raises
    ------
    ReticentError
        A folder that cannot be written, or a key file that is damaged.
    """
    if (borrowed := _borrowed.get()) is not None:
        return borrowed
    path = home() / "fingerprint.key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
    except OSError as error:
        raise ReticentError(
            f"the key of fingerprints cannot be kept in {path.parent} ({error.strerror}); set RETICENT_HOME to a "
            "folder that can be written"
        ) from None
    if len(key) != _KEY_BYTES:
        raise ReticentError(f"the key of fingerprints in {path.parent} is damaged; restore it from a copy")
    return key


def _make_key(path: Path) -> None:
    """Whole or not at all, and only once, however many processes try."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink()


def key_name(key: bytes) -> str:
    """What a key is called in files that were made with it: tells keys apart and gives nothing away."""
    return hashlib.blake2b(b"name", key=key, digest_size=8).hexdigest()


def series_fingerprint(key: bytes, series_id: Any) -> str:
    """Keyed hash of a series identifier, the same for 5, 5.0 and "5": files of other formats know other types."""
    return series_fingerprints(key, [series_id])[0]


def series_fingerprints(key: bytes, series_ids: Iterable[Any]) -> list[str]:
    """Those of many series."""
    fresh, found = hashlib.blake2b(key=key, digest_size=16), []
    for each in series_ids:
        own = fresh.copy()
        own.update(encode_id(_as_text(each)))
        found.append(own.hexdigest())
    return found


def _as_text(series_id: Any) -> Any:
    if isinstance(series_id, tuple):
        return tuple(_as_text(part) for part in series_id)
    if isinstance(series_id, float) and series_id.is_integer():
        series_id = int(series_id)
    return series_id if isinstance(series_id, bytes) else str(series_id)


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose (at most 16 letters), so that nothing made with one serves for another."""
    return hashlib.blake2b(key=key, digest_size=_KEY_BYTES, person=purpose.encode()).digest()


def series_codes(key: bytes, series_ids: Sequence[Any] | EncodedIds) -> NDArray[np.uint64]:
    """Keyed 64-bit codes of series, shape (len(series_ids),).

    A number and its text have one code, since a CSV file and a Parquet file of the same data may differ in this. Two
    series that fell on one code would be charged together: never below the truth.

    Parameters
    ----------
    key : bytes
    series_ids : sequence, or EncodedIds of what `plain_id` gives
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if not isinstance(series_ids, EncodedIds):
        whole = whole_numbers(series_ids)
        if whole is None:
            series_ids = EncodedIds.of([plain_id(each) for each in series_ids])
        else:
            series_ids = EncodedIds.numerals(whole, "s")
    cipher = Cipher(algorithms.AES(derived_key(key, "series")), modes.ECB())
    codes = np.ascontiguousarray(authenticated(cipher, b"series codes", series_ids)[:, :8])
    return codes.view("<u8").reshape(-1).astype(np.uint64)


def plain_id(identifier: Any) -> Any:
    """An identifier as the ledger knows it: ``1``, ``1.0`` and ``"1"`` alike."""
    if isinstance(identifier, np.generic):
        identifier = identifier.item()
    if isinstance(identifier, tuple):
        return tuple(plain_id(part) for part in identifier)
    if isinstance(identifier, str):
        word = identifier.strip()
        whole = re.sub(r"\.0+$", "", word)  # of numbers among which one is missing, pandas writes 1 as 1.0
        return str(int(whole)) if whole.isdecimal() and whole.isascii() else word
    if isinstance(identifier, int) or (isinstance(identifier, float) and identifier.is_integer()):
        return str(int(identifier))
    return identifier


def time_codes(key: bytes, ticks: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keyed 64-bit code of the times of each series, shape (len(offsets) - 1,): equal for equal times.

    The sum of one mixed word a record, so whole panels are coded without a loop.
    """
    seed = np.frombuffer(derived_key(key, "times")[:8], dtype="<u8").astype(np.uint64)[0]
    words = ticks.astype(np.int64).view(np.uint64) ^ seed
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return np.add.reduceat(words, offsets[:-1]).view(np.int64)
