"""Switch whole series of a table: indices are drawn, then the value columns are taken by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reticent.errors import ArgumentError, RefusedError
from reticent.randomness import Source
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch, Switch, auto_switch, switch_batch
from reticent.tables.chunks import Chunk
from reticent.tables.reading import Columns, Records

if TYPE_CHECKING:
    import pyarrow as pa


SWITCHES = ("auto", "footrule", "mallows", "ran")


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


def choose_switch(mechanism: str, window: int, epsilon: float, delta: float | None) -> Switch:
    """The mechanism of that name, if its δ is within what is allowed (0 where nothing is said).

    Raises
    ------
    ArgumentError
        A name that is none; parameters that the mechanism refuses.
    RefusedError
        A δ that the mechanism cannot reach: the sentence names the one it can.
    """
    match mechanism:
        case "auto":
            switch = auto_switch(window, epsilon)
        case "footrule":
            switch = FootruleSwitch(window, epsilon)
        case "mallows":
            switch = MallowsSwitch(window, epsilon, delta=delta or 0.0)
        case "ran":
            switch = RanSwitch(window, epsilon)
        case _:
            raise ArgumentError(f"mechanism: must be one of {', '.join(SWITCHES)}")
    reached = switch.guarantee.delta
    if reached > (delta or 0.0):
        stated = "none was allowed" if delta is None else f"{delta:g} is allowed"
        raise RefusedError(
            f"delta: {mechanism} at this window and ε has δ = {reached:.4g}, and {stated}; state --delta, or choose "
            "--mechanism auto, which reaches 0 for a whole file"
        )
    return switch
