"""Disaggregation: exact clusters, slow twins, and houses in which it must succeed and must fail."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from reticent.attacks import disaggregation as nilm
from reticent.errors import ArgumentError

NAMES = ("kettle", "heater")


def _house(instants: int = 1440, days: int = 4, noise: float = 0.0, seed: int = 0) -> nilm.House:
    """A kettle of 2,000 W and a heater of 700 W above a base of 100 W: every sum tells what is on."""
    rng = np.random.default_rng(seed)
    on = rng.random((instants, 2)) < (0.1, 0.3)
    appliances = on * np.array([2000.0, 700.0])
    mains = 100 + appliances.sum(axis=1) + rng.normal(0, noise, instants) if noise else 100 + appliances.sum(axis=1)
    return nilm.House.of(NAMES, mains, appliances, np.arange(instants) * days // instants)


# --- parts -----------------------------------------------------------------------------------------------------------


def _slow_k_means(values: list[int], count: int) -> float:
    """The least squared error over all ways to cut the sorted values."""
    values = sorted(values)
    best = float("inf")
    for inner in combinations(range(1, len(values)), min(count, len(set(values))) - 1):
        groups = [values[a:b] for a, b in pairwise([0, *inner, len(values)])]
        best = min(best, sum((x - sum(group) / len(group)) ** 2 for group in groups for x in group))
    return best


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_clusters_are_the_best_of_all(count: int) -> None:
    rng = np.random.default_rng(count)
    for size in (1, 2, 4, 9):
        values = rng.integers(0, 40, size)
        centres = np.array(nilm.k_means(values.astype(float), count))
        assert len(centres) == min(count, np.unique(values).size)
        assert (np.diff(centres) > 0).all()
        error = (np.abs(values[:, None] - centres).min(axis=1) ** 2).sum()
        assert error == pytest.approx(_slow_k_means(values.tolist(), count))


def test_no_values_have_no_clusters() -> None:
    assert nilm.k_means(np.array([]), 2) == ()


def test_guesses_as_by_trying_all_combinations() -> None:
    states = ((0.0, 90.0, 2100.0), (0.0, 100.0, 1500.0), (0.0, 10.0), (80.0, 120.0))
    adversary = nilm.Combinations.of(states)
    published = np.random.default_rng(0).integers(0, 4500, 300).astype(float)
    for value, guessed in zip(published, adversary.guess(published), strict=True):
        tried = []
        for place in product(*(range(len(each)) for each in states)):
            total = sum(each[k] for each, k in zip(states, place, strict=True))
            on = [k > 0 for k in place[:-1]]
            tried.append((abs(total - value), total, sum(on), on))
        best = min(each[:3] for each in tried)
        assert guessed.tolist() in [each[3] for each in tried if each[:3] == best]


def test_f_scores_by_counting() -> None:
    truth = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]], dtype=bool)
    guessed = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]], dtype=bool)
    assert nilm.f_scores(guessed, truth).tolist() == [0.5, 0.0, 1.0]
    assert nilm.f_scores(np.zeros((4, 1), bool), np.zeros((4, 1), bool)).tolist() == [0.0]


def test_cells_are_chosen_as_by_trying_all_subsets() -> None:
    rng = np.random.default_rng(2)
    quantizer = nilm.LocalQuantization(0, 8, bits=3).quantizer
    loads = rng.integers(0, 8, 200) + 0.5
    truth = rng.random((200, 2)) < np.column_stack([loads / 10, 0.6 - loads / 20])
    found = nilm.f_scores(nilm.Cells.learnt(quantizer, loads, truth).guess(loads), truth)
    cells = loads.astype(int)
    for k in range(2):
        subsets = (np.isin(cells, subset) for size in range(9) for subset in combinations(range(8), size))
        assert found[k] == max(nilm.f_scores(each[:, None], truth[:, k : k + 1])[0] for each in subsets)


def test_instants_without_readings_are_left_out() -> None:
    appliances = [[1.0], [2.0], [np.nan], [4.0]]
    house = nilm.House.of(["one"], [10.0, 0.0, 12.0, np.nan], appliances, [0, 0, 1, 1])
    assert (house.mains.tolist(), house.days.tolist()) == ([10.0], [0])
    with pytest.raises(ArgumentError, match="no instant with a mains reading"):
        nilm.House.of(["one"], [0.0], [[1.0]], [0])
    with pytest.raises(ArgumentError, match="one column an appliance"):
        nilm.House.of(["one", "two"], [1.0], [[1.0]], [0])


# --- must succeed, must fail -----------------------------------------------------------------------------------------


def test_distinct_sums_are_read_off_without_protection_and_through_fine_cells() -> None:
    results = nilm.disaggregation(_house(), _house(seed=1), 0, 3200, bits=(8,))
    assert {result.name for result in results} == {
        "disaggregation, combinatorial optimisation",
        "disaggregation, cell by cell",
    }
    for result in results:
        assert result.control.estimate().value == 1.0
        assert result.protected.estimate().value == 1.0
        assert result.bound is None


def test_one_cell_is_as_good_as_a_constant() -> None:
    for result in nilm.disaggregation(_house(), _house(seed=1), 0, 3200, bits=(0,)):
        assert result.protected.estimate().value in (0.0, result.baseline.estimate().value)


def test_the_always_on_baseline_is_the_textbook_one() -> None:
    testing = _house(seed=1)
    share = testing.on.mean(axis=0)
    results = nilm.disaggregation(_house(), testing, 0, 3200, bits=(2,))
    for k in range(2):
        assert results[k].baseline.estimate().value == pytest.approx(2 * share[k] / (1 + share[k]))


def test_scores_fall_from_fine_to_coarse_cells_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    results = nilm.disaggregation(
        _house(noise=30.0),
        _house(noise=30.0, seed=1),
        0,
        3200,
        bits=(0, 2, 6),
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
    for name in {result.name for result in results}:
        by_bits = [
            sum(r.protected.estimate().value for r in results if r.name == name and r.settings["bits"] == bits)
            for bits in (0, 2, 6)
        ]
        assert by_bits[0] < by_bits[1] < by_bits[2]
    for result in results:
        estimate = result.protected.estimate()
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.trials == 4  # days


def test_other_appliances_are_refused() -> None:
    other = nilm.House.of(("heater", "kettle"), [100.0], [[0.0, 0.0]], [0])
    with pytest.raises(ArgumentError, match="other appliances"):
        nilm.disaggregation(_house(), other, 0, 3200)
