"""The measures of non-stochastic information, against the vectors, the definitions and Lebesgue measure."""

from __future__ import annotations

import math

import information_twins as twins
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent.information as ri
from reticent.errors import ArgumentError
from shared_data import shared_vectors


def test_vectors():
    for case in shared_vectors("nonstochastic_information"):
        table = np.array(case["relation"], dtype=bool)
        relation = ri.Relation.from_array(table)
        assert ri.hartley_entropy(relation) == pytest.approx(case["hartley_x"], rel=0, abs=1e-12)
        assert ri.information(relation) == pytest.approx(case["information"], rel=0, abs=1e-12)
        assert ri.leakage(relation) == pytest.approx(case["leakage_x_to_y"], rel=0, abs=1e-12)
        assert ri.leakage(relation.T) == pytest.approx(case["leakage_y_to_x"], rel=0, abs=1e-12)
        assert ri.symmetrized_leakage(relation) == pytest.approx(case["symmetrized"], rel=0, abs=1e-12)
        assert ri.maximin_information(relation) == pytest.approx(case["maximin"], rel=0, abs=1e-12)
        assert ri.zero_error_code(relation).rate == pytest.approx(case["one_shot_zero_error"], rel=0, abs=1e-12)


@given(twins.relations())
def test_measures_are_their_definitions(table):
    pairs = twins.pairs_of(table)
    relation = ri.Relation.from_array(table)
    for fast, slow in (
        (ri.hartley_entropy, twins.hartley),
        (ri.conditional_entropy, twins.conditional),
        (ri.information, twins.information),
        (ri.leakage, twins.leakage),
        (ri.symmetrized_leakage, twins.symmetrized),
        (ri.maximin_information, twins.maximin),
    ):
        assert fast(relation) == pytest.approx(slow(pairs), rel=0, abs=1e-12)
        assert fast(relation.T) == pytest.approx(slow(twins.turned(pairs)), rel=0, abs=1e-12)
        assert fast(relation, "nats") == pytest.approx(slow(pairs) * math.log(2), rel=0, abs=1e-12)
    assert {frozenset(part) for part in ri.overlap_partition(relation)} == twins.partition(pairs)


@given(twins.relations())
def test_order_of_the_measures(table):
    """Proposition 1 and the remarks before it hold for any relation, also where no mechanism made it."""
    relation = ri.Relation.from_array(table)
    assert ri.maximin_information(relation) == ri.maximin_information(relation.T)
    assert 0 <= ri.maximin_information(relation) <= ri.symmetrized_leakage(relation) + 1e-12
    for side in (relation, relation.T):
        assert 0 <= ri.information(side) <= ri.leakage(side) + 1e-12
        assert ri.information(side) == pytest.approx(
            ri.hartley_entropy(side) - ri.conditional_entropy(side), rel=0, abs=1e-12
        )


def test_a_million_pairs():
    """A thousand rings of a thousand pairs: a thousand parts, each known in advance."""
    inputs, blocks = 500, 1000
    block, x = np.divmod(np.arange(inputs * blocks), inputs)
    here, there = block * inputs + x, block * inputs + (x + 1) % inputs
    relation = ri.Relation.from_pairs(np.column_stack((np.r_[here, here], np.r_[here, there])))
    assert len(relation.pairs) == 1_000_000
    assert ri.maximin_information(relation) == math.log2(blocks)
    parts = ri.overlap_partition(relation)
    assert set(parts) == {tuple(range(b * inputs, (b + 1) * inputs)) for b in range(blocks)}
    assert ri.leakage(relation) == math.log2(inputs * blocks / 2)


cells = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8), st.integers(0, 3)), min_size=1, max_size=8).map(
    lambda drawn: [(low, low + width, output) for low, width, output in drawn]
)


