"""Maximal leakage, and the least error of an adversary who estimates (erratum 10)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent.information as ri
from reticent.errors import ArgumentError


def error_of_midpoints(edges: list[Fraction], power: int) -> Fraction:
    """E|X − X̂|^p for X uniform on the union of cells [a, b] and X̂ the midpoint, exactly."""
    length = sum(b - a for a, b in pairwise(edges))
    halves = [(b - a) / 2 for a, b in pairwise(edges)]
    return sum(2 * h ** (power + 1) / (power + 1) for h in halves) / length


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 9), min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_maximal_leakage_by_fractions(weights):
    rows = [row for row in weights if sum(row)]
    if not rows:
        return
    channel = [[Fraction(w, sum(row)) for w in row] for row in rows]
    expected = math.log2(sum(max(column) for column in zip(*channel, strict=True)))
    leaked = ri.maximal_leakage([[float(p) for p in row] for row in channel])
    assert leaked == pytest.approx(expected, rel=0, abs=1e-12)
    assert ri.maximal_leakage(np.array(channel, dtype=float), "nats") == pytest.approx(
        expected * math.log(2), rel=0, abs=1e-12
    )
    assert -1e-12 <= leaked <= math.log2(min(len(rows), len(rows[0]))) + 1e-12


def test_maximal_leakage_bounds_the_gain_of_any_guess():
    """Enumerated: guessing any function U of X from Y, against the best guess without Y, X uniform."""
    channel = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.25, 0.25, 0.5]])
    leaked = 2 ** ri.maximal_leakage(channel)
    for labels in np.ndindex(2, 2, 2):
        hit = np.array([[u == label for label in labels] for u in range(2)])
        with_output = (hit @ channel / 3).max(axis=0).sum()
        assert with_output / hit.mean(axis=1).max() <= leaked + 1e-12
    assert channel.max(axis=0).sum() == pytest.approx(leaked)  # attained by U = X


def test_erratum_10_one_cell():
    """One cell, X uniform on [0, 1]: the midpoint has error 1/(2^p (p+1)), below the paper's 2^-(p+2) from p=4."""
    for power in range(1, 9):
        exact = error_of_midpoints([Fraction(0), Fraction(1)], power)
        assert exact == Fraction(1, 2**power * (power + 1))
        for cells in ("one", "all"):
            bound = ri.estimation_error_bound(1.0, 1.0, outputs=1, power=power, cells=cells)
            assert bound == pytest.approx(float(exact), rel=1e-14)
        published = Fraction(1, 2 ** (power + 2))
        assert (published > exact) == (power >= 4)
    assert ri.estimation_error_bound(1.0, 1.0, outputs=1, power=4) == 1 / 80
    assert 1 / 80 < 2**-6


def test_erratum_10_odd_powers():
    """Without |·| the expected cube of the error is zero: no positive bound can hold for it."""
    cube = sum(Fraction(2 * k + 1 - 1000, 2000) ** 3 for k in range(1000)) / 1000
    assert cube == 0
    assert ri.estimation_error_bound(1.0, 1.0, outputs=1, power=3) == 1 / 32


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 8))
def test_no_quantizer_is_below_the_bound(widths, power):
    """Theorem 4 corrected: both forms bound every choice of cells, and equal cells attain the sharp one."""
    edges = [Fraction(sum(widths[:k]), 7) for k in range(len(widths) + 1)]
    length = float(edges[-1])
    bound = {
        cells: ri.estimation_error_bound(
            (1 / length) * (1 - 1e-15), length, outputs=len(widths), power=power, cells=cells
        )
        for cells in ("one", "all")
    }
    exact = float(error_of_midpoints(edges, power))
    assert bound["one"] <= bound["all"] <= exact * (1 + 1e-12)
    if len(set(widths)) == 1:
        assert bound["all"] == pytest.approx(exact, rel=1e-12)


def test_disconnected_cells():
    """Cells of two pieces: the best estimate is found by a fine grid, and is still above the bound."""
    pieces = [(0.0, 0.1), (0.4, 0.8)]  # one cell of measure 0.5; the other is the rest of [0, 1]
    rest = [(0.1, 0.4), (0.8, 1.0)]
    total = 0.0
    for cell in (pieces, rest):
        guesses = np.linspace(0, 1, 2001)[:, None]
        x = np.concatenate([np.arange(a, b, 1e-3) + 5e-4 for a, b in cell])[None, :]
        total += (np.abs(x - guesses) ** 3).sum(axis=1).min() * 1e-3
    assert total > ri.estimation_error_bound(1.0, 1.0, outputs=2, power=3)


@given(st.floats(0.1, 10), st.integers(0, 12), st.floats(0.5, 8))
def test_bits_are_outputs_and_more_of_them_help_the_adversary(length, bits, power):
    one = ri.estimation_error_bound(0.5 / length, length, bits=bits, power=power)
    assert one == ri.estimation_error_bound(0.5 / length, length, outputs=2**bits, power=power)
    assert ri.estimation_error_bound(0.5 / length, length, bits=bits + 0.5, power=power) < one
    expected = 0.5 * length**power * 2.0 ** (-bits * power) / (2**power * (power + 1))
    assert one == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ri.maximal_leakage([0.5, 0.5]), "two-dimensional"),
        (lambda: ri.maximal_leakage(np.empty((0, 2))), "two-dimensional"),
        (lambda: ri.maximal_leakage([[0.5, 0.6]]), "add up to one"),
        (lambda: ri.maximal_leakage([[1.5, -0.5]]), "none negative"),
        (lambda: ri.maximal_leakage([[math.nan, 1.0]]), "probabilities"),
        (lambda: ri.maximal_leakage([[1.0]], unit="bans"), "'bits' or 'nats'"),
        (lambda: ri.estimation_error_bound(1, 1), "not both"),
        (lambda: ri.estimation_error_bound(1, 1, outputs=2, bits=1), "not both"),
        (lambda: ri.estimation_error_bound(1, 1, outputs=0), "outputs"),
        (lambda: ri.estimation_error_bound(1, 1, outputs=2.5), "outputs"),
        (lambda: ri.estimation_error_bound(1, 1, bits=-1), "bits"),
        (lambda: ri.estimation_error_bound(1, 1, bits=math.nan), "bits"),
        (lambda: ri.estimation_error_bound(2, 1, outputs=2), "exceed one"),
        (lambda: ri.estimation_error_bound(0, 1, outputs=2), "positive"),
        (lambda: ri.estimation_error_bound(1, math.inf, outputs=2), "finite"),
        (lambda: ri.estimation_error_bound(1, 1, outputs=2, power=0), "power"),
        (lambda: ri.estimation_error_bound(1, 1, outputs=2, cells="some"), "cells"),
    ],
)
def test_bad_input(call, said):
    with pytest.raises(ArgumentError, match=said):
        call()
