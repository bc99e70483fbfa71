"""Data are recognised by keyed fingerprints; the key is the curator's and never leaves the house."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from reticent.errors import ReticentError
from reticent.randomness import encode_id

_KEY_BYTES = 32


def home() -> Path:
    """The folder of the curator's own files: ``$RETICENT_HOME``, else ``$XDG_DATA_HOME/reticent``, else in the home."""
    named = os.environ.get("RETICENT_HOME")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "reticent"


def fingerprint_key() -> bytes:
    """The key of fingerprints; made on first use, readable by its owner alone.

    Raises
    ------
    ReticentError
        A folder that cannot be written, or a key file that is damaged.
    """
    path = home() / "fingerprint.key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = path.read_bytes()
        else:
            key = os.urandom(_KEY_BYTES)
            with os.fdopen(descriptor, "wb") as file:
                file.write(key)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise ReticentError(
            f"the key of fingerprints cannot be kept in {path.parent} ({error.strerror}); set RETICENT_HOME to a "
            "folder that can be written"
        ) from None
    if len(key) != _KEY_BYTES:
        raise ReticentError(f"the key of fingerprints in {path.parent} is damaged; restore it from a copy")
    return key


def key_name(key: bytes) -> str:
    """What a key is called in files that were made with it: tells keys apart and gives nothing away."""
    return hashlib.blake2b(b"name", key=key, digest_size=8).hexdigest()


def series_fingerprint(key: bytes, series_id: Any) -> str:
    """Keyed hash of a series identifier."""
    return hashlib.blake2b(encode_id(series_id), key=key, digest_size=16).hexdigest()
