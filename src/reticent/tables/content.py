"""The content of a release as one hash, whatever files, parts or order of rows it is kept in.

Each series is hashed over its records in order, then the sorted hashes of all series. So a hash is computed where the
series are, and two releases have one hash only if they hold the same records (or SHA-256 is broken): a sorted list of
hashes, unlike a sum of them, leaves no room for combinations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    from reticent.tables.chunks import Chunk

Bytes = NDArray[np.uint8]


def content_hash(kinds: Sequence[tuple[str, str]], series: Iterable[bytes]) -> str:
    """SHA-256, in hexadecimal, of columns (with their kinds) and the hashes of their series."""
    digest = hashlib.sha256(json.dumps([list(each) for each in kinds]).encode() + b"\n")
    for each in sorted(series):
        digest.update(each)
    return digest.hexdigest()


def content_kinds(schema: pa.Schema) -> list[tuple[str, str]]:
    """Name and kind of each column, in order of their names: other types of one kind hold the same values."""
    return sorted((field.name, kind_of(field.type)) for field in schema)


def kind_of(kind: pa.DataType) -> str:
    """What a column holds."""
    from pyarrow import types

    if types.is_timestamp(kind):
        return "instants"
    if types.is_date(kind):
        return "days"
    if types.is_boolean(kind):
        return "flags"
    if types.is_integer(kind):
        return "whole numbers"
    if types.is_floating(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind):
        return "words"
    return "others"


def series_hashes(chunk: Chunk) -> Iterator[bytes]:
    """SHA-256 of each series of a chunk in canonical order."""
    names = sorted(chunk.table.column_names)
    fixed: list[Bytes] = []
    texts: list[tuple[memoryview, list[int]]] = []
    for name in names:
        column = chunk.table[name].combine_chunks()
        fixed.append(np.asarray(column.is_valid()).astype(np.uint8).reshape(-1, 1))
        words, text = _column(column)
        fixed.append(np.ascontiguousarray(words, dtype="<i8").view(np.uint8).reshape(-1, 8))
        if text is not None:
            texts.append((text, np.concatenate([[0], np.cumsum(words)])[chunk.offsets].tolist()))
    rows = np.concatenate(fixed, axis=1)
    for i, (a, b) in enumerate(zip(chunk.offsets[:-1].tolist(), chunk.offsets[1:].tolist(), strict=True)):
        digest = hashlib.sha256(rows[a:b].data)
        for text, ends in texts:
            digest.update(text[ends[i] : ends[i + 1]])
        yield digest.digest()


def _column(column: pa.Array) -> tuple[NDArray[np.int64], memoryview | None]:
    """A word a row: the value, or the length of its text, with all texts one after the other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = kind_of(column.type)
    if kind == "instants":
        words = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    elif kind == "days":
        words = column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    elif kind == "flags":
        words = column.cast(pa.int8()).cast(pa.int64())
    elif kind == "whole numbers":
        words = column.cast(pa.int64()) if column.type != pa.uint64() else column.view(pa.int64())
    elif kind == "numbers":
        numbers = np.array(column.cast(pa.float64()).fill_null(0.0), dtype=np.float64)
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.int64), None
    else:
        if kind == "others":
            column = pa.array([None if each is None else str(each) for each in column.to_pylist()], pa.large_string())
        binary = column.cast(pa.large_string()).cast(pa.large_binary())
        data = b"".join(binary.drop_null().to_pylist())
        return np.asarray(pc.binary_length(binary).fill_null(0), dtype=np.int64), memoryview(data)
    return np.asarray(words.fill_null(0), dtype=np.int64), None
