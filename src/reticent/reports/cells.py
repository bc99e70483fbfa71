"""The cells of a quantiser, listed and drawn."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from reticent.quantization import LocalQuantization
from reticent.quantization.quantizers import Quantizer
from reticent.reports import vega
from reticent.reports.account import Table
from reticent.reports.drawing import PALETTE, Figure, figure
from reticent.reports.words import DIGITS, label, number, several

LISTED = 32  # cells
DRAWN = 400  # cells
AXES = 6  # quantisers that are drawn


@dataclass(frozen=True)
class Cells:
    """What is known of a quantiser before its cells are built, which takes long for a million.

    Parameters
    ----------
    name : str
        What is coarsened.
    low, high, narrowest, widest : Fraction
        Range, and widths of cells.
    levels : int
    outside : str
        What happens to a value outside the range.
    build : callable
        Gives the quantiser.
    """

    name: str
    low: Fraction
    high: Fraction
    narrowest: Fraction
    widest: Fraction
    levels: int
    outside: str
    build: Callable[[], Quantizer]

    @classmethod
    def declared(cls, name: str, body: Mapping[str, Any], levels: int) -> Cells:
        """Of a coordinate in a certificate."""
        given = body["quantizer"]
        low, high = (given["edges"][0], given["edges"][-1]) if "edges" in given else (given["low"], given["high"])
        return cls(
            name,
            Fraction(low),
            Fraction(high),
            Fraction(body["narrowest"]),
            Fraction(body["widest"]),
            levels,
            given["outside"],
            lambda: LocalQuantization.from_dict(body).quantizer,
        )

    @classmethod
    def of(cls, name: str, built: Quantizer) -> Cells:
        """Of a quantiser."""
        return cls(
            name, built.low, built.high, built.narrowest, built.widest, built.levels, built.outside, lambda: built
        )

    @cached_property
    def quantizer(self) -> Quantizer:
        """The quantiser itself."""
        return self.build()

    @property
    def symbols(self) -> list[str]:
        """What is released for each cell, as text."""
        return [each if isinstance(each, str) else self.say(Fraction(each)) for each in self.quantizer.symbols]

    @property
    def range(self) -> str:
        """Both ends."""
        return f"{self.say(self.low)} to {self.say(self.high)}"

    @property
    def width(self) -> str:
        """Of the widest cell."""
        return _decimal(self.widest, DIGITS)

    def say(self, value: Fraction) -> str:
        """A place on the axis, with as many digits as tell neighbouring edges apart."""
        farthest = max(abs(self.low), abs(self.high))
        return _decimal(value, DIGITS + max(0, _magnitude(farthest) - _magnitude(self.narrowest) - 2))


def lists(columns: Sequence[Cells]) -> tuple[Table, ...]:
    """A table of the cells of each quantiser that has few."""
    head = ("Cell", "From (included)", "To (excluded; the last included)", "Released as")
    tables = []
    for cells in columns:
        if cells.levels <= LISTED:
            ends = pairwise(map(cells.say, cells.quantizer.edges))
            numbered = enumerate(zip(ends, cells.symbols, strict=True), 1)
            rows = tuple((number(i), *edges, symbol) for i, (edges, symbol) in numbered)
            tables.append(Table(f"The cells of {cells.name}", head, rows))
    return tuple(tables)


def axes(columns: Sequence[Cells], note: str = "") -> Iterator[Figure]:
    """One figure of all axes, where they do not have too many cells."""
    drawn = [cells for cells in columns[:AXES] if cells.levels <= DRAWN]
    if not drawn:
        return

    def draw(width: int) -> Any:
        charts = [_axis(cells, width) for cells in drawn]
        return charts[0] if len(charts) == 1 else vega.vconcat(*charts, spacing=14)

    few = "" if len(drawn) == len(columns) else f" Drawn are {len(drawn)} of {len(columns)} columns."
    ranges = "; ".join(f"{several(cells.levels, 'cell')} from {cells.range}" for cells in drawn)
    yield figure(
        "The cells",
        "Below the axis the edges, inside each cell what is released for it, where there is room. A value on an edge "
        f"belongs to the cell on its right.{few}{note}",
        f"The range divided into cells: {ranges}.",
        draw,
    )


def _axis(cells: Cells, width: int) -> Any:
    """Cells from 0 to 1, so that no range is too large or too small for a chart."""
    edges = cells.quantizer.edges
    places = [float((at - cells.low) / (cells.high - cells.low)) for at in edges]
    symbols = [label(symbol) for symbol in cells.symbols]
    narrowest = min(b - a for a, b in pairwise(places)) * width
    roomy = max(map(len, symbols)) * 7 + 4 <= narrowest
    rows = [
        {"x": a, "x2": b, "middle": (a + b) / 2, "symbol": symbol if roomy else "", "parity": i % 2}
        for i, ((a, b), symbol) in enumerate(zip(pairwise(places), symbols, strict=True))
    ]
    texts = [cells.say(at) for at in edges]
    every = math.ceil(len(texts) * (max(map(len, texts)) * 7 + 12) / width)
    last = len(texts) - 1
    named = [*range(0, max(1, last - every + 1), every), last]  # both ends, and what finds room between
    ticks = [{"x": places[i], "text": texts[i]} for i in named]
    base = vega.chart(rows).encode(x=vega.field("x:Q", axis=None, scale={"domain": [0, 1], "nice": False}))
    colour = vega.field("parity:N", scale={"domain": [0, 1], "range": [PALETTE[0], PALETTE[5]]}, legend=None)
    rect = base.mark("rect", opacity=0.3).encode(x2="x2", y=vega.value(6), y2=vega.value(36), color=colour)
    inside = base.mark("text", baseline="middle").encode(x="middle:Q", y=vega.value(21), text="symbol:N")
    marks = vega.chart(ticks).encode(x="x:Q")
    rule = marks.mark("rule", color=PALETTE[7]).encode(y=vega.value(4), y2=vega.value(42))
    below = marks.mark("text", baseline="top").encode(y=vega.value(46), text="text:N")
    return (rect + inside + rule + below).properties(width=width, height=62, title=label(cells.name))


def _decimal(value: Fraction, digits: int) -> str:
    with decimal.localcontext(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        rounded = (decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator)).normalize()
        plain = rounded == 0 or -5 <= rounded.adjusted() < max(9, digits)
        return f"{rounded:f}" if plain else f"{rounded:e}"


def _magnitude(value: Fraction) -> int:
    """About the decimal exponent of a positive number, of any size."""
    return (value.numerator.bit_length() - value.denominator.bit_length()) * 3 // 10
