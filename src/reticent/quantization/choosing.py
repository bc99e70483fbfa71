"""Edges beyond equal cells that stay public: they follow from stated numbers, or from a stated prior, never from data.

Edges that would be irrational are written as decimals of a stated number of digits; those decimals *are* the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.quantization.exact import MAX_LEVELS, Number, exact, range_of
from reticent.quantization.quantizers import Missing, Outside, Quantizer

_CONTEXT = Context(prec=50)  # decimals are the same on every machine, unlike the last bit of log and exp
_GRID = 2**16
_ROUNDS = 10_000
_SETTLED = 1e-9


class Distribution(Protocol):
    """A frozen SciPy distribution, or anything with a cumulative distribution function."""

    def cdf(self, x: Any) -> Any: ...


Prior: TypeAlias = Distribution | Callable[[NDArray[np.float64]], NDArray[np.float64]]


def log_quantizer(
    low: Number,
    high: Number,
    levels: int,
    *,
    digits: int = 6,
    symbols: str = "midpoint",
    outside: Outside = "error",
    missing: Missing = "public",
) -> Quantizer:
    """Cells that are equal in the logarithm: edges low (high / low)^{i/q}, to `digits` significant digits.

    Raises
    ------
    ArgumentError
        If low ≤ 0, the range is empty, or so many levels coincide at so few digits.
    """
    start, width = range_of(low, high)
    if start <= 0:
        raise ArgumentError("low: must be positive for cells that are equal in the logarithm")
    ratio = _CONTEXT.ln(_decimal((start + width) / start))
    first = _decimal(start)

    def edge(share: Decimal) -> Decimal:
        return _CONTEXT.multiply(first, _CONTEXT.exp(_CONTEXT.multiply(share, ratio)))

    return _transformed(start, width, levels, edge, digits, symbols, outside, missing)


def sqrt_quantizer(
    low: Number,
    high: Number,
    levels: int,
    *,
    digits: int = 6,
    symbols: str = "midpoint",
    outside: Outside = "error",
    missing: Missing = "public",
) -> Quantizer:
    """Cells that are equal in the square root, to `digits` significant digits.

    Raises
    ------
    ArgumentError
        If low < 0, the range is empty, or so many levels coincide at so few digits.
    """
    start, width = range_of(low, high)
    if start < 0:
        raise ArgumentError("low: must not be negative for cells that are equal in the square root")
    first, last = _CONTEXT.sqrt(_decimal(start)), _CONTEXT.sqrt(_decimal(start + width))

    def edge(share: Decimal) -> Decimal:
        root = _CONTEXT.add(first, _CONTEXT.multiply(share, _CONTEXT.subtract(last, first)))
        return _CONTEXT.multiply(root, root)

    return _transformed(start, width, levels, edge, digits, symbols, outside, missing)


def lloyd_max_quantizer(
    prior: Prior,
    low: Number,
    high: Number,
    levels: int,
    *,
    digits: int = 6,
    outside: Outside = "error",
    missing: Missing = "public",
) -> Quantizer:
    """The cells and symbols of least mean squared error under a *stated* prior, restricted to [low, high].

    Lloyd's iteration: edges halfway between symbols, symbols the conditional means of their cells. It settles at an
    optimum if the density is log-concave, at a local one otherwise. Edges and symbols are decimals of `digits` digits,
    counted from the width of the range.

    Parameters
    ----------
    prior : frozen SciPy distribution, or density as a function of an array
        Public knowledge. A prior fitted to the private data would reveal them: the guarantee does not cover that.

    Raises
    ------
    ArgumentError
        If the prior has no mass in the range or is not a number there, or so many levels coincide at so few digits.
    """
    start, width = range_of(low, high)
    _check_counts(levels, digits)
    a, b = float(start), float(start + width)
    x = np.linspace(a, b, _GRID + 1)
    mass = _cumulative(prior, x)
    # ∫ x dM = x M − ∫ M dx, so both are differences of functions on the grid
    area = np.concatenate([[0.0], np.cumsum((mass[1:] + mass[:-1]) / 2 * np.diff(x))])
    inner = np.interp(np.arange(1, levels) / levels, mass, x)  # start from cells of equal mass
    means = np.empty(levels)
    for _ in range(_ROUNDS):
        edges = np.concatenate([[a], inner, [b]])
        cumulative = np.interp(edges, x, mass)
        weight = np.diff(cumulative)
        moment = np.diff(edges * cumulative - np.interp(edges, x, area))
        means = np.where(weight > 0, moment / np.where(weight > 0, weight, 1), (edges[1:] + edges[:-1]) / 2)
        settled = (means[1:] + means[:-1]) / 2
        if levels == 1 or np.abs(settled - inner).max() <= _SETTLED * (b - a):
            break
        inner = settled
    unit = Fraction(10) ** (Decimal(b - a).adjusted() - digits)
    exact_edges = [start, *(round(Fraction(float(edge)) / unit) * unit for edge in inner), start + width]
    symbols = [round(Fraction(float(mean)) / unit) * unit for mean in means]
    return Quantizer(exact_edges, symbols, outside, missing)


def _cumulative(prior: Prior, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mass of [x[0], x] for each x, scaled to a total of one."""
    if hasattr(prior, "cdf"):
        below = np.asarray(prior.cdf(x), dtype=np.float64)
        mass = below - below[0]
    else:
        density = np.broadcast_to(np.asarray(prior(x), dtype=np.float64), x.shape)
        mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    if not np.isfinite(mass).all() or mass[-1] <= 0 or (np.diff(mass) < 0).any():
        raise ArgumentError("prior: must have a finite density, not negative and with some mass in the stated range")
    return mass / mass[-1]


def _transformed(
    start: Fraction,
    width: Fraction,
    levels: int,
    edge: Callable[[Decimal], Decimal],
    digits: int,
    symbols: str,
    outside: Outside,
    missing: Missing,
) -> Quantizer:
    _check_counts(levels, digits)
    rounding = Context(prec=digits)
    shares = (_CONTEXT.divide(Decimal(i), Decimal(levels)) for i in range(1, levels))
    inner = [exact(rounding.plus(edge(share)), "edges") for share in shares]
    return Quantizer([start, *inner, start + width], symbols, outside, missing)


def _check_counts(levels: int, digits: int) -> None:
    if isinstance(levels, bool) or not isinstance(levels, int) or not 1 <= levels <= MAX_LEVELS:
        raise ArgumentError(f"levels: must be an integer between 1 and {MAX_LEVELS}")
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 15:
        raise ArgumentError("digits: must be an integer between 1 and 15")


def _decimal(value: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
