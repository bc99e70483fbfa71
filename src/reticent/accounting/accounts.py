"""What the releases of one series cost together: an account is a frozen value that grows by one release at a time.

Whatever the design does not prove is refused here, before anything is spent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.amounts import Amount, computed
from reticent.accounting.budgets import Budget
from reticent.accounting.composition import (
    DRAWN_ONCE,
    EPSILON_DOES_NOT_ADD,
    NAMES,
    STRETCHES,
    coordinates,
    kind_of,
    refined,
    refuse_kinds,
    temporal_at,
)
from reticent.accounting.coverage import Geometry
from reticent.accounting.events import Event, Redaction
from reticent.errors import RefusedError
from reticent.guarantees import NoiselessGuarantee, PufferfishGuarantee, TemporalGuarantee
from reticent.quantization import Quantizer
from reticent.redaction import RedactionPolicy
from reticent.redaction.leakage import local_leakage

Stretch: TypeAlias = tuple[int, int]


class Item(NamedTuple):
    """One release of one series."""

    event: Event
    geometry: Geometry


def _meet(one: Stretch, other: Stretch) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _same(one: Geometry, other: Geometry) -> bool:
    """Whether the same records, as far as it is known; between cuts of other kinds the stretches may differ."""
    known = one.records >= 0 and (one.records, one.times) == (other.records, other.times)
    return known or one[:4] == other[:4]


def _of_kind(event: Event, kind: str) -> Any:
    """The step that makes the claim."""
    for part in event.parts:
        if kind == (part.kind if isinstance(part, Budget) else _kind(part)):
            return part
    raise AssertionError(kind)  # claims come from the steps


def _kind(part: Any) -> str:
    return PufferfishGuarantee.kind if isinstance(part, Redaction) else kind_of(part)


# --- temporal: sums at a window --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Total:
    """The largest of earlier totals, and one more release."""

    before: tuple[_Total, ...]
    switch: Any
    known: dict[int, tuple[Amount, Amount]] = field(default_factory=dict)

    def at(self, window: int) -> tuple[Amount, Amount]:
        """Σε and Σδ; without recursion, as there may be thousands of releases."""
        waiting = [self]
        while waiting:
            node = waiting[-1]
            unknown = [each for each in node.before if window not in each.known]
            if unknown:
                waiting += unknown
                continue
            waiting.pop()
            epsilon, delta = _cost_at(node.switch, window)
            epsilon += max((each.known[window][0] for each in node.before), default=0)
            delta += max((each.known[window][1] for each in node.before), default=0)
            node.known[window] = epsilon, delta
        return self.known[window]


def _cost_at(switch: Any, window: int) -> tuple[Amount, Amount]:
    if isinstance(switch, Budget):
        if window > switch.window:
            raise RefusedError(
                f"a spend at window {switch.window} says nothing at window {window}, which the budget is stated at: "
                "charge the mechanism, whose curve is known at every window"
            )
        return switch.epsilon, switch.delta
    found = temporal_at(switch, window)
    return computed(found.epsilon), computed(found.delta)


@dataclass(frozen=True, eq=False)
class Switched:
    """Switches of one series: always the same records, or pieces between public cuts, or one stream that goes on."""

    pieces: tuple[tuple[Geometry, _Total], ...] = ()
    cuts: bool = True
    stream: str = ""

    def add(self, item: Item) -> Switched:
        """One more.

        Raises
        ------
        RefusedError
            Other records of the series than before, unless a declared cut lies between.
        """
        event, geometry = item
        if event.stream and event.stream == self.stream:
            return self._continued(geometry)
        switch = _of_kind(event, TemporalGuarantee.kind)
        cuts = self.cuts and event.cuts
        met = [piece for piece in self.pieces if _meet(piece[0].stretch, geometry.stretch)]
        apart = tuple(piece for piece in self.pieces if not _meet(piece[0].stretch, geometry.stretch))
        if (apart and not cuts) or not all(_same(piece, geometry) for piece, _ in met):
            raise RefusedError(f"{NAMES['temporal']} and another of one series have no joint guarantee: {STRETCHES}")
        ends = [geometry, *(piece for piece, _ in met)]  # cut by day now, by month before: the month stays taken
        geometry = geometry._replace(first=min(each.first for each in ends), last=max(each.last for each in ends))
        stream = "" if self.pieces else event.stream
        return Switched((*apart, (geometry, _Total(tuple(total for _, total in met), switch))), cuts, stream)

    def _continued(self, further: Geometry) -> Switched:
        """More of the stream, which alone was released so far: all its releases cost what one does."""
        ((known, total),) = self.pieces
        if further.last <= known.last:  # again what it gave before, from the same draw
            return self
        if further.first <= known.last:
            raise RefusedError(
                f"{NAMES['temporal']}: a stream goes on with records that lie after all before; {STRETCHES}"
            )
        times = (known.times + further.times + 2**63) % 2**64 - 2**63
        grown = Geometry(known.first, further.last, known.records + further.records, times)
        return Switched(((grown, total),), self.cuts, self.stream)

    def spent(self, window: int) -> Budget:
        """The largest over the pieces; at the last mechanism's own window if `window` is zero."""
        window = window or self.pieces[-1][1].switch.window
        totals = [total.at(window) for _, total in self.pieces]
        epsilon, delta = max(each[0] for each in totals), min(max(each[1] for each in totals), 1)
        return Budget(TemporalGuarantee.kind, epsilon, delta, window)


