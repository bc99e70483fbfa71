"""From the geometry of a query to its cells, and the outputs of one individual by counting."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, RefusedError
from reticent.quantization.exact import MAX_LEVELS, thresholds
from reticent.quantization.quantizers import LinearQuantizer, Quantizer, levels_for

SAFE = 2**62


@dataclass(frozen=True)
class Geometry:
    """A query in exact units: its values are `worth` times the integers first … last.

    Attributes
    ----------
    first, last : int
        Smallest and largest value in units.
    reach : int
        The most that one individual can move it, in units.
    worth : Fraction
        What a unit is worth.
    """

    first: int
    last: int
    reach: int
    worth: Fraction


@dataclass(frozen=True)
class Plan:
    """What is done with one roster: cells of the query, and their thresholds in exact units.

    Attributes
    ----------
    quantizer : Quantizer
        Cells of the query's value.
    thresholds : int64, shape (levels + 1,)
        The same edges in units.
    outputs : int
        The most answers that one individual can produce, *counted* on the thresholds, the withheld one included.
    """

    quantizer: Quantizer
    thresholds: NDArray[np.int64] = field(compare=False)
    outputs: int

    @classmethod
    def make(cls, geometry: Geometry, outputs: int, withheld: int, sensitivity: Fraction | None, symbols: str) -> Plan:
        """The finest equal cells within a budget of `outputs`, of which being withheld takes `withheld`.

        Where one individual can reach no more values than there are outputs (a count moves by one), every value is a
        cell of its own; else `levels_for` says how many cells there are.

        Raises
        ------
        ArgumentError
            If a stated sensitivity is smaller than the true one, or sums are too large for exact integers.
        RefusedError
            If the counted outputs exceed the budget: nothing is released.
        """
        first, last, reach, worth = geometry.first, geometry.last, geometry.reach, geometry.worth
        if max(-first, last) >= SAFE:
            raise ArgumentError("resolution: sums have too many units for exact integers; choose a coarser one")
        if sensitivity is not None and sensitivity < reach * worth:
            raise ArgumentError("sensitivity: is smaller than what one individual can do; leave it to be derived")
        low, high, budget = first * worth, last * worth, outputs - withheld
        if reach < budget and last - first < MAX_LEVELS:
            quantizer = LinearQuantizer(low - worth / 2, high + worth / 2, last - first + 1, symbols)
        else:
            levels = levels_for(reach * worth if sensitivity is None else sensitivity, low, high, outputs=budget)
            quantizer = LinearQuantizer(low, high, min(levels, MAX_LEVELS), symbols)
        table = thresholds([edge / worth for edge in quantizer.edges], np.dtype(np.int64))
        counted = most_outputs(table[1:-1].tolist(), first, last, reach) + withheld
        if counted > outputs:
            raise RefusedError(f"outputs: an individual could produce {counted}, more than the budget of {outputs}")
        return cls(quantizer, table, counted)


def most_outputs(inner: Sequence[int], first: int, last: int, reach: int) -> int:
    """The most cells that `reach` + 1 consecutive integers within [first, last] meet, by counting thresholds.

    S … S + reach meet one cell more than there are distinct thresholds in (S, S + reach]. A window that starts just
    below a threshold is best, so one pass over the thresholds finds the exact maximum.

    Parameters
    ----------
    inner : increasing integers
        Smallest integer of each cell but the first.
    """
    distinct = sorted({value for value in inner if first < value <= last})
    return 1 + max((bisect_left(distinct, value + reach) - i for i, value in enumerate(distinct)), default=0)
