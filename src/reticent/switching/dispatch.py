"""The dispatch mechanisms of the prior work, as baselines for comparison only.

Recollected from secondary sources, with p_0 = e^{ε/2}/(k-1+e^{ε/2}) and p_j = 1/(k-1+e^{ε/2}); no guarantee is claimed
for them here. They lose and repeat values and leave instants empty, which a switch never does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.randomness import Source, secure_source, seeded_source
from reticent.switching.costs import CostCounts, Costs, counts_of_origins
from reticent.switching.mechanism import check_number, check_values, check_window


@dataclass(frozen=True)
class Dispatch:
    """Each value, or each instant, is dispatched on its own.

    Parameters
    ----------
    window : int
        k, in steps.
    epsilon : float
        Nats.
    direction : {"backward", "forward"}
        Backward: instant t shows the value of t - j. Forward: the value of t is written to t + j, over what is there.
    """

    window: int
    epsilon: float
    direction: str = "backward"

    def __post_init__(self) -> None:
        check_window(self.window)
        check_number("epsilon", self.epsilon)
        if self.direction not in ("backward", "forward"):
            raise ArgumentError("direction: must be 'backward' or 'forward'")

    def origins(self, n: int, source: Source | None = None) -> NDArray[np.int64]:
        """Which instant's value each instant of the release shows; -1 where it is empty. Shape (n,)."""
        source = secure_source() if source is None else source
        weight = math.exp(min(self.epsilon / 2, 700.0))
        stays = weight / (self.window - 1 + weight)
        draws = source.words(n).astype(np.float64) / 2.0**64
        offsets = np.zeros(n, dtype=np.int64)
        moved = draws >= stays
        share = (draws[moved] - stays) / (1 - stays)
        offsets[moved] = 1 + np.minimum((share * (self.window - 1)).astype(np.int64), self.window - 2)
        instants = np.arange(n)
        if self.direction == "backward":
            return np.maximum(instants - offsets, -1)
        shown = np.full(n, -1, dtype=np.int64)
        targets = instants + offsets
        inside = targets < n
        np.maximum.at(shown, targets[inside], instants[inside])  # the later write stays
        return shown

    def release(self, values: Any, source: Source | None = None) -> np.ma.MaskedArray[Any, Any]:
        """The release, with empty instants masked."""
        array = check_values(values)
        origins = self.origins(array.shape[0], source)
        empty = origins < 0
        mask = np.broadcast_to(empty.reshape((-1,) + (1,) * (array.ndim - 1)), array.shape)
        return np.ma.MaskedArray(array[np.maximum(origins, 0)] if array.size else array, mask=mask)

    def simulate(self, n: int = 200_000, source: Source | None = None) -> CostCounts:
        """Costs of one long simulated release, the ends included (not exact; seeded unless a source is given)."""
        return counts_of_origins(self.origins(n, seeded_source(0) if source is None else source), n)

    def expected_cost(self, costs: Costs) -> float:
        """Mean cost of a record, *simulated*."""
        return self.simulate().per_record(costs)
