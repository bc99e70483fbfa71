"""What a noiselessly private release gives away to an adversary who has a prior."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import ArgumentError
from reticent.information.nonstochastic import Unit, logarithm


def maximal_leakage(channel: ArrayLike, unit: Unit = "bits") -> float:
    """The maximal leakage log Σ_y max_x P(y|x) of a channel (paper, Section III-E; Issa et al.).

    It bounds how much the output multiplies the chance of guessing *any* function of X, and is at most the
    log of the number of outputs, hence at most ε (Theorem 5).

    Parameters
    ----------
    channel : array of float, shape (inputs, outputs)
        P(y|x), each row a distribution; only rows of inputs that can occur.

    Raises
    ------
    ArgumentError
        If it is not a table of probabilities whose rows add up to one.
    """
    table = np.asarray(channel, dtype=float)
    if table.ndim != 2 or table.size == 0:
        raise ArgumentError("the channel must be a two-dimensional table P(y|x) with at least one entry")
    if not (table >= 0).all() or not np.allclose(table.sum(axis=1), 1.0, rtol=0.0, atol=1e-9):
        raise ArgumentError("every row of the channel must be probabilities, none negative, that add up to one")
    return logarithm(math.fsum(table.max(axis=0)), unit)


def estimation_error_bound(
    density: float,
    length: float,
    *,
    outputs: int | None = None,
    bits: float | None = None,
    power: float = 2.0,
    cells: Literal["all", "one"] = "all",
) -> float:
    """A lower bound on E|X − X̂|^p for any estimate that an adversary makes from the release.

    Derived here (the paper's Theorem 4 has the constant 2^{−(p+2)} for one cell, which is too large from
    p = 4 on, and lacks the absolute value, without which it fails for odd p). On a set of measure m no
    constant estimate does better than the midpoint of an interval of that measure, so
    ∫|x − x̂|^p dx ≥ 2 (m/2)^{p+1}/(p+1) = m^{p+1}/(2^p (p+1)). With N outputs one cell has m ≥ μ/N: this is
    the form for one cell, ρ μ^{p+1} N^{−(p+1)}/(2^p (p+1)). Summed over all cells, the right side is convex
    in m and thus least for N equal cells: N times as much, and attained by them under a uniform prior. Neither
    form needs connected cells.

    Parameters
    ----------
    density : float
        ρ, a lower bound on the density of the adversary's prior given all that it knows beside.
    length : float
        μ, the Lebesgue measure of the range of X.
    outputs : int
        N, the number of outputs that this individual can produce; or
    bits : float
        ε = log₂ N. Give one of the two.
    power : float
        p > 0.
    cells : {"all", "one"}
        The sharp form, or the weaker one of the paper's argument.

    Returns
    -------
    float
        In the unit of X, to the power p.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or ρ·μ exceeds one, which no density can do.
    """
    if not (math.isfinite(density) and density > 0 and math.isfinite(length) and length > 0):
        raise ArgumentError("density and length must be positive and finite")
    if density * length > 1 + 1e-9:
        raise ArgumentError("density times length must not exceed one: no prior has that density everywhere")
    if not (math.isfinite(power) and power > 0):
        raise ArgumentError("power must be a positive number")
    if cells not in ("all", "one"):
        raise ArgumentError("cells must be 'all' or 'one'")
    count = _output_count(outputs, bits)
    one_cell = density * (length / count) ** (power + 1) / (2**power * (power + 1))
    return one_cell if cells == "one" else count * one_cell


def _output_count(outputs: int | None, bits: float | None) -> float:
    if (outputs is None) == (bits is None):
        raise ArgumentError("give the number of outputs, or the bits, and not both")
    if outputs is not None:
        if isinstance(outputs, bool) or not isinstance(outputs, (int, np.integer)) or not 1 <= outputs < 2**1023:
            raise ArgumentError("outputs must be a whole number of at least one (and below 2**1023)")
        return float(outputs)
    assert bits is not None
    if not 0 <= bits < 1023:
        raise ArgumentError("bits must be a number of at least zero (and below 1023)")
    return float(2.0**bits)