@given(cells, st.integers(1, 7))
def test_lebesgue_measure_of_intervals(drawn, scale):
    """Integer ends cut into unit steps, each counted: the continuous measures by plain counting."""
    ranges: dict[int, list[tuple[float, float]]] = {}
    for low, high, output in drawn:
        ranges.setdefault(output, []).append((low * scale, high * scale))
    relation = ri.Relation.from_intervals(ranges)
    steps = {(step, y) for low, high, y in drawn for step in range(low, high)}
    shift = math.log2(scale)
    assert ri.hartley_entropy(relation) == pytest.approx(twins.hartley(steps) + shift, rel=0, abs=1e-12)
    assert ri.conditional_entropy(relation) == pytest.approx(twins.conditional(steps) + shift, rel=0, abs=1e-12)
    assert ri.information(relation) == pytest.approx(twins.information(steps), rel=0, abs=1e-12)
    assert ri.leakage(relation) == pytest.approx(twins.leakage(steps), rel=0, abs=1e-12)
    assert ri.leakage(relation.T) == pytest.approx(twins.leakage(twins.turned(steps)), rel=0, abs=1e-12)
    assert ri.maximin_information(relation) == pytest.approx(twins.maximin(steps), rel=0, abs=1e-12)
    assert ri.maximin_information(relation) <= ri.symmetrized_leakage(relation) + 1e-12


def test_differential_entropy_in_the_papers_unit():
    quantizer = ri.Relation.from_intervals({code: (code / 4, (code + 1) / 4) for code in range(8)})
    assert ri.hartley_entropy(quantizer, "nats") == pytest.approx(math.log(2))
    assert ri.conditional_entropy(quantizer, "nats") == pytest.approx(math.log(1 / 4))
    assert ri.information(quantizer, "nats") == pytest.approx(math.log(8))
    assert ri.leakage(quantizer, unit="nats") == pytest.approx(math.log(8))
    assert ri.leakage(quantizer.T) == 3.0
    assert ri.maximin_information(quantizer) == 3.0  # cells that touch do not overlap


@given(twins.relations(), st.data())
def test_performance_of_a_test_and_its_bound(table, data):
    """Proposition 3, and that it is tight."""
    pairs = {(x % 2, y) for x, y in twins.pairs_of(table)}
    relation = ri.Relation.from_array(table).image(inputs=lambda x: x % 2)
    if len(twins.xs(pairs)) < 2:
        return
    outputs = sorted(twins.xs(twins.turned(pairs)))
    test = {y: data.draw(st.integers(0, 1)) for y in outputs}
    bound = ri.test_performance_bound(relation)
    assert ri.test_performance(relation, test.__getitem__) == twins.performance(pairs, test) <= bound
    only = {y: min(twins.given(pairs, y)) for y in outputs}
    assert ri.test_performance(relation, only.__getitem__) == bound
    difference = twins.given(twins.turned(pairs), 0) ^ twins.given(twins.turned(pairs), 1)
    assert bound == (math.log2(len(difference)) if difference else -math.inf)


def test_performance_on_a_continuous_output():
    """Eq. 11: hypotheses "p" on [0, 2) and "q" on [1, 4), a threshold at 0.5 and the best threshold at 2."""
    observed = ri.Relation.from_intervals({"p": (0, 2), "q": (1, 4)}, cuts=[0.5]).T
    at = {t: ri.test_performance(observed, lambda y, t=t: "p" if y[1] <= t else "q", "nats") for t in (0.5, 2)}
    assert at[0.5] == pytest.approx(math.log(2.5))
    assert at[2] == pytest.approx(math.log(3))
    assert ri.test_performance_bound(observed, "nats") == at[2]
    assert ri.test_performance_bound(observed) == pytest.approx(math.log2(3))


def test_a_test_that_is_never_right():
    assert ri.test_performance([[1, 0], [0, 1]], lambda y: 1 - y) == -math.inf
    assert ri.test_performance_bound([[1], [1]]) == -math.inf


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ri.leakage([[1]], unit="bit"), "'bits' or 'nats'"),
        (lambda: ri.test_performance_bound([[1], [1], [1]]), "two hypotheses"),
        (lambda: ri.test_performance([[1, 1]], lambda y: 0), "two hypotheses"),
        (lambda: ri.test_performance([[1], [1]], lambda y: "yes"), "must answer one of"),
    ],
)
def test_bad_input(call, said):
    with pytest.raises(ArgumentError, match=said):
        call()
