"""Building relations: every way in gives the same pairs, and what is no relation is refused."""

from __future__ import annotations

import information_twins as twins
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import ArgumentError
from reticent.information import Relation, information, leakage
from reticent.information.relation import as_relation


def labelled(relation: Relation) -> set:
    return {(relation.inputs[i], relation.outputs[j]) for i, j in relation.pairs.tolist()}


@given(twins.relations())
def test_array_and_pairs_agree(table):
    pairs = twins.pairs_of(table)
    for relation in (
        Relation.from_array(table),
        Relation.from_array(np.array(table, dtype=bool)),
        Relation.from_pairs(pairs),
        Relation.from_pairs(np.array(sorted(pairs))),
        Relation.from_pairs(np.array(sorted(pairs) * 2, dtype=float)),
    ):
        assert labelled(relation) == pairs
        assert len(relation.pairs) == len(pairs)
        assert labelled(relation.T) == twins.turned(pairs)
        np.testing.assert_array_equal(
            relation.conditional_sizes(), [len(twins.given(pairs, y)) for y in relation.outputs]
        )


@given(
    st.sampled_from([np.int8, np.int16, np.uint8, np.int64, np.uint64, np.float32]),
    st.lists(st.tuples(st.integers(0, 127), st.integers(0, 127)), min_size=1),
    st.booleans(),
)
def test_every_number_type_keeps_its_labels(dtype, pairs, spread):
    array = np.array(pairs, dtype=dtype)
    if dtype in (np.int8, np.int16, np.int64):
        array = np.where(array % 2, array, np.iinfo(dtype).min + array)
    elif spread and dtype == np.uint64:
        array = array + np.uint64(2**63)
    relation = Relation.from_pairs(array)
    assert labelled(relation) == set(map(tuple, array.tolist()))


def test_the_whole_range_of_a_byte():
    """The span of the labels exceeds the type that holds them."""
    values = np.arange(-128, 128).astype(np.int8)
    assert labelled(Relation.from_pairs(np.column_stack((values, values)))) == {(v, v) for v in range(-128, 128)}


def test_text_mixed_and_object_labels():
    text = Relation.from_pairs(np.array([["a", "x"], ["b", "x"], ["a", "x"]]))
    mixed = Relation.from_pairs([("a", 1), ("b", None), ("a", 1)])
    objects = Relation.from_pairs(np.array([["a", 1], ["b", None]], dtype=object))
    assert labelled(text) == {("a", "x"), ("b", "x")}
    assert labelled(mixed) == labelled(objects) == {("a", 1), ("b", None)}


def test_a_function_gives_one_output_an_input():
    relation = Relation.from_function(lambda x: x % 3, [5, 0, 1, 2, 3, 4, 5])
    assert labelled(relation) == {(x, x % 3) for x in range(6)}
    assert len(relation.inputs) == 6


def test_missing_is_a_single_value():
    """NaN differs from itself, yet a release shows just one *missing*, alone or inside a tuple."""
    relation = Relation.from_function(lambda x: (float("nan"), x % 2) if x < 4 else float("nan"), range(8))
    assert len(relation.outputs) == 3
    assert len(Relation.from_pairs(np.array([[0.0, np.nan], [1.0, np.nan]])).outputs) == 1


def test_what_cannot_occur_is_left_out():
    relation = Relation.from_array([[0, 0, 0], [1, 0, 1]])
    assert relation.inputs == (1,)
    assert relation.outputs == (0, 2)


@given(twins.relations(), st.data())
def test_restrict_and_image(table, data):
    pairs = twins.pairs_of(table)
    relation = Relation.from_array(table)
    chosen = data.draw(st.sets(st.sampled_from(sorted(twins.xs(pairs))), min_size=1))
    assert labelled(relation.restrict(chosen)) == {(x, y) for x, y in pairs if x in chosen}
    assert labelled(relation.image(outputs=lambda y: y // 2)) == {(x, y // 2) for x, y in pairs}
    assert labelled(relation.image(inputs=lambda x: x % 2)) == {(x % 2, y) for x, y in pairs}


def test_segments_of_intervals():
    relation = Relation.from_intervals({"low": (0, 2), "high": [(1, 3), (5, 6)]}, cuts=[0.5, 99])
    assert labelled(relation) == {
        ((0.0, 0.5), "low"),
        ((0.5, 1.0), "low"),
        ((1.0, 2.0), "low"),
        ((1.0, 2.0), "high"),
        ((2.0, 3.0), "high"),
        ((5.0, 6.0), "high"),
    }
    assert relation.size == 4.0
    assert dict(zip(relation.outputs, relation.conditional_sizes(), strict=True)) == {"low": 2.0, "high": 3.0}


def test_arrays_are_taken_as_they_are():
    relation = Relation.from_array([[1, 0], [1, 1]])
    assert as_relation(relation) is relation
    assert leakage([[1, 0], [1, 1]]) == leakage(relation)
    assert information(np.array([[True, False], [True, True]]).T) == information(relation.T)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Relation.from_array([1, 0]), "two dimensions"),
        (lambda: Relation.from_array([[1, 2]]), "from_pairs"),
        (lambda: Relation.from_array([[0.5, 1.0]]), "from_pairs"),
        (lambda: Relation.from_array([[0, 0]]), "at least one pair"),
        (lambda: Relation.from_pairs([]), "at least one pair"),
        (lambda: Relation.from_pairs(np.empty((0, 2))), "at least one pair"),
        (lambda: Relation.from_pairs(np.empty((0, 2), dtype=int)), "at least one pair"),
        (lambda: Relation.from_pairs([(1, 2, 3)]), "must be a pair"),
        (lambda: Relation.from_pairs(np.zeros((2, 3))), "shape"),
        (lambda: Relation.from_function(abs, []), "at least one pair"),
        (lambda: Relation.from_intervals({}), "interval"),
        (lambda: Relation.from_intervals({"a": [(0, 1, 2)]}), "interval"),
        (lambda: Relation.from_intervals({"a": []}), "interval"),
        (lambda: Relation.from_intervals({"a": (1, 1)}), "low < high"),
        (lambda: Relation.from_intervals({"a": (2, 1)}), "low < high"),
        (lambda: Relation.from_intervals({"a": (0, np.inf)}), "finite"),
        (lambda: Relation.from_intervals({"a": (0, np.nan)}), "finite"),
        (lambda: Relation.from_array([[1]]).restrict([7]), "not inputs"),
        (lambda: Relation.from_array([[1]]).restrict([]), "at least one pair"),
    ],
)
def test_what_is_no_relation_is_refused(build, said):
    with pytest.raises(ArgumentError, match=said):
        build()


def test_unhashable_outputs_are_refused():
    with pytest.raises(TypeError, match="tuples in place of arrays"):
        Relation.from_function(lambda x: [x], range(3))
