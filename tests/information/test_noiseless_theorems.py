"""The paper's theorems 1 to 7 on random finite mechanisms; theorem 8 is about quantisers, and tested there."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from itertools import pairwise, product

import information_twins as twins
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent.information as ri

Mechanism = Callable[[tuple[int, ...]], Hashable]


@st.composite
def mechanisms(draw: st.DrawFn, count: int = 1) -> tuple[list[int], list[Mechanism]]:
    """Up to three individuals with up to four values each, and tables that give each data set an output."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    outputs = draw(st.integers(1, 6))
    data = list(product(*map(range, sizes)))
    tables = [
        dict(
            zip(data, draw(st.lists(st.integers(0, outputs - 1), min_size=len(data), max_size=len(data))), strict=True)
        )
        for _ in range(count)
    ]
    return sizes, [table.__getitem__ for table in tables]


def views(sizes: list[int], mechanism: Mechanism) -> Iterator[tuple[int, Callable[[int], Hashable]]]:
    """M ∘ f ∘ ψ for each individual i and each choice of all the others' data: a function of x_i alone."""
    for i, size in enumerate(sizes):
        for others in product(*(range(s) for j, s in enumerate(sizes) if j != i)):
            yield size, lambda x, i=i, others=others: mechanism((*others[:i], x, *others[i:]))


def seen(sizes: list[int], mechanism: Mechanism) -> Iterator[ri.Relation]:
    """The relation between X_i and Y in each of these views."""
    for size, view in views(sizes, mechanism):
        yield ri.Relation.from_function(view, range(size))


def budget(sizes: list[int], mechanism: Mechanism) -> int:
    """Definition 1: the most outputs that one individual can reach, by counting."""
    return max(len({view(x) for x in range(size)}) for size, view in views(sizes, mechanism))


@given(mechanisms())
def test_theorem_1_information(drawn):
    sizes, (mechanism,) = drawn
    epsilon = math.log2(budget(sizes, mechanism))
    for relation in seen(sizes, mechanism):
        values = (
            ri.maximin_information(relation),
            ri.symmetrized_leakage(relation),
            ri.leakage(relation.T),
            epsilon,
        )
        assert values[0] >= 0
        assert all(a <= b + 1e-12 for a, b in pairwise(values))
        assert ri.leakage(relation.T) == math.log2(len(relation.outputs))
        assert ri.information(relation) <= ri.leakage(relation) + 1e-12


def test_theorem_1_says_nothing_of_the_other_leakage():
    """L(X;Y) is not bounded by ε: one bit of budget, and an output that singles out one value in a hundred."""
    relation = ri.Relation.from_function(lambda x: x == 0, range(100))
    assert ri.leakage(relation.T) == 1.0
    assert ri.leakage(relation) == math.log2(100)


@given(mechanisms())
def test_theorem_2_zero_error_capacity(drawn):
    sizes, (mechanism,) = drawn
    epsilon = math.log2(budget(sizes, mechanism))
    for relation in seen(sizes, mechanism):
        capacity = ri.zero_error_capacity(relation)
        assert capacity.lower <= capacity.upper <= ri.leakage(relation.T) + 1e-12 <= epsilon + 2e-12


@given(mechanisms(), st.data())
def test_theorem_2_with_others_that_change_from_letter_to_letter(drawn, data):
    """The adversary may set the others' data anew for each letter: two letters are one channel of 2ε."""
    sizes, (mechanism,) = drawn
    epsilon = math.log2(budget(sizes, mechanism))
    i = data.draw(st.integers(0, len(sizes) - 1))
    others = [data.draw(st.tuples(*(st.integers(0, s - 1) for j, s in enumerate(sizes) if j != i))) for _ in range(2)]
    two_letters = ri.Relation.from_function(
        lambda word: tuple(mechanism((*v[:i], x, *v[i:])) for x, v in zip(word, others, strict=True)),
        product(range(sizes[i]), repeat=2),
    )
    assert ri.zero_error_capacity(two_letters).upper / 2 <= epsilon + 1e-12


