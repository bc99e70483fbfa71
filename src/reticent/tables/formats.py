"""File formats: told apart by their first bytes, written afresh (no metadata of the source survives)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from reticent.errors import ArgumentError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather"}
_FEATHER_1 = b"FEA1"
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
}
_INSIDE = {"parquet": ("zstd", "snappy", "gzip", "brotli", "lz4", "none"), "feather": ("zstd", "lz4", "none")}
GROUP_ROWS = 1 << 18
_COMPRESSION_SUFFIXES = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}


@dataclass(frozen=True)
class Format:
    """`kind` is "csv", "parquet" or "feather"; `compression` wraps a CSV file ("gzip", "zstd" or None), and is inside
    another one ("zstd" if None).

    Text is written in UTF-8 with a decimal point, whatever the input's encoding and decimal mark.
    """

    kind: str
    compression: str | None = None
    delimiter: str = ","

    def __str__(self) -> str:
        return self.kind if self.compression is None else f"{self.kind}, {self.compression}"


def format_of_file(path: Path) -> Format:
    """What a file is, by its content.

    Raises
    ------
    InputError
        A file that is missing, unreadable or empty; a pipe, which could be read but once; Feather of version 1.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"input: {path.name} is a pipe or a device, which is read but once; write it to a file first")
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise InputError(f"input: {path.name} cannot be read ({error.strerror})") from None
    if not head:
        raise InputError(f"input: {path.name} is empty")
    if head.startswith(_FEATHER_1):
        raise InputError(f"input: {path.name} is a Feather file of version 1; write it as version 2 or as Parquet")
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return Format(kind)
    for magic, compression in _COMPRESSED.items():
        if head.startswith(magic):
            return Format("csv", compression)
    return Format("csv")


def format_of_name(path: Path, fallback: Format, inside: str | None = None) -> Format:
    """The format that an output's suffix asks for; that of the input where the suffix says nothing.

    Parameters
    ----------
    path : Path
    fallback : Format
    inside : str, optional
        How a Parquet or Feather file is compressed inside.

    Raises
    ------
    ArgumentError
        A suffix that names a format which is not written, or a compression that it does not have.
    """
    format = _named(path, fallback)
    if inside is None:
        return format
    if format.kind == "csv":
        raise ArgumentError("compression: that of a text file is said by the end of its name: .gz or .zst")
    if inside not in _INSIDE[format.kind]:
        raise ArgumentError(
            f"compression: that of a {format.kind} file must be one of {', '.join(_INSIDE[format.kind])}"
        )
    return replace(format, compression=inside)


def _named(path: Path, fallback: Format) -> Format:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSION_SUFFIXES.get(suffixes[-1]) if suffixes else None
    if compression:
        suffixes.pop()
    if not suffixes:
        return fallback if compression is None else Format("csv", compression, fallback.delimiter)
    kind = _SUFFIXES.get(suffixes[-1])
    if kind is None:
        raise ArgumentError(
            f"output: {suffixes[-1]} is no format that is written; use .csv, .tsv, .parquet or .feather "
            "(.gz or .zst after .csv)"
        )
    if kind != "csv":
        if compression:
            raise ArgumentError(f"output: {kind} is compressed inside; leave the {path.suffix} away")
        return Format(kind)
    delimiter = "\t" if suffixes[-1] == ".tsv" else fallback.delimiter
    return Format("csv", compression, delimiter)


def check_whole(path: Path) -> None:
    """Read a Feather file once through, a batch at a time: DuckDB ends the process on one that is damaged.

    Raises
    ------
    pyarrow.ArrowException, OSError
        If it is.
    """
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as batches:
        for number in range(batches.num_record_batches):
            batches.get_batch(number).validate(full=True)


@contextmanager
def open_bytes(path: Path, compression: str | None) -> Iterator[IO[bytes]]:
    """The (decompressed) bytes of a file."""
    import pyarrow as pa

    with path.open("rb") as file:
        if compression is None:
            yield file
        else:
            with pa.CompressedInputStream(file, compression) as stream:
                yield io.BufferedReader(stream)


