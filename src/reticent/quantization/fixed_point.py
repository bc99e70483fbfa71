"""Readings as exact integers: multiples of a declared resolution."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError, InputError
from reticent.quantization.arrays import as_numbers
from reticent.quantization.exact import Number, exact, range_of, ratio, text
from reticent.quantization.quantizers import Quantizer

Units: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

_BELOW, _ABOVE = -2, -3
_SAFE = 2**62
_DIGITS = 10**15  # a decimal of at most 15 digits is the shortest decimal of the float nearest to it


@dataclass(frozen=True, init=False)
class FixedPoint:
    """The grid of values that a reading can take.

    Parameters
    ----------
    low, high : numbers
        The stated range of a reading: multiples of the resolution.
    resolution : number > 0
        Such as "0.001": the unit in which sums are exact.
    outside : {"error", "clip"}
        A reading outside the range: refused, or moved to its nearer end.
    off_grid : {"error", "round"}
        A reading between two multiples: refused, or moved to the nearest one (the upper one of two).

    Raises
    ------
    ArgumentError
        An empty range, a resolution that does not divide its ends, or more than 2^62 units.
    """

    low: Fraction
    high: Fraction
    resolution: Fraction
    outside: Literal["error", "clip"]
    off_grid: Literal["error", "round"]

    def __init__(
        self, low: Number, high: Number, resolution: Number, outside: str = "error", off_grid: str = "error"
    ) -> None:
        start, width = range_of(low, high)
        unit = exact(resolution, "resolution")
        if unit <= 0 or (start / unit).denominator != 1 or (width / unit).denominator != 1:
            raise ArgumentError("resolution: must be positive and divide both ends of the range; choose a finer one")
        if max(abs(start), abs(start + width)) / unit >= _SAFE:
            raise ArgumentError("resolution: the range has too many multiples of it; choose a coarser one")
        if outside not in ("error", "clip"):
            raise ArgumentError("outside: must be 'error' or 'clip'")
        if off_grid not in ("error", "round"):
            raise ArgumentError("off_grid: must be 'error' or 'round'")
        for name, value in zip(
            ("low", "high", "resolution", "outside", "off_grid"),
            (start, start + width, unit, outside, off_grid),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    @property
    def low_units(self) -> int:
        return int(self.low / self.resolution)

    @property
    def high_units(self) -> int:
        return int(self.high / self.resolution)

    def units(self, values: ArrayLike) -> tuple[Units, Flags]:
        """Each reading in units of the resolution, and whether it is there (a missing one has 0 units).

        Parameters
        ----------
        values : array of numbers, shape (rows,)

        Raises
        ------
        InputError
            Values outside or between the multiples, where that is refused: how many, never which.
        """
        array = as_numbers(values).reshape(-1)
        if array.dtype in (np.float16, np.float32):
            array = array.astype(str).astype(np.float64)  # its shortest decimal has at most 9 digits: the same number
        place, outside = Quantizer((self.low, self.high), symbols=("",)).locate(array, _BELOW, _ABOVE)
        if outside and self.outside == "error":
            raise InputError(
                f"values: {outside} of {array.size} lie outside [{text(self.low)}, {text(self.high)}]; "
                "widen the stated range, or choose outside='clip'"
            )
        units = np.zeros(array.size, dtype=np.int64)
        units[place == _BELOW] = self.low_units
        units[place == _ABOVE] = self.high_units
        inside = place == 0
        units[inside], off_grid = self._convert(array[inside])
        if off_grid and self.off_grid == "error":
            raise InputError(
                f"values: {off_grid} of {array.size} are no multiples of the resolution {text(self.resolution)}; "
                "declare a finer one, or choose off_grid='round'"
            )
        return units, place != -1

    def _convert(self, array: NDArray[Any]) -> tuple[Units, int]:
        """Units of readings inside the range, rounded; and how many had to be."""
        units = np.zeros(array.size, dtype=np.int64)
        todo = np.ones(array.size, dtype=bool)
        if array.dtype == np.float64:
            places = max(len(text(self.resolution).partition(".")[2]), 0)
            step = self.resolution * 10**places
            widest = max(abs(self.low), abs(self.high)) * 10**places
            if step.denominator == 1 and widest < _DIGITS and places <= 22:
                guess = np.rint(array * (10.0**places / step.numerator))
                todo = guess * float(step.numerator) / 10.0**places != array  # both exact: the nearest float
                units = np.where(todo, 0, guess).astype(np.int64)
        elif array.dtype.kind in "iu":
            numerator, denominator = self.resolution.numerator, self.resolution.denominator
            if max(abs(self.low), abs(self.high)) * denominator < _SAFE and numerator < _SAFE:
                units, rest = np.divmod(array.astype(np.int64) * denominator, numerator)
                todo = rest != 0
        off_grid = 0
        for i in np.flatnonzero(todo):
            exact_units = Fraction(*ratio(array[i])) / self.resolution
            units[i] = (2 * exact_units + 1) // 2
            off_grid += exact_units.denominator != 1
        return units, off_grid
