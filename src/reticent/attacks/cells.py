"""What cells give away of values: how near a guess comes, and who is alone in a cell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.attacks.frame import AttackResult, Estimate
from reticent.attacks.pairs import SeriesPair
from reticent.attacks.uniqueness import most_unique
from reticent.errors import ArgumentError
from reticent.quantization import Quantizer

Floats = NDArray[np.float64]
Row: TypeAlias = tuple[tuple[Any, ...], ...]  # column by column

ERROR = "mean distance from a value to its guess"
_STRETCHES = 20
_LONG = 64  # values of two outputs or more: no file has as many rows as these have answers


def present(series: Sequence[ArrayLike]) -> list[Floats]:
    """The values that are there, series by series.

    Raises
    ------
    ArgumentError
        There is none.
    """
    values = [np.asarray(each, dtype=np.float64) for each in series]
    values = [kept for each in values if (kept := each[~np.isnan(each)]).size]
    if not values:
        raise ArgumentError("series: there is no value in them; give at least one")
    return values


def recover(quantizer: Quantizer, series: Sequence[ArrayLike]) -> tuple[AttackResult, ...]:
    """How near the middle of its cell comes to a value, beside the middle of the range.

    Parameters
    ----------
    quantizer : Quantizer
    series : sequence of array_like, shape (n_i,)
        Values, NaN where missing.

    Raises
    ------
    ArgumentError
        No value at all.
    """
    values = present(series)
    return (
        AttackResult(
            "recovery of values",
            ERROR,
            distance(values, [middles(quantizer, each) for each in values]),
            Estimate.exact(0.0),
            distance(values, [np.full(each.size, float(quantizer.low + quantizer.high) / 2) for each in values]),
            bound=None,
            bound_reason=f"{quantizer.outputs} outputs bound how many answers there are, not how near they lie.",
            trained="nothing: it names the middle of the cell",
            knows="the cells",
            settings={"adversary": "cells", "on": "this release", "outputs": quantizer.outputs},
        ),
    )


def middles(quantizer: Quantizer, values: Floats) -> Floats:
    """The middle of each value's cell; that of the range where the value shows as missing."""
    table = [float(a + b) / 2 for a, b in pairwise(quantizer.edges)]
    return np.array([*table, float(quantizer.low + quantizer.high) / 2])[quantizer.encode(values)]


def distance(truths: Sequence[Floats], guesses: Sequence[Floats]) -> Estimate:
    """Mean |value - guess|, with a bootstrap over the series (over stretches where there is one alone)."""
    errors = [np.abs(truth - guess) for truth, guess in zip(truths, guesses, strict=True)]
    if len(errors) == 1:
        errors = np.array_split(errors[0], min(_STRETCHES, errors[0].size))
    total = np.array([each.sum() for each in errors])
    count = np.array([each.size for each in errors], dtype=np.float64)
    if len(errors) < 2:
        return Estimate.exact(float(total[0] / count[0]), 1)
    return Estimate.bootstrapped([total, count], lambda total, count, axis: total.sum(axis) / count.sum(axis))


def one_cell_more(quantizer: Quantizer) -> Quantizer:
    """Equal cells over the same range, one more than before: another release that somebody might make."""
    width = (quantizer.high - quantizer.low) / (quantizer.levels + 1)
    edges = [quantizer.low + width * Fraction(k) for k in range(quantizer.levels + 1)]
    return Quantizer([*edges, quantizer.high], outside=quantizer.outside, missing=quantizer.missing)


def unique_records(pairs: Sequence[SeriesPair], cells: Mapping[str, Quantizer]) -> AttackResult:
    """The share of records whose values, all columns together, no other record has."""
    before, after = (
        [tuple((value,) for value in row) for table in tables for row in zip(*_columns(table, cells), strict=True)]
        for tables in ([pair.before for pair in pairs], [pair.after for pair in pairs])
    )
    return _unique(
        "unique records", before, after, cells, "the exact values of one record, and that it is among those released"
    )


def unique_series(pairs: Sequence[SeriesPair], cells: Mapping[str, Quantizer]) -> AttackResult:
    """The share of series that no other series equals."""
    before, after = (
        [tuple(map(tuple, _columns(table, cells))) for table in tables]
        for tables in ([pair.before for pair in pairs], [pair.after for pair in pairs])
    )
    return _unique(
        "unique series", before, after, cells, "the exact values of one series, and that it is among those released"
    )


def _columns(table: Any, names: Iterable[str]) -> list[list[Any]]:
    return [[None if value != value else value for value in table[name].to_pylist()] for name in names]


def _unique(name: str, before: list[Row], after: list[Row], cells: Mapping[str, Quantizer], knows: str) -> AttackResult:
    total = len(after)
    return AttackResult(
        name,
        f"share of {name}",
        Estimate.exact(_share_alone(after), total),
        Estimate.exact(_share_alone(before), total),
        Estimate.exact(1 / total, total),
        bound=most_alone(before, list(cells.values())),
        bound_reason="unique ones have outputs of their own, and where there are more than outputs, some are shared.",
        trained="nothing: it looks for the cells of what it knows",
        knows=knows,
        settings={"adversary": "cells", "on": "this release"},
    )


def most_alone(rows: Sequence[Row], quantizers: Sequence[Quantizer]) -> float:
    """The largest share of unique rows that the outputs leave possible.

    How long a row is and, unless it counts as an output, when a value is missing, are public. So rows that differ in
    these are told apart anyway, and `most_unique` holds among those that agree.

    Parameters
    ----------
    rows : sequence of rows
        The values as they are, column by column; None where missing.
    quantizers : sequence of Quantizer
        One a column.
    """
    groups = Counter(
        tuple(
            tuple(own.extra_outputs == 0 and value is None for value in column)
            for column, own in zip(row, quantizers, strict=True)
        )
        for row in rows
    )
    most = 0.0
    for missing, count in groups.items():
        shown = [len(gaps) - sum(gaps) for gaps in missing]
        outputs = math.prod(own.outputs ** min(n, _LONG) for own, n in zip(quantizers, shown, strict=True))
        most += count * most_unique(count, outputs)
    return most / len(rows)


def _share_alone(rows: list[Row]) -> float:
    counts = Counter(rows)
    return sum(1 for row in rows if counts[row] == 1) / len(rows)