def first_lines(path: Path, format: Format, encoding: str, most: int = 50, errors: str = "strict") -> list[str]:
    """The first text lines of a CSV file, without a byte-order mark.

    Raises
    ------
    InputError
        Bytes that are no text in this encoding, or a damaged compressed file.
    """
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    try:
        with open_bytes(path, format.compression) as stream:
            text = io.TextIOWrapper(stream, encoding=codec, errors=errors, newline="")
            return [line for _, line in zip(range(most), text, strict=False)]
    except UnicodeError:
        raise InputError(f"input: {path.name} is not {encoding} text; name its encoding with --encoding") from None
    except OSError:
        raise InputError(f"input: {path.name} is damaged ({format.compression} data end too early)") from None


def rows_of(lines: list[str], delimiter: str, quote: str) -> list[list[str]]:
    """The fields of each row that has any.

    Raises
    ------
    InputError
        A field of more than 131,072 characters, which quotes that do not close can make.
    """
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter, quotechar=quote) if row]
    except csv.Error:
        raise InputError("input: a field of the first rows is too long; do all quotes close?") from None


class Writer:
    """Writes tables of one schema to a file in the given format.

    A Parquet or Feather file has `group` rows in each of its groups but the last, however they come, so that it shows
    nothing of how the release was made (of which records were left out where several share a time, for one).
    """

    def __init__(self, path: Path, format: Format, schema: pa.Schema, group: int = GROUP_ROWS) -> None:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        self.schema = schema
        self._kind = format.kind
        self._raw: Any = None
        self._sink: Any = None
        self._group, self._waiting, self._count = group, [schema.empty_table()], 0
        match format.kind:
            case "parquet":
                times = [each.name for each in schema if pa.types.is_timestamp(each.type)]
                self._writer: Any = pyarrow.parquet.ParquetWriter(
                    path,
                    schema,
                    compression=format.compression or "zstd",
                    store_schema=True,
                    version="2.6",
                    use_dictionary=[name for name in schema.names if name not in times],
                    column_encoding=dict.fromkeys(times, "DELTA_BINARY_PACKED"),  # a third off the file, and quicker
                )
            case "feather":
                inside = None if format.compression == "none" else format.compression or "zstd"
                self._writer = pa.ipc.new_file(path, schema, options=pa.ipc.IpcWriteOptions(compression=inside))
            case _:
                self._raw = pa.OSFile(str(path), "wb")
                self._sink = (
                    pa.CompressedOutputStream(self._raw, format.compression) if format.compression else self._raw
                )
                options = pyarrow.csv.WriteOptions(delimiter=format.delimiter, quoting_style="needed")
                self._writer = pyarrow.csv.CSVWriter(self._sink, schema, write_options=options)

    def write(self, table: pa.Table) -> None:
        """Append a table."""
        if self._raw is not None:
            self._writer.write_table(table)
            return
        import pyarrow as pa

        self._waiting.append(table)
        self._count += table.num_rows
        if self._count < self._group:
            return
        waiting = pa.concat_tables(self._waiting)
        self._count %= self._group
        whole = waiting.num_rows - self._count
        for first in range(0, whole, self._group):
            self._write_group(waiting.slice(first, self._group))
        rest = waiting.slice(whole)
        self._waiting = [rest.take(np.arange(self._count))]  # a copy: a slice would keep all that was written

    def _write_group(self, table: pa.Table) -> None:
        table = table.combine_chunks()
        if self._kind == "feather":  # where even a slice of an array is written in another way than a whole one
            table = table.take(np.arange(table.num_rows))
        self._writer.write_table(table, self._group)

    def close(self) -> None:
        """Finish the file."""
        if self._count:
            import pyarrow as pa

            self._write_group(pa.concat_tables(self._waiting))
        self._writer.close()
        if self._sink is not None:
            self._sink.close()
            self._raw.close()


def with_whole_seconds(table: pa.Table, column: str) -> pa.Table:
    """A time column without fractions of a second (there are none), for text."""
    import pyarrow as pa

    at = table.schema.get_field_index(column)
    kind = pa.timestamp("s", table.schema.field(at).type.tz)
    return table.set_column(at, pa.field(column, kind), table[column].cast(kind))
