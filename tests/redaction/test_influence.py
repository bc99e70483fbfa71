"""Influence, regions and Δ⋆, against the vectors, the closed forms and the errata."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from redaction_twin import random_chain

import reticent as rt
from reticent.redaction import (
    binary_delta_star,
    binary_influence,
    delta_star,
    max_influence,
    necessary_epsilon,
    pointwise_influence,
    quilt_influence,
    regions,
)
from shared_data import shared_vectors

rates = st.floats(0.001, 0.999)


def test_pointwise_influence_is_that_of_the_vectors():
    for vector in shared_vectors("influence"):
        alpha, beta, distance = vector["alpha"], vector["beta"], vector["distance"]
        chain = rt.MarkovChain.binary(alpha, beta)
        found = [pointwise_influence(chain, distance, v) for v in (0, 1)]
        assert found == pytest.approx(vector["pointwise"], abs=1e-12)
        assert binary_influence(alpha, beta, distance) == pytest.approx(vector["pointwise"], abs=1e-12)


@given(rates, rates, st.integers(1, 12))
def test_closed_form_equals_powers(alpha, beta, distance):
    chain = rt.MarkovChain.binary(alpha, beta)
    power = chain.power(distance)
    for v, closed in enumerate(binary_influence(alpha, beta, distance)):
        ratio = abs(math.log(power[0, v] / power[1, v]))
        assert pointwise_influence(chain, distance, v) == pytest.approx(ratio, abs=1e-9)
        assert closed == pytest.approx(ratio, abs=1e-9)
    smaller, larger = sorted(binary_influence(min(alpha, beta), max(alpha, beta), distance))
    assert (smaller, larger) == binary_influence(min(alpha, beta), max(alpha, beta), distance)


@pytest.mark.parametrize("seed", range(10))
def test_influence_never_grows_and_left_is_the_reversed_chain(seed):
    chain = random_chain(np.random.default_rng(seed), 3)
    for side in ("left", "right"):
        values = [[pointwise_influence(chain, d, v, side) for v in range(3)] for d in range(1, 12)]
        assert (np.diff(values, axis=0) <= 1e-12).all()
    for d in (1, 2, 5):
        assert max_influence(chain, d, "left") == pytest.approx(max_influence(chain.reversed(), d), abs=1e-12)


def test_distance_zero_and_bad_arguments():
    chain = rt.MarkovChain.binary(0.1, 0.2)
    assert max_influence(chain, 0) == math.inf
    for call in (
        lambda: max_influence(chain, -1),
        lambda: max_influence(chain, 1.5),  # type: ignore[arg-type]
        lambda: max_influence(chain, 1, "up"),
        lambda: pointwise_influence(chain, 1, "x"),
        lambda: quilt_influence(chain, 3, [3]),
        lambda: quilt_influence(chain, [3, 5], [1]),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=r"distance|side|state|quilt"):
            call()


@given(rates, rates, st.floats(0.01, 4))
def test_delta_star_closed_form_for_lazy_chains(alpha, beta, epsilon):
    if not 0.02 < 1 - alpha - beta < 0.98:
        return
    chain = rt.MarkovChain.binary(alpha, beta)
    found = delta_star(chain, epsilon, 5000)
    assert found == binary_delta_star(alpha, beta, epsilon)
    assert max_influence(chain, int(found)) <= epsilon + 1e-12
    if found > 1:
        assert max_influence(chain, int(found) - 1) > epsilon - 1e-9


def test_erratum_3_the_printed_delta_star_is_larger_than_needed():
    alpha, beta, epsilon = 0.01, 0.1, 1.0
    c = beta / alpha
    printed = math.ceil(math.log(math.expm1(epsilon) / (c * math.exp(epsilon) + 1)) / math.log(1 - alpha - beta))
    assert (
        delta_star(rt.MarkovChain.binary(alpha, beta), epsilon, 1000) == binary_delta_star(alpha, beta, epsilon) == 18
    )
    assert printed == 25


def test_delta_star_can_be_infinite():
    assert delta_star(rt.MarkovChain.binary(0.1, 0.2), 0.0, 10_000) == math.inf
    assert delta_star(rt.MarkovChain([[0, 1], [1, 0]]), 3.0, 1000) == math.inf
    assert delta_star(rt.MarkovChain([[0.3, 0.7], [0.3, 0.7]]), 0.0, 10) == 1


def test_erratum_4_region_s_and_the_first_bullet():
    # i(·=0) is the smaller: the first bullet of Proposition 1 is about the value 0
    zero, one = binary_influence(0.01, 0.8, 1)
    chain = rt.MarkovChain.binary(0.01, 0.8)
    assert pointwise_influence(chain, 1, 0) == pytest.approx(zero)
    assert zero < one
    # R_S asks for i(·=0) ≤ i(·=1) ≤ ε, not only for i(·=1) ≤ i(·=1)
    assert regions(chain, 5, 0, (zero + one) / 2)[1] == "M"
    assert regions(chain, 5, 0, one + 1e-9)[1] == "S"
    assert regions(chain, 5, 0, zero - 1e-9)[1] == "L"
    # Figure 4 has β/α = 10: with α/β = 10 the roles of the values change
    assert binary_influence(0.1, 0.01, 1) == binary_influence(0.01, 0.1, 1)[::-1]


def test_regions_of_the_vectors():
    for vector in shared_vectors("three_region_published"):
        chain = rt.MarkovChain.binary(vector["alpha"], vector["beta"])
        assert regions(chain, vector["n"], vector["private"], vector["epsilon"]) == "P" + vector["regions"]


def test_regions_of_several_secrets_and_of_a_rhythm():
    chain = rt.MarkovChain.binary(0.02, 0.2)
    assert regions(chain, 12, [3, (8, 9)], 1.5)[3] == "P"
    assert regions(chain, 12, [3, (8, 9)], 1.5)[8:10] == "PP"
    day = rt.MarkovChain.periodic([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    assert regions(day, 5, 2, 0.1) == "SSPLS"  # every other step forgets everything
    assert max_influence(day, 1, record=0) > max_influence(day, 1, record=1) == 0.0


def test_erratum_13_influence_is_not_convex():
    chain = rt.MarkovChain.binary(0.6612, 0.9845)
    values = [max_influence(chain, d) for d in (1, 2, 3, 4)]
    assert values == pytest.approx([3.753, 1.022, 0.7505, 0.421], abs=5e-4)
    assert values[1] - values[2] < values[2] - values[3]


def quilt_by_enumeration(chain, private, quilt):
    """Definition 4 by summing over all values of all records."""
    from redaction_twin import series_law

    n = max(private, *quilt) + 1
    weight: dict[tuple[int, int], dict[tuple[int, ...], float]] = {}
    for values, probability in series_law(chain, n):
        row = weight.setdefault(values[private], {})
        key = tuple(values[t] for t in quilt)
        row[key] = row.get(key, 0.0) + probability
    return max(
        math.log(share / sum(weight[x].values()) / (weight[y][key] / sum(weight[y].values())))
        for x in weight
        for y in weight
        if x != y
        for key, share in weight[x].items()
    )


@pytest.mark.parametrize("seed", range(12))
def test_quilt_influence_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    chain = random_chain(rng, size, period=int(rng.integers(1, 3)))
    private = int(rng.integers(6))
    quilt = [t for t in range(6) if t != private and rng.uniform() < 0.5] or [5 if private != 5 else 0]
    expected = quilt_by_enumeration(chain, private, quilt)
    assert quilt_influence(chain, private, quilt) == pytest.approx(expected, abs=1e-11)


def test_an_empty_quilt_says_nothing():
    assert quilt_influence(rt.MarkovChain.binary(0.1, 0.2), 3, []) == 0.0


@given(rates, rates, st.integers(1, 5), st.integers(1, 5))
def test_remark_1_composition_of_both_sides(alpha, beta, before, after):
    chain = rt.MarkovChain.binary(alpha, beta)
    left, right = quilt_influence(chain, 9, [9 - before]), quilt_influence(chain, 9, [9 + after])
    both = quilt_influence(chain, 9, [9 - before, 9 + after])
    assert both <= left + right + 1e-12
    if (before + after) % 2 == 0:
        assert both == pytest.approx(left + right, abs=1e-9)


@given(rates, rates, st.integers(0, 4), st.integers(0, 4))
def test_corollary_1_necessary_epsilon(alpha, beta, before, after):
    chain, n, private = rt.MarkovChain.binary(alpha, beta), 9, 4
    if (before + after) % 2 and before < private:
        return
    r = np.zeros((n, 2))
    r[private - before : private + after + 1] = 1
    leak = rt.redaction.RedactionPolicy(chain, r, private).leakage()
    assert leak == pytest.approx(necessary_epsilon(chain, private, n, before, after), abs=1e-9)
