"""Unique trips: whose start and end, coarsened, no other trip shares (noiseless privacy, Section V-C).

An adversary who knows where and when somebody got on and off finds that trip among the released ones for certain if it
is the only one in its cell. What the paper leaves open is settled so: the box around the city is public, its four sides
are cut into equal parts, and the numbers of parts are integers whose product is at most 2^ε, as even as they can be
(`VectorQuantization.split`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.frame import AttackResult, Estimate
from reticent.errors import ArgumentError
from reticent.quantization import VectorQuantization
from reticent.quantization.exact import Number

Progress = Callable[[int, int], None]

_REASON = "unique trips have outputs of their own, and if there are more trips than outputs, one output is shared."
_KNOWS = (
    "the exact coordinates of the trip that it looks for, the mechanism, and that the trip is among the released ones"
)


def unique_share(rows: NDArray[Any]) -> float:
    """Share of the rows that no other row equals."""
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    return float((counts == 1).sum() / len(rows))


def most_unique(trips: int, outputs: int) -> float:
    """The largest share of unique trips that so many outputs leave possible (derived here).

    Unique trips have outputs of their own. If there are more trips than outputs some output is shared, so at most all
    the others are of unique trips: (outputs - 1) / trips. That is attained.
    """
    return 1.0 if trips <= outputs else (outputs - 1) / trips


def uniqueness(
    trips: NDArray[np.float64],
    ranges: Sequence[tuple[Number, Number]],
    bits: Sequence[int],
    progress: Progress | None = None,
) -> list[AttackResult]:
    """The share of unique trips, one result a budget.

    Parameters
    ----------
    trips : float64, shape (trips, coordinates)
        Inside the ranges.
    ranges : sequence of pairs
        Public low and high end of each coordinate.
    bits : sequence of int
        Budgets ε of a trip.
    progress : callable, optional
        Called with the budgets done and the budgets in all.

    Returns
    -------
    list of AttackResult
        Shares of all trips given: they are counted, so there is no interval. Control: the coordinates as recorded;
        baseline: to name a trip at random.

    Raises
    ------
    ArgumentError
        If there are no trips, or the columns do not fit the ranges.
    """
    if trips.ndim != 2 or not len(trips) or trips.shape[1] != len(ranges):
        raise ArgumentError("trips: give at least one row, with one column a range")
    control = Estimate.exact(unique_share(trips), len(trips))
    results = []
    for done, budget in enumerate(bits, 1):
        mechanism = VectorQuantization.split(list(ranges), bits=budget, symbols="left")
        columns = zip(mechanism.coordinates, trips.T, strict=True)
        cells = np.column_stack([part.quantizer.encode(column) for part, column in columns])
        levels = " × ".join(str(part.outputs) for part in mechanism.coordinates)
        results.append(
            AttackResult(
                "unique trips",
                "share of unique trips",
                Estimate.exact(unique_share(cells), len(trips)),
                control,
                Estimate.exact(1 / len(trips), len(trips)),
                most_unique(len(trips), mechanism.outputs),
                _REASON,
                "nothing: it has no parameters",
                _KNOWS,
                {"trips": len(trips), "bits": budget, "levels": levels, "outputs": mechanism.outputs},
            )
        )
        if progress:
            progress(done, len(bits))
    return results
