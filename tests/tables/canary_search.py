"""Finds a value in the bytes of a file, whatever it is wrapped in: the twin of somebody who looks very closely."""

from __future__ import annotations

import base64
import gzip
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet


def spellings(value: Any) -> dict[str, bytes]:
    """How a value may be written: text in several encodings, numbers in their binary forms, all in hexadecimal too."""
    texts = [value] if isinstance(value, str) else [repr(value), f"{value:.5g}", f"{value:,.1f}"]
    found: dict[str, bytes] = {}
    for text in texts:
        found |= {f"{text} in {code}": text.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be")}
    if not isinstance(value, str):
        kinds = "<f <d >f >d" if isinstance(value, float) else "<i <q >i >q"
        for kind in kinds.split():
            if not (kind[-1] == "i" and abs(value) >= 2**31):
                found[f"{value} as {kind}"] = struct.pack(kind, value)
    for name, data in list(found.items()):
        found[f"{name}, hexadecimal"] = data.hex().encode()
        for shift in range(3):  # the part of its base64 that does not depend on what stands beside it
            code = base64.b64encode(b"\0" * shift + data)[4 * bool(shift) : len(data) // 3 * 4]
            if len(code) >= 6:
                found[f"{name}, base64 {shift}"] = code
    return {name: data for name, data in found.items() if len(data) >= 4}


def sightings(path: Path, value: Any) -> list[str]:
    """Where a value shows in a file."""
    needles = spellings(value)
    upper = {name: data for name, data in needles.items() if "hexadecimal" in name}
    found = []
    for view, content in views(path):
        found += [f"{path.name}, {view}: {name}" for name, data in needles.items() if data in content]
        found += [f"{path.name}, {view}: {name}" for name, data in upper.items() if data.upper() in content]
    return found


def views(path: Path) -> Iterator[tuple[str, bytes]]:
    """The bytes of a file as they are, and all that can be unpacked from them."""
    content = path.read_bytes()
    yield "bytes", content
    if content.startswith(b"\x1f\x8b"):
        yield "unzipped", gzip.decompress(content)
    elif content.startswith(b"\x28\xb5\x2f\xfd"):
        yield "unzipped", pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    elif content.startswith(b"PAR1"):
        yield from _parquet(path, content)
    elif content.startswith(b"ARROW1"):
        yield from _arrow(path)


def _parquet(path: Path, content: bytes) -> Iterator[tuple[str, bytes]]:
    file = pyarrow.parquet.ParquetFile(path)
    yield "metadata", repr((file.metadata.metadata, file.schema_arrow.metadata)).encode()
    for group in range(file.metadata.num_row_groups):
        for column in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(column)
            if chunk.statistics is not None and chunk.statistics.has_min_max:
                yield "statistics", repr((chunk.statistics.min, chunk.statistics.max)).encode()
            begin = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
            end = begin + chunk.total_compressed_size
            while begin < end:
                header, start = _thrift(content, begin)
                page = content[start : start + header[3]]
                yield f"page of {chunk.path_in_schema}", _unpacked(page, header, chunk.compression)
                begin = start + header[3]


def _unpacked(page: bytes, header: dict[int, Any], compression: str) -> bytes:
    levels = sum(header[8].get(each, 0) for each in (5, 6)) if 8 in header else 0
    if compression == "UNCOMPRESSED" or (8 in header and header[8].get(7, True) is False):
        return page
    name = {"LZ4": "lz4_raw"}.get(compression, compression.lower())
    return page[:levels] + pa.Codec(name).decompress(page[levels:], header[2] - levels, asbytes=True)


def _thrift(content: bytes, at: int) -> tuple[dict[int, Any], int]:
    """A struct of Thrift's compact protocol: its fields by number, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while content[at]:
        delta, kind = content[at] >> 4, content[at] & 15
        at += 1
        if delta:
            number += delta
        else:
            number, at = _varint(content, at)
        if kind in (1, 2):
            fields[number] = kind == 1
        elif kind == 12:
            fields[number], at = _thrift(content, at)
        elif kind == 8:
            size, at = _varint(content, at, zigzag=False)
            fields[number], at = content[at : at + size], at + size
        else:
            fields[number], at = _varint(content, at)
    return fields, at + 1


def _varint(content: bytes, at: int, zigzag: bool = True) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[at] & 127) << shift
        shift += 7
        at += 1
        if content[at - 1] < 128:
            return (value >> 1) ^ -(value & 1) if zigzag else value, at


def _arrow(path: Path) -> Iterator[tuple[str, bytes]]:
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        yield "schema", reader.schema.to_string(show_schema_metadata=True, show_field_metadata=True).encode()
        for number in range(reader.num_record_batches):
            yield from frame_views(pa.Table.from_batches([reader.get_batch(number)]))


def frame_views(table: pa.Table) -> Iterator[tuple[str, bytes]]:
    """All buffers of a table in memory: what lies below a null, and dictionaries, too."""
    for name in table.column_names:
        for chunk in table[name].chunks:
            parts = [chunk, *([chunk.dictionary] if pa.types.is_dictionary(chunk.type) else [])]
            for buffer in (each for part in parts for each in part.buffers() if each is not None):
                yield f"buffer of {name}", buffer.to_pybytes()
