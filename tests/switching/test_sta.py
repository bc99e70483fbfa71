"""StaSwitch against enumeration, the right values and the paper's lemmas; exact privacy, and its bound by replay."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from switching_oracles import chi_square, delta_of_pair, exact_delta, largest_ratio, law_of, sta_law

from reticent.errors import ArgumentError, RefusedError
from reticent.randomness import seeded_source
from reticent.switching import RanSwitch, StaSwitch, switch_batch
from reticent.switching.privacy import _kernels
from reticent.switching.privacy.replay import stateful_bound
from reticent.switching.privacy.stateful import delay_step, exact_losses, loss_law, stationary_delays
from reticent.switching.ran_switch import exchange_weights
from shared_data import shared_vectors


def start(k):
    return {(0,) * k: 1.0}


def test_right_values():
    for case in shared_vectors("sta_switch_exact"):
        switch = StaSwitch(case["window"], case["log_p_over_q"])
        law = loss_law(start(switch.window), switch.q, *case["swapped"], case["length"])
        assert law.delta(case["epsilon"]) == pytest.approx(case["delta"], abs=1e-9)
        assert switch.delta(case["epsilon"]) >= case["delta"] - 1e-12


def test_displacement_of_the_middle_value():
    cases = {(c["window"], c["log_p_over_q"]): c for c in shared_vectors("sta_switch_exact")}
    for (window, log_ratio), case in cases.items():
        n = 7  # the middle value of nine is the fifth; that of a shorter series is checked by enumeration
        law = sta_law(n, window, log_ratio)
        assert sum(law.values()) == pytest.approx(1, abs=1e-12)
        q = StaSwitch(window, log_ratio).q
        moved = _followed_from_start(window, q, 4, 9)
        assert moved == pytest.approx(case["expected_displacement_of_middle"], abs=1e-9)


def _followed_from_start(k, q, i, n):
    """Mean |displacement| of value i of n, over all sequences of choices, by the states of a window."""
    states = {tuple(range(n)): 1.0}
    total = 0.0
    for t in range(n):
        following = {}
        for content, p in states.items():
            reach = min(k - 1 - (t - content[0]), n - t - 1)
            for m in range(reach + 1):
                share = q if m else 1 - reach * q
                after = list(content)
                after[0], after[m] = after[m], after[0]
                if after[0] == i:
                    total += p * share * abs(t - i)
                    continue
                key = tuple(after[1:])
                following[key] = following.get(key, 0.0) + p * share
        states = following
    return total


@pytest.mark.parametrize(("window", "log_ratio"), [(1, 1.0), (2, 0.0), (2, 1.0), (3, 2.0), (4, 0.5), (8, 1.0)])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_law_is_the_one_defined(window, log_ratio, n):
    expected = sta_law(n, window, log_ratio)
    for order, probability in law_of(StaSwitch(window, log_ratio), n).items():
        assert probability == pytest.approx(expected[order], rel=1e-11)


@pytest.mark.parametrize(("window", "log_ratio"), [(2, 1.0), (3, 2.0), (4, 0.7), (9, 1.0)])
@pytest.mark.parametrize("n", [5, 6])
def test_draws_follow_the_law(window, log_ratio, n):
    def draw(draws):
        flat = switch_batch(StaSwitch(window, log_ratio), np.arange(draws + 1) * n, seeded_source(4), range(draws))
        return flat.reshape(draws, n) - np.arange(draws)[:, None] * n

    assert chi_square(draw, sta_law(n, window, log_ratio), 200_000) > 1e-3
    if log_ratio == 2.0:
        assert chi_square(draw, sta_law(n, window, log_ratio + 0.03), 200_000) < 1e-6


@pytest.mark.parametrize(("window", "log_ratio"), [(2, 1.0), (3, 0.5), (3, 2.0), (4, 1.0)])
@pytest.mark.parametrize("n", [3, 4, 6])
def test_joint_programme_is_exact(window, log_ratio, n):
    """Every pair, window and ε of a short series, and the guarantee above them all."""
    switch, law = StaSwitch(window, log_ratio), sta_law(n, window, log_ratio)
    for epsilon in (0.0, log_ratio, 2 * log_ratio):
        for i, j in itertools.combinations(range(n), 2):
            exact = loss_law(start(window), switch.q, i, j, n).delta(epsilon)
            assert exact == pytest.approx(delta_of_pair(law, i, j, epsilon), abs=1e-10)
        for other in range(1, n + 1):
            assert exact_delta(law, n, other, epsilon) <= switch.delta(epsilon, other) + 1e-12


def test_largest_finite_ratio_is_not_the_log_ratio():
    for k, log_ratio, largest in [(3, 1.0, 1.313), (4, 1.0, 1.790), (4, 2.0, 2.352)]:
        laws = exact_losses(k, StaSwitch(k, log_ratio).q, k)
        assert max(loss for law, _ in laws for loss, _ in law.losses) == pytest.approx(largest, abs=5e-4)
    assert largest_ratio(sta_law(7, 3, 1.0), 7, 3) == pytest.approx(math.log(math.e + 1), abs=1e-9)
    assert StaSwitch(3, 1.0).guarantee.delta > RanSwitch(3, 1.0).guarantee.delta


def test_a_pair_is_over_before_the_end_matters():
    """More than 4k instants after a pair change nothing, so the lengths tried are all lengths."""
    for k in (2, 3, 4):
        q = StaSwitch(k, 1.0).q
        for d in range(1, k):
            near, far = (loss_law(stationary_delays(k, q), q, k - 1, k - 1 + d, left) for left in (5 * k + d, 40 * k))
            assert near.delta(0.5) == pytest.approx(far.delta(0.5), abs=1e-12)


@pytest.mark.slow
def test_five_steps():
    switch = StaSwitch(5, 1.0)
    exact = switch.guarantee.delta
    at_start = loss_law(start(5), switch.q, 4, 8, 200).delta(1.0)
    assert exact == pytest.approx(at_start, rel=1e-9)
    assert exact <= stateful_bound(5, 1.0, 5, 1.0) <= exact + 0.015
    assert switch.displacement().exact


def test_the_worst_pair_is_at_the_start():
    for k, log_ratio in [(2, 0.5), (3, 1.0), (4, 2.0)]:
        switch = StaSwitch(k, log_ratio)
        at_start = loss_law(start(k), switch.q, k - 1, 2 * k - 2, 40 * k).delta(log_ratio)
        assert switch.guarantee.delta == pytest.approx(at_start, rel=1e-9)
        assert not switch.guarantee.statistical


@pytest.mark.parametrize(("k", "log_ratio", "epsilon"), [(3, 1.0, 0.5), (4, 2.0, 2.0)])
def test_replay_bounds_the_exact_value(k, log_ratio, epsilon):
    exact, bound = StaSwitch(k, log_ratio).delta(epsilon), stateful_bound(k, log_ratio, k, epsilon)
    assert exact <= bound <= exact + 0.015


def test_replay_computes_the_same_losses():
    """Losses of drawn releases against the ratio of log probabilities, all pairs."""
    k, log_ratio, n, runs = 3, 1.0, 9, 40
    switch = StaSwitch(k, log_ratio)
    stay, move = exchange_weights(k, log_ratio)
    on_words = np.uint64(2**64 * move // (stay + (k - 1) * move))
    words = seeded_source(5).words(runs * n)
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64)
    losses = np.empty((runs, len(pairs)))
    firsts, seconds = np.ascontiguousarray(pairs.T)
    _kernels.stateful_losses(words, n, k, on_words, switch.q, firsts, seconds, losses)
    orders = np.array([np.arange(n) for _ in range(runs)])
    for run in range(runs):
        sampler = switch.sampler()
        assert sampler.draw(orders[run], 0, n, words[run * n : (run + 1) * n]) == (n, n)
    slow = switch.exchange_losses(orders, firsts, seconds)
    finite = np.isfinite(slow)
    assert np.array_equal(finite, np.isfinite(losses))
    assert 0.2 < finite.mean() < 0.8
    assert losses[finite] == pytest.approx(slow[finite], abs=1e-12)


def test_a_statistical_guarantee_must_be_accepted():
    switch = StaSwitch(6, 1.0)
    with pytest.raises(RefusedError, match="accept_statistical"):
        switch.release(np.arange(10))
    with pytest.raises(RefusedError, match="accept_statistical"):
        switch.stream()
    assert switch.stream(accept_statistical=True).push([1]).size == 0
    assert np.array_equal(np.sort(switch.release(np.arange(10), accept_statistical=True)), np.arange(10))
    assert switch.guarantee.statistical
    assert "statistical" in str(switch.guarantee)
    assert switch.delta(1.0, window=1) == 0
    assert switch.delta(1.0, window=12) == 1


def test_table_1_of_the_paper():
    """k=4: the offsets from a content that is b steps late, and their probabilities."""
    q = StaSwitch(4, 1.0).q
    p = 1 - 3 * q
    table = {0: [p, q, q, q], 1: [p + q, q, q], 2: [p + 2 * q, q], 3: [p + 3 * q]}
    for late, row in table.items():
        choices = [(offset, share) for _, offset, share in delay_step((late, 0, 0, 0), q, 100)]
        assert [offset for offset, _ in choices] == list(range(len(row)))
        assert [share for _, share in choices] == pytest.approx(row, rel=1e-12)
        assert sum(row) == pytest.approx(1)


def test_lemmas_of_the_mean_field_analysis():
    """IV.1: P_b^i grows with i ≥ 1. IV.2: the least allocation is among P_{1-k}, P_{-1} and P_1."""
    for k in (3, 4, 5, 8, 10, 24):
        for log_ratio in (0.0, 0.5, 1.0, 2.0, 4.0):
            field = StaSwitch(k, log_ratio).mean_field()
            assert field.delays.sum() == pytest.approx(1, abs=1e-12)
            assert field.offsets.sum() == pytest.approx(1, abs=1e-12)
            assert field.law.sum() == pytest.approx(1, abs=1e-9)
            assert np.all(np.diff(field.delays[1:]) > 0)
            q = StaSwitch(k, log_ratio).q
            assert field.delays[k - 1] < q / (1 + q)
            assert field.law.min() >= min(field.law[0], field.law[k - 2], field.law[k]) - 1e-15


def test_mean_field_is_close_but_an_approximation():
    for k in (3, 4, 5, 6):
        for log_ratio in (0.5, 1.0, 2.0):
            switch = StaSwitch(k, log_ratio)
            exact, field = switch.displacement(), switch.mean_field()
            assert exact.exact
            assert exact.probabilities.sum() == pytest.approx(1, abs=1e-12)
            gap = np.abs(exact.probabilities - field.law).max()
            assert 1e-6 < gap < (0.0011 if log_ratio >= 1 else 0.002)
            assert field.law @ np.abs(exact.offsets) == pytest.approx(exact.mean, rel=0.002)
    assert not StaSwitch(8, 1.0).displacement().exact


@pytest.mark.parametrize("k", [4, 8])
def test_displacement_of_a_long_series(k):
    switch, n = StaSwitch(k, 1.5), 400_000
    law = switch.displacement()
    moved = (np.argsort(switch.order(n, seeded_source(5))) - np.arange(n))[1000:-1000]
    assert np.abs(moved).max() == k - 1
    drawn = np.array([np.mean(moved == d) for d in law.offsets])
    assert np.allclose(drawn, law.probabilities, atol=0.003)


@pytest.mark.parametrize("arguments", [{"window": 0}, {"window": 300}, {"log_ratio": -1}, {"log_ratio": math.nan}])
def test_bad_parameters(arguments):
    with pytest.raises(ArgumentError):
        StaSwitch(**{"window": 4, "log_ratio": 1.0, **arguments})
