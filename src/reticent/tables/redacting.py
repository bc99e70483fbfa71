"""Withhold records of a table: one design for each geometry of secrets, checked before its series is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.claims import redaction_from_dict
from reticent.errors import RefusedError
from reticent.markov import MarkovChain
from reticent.randomness import EncodedIds, Source
from reticent.redaction import RedactionPolicy, SequentialRedaction, redact_batch
from reticent.redaction.leakage import TOLERANCE
from reticent.redaction.support import touched
from reticent.tables.charging import Margin
from reticent.tables.chunks import Chunk
from reticent.tables.grid import Grid, runs
from reticent.tables.models import Model, instant, near_secrets, state_codes, states_of
from reticent.tables.naming import identifiers
from reticent.tables.panels import ABSENT, PRIVATE, Marks, Panel, bites
from reticent.tables.private import Finder, Private
from reticent.tables.reading import Columns, Records

if TYPE_CHECKING:
    import pyarrow as pa

Secrets = tuple[tuple[int, int], ...]
Mechanism = RedactionPolicy | SequentialRedaction
Design = Callable[[MarkovChain, int, Secrets, tuple[int, ...], int | None], Mechanism]
Ints = NDArray[np.int64]
Geometry = tuple[int, int, Secrets, tuple[int, ...], int | None]


@dataclass(frozen=True)
class Guarded:
    """Series of a chunk, some of which have secrets.

    Attributes
    ----------
    panel : Panel
    marks : uint8, shape (positions,)
    codes : int64, shape (rows,)
    rows : slice
        Of the chunk.
    chosen : int64, shape (m,)
        Which of them have any.
    index : int64, shape (series,)
        The design of each, -1 for none.
    ids : EncodedIds, length m
    """

    panel: Panel
    marks: Marks
    codes: Ints
    rows: slice
    chosen: Ints
    index: Ints
    ids: EncodedIds


@dataclass
class RedactVerb:
    """Series that hold no private record are released whole.

    Parameters
    ----------
    model : Model
    grid : Grid
    finder : Finder
    private : Private
        As stated, for the certificate.
    design : callable
        ``design(chain, n, secrets, missing, reach)`` gives the mechanism; records farther than `reach` from a secret
        should be released with certainty.
    asked : dict
        ε and the name of the mechanism, as asked for.
    margin : int, optional
        Steps around the secrets beyond which a model fitted on this release takes every record as released.
    tried : Margin, optional
        With it: remembers that the design exceeded the margin.
    """

    records: Records
    model: Model
    grid: Grid
    finder: Finder
    private: Private
    design: Design
    asked: dict[str, Any]
    margin: int | None = None
    tried: Margin | None = None
    smoothing: float | None = None
    duplicates: str = "error"
    action = "redact"
    look_ahead = None
    _designs: dict[Geometry, int] = field(default_factory=dict)
    _mechanisms: list[Mechanism] = field(default_factory=list)
    _touched: list[list[tuple[int, int]]] = field(default_factory=list)
    _series: list[tuple[int | None, int]] = field(default_factory=list)

    @property
    def extra(self) -> tuple[str, ...]:
        """The flag of private records, where it comes from a predicate or a column."""
        return (self.finder.flag,) if self.finder.flag else ()

    @property
    def released(self) -> Columns:
        """Columns of the release: those of the input."""
        return self.records.columns

    def warm_up(self) -> None:
        """Load the compiler of the kernels."""
        import_module("numba")

    def apply(self, chunk: Chunk, source: Source) -> pa.Table:
        """The release of whole series."""
        chunk = states_of(chunk, self.grid, self.duplicates, self.model.quantizer)
        withheld = np.zeros(chunk.table.num_rows, dtype=bool)
        for guarded in self._designed(chunk):
            withheld[guarded.rows] = self._draw(guarded, source)
        return _marked(chunk, withheld)

    def examine(self, chunk: Chunk) -> pa.Table:
        """The release before anything is withheld, each of its series designed."""
        chunk = states_of(chunk, self.grid, self.duplicates, self.model.quantizer)
        for _ in self._designed(chunk):
            pass
        return _marked(chunk, np.zeros(chunk.table.num_rows, dtype=bool))

    def _designed(self, chunk: Chunk) -> Iterator[Guarded]:
        """The series of a chunk, each with its design; only such as have any secrets."""
        (column,) = chunk.columns.value
        codes = state_codes(chunk, column, self.model.chain.states)
        ticks = self.grid.ticks(chunk.table[chunk.columns.time])
        rows = self.grid.positions(ticks, chunk.offsets)
        flags = np.asarray(chunk.table[self.finder.flag], dtype=bool) if self.finder.flag else None
        for series in bites(rows, chunk.offsets):
            bounds = chunk.offsets[series.start : series.stop + 1]
            here = slice(int(bounds[0]), int(bounds[-1]))
            panel = Panel.of(rows[here], ticks[here], bounds - bounds[0], self.grid.step)
            marks = panel.marks(self.finder, codes[here], None if flags is None else flags[here])
            chosen = np.flatnonzero(np.logical_or.reduceat(marks == PRIVATE, panel.offsets[:-1]))
            index = np.full(bounds.size - 1, -1, dtype=np.int64)
            index[chosen] = self._designs_of(panel, marks, chosen, chunk, series.start)
            self._note(index)
            if chosen.size:
                yield Guarded(
                    panel, marks, codes[here], here, chosen, index, chunk.encoded_ids.take(series.start + chosen)
                )

    def _designs_of(self, panel: Panel, marks: Marks, chosen: Ints, chunk: Chunk, start: int) -> Ints:
        """The design of each chosen series: one for all that are alike."""
        period = self.model.chain.period
        phases = instant(panel.ticks[panel.offsets[:-1]], self.grid, period)
        reach = np.full(phases.size, -1 if self.margin is None else self.margin)
        known = None
        if self.model.spans and self.margin is None:
            series, *ends = self.model.stretches(
                identifiers(chunk.table, chunk.columns.id, chunk.offsets[start + chosen])
            )
            known = chosen[series], *ends
            reach = panel.reach(marks, *known)
        first = panel.alike(marks, phases + period * (reach + 1), chosen)
        index = np.full(phases.size, -1)
        for i in chosen[first == chosen].tolist():
            here = slice(int(panel.offsets[i]), int(panel.offsets[i + 1]))
            index[i] = self._design(marks[here], int(phases[i]), None if reach[i] < 0 else int(reach[i]))
        index[chosen] = index[first]
        if known is not None:
            self._check_known(panel, index, *known)
        return index[chosen]

    def _check_known(self, panel: Panel, index: Ints, series: Ints, begins: Ints, ends: Ints) -> None:
        """The model must owe nothing to records that may be withheld: compare them with what it was fitted on."""
        order = np.argsort(index[series], kind="stable")
        series, begins, ends = series[order], begins[order], ends[order]
        for design in np.flatnonzero(np.bincount(index[index >= 0])).tolist():
            these = slice(*np.searchsorted(index[series], [design, design + 1]).tolist())
            starts = panel.offsets[series[these]]
            for first, last in self._touched[design]:
                met = (panel.ticks[starts + first] <= ends[these]) & (panel.ticks[starts + last] >= begins[these])
                self.model.refuse_overlap(bool(met.any()))

    def _design(self, marks: Marks, phase: int, reach: int | None) -> int:
        """The design of one series, the same for all that are alike in marks, phase and reach."""
        secrets, absent = tuple(runs(marks == PRIVATE)), np.flatnonzero(marks == ABSENT)
        geometry = (marks.size, phase, secrets, tuple(absent.tolist()), reach)
        if geometry not in self._designs:
            try:
                mechanism = self.design(self.model.chain.shifted(phase), marks.size, secrets, geometry[3], reach)
            except RefusedError:
                if self.margin is None or self.tried is None:
                    raise
                raise self.tried.refuse(self.margin) from None  # it could not end within the margin
            if mechanism.leakage() > self.asked["epsilon"] + TOLERANCE:
                raise RefusedError("epsilon: the exact leakage of the design is above it, so nothing is released")
            self._designs[geometry] = len(self._mechanisms)
            self._mechanisms.append(mechanism)
            self._touched.append(self._may_be_withheld(mechanism, absent))
        return self._designs[geometry]

    def _may_be_withheld(self, mechanism: Mechanism, absent: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Runs of records that are there and may be withheld, all of them within the margin if there is one."""
        withheld = touched(mechanism)
        withheld[absent] = False
        if self.margin is not None and (withheld & ~near_secrets(mechanism.private, mechanism.n, self.margin)).any():
            assert self.tried is not None  # it comes with a margin
            raise self.tried.refuse(self.margin)
        return runs(withheld)

    def _draw(self, guarded: Guarded, source: Source) -> NDArray[np.bool_]:
        """Which rows are withheld."""
        panel, marks = guarded.panel, guarded.marks
        full = np.full(marks.size, -1, dtype=np.int64)
        full[panel.places] = guarded.codes
        lengths, drawn = np.diff(panel.offsets), np.zeros(marks.size, dtype=bool)
        theirs: NDArray[np.bool_] | slice = slice(None)
        if guarded.chosen.size < lengths.size:
            theirs = np.repeat(guarded.index >= 0, lengths)
        index = guarded.index[guarded.chosen]
        used = np.flatnonzero(np.bincount(index))
        drawn[theirs] = redact_batch(
            [self._mechanisms[each] for each in used.tolist()],
            np.searchsorted(used, index),
            full[theirs],
            np.concatenate([[0], np.cumsum(lengths[guarded.chosen])]),
            source,
            guarded.ids,
        )
        shown = (guarded.codes < 0) & (marks[panel.places] != PRIVATE)  # a private one never shows that it was missing
        return drawn[panel.places] & ~shown

    def _note(self, index: Ints) -> None:
        """Which design each series has, -1 for none, as runs of equal ones."""
        starts = np.flatnonzero(np.diff(index, prepend=index[0] - 1))
        counts = np.diff(np.append(starts, index.size))
        for design, count in zip(index[starts].tolist(), counts.tolist(), strict=True):
            which = None if design < 0 else design
            if self._series and self._series[-1][0] == which:
                count += self._series.pop()[1]
            self._series.append((which, count))

    @property
    def designs(self) -> list[list[Any]]:
        """The geometry of each mechanism, as plain values."""
        return [
            [n, phase, [list(secret) for secret in secrets], list(absent), reach]
            for n, phase, secrets, absent, reach in self._designs
        ]

    def adopt(self, designs: Sequence[tuple[Any, dict[str, Any]]]) -> None:
        """Take mechanisms that were designed elsewhere, by their geometry, and design none of these again."""
        chains = [self.model.chain.to_dict()]
        for (n, phase, secrets, absent, reach), mechanism in designs:
            geometry = (n, phase, tuple((a, b) for a, b in secrets), tuple(absent), reach)
            self._designs[geometry] = len(self._mechanisms)
            self._mechanisms.append(redaction_from_dict(mechanism, chains))
            self._touched.append(self._may_be_withheld(self._mechanisms[-1], np.array(absent, dtype=np.int64)))

    def parameters(self) -> dict[str, Any]:
        """Public parameters: chains, and each design once."""
        return {
            "asked": self.asked,
            "private": self.private.describe(),
            "every": {"step": self.grid.step, "unit": "1" if self.grid.whole else "us"},
            "model": {
                "origin": "file" if self.margin is None else "released",
                "margin": self.margin,
                "smoothing": self.smoothing,
            },
            "quantizer": None if self.model.quantizer is None else self.model.quantizer.to_dict(),
            "chains": [self.model.chain.to_dict()],
            "mechanisms": [without_chains(mechanism.to_dict()) for mechanism in self._mechanisms],
            "series": [list(each) for each in self._series],
        }


