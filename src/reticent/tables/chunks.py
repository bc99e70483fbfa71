"""From a view to series in canonical order, whole unless parts of a long one will do, so many rows at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, InputError
from reticent.randomness import EncodedIds
from reticent.tables.arranging import arranged
from reticent.tables.duplicates import averaged, with_room_for_means
from reticent.tables.naming import encoded_ids, identifiers
from reticent.tables.reading import Columns, Records
from reticent.tables.restoring import restored
from reticent.tables.sql import quoted, quoted_list

if TYPE_CHECKING:
    import pyarrow as pa

DUPLICATES = ("error", "min", "max", "mean", "keep")
CHUNK_ROWS = 1 << 18
PART_ROWS = 1 << 20  # of a series that may come in parts; whatever the memory, which must show nowhere
HELD = "reticent held"  # of a row that an earlier run of a stream did not release yet: its place among those


@dataclass(frozen=True)
class Chunk:
    """Whole series, sorted by (id, time): series i is ``table[offsets[i]:offsets[i + 1]]``.

    Or a part of a single one, which does not begin or does not end here; no time is in two parts.
    """

    table: pa.Table
    offsets: NDArray[np.int64]
    columns: Columns
    begins: bool = True
    ends: bool = True

    @cached_property
    def ids(self) -> list[Any]:
        """Identifier of each series: a plain value for one id column, else a tuple."""
        return identifiers(self.table, self.columns.id, self.offsets[:-1])

    @cached_property
    def encoded_ids(self) -> EncodedIds:
        """The identifiers for a source."""
        return encoded_ids(self.table, self.columns.id, self.offsets[:-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Rows of each series."""
        return np.diff(self.offsets)

    @cached_property
    def moments(self) -> NDArray[np.int64] | None:
        """Number of each row's series and time, shape (rows,); None where no two rows share one."""
        new = np.concatenate([[True], _changes(self.table, self.columns.time)])
        new[self.offsets[:-1]] = True
        return None if new.all() else np.cumsum(new) - 1


def chunks(
    records: Records,
    *,
    duplicates: str = "error",
    extra: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
    rows: int = CHUNK_ROWS,
    look_ahead: int | None = None,
) -> Iterator[Chunk]:
    """The series of `records` in order of (id, time), whole, about `rows` rows at a time.

    A longer series comes in one chunk, unless parts will do. The order of the input's rows has no influence.

    Parameters
    ----------
    duplicates : {"error", "min", "max", "mean", "keep"}
        What to do with records of one series and time: refuse, take the smallest or the largest record, the mean of
        each value column, or keep all (in order of their values).
    extra : tuple of str
        Columns that are read beside those of the release.
    kept : tuple of str
        Columns that are released as they are: which record is taken, or comes first, must not show in them.
    look_ahead : int, optional
        A long series may come in parts, so that it is never held whole: the first with `PART_ROWS` rows and those
        needed before these are released, the others with `PART_ROWS`, less what would tear a time apart; a time that
        has more is a part by itself. Where all records of one time are kept it comes whole all the same.

    Raises
    ------
    InputError
        Duplicates, unless another rule was asked for, or that differ in a column that is kept.
    """
    if duplicates not in DUPLICATES:
        raise ArgumentError(f"duplicates: must be one of {', '.join(DUPLICATES)}")
    columns = records.columns
    names = (*columns.all, *(name for name in extra if name not in columns.all))
    parts = (sys.maxsize, 0) if look_ahead is None or duplicates == "keep" else (PART_ROWS, look_ahead - 1)
    tables = arranged(records, names, rows, sum(parts)) if duplicates == "error" and not records.anonymous else None
    if tables is not None:
        for table, offsets in tables:
            yield _chunk(restored(table, records.schema), offsets, columns, duplicates, kept)
        return
    begins = True
    for table, offsets, ends in _sorted(records, names, duplicates, rows, *parts):
        chunk = _chunk(restored(table, records.schema), offsets, columns, duplicates, kept)
        yield replace(chunk, begins=begins, ends=ends)
        begins = ends


def _sorted(
    records: Records, names: tuple[str, ...], duplicates: str, rows: int, longest: int = sys.maxsize, before: int = 0
) -> Iterator[tuple[pa.Table, NDArray[np.int64], bool]]:
    """Series as DuckDB sorts them, records of one time by their values too if they are to be told apart.

    Whole ones, or up to `longest` rows of one that has more (`before` more of them first); and whether they end.
    """
    import pyarrow as pa

    columns = records.columns
    order = quoted_list([*columns.id, columns.time])
    if duplicates != "error":
        order += "".join(_by_value(records, name, duplicates) for name in (*columns.value, *columns.keep))
    relation = records.con.sql(f"SELECT {quoted_list(names)} FROM {records.view} ORDER BY {order}")
    waiting: list[pa.RecordBatch] = []
    count, enough, begun = 0, rows, False  # whether what waits goes on with a series of which parts were given
    for batch in relation.to_arrow_reader(min(rows, 1 << 17)):
        waiting.append(batch)
        count += batch.num_rows
        if count < enough:
            continue
        table = pa.Table.from_batches(waiting).combine_chunks()
        offsets = series_offsets(table, columns.id)
        cut = int(offsets[-2])
        if cut:
            yield from _ended(table, offsets[:-1], begun)
            begun = False
        rest = table.slice(cut)
        most = longest if begun else longest + before
        while rest.num_rows > most and (ends := np.flatnonzero(_changes(rest, columns.time)) + 1).size:
            cut = int(ends[max(int(np.searchsorted(ends, most, side="right")) - 1, 0)])  # a longer time is not torn
            yield rest.slice(0, cut), np.array([0, cut]), False
            rest, begun, most = rest.slice(cut), True, longest
        waiting, count = rest.to_batches(), rest.num_rows
        twice = 2 * count  # a long series, or time, is looked at again only when it has doubled
        enough = max(rows, min(twice, most + rows) if count <= most else twice)
    table = pa.Table.from_batches(waiting).combine_chunks()
    yield from _ended(table, series_offsets(table, columns.id), begun)


