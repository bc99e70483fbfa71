"""Identifiers of series, as the source of randomness and the ledger know them: a column at once where it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.fingerprints import plain_id
from reticent.randomness import EncodedIds

if TYPE_CHECKING:
    import pyarrow as pa

Bools = NDArray[np.bool_]
Writing: TypeAlias = "tuple[Bools, Callable[[pa.Array], EncodedIds]]"  # which are written at once, and how

_PLAIN = r"^[!-~]([ -~]*[!-~])?$"  # nothing that Python would strip
_WHOLE = r"\.0+$"
_PADDED = r"^0[0-9]+$"
_DAYS = -719_162, 2_932_896  # of the years 1 to 9999, since the epoch
_DAY = 86_400


def identifiers(table: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> list[Any]:
    """A plain value for one column, else a tuple; of these rows."""
    if not names:
        return [()] * rows.size
    first = table.select(names).take(rows)
    values = [first[name].to_pylist() for name in names]
    return values[0] if len(names) == 1 else list(zip(*values, strict=True))


def encoded_ids(table: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> EncodedIds:
    """Identifiers for a source: see `encode_id`."""
    return _encoded(table, names, rows, _for_source, lambda each: each)


def plain_ids(table: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> EncodedIds:
    """Identifiers for the ledger: see `plain_id`."""
    return _encoded(table, names, rows, _for_ledger, plain_id)


def _encoded(
    table: pa.Table,
    names: Sequence[str],
    rows: NDArray[np.int64],
    writing: Callable[[pa.Array], Writing],
    plain: Callable[[Any], Any],
) -> EncodedIds:
    """A column at once, as far as it is of a kind that `writing` knows; all else one by one."""
    import pyarrow as pa

    if not names:
        return EncodedIds.of([()] * rows.size)
    written = []
    for name in names:
        column = table[name].take(rows).combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        quick, write = writing(column)
        if column.null_count:
            quick &= column.is_valid().to_numpy(zero_copy_only=False)
        if quick.all():
            written.append(write(column))
            continue
        others = [plain(each) for each in column.filter(pa.array(~quick)).to_pylist()]
        written.append(_merged(quick, write(column.filter(pa.array(quick))), EncodedIds.of(others)))
    return written[0] if len(written) == 1 else _tuples(written)


def _for_source(column: pa.Array) -> Writing:
    import pyarrow as pa

    every, kind = np.ones(len(column), dtype=bool), column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return every, lambda those: _texts("s", those)
    if pa.types.is_integer(kind):
        return _counted(column), lambda those: EncodedIds.numerals(_whole(those))
    if pa.types.is_floating(kind):
        values = _numbers(column)
        quick = (np.abs(values) < 1e16) & (np.trunc(values) == values) & ~((values == 0) & np.signbit(values))
        return quick, lambda those: _texts("f", those.cast(pa.float64()).cast(pa.int64()), ".0")
    return _for_both(column)


def _for_ledger(column: pa.Array) -> Writing:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        plain = pc.and_not(pc.match_substring_regex(column, _PLAIN), pc.match_substring_regex(column, _WHOLE))
        return plain.fill_null(False).to_numpy(zero_copy_only=False), lambda those: _texts("s", _unpadded(those))
    if pa.types.is_integer(kind):
        return _counted(column), lambda those: EncodedIds.numerals(_whole(those), "s")
    if pa.types.is_floating(kind):
        values = _numbers(column)
        quick = (np.abs(values) < 2.0**63) & (np.trunc(values) == values)
        return quick, lambda those: EncodedIds.numerals(_numbers(those).astype(np.int64), "s")
    return _for_both(column)


def _for_both(column: pa.Array) -> Writing:
    """Kinds that the ledger knows as they are: days, instants of whole seconds, and decimals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_date32(kind):
        days = column.fill_null(0).cast(pa.int32()).to_numpy()
        return (days >= _DAYS[0]) & (days <= _DAYS[1]), lambda those: _texts("c", those)
    if pa.types.is_timestamp(kind) and kind.tz is None and kind.unit != "ns":
        ticks = column.fill_null(0).cast(pa.int64()).to_numpy()
        seconds, rest = np.divmod(ticks, {"s": 1, "ms": 1000, "us": 1_000_000}[kind.unit])
        quick = (rest == 0) & (seconds >= _DAYS[0] * _DAY) & (seconds < (_DAYS[1] + 1) * _DAY)
        return quick, lambda those: _texts(
            "c", pc.replace_substring(those.cast(pa.timestamp("s")).cast(pa.string()), " ", "T")
        )
    quick = np.full(len(column), pa.types.is_decimal(kind))
    return quick, lambda those: _texts("d", those)


def _counted(column: pa.Array) -> Bools:
    """Which whole numbers have 64 bits with their sign."""
    import pyarrow as pa

    values = column.fill_null(0).to_numpy()
    return values < 2**63 if pa.types.is_uint64(column.type) else np.ones(values.size, dtype=bool)


def _whole(column: pa.Array) -> NDArray[np.int64]:
    return column.to_numpy().astype(np.int64)


def _numbers(column: pa.Array) -> NDArray[np.float64]:
    return np.asarray(column.fill_null(np.nan).to_numpy(), dtype=np.float64)


def _unpadded(column: pa.Array) -> pa.Array:
    """Numbers without the zeros that they begin with."""
    import pyarrow.compute as pc

    padded = pc.match_substring_regex(column, _PADDED)
    if not padded.true_count:
        return column
    short = pc.ascii_ltrim(column, characters="0")
    return pc.if_else(padded, pc.if_else(pc.equal(short, ""), "0", short), column)


def _texts(mark: str, column: pa.Array, end: str = "") -> EncodedIds:
    """The text of each value behind a mark of its kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, last, nothing = (pa.scalar(each, pa.large_string()) for each in (mark, end, ""))
    return _of_arrow(pc.binary_join_element_wise(first, column.cast(pa.large_string()), last, nothing))


def _tuples(parts: Sequence[EncodedIds]) -> EncodedIds:
    """A t, then the length of each part in 8 bytes, and the part."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields, size = [pa.scalar(b"t", pa.large_binary())], len(parts[0])
    for part in parts:
        lengths = np.diff(part.offsets).astype(">i8")
        for data, offsets in ((lengths.view(np.uint8), 8 * np.arange(size + 1)), (part.data, part.offsets)):
            buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
            fields.append(pa.Array.from_buffers(pa.large_binary(), size, buffers))
    return _of_arrow(pc.binary_join_element_wise(*fields, pa.scalar(b"", pa.large_binary())))


def _of_arrow(words: pa.Array) -> EncodedIds:
    _, offsets, data = words.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(words) + 1)
    return EncodedIds(np.frombuffer(data or b"", dtype=np.uint8)[: int(bounds[-1])], bounds)


def _merged(which: Bools, some: EncodedIds, others: EncodedIds) -> EncodedIds:
    """Those of `which`, and between them the others."""
    offsets = np.concatenate([some.offsets, some.offsets[-1] + others.offsets[1:]])
    place = np.empty(which.size, dtype=np.int64)
    place[which], place[~which] = np.arange(len(some)), len(some) + np.arange(len(others))
    return EncodedIds(np.concatenate([some.data, others.data]), offsets).take(place)
