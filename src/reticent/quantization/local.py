"""Each individual coarsens its own values: local noiseless privacy (paper, Definition 3 and the local case)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError
from reticent.guarantees import NoiselessGuarantee
from reticent.quantization.exact import Number, allowed_outputs, text
from reticent.quantization.quantizers import LinearQuantizer, Missing, Outside, Quantizer


@dataclass(frozen=True, init=False)
class LocalQuantization:
    """Release the cell of each value. With m outputs an individual can produce at most m answers a reading.

    Parameters
    ----------
    low, high : numbers
        The stated, public range, exactly as written.
    bits, outputs
        The budget of one reading: exactly one of the two. The missing value is one of the outputs where it counts.
    symbols, outside, missing
        As for `Quantizer`.

    Raises
    ------
    ArgumentError
        An empty range, a budget that leaves no cell, or whatever `LinearQuantizer` refuses.
    """

    quantizer: Quantizer

    def __init__(
        self,
        low: Number,
        high: Number,
        bits: Number | None = None,
        outputs: int | None = None,
        *,
        symbols: str | Sequence[Number] | Sequence[str] = "midpoint",
        outside: Outside = "error",
        missing: Missing = "public",
    ) -> None:
        levels = levels_within(allowed_outputs(bits, outputs), outside, missing)
        object.__setattr__(self, "quantizer", LinearQuantizer(low, high, levels, symbols, outside, missing))

    @classmethod
    def of(cls, quantizer: Quantizer) -> LocalQuantization:
        """With any cells: what it costs is their number."""
        local = cls.__new__(cls)
        object.__setattr__(local, "quantizer", quantizer)
        return local

    @property
    def outputs(self) -> int:
        """Number of values that one reading can take."""
        return self.quantizer.outputs

    @property
    def guarantee(self) -> NoiselessGuarantee:
        """For one reading."""
        return NoiselessGuarantee(self.outputs, "reading", local=True, assuming=assumptions(self.quantizer))

    def for_series(self, readings: int) -> NoiselessGuarantee:
        """For a series of T readings of one individual, T and the instants being public: outputs^T (paper, Thm 6)."""
        return series_guarantee(self.guarantee, readings)

    def release(self, values: ArrayLike) -> NDArray[Any]:
        """The symbols, shape as given; nothing is drawn, so the same values give the same release.

        Raises
        ------
        InputError
            As for `Quantizer.encode`.
        """
        return self.quantizer.quantize(values)

    def describe(self) -> str:
        """Cells and guarantee in words."""
        return f"{self.quantizer.describe()} {self.guarantee.describe()}"

    def to_dict(self) -> dict[str, Any]:
        """Public parameters, with the narrowest and the widest cell."""
        cells = {"narrowest": text(self.quantizer.narrowest), "widest": text(self.quantizer.widest)}
        return {"kind": "local", "quantizer": self.quantizer.to_dict(), "outputs": self.outputs, **cells}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LocalQuantization:
        """The mechanism that `to_dict` wrote."""
        return cls.of(Quantizer.from_dict(data["quantizer"]))


@dataclass(frozen=True, init=False)
class VectorQuantization:
    """One mechanism a coordinate (latitude and longitude): outputs multiply.

    Parameters
    ----------
    coordinates : sequence of LocalQuantization, one or more
    """

    coordinates: tuple[LocalQuantization, ...]

    def __init__(self, coordinates: Sequence[LocalQuantization]) -> None:
        if not coordinates:
            raise ArgumentError("coordinates: give at least one mechanism")
        object.__setattr__(self, "coordinates", tuple(coordinates))

    @classmethod
    def split(
        cls,
        ranges: Sequence[tuple[Number, Number]],
        bits: Number | None = None,
        outputs: int | None = None,
        *,
        symbols: str = "midpoint",
        outside: Outside = "error",
        missing: Missing = "public",
    ) -> VectorQuantization:
        """The budget split over the coordinates as evenly as integers allow (see `even_split`)."""
        parts = even_split(allowed_outputs(bits, outputs), len(ranges))
        return cls(
            [
                LocalQuantization(low, high, outputs=part, symbols=symbols, outside=outside, missing=missing)
                for (low, high), part in zip(ranges, parts, strict=True)
            ]
        )

    @property
    def outputs(self) -> int:
        """Number of vectors that can be released."""
        return math.prod(coordinate.outputs for coordinate in self.coordinates)

    @property
    def guarantee(self) -> NoiselessGuarantee:
        """For one vector."""
        assuming = [assumptions(coordinate.quantizer) for coordinate in self.coordinates]
        joined = "; ".join(dict.fromkeys(text for text in assuming if text))
        return NoiselessGuarantee(self.outputs, "reading", local=True, assuming=joined)

    def for_series(self, readings: int) -> NoiselessGuarantee:
        """For a series of T vectors of one individual."""
        return series_guarantee(self.guarantee, readings)

    def release(self, columns: Sequence[ArrayLike]) -> tuple[NDArray[Any], ...]:
        """The symbols, one array a coordinate.

        Raises
        ------
        ArgumentError
            If there are not as many columns as coordinates, or their lengths differ.
        """
        if len(columns) != len(self.coordinates) or len({np.shape(column) for column in columns}) > 1:
            raise ArgumentError(f"columns: give {len(self.coordinates)} columns of one length, one a coordinate")
        return tuple(part.release(column) for part, column in zip(self.coordinates, columns, strict=True))

    def describe(self) -> str:
        """Cells of each coordinate, and the joint guarantee, in words."""
        cells = [f"Coordinate {i}: {part.quantizer.describe()}" for i, part in enumerate(self.coordinates, start=1)]
        return " ".join([*cells, self.guarantee.describe()])

    def to_dict(self) -> dict[str, Any]:
        """Public parameters."""
        parts = [coordinate.to_dict() for coordinate in self.coordinates]
        return {"kind": "vector", "coordinates": parts, "outputs": self.outputs}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> VectorQuantization:
        """The mechanism that `to_dict` wrote."""
        return cls([LocalQuantization.from_dict(part) for part in data["coordinates"]])


def even_split(outputs: int, parts: int) -> tuple[int, ...]:
    """Integers, one a part, as even as possible, whose product is at most `outputs`: ⌊root⌋, the first ones plus one.

    Raises
    ------
    ArgumentError
        If there are no parts.
    """
    if parts < 1:
        raise ArgumentError("ranges: give at least one coordinate")
    root, above = 1, 1 << (outputs.bit_length() // parts + 1)
    while above - root > 1:
        middle = (root + above) // 2
        root, above = (middle, above) if middle**parts <= outputs else (root, middle)
    raised = 0
    while raised < parts and (root + 1) ** (raised + 1) * root ** (parts - raised - 1) <= outputs:
        raised += 1
    return (root + 1,) * raised + (root,) * (parts - raised)


def levels_within(outputs: int, outside: Outside, missing: Missing) -> int:
    """The cells that a budget of outputs leaves, once the missing value has taken one where it counts."""
    levels = outputs - int(missing == "output" or outside == "missing")
    if levels < 1:
        raise ArgumentError("outputs: the missing value takes the only output; allow at least two (one bit)")
    return levels


def assumptions(quantizer: Quantizer) -> str:
    """What the count of outputs takes as given, in words."""
    given = []
    if quantizer.outside == "error":
        given.append(f"every value lies in [{text(quantizer.low)}, {text(quantizer.high)}]")
    if not quantizer.extra_outputs:
        given.append("it is public which readings are missing")
    return " and ".join(given)


def series_guarantee(reading: NoiselessGuarantee, readings: int) -> NoiselessGuarantee:
    """Output counts multiply over `readings` (paper, Theorem 6)."""
    if isinstance(readings, bool) or not isinstance(readings, int | np.integer) or readings < 1:
        raise ArgumentError("readings: must be an integer, one or more")
    return NoiselessGuarantee(reading.outputs ** int(readings), "series", reading.local, reading.assuming)