def _ended(
    table: pa.Table, offsets: NDArray[np.int64], begun: bool
) -> Iterator[tuple[pa.Table, NDArray[np.int64], bool]]:
    """Series that end, the last part of one that has begun by itself."""
    first = int(offsets[1]) if begun else 0
    if first:
        yield table.slice(0, first), offsets[:2], True
    if first < offsets[-1]:
        yield table.slice(first, int(offsets[-1]) - first), offsets[int(begun) :] - first, True


def arrived(chunk: Chunk) -> Chunk:
    """Without the rows that earlier runs of a stream held back, and the series that have no others."""
    if HELD not in chunk.table.column_names:
        return chunk
    new = chunk.table[HELD].is_null()
    ends = np.concatenate([[0], np.cumsum(new.to_numpy())])[chunk.offsets]
    return Chunk(chunk.table.filter(new), np.concatenate([ends[:1], ends[1:][np.diff(ends) > 0]]), chunk.columns)


def _by_value(records: Records, name: str, duplicates: str) -> str:
    """Order of records at one time: missing ones (null or NaN) where the rule never takes them; -0.0 before 0.0."""
    column, last = quoted(name), duplicates != "max"
    order = f", {column} ASC NULLS {'LAST' if last else 'FIRST'}"
    if records.types[name] not in ("FLOAT", "DOUBLE"):
        return order
    return f", coalesce(isnan({column}), true) {'ASC' if last else 'DESC'}{order}, signbit({column}) DESC"


def _chunk(
    table: pa.Table, offsets: NDArray[np.int64], columns: Columns, duplicates: str, kept_as_is: tuple[str, ...]
) -> Chunk:
    again = ~_changes(table, columns.time)
    again[offsets[1:-1] - 1] = False
    if duplicates != "error" and any(_differ(table[name], again) for name in kept_as_is):
        raise InputError(
            f"time: {int(again.sum())} records repeat the time of another of their series, and some differ in a column "
            "that is kept, which would show how their values compare; do not keep it, or clean them first"
        )
    if duplicates == "mean":
        table = with_room_for_means(table, columns.value)
    if duplicates == "keep" or not again.any():
        return Chunk(table, offsets, columns)
    if duplicates == "error":
        raise InputError(
            f"time: {int(again.sum())} records (or more) repeat the time of another record of their series; "
            "choose a rule with --duplicates min, max, mean or keep, or name the series with --id"
        )
    kept = np.ones(table.num_rows, dtype=bool)
    kept[:-1] = ~again if duplicates == "max" else True
    if duplicates == "min":
        kept[1:] = ~again
    positions = np.concatenate([[0], np.cumsum(kept)])
    first = np.concatenate([[True], ~again])
    if duplicates == "mean":
        thinned, positions = averaged(table, first, columns.value), np.concatenate([[0], np.cumsum(first)])
        return Chunk(with_any_flag(table, thinned, first, columns), positions[offsets], columns)
    return Chunk(with_any_flag(table, table.filter(kept), first, columns), positions[offsets], columns)


def _differ(column: pa.ChunkedArray, again: NDArray[np.bool_]) -> bool:
    """Whether a row that repeats a time differs from the row before it."""
    rows = np.flatnonzero(again)
    return bool(column.take(rows).to_pylist() != column.take(rows + 1).to_pylist())


def with_any_flag(table: pa.Table, thinned: pa.Table, first: NDArray[np.bool_], columns: Columns) -> pa.Table:
    """`thinned`, one row for each group of rows of `table`, where a flag is true if it is true for any of the group.

    Else it would depend on the values which record stays, and hence whether it is private.
    """
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if field.name not in columns.all and pa.types.is_boolean(field.type):
            flags = np.asarray(table[field.name], dtype=bool)
            thinned = thinned.set_column(at, field, pa.array(np.logical_or.reduceat(flags, np.flatnonzero(first))))
    return thinned


def series_offsets(table: pa.Table, ids: tuple[str, ...]) -> NDArray[np.int64]:
    """Where each series begins, and the end, in a table sorted by its ids."""
    changed = np.zeros(max(table.num_rows - 1, 0), dtype=bool)
    for name in ids:
        changed |= _changes(table, name)
    return np.concatenate([[0], np.flatnonzero(changed) + 1, [table.num_rows]]).astype(np.int64)


def _changes(table: pa.Table, name: str) -> NDArray[np.bool_]:
    """Whether each row but the first differs from the row before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    here, before = column.slice(1), column.slice(0, len(column) - 1)
    changed = pc.not_equal(here, before)
    if column.null_count:  # of identifiers, which are a series of their own
        changed = pc.coalesce(changed, pc.xor(pc.is_null(here), pc.is_null(before)))
    return changed.to_numpy()
