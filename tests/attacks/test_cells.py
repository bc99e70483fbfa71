"""Who is alone in a cell: the bound is the best over everything that the cells can show."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

from reticent.attacks.cells import most_alone, recover, unique_records, unique_series
from reticent.attacks.pairs import SeriesPair
from reticent.quantization import LinearQuantizer

TWO, ONE = LinearQuantizer(0, 10, 2), LinearQuantizer(0, 10, 1)
COUNTED = LinearQuantizer(0, 10, 2, missing="output")


def shown(quantizer, value):
    return None if value is None else int(quantizer.encode([value])[0])


def alone(rows, quantizers):
    """Share of rows whose cells no other row has, by comparing each with each."""
    cells = [
        [[shown(own, value) for value in column] for column, own in zip(row, quantizers, strict=True)] for row in rows
    ]
    return sum(cells.count(each) == 1 for each in cells) / len(rows)


@pytest.mark.parametrize(
    ("rows", "quantizers"),
    [
        ([((1,), (1,))] * 4 + [((None,), (1,))] * 2 + [((1,), (None,))] * 2 + [((None,), (None,))], (TWO, ONE)),
        ([((1,),)] * 3 + [((1, 1),)] * 3, (TWO,)),
        ([((1, None),), ((None, 1),), ((None, 1),), ((1, 1),), ((1, 1),)], (TWO,)),
        ([((1,),)] * 4, (COUNTED,)),
        ([((1,),)] * 3 + [((None,),)], (COUNTED,)),
        ([((1, 1), (1, 1))] * 3, (ONE, ONE)),
    ],
)
def test_the_bound_is_the_best_over_all_values(rows, quantizers):
    """All values of the rows are tried; where being missing is an output, so is that."""
    places = [
        (k, c, t)
        for k, row in enumerate(rows)
        for c, column in enumerate(row)
        for t, value in enumerate(column)
        if value is not None or quantizers[c] is COUNTED
    ]
    choices = [(1, 9, None) if quantizers[c] is COUNTED else (1, 9) for _, c, _ in places]
    best = 0.0
    for values in product(*choices):
        tried = [[list(column) for column in row] for row in rows]
        for (k, c, t), value in zip(places, values, strict=True):
            tried[k][c][t] = value
        best = max(best, alone(tried, quantizers))
    assert most_alone(rows, quantizers) == pytest.approx(best)


def pair(before, quantizer):
    cells = {name: [shown(quantizer, value) for value in column] for name, column in before.items()}
    return SeriesPair(pa.table(before), pa.table(cells))


def test_gaps_and_lengths_that_are_public_break_no_promise():
    """Nine records with one output between them: what tells them apart is where they have gaps, which is public."""
    values = [(None, None), (None, 1), (1, None), (1, 9)]
    one = [pair({"a": [a], "b": [b]}, ONE) for a, b in values]
    records = unique_records(one, {"a": ONE, "b": ONE})
    assert records.protected.value == records.bound == 1.0
    lengths = unique_series([pair({"a": [1.0] * n}, ONE) for n in (1, 2, 3)], {"a": ONE})
    assert lengths.protected.value == lengths.bound == 1.0


def test_equal_lengths_in_one_cell_are_never_alone_and_in_cells_of_their_own_always():
    series = [pair({"a": [float(k), 1.0]}, ONE) for k in range(10)]
    found = unique_series(series, {"a": ONE})
    assert (found.protected.value, found.control.value, found.bound) == (0.0, 1.0, 0.0)
    fine = LinearQuantizer(0, 10, 10)
    found = unique_series([pair({"a": [float(k), 1.0]}, fine) for k in range(10)], {"a": fine})
    assert found.protected.value == found.bound == 1.0


def test_values_in_the_middle_of_their_cells_are_recovered_and_of_one_cell_nothing_is():
    assert recover(TWO, [[2.5, 7.5]])[0].protected.value == 0.0
    nothing = recover(ONE, [[0.0, 1.0, 7.0]])[0]
    assert nothing.protected == nothing.baseline
