"""FootruleSwitch against enumeration, the right values, and the words that it really compares."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from switching_oracles import chi_square, exact_delta, exchanged, footrule_law, largest_ratio, law_of

from reticent.errors import ArgumentError
from reticent.randomness import seeded_source
from reticent.switching import FootruleSwitch, MallowsSwitch, auto_switch, switch_batch
from reticent.switching.footrule import _FootruleSampler, _kernels, best_alpha
from reticent.switching.footrule.tables import log_weight, stationary, tables
from shared_data import shared_vectors


def many(switch, n, seed=20):
    def draw(draws):
        flat = switch_batch(switch, np.arange(draws + 1) * n, seeded_source(seed), range(draws))
        return flat.reshape(draws, n) - np.arange(draws)[:, None] * n

    return draw


def test_right_values_of_short_series():
    for case in shared_vectors("footrule_switch_exact"):
        switch, n = FootruleSwitch(case["window"], case["epsilon"], case["alpha"]), case["length"]
        assert switch.phi == pytest.approx(case["phi"], rel=1e-9)
        law = law_of(switch, n)
        assert law[tuple(range(n))] == pytest.approx(case["identity_probability"], rel=1e-9)
        moved = np.zeros(n)
        for order, p in law.items():
            for t, value in enumerate(order):
                moved[value] += p * abs(t - value)
        assert moved == pytest.approx(case["mean_displacement_of_value"], rel=1e-9)
        if n <= 6:
            stated = case["largest_log_ratio_between_neighbours"]
            assert largest_ratio(law, n, case["window"]) == pytest.approx(stated, rel=1e-9)


def test_right_values_of_long_series():
    for case in shared_vectors("footrule_switch_long"):
        switch = FootruleSwitch(case["window"], case["epsilon"], case["alpha"])
        stated = case["mean_displacement_long_series"]
        assert switch.mean_displacement() == pytest.approx(stated, rel=1e-9)
        assert switch.displacement().mean == pytest.approx(stated, rel=1e-9)
        assert switch.displacement().probabilities.sum() == pytest.approx(1, abs=1e-12)
        assert case["epsilon"] * (1 - 1e-11) < switch.guarantee.epsilon <= case["epsilon"]


@pytest.mark.parametrize(("window", "epsilon", "alpha"), [(2, 1.0, 0.4), (3, 4.0, 1.9), (4, 0.3, 0.0), (6, 2.0, 1.0)])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_law_is_the_one_defined_and_pure(window, epsilon, alpha, n):
    switch = FootruleSwitch(window, epsilon, alpha)
    expected = footrule_law(n, alpha, math.exp(-(epsilon - alpha) / (2 * window - 2)))
    law = law_of(switch, n)
    for order, p in law.items():
        assert p == pytest.approx(expected[order], rel=1e-9)
    for other in (2, window, window + 1):
        assert largest_ratio(law, n, other) <= switch.epsilon_at(other) + 1e-12
        for at in (0.0, epsilon / 2, epsilon):
            assert exact_delta(law, n, other, at) <= switch.delta(at, other) + 1e-12


@pytest.mark.parametrize(
    ("window", "epsilon", "alpha"),
    [(3, 2.0, 0.0), (3, 4.0, 1.9), (2, 9.0, 2.0), (9, 1.0, 0.0), (2, 20.0, 0.0), (4, 6.0, None)],
)
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_draws_follow_the_law(window, epsilon, alpha, n):
    switch = FootruleSwitch(window, epsilon, alpha)
    law = law_of(switch, n)
    if n == 1:
        assert np.array_equal(many(switch, 1)(100), np.zeros((100, 1)))
    else:
        assert chi_square(many(switch, n), law, 200_000) > 1e-3


def test_a_sampler_off_by_one_percent_is_caught():
    wrong = FootruleSwitch(3, 2.03, 0.0)
    assert chi_square(many(wrong, 5), law_of(FootruleSwitch(3, 2.0, 0.0), 5), 400_000) < 1e-6


def machine_law(switch, n):
    """The law of the compiled sampler in exact fractions: the same floats, truncated to words as it truncates them."""
    table = tables(switch._theta, switch._phi2)
    law = dict.fromkeys(itertools.permutations(range(n)), Fraction(0))

    def branch(t, values, slots, order, p):
        if t == n:
            law[tuple(order[s] for s in range(n))] += p
            return
        c, row = len(values), table.ratios[min(n - t - 1, table.ratios.shape[0] - 1)]
        up, stay, fixed, join, close = float(table.phi2 * row[c + 1]), 2.0 * c, table.theta, 0.0, 0.0
        if c and row[c] > 0:
            down = c / (table.phi2 * row[c])
            join, close = float(down * (c - 1)), float(down * table.theta)
        elif c:
            up, fixed, stay, join, close = 0.0, 0.0, 0.0, float(c - 1), table.theta
        total = up + fixed + stay + join + close
        scale = 2.0**64 * (1 - 2.0**-50) / total
        assert all(w == 0 or w * scale >= 2.0**48 for w in (up, stay, fixed, join, close))
        whole = [int(w * scale) for w in (up, stay, fixed, join, close)]
        up, stay, fixed, join, close = (p * Fraction(w, sum(whole)) for w in whole)
        if fixed:
            branch(t + 1, values, slots, {**order, t: t}, fixed)
        if up:
            branch(t + 1, (*values, t), (*slots, t), order, up)
        for a in range(c):
            rest_v, rest_s = values[:a] + values[a + 1 :], slots[:a] + slots[a + 1 :]
            if stay:
                branch(t + 1, (*rest_v, t), (*rest_s, slots[a]), {**order, t: values[a]}, stay / (2 * c))
                branch(t + 1, (*rest_v, values[a]), (*rest_s, t), {**order, slots[a]: t}, stay / (2 * c))
            branch(t + 1, rest_v, rest_s, {**order, t: values[a], slots[a]: t}, close / c)
            for b in range(c):
                if b != a:
                    vs = (*(v for i, v in enumerate(values) if i not in (a, b)), values[b])
                    ss = (*(s for i, s in enumerate(slots) if i not in (a, b)), slots[a])
                    branch(t + 1, vs, ss, {**order, t: values[a], slots[b]: t}, join / (c * (c - 1)))

    branch(0, (), (), {}, Fraction(1))
    return law


@pytest.mark.parametrize(("window", "epsilon", "alpha"), [(3, 1.0, 0.0), (4, 3.0, 1.0), (2, 0.5, 0.2)])
def test_the_machines_own_probabilities_keep_the_guarantee(window, epsilon, alpha):
    switch, n = FootruleSwitch(window, epsilon, alpha), 5
    law = machine_law(switch, n)
    assert sum(law.values()) == 1
    assert all(p > 0 for p in law.values())
    worst = max(
        p / law[exchanged(order, i, j)]
        for order, p in law.items()
        for i in range(n)
        for j in range(i + 1, min(n, i + window))
    )
    stated = switch.guarantee.epsilon
    assert math.log(worst) <= stated <= epsilon
    assert math.log(worst) == pytest.approx(epsilon, rel=1e-11)
    for order, p in law_of(switch, n).items():
        assert float(law[order]) == pytest.approx(p, rel=1e-11)


@pytest.mark.parametrize("switch", [FootruleSwitch(3, 1.0, 0.0), FootruleSwitch(5, 6.0, 3.0)])
def test_tables_agree_with_plain_recursion(switch):
    """h_R(c) in fractions, from its definition, for R to 30."""
    table = tables(switch._theta, switch._phi2)
    theta, phi2 = Fraction(switch._theta), Fraction(switch._phi2)
    h = {0: Fraction(1)}
    for remaining in range(1, 31):
        h = {
            c: (theta + 2 * c) * phi2**c * h.get(c, 0)
            + phi2 ** (c + 1) * h.get(c + 1, 0)
            + (c * (c - 1 + theta) * phi2 ** (c - 1) * h.get(c - 1, 0) if c else 0)
            for c in range(remaining + 1)
        }
        for c in range(1, min(remaining, table.inside + 1) + 1):
            ratio = table.ratios[min(remaining, table.ratios.shape[0] - 1), c]
            if remaining < table.ratios.shape[0] - 1:
                assert ratio == pytest.approx(float(h[c] / h[c - 1]), rel=1e-12)
        assert log_weight(table, remaining) == pytest.approx(
            math.log(h[0].numerator) - math.log(h[0].denominator), rel=1e-12, abs=1e-13
        )


def test_rows_repeat_themselves_at_the_end():
    for k, epsilon in [(10, 1.0), (24, 2.0), (2, 20.0), (100, 0.2)]:
        switch = FootruleSwitch(k, epsilon)
        table = switch._tables
        inside = slice(1, table.inside + 2)
        assert np.max(np.abs(np.log(table.ratios[-1, inside] / table.ratios[-2, inside]))) < 2.0**-48
        tail = stationary(switch._theta, switch._phi2).log_law[table.inside]
        assert tail < -100 * math.log(2)


def test_more_chains_than_the_table_holds():
    """A table for 2^-2 instead of 2^-100 is left often, and larger ones are built: the law stays the same."""
    switch = FootruleSwitch(4, 1.0, 0.0)
    small, large = tables(switch._theta, switch._phi2, 2), switch._tables
    assert small.inside < large.inside
    order = np.arange(3000)
    sampler = _FootruleSampler(switch._theta, switch._phi2, bits=2)
    sampler.advance(order, 0, 3000, seeded_source(1))
    assert sampler._table.inside > small.inside
    assert np.array_equal(np.sort(order), np.arange(3000))


@pytest.mark.parametrize(
    ("window", "epsilon", "alpha"),
    [(2, 20.0, None), (4, 1.0, None), (10, 6.0, None), (100, 0.4, None), (2, 22.9, 22.5), (10, 22.36, 18.78)],
)
def test_larger_tables_are_joined_to_smaller_ones(window, epsilon, alpha):
    """The same probabilities with as many chains as both serve, and no seam that the guarantee does not cover, neither
    far from the end nor (where few chains are enough, and so few columns) near it.
    """
    switch = FootruleSwitch(window, epsilon, alpha)
    small, large = switch._tables, tables(switch._theta, switch._phi2, 200)
    last = small.ratios.shape[0] - 1
    served = slice(0, small.inside + 2)
    assert np.array_equal(large.ratios[:last, served], small.ratios[:last, served])
    assert np.array_equal(
        large.ratios[last:, served], np.repeat(small.ratios[[last], served], large.ratios.shape[0] - last, 0)
    )
    near, fewer = small.marks.shape[0] - 1, slice(0, small.inside + 1)
    assert np.array_equal(large.marks[:near, fewer], small.marks[:near])
    assert (large.marks[near:, fewer] == small.marks[near]).all()
    theta, phi2 = switch._theta, switch._phi2
    for row in [*range(1, min(last, 200)), *range(last, large.ratios.shape[0] - 1)]:
        c = np.arange(min(large.inside, row) + 1)
        before, after = large.ratios[row, : c.size + 1], large.ratios[row + 1, : c.size + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            down = np.where(c > 0, c * (c - 1 + theta) / (phi2 * before[:-1]), 0.0)
        ways = theta + 2 * c + phi2 * before[1:] + down
        seam = np.log(phi2 * ways[1:] / ways[:-1] * before[1:-1] / after[1:-1])
        assert np.abs(seam).max() < 2.0**-43


def test_rare_cases_are_drawn_not_lost():
    """k=2, ε=20: a third open chain is far rarer than a word can say, and yet it is in the law."""
    switch = FootruleSwitch(2, 20.0, 0.0)
    assert math.isfinite(switch.log_probability([5, 4, 3, 2, 1, 0]))
    row = switch._tables.ratios[-1]
    assert 0 < switch._phi2 * row[3] < 2.0**-64
    source = seeded_source(7)
    order = switch.order(100_000, source)
    assert np.array_equal(np.sort(order), np.arange(100_000))
    # φ = e^-5: one chain is open for e^-10·h of the time
    mild = FootruleSwitch(2, 10.0, 0.0)
    n = 4_000_000
    moved = int(np.sum(mild.order(n, seeded_source(8)) != np.arange(n)))
    assert moved == pytest.approx(n * mild.mean_displacement(), abs=5 * math.sqrt(2 * n * mild.mean_displacement()))


@pytest.mark.parametrize(
    ("window", "epsilon"), [(2, 0.2), (2, 20.0), (2, 64.0), (10, 1.0), (24, 2.0), (100, 0.2), (100, 20.0)]
)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 1000, 60_000])
def test_every_length(window, epsilon, n):
    switch = FootruleSwitch(window, epsilon)
    order = switch.order(n, seeded_source(n))
    assert np.array_equal(np.sort(order), np.arange(n))
    assert switch.guarantee.epsilon <= epsilon
    assert switch.guarantee.delta == 0


@pytest.mark.parametrize(("window", "epsilon"), [(10, 2.0), (10, 6.0), (24, 4.0)])
def test_displacement_of_a_long_series(window, epsilon):
    switch, n = FootruleSwitch(window, epsilon), 400_000
    law = switch.displacement()
    moved = (np.argsort(switch.order(n, seeded_source(3))) - np.arange(n))[2000:-2000]
    offsets = range(-20, 21)
    drawn = np.array([np.mean(moved == d) for d in offsets])
    assert np.allclose(drawn, [law.probability(d) for d in offsets], atol=0.003)
    assert np.abs(moved).mean() == pytest.approx(law.mean, rel=0.015)


def test_both_ends_look_alike():
    """The law is the same backwards in time: the mean displacement of the first values is that of the last."""
    switch, n, draws = FootruleSwitch(4, 1.0), 60, 40_000
    orders = many(switch, n)(draws)
    moved = np.abs(orders - np.arange(n)).mean(axis=0)
    assert np.allclose(moved, moved[::-1], atol=0.15)
    assert moved[30] == pytest.approx(switch.mean_displacement(), rel=0.03)
    assert moved[0] < 0.9 * moved[30]


def test_the_best_alpha():
    assert best_alpha(10, 2.0) == 0.0
    assert best_alpha(10, 6.0) / 6 == pytest.approx(0.66, abs=0.01)
    assert FootruleSwitch(10, 6.0).mean_displacement() == pytest.approx(0.738, abs=5e-4)
    assert FootruleSwitch(10, 6.0, 0.0).mean_displacement() == pytest.approx(2.606, abs=5e-4)
    assert FootruleSwitch(4, 4.0).mean_displacement() == pytest.approx(0.588, abs=5e-4)
    for k, epsilon in [(4, 3.0), (10, 6.0), (24, 8.0)]:
        least = min(FootruleSwitch(k, epsilon, a).mean_displacement() for a in np.linspace(0, 0.97 * epsilon, 60))
        assert FootruleSwitch(k, epsilon).mean_displacement() <= least * (1 + 1e-4)


def test_auto_takes_what_moves_least():
    assert isinstance(auto_switch(2, 1.0), MallowsSwitch)
    for window in (3, 4, 10, 24):
        for epsilon in (0.5, 2.0, 6.0):
            assert isinstance(auto_switch(window, epsilon), FootruleSwitch)
    assert auto_switch(100, 0.1).guarantee.delta == 0
    assert auto_switch(100, 0.1).guarantee.epsilon <= 0.1


@pytest.mark.parametrize(
    "arguments",
    [
        {"window": 0},
        {"epsilon": math.nan},
        {"epsilon": 0.0},
        {"epsilon": 65.0},
        {"window": 1000},
        {"alpha": 1.0},
        {"alpha": -0.1},
        {"alpha": math.inf},
        {"alpha": 0.9999},
    ],
)
def test_bad_parameters(arguments):
    with pytest.raises(ArgumentError):
        FootruleSwitch(**{"window": 4, "epsilon": 1.0, **arguments})


@pytest.mark.parametrize(("window", "epsilon"), [(24, 2.0), (3, 30.0), (24, 30.0), (5, 0.02)])
def test_cases_worked_out_beforehand_are_those_of_their_row(window, epsilon):
    """Where few instants are left, a case has the marks that it would be given on the spot."""
    switch = FootruleSwitch(window, epsilon)
    known = switch._tables
    near = known.marks.shape[0] - 1
    weights, marks = np.empty(5), np.empty(5, dtype=np.uint64)
    for place in range(near + 1):
        row = known.ratios[place if place < near else -1]
        for c in range(min(place + 1, known.inside) + 1 if place < near else known.inside + 1):
            common = _kernels.weigh_cases(row[c], row[c + 1], c, known.theta, known.phi2, weights, marks)
            assert (common, marks.tolist()) == (known.common[place, c], known.marks[place, c].tolist())