# --- noiseless: outputs of each reading ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cells:
    """What is known of each reading in a stretch: quantisers a column, and a factor that no refinement reduces."""

    quantizers: tuple[tuple[str, Quantizer], ...] = ()
    factor: int = 1

    def add(self, part: Any, columns: tuple[str, ...]) -> _Cells:
        if isinstance(part, Budget):
            return _Cells(self.quantizers, self.factor * part.outputs)
        cells = coordinates(part) or ()
        names = columns if len(columns) == len(cells) else tuple(f"#{i}" for i in range(len(cells)))
        joined: dict[str, tuple[Quantizer, ...]] = {}
        for name, one in (*self.quantizers, *zip(names, cells, strict=True)):
            joined[name] = refined((*joined.get(name, ()), one))
        return _Cells(tuple((name, each) for name, kept in joined.items() for each in kept), self.factor)

    @property
    def outputs(self) -> int:
        return self.factor * math.prod(each.outputs for _, each in self.quantizers)


@dataclass(frozen=True, eq=False)
class Coarsened:
    """Quantisations of one series, by disjoint stretches."""

    stretches: tuple[tuple[Stretch, _Cells], ...] = ()

    def add(self, item: Item) -> Coarsened:
        """One more: charged where it overlaps what was released before."""
        event, geometry = item
        part = _of_kind(event, NoiselessGuarantee.kind)
        first, last = geometry.stretch
        kept: list[tuple[Stretch, _Cells]] = []
        at = first
        for (a, b), cells in self.stretches:
            if not _meet((a, b), (first, last)):
                kept.append(((a, b), cells))
                continue
            if a < first:
                kept.append(((a, first - 1), cells))
            if at < a:
                kept.append(((at, a - 1), _Cells().add(part, event.columns)))
            kept.append(((max(a, first), min(b, last)), cells.add(part, event.columns)))
            if b > last:
                kept.append(((last + 1, b), cells))
            at = b + 1
        if at <= last:
            kept.append(((at, last), _Cells().add(part, event.columns)))
        return Coarsened(tuple(sorted(kept, key=lambda each: each[0])))

    def spent(self) -> Budget:
        """The most outputs of any reading."""
        return Budget(NoiselessGuarantee.kind, outputs=max(cells.outputs for _, cells in self.stretches))


# --- Pufferfish: the product of all policies -------------------------------------------------------------------------


class _Local(NamedTuple):
    """A local policy over records from `first` on; None where all of them were released."""

    policy: RedactionPolicy | None
    first: int
    records: int


