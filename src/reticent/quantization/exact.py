"""Exact numbers: what the user wrote, budgets of outputs, and where a machine type crosses an edge.

A float stands for its shortest decimal. That map is monotone (the shortest decimal of x lies in the rounding interval
of x), so an edge is crossed at exactly one value of each machine type: found once, in rationals, then compared with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError

Number: TypeAlias = int | float | str | Decimal | Fraction | np.number[Any]

MAX_LEVELS = 2**20
_MAX_EXPONENT = 400  # beyond every float64; a longer one would only fill the memory
_MAX_BITS = 2**20


def ratio(value: Any) -> tuple[int, int]:
    """Numerator and denominator of a finite number, a float by its shortest decimal.

    Raises
    ------
    OverflowError, ValueError
        For an infinity and for NaN.
    TypeError
        If `value` is no number.
    """
    if isinstance(value, np.float32 | np.float16):
        return Decimal(str(value)).as_integer_ratio()
    if isinstance(value, float):
        return Decimal(float.__repr__(value)).as_integer_ratio()
    if isinstance(value, int | Fraction | Decimal) and not isinstance(value, bool):
        return value.as_integer_ratio()
    if isinstance(value, np.integer):
        return int(value), 1
    raise TypeError


def exact(value: Number, name: str) -> Fraction:
    """The rational number that the user wrote: 6.7 is 67/10, as text, decimal, float64 or float32.

    Raises
    ------
    ArgumentError
        If it is no finite number, or beyond the range of a float64.
    """
    try:
        if isinstance(value, str):
            parts = [Decimal(part.strip()) for part in value.split("/", 1)]
            result = Fraction(1)
            for part, power in zip(parts, (1, -1), strict=False):
                result *= Fraction(*_bounded(part, name).as_integer_ratio()) ** power
        else:
            result = Fraction(*ratio(_bounded(value, name)))
    except TypeError:
        raise ArgumentError(
            f"{name}: {type(value).__name__} is no number; give an integer, a decimal or a float"
        ) from None
    except (ValueError, OverflowError, InvalidOperation, ZeroDivisionError):
        raise ArgumentError(f"{name}: must be a finite number; state it as a decimal such as '6.7'") from None
    if abs(result) > Fraction(float(np.finfo(np.float64).max)):
        raise ArgumentError(f"{name}: is beyond the range of a float64; choose another unit")
    return result


def _bounded(value: Any, name: str) -> Any:
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _MAX_EXPONENT and value:
        raise ArgumentError(f"{name}: has an exponent beyond ±{_MAX_EXPONENT}; choose another unit")
    return value


def text(value: Fraction) -> str:
    """The number as a decimal if that ends (within 25 digits), else as 'n/d'; `exact` reads both back."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 25:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if value < 0 else "") + whole + ("." + decimals if decimals else "")


def range_of(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    """Exact low and width of a stated range that must not be empty."""
    start, end = exact(low, "low"), exact(high, "high")
    if start >= end:
        raise ArgumentError("low, high: the range is empty; state low < high")
    return start, end - start


def length_of(length: Number, name: str = "length") -> Fraction:
    """An exact length, zero or more."""
    span = exact(length, name)
    if span < 0:
        raise ArgumentError(f"{name}: must not be negative")
    return span


def allowed_outputs(bits: Number | None, outputs: int | None) -> int:
    """The budget as a number of outputs: `outputs` itself, or ⌊2^bits⌋.

    For bits that are no integer the power is computed to 60 digits; where it comes so close to an integer that the last
    digits of a float decide (as for one that was meant as log2 of 5) it is refused, with the integer to state instead.

    Raises
    ------
    ArgumentError
        Unless exactly one of the two is given, bits ≥ 0 and outputs ≥ 1.
    """
    if (bits is None) == (outputs is None):
        raise ArgumentError("bits, outputs: give exactly one of the two as the budget")
    if outputs is not None:
        if isinstance(outputs, bool) or not isinstance(outputs, int | np.integer) or outputs < 1:
            raise ArgumentError("outputs: must be an integer, one or more")
        return int(outputs)
    assert bits is not None
    budget = exact(bits, "bits")
    if not 0 <= budget <= _MAX_BITS:
        raise ArgumentError(f"bits: must lie between 0 and {_MAX_BITS}")
    whole = budget.numerator // budget.denominator
    if budget == whole:
        return 1 << whole
    if whole > 100:
        raise ArgumentError("bits: above 100, must be an integer; or state outputs=")
    context = Context(prec=60)
    power = context.power(2, context.divide(Decimal(budget.numerator), Decimal(budget.denominator)))
    near = int(power.to_integral_value())
    if abs(power - near) <= near * (whole + 1) * Decimal("1e-15"):
        raise ArgumentError(f"bits: 2^bits is too close to an integer to be rounded; state outputs={near}")
    return int(power)


def thresholds(edges: Sequence[Fraction], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The smallest value of `dtype` at or above each edge; for the last edge, the smallest one *above* it.

    Counting how many thresholds a value has reached gives 0 below the range, i + 1 in cell i, q + 1 above the range.
    Thresholds that no value of an integer type reaches are left off (a suffix, as edges increase); for floats they
    are infinite, which only an infinite value reaches. float16 gives thresholds in float32 (a cast keeps the order).

    Returns
    -------
    array, shape (≤ len(edges),), of `dtype` (float32 for float16)
    """
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        first = [math.ceil(edge) for edge in edges[:-1]] + [math.floor(edges[-1]) + 1]
        return np.array([max(value, int(info.min)) for value in first if value <= info.max], dtype=dtype)
    step = math.nextafter if dtype == np.float64 else np.nextafter
    cast = float if dtype == np.float64 else dtype.type
    last = len(edges) - 1
    first_float = [
        _crossing(edge.numerator, edge.denominator, index == last, cast, step) for index, edge in enumerate(edges)
    ]
    return np.array(first_float, dtype=np.float32 if dtype == np.float16 else dtype)


def _crossing(numerator: int, denominator: int, strict: bool, cast: Any, step: Any) -> Any:
    """The smallest float whose shortest decimal is ≥ (strict: >) numerator / denominator."""

    def reached(x: Any) -> bool:
        if math.isinf(x):
            return bool(x > 0)
        n, d = ratio(x)
        left, right = n * denominator, numerator * d
        return left > right or (left == right and not strict)

    with np.errstate(over="ignore", under="ignore"):
        x = cast(numerator / denominator)  # the nearest float: the crossing is at most a step or two away
        while reached(x):
            x = step(x, cast(-math.inf))
        while not reached(x):
            x = step(x, cast(math.inf))
    return x
