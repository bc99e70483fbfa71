"""What a rearrangement costs: the prior work's four costs, and the law of a value's displacement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError


@dataclass(frozen=True)
class Costs:
    """Unit costs (paper, Section II-A).

    Parameters
    ----------
    missing, repetition, empty : float
        Cost M of a value that is not released, N of each further copy of a value, E of an instant left empty.
    misalignment : float
        Cost D of each step between a value's own instant and the one that it is released at.
    """

    missing: float = 0.0
    repetition: float = 0.0
    empty: float = 0.0
    misalignment: float = 1.0

    def __post_init__(self) -> None:
        for name in ("missing", "repetition", "empty", "misalignment"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ArgumentError(f"{name}: a unit cost is a finite number, zero or more")


@dataclass(frozen=True, eq=False)
class Displacement:
    """The law of (slot of a value) - (its own instant), in steps, for a value far from the ends.

    Attributes
    ----------
    offsets : int64, shape (m,)
        Increasing; negative is early.
    probabilities : float64, shape (m,)
        They sum to one but for a tail below 1e-12, unless `exact` is False.
    exact : bool
        False for an approximation; `note` says which.
    """

    offsets: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    exact: bool = True
    note: str = ""

    @property
    def mean(self) -> float:
        """Mean absolute displacement, in steps."""
        return float(np.abs(self.offsets) @ self.probabilities)

    def probability(self, offset: int) -> float:
        """Probability of one displacement."""
        index = int(np.searchsorted(self.offsets, offset))
        inside = index < self.offsets.size and self.offsets[index] == offset
        return float(self.probabilities[index]) if inside else 0.0


@dataclass(frozen=True)
class CostCounts:
    """What happened to the records of one release, counted.

    Attributes
    ----------
    records : int
        Of the original series.
    missing : int
        Values of the original that are not released.
    repetition : int
        Further copies of values that are released more than once.
    empty : int
        Instants left empty.
    misalignment : int
        Steps, summed over the released values.
    """

    records: int
    missing: int
    repetition: int
    empty: int
    misalignment: int

    def per_record(self, costs: Costs) -> float:
        """Mean cost of a record (0 for an empty series)."""
        total = (
            costs.missing * self.missing
            + costs.repetition * self.repetition
            + costs.empty * self.empty
            + costs.misalignment * self.misalignment
        )
        return total / self.records if self.records else 0.0


def counts_of_origins(origins: NDArray[np.int64], records: int) -> CostCounts:
    """The costs of a release whose instant t shows the value of instant ``origins[t]``, or nothing where that is -1."""
    filled = origins >= 0
    copies = np.bincount(origins[filled], minlength=records)
    return CostCounts(
        records=records,
        missing=int(np.sum(copies == 0)),
        repetition=int(np.sum(np.maximum(copies - 1, 0))),
        empty=int(np.sum(~filled)),
        misalignment=int(np.abs(origins - np.arange(origins.size))[filled].sum()),
    )


def compare(original: NDArray[Any], released: NDArray[Any], empty: NDArray[np.bool_] | None = None) -> CostCounts:
    """The costs of a given pair of series, from the values alone.

    Equal values are matched in order of time where both series have as many of them, which is the matching of least
    misalignment; otherwise each copy is matched to the nearest such value of the original, a lower bound.

    Parameters
    ----------
    original, released : arrays, shape (n,)
    empty : bool array, shape (n,), optional
        Instants of the release that were left empty.

    Raises
    ------
    ArgumentError
        If the lengths differ, or a released value does not occur in the original.
    """
    original, released = np.asarray(original), np.asarray(released)
    if original.ndim != 1 or original.shape != released.shape:
        raise ArgumentError("released: must be one-dimensional and as long as the original")
    n = original.size
    filled = np.flatnonzero(~empty) if empty is not None else np.arange(n)
    kinds, codes = np.unique(original, return_inverse=True)
    found = np.minimum(np.searchsorted(kinds, released[filled]), kinds.size - 1)
    same = kinds[found] == released[filled]
    if kinds.dtype.kind == "f":
        same |= np.isnan(kinds[found]) & np.isnan(released[filled])
    if not np.all(same):
        raise ArgumentError(f"released: {int(np.sum(~same))} values do not occur in the original series")
    before, after = np.bincount(codes, minlength=kinds.size), np.bincount(found, minlength=kinds.size)
    # instants sorted by value, then time
    places = np.argsort(codes, kind="stable")
    copies = filled[np.argsort(found, kind="stable")]
    kind_of_copy = np.repeat(np.arange(kinds.size), after)
    starts_before = np.concatenate([[0], np.cumsum(before)])
    rank = np.arange(copies.size) - np.repeat(np.cumsum(after) - after, after)
    in_order = places[np.minimum(starts_before[kind_of_copy] + rank, max(n - 1, 0))]
    keys = codes[places] * (n + 1) + places
    right = np.searchsorted(keys, kind_of_copy * (n + 1) + copies)
    choices = np.stack(
        [
            places[np.clip(right - 1, starts_before[kind_of_copy], starts_before[kind_of_copy + 1] - 1)],
            places[np.clip(right, starts_before[kind_of_copy], starts_before[kind_of_copy + 1] - 1)],
        ]
    )
    nearest = np.abs(choices - copies).min(axis=0)
    steps = np.where((before == after)[kind_of_copy], np.abs(in_order - copies), nearest)
    return CostCounts(
        records=n,
        missing=int(np.maximum(before - after, 0).sum()),
        repetition=int(np.maximum(after - before, 0).sum()),
        empty=n - filled.size,
        misalignment=int(steps.sum()),
    )
