"""Switch whole series of a table: indices are drawn, then the value columns are taken by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reticent.randomness import Source
from reticent.switching import Switch, switch_batch
from reticent.tables.chunks import Chunk
from reticent.tables.reading import Columns, Records

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SwitchVerb:
    """The value columns of a record move together, within their series; a null is a value like any other."""

    records: Records
    switch: Switch
    asked: dict[str, Any]
    action = "switch"
    extra: tuple[str, ...] = ()

    @property
    def released(self) -> Columns:
        """Columns of the release: those of the input."""
        return self.records.columns

    def apply(self, chunk: Chunk, source: Source) -> pa.Table:
        """The release of whole series."""
        import pyarrow as pa

        order = pa.array(switch_batch(self.switch, chunk.offsets, source, chunk.ids))
        table = chunk.table.select(chunk.columns.all)
        for name in chunk.columns.value:
            table = table.set_column(
                table.schema.get_field_index(name), table.schema.field(name), table[name].take(order)
            )
        return table

    def parameters(self) -> dict[str, Any]:
        """Public parameters."""
        return {"asked": self.asked, "mechanism": self.switch.to_dict()}
