"""A second release adds what both promise together, and no more; where nothing is promised it gives all away."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from attack_twins import gain, outputs_of, prior_of, series_law

import reticent as rt
from reticent.attacks.cells import one_cell_more
from reticent.attacks.linkage import link_quantizers, link_redactions, link_switches
from reticent.attacks.reconstruction import Adversary
from reticent.errors import ArgumentError
from reticent.randomness import seeded_source
from reticent.redaction import RedactionPolicy

CHAIN = rt.MarkovChain.binary(0.1, 0.3)


def test_two_redactions_are_read_as_the_product_policy():
    """By enumeration of all pairs of outputs: the pair says what the records that either shows say."""
    one, other = rt.optimal_policy(CHAIN, 5, 2, 0.7), rt.three_region(CHAIN, 5, 2, 1.0)
    product = one.composed(other)
    joint = joint_law_of_two(one, other)
    prior = prior_of(joint)
    adversary = Adversary.knowing(product)
    pairs = np.array(list(joint))
    merged = np.where(pairs[:, :5] >= 0, pairs[:, :5], pairs[:, 5:])
    for row, found in zip(joint.values(), adversary.log_odds_gain(merged), strict=True):
        exact = gain(row, prior)
        assert exact is not None
        assert math.exp(found) == pytest.approx(float(exact), rel=1e-9)


def joint_law_of_two(one, other):
    joint = defaultdict(lambda: defaultdict(Fraction))
    for values, probability in series_law(CHAIN, 5):
        for a, p in outputs_of(one, values).items():
            for b, q in outputs_of(other, values).items():
                joint[(*a, *b)][(values[2],)] += probability * p * q
    return joint


@pytest.mark.parametrize("design", [rt.optimal_policy, rt.three_region, rt.markov_quilt])
def test_two_local_redactions_stay_within_their_composed_bound(design):
    policy = design(CHAIN, 30, 10, 0.6)
    results = link_redactions(policy, runs=20_000, source=seeded_source(1))
    composed = policy.composed(policy).leakage()
    for result in results:
        assert result.within_bound
    assert [result.settings["releases"] for result in results] == [1, 1, 2, 2]
    assert results[1].bound == pytest.approx(policy.leakage(), abs=2e-9)
    assert results[3].bound == pytest.approx(composed, abs=2e-9)
    assert results[3].protected.value >= results[1].protected.value


def test_the_second_release_of_a_leaky_policy_exceeds_the_first_ones_bound():
    r = np.full((9, 2), 0.5)
    r[4] = 1.0
    policy = RedactionPolicy(CHAIN, r, 4)
    results = link_redactions(policy, runs=20_000, source=seeded_source(1))
    assert results[2].protected.rate > results[0].protected.rate


def test_a_sequential_redaction_that_is_drawn_twice_has_no_bound():
    mechanism = rt.sequential_redaction(CHAIN, 30, 10, 0.0)
    once, gained, twice, lost = link_redactions(mechanism, runs=20_000, source=seeded_source(1))
    assert once.within_bound
    assert gained.protected.value < 1e-9
    assert twice.bound is None
    assert lost.bound is None
    assert twice.protected.rate > 0.9
    assert lost.protected.value == math.inf


def test_two_redactions_that_do_not_compose_are_refused():
    with pytest.raises(ArgumentError, match="compose"):
        link_redactions(rt.optimal_policy(CHAIN, 9, 4, 0.5), rt.optimal_policy(CHAIN, 9, 3, 0.5), runs=10)
    with pytest.raises(ArgumentError, match="sequential"):
        link_redactions(rt.sequential_redaction(CHAIN, 9, 4, 0.5), rt.optimal_policy(CHAIN, 9, 4, 0.5), runs=10)
    with pytest.raises(ArgumentError, match="one secret"):
        link_redactions(rt.sequential_redaction(CHAIN, 19, [4, 14], 0.5), runs=10)


@pytest.mark.parametrize(
    "switch", [rt.FootruleSwitch(4, 2.0), rt.MallowsSwitch(4, 2.0, 1e-6), rt.RanSwitch(4, 2.0)], ids=lambda s: s.name
)
def test_two_switched_releases_put_more_in_place_and_stay_within_the_composed_bound(switch):
    one, several, before, after = link_switches(switch, n=120, series=20, source=seeded_source(1))
    assert one.within_bound
    assert several.within_bound
    assert several.protected.value > one.protected.value - 0.03
    assert after.protected.value > before.protected.value
    assert before.protected.value == pytest.approx(before.baseline.value, abs=0.01)
    assert (before.bound, after.bound) == (None, None)


def test_many_releases_of_one_series_give_its_order_away():
    *_, after = link_switches(rt.RanSwitch(3, 3.0), n=60, releases=12, series=10, runs=100, source=seeded_source(1))
    assert after.protected.value > 0.95


def test_one_release_is_not_linked():
    with pytest.raises(ArgumentError, match="releases"):
        link_switches(rt.RanSwitch(3, 1.0), releases=1)


def test_a_second_quantiser_refines_the_first_and_a_repetition_adds_nothing():
    quantizer = rt.LinearQuantizer(0, 10, 4)
    values = [np.random.default_rng(k).uniform(0, 10, 500) for k in range(4)]
    one, same = link_quantizers(quantizer, quantizer, values)
    assert (one.protected, one.settings["outputs"]) == (same.protected, 4)
    one, both = link_quantizers(quantizer, one_cell_more(quantizer), values)
    assert both.settings["outputs"] == 8  # edges 2.5, 5, 7.5 and 2, 4, 6, 8
    exact = [abs(x - middle(x)) for series in values for x in series]
    assert both.protected.value == pytest.approx(sum(exact) / len(exact), rel=1e-12)
    assert one.protected.value == pytest.approx(0.625, abs=0.03)
    assert both.protected.high < one.protected.low < one.baseline.low


def middle(x: float) -> float:
    edges = [0, 2, 2.5, 4, 5, 6, 7.5, 8, 10]
    k = max(i for i, edge in enumerate(edges[:-1]) if x >= edge)
    return (edges[k] + edges[k + 1]) / 2


def test_one_level_says_nothing():
    values = [np.random.default_rng(0).uniform(0, 10, 500)]
    found, _ = link_quantizers(rt.LinearQuantizer(0, 10, 1), rt.LinearQuantizer(0, 10, 1), values)
    assert found.protected == found.baseline


def test_quantisers_without_a_common_refinement_are_refused():
    with pytest.raises(ArgumentError, match="refinement"):
        link_quantizers(rt.LinearQuantizer(0, 1, 2), rt.LinearQuantizer(5, 6, 2), [[0.5]])
    with pytest.raises(ArgumentError, match="no value"):
        link_quantizers(rt.LinearQuantizer(0, 1, 2), rt.LinearQuantizer(0, 1, 3), [[np.nan]])
