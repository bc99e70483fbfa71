"""The command lines of an advice, ready to copy into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from reticent.tables.delimited import NULLS, Reading

_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".feather", ".arrow", ".ipc", ".gz", ".gzip", ".zst", ".zstd")
_AS_WRITTEN = {".txt": ".csv", ".gzip": ".gz", ".zstd": ".zst", ".pq": ".parquet"}


@dataclass(frozen=True)
class Commands:
    """Command lines about one input.

    Parameters
    ----------
    path : Path
    columns : tuple of str
        Options that name the columns.
    reading : Reading
    duplicates : str
    """

    path: Path
    columns: tuple[str, ...]
    reading: Reading
    duplicates: str

    def line(self, verb: str, *options: str, output: str, rule: bool = True) -> str:
        """``reticent VERB INPUT … -o OUTPUT``; `rule` says whether the verb takes a rule for duplicates."""
        how = [*self.columns, *options, *reading_options(self.reading)]
        if rule and self.duplicates != "error":
            how += ["--duplicates", self.duplicates]
        return shlex.join(["reticent", verb, str(self.path), *how, "-o", output])

    def output(self, done: str) -> str:
        """Name of the released file, in the folder where the command is run: that of the input with `done` before its
        suffix."""
        suffixes: list[str] = []
        name = self.path
        while name.suffix.lower() in _SUFFIXES:
            suffixes.insert(0, _AS_WRITTEN.get(name.suffix.lower(), name.suffix))
            name = name.with_suffix("")
        if suffixes in ([".gz"], [".zst"], []):  # a name that does not say what is compressed
            suffixes.insert(0, ".csv")
        return f"{name.name}.{done}{''.join(suffixes)}"


def column_options(time: str, value: str, ids: Iterable[str]) -> tuple[str, ...]:
    """``--id … --time … --value …``."""
    named = [part for each in ids for part in ("--id", each)]
    return (*named, "--time", time, "--value", value)


def reading_options(reading: Reading) -> list[str]:
    """The options that make a file be read in this way."""
    usual, options = Reading(), []
    for name, value, default in (
        ("delimiter", reading.delimiter, usual.delimiter),
        ("decimal", reading.decimal, usual.decimal),
        ("thousands", reading.thousands, usual.thousands),
        ("quote", reading.quote, usual.quote),
        ("encoding", reading.encoding, usual.encoding),
        ("time-format", reading.time_format, usual.time_format),
        ("time-zone", reading.time_zone, usual.time_zone),
        ("ambiguous", reading.ambiguous, usual.ambiguous),
        ("columns", ",".join(reading.names), ""),
        ("skip-rows", reading.skip_rows, usual.skip_rows),
        ("null-id", reading.null_id, usual.null_id),
        ("quarantine", reading.quarantine, usual.quarantine),
    ):
        if value != default:
            options += [f"--{name}", r"\t" if value == "\t" else str(value)]
    for null in reading.nulls:
        if null not in NULLS:
            options += ["--null", null]
    if not reading.header:
        options.append("--no-header")
    return options + (["--row-names"] if reading.row_names else [])


def plain(number: float | int | str) -> str:
    """A number as a person writes it: 2, 0.5."""
    return str(number) if isinstance(number, str) else f"{number:.12g}"
