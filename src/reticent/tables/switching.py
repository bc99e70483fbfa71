"""Switch the series of a table: indices are drawn, then the value columns are taken by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.errors import ArgumentError, RefusedError
from reticent.guarantees import rounded_up
from reticent.randomness import Source, seeded_source
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch, StaSwitch, Switch, auto_switch, switch_batch
from reticent.switching.mechanism import check_number
from reticent.tables.chunks import Chunk
from reticent.tables.long_series import PartSwitch
from reticent.tables.reading import Columns, Records
from reticent.tables.sql import quoted, text

if TYPE_CHECKING:
    import pyarrow as pa


PIECE = "reticent piece"
CUTS = ("day", "week", "month", "quarter", "year")
SWITCHES = ("auto", "footrule", "mallows", "ran", "sta")


@dataclass(frozen=True)
class SwitchVerb:
    """The value columns of a record move together, within their series; a null is a value like any other."""

    records: Records
    switch: Switch
    asked: dict[str, Any]
    columns: Columns
    cuts: str | None = None
    action = "switch"
    extra: tuple[str, ...] = ()

    @property
    def released(self) -> Columns:
        """Columns of the release: those of the input."""
        return self.columns

    def warm_up(self) -> None:
        """Load the kernels and compile them if need be, with a series that is thrown away."""
        switch_batch(self.switch, np.array([0, 2]), seeded_source(0), ["warm-up"])

    @property
    def look_ahead(self) -> int | None:
        """Records needed before an instant can be released; None for the whole series."""
        return self.switch.look_ahead

    @cached_property
    def _parts(self) -> PartSwitch:
        return PartSwitch(self.switch, self.columns.value)

    def apply(self, chunk: Chunk, source: Source) -> pa.Table:
        """The release of whole series, or of what is determined of one that comes in parts."""
        import pyarrow as pa

        if not (chunk.begins and chunk.ends):
            return self._parts.release(chunk, source).select(self.columns.all)
        chunk = shuffled(chunk, source)
        order = pa.array(switch_batch(self.switch, chunk.offsets, source, chunk.encoded_ids))
        table = chunk.table.select(self.columns.all)
        for name in chunk.columns.value:
            table = table.set_column(
                table.schema.get_field_index(name), table.schema.field(name), table[name].take(order)
            )
        return table

    def examine(self, chunk: Chunk) -> pa.Table:
        """The columns of the release, before anything moves."""
        return chunk.table.select(self.columns.all)

    def parameters(self) -> dict[str, Any]:
        """Public parameters."""
        zone = {} if self.cuts is None or self.records.zone is None else {"zone": self.records.zone}
        return {"asked": self.asked, "mechanism": self.switch.to_dict(), "cuts": self.cuts, **zone}


def shuffled(chunk: Chunk, source: Source) -> Chunk:
    """The records of one series and time in random order, each equally likely.

    In the order of their values, the exchange of two values would also move others: more than one exchange is hidden.
    In random order, whatever it is, it is one exchange. RanSwitch at ε = 0 draws all orders alike.
    """
    import pyarrow as pa

    if chunk.moments is None:
        return chunk
    counts = np.bincount(chunk.moments)
    tied = np.flatnonzero(counts > 1)
    firsts = np.searchsorted(chunk.moments, tied)
    times = chunk.table[chunk.columns.time].take(firsts)
    ticks = times.cast(pa.int32() if pa.types.is_date32(times.type) else pa.int64()).to_pylist()
    series = np.searchsorted(chunk.offsets, firsts, side="right") - 1
    names = [(chunk.ids[which], tick) for which, tick in zip(series.tolist(), ticks, strict=True)]
    uniform = RanSwitch(int(counts.max()), 0.0)
    drawn = switch_batch(uniform, np.cumsum([0, *counts[tied]]), source.spawn("records of one time"), names)
    order = np.arange(chunk.moments.size)
    rows = np.flatnonzero(counts[chunk.moments] > 1)
    order[rows] = rows[drawn]
    return replace(chunk, table=chunk.table.take(pa.array(order)))


def cut(records: Records, cuts: str | None) -> Records:
    """The records with each series in pieces, one a calendar day, week, month, quarter or year of the data's zone.

    Raises
    ------
    ArgumentError
        Another word, or times that are whole numbers.
    """
    if cuts is None:
        return records
    if cuts not in CUTS or records.time_is_whole:
        raise ArgumentError(f"cuts: must be one of {', '.join(CUTS)}, and times must be dates")
    clock = quoted(records.columns.time) + ("" if records.zone is None else f" AT TIME ZONE {text(records.zone)}")
    piece = f"date_trunc({text(cuts)}, {clock})"
    records.con.execute(f"CREATE OR REPLACE VIEW {records.view} AS SELECT *, {piece} AS {quoted(PIECE)} FROM typed")
    of = "" if records.zone is None else f", of {records.zone}"
    pieces = replace(records.columns, id=(*records.columns.id, PIECE))
    return replace(records, columns=pieces, plan=(*records.plan, ("cuts", f"one piece a {cuts}{of}")))


def choose_switch(
    mechanism: str, window: int, epsilon: float, delta: float | None, accept_statistical: bool = False
) -> Switch:
    """The mechanism of that name, if its δ is within what is allowed (0 where nothing is said).

    Raises
    ------
    ArgumentError
        A name that is none; parameters that the mechanism refuses.
    RefusedError
        A δ that the mechanism cannot reach (the sentence names the one it can), or one that is only known with a
        confidence bound, unless that is accepted.
    """
    if delta is not None and check_number("delta", delta) >= 1:
        raise ArgumentError("delta: must be at least 0 and below 1")
    match mechanism:
        case "auto":
            switch = auto_switch(window, epsilon)
        case "footrule":
            switch = FootruleSwitch(window, epsilon)
        case "mallows":
            switch = MallowsSwitch(window, epsilon, delta=delta or 0.0)
        case "ran":
            switch = RanSwitch(window, epsilon)
        case "sta":
            switch = StaSwitch(window, epsilon)
        case _:
            raise ArgumentError(f"mechanism: must be one of {', '.join(SWITCHES)}")
    guarantee = switch.guarantee
    if guarantee.delta > (delta or 0.0):
        stated = "none was allowed" if delta is None else f"{delta:g} is allowed"
        raise RefusedError(
            f"delta: {mechanism} at this window and ε has δ = {rounded_up(guarantee.delta, 4)}, and {stated}; state "
            "--delta, or choose --mechanism auto, which reaches 0 for a whole file"
        )
    if guarantee.statistical and not accept_statistical:
        raise RefusedError(
            f"delta: that of {mechanism} at this window is a statistical bound (failing with probability 1e-6), not an "
            "exact number; pass --accept-statistical if that will do"
        )
    return switch
