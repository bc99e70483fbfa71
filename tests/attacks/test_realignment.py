"""An order is found where it shows, and not where it does not; no test of two neighbours beats the bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from attack_twins import best_advantage, exchanged

import reticent as rt
from reticent.attacks.realignment import (
    ADVANTAGE,
    SHARE,
    advantage_bound,
    most_likely_slots,
    moves,
    neighbour_test,
    realign,
    realignment,
)
from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.randomness import seeded_source
from reticent.switching.costs import Displacement

SWITCHES = [
    rt.FootruleSwitch(3, 1.5),
    rt.FootruleSwitch(3, 2.0, alpha=0.8),
    rt.MallowsSwitch(3, 1.5, 0.0),
    rt.MallowsSwitch(3, 1.5, buffer=4),
    rt.RanSwitch(3, 1.5),
    rt.StaSwitch(3, 1.5),
]


def wave(n: int = 600) -> np.ndarray:
    return np.round(10 * np.sin(np.arange(n) / 9) + 0.01 * np.arange(n), 6)


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: f"{switch.name}-{switch.to_dict()}")
@pytest.mark.parametrize("pair", [(0, 1), (1, 3), (2, 4)])
def test_the_test_of_two_neighbours_is_the_best_there_is(switch, pair):
    """By enumeration of all orders of six records: its advantage is the total variation, up to chance."""
    n, runs = 6, 5_000
    exact = best_advantage(lambda order: math.exp(switch.log_probability(order)), n, *pair)
    found = neighbour_test(switch, pair=pair, n=n, runs=runs, source=seeded_source(4))
    assert found.measure == ADVANTAGE
    assert found.protected.value == pytest.approx(exact, abs=5 / math.sqrt(runs))
    assert exact <= found.bound + 1e-12
    assert (found.control.value, found.baseline.value) == (1.0, 0.0)


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: f"{switch.name}-{switch.to_dict()}")
def test_two_releases_are_told_apart_as_enumeration_says(switch):
    n, pair = 4, (1, 2)
    orders = list(itertools.permutations(range(n)))
    law = {order: math.exp(switch.log_probability(order)) for order in orders}
    exact = sum(
        abs(law[a] * law[b] - law[exchanged(a, *pair)] * law[exchanged(b, *pair)])
        for a, b in itertools.product(orders, repeat=2)
    )
    found = neighbour_test(switch, pair=pair, n=n, releases=2, runs=5_000, source=seeded_source(4))
    assert found.protected.value == pytest.approx(exact / 2, abs=5 / math.sqrt(5_000))


@pytest.mark.parametrize(
    "switch",
    [
        rt.FootruleSwitch(12, 2.0),
        rt.MallowsSwitch(12, 2.0, 1e-6),
        rt.RanSwitch(12, 2.0),
        rt.StaSwitch(3, 2.0),
    ],
    ids=lambda switch: switch.name,
)
def test_no_switch_is_beaten_beyond_its_bound(switch):
    found = neighbour_test(switch, runs=4000, source=seeded_source(1))
    assert found.protected.value < found.bound + 4 * math.sqrt(1 / 4000)
    assert found.bound < 1


def test_the_bound_is_attained_by_the_papers_baseline():
    found = neighbour_test(rt.RanSwitch(4, 2.0), runs=5_000, source=seeded_source(3))
    assert found.protected.low <= found.bound <= found.protected.high


def test_a_switch_that_hides_less_than_it_says_is_caught():
    promised = TemporalGuarantee(0.5, 0.0, 4)
    found = neighbour_test(rt.RanSwitch(4, 2.0), guarantee=promised, runs=4000, source=seeded_source(1))
    assert found.within_bound is False


def test_nothing_is_learnt_from_an_order_that_is_uniform():
    """ε = 0: every order is as likely as every other."""
    uniform = rt.RanSwitch(8, 0.0)
    found = neighbour_test(uniform, pair=(0, 5), n=8, runs=5_000, source=seeded_source(2))
    assert abs(found.protected.value) < 0.06
    assert found.protected.low < 0 < found.protected.high


def test_advantage_bound_is_delta_at_epsilon_zero():
    for epsilon, delta in [(0.0, 0.0), (1.0, 0.0), (2.0, 0.1), (0.5, 1.0)]:
        exact = (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1)
        assert advantage_bound(TemporalGuarantee(epsilon, delta, 3)) == pytest.approx(exact, abs=1e-15)
    assert advantage_bound(TemporalGuarantee(math.inf, 0.0, 3)) == 1.0
    assert advantage_bound(TemporalGuarantee(800.0, 0.1, 3)) == 1.0  # e^800 is no float


def test_many_games_are_drawn_a_part_at_a_time(monkeypatch):
    """The parts are drawn as the whole is; ten thousand games over a day of 5 minutes would not fit into memory."""
    switch = rt.FootruleSwitch(4, 1.0)
    whole = neighbour_test(switch, runs=500, source=seeded_source(3))
    monkeypatch.setattr("reticent.attacks.realignment._RECORDS_AT_ONCE", 1000)
    assert neighbour_test(switch, runs=500, source=seeded_source(3)) == whole


def test_a_smooth_series_is_put_back_better_than_it_was_left():
    switch = rt.FootruleSwitch(6, 3.0)
    series = [wave() + shift for shift in range(3)]
    released = [switch.release(each, seeded_source(9).spawn(k)) for k, each in enumerate(series)]
    share, error = realignment(series, released, switch)
    assert share.measure == SHARE
    assert share.protected.value > share.baseline.value
    assert error.protected.value < 0.8 * error.baseline.value
    assert share.control.value == 1.0
    assert share.bound is None
    assert share.protected.trials == 3


def test_whoever_holds_the_series_itself_puts_it_all_back():
    switch = rt.FootruleSwitch(6, 1.5)
    original = np.random.default_rng(0).normal(size=400)
    released = switch.release(original, seeded_source(1))
    alone, _ = realignment([original], [released], switch)
    helped, _ = realignment([original], [released], switch, [original])
    assert helped.protected.value > 0.95
    assert alone.protected.value < 0.35


def test_nothing_is_put_back_from_a_uniform_order_of_noise():
    n = 200
    original = np.random.default_rng(0).normal(size=n)
    released = original[np.random.default_rng(1).permutation(n)]
    uniform = Displacement(np.arange(1 - n, n), np.full(2 * n - 1, 1 / (2 * n - 1)))
    assert (realign(released, uniform) == original).mean() < 0.05


def test_a_series_that_was_not_switched_stays_as_it_is():
    still = rt.FootruleSwitch(1, 0.0)
    share, error = realignment([wave()], [wave()], still)
    assert share.protected.value == 1.0
    assert error.protected.value == 0.0


def test_the_order_is_the_most_likely_one_of_all():
    """Against all orders of six values: displacement and distance from the level, as they are weighed."""
    rng = np.random.default_rng(3)
    law = Displacement(np.arange(-3, 4), np.array([0.05, 0.1, 0.15, 0.4, 0.15, 0.1, 0.05]))
    moved = moves(law, 6)
    for _ in range(20):
        level = rng.normal(size=6)
        values = rng.permutation(level) + 0.3 * rng.normal(size=6)
        values[rng.integers(6)] = np.nan

        def cost(slots, values=values, level=level):
            far = sum((values[t] - level[s]) ** 2 / (2 * 0.3) for t, s in enumerate(slots) if not np.isnan(values[t]))
            return far - sum(math.log(max(moved[t, s], 1e-12)) for t, s in enumerate(slots))

        best = min(map(cost, itertools.permutations(range(6))))
        assert cost(most_likely_slots(values, moved, level, 0.3).tolist()) == pytest.approx(best, rel=1e-12)


def test_values_are_neither_lost_nor_repeated_and_gaps_move_too():
    switch = rt.FootruleSwitch(4, 2.0)
    original = wave(2300)
    original[::50] = np.nan
    released = switch.release(original, seeded_source(1))
    back = realign(released, switch.displacement())
    assert np.array_equal(np.sort(back), np.sort(released), equal_nan=True)
    share, _ = realignment([original], [released], switch)
    assert 0 < share.protected.value <= 1


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 4, [2.0] * 5], ids=["empty", "one", "gaps", "equal"])
def test_degenerate_series_come_back_as_they_are(values):
    back = realign(np.array(values, dtype=float), rt.FootruleSwitch(3, 2.0).displacement())
    assert np.array_equal(back, np.array(values, dtype=float), equal_nan=True)


def test_wrong_arguments_are_told_in_a_sentence():
    switch = rt.FootruleSwitch(3, 2.0)
    with pytest.raises(ArgumentError, match="one length"):
        realign([1.0, 2.0], switch.displacement(), [1.0])
    with pytest.raises(ArgumentError, match="before and after"):
        realignment([[1.0, 2.0]], [[1.0]], switch)
    with pytest.raises(ArgumentError, match="window"):
        neighbour_test(rt.FootruleSwitch(1, 0.0))
    with pytest.raises(ArgumentError, match="pair"):
        neighbour_test(switch, pair=(2, 5))
