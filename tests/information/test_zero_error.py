"""Zero-error capacity: exact codes, and upper bounds in their order."""

from __future__ import annotations

import math

import information_twins as twins
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent.information as ri
from reticent.errors import ArgumentError

FALSE_BOUND = [[0, 1], [1, 1], [1, 0]]


def ring(n: int, width: int = 2) -> np.ndarray:
    """The typewriter channel: x gives one of the `width` outputs from x on, round a ring of n."""
    x = np.arange(n)
    return (x[None, :] - x[:, None]) % n < width


def test_leakage_on_the_full_range_is_no_bound():
    """Proposition 2 needs its supremum: L_s0 of the full range is 0.585 bits here, and one bit gets through."""
    assert ri.symmetrized_leakage(FALSE_BOUND) == pytest.approx(math.log2(1.5), rel=0, abs=1e-12)
    capacity = ri.zero_error_capacity(FALSE_BOUND)
    assert (capacity.lower, capacity.upper) == (1.0, 1.0)
    assert set(capacity.code.words) == {(0,), (2,)}
    assert ri.subset_leakage(FALSE_BOUND) == 1.0


@given(twins.relations())
def test_bounds_in_their_order(table):
    """Code ≤ fractional packing ≤ sup of L_s0 over subsets ≤ L(Y;X)."""
    pairs = twins.pairs_of(table)
    capacity = ri.zero_error_capacity(table)
    assert capacity.lower == capacity.code.rate == math.log2(twins.largest_code(pairs))
    assert capacity.code.optimal
    assert twins.is_code(pairs, capacity.code.words)
    assert capacity.lower <= capacity.upper
    subsets = ri.subset_leakage(table)
    assert subsets == pytest.approx(twins.subset_bound(pairs), rel=0, abs=1e-12)
    assert capacity.upper <= subsets + 1e-11
    assert subsets <= ri.leakage(ri.Relation.from_array(table).T) + 1e-12


@given(twins.relations(3), st.integers(2, 3))
@settings(max_examples=40)
def test_longer_codes(table, letters):
    pairs = twins.pairs_of(table)
    if len(twins.xs(pairs)) ** letters > 16:
        return
    code = ri.zero_error_code(table, letters)
    assert len(code.words) == twins.largest_code(pairs, letters)
    assert twins.is_code(pairs, code.words)
    capacity = ri.zero_error_capacity(table, letters)
    assert code.rate <= capacity.lower <= capacity.upper


def test_shannons_pentagon():
    """Two letters carry five words, one letter carries two: log2(5)/2, where the packing allows log2(5/2)."""
    pairs = twins.pairs_of(ring(5).astype(int).tolist())
    code = ri.zero_error_code(ring(5), letters=2)
    assert len(code.words) == 5
    assert twins.is_code(pairs, code.words)
    assert len(ri.zero_error_code(ring(5), letters=3).words) == 10
    capacity = ri.zero_error_capacity(ring(5), letters=3)
    assert capacity.lower == pytest.approx(math.log2(5) / 2, rel=0, abs=1e-15)
    assert capacity.code.letters == 2
    assert capacity.upper == math.log2(5 / 2)
    assert capacity.bound == "leakage"


@pytest.mark.parametrize("n", [4, 6, 7, 9, 30])
def test_rings(n):
    capacity = ri.zero_error_capacity(ring(n))
    assert capacity.lower == math.log2(n // 2)
    assert capacity.upper == math.log2(n / 2)


def test_packing_below_both_leakages():
    """Two pentagons side by side, one with every output doubled, the other with every input doubled.

    The packing is 5/2 + 5/2; min |Y|x| = min |X|y| = 2 among 15 inputs and 15 outputs, so L_s0 is log2 7.5.
    """
    wide, tall = np.repeat(ring(5), 2, axis=1), np.repeat(ring(5), 2, axis=0)
    table = np.block([[wide, np.zeros((5, 5), bool)], [np.zeros((10, 10), bool), tall]])
    capacity = ri.zero_error_capacity(table)
    assert capacity.bound == "fractional packing"
    assert capacity.upper == math.log2(5)
    assert capacity.lower == 2.0
    assert ri.subset_leakage(table) == pytest.approx(math.log2(7.5), rel=0, abs=1e-12)
    assert ri.leakage(table.T) == pytest.approx(math.log2(7.5), rel=0, abs=1e-12)


def test_a_code_over_labels_and_segments():
    quantizer = ri.Relation.from_intervals({"low": (0, 2), "middle": (1, 4), "high": (3, 9)})
    capacity = ri.zero_error_capacity(quantizer)
    assert capacity.upper == capacity.lower == math.log2(3)
    assert set(capacity.code.words) == {((0.0, 1.0),), ((2.0, 3.0),), ((4.0, 9.0),)}


def test_a_large_mechanism():
    """A deterministic mechanism with 8 outputs over a hundred thousand values has exactly 3 bits."""
    capacity = ri.zero_error_capacity(ri.Relation.from_function(lambda x: x * x % 15 % 8, range(100_000)))
    reached = len({x * x % 15 % 8 for x in range(15)})
    assert capacity.lower == capacity.upper == math.log2(reached)


def test_redundant_inputs_may_stay(monkeypatch):
    """Leaving out redundant inputs saves time and changes no bound."""
    table = [[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 0]]
    reduced = ri.zero_error_capacity(table)
    monkeypatch.setattr("reticent.information.zero_error.MAX_OVERLAPS", 0)
    whole = ri.zero_error_capacity(table)
    assert (reduced.lower, reduced.upper) == (whole.lower, whole.upper) == (1.0, 1.0)
    one_symbol_for_all = ri.Relation.from_pairs([(x, y) for x in range(3000) for y in (x, "missing")])
    assert ri.zero_error_capacity(one_symbol_for_all).lower == 0.0


def test_a_search_cut_short_still_gives_a_code():
    rng = np.random.default_rng(5)
    table = np.eye(60, dtype=bool) | (rng.random((60, 60)) < 0.06)
    pairs = twins.pairs_of(table.astype(int).tolist())
    for seconds in (1e-6, 0.01):
        code = ri.zero_error_code(table, letters=2, seconds=seconds)
        assert twins.is_code(pairs, code.words)
        assert code.optimal is False or seconds > 1e-6
    assert code.rate <= ri.zero_error_capacity(table).upper


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ri.zero_error_capacity(FALSE_BOUND, letters=0), "letters"),
        (lambda: ri.zero_error_capacity(FALSE_BOUND, letters=1.5), "letters"),
        (lambda: ri.zero_error_code(FALSE_BOUND, letters=True), "letters"),
        (lambda: ri.zero_error_code(FALSE_BOUND, seconds=-1.0), "seconds"),
        (lambda: ri.zero_error_code(FALSE_BOUND, seconds=math.nan), "seconds"),
        (lambda: ri.zero_error_capacity(ring(100, 3), letters=3), "fewer letters"),
        (lambda: ri.subset_leakage(ring(21)), "too many to enumerate"),
    ],
)
def test_bad_input(call, said):
    with pytest.raises(ArgumentError, match=said):
        call()
