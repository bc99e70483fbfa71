"""Unique trips: counting, the bound, and trips on which it must succeed and must fail."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from reticent.attacks.uniqueness import most_unique, unique_share, uniqueness
from reticent.errors import ArgumentError

BOX = [(0, 10), (-5, 5)] * 2


def _trips(count: int = 200, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform([0, -5, 0, -5], [10, 5, 10, 5], (count, 4))


def test_unique_share_counts_rows_without_an_equal() -> None:
    assert unique_share(np.array([[1, 2], [1, 2], [1, 3], [2, 2]])) == 0.5


@pytest.mark.parametrize("bits", [1, 4, 9])
def test_shares_as_by_counting_cells_in_plain_python(bits: int) -> None:
    trips = _trips()
    (result,) = uniqueness(trips, BOX, [bits])
    levels = [int(each) for each in result.settings["levels"].split(" × ")]
    cells = Counter(
        tuple(
            min(int((x - low) * q / (high - low)), q - 1) for x, (low, high), q in zip(trip, BOX, levels, strict=True)
        )
        for trip in trips.tolist()
    )
    assert result.protected.estimate().value == sum(count == 1 for count in cells.values()) / 200
    assert result.within_bound


def test_the_bound_is_the_best_over_all_assignments() -> None:
    for trips, outputs in product(range(1, 6), range(1, 4)):
        best = max(
            sum(count == 1 for count in Counter(given).values()) / trips
            for given in product(range(outputs), repeat=trips)
        )
        assert best == most_unique(trips, outputs)


def test_unprotected_and_in_fine_cells_all_are_unique() -> None:
    (result,) = uniqueness(_trips(), BOX, [40])
    assert result.control.estimate().value == 1.0
    assert result.protected.estimate().value == 1.0
    assert result.bound == 1.0


def test_one_cell_and_equal_trips_leave_none_unique() -> None:
    told: list[tuple[int, int]] = []
    first, _ = uniqueness(_trips(), BOX, [0, 3], lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    assert first.protected.estimate().value == first.bound == 0.0
    (alike,) = uniqueness(np.repeat(_trips(1), 5, axis=0), BOX, [40])
    assert alike.protected.estimate().value == alike.control.estimate().value == 0.0


def test_columns_must_fit() -> None:
    with pytest.raises(ArgumentError, match="one column a range"):
        uniqueness(_trips()[:, :3], BOX, [1])
    with pytest.raises(ArgumentError, match="at least one row"):
        uniqueness(np.empty((0, 4)), BOX, [1])
