"""Costs of mechanisms and of given pairs of series; the dispatch baselines beside a switch."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from reticent.errors import ArgumentError
from reticent.randomness import seeded_source
from reticent.switching import CostCounts, Costs, Dispatch, RanSwitch, compare


def test_a_switch_only_costs_misalignment():
    values = np.random.default_rng(0).normal(size=500)
    switch = RanSwitch(5, 1.0)
    order = switch.order(500, seeded_source(1))
    counts = compare(values, values[order])
    assert counts == CostCounts(500, 0, 0, 0, int(np.abs(order - np.arange(500)).sum()))
    assert counts.per_record(Costs(missing=9, repetition=9, empty=9, misalignment=2)) == 2 * counts.misalignment / 500


def test_equal_values_are_matched_at_least_misalignment():
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = rng.integers(0, 3, 6)
        released = rng.permutation(values)
        least = min(
            sum(abs(t - place) for t, place in enumerate(order))
            for order in itertools.permutations(range(6))
            if np.array_equal(values[list(order)], released)
        )
        assert compare(values, released).misalignment == least


def test_copies_are_matched_to_the_nearest():
    values = np.array([5.0, 7.0, np.nan, 9.0, 11.0])
    released = np.array([7.0, 7.0, 5.0, np.nan, 0.0])
    counts = compare(values, released, np.array([False, False, False, False, True]))
    assert counts == CostCounts(records=5, missing=2, repetition=1, empty=1, misalignment=1 + 0 + 2 + 1)


def test_pairs_that_are_no_release():
    with pytest.raises(ArgumentError, match="do not occur"):
        compare(np.array([1, 2]), np.array([1, 3]))
    with pytest.raises(ArgumentError):
        compare(np.array([1, 2]), np.array([1]))
    with pytest.raises(ArgumentError):
        Costs(missing=-1)


@pytest.mark.parametrize("direction", ["backward", "forward"])
def test_dispatch_loses_and_repeats(direction):
    k, epsilon, n = 10, 2.0, 200_000
    dispatch = Dispatch(k, epsilon, direction)
    weight = math.exp(epsilon / 2)
    p0, pj = weight / (k - 1 + weight), 1 / (k - 1 + weight)
    counts = dispatch.simulate(n)
    lost = (1 - p0) * (1 - pj) ** (k - 1)  # backward: shown at none of its k places; forward: no value comes
    if direction == "backward":
        assert counts.missing / n == pytest.approx(lost, rel=0.01)
        assert counts.repetition == counts.missing - counts.empty
        assert counts.misalignment / n == pytest.approx(pj * k * (k - 1) / 2, rel=0.01)
    else:
        assert counts.empty / n == pytest.approx(lost, rel=0.01)
        assert counts.repetition == 0
        assert counts.missing == counts.empty
    released = dispatch.release(np.arange(1000.0), seeded_source(2))
    origins = dispatch.origins(1000, seeded_source(2))
    assert np.array_equal(released.mask, origins < 0)
    assert np.array_equal(released.compressed(), origins[origins >= 0])
    cost = Costs(missing=1, repetition=1, empty=1, misalignment=0.0)
    assert dispatch.expected_cost(cost) > 0.3
    assert RanSwitch(k, epsilon).expected_cost(cost) == 0


def test_dispatch_refuses():
    with pytest.raises(ArgumentError):
        Dispatch(3, 1.0, "sideways")
    assert Dispatch(3, 1.0).origins(0).size == 0
    assert np.array_equal(Dispatch(1, 1.0).release(np.arange(3)), np.arange(3))
