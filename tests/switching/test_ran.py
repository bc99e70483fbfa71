"""RanSwitch against enumeration, the right values and the paper's figures; errata 7 and 8."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from switching_oracles import chi_square, delta_of_pair, exact_delta, largest_ratio, law_of, ran_law

from reticent.errors import ArgumentError
from reticent.randomness import seeded_source
from reticent.switching import Costs, RanSwitch, _kernels, ideal_allocation, switch_batch
from shared_data import shared_vectors


def test_right_values():
    for case in shared_vectors("ran_switch_exact"):
        switch = RanSwitch(case["window"], case["epsilon"])
        assert switch.p == pytest.approx(case["p"], abs=1e-12)
        assert switch.q == pytest.approx(case["q"], abs=1e-12)
        assert switch.guarantee.delta == pytest.approx(case["delta"], abs=1e-12)
        assert case["epsilon"] - 1e-12 < switch.guarantee.epsilon <= case["epsilon"]


@pytest.mark.parametrize(("window", "epsilon"), [(1, 1.0), (2, 0.0), (2, 1.0), (3, 2.0), (4, 0.5), (8, 1.0)])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_law_is_the_one_defined(window, epsilon, n):
    expected = ran_law(n, window, epsilon)
    for order, probability in law_of(RanSwitch(window, epsilon), n).items():
        assert probability == pytest.approx(expected[order], rel=1e-11)


@pytest.mark.parametrize(("window", "epsilon"), [(2, 1.0), (3, 0.5), (3, 2.0), (4, 1.0)])
@pytest.mark.parametrize("length", [3, 5, 6])
def test_whole_curve_is_exact(window, epsilon, length):
    """δ(ε') of every ε' and window, for series of every length (the stated δ is attained from 2k-1 records on)."""
    switch = RanSwitch(window, epsilon)
    law = ran_law(length, window, epsilon)
    assert largest_ratio(law, length, length) == pytest.approx(epsilon, rel=1e-9)
    for other in (window - 1, window, window + 1, window + 3):
        for at in (0.0, epsilon / 2, epsilon, 2 * epsilon):
            stated = switch.guarantee_at(at, other, length).delta
            enumerated = exact_delta(law, length, other, at)
            assert enumerated <= stated + 1e-12
            if length >= other and length > 1:
                assert enumerated == pytest.approx(stated, abs=1e-11)
            assert stated <= switch.delta(at, other) + 1e-15
    if length >= 2 * window - 1:
        assert switch.guarantee_at(length=length) == switch.guarantee


def test_erratum_7_the_published_delta_is_too_small():
    """Theorem III.3 claims (ε, q); sets of outputs are told apart with 1-(1-q)^{k-1}, and ε is ln(p/q)."""
    window, n = 3, 6
    switch = RanSwitch.published(window, 1.0)
    law = ran_law(n, window, switch.epsilon)
    enumerated = exact_delta(law, n, window, 1.0)
    assert enumerated > 1.5 * switch.q  # what the paper's δ = q would allow
    assert enumerated <= switch.delta(1.0)
    assert delta_of_pair(law, 2, 4, 50.0) == pytest.approx(1 - (1 - switch.q) ** 2, rel=1e-9)
    ten = RanSwitch.published(10, 2.0)
    assert ten.q == pytest.approx(0.0601433, abs=5e-8)
    assert ten.guarantee.delta == pytest.approx(1 - (1 - ten.q) ** 9, rel=1e-9) == pytest.approx(0.4278, abs=1e-4)
    assert RanSwitch(10, 2.0).guarantee.delta == pytest.approx(0.43, abs=0.005)


def test_erratum_8_the_geometric_tail_sums_to_more_than_one():
    switch = RanSwitch.published(10, 2.0)
    k, p, q = 10, switch.p, switch.q
    geometric = q * (1 - q) ** (k - 1 + np.arange(1, 100_000))
    early = q * (1 - q) ** np.arange(k - 1)
    assert early.sum() + p * (1 - q) ** (k - 1) + geometric.sum() > 1.2
    law = switch.displacement()
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)
    for j in range(1 - k, k):
        expected = p * (1 - q) ** (k - 1) if j == 0 else q * (1 - q) ** (k - 1 + j)
        assert law.probability(j) == pytest.approx(expected, rel=1e-12)
    assert abs(law.probability(k) - q * (1 - q) ** (2 * k - 1)) > 1e-3


def test_figure_2_of_the_paper():
    law = RanSwitch.published(10, 2.0).displacement()
    lumped = np.minimum(np.abs(law.offsets), 20) @ law.probabilities
    assert lumped == pytest.approx(4.541, abs=5e-4)
    assert law.mean == pytest.approx(4.630, abs=5e-4)
    assert ideal_allocation(10, 2.0).mean == pytest.approx(3.819, abs=6e-4)
    assert ideal_allocation(10, 2.0).probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_figure_1b_of_the_paper():
    """k=3: the value S_3 goes to t_1 … t_5 with q, q(1-q), p(1-q)², q(1-q)³, q(1-q)⁴, whatever n is."""
    switch = RanSwitch(3, 1.3)
    p, q = switch.p, switch.q
    law = ran_law(7, 3, 1.3)
    expected = [q, q * (1 - q), p * (1 - q) ** 2, q * (1 - q) ** 3, q * (1 - q) ** 4]
    for t, probability in enumerate(expected):
        assert sum(pr for order, pr in law.items() if order[t] == 2) == pytest.approx(probability, rel=1e-9)


def test_equation_8_is_a_lower_bound_and_its_limit():
    for k in (2, 5, 10, 100):
        for epsilon in (0.5, 2.0, 6.0):
            switch = RanSwitch(k, epsilon)
            law = switch.displacement()
            inside = np.abs(law.offsets) < k
            assert switch.cost_bound() == pytest.approx(
                np.abs(law.offsets[inside]) @ law.probabilities[inside], rel=1e-9, abs=1e-12
            )
            assert switch.cost_bound() <= law.mean
    # the paper says that it tends to kD; at fixed ε it tends to 2(1/e - 1/e²)·k
    assert RanSwitch(100_000, 2.0).cost_bound() / 100_000 == pytest.approx(2 / math.e - 2 / math.e**2, abs=1e-3)


@pytest.mark.parametrize("releases", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.0, 5.0])
def test_composition_is_the_product_of_the_losses(releases, epsilon):
    switch = RanSwitch(3, 0.8)
    own = switch.guarantee
    losses = [(math.inf, own.delta)] + [
        (sign * own.epsilon, (1 - own.delta) / (1 + math.exp(-sign * own.epsilon))) for sign in (1, -1)
    ]
    expected = 0.0
    for run in itertools.product(losses, repeat=releases):
        loss, p = sum(x for x, _ in run), math.prod(w for _, w in run)
        expected += p * max(0.0, 1 - math.exp(epsilon - loss))
    assert switch.composed_delta(epsilon, releases) == pytest.approx(expected, rel=1e-10)


def test_composition_of_two_releases_by_enumeration():
    """The pair (2, 4) attains δ: two independent releases of one series, all pairs of permutations."""
    law, switch, at = ran_law(5, 3, 0.8), RanSwitch(3, 0.8), 1.0
    pairs = [(p, law[tuple({2: 4, 4: 2}.get(v, v) for v in order)]) for order, p in law.items()]
    expected = sum(max(0.0, p1 * p2 - math.exp(at) * r1 * r2) for p1, r1 in pairs for p2, r2 in pairs)
    assert switch.composed_delta(at, 2) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("window", "epsilon"), [(2, 1.0), (3, 0.0), (3, 2.0), (9, 1.0)])
@pytest.mark.parametrize("n", [5, 6])
def test_draws_follow_the_law(window, epsilon, n):
    def draw(draws):
        flat = switch_batch(RanSwitch(window, epsilon), np.arange(draws + 1) * n, seeded_source(4), range(draws))
        return flat.reshape(draws, n) - np.arange(draws)[:, None] * n

    assert chi_square(draw, ran_law(n, window, epsilon), 200_000) > 1e-3
    if epsilon == 2.0:
        assert chi_square(draw, ran_law(n, window, epsilon + 0.03), 200_000) < 1e-6


def test_displacement_of_a_long_series():
    switch, n = RanSwitch(6, 1.5), 400_000
    law = switch.displacement()
    moved = (np.argsort(switch.order(n, seeded_source(5))) - np.arange(n))[1000:-1000]
    drawn = np.array([np.mean(moved == d) for d in range(-5, 15)])
    assert np.allclose(drawn, [law.probability(d) for d in range(-5, 15)], atol=0.0025)
    assert np.abs(moved).mean() == pytest.approx(law.mean, rel=0.01)
    assert switch.expected_cost(Costs(misalignment=2.0, missing=9.0)) == 2 * law.mean


@pytest.mark.parametrize("epsilon", [30.0, 50.0, 500.0])
def test_an_epsilon_beyond_what_words_can_hold(epsilon):
    switch = RanSwitch(4, epsilon)
    assert 0 < switch.guarantee.epsilon <= epsilon
    assert switch._weights[0] / switch._weights[1] <= 2.0**50
    assert np.array_equal(np.sort(switch.order(10_000, seeded_source(1))), np.arange(10_000))
    assert switch.guarantee.delta >= 3 * 2.0**-64 * (1 - 1e-9)


@pytest.mark.parametrize("arguments", [{"window": 0}, {"window": 1.5}, {"epsilon": -1}, {"epsilon": math.nan}])
def test_bad_parameters(arguments):
    with pytest.raises(ArgumentError):
        RanSwitch(**{"window": 4, "epsilon": 1.0, **arguments})
    with pytest.raises(ArgumentError):
        RanSwitch.published(**{"window": 4, "epsilon": 1.0, **arguments})


def test_division_by_multiplication():
    rng = np.random.default_rng(0)
    for divisor in [1, 2, 3, 7, 2**32 + 1, 2**44 + 12345, 2**63 - 1, 2**63 + 1]:
        whole = rng.integers(0, min(2**50, 2**64 // divisor), 2000)
        for multiple in whole.tolist():
            for u in (multiple * divisor, multiple * divisor + divisor - 1, multiple * divisor + divisor // 2):
                if u < 2**64:
                    assert _kernels.quotient(np.uint64(u), np.uint64(divisor), 2.0 / divisor) == u // divisor
