"""Coarsen values by the range that they span: asked for explicitly, and without a guarantee.

Two numbers of the data then decide every cell, so that a release tells of values that it does not show, and of other
individuals' too: no count of outputs bounds that. What can be kept is that neither bound is printed. Hence the number
of its cell stands for a value, since a midpoint or an interval would give the bounds away, and the certificate holds
how many cells there are and nothing else of them. It says that nothing is promised. A ledger could only add nothing to
something, so with one such a release is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.errors import ArgumentError, InputError
from reticent.quantization import LocalQuantization, Quantizer, VectorQuantization
from reticent.quantization.local import even_split, levels_within
from reticent.quantization.quantizers import LinearQuantizer, Missing, Outside
from reticent.tables.quantizing import QuantizeVerb
from reticent.tables.sql import quoted

if TYPE_CHECKING:
    from reticent.tables.reading import Records

OWN_RANGE = "from the data"


@dataclass(frozen=True)
class OwnRangeVerb(QuantizeVerb):
    """A quantisation whose certificate says how many cells there are, and not where."""

    def parameters(self) -> dict[str, Any]:
        """Public parameters: neither bound is one."""
        return {
            "asked": self.asked,
            "range": OWN_RANGE,
            "cells": [
                {"levels": part.quantizer.levels, "outside": part.quantizer.outside, "missing": part.quantizer.missing}
                for part in self.mechanism.coordinates
            ],
        }


def own_range_verb(records: Records, outputs: int, symbols: str, outside: Outside, missing: Missing) -> OwnRangeVerb:
    """The verb, once the data are open.

    Raises
    ------
    ArgumentError
        Symbols that would print the range.
    InputError
        A column without two different finite numbers.
    """
    if symbols != "midpoint":  # the default, in whose place the number of the cell is released
        raise ArgumentError("symbols: they would print the range; with the range of the data each cell is a number")
    parts = []
    for name, part in zip(records.columns.value, even_split(outputs, len(records.columns.value)), strict=True):
        low, high = _span(records, name)
        levels = levels_within(part, outside, missing)
        cells = LinearQuantizer(low, high, levels).edges
        parts.append(LocalQuantization.of(Quantizer(cells, cell_numbers(levels), outside, missing)))
    return OwnRangeVerb(records, VectorQuantization(parts), {"outputs": outputs})


def cell_numbers(levels: int) -> list[int]:
    """What is released for each cell."""
    return list(range(levels))


def cell_numbers_of(parameters: Mapping[str, Any]) -> list[tuple[float, ...]]:
    """The symbols of each value column of such a certificate."""
    return [tuple(map(float, cell_numbers(each["levels"]))) for each in parameters["cells"]]


def _span(records: Records, name: str) -> tuple[Any, Any]:
    column, kind = quoted(name), records.types[name]
    floating = kind in ("FLOAT", "DOUBLE")
    finite = f" FILTER (isfinite({column}))" if floating else ""
    low, high = records.con.sql(f"SELECT min({column}){finite}, max({column}){finite} FROM {records.view}").fetchall()[
        0
    ]
    if isinstance(low, str | bool) or not (low is None or hasattr(low, "__float__")):
        raise InputError(f"value: column {name} holds {kind} values; only numbers are quantised")
    if low is None or low == high:
        raise InputError(f"range-from-data: column {name} does not hold two different numbers, so it spans no range")
    return (np.float32(low), np.float32(high)) if kind == "FLOAT" else (low, high)
