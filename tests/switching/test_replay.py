"""Privacy curves below a mechanism's own ε, by replay."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from switching_oracles import exact_delta, law_of

from reticent.randomness import seeded_source
from reticent.switching import FootruleSwitch, MallowsSwitch, replayed_guarantee
from reticent.switching.mechanism import Switch
from reticent.switching.privacy import dominated_delta
from reticent.switching.privacy.replay import upper_bounds

SWITCHES = [
    MallowsSwitch(4, 1.0),
    MallowsSwitch(4, 1.0, buffer=5),
    FootruleSwitch(4, 3.0, 1.0),
    FootruleSwitch(3, 0.7, 0.0),
    MallowsSwitch(1, 0.0),
]


@pytest.mark.parametrize("switch", SWITCHES)
def test_losses_are_ratios_of_probabilities(switch):
    n = 12
    orders = np.array([switch.order(n, seeded_source(i)) for i in range(30)])
    firsts, seconds = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).T.copy()
    fast = switch.exchange_losses(orders, firsts, seconds)
    slow = Switch.exchange_losses(switch, orders, firsts, seconds)
    assert np.array_equal(np.isfinite(fast), np.isfinite(slow))
    assert fast[np.isfinite(fast)] == pytest.approx(slow[np.isfinite(slow)], abs=1e-12)


@pytest.mark.parametrize("switch", [MallowsSwitch(3, 2.0), MallowsSwitch(3, 2.0, buffer=6), FootruleSwitch(3, 2.0)])
def test_replayed_bound_lies_above_short_series_and_below_the_exact_bound(switch):
    law = law_of(switch, 7)
    for epsilon in (0.0, 1.0):
        replayed = replayed_guarantee(switch, epsilon, runs=40_000)
        assert replayed.statistical
        assert "statistical" in str(replayed)
        assert replayed.delta < switch.delta(epsilon)
        assert replayed.delta > exact_delta(law, 7, 3, epsilon) - 0.02
    assert not replayed_guarantee(switch, 2.0).statistical


def test_bernstein_bound_covers():
    """Of 400 bounds at failure probability 0.05 on a law of known mean, no more fail than should, and it shrinks."""
    rng = np.random.default_rng(0)
    draws = rng.random((300, 400)) < 0.1
    failed = np.mean(upper_bounds(draws.astype(float), 0.05) < 0.1)
    assert failed <= 0.05
    assert upper_bounds(draws[:, :1].astype(float), 1e-9)[0] < 0.45
    assert upper_bounds(np.ones((10, 1)), 0.1)[0] == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (2.0, 0.3), (math.inf, 0.1), (800.0, 0.0)])
def test_domination(epsilon, delta):
    assert dominated_delta(epsilon, delta, epsilon) == delta
    assert dominated_delta(epsilon, delta, epsilon + 1) == delta
    below = dominated_delta(epsilon, delta, epsilon / 2)
    assert delta <= below <= 1
    if math.isinf(epsilon):
        assert dominated_delta(epsilon, delta, 5.0) == 1.0