@dataclass(frozen=True, eq=False)
class Redacted:
    """Redactions of one series: any local policies over the same states, or one release that nothing may join.

    Attributes
    ----------
    alone : Budget or mechanism, optional
        A bare guarantee or a sequential redaction.
    local : tuple of _Local
    states : tuple
        The alphabet that all chains share.
    step : int
        Ticks between records.
    cells : mapping, optional
        What the values were coarsened to first: other cells may share their symbols.
    """

    alone: Any = None
    local: tuple[_Local, ...] = ()
    states: tuple[Any, ...] = ()
    step: int = 1
    cells: Mapping[str, Any] | None = None

    def add(self, item: Item) -> Redacted:
        """One more.

        Raises
        ------
        RefusedError
            Anything but a further local policy of the same states, on the same grid.
        """
        event, geometry = item
        part = _of_kind(event, PufferfishGuarantee.kind)
        if isinstance(part, Budget):
            return self._first(part, EPSILON_DOES_NOT_ADD)
        policy = part.mechanisms[geometry.design] if geometry.design >= 0 else None
        if policy is not None and not isinstance(policy, RedactionPolicy):
            return self._first(policy, DRAWN_ONCE)
        if self.alone is not None:
            self._first(policy, EPSILON_DOES_NOT_ADD if isinstance(self.alone, Budget) else DRAWN_ONCE)
        states, step = part.mechanisms[0].chain.states, part.step
        if self.local and (states, part.cells) != (self.states, self.cells):
            raise RefusedError(
                f"{NAMES['pufferfish']} and another of the same series have no joint guarantee: their chains have "
                "different states. No claim survives; use the states (and edges) of the first"
            )
        if self.local and (step != self.step or (geometry.first - self.local[0].first) % step):
            raise RefusedError(
                f"{NAMES['pufferfish']} and another of the same series have no joint guarantee: their records do not "
                "lie on one grid of times. No claim survives; use the sampling period of the first"
            )
        records = policy.n if policy is not None else (geometry.last - geometry.first) // step + 1
        return Redacted(None, (*self.local, _Local(policy, geometry.first, records)), states, step, part.cells)

    def _first(self, alone: Any, why: str) -> Redacted:
        if self.alone is not None or self.local:
            raise RefusedError(f"{NAMES['pufferfish']} and another of the same records have no joint guarantee: {why}")
        return Redacted(alone=alone)

    def _product(self) -> tuple[int, NDArray[np.float64]]:
        """Tick of the first record, and the probability that no release shows a record: 1 where none reaches it."""
        first = min(each.first for each in self.local)
        last = max(each.first + (each.records - 1) * self.step for each in self.local)
        product = np.ones(((last - first) // self.step + 1, len(self.states)))
        for policy, begin, records in self.local:
            a = (begin - first) // self.step
            product[a : a + records] *= 0.0 if policy is None else policy.probabilities
        if len(self.local) > 1:  # what has run is rounded down, so that it leaks no less than the truth
            product = np.where((product > 0) & (product < 1), np.nextafter(product, 0.0), product)
        return first, product

    @cached_property
    def leakage(self) -> float:
        """Exact leakage in nats, the largest over all secrets and chains; infinite if a secret was released."""
        if self.alone is not None:
            return float(self.alone.epsilon if isinstance(self.alone, Budget) else self.alone.leakage())
        policies = [(each.policy, each.first) for each in self.local if each.policy is not None]
        first, product = self._product()
        begins = {(chain, (begin - first) // self.step) for policy, begin in policies for chain in policy.chains}
        chains = {chain.shifted(-begin) for chain, begin in begins}
        worst = 0.0
        for policy, begin in policies:
            for a, b in policy.private:
                secret = a + (begin - first) // self.step, b + (begin - first) // self.step
                if (product[secret[0] : secret[1] + 1] < 1).any():
                    return math.inf
                worst = max(worst, *(local_leakage(chain, product, secret) for chain in chains))
        return worst

    def spent(self) -> Budget:
        """The joint leakage."""
        if isinstance(self.alone, Budget):
            return self.alone
        return Budget(PufferfishGuarantee.kind, computed(self.leakage))


# --- all kinds -------------------------------------------------------------------------------------------------------

_EMPTY: dict[str, Any] = {
    TemporalGuarantee.kind: Switched(),
    NoiselessGuarantee.kind: Coarsened(),
    PufferfishGuarantee.kind: Redacted(),
}


@dataclass(frozen=True, eq=False)
class Account:
    """All releases of one series.

    Attributes
    ----------
    parts : dict
        For each kind that is claimed, its account.
    releases : int
    """

    parts: dict[str, Any] = field(default_factory=dict)
    releases: int = 0

    def add(self, item: Item) -> Account:
        """One more release.

        Raises
        ------
        RefusedError
            Where nothing is proved of what the releases promise together.
        """
        claims = item.event.claims
        if self.parts and set(self.parts) != claims:
            if claims & set(self.parts):
                raise RefusedError(
                    "a pipeline, and a release of the same data by one of its steps alone, have no joint guarantee: "
                    "the claim of the other step is void. The claim of the step that both have survives"
                )
            raise refuse_kinds(min(self.parts), min(claims))
        parts = {kind: self.parts.get(kind, _EMPTY[kind]).add(item) for kind in claims}
        return Account(parts, self.releases + 1)

    @property
    def void(self) -> bool:
        """Whether the releases together show a record that one of them withholds as private."""
        redacted = self.parts.get(PufferfishGuarantee.kind)
        return redacted is not None and redacted.leakage == math.inf

    def spent(self, kind: str, window: int = 0) -> Budget | None:
        """What was spent of one kind (of switches at a window); None where there is nothing of it."""
        part = self.parts.get(kind)
        if part is None:
            return None
        return part.spent(window) if kind == TemporalGuarantee.kind else part.spent()