@given(mechanisms(), st.data())
def test_theorem_3_hypothesis_testing(drawn, data):
    """The adversary names two values, or splits all of them into two hypotheses, and tests as it likes."""
    sizes, (mechanism,) = drawn
    epsilon = math.log2(budget(sizes, mechanism))
    for relation in seen(sizes, mechanism):
        if len(relation.inputs) < 2:
            continue
        pair = data.draw(st.lists(st.sampled_from(relation.inputs), min_size=2, max_size=2, unique=True))
        split = dict.fromkeys(relation.inputs, "p") | {data.draw(st.sampled_from(relation.inputs)): "q"}
        for hypotheses in (relation.restrict(pair), relation.image(inputs=split.__getitem__)):
            answers = {y: data.draw(st.sampled_from(hypotheses.inputs)) for y in hypotheses.outputs}
            performance = ri.test_performance(hypotheses, answers.__getitem__)
            assert performance <= ri.test_performance_bound(hypotheses) <= epsilon + 1e-12


@given(mechanisms(), st.sampled_from([1, 2, 3, 5]))
def test_theorem_4_estimation(drawn, power):
    """Corrected: X_i uniform on unit cells, one for each of its values, that share outputs as they may."""
    sizes, (mechanism,) = drawn
    outputs = budget(sizes, mechanism)
    for size, view in views(sizes, mechanism):
        cells = np.arange(size)
        guesses = np.linspace(0, size, 8 * size + 1)[:, None]
        ends = np.stack((cells - guesses, cells + 1 - guesses))
        primitive = np.sign(ends) * np.abs(ends) ** (power + 1) / (power + 1)
        error = primitive[1] - primitive[0]  # ∫ |x − guess|^p over each cell, for each guess
        releases = np.array([view(x) for x in range(size)])
        least = sum(error[:, releases == y].sum(axis=1).min() for y in set(releases.tolist())) / size
        bound = ri.estimation_error_bound(1 / size, size, outputs=outputs, power=power)
        assert bound <= least * (1 + 1e-12)


@given(mechanisms())
def test_theorem_5_maximal_leakage(drawn):
    sizes, (mechanism,) = drawn
    epsilon = math.log2(budget(sizes, mechanism))
    for relation in seen(sizes, mechanism):
        leaked = ri.maximal_leakage(relation.incidence().toarray())
        assert leaked == pytest.approx(math.log2(len(relation.outputs)), rel=0, abs=1e-12)
        assert leaked <= epsilon + 1e-12


@given(mechanisms(count=2))
def test_theorem_6_composition(drawn):
    sizes, (first, second) = drawn

    def both(x: tuple[int, ...]) -> tuple[int, int]:
        return first(x), second(x)

    assert budget(sizes, both) <= budget(sizes, first) * budget(sizes, second)
    for one, two, joint in zip(seen(sizes, first), seen(sizes, second), seen(sizes, both), strict=True):
        assert ri.leakage(joint.T) <= ri.leakage(one.T) + ri.leakage(two.T) + 1e-12
    assert budget(sizes, lambda x: (first(x), first(x))) == budget(sizes, first)  # a repetition is free


@given(mechanisms(), st.data())
def test_theorem_7_post_processing(drawn, data):
    sizes, (mechanism,) = drawn
    table = data.draw(st.lists(st.integers(0, 5), min_size=6, max_size=6))
    assert budget(sizes, lambda x: table[mechanism(x)]) <= budget(sizes, mechanism)
    for relation in seen(sizes, mechanism):
        processed = relation.image(outputs=table.__getitem__)
        for measure in (ri.maximin_information, ri.leakage, ri.symmetrized_leakage, ri.information):
            assert measure(processed) <= measure(relation) + 1e-12
        assert ri.leakage(processed.T) <= ri.leakage(relation.T) + 1e-12


@given(twins.relations(), st.data())
def test_post_processing_of_any_relation(table, data):
    """Also where an input has several outputs, no processing of these tells more about the input."""
    relation = ri.Relation.from_array(table)
    merged = data.draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))
    processed = relation.image(outputs=merged.__getitem__)
    for measure in (ri.information, ri.leakage, ri.maximin_information):
        assert measure(processed) <= measure(relation) + 1e-12
    assert ri.zero_error_code(processed).rate <= ri.zero_error_code(relation).rate
