"""MallowsSwitch against enumeration, the right values, and a chi-square of what it draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from switching_oracles import chi_square, exact_delta, largest_ratio, law_of, mallows_law

from reticent.errors import ArgumentError
from reticent.randomness import seeded_source
from reticent.switching import MallowsSwitch, switch_batch
from reticent.switching.mallows import _law_for
from shared_data import shared_vectors


def many(switch, n):
    """Draws of `switch` for series of n records, by the batch."""

    def draw(draws):
        flat = switch_batch(switch, np.arange(draws + 1) * n, seeded_source(20), range(draws))
        return flat.reshape(draws, n) - np.arange(draws)[:, None] * n

    return draw


def test_right_values():
    for case in shared_vectors("mallows_switch_exact"):
        switch = MallowsSwitch(case["window"], case["epsilon"], buffer=case["buffer"])
        assert switch.phi == pytest.approx(case["phi"], rel=1e-9)
        assert switch.guarantee.delta == pytest.approx(case["delta"], rel=1e-9)
        assert case["epsilon"] * (1 - 1e-9) < switch.guarantee.epsilon <= case["epsilon"]


@pytest.mark.parametrize(("window", "epsilon", "buffer"), [(2, 1.0, 2), (2, 6.0, 4), (3, 0.5, 4), (4, 2.0, 3)])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_law_is_the_one_defined(window, epsilon, buffer, n):
    switch = MallowsSwitch(window, epsilon, buffer=buffer)
    expected = mallows_law(n, math.exp(-epsilon / (2 * window - 3)), buffer)
    for order, probability in law_of(switch, n).items():
        assert probability == pytest.approx(expected[order], rel=1e-9)


@pytest.mark.parametrize(("window", "epsilon"), [(2, 1.0), (3, 0.5), (4, 2.0), (6, 1.0)])
def test_whole_series_is_pure(window, epsilon):
    law = law_of(MallowsSwitch(window, epsilon), 6)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert exact_delta(law, 6, window, epsilon) < 1e-12
    assert largest_ratio(law, 6, window) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("window", "epsilon", "buffer"), [(2, 1.0, 2), (2, 0.5, 3), (3, 1.0, 3), (3, 2.0, 4)])
def test_delta_of_a_buffer_is_attained(window, epsilon, buffer):
    switch = MallowsSwitch(window, epsilon, buffer=buffer)
    n = buffer + window - 1 if buffer + window - 1 <= 6 else 6
    assert exact_delta(law_of(switch, n), n, window, epsilon) == pytest.approx(switch.guarantee.delta, rel=1e-8)


@pytest.mark.parametrize("n", [3, 5, 6])
@pytest.mark.parametrize("other", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
def test_delta_at_any_window_and_epsilon_is_an_upper_bound(n, other, epsilon):
    switch = MallowsSwitch(3, 1.0, buffer=3)
    assert exact_delta(law_of(switch, n), n, other, epsilon) <= switch.delta(epsilon, window=other) + 1e-12


def test_the_chosen_buffer_is_the_smallest():
    assert MallowsSwitch(10, 2.0, 1e-6).look_ahead == 123
    for window, epsilon, delta in [(2, 1.0, 1e-3), (5, 2.0, 0.01), (3, 0.5, 0.3)]:
        switch = MallowsSwitch(window, epsilon, delta)
        scan = next(w for w in range(1, 1000) if MallowsSwitch(window, epsilon, buffer=w).guarantee.delta <= delta)
        assert switch.look_ahead == scan
        assert switch.guarantee.delta <= delta


@pytest.mark.parametrize("switch", [MallowsSwitch(3, 2.0), MallowsSwitch(3, 1.0, buffer=3), MallowsSwitch(9, 0.5)])
@pytest.mark.parametrize("n", [5, 6])
def test_draws_follow_the_law(switch, n):
    assert chi_square(many(switch, n), law_of(switch, n), 200_000) > 1e-3


def test_a_sampler_off_by_one_percent_is_caught():
    assert chi_square(many(MallowsSwitch(3, 2.03), 5), law_of(MallowsSwitch(3, 2.0), 5), 600_000) < 1e-4


@pytest.mark.parametrize("epsilon", [20.0, 60.0, 1.0])
def test_ranks_beyond_the_table(epsilon):
    """At a large ε the table has one rank, and every further one takes a further word."""
    law = _law_for(epsilon, 1)
    assert (law.cumulative.size == 1) == (epsilon > 16 * math.log(2))
    assert law.rate <= epsilon
    weights = law.weights(3)
    assert np.all(weights[1:] / weights[:-1] >= math.exp(-epsilon) * (1 - 1e-12))


def test_draws_from_a_table_of_two_ranks():
    switch = MallowsSwitch(3, 15.0)
    assert switch._law.cumulative.size == 2
    assert chi_square(many(switch, 5), law_of(switch, 5), 300_000) > 1e-3


def test_machine_weights_hold_the_guarantee():
    """The words' own whole-number weights, block boundaries included, never ask more than the ε stated."""
    for epsilon, exchanges in [(2.0, 45), (0.2, 197), (1.0, 1), (30.0, 1)]:
        law = _law_for(epsilon, exchanges)
        weights = np.log(law.weights(3 * law.cumulative.size + 1))
        assert np.max(np.abs(np.diff(weights))) <= law.rate + 1e-15
        assert law.rate * exchanges <= epsilon


def test_displacement_of_a_long_series():
    for epsilon, mean in [(2.0, 11.53), (4.0, 5.63)]:
        assert MallowsSwitch(10, epsilon).displacement().mean == pytest.approx(mean, abs=0.005)
    for switch in (MallowsSwitch(10, 2.0), MallowsSwitch(5, 2.0, buffer=9)):
        law = switch.displacement()
        n = 400_000
        order = switch.order(n, seeded_source(3))
        moved = (np.arange(n) - order)[2000:-2000]
        drawn = np.array([np.mean(moved == d) for d in range(-8, 9)])
        assert np.allclose(drawn, [law.probability(d) for d in range(-8, 9)], atol=0.0025)
        assert np.abs(moved).mean() == pytest.approx(law.mean, rel=0.01)


def test_window_one_releases_the_series_as_it_is():
    switch = MallowsSwitch(1, 0.0)
    assert np.array_equal(switch.release([3, 1, 2], seeded_source(1)), [3, 1, 2])
    assert switch.guarantee.epsilon == 0 == switch.guarantee.delta
    assert switch.delta(5.0, window=2) == 1.0
    assert switch.displacement().mean == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"window": 0},
        {"window": 2.0},
        {"window": True},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": 1e-9},
        {"delta": 1.0},
        {"delta": -0.1},
        {"delta": math.nan},
        {"buffer": 0},
        {"buffer": 5, "delta": 1e-9},
    ],
)
def test_bad_parameters(arguments):
    with pytest.raises(ArgumentError):
        MallowsSwitch(**{"window": 4, "epsilon": 1.0, **arguments})
