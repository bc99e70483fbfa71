"""Identifiers of series, as the source of randomness and the ledger know them: a column at once where it can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.fingerprints import plain_id
from reticent.randomness import EncodedIds

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = r"^[!-~]([ -~]*[!-~])?$"  # nothing that Python would strip
_NUMBER = r"^0[0-9]+$|\.0+$"  # what may stand for another number's text


def identifiers(table: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> list[Any]:
    """A plain value for one column, else a tuple; of these rows."""
    if not names:
        return [()] * rows.size
    first = table.select(names).take(rows)
    values = [first[name].to_pylist() for name in names]
    return values[0] if len(names) == 1 else list(zip(*values, strict=True))


def encoded_ids(table: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> EncodedIds:
    """Identifiers for a source: see `encode_id`."""
    import pyarrow as pa

    column = _simple(table, names, rows)
    if column is None:
        return EncodedIds.of(identifiers(table, names, rows))
    return _written("s" if pa.types.is_string(column.type) else "i", column)


def plain_ids(table: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> EncodedIds:
    """Identifiers for the ledger: see `plain_id`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _simple(table, names, rows)
    if column is None:
        return EncodedIds.of([plain_id(each) for each in identifiers(table, names, rows)])
    if pa.types.is_string(column.type):
        unlike = pc.or_(pc.invert(pc.match_substring_regex(column, _PLAIN)), pc.match_substring_regex(column, _NUMBER))
        if unlike.true_count:
            words = [plain_id(each) for each in column.filter(unlike).to_pylist()]
            column = pc.replace_with_mask(column, unlike, pa.array(words, column.type))
    return _written("s", column)


def _simple(table: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> pa.Array | None:
    """The identifiers, if they are text or whole numbers in one column."""
    import pyarrow as pa

    if len(names) != 1:
        return None
    column = table[names[0]]
    if not (pa.types.is_string(column.type) or pa.types.is_integer(column.type)):
        return None
    column = column.take(rows).combine_chunks()
    return None if column.null_count else column


def _written(mark: str, column: pa.Array) -> EncodedIds:
    """The text of each value behind a mark of its kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, nothing = (pa.scalar(each, pa.large_string()) for each in (mark, ""))
    words = pc.binary_join_element_wise(first, column.cast(pa.large_string()), nothing)
    _, offsets, data = words.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(words) + 1)
    return EncodedIds(np.frombuffer(data, dtype=np.uint8)[: int(bounds[-1])], bounds)
