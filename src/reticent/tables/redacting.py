"""Withhold records of a table: one design for each geometry of secrets, checked before its series is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.claims import redaction_from_dict
from reticent.errors import RefusedError
from reticent.markov import MarkovChain
from reticent.randomness import Source
from reticent.redaction import RedactionPolicy, SequentialRedaction, redact_batch
from reticent.redaction.leakage import TOLERANCE
from reticent.redaction.support import touched
from reticent.tables.charging import Margin
from reticent.tables.chunks import Chunk
from reticent.tables.grid import Grid, Gridded, runs
from reticent.tables.models import Model, instant, near_secrets, series_on_grid, states_of
from reticent.tables.private import Finder, Private
from reticent.tables.reading import Columns, Records

if TYPE_CHECKING:
    import pyarrow as pa

Secrets = tuple[tuple[int, int], ...]
Mechanism = RedactionPolicy | SequentialRedaction
Design = Callable[[MarkovChain, int, Secrets, tuple[int, ...], int | None], Mechanism]
Guarded = tuple[Any, int, Gridded, Any, slice]  # identifier, design, grid, codes, rows of a series with secrets
Geometry = tuple[int, int, Secrets, tuple[int, ...], int | None]


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
        chunk, guarded = self._designed(chunk)
        withheld = np.zeros(chunk.table.num_rows, dtype=bool)
        if guarded:
            self._draw(guarded, source, withheld)
        return _marked(chunk, withheld)

    def examine(self, chunk: Chunk) -> pa.Table:
        """The release before anything is withheld, each of its series designed."""
        chunk, _ = self._designed(chunk)
        return _marked(chunk, np.zeros(chunk.table.num_rows, dtype=bool))

    def _designed(self, chunk: Chunk) -> tuple[Chunk, list[Guarded]]:
        (column,) = chunk.columns.value
        chunk = states_of(chunk, self.grid, self.duplicates, self.model.quantizer)
        flags = np.asarray(chunk.table[self.finder.flag], dtype=bool) if self.finder.flag else None
        guarded: list[Guarded] = []
        for i, (series, codes) in enumerate(series_on_grid(chunk, self.grid, column, self.model.chain.states)):
            part = slice(int(chunk.offsets[i]), int(chunk.offsets[i + 1]))
            secrets = self.finder.secrets(series, None if flags is None else flags[part])
            index = None
            if secrets:
                index = self._design(chunk.ids[i], series, codes, tuple(secrets))
                guarded.append((chunk.ids[i], index, series, codes, part))
            self._note(index)
        return chunk, guarded

    def _design(self, name: Any, series: Gridded, codes: NDArray[np.int64], secrets: Secrets) -> int:
        absent = np.empty(0, dtype=np.int64)
        if series.n > codes.size or (codes < 0).any():
            there = np.zeros(series.n, dtype=bool)
            there[series.rows[codes >= 0]] = True
            for first, last in secrets:
                there[first : last + 1] = True
            absent = np.flatnonzero(~there)
        phase = instant(int(series.ticks[0]), self.grid, self.model.chain.period)
        reach = self.margin if self.margin is not None else self.model.reach(name, series, secrets)
        geometry = (series.n, phase, secrets, tuple(absent.tolist()), reach)
        if geometry not in self._designs:
            try:
                mechanism = self.design(self.model.chain.shifted(phase), series.n, secrets, geometry[3], reach)
            except RefusedError:
                if self.margin is None or self.tried is None:
                    raise
                raise self.tried.refuse(self.margin) from None  # it could not end within the margin
            if mechanism.leakage() > self.asked["epsilon"] + TOLERANCE:
                raise RefusedError("epsilon: the exact leakage of the design is above it, so nothing is released")
            self._designs[geometry] = len(self._mechanisms)
            self._mechanisms.append(mechanism)
            self._touched.append(self._may_be_withheld(mechanism, absent))
        index = self._designs[geometry]
        if self.margin is None:  # the model must owe nothing to records that may be withheld
            for first, last in self._touched[index]:
                self.model.refuse_overlap(name, int(series.ticks[first]), int(series.ticks[last]))
        return index

    def _may_be_withheld(self, mechanism: Mechanism, absent: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Runs of records that are there and may be withheld, all of them within the margin if there is one."""
        withheld = touched(mechanism)
        withheld[absent] = False
        if self.margin is not None and (withheld & ~near_secrets(mechanism.private, mechanism.n, self.margin)).any():
            assert self.tried is not None  # it comes with a margin
            raise self.tried.refuse(self.margin)
        return runs(withheld)

    def _draw(self, guarded: Sequence[Guarded], source: Source, withheld: NDArray[np.bool_]) -> None:
        lengths = np.array([series.n for _, _, series, _, _ in guarded])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        full = np.full(int(offsets[-1]), -1, dtype=np.int64)
        for start, (_, _, series, codes, _) in zip(offsets, guarded, strict=False):
            full[_places(int(start), series)] = codes
        used = sorted({index for _, index, _, _, _ in guarded})
        which = np.searchsorted(used, [index for _, index, _, _, _ in guarded])
        mask = redact_batch(
            [self._mechanisms[index] for index in used], which, full, offsets, source, [each[0] for each in guarded]
        )
        for start, (_, index, series, codes, part) in zip(offsets, guarded, strict=False):
            hidden, missing = mask[_places(int(start), series)], codes < 0
            if missing.any():
                for first, last in self._mechanisms[index].private:  # a private record never shows that it was missing
                    missing &= (series.rows < first) | (series.rows > last)
                hidden = hidden & ~missing
            withheld[part] = hidden

    def _note(self, index: int | None) -> None:
        if self._series and self._series[-1][0] == index:
            self._series[-1] = (index, self._series[-1][1] + 1)
        else:
            self._series.append((index, 1))

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


def _places(start: int, series: Gridded) -> slice | NDArray[np.int64]:
    """Where the rows of a series are among the grids of several, of which its own begins at `start`."""
    return slice(start, start + series.n) if series.n == series.rows.size else start + series.rows


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
