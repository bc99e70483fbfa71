"""How a stream is followed, and where it stands."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from reticent.accounting.ledger import Ledger
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, InputError
from reticent.randomness import Source, secure_source
from reticent.tables.following.lines import FORMATS
from reticent.tables.reading import Columns
from reticent.tables.staging import Outputs

LATE = ("error", "drop")
DUPLICATES = ("error", "first")


@dataclass(frozen=True)
class Following:
    """How a stream is followed.

    Parameters
    ----------
    columns : Columns
    checkpoint : path
        Made by the first run; **as secret as the data**.
    output : path, optional
        Else standard output, each record with its number.
    format : {"csv", "jsonl"}
    late : {"error", "drop"}
        A record that lies before another of its series that came before it.
    duplicates : {"error", "first"}
        A record at the time of the one before it.
    keep_open : bool
        The end of the input is not the end of the stream: what is held back stays so.
    after : int
        The input begins after so many records of the stream.
    seen : int, optional
        In a pipe: the consumer has all records up to this number.
    commit : float
        Seconds between checkpoints, at least.
    ledger : Ledger, optional
    dataset : str
    source : Source, optional
        For the first run.
    sign : path, optional
    overwrite : bool
    delimiter, time_format : str, optional
    """

    columns: Columns
    checkpoint: Path
    output: Path | None = None
    format: str = "csv"
    late: str = "error"
    duplicates: str = "error"
    keep_open: bool = False
    after: int = 0
    seen: int | None = None
    commit: float = 0.5
    ledger: Ledger | None = None
    dataset: str = ""
    source: Source = field(default_factory=secure_source)
    sign: Path | None = None
    overwrite: bool = False
    delimiter: str | None = None
    time_format: str | None = None

    def __post_init__(self) -> None:
        choices = (
            ("format", self.format, FORMATS),
            ("late", self.late, LATE),
            ("duplicates", self.duplicates, DUPLICATES),
        )
        for name, value, allowed in choices:
            if value not in allowed:
                raise ArgumentError(f"{name}: of a stream that is followed it must be one of {', '.join(allowed)}")
        if self.output is not None and self.seen is not None:
            raise ArgumentError("seen: an output file is cut back by itself; leave it away")
        if self.output is not None:
            others = (self.output, *Outputs(self.output).companions)
            if self.checkpoint.absolute() in [each.absolute() for each in others]:
                raise ArgumentError("checkpoint: it and the output, or what lies beside it, are one file; name two")
        if self.after < 0 or (self.seen is not None and self.seen < 0):
            raise ArgumentError("after, seen: must be numbers of records, zero or more")
        if not self.commit >= 0:
            raise ArgumentError("commit: must be a number of seconds, zero or more")

    def check_input(self, descriptor: int) -> None:
        """Refuse what cannot be read, or would be written over.

        Raises
        ------
        ArgumentError, InputError
            A folder; the output or the checkpoint.
        """
        given = os.fstat(descriptor)
        if stat.S_ISDIR(given.st_mode):
            raise InputError("input: it is a folder; a stream is a file, a named pipe or standard input")
        for name, path in (("output", self.output), ("checkpoint", self.checkpoint)):
            if path is not None and path.exists() and os.path.samestat(given, path.stat()):
                raise ArgumentError(f"{name}: it is the input; name another file")


@dataclass(frozen=True)
class Followed:
    """Where a stream stands.

    Attributes
    ----------
    taken, released : int
        Records so far.
    dropped : dict
        Records that were left out, by rule; for the curator.
    finished : bool
    certificate : Certificate
    outputs : Outputs
        Where certificate and report are; of a pipe, named after the checkpoint.
    """

    taken: int
    released: int
    dropped: dict[str, int]
    finished: bool
    certificate: Certificate
    outputs: Outputs