def _marked(chunk: Chunk, withheld: NDArray[np.bool_]) -> pa.Table:
    """The columns of the release, null where withheld, and beside them which were."""
    import pyarrow as pa

    (column,) = chunk.columns.value
    table = chunk.table.select(chunk.columns.all)
    at = table.schema.get_field_index(column)
    table = table.set_column(at, table.schema.field(at), withhold(table[column].combine_chunks(), withheld))
    return table.add_column(at + 1, pa.field(f"{column}_redacted", pa.bool_()), pa.array(withheld))


def withhold(values: pa.Array, hidden: NDArray[np.bool_]) -> pa.Array:
    """Null where hidden. Built from the shown values alone: a mask would leave the hidden ones in the buffer below."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(values.type) and not values.null_count:
        return pa.array(np.where(hidden, 0, np.asarray(values)), values.type, mask=hidden)
    shown = values.filter(pa.array(~hidden))
    if pa.types.is_floating(values.type):  # the chain has one state zero, so the sign of zero is not released
        shown = pc.if_else(pc.equal(shown, 0.0), pa.scalar(0.0, values.type), shown)
    return shown.take(pa.array(np.cumsum(~hidden) - 1, mask=hidden))


def without_chains(data: dict[str, Any]) -> dict[str, Any]:
    """A mechanism's parameters with the phase of its chain alone: a certificate writes the chains once for all."""
    chains = data.pop("chains")
    return {**data, "phase": chains[0]["phase"]}
