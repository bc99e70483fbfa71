"""The releases that requests were answered with, kept beside the ledger: public files, to be handed out again.

They are stored before the charge, so that whatever was charged can be handed out; copies and no links, since a released
file may be edited where it lies.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from reticent.accounting.chain import sync
from reticent.errors import LedgerError

RELEASED = "released"


def path_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal; of a folder, that of the list of its files and their hashes."""
    if path.is_dir():
        lines = "".join(f"{sha256}  {name}\n" for name, sha256 in path_hashes(path).items())
        return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def path_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each file in a folder, by its name below the folder, in order."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path_hash(path) for path in paths}


def _copy(path: Path, to: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, to, copy_function=shutil.copyfile)
        for each in (to, *to.rglob("*")):
            sync(each)
    else:
        shutil.copyfile(path, to)
        sync(to)


class Answers:
    """Stored releases, by the SHA-256 of the released file.

    Parameters
    ----------
    ledger : Path
        Of the ledger that they belong to.
    """

    def __init__(self, ledger: Path) -> None:
        self._folder = ledger.with_name(f"{ledger.name}.answers")

    def keep(self, sha256: str, files: Mapping[str, Path]) -> None:
        """Store the files of a release under the names of their parts; one of them is `RELEASED`.

        Raises
        ------
        LedgerError
            If they cannot be stored.
        """
        place = self._folder / sha256
        part = self._folder / f".{sha256}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            part.mkdir()
            for name, path in files.items():
                _copy(path, part / name)
            sync(part)
            with contextlib.suppress(OSError):  # stored before: equal, since the hash is
                part.rename(place)
            sync(self._folder)
        except OSError as error:
            raise LedgerError(f"ledger: the answer cannot be stored ({error.strerror}); nothing was charged") from None
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def drop(self, sha256: str) -> None:
        """Forget a release that was not charged after all."""
        shutil.rmtree(self._folder / sha256, ignore_errors=True)

    def place(self, sha256: str, files: Mapping[str, Path]) -> None:
        """Copy a stored release to the paths of its parts.

        Raises
        ------
        LedgerError
            If it is not stored, or was altered: it is never made anew.
        """
        for name, path in files.items():
            try:
                if path.is_dir():
                    shutil.rmtree(path)
                _copy(self._folder / sha256 / name, path)
            except OSError:
                raise LedgerError(
                    "ledger: the release that this request was answered with is no longer stored beside the ledger; "
                    "put it back, or ask under another name, which is charged anew"
                ) from None
        if path_hash(files[RELEASED]) != sha256:
            raise LedgerError("ledger: the release that this request was answered with was altered since")
