"""Edges from stated numbers and stated priors, and certification by counting."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import ArgumentError
from reticent.quantization import (
    LinearQuantizer,
    LocalQuantization,
    counted_outputs,
    levels_for,
    lloyd_max_quantizer,
    log_quantizer,
    sqrt_quantizer,
)


def test_log_and_sqrt_edges() -> None:
    assert log_quantizer(1, 1000, 3).edges == (1, 10, 100, 1000)
    assert sqrt_quantizer(0, 100, 4).edges == (0, Fraction("6.25"), 25, Fraction("56.25"), 100)
    eight = log_quantizer("0.1", "6.7", 8)
    assert (eight.low, eight.high, eight.levels) == (Fraction("0.1"), Fraction("6.7"), 8)
    assert np.ptp(np.diff(np.log([float(edge) for edge in eight.edges]))) < 1e-5
    assert all(len(str(float(edge)).replace(".", "").strip("0")) <= 6 for edge in eight.edges)
    assert LocalQuantization.of(eight).guarantee.outputs == 8
    assert "narrowest 0.0691" in eight.describe()


def gaussian(levels: int) -> Any:
    return lloyd_max_quantizer(scipy.stats.norm(), -9, 9, levels)


def test_lloyd_max_finds_the_published_gaussian_cells() -> None:
    """Max, "Quantizing for minimum distortion" (1960), Table I."""
    four = gaussian(4)
    assert np.allclose([float(edge) for edge in four.edges[1:-1]], [-0.9816, 0, 0.9816], atol=1e-4)
    assert np.allclose(four.symbols, [-1.510, -0.4528, 0.4528, 1.510], atol=5e-4)
    assert np.allclose(gaussian(2).symbols, [-0.7979, 0.7979], atol=1e-4)
    assert gaussian(1).symbols == (0.0,)


def test_lloyd_max_takes_a_density_and_of_a_flat_one_makes_equal_cells() -> None:
    flat = lloyd_max_quantizer(lambda x: np.ones_like(x), 0, 10, 5)
    assert flat.edges == LinearQuantizer(0, 10, 5).edges
    assert flat.symbols == LinearQuantizer(0, 10, 5).symbols
    by_density = lloyd_max_quantizer(scipy.stats.norm(3, 2).pdf, 0, 10, 5)
    by_mass = lloyd_max_quantizer(scipy.stats.norm(3, 2), 0, 10, 5)
    assert np.allclose([float(e) for e in by_density.edges], [float(e) for e in by_mass.edges], atol=1e-5)


def test_lloyd_max_beats_equal_cells_under_its_prior() -> None:
    prior = scipy.stats.gamma(2)
    x = prior.rvs(size=50_000, random_state=np.random.default_rng(0))
    x = x[x <= 12]
    best = lloyd_max_quantizer(prior, 0, 12, 8).quantize(x)
    assert ((x - best) ** 2).mean() < 0.6 * ((x - LinearQuantizer(0, 12, 8).quantize(x)) ** 2).mean()


@pytest.mark.parametrize(
    "bad",
    [
        lambda: log_quantizer(0, 10, 4),
        lambda: sqrt_quantizer(-1, 10, 4),
        lambda: log_quantizer(1, "1.001", 1000, digits=4),
        lambda: log_quantizer(1, 10, 0),
        lambda: log_quantizer(1, 10, 4, digits=0),
        lambda: lloyd_max_quantizer(scipy.stats.uniform(20, 1), 0, 10, 4),
        lambda: lloyd_max_quantizer(lambda x: -x, 0, 10, 4),
        lambda: lloyd_max_quantizer(lambda x: x * np.nan, 0, 10, 4),
        lambda: counted_outputs(lambda: 0, []),
        lambda: counted_outputs(lambda x: 0, [[]]),
        lambda: counted_outputs(lambda *x: 0, [range(100)] * 5),
    ],
)
def test_bad_input_is_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^\w+: "):
        bad()


@given(st.integers(1, 4), st.integers(2, 12), st.integers(1, 3))
def test_a_release_is_certified_by_counting(outputs: int, width: int, people: int) -> None:
    sensitivity = Fraction(width, people)
    quantizer = LinearQuantizer(0, width, levels_for(sensitivity, 0, width, outputs=outputs))
    domains = [range(width + 1)] * people
    counted = counted_outputs(lambda *x: int(quantizer.encode([Fraction(sum(x), people)])[0]), domains)
    assert counted <= min(outputs, quantizer.cells_met(sensitivity))
    local = LocalQuantization(0, width, outputs=outputs)
    assert counted_outputs(lambda x: float(local.release([x])[0]), [range(width * 4)[: width + 1]]) <= local.outputs


def test_counting_finds_the_papers_mistake() -> None:
    eight = LinearQuantizer(0, 10, 8)
    domains = [[0, 1, 2, 5, 10]] * 4
    assert counted_outputs(lambda *x: int(eight.encode([Fraction(sum(x), 4)])[0]), domains) == 3
