"""What a rearrangement costs: the prior work's four costs, and the law of a value's displacement."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
