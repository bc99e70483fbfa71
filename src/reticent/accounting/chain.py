"""The file of a ledger: entries in SQLite, each with an HMAC over itself and the one before.

Rollback journal and synchronous=FULL. Nothing is read from the file but entries, and coverages that an entry names by
their hash; there is no index that could hide one.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import sqlite3
import urllib.parse
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from reticent.accounting.coverage import Coverage
from reticent.accounting.events import canonical
from reticent.accounting.fingerprints import fingerprint_key, key_name
from reticent.accounting.heads import Head, HeadFile, Lock, ledger_key, path_name, place_of, remember_place
from reticent.errors import LedgerError

FORMAT = "reticent ledger"
SCHEMA = 1

_TABLES = (
    "CREATE TABLE entries (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, mac BLOB NOT NULL)",
    "CREATE TABLE coverages (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)

Body: TypeAlias = dict[str, Any]
Take: TypeAlias = Callable[[int, bytes], None]


class Append(Protocol):
    """Adds an entry, and the coverage that it names if that is new; returns the number of the entry."""

    def __call__(self, body: Body, coverage: bytes | None = None) -> int: ...


class Chain:
    """An open ledger file.

    Parameters
    ----------
    path : Path
    create : bool
        Make it where there is none, and never was.
    lost : bool
        Make it although the one that was there is missing.

    Raises
    ------
    LedgerError
        A file that is missing, is no ledger, stands in another's place, or was made under another key.
    """

    def __init__(self, path: Path, *, create: bool, lost: bool = False) -> None:
        self.path = path
        self._key = ledger_key()
        self.count = 0
        self._mac = b""
        with _plainly(path):
            if create:
                with Lock(path_name(path)).held():
                    self._create(lost)
            known = place_of(path)
            if not path.exists():
                raise LedgerError(
                    f"ledger: there is no {path.name}"
                    if known is None
                    else f"ledger: {path.name} is missing, and with it what was spent; put it back"
                )
            self._open()
            _check_schema(self._connection, path)
            self.name = _name_of(self._connection, path)
            if known not in (None, self.name):
                raise LedgerError(f"ledger: {path.name} is another ledger than the one that was here; put that back")
            self._heads = HeadFile(self._key, self.name)

    # --- making ------------------------------------------------------------------------------------------------------

    def _create(self, lost: bool) -> None:
        """The head comes first, then the file, complete: a crash in between leaves nothing that was spent."""
        if self.path.exists():
            return
        known = place_of(self.path)
        head = None if known is None else HeadFile(self._key, known).read()
        empty = head is not None and head.count == 1 and head.pending is None
        if not (lost or known is None or empty):
            raise LedgerError(f"ledger: {self.path.name} is missing, and with it what was spent; put it back")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        name = secrets.token_hex(16)
        body = canonical(
            {"entry": "ledger", "format": FORMAT, "schema": SCHEMA, "name": name, "key": key_name(fingerprint_key())}
        ).encode()
        mac = self._seal(b"", 0, body)
        part = self.path.with_name(f".{self.path.name}.{name}.part")
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # its journals take over who may read
        connection = sqlite3.connect(part, isolation_level=None)
        try:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute("INSERT INTO entries VALUES (0, ?, ?)", (body, mac))
        finally:
            connection.close()
        HeadFile(self._key, name).write(Head(0, 1, mac))
        remember_place(self.path, name)
        part.replace(self.path)
        sync(self.path.parent)

    # --- reading -----------------------------------------------------------------------------------------------------

    def _seal(self, before: bytes, seq: int, body: bytes) -> bytes:
        return hmac.digest(self._key, before + seq.to_bytes(8, "big") + body, "sha256")

    def read(self, take: Take) -> None:
        """Check the entries that were not yet read, and pass them on; nothing is changed.

        Raises
        ------
        LedgerError
            Whatever is not as it was left.
        """
        with _plainly(self.path), self._heads.lock.held(shared=True):
            self._reopen()
            self._catch_up(take)

    def _catch_up(self, take: Take) -> Head:
        head = self._heads.read()
        if head is None:
            raise LedgerError(
                f"ledger: the head of {self.path.name} is not kept here, so it cannot be told whether charges are "
                "missing; bring the folder of the curator's keys (RETICENT_HOME) along with the ledger"
            )
        start = max(self.count - 1, 0)
        rows = self._connection.execute(
            "SELECT seq, body, mac FROM entries WHERE seq >= ? ORDER BY seq", (start,)
        ).fetchall()
        if not rows:
            raise LedgerError(f"ledger: {self.path.name} is an older or a shortened copy; put the right file back")
        count, mac = self.count, self._mac
        fresh: list[tuple[int, bytes]] = []
        for place, (seq, body, own) in enumerate(rows, start):
            if place < self.count:
                known = seq == place and own == mac
            else:
                known = seq == place and isinstance(body, bytes) and own == self._seal(mac, seq, body)
                fresh.append((seq, body))
                count, mac = place + 1, own
            if not known:
                raise LedgerError(f"ledger: entry {place} of {self.path.name} was altered; put the right file back")
        whole = (count, mac) in ((head.count, head.mac), (head.count + 1, head.pending))
        if not whole:
            raise LedgerError(
                f"ledger: {self.path.name} holds {count - 1} entries where {head.count - 1} were made: it is an older "
                "or a shortened copy; put the right file back"
            )
        for seq, body in fresh:
            take(seq, body)
        self.count, self._mac = count, mac
        return head

    def bodies(self, *, newest_first: bool = False) -> Iterator[tuple[int, bytes]]:
        """Entries that have been checked."""
        order = "DESC" if newest_first else "ASC"
        with _plainly(self.path):
            yield from self._connection.execute(
                f"SELECT seq, body FROM entries WHERE seq < ? ORDER BY seq {order}", (self.count,)
            )

    def coverage(self, number: int, digest: str) -> Coverage:
        """A coverage that an entry names."""
        with _plainly(self.path):
            row = self._connection.execute("SELECT data FROM coverages WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise LedgerError(f"ledger: {self.path.name} lacks the series of an entry; put the right file back")
        return Coverage.from_bytes(row[0], digest)

    # --- writing -----------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self, take: Take) -> Iterator[Append]:
        """Alone and up to date; the block may append one entry, which is durable once the block has ended.

        Raises
        ------
        LedgerError
            If anything is not as it was left, or cannot be written. Nothing may be released then.
        """
        with _plainly(self.path), self._heads.lock.held():
            self._reopen()
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                head = self._catch_up(take)
                added: list[tuple[bytes, bytes]] = []

                def append(body: Body, coverage: bytes | None = None) -> int:
                    text = canonical(body).encode("utf-8", "surrogatepass")
                    added.append((text, self._seal(self._mac, self.count, text)))
                    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (self.count, *added[-1]))
                    if coverage is not None:
                        connection.execute("INSERT INTO coverages VALUES (?, ?)", (self.count, coverage))
                    return self.count

                yield append
                if not added:
                    connection.execute("ROLLBACK")
                    return
                ((text, mac),) = added
                self._heads.write(Head(head.serial + 1, self.count, self._mac, mac))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._heads.write(Head(head.serial + 2, self.count + 1, mac))
            take(self.count, text)
            self.count, self._mac = self.count + 1, mac

    def _open(self) -> None:
        self._connection, self._pid = _connect(self.path), os.getpid()
        weakref.finalize(self, _let_go, self._connection, self._pid).atexit = False

    def _reopen(self) -> None:
        """A connection does not cross a fork."""
        if self._pid != os.getpid():
            self._open()

    def close(self) -> None:
        """Let go of the file."""
        _let_go(self._connection, self._pid)
        self._heads.close()


def _let_go(connection: sqlite3.Connection, pid: int) -> None:
    """Close a connection of this process; one that came through a fork is its parent's."""
    if pid == os.getpid():
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    """An existing database in rollback-journal mode, at full durability."""
    with path.open("rb") as file:
        header = file.read(20)
    if header[:16] != b"SQLite format 3\0" or header[18:20] != b"\1\1":
        raise LedgerError(f"ledger: {path.name} is no ledger, or was truncated or converted; put the right file back")
    name = urllib.parse.quote(str(path.resolve()))
    connection = sqlite3.connect(
        f"file:{name}?mode=rw", uri=True, isolation_level=None, timeout=30.0, check_same_thread=False
    )
    try:
        for setting in ("synchronous = FULL", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """The two tables as they were made, and no trigger or view beside them."""
    found = tuple(sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master ORDER BY rowid"))
    if found != _TABLES:
        raise LedgerError(f"ledger: {path.name} was altered (its tables are others); put the right file back")


def _name_of(connection: sqlite3.Connection, path: Path) -> str:
    row = connection.execute("SELECT body FROM entries WHERE seq = 0").fetchone()
    try:
        body = json.loads(row[0]) if row else {}
    except (TypeError, ValueError):
        body = {}
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise LedgerError(f"ledger: {path.name} is not a ledger, or its first entry was altered")
    if body.get("schema") != SCHEMA:
        raise LedgerError(f"ledger: {path.name} is of another version; use the one that made it")
    if body.get("key") != key_name(fingerprint_key()):
        raise LedgerError(f"ledger: {path.name} was made under another key of the curator; bring it (RETICENT_HOME)")
    name = str(body.get("name"))
    if not re.fullmatch("[0-9a-f]{32}", name):  # it becomes the name of a file
        raise LedgerError(f"ledger: the first entry of {path.name} was altered")
    return name


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    """Whatever goes wrong with the file is one sentence, and fails closed."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LedgerError(f"ledger: {path.name} cannot be used ({error}); nothing was charged") from None
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise LedgerError(f"ledger: {path.name} is damaged ({error}); put the right file back") from None
    except OSError as error:
        raise LedgerError(f"ledger: {path.name} cannot be used ({error.strerror}); nothing was charged") from None


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
