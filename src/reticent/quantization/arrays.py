"""What a caller's values are: a machine type that the kernels know, or exact numbers one by one."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.quantization.exact import ratio

_MISSING_TYPES = frozenset({"NoneType", "NAType", "NaTType", "MaskedConstant"})


def as_numbers(values: Any) -> NDArray[Any]:
    """`values` as an array: of a machine type where that is exact, of objects otherwise; the shape is kept.

    A list that mixes integers with floats or gaps stays exact (NumPy alone would round 2**53 + 1).

    Raises
    ------
    InputError
        If the values are no numbers.
    """
    if isinstance(values, np.ma.MaskedArray):
        gap = np.ma.getmaskarray(values)
        if not gap.any():
            return as_numbers(values.data)
        if values.dtype.kind == "f":  # floats keep their type: it decides the shortest decimal
            return as_numbers(values.filled(np.nan))
        objects = values.data.astype(object)
        objects[gap] = None
        return objects
    if isinstance(values, list | tuple | int | float | Decimal) or values is None:
        objects = np.array(values, dtype=object)
        kinds = {type(value) for value in objects.flat}
        if kinds <= {float}:
            return objects.astype(np.float64)
        if kinds == {int} and all(-(2**63) <= value < 2**63 for value in objects.flat):
            return objects.astype(np.int64)
        return objects
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return array.view(np.uint8)
    if array.dtype.kind in "iuO" or array.dtype in (np.float16, np.float32, np.float64):
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    raise InputError(
        f"values: {array.dtype} is no type of number that can be coarsened; give floats, integers or decimals"
    )


def is_missing(value: Any) -> bool:
    """None, NaN of any numeric type, or the missing value of a data frame."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in _MISSING_TYPES


def present_values(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values of an array from `as_numbers` are there."""
    if array.dtype == object:
        return np.array([not is_missing(value) for value in array], dtype=bool)
    return ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.size, dtype=bool)


def as_fractions(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Each value as an exact fraction (a float by its shortest decimal), None where it is missing; and which are there.

    Raises
    ------
    InputError
        If values are infinite or no numbers.
    """
    present = present_values(array)
    numbers = np.full(array.size, None, dtype=object)
    wrong = 0
    for i in np.flatnonzero(present):
        try:
            numbers[i] = Fraction(*ratio(array[i]))
        except (TypeError, ValueError, OverflowError):
            wrong += 1
    if wrong:
        raise InputError(
            f"values: {wrong} of {array.size} are infinite or no numbers; remove them or mark them missing"
        )
    return numbers, present
