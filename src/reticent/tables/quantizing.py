"""Coarsen the values of a table, each value column by its own cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.errors import InputError
from reticent.quantization import Quantizer, VectorQuantization
from reticent.randomness import Source
from reticent.tables.chunks import Chunk
from reticent.tables.reading import Columns, Records

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class QuantizeVerb:
    """Nothing is drawn: the same values give the same release."""

    records: Records
    mechanism: VectorQuantization
    asked: dict[str, Any]
    action = "quantize"
    extra: tuple[str, ...] = ()
    look_ahead = 1

    @property
    def released(self) -> Columns:
        """Columns of the release: those of the input."""
        return self.records.columns

    def warm_up(self) -> None:
        """Load the kernels, with a missing value, which no range refuses."""
        for part in self.mechanism.coordinates:
            part.quantizer.encode(np.array([np.nan]))

    def apply(self, chunk: Chunk, source: Source) -> pa.Table:
        """The release of whole series, or of a part of one: each record by itself."""
        return self._coarsened(chunk)

    def _coarsened(self, chunk: Chunk) -> pa.Table:
        import pyarrow as pa

        table = chunk.table.select(chunk.columns.all)
        for name, part in zip(chunk.columns.value, self.mechanism.coordinates, strict=True):
            released = quantize_column(table[name], part.quantizer, name)
            table = table.set_column(table.schema.get_field_index(name), pa.field(name, released.type), released)
        return table if chunk.moments is None else _in_order_of_release(table, chunk)

    def examine(self, chunk: Chunk) -> pa.Table:
        """As `apply`: nothing is drawn."""
        return self._coarsened(chunk)

    def parameters(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "asked": self.asked,
            "coordinates": [part.to_dict() for part in self.mechanism.coordinates],
        }


def _in_order_of_release(table: pa.Table, chunk: Chunk) -> pa.Table:
    """Records of one time in the order of what is released: that of their values would say more than the symbols."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keyed = pa.table({"moment": chunk.moments, **{f"{i}": table[name] for i, name in enumerate(chunk.columns.value)}})
    return table.take(pc.sort_indices(keyed, [(name, "ascending") for name in keyed.column_names]))


def quantize_column(column: pa.ChunkedArray, quantizer: Quantizer, name: str) -> pa.Array:
    """Symbols of one column; null where missing.

    Raises
    ------
    InputError
        A column that holds no numbers, or values outside the range.
    """
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(f"value: column {name} holds {kind} values; only numbers are quantised")
    array = column.combine_chunks()
    if pa.types.is_decimal(kind):
        codes = quantizer.encode(np.array(array.to_pylist(), dtype=object))
    else:
        values = array.fill_null(0).to_numpy(zero_copy_only=False) if array.null_count else array.to_numpy()
        absent = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        codes = _encode(quantizer, values, absent)
    symbols = quantizer.symbols
    missing = codes < 0
    return pa.array(symbols).take(pa.array(codes, mask=missing if missing.any() else None))


def _encode(quantizer: Quantizer, values: Any, absent: Any) -> Any:
    if absent is None:
        return quantizer.encode(values)
    codes = np.full(values.size, -1, dtype=np.int64)
    codes[~absent] = quantizer.encode(values[~absent])
    return codes
