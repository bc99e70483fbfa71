"""Quantisers: cells with exact edges, and how many of them one individual can move through."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError, InputError
from reticent.quantization.arrays import as_numbers, is_missing
from reticent.quantization.exact import (
    MAX_LEVELS,
    Number,
    allowed_outputs,
    exact,
    length_of,
    range_of,
    ratio,
    text,
    thresholds,
)
from reticent.quantization.symbols import REPRESENTATIVES, representatives, resolve

Outside: TypeAlias = Literal["error", "clip", "missing"]
Missing: TypeAlias = Literal["public", "output"]
Codes: TypeAlias = NDArray[np.signedinteger[Any]]

MISSING = -1
_GUESS_LIMIT = 1e300  # below it, no step of the arithmetic guess overflows
_WALK = 16  # cells in a bucket from which a binary search is faster


@dataclass(frozen=True, init=False)
class Quantizer:
    """Cells with exact edges, half open, the last one closed.

    Parameters
    ----------
    edges : sequence of numbers, increasing, length q + 1
        What the user wrote, exactly: a float stands for its shortest decimal. They must be public.
    symbols : {"midpoint", "left", "interval"} or sequence of q numbers or texts
        What is released for a cell: numbers are rounded to the nearest float64 and must stay distinct.
    outside : {"error", "clip", "missing"}
        A value outside the range (±inf included): refused, moved to the end cell, or released as missing.
    missing : {"public", "output"}
        Whether *when* a reading is missing is public, or one more output.

    Raises
    ------
    ArgumentError
        Edges that do not increase or are not finite, more than 2^20 cells, symbols that are too few or not distinct.
    """

    edges: tuple[Fraction, ...]
    symbols: tuple[float, ...] | tuple[str, ...]
    outside: Outside
    missing: Missing

    def __init__(
        self,
        edges: Iterable[Number],
        symbols: str | Sequence[Number] | Sequence[str] = "midpoint",
        outside: Outside = "error",
        missing: Missing = "public",
    ) -> None:
        exact_edges = tuple(edge if isinstance(edge, Fraction) else exact(edge, "edges") for edge in edges)
        if not 2 <= len(exact_edges) <= MAX_LEVELS + 1:
            raise ArgumentError(f"edges: {len(exact_edges)} given; state at least two and at most {MAX_LEVELS + 1}")
        if any(b <= a for a, b in pairwise(exact_edges)):
            raise ArgumentError("edges: they must increase strictly; sort them and remove repetitions")
        if outside not in ("error", "clip", "missing"):
            raise ArgumentError("outside: must be 'error', 'clip' or 'missing'")
        if missing not in ("public", "output"):
            raise ArgumentError("missing: must be 'public' or 'output'")
        object.__setattr__(self, "edges", exact_edges)
        object.__setattr__(self, "symbols", resolve(exact_edges, symbols))
        object.__setattr__(self, "outside", outside)
        object.__setattr__(self, "missing", missing)

    # --- cells -------------------------------------------------------------------------------------------------------

    @property
    def low(self) -> Fraction:
        return self.edges[0]

    @property
    def high(self) -> Fraction:
        return self.edges[-1]

    @property
    def levels(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1

    @property
    def extra_outputs(self) -> int:
        """One if a missing value is an output: when `missing` says so, or when being outside shows as missing."""
        return int(self.missing == "output" or self.outside == "missing")

    @property
    def outputs(self) -> int:
        """Number of values that can be released: the cells, and the missing value where it counts."""
        return self.levels + self.extra_outputs

    @cached_property
    def narrowest(self) -> Fraction:
        """Width of the narrowest cell: bits bound how many cells there are, not how narrow one is."""
        return min(b - a for a, b in pairwise(self.edges))

    @cached_property
    def widest(self) -> Fraction:
        """Width of the widest cell."""
        return max(b - a for a, b in pairwise(self.edges))

    def cells_met(self, length: Number) -> int:
        """The most cells that a set of diameter `length` can meet, within the range; attained by an interval.

        Derived here: [a, a + ℓ] meets cells i < j if a < e_{i+1} and a + ℓ ≥ e_j, which some a satisfies iff
        e_j − e_{i+1} < ℓ. So for each j take the first i: two pointers, O(q).
        """
        span = length_of(length)
        if span == 0:
            return 1
        most, i = 1, 0
        for j in range(1, self.levels):
            while self.edges[j] - self.edges[i + 1] >= span:
                i += 1
            most = max(most, j - i + 1)
        return most

    def refine(self, other: Quantizer) -> Quantizer:
        """The common refinement: its cell determines the cells of both, so its outputs are what both together cost.

        Of ranges that differ the intersection counts for ``outside="error"`` (the domain is in both), and for
        ``"clip"`` the hull, without the inner ends (end cells reach to infinity).

        Raises
        ------
        ArgumentError
            If `outside` differs, or ``"missing"`` goes with different ranges, or the ranges do not overlap.
        """
        if self.outside != other.outside:
            raise ArgumentError("other: has another outside policy; refine quantisers with the same one")
        if self.outside == "missing" and (self.low, self.high) != (other.low, other.high):
            raise ArgumentError("other: has another range; with outside='missing' refine quantisers of one range")
        inner = set(self.edges[1:-1]) | set(other.edges[1:-1])
        if self.outside == "clip":
            low, high = min(self.low, other.low), max(self.high, other.high)
        else:
            low, high = max(self.low, other.low), min(self.high, other.high)
            if low >= high:
                raise ArgumentError("other: its range does not overlap; no value is in the domain of both")
        edges = [low, *sorted(edge for edge in inner if low < edge < high), high]
        missing: Missing = "output" if "output" in (self.missing, other.missing) else "public"
        return Quantizer(edges, outside=self.outside, missing=missing)

    # --- values ------------------------------------------------------------------------------------------------------

    def encode(self, values: ArrayLike) -> Codes:
        """The cell of each value: 0 … q − 1, and −1 for missing (int16, or int32 from 2^15 cells).

        Parameters
        ----------
        values : array of floats, integers or booleans, any shape; or of objects (decimals, fractions, None)

        Raises
        ------
        InputError
            If values are no numbers, or lie outside while ``outside="error"``: it says how many, never which.
        """
        array = as_numbers(values)
        below, above = (MISSING, MISSING) if self.outside == "missing" else (0, self.levels - 1)
        codes, outside = self.locate(array, below, above)
        if outside and self.outside == "error":
            raise InputError(
                f"values: {outside} of {array.size} lie outside [{text(self.low)}, {text(self.high)}]; "
                "widen the stated range, or choose outside='clip' or 'missing'"
            )
        return codes

    def locate(self, array: NDArray[Any], below: int, above: int) -> tuple[Codes, int]:
        """Codes of an array from `as_numbers`, with the given ones outside; and how many lie outside."""
        codes: Codes = np.empty(array.size, dtype=np.int16 if self.levels < 2**15 else np.int32)
        flat = np.ascontiguousarray(array).reshape(-1)
        outside = (self._encode_objects if array.dtype == object else self._encode_fast)(flat, below, above, codes)
        return codes.reshape(array.shape), outside

    def decode(self, codes: ArrayLike) -> NDArray[Any]:
        """The symbols of codes: float64 with NaN for missing, or (texts) objects with None.

        Raises
        ------
        ArgumentError
            If a code is no integer between −1 and q − 1.
        """
        index = np.asarray(codes)
        if not index.size:
            index = index.astype(np.int16)
        elif index.dtype.kind not in "iu" or not -1 <= int(index.min()) <= int(index.max()) < self.levels:
            raise ArgumentError(f"codes: must be integers between -1 and {self.levels - 1}")
        return self._table[index]

    def quantize(self, values: ArrayLike) -> NDArray[Any]:
        """The symbol of each value's cell: ``decode(encode(values))``."""
        return self._table[self.encode(values)]

    @cached_property
    def _table(self) -> NDArray[Any]:
        """Symbols, then the missing value, so that code −1 finds it."""
        if isinstance(self.symbols[0], str):
            return np.array([*self.symbols, None], dtype=object)
        return np.array([*self.symbols, np.nan], dtype=np.float64)

    @cached_property
    def _thresholds(self) -> dict[np.dtype[Any], NDArray[Any]]:
        return {}

    def thresholds(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The exact thresholds for a machine type (see `exact.thresholds`), found once."""
        if dtype not in self._thresholds:
            self._thresholds[dtype] = thresholds(self.edges, dtype)
        return self._thresholds[dtype]

    def _encode_fast(self, flat: NDArray[Any], below: int, above: int, codes: Codes) -> int:
        from reticent.quantization import _kernels

        table = self.thresholds(flat.dtype)
        values = (flat.astype(np.float32) if flat.dtype == np.float16 else flat).view()
        values.flags.writeable = False  # whose it is: for each of both kinds the loop would be compiled
        if self._guess is not None and table.size == self.levels + 1:
            return int(_kernels.encode_guess(values, table, *self._guess, below, above, codes))
        return int(_kernels.encode_search(values, table, self.levels, below, above, codes))

    @cached_property
    def _guess(self) -> tuple[float, float, NDArray[np.int64]] | None:
        """(low, buckets per unit, the cell in which each bucket begins), where a guess in floats is near and safe."""
        buckets = self._buckets
        scale = buckets / (self.high - self.low)
        if max(abs(self.low), abs(self.high), scale) >= _GUESS_LIMIT:
            return None
        low, step = float(self.low), float(1 / scale)
        inner = np.array([float(edge) for edge in self.edges[1:-1]])
        start = np.searchsorted(inner, low + step * np.arange(buckets), side="right")
        crowded = np.diff(start, append=self.levels - 1).max() > _WALK
        return None if crowded else (low, float(scale), start)

    @property
    def _buckets(self) -> int:
        return min(8 * self.levels, 2**16)

    @cached_property
    def _integer_edges(self) -> tuple[int, list[int]]:
        """A common denominator, and the edges in units of it."""
        unit = math.lcm(*(edge.denominator for edge in self.edges))
        return unit, [edge.numerator * (unit // edge.denominator) for edge in self.edges]

    def _encode_objects(self, flat: NDArray[Any], below: int, above: int, codes: Codes) -> int:
        unit, edges = self._integer_edges
        outside = 0
        for i, value in enumerate(flat):
            if is_missing(value):
                codes[i] = MISSING
                continue
            try:
                numerator, denominator = ratio(value)
            except OverflowError:
                outside, codes[i] = outside + 1, above if value > 0 else below
                continue
            except (TypeError, ValueError):
                raise InputError(
                    f"values: {type(value).__name__} is no number; give floats, integers or decimals"
                ) from None
            whole, rest = divmod(numerator * unit, denominator)
            cell = bisect_right(edges, whole) - 1
            if cell == self.levels and whole == edges[-1] and not rest:
                cell -= 1  # the last cell is closed
            codes[i] = below if cell < 0 else above if cell == self.levels else cell
            outside += not 0 <= cell < self.levels
        return outside

    # --- words and JSON ----------------------------------------------------------------------------------------------

    def describe(self) -> str:
        """The cells in one sentence."""
        width = (
            f"each {text(self.narrowest)} wide"
            if self.narrowest == self.widest
            else f"the narrowest {text(self.narrowest)} and the widest {text(self.widest)} wide"
        )
        cells = f"{self.levels} cells" if self.levels > 1 else "1 cell"
        return f"{cells} over [{text(self.low)}, {text(self.high)}], {width}."

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain values; rationals are texts, symbols a name where they follow from the edges."""
        return {
            "kind": "cells",
            "edges": [text(edge) for edge in self.edges],
            "symbols": next(
                (name for name in REPRESENTATIVES if representatives(self.edges, name) == self.symbols),
                list(self.symbols),
            ),
            "outside": self.outside,
            "missing": self.missing,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Quantizer:
        """The quantiser that `to_dict` wrote."""
        policy = {"symbols": data["symbols"], "outside": data["outside"], "missing": data["missing"]}
        match data["kind"]:
            case "linear":
                return LinearQuantizer(data["low"], data["high"], data["levels"], **policy)
            case "cells":
                return Quantizer(data["edges"], **policy)
        raise ArgumentError("kind: must be 'linear' or 'cells'")


@dataclass(frozen=True, init=False)
class LinearQuantizer(Quantizer):
    """Equal cells: edges low + i (high − low) / levels.

    Parameters
    ----------
    low, high : numbers
        The stated, public range, exactly as written (6.7 is 67/10).
    levels : int
        Number of cells, at most 2^20.
    symbols, outside, missing
        As for `Quantizer`.

    Raises
    ------
    ArgumentError
        An empty or infinite range, levels < 1, or cells so narrow that their symbols coincide as floats.
    """

    def __init__(
        self,
        low: Number,
        high: Number,
        levels: int,
        symbols: str | Sequence[Number] | Sequence[str] = "midpoint",
        outside: Outside = "error",
        missing: Missing = "public",
    ) -> None:
        start, width = range_of(low, high)
        if isinstance(levels, bool) or not isinstance(levels, int | np.integer) or not 1 <= levels <= MAX_LEVELS:
            raise ArgumentError(f"levels: must be an integer between 1 and {MAX_LEVELS}")
        cell = width / int(levels)
        super().__init__((start + i * cell for i in range(int(levels) + 1)), symbols, outside, missing)

    def cells_met(self, length: Number) -> int:
        """min(q, ⌈ℓ q / (high − low)⌉ + 1), and 1 if ℓ = 0 (derived here; the paper's Theorem 8 lacks the + 1)."""
        span = length_of(length)
        return min(self.levels, math.ceil(span * self.levels / (self.high - self.low)) + 1) if span else 1

    @property
    def _buckets(self) -> int:
        return self.levels

    def to_dict(self) -> dict[str, Any]:
        ends = {"kind": "linear", "low": text(self.low), "high": text(self.high), "levels": self.levels}
        return {**ends, **{key: value for key, value in super().to_dict().items() if key not in ("kind", "edges")}}


def levels_for(
    sensitivity: Number, low: Number, high: Number, bits: Number | None = None, outputs: int | None = None
) -> int:
    """The largest number of equal cells over [low, high] of which one individual meets at most the budget.

    ``max(m, ⌊(m − 1)(high − low) / sensitivity⌋)`` for a budget of m outputs: the cells met are min(q, ⌈S q / R⌉ + 1),
    so either q ≤ m, or ⌈S q / R⌉ ≤ m − 1 (derived here; the corrected Theorem 8 of the paper).

    Parameters
    ----------
    sensitivity : number > 0
        Diameter of what one individual can make of the query, all else being equal.
    low, high : numbers
        The stated range of the query.
    bits, outputs
        The budget: exactly one of the two.
    """
    budget = allowed_outputs(bits, outputs)
    _, width = range_of(low, high)
    span = length_of(sensitivity, "sensitivity")
    if span == 0:
        raise ArgumentError("sensitivity: must be positive; a query that nobody can move needs no coarsening")
    return max(budget, math.floor((budget - 1) * width / span))
