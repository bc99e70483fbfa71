"""What is said of a quantisation, and its picture: the cells."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from reticent.quantization import VectorQuantization
from reticent.reports.account import Account, Pairs, Table
from reticent.reports.drawing import PALETTE, Figure, data, figure
from reticent.reports.words import DIGITS, at_most, label, listed, number, several

if TYPE_CHECKING:
    from reticent.certificates import Certificate

LEVELS = 32  # cells that are listed
CELLS = 400  # cells that are drawn
AXES = 6  # columns that are drawn

_OUTSIDE = {"error": "refused", "clip": "moved to the end cell", "missing": "released as missing"}


@dataclass(frozen=True)
class Column:
    """A value column and its quantiser, read off the parameters: no cell is built before it is needed.

    Parameters
    ----------
    name : str
    body : mapping
        Its coordinate in the certificate.
    levels : int
    """

    name: str
    body: Mapping[str, Any]
    levels: int

    @property
    def low(self) -> Fraction:
        """Where the range begins."""
        return Fraction(self._given.get("low") or self._given["edges"][0])

    @property
    def high(self) -> Fraction:
        """Where the range ends."""
        return Fraction(self._given.get("high") or self._given["edges"][-1])

    @property
    def widest(self) -> Fraction:
        """Width of the widest cell."""
        return Fraction(self.body["widest"])

    @property
    def outside(self) -> str:
        """What happens to a value outside the range."""
        return str(self._given["outside"])

    @property
    def spare(self) -> bool:
        """Whether the missing value is one of the outputs."""
        return bool(self.body["outputs"] > self.levels)

    @property
    def _given(self) -> Mapping[str, Any]:
        return self.body["quantizer"]

    @cached_property
    def edges(self) -> tuple[Fraction, ...]:
        """The edges of the cells."""
        return self._quantizer.edges

    @property
    def symbols(self) -> list[str]:
        """What is released for each cell, as text."""
        symbols = self._quantizer.symbols
        return [value if isinstance(value, str) else self.say(Fraction(value)) for value in symbols]

    @cached_property
    def _quantizer(self) -> Any:
        return VectorQuantization.from_dict({"coordinates": [self.body]}).coordinates[0].quantizer

    def say(self, value: Fraction) -> str:
        """A place on the axis, with as many digits as tell neighbouring edges apart."""
        farthest, narrowest = max(abs(self.low), abs(self.high)), Fraction(self.body["narrowest"])
        return _decimal(value, DIGITS + max(0, _magnitude(farthest) - _magnitude(narrowest) - 2))

    def width(self) -> str:
        """Width of the widest cell, as text."""
        return _decimal(self.widest, DIGITS)


def account(certificate: Certificate) -> Account:
    """The account of a quantisation."""
    guarantee, series = certificate.claims["guarantee"], certificate.claims["series"]
    columns = _columns(certificate)
    assuming = guarantee["assuming"]
    clips = any(column.outside == "clip" for column in columns)
    return Account(
        title="Release by quantisation",
        done=(
            f"Each value ({listed(column.name for column in columns)}) was replaced by the symbol of the cell that it "
            "lies in; nothing was drawn at random, and no value lies outside its cell"
            + (", but for those beyond the range, which were moved to the end cell." if clips else ".")
        ),
        promise=guarantee["promise"],
        limits=guarantee["limits"],
        assumption=f"{assuming[0].upper()}{assuming[1:]}." if assuming else "Range and cells were fixed beforehand.",
        tiles=(
            (f"{at_most(guarantee['bits'])} bits", "per reading, at most"),
            (f"{at_most(series['bits'])} bits", f"per series of {several(series['readings'], 'reading')}, at most"),
            (number(guarantee["outputs"]), "different outputs of one reading"),
            (listed(column.width() for column in columns[:3]), "width of the widest cell"),
        ),
        parameters=(
            ("Outputs asked for", f"at most {number(certificate.parameters['asked']['outputs'])} per reading"),
            *(entry for column in columns for entry in _parameters(column, len(columns) > 1)),
        ),
        utility=tuple(
            (f"Widest cell of {column.name}", f"{column.width()}: so far apart may two values with one symbol be")
            for column in columns
        ),
        tables=tuple(_cells(column) for column in columns if column.levels <= LEVELS),
    )


def figures(certificate: Certificate) -> Iterator[Figure]:
    """The cells of each column, where there are not too many."""
    columns = _columns(certificate)
    drawn = [column for column in columns[:AXES] if column.levels <= CELLS]
    if not drawn:
        return

    def draw(width: int) -> Any:
        import altair as alt

        charts = [_axis(column, width, len(columns) > 1) for column in drawn]
        return charts[0] if len(charts) == 1 else alt.vconcat(*charts, spacing=14)

    few = "" if len(drawn) == len(columns) else f" Drawn are {len(drawn)} of {len(columns)} columns."
    ranges = "; ".join(
        f"{several(column.levels, 'cell')} from {column.say(column.low)} to {column.say(column.high)}"
        for column in drawn
    )
    yield figure(
        "The cells",
        "Below the axis the edges, inside each cell what is released for it, where there is room. A value on an edge "
        f"belongs to the cell on its right.{few}",
        f"The range of each column divided into cells: {ranges}.",
        draw,
    )


def _columns(certificate: Certificate) -> list[Column]:
    names, cells = certificate.released["columns"]["value"], certificate.claims["cells"]
    parts = zip(names, certificate.parameters["coordinates"], cells, strict=True)
    return [Column(name, body, each["levels"]) for name, body, each in parts]


def _parameters(column: Column, named: bool) -> Pairs:
    of = f" of {column.name}" if named else ""
    return (
        (f"Range{of}", f"{column.say(column.low)} to {column.say(column.high)}"),
        (f"Cells{of}", number(column.levels)),
        (f"Values outside the range{of}", _OUTSIDE.get(column.outside, column.outside)),
        (f"That a value is missing{of}", "is one more output" if column.spare else "is public"),
    )


def _cells(column: Column) -> Table:
    ends = pairwise(map(column.say, column.edges))
    rows = ((number(i), *edges, symbol) for i, (edges, symbol) in enumerate(zip(ends, column.symbols, strict=True), 1))
    head = ("Cell", "From (included)", "To (excluded; the last included)", "Released as")
    return Table(f"The cells of {column.name}", head, tuple(rows))


def _axis(column: Column, width: int, titled: bool) -> Any:
    """Cells from 0 to 1, so that no range is too large or too small for a chart."""
    import altair as alt

    places = [float((at - column.low) / (column.high - column.low)) for at in column.edges]
    symbols = [label(symbol) for symbol in column.symbols]
    narrowest = min(b - a for a, b in pairwise(places)) * width
    roomy = max(map(len, symbols)) * 7 + 4 <= narrowest
    cells = [
        {"x": a, "x2": b, "middle": (a + b) / 2, "symbol": symbol if roomy else "", "parity": i % 2}
        for i, ((a, b), symbol) in enumerate(zip(pairwise(places), symbols, strict=True))
    ]
    texts = [column.say(at) for at in column.edges]
    every = math.ceil(len(texts) * (max(map(len, texts)) * 7 + 12) / width)
    ticks = [{"x": places[i], "text": texts[i]} for i in range(0, len(texts), every)]
    base = alt.Chart(data(cells)).encode(x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False)))
    colour = alt.Color("parity:N", scale=alt.Scale(domain=[0, 1], range=[PALETTE[0], PALETTE[5]]), legend=None)
    rect = base.mark_rect(opacity=0.3).encode(x2="x2:Q", y=alt.value(6), y2=alt.value(36), color=colour)
    inside = base.mark_text(baseline="middle").encode(x="middle:Q", y=alt.value(21), text="symbol:N")
    marks = alt.Chart(data(ticks)).encode(x="x:Q")
    rule = marks.mark_rule(color=PALETTE[7]).encode(y=alt.value(4), y2=alt.value(42))
    below = marks.mark_text(baseline="top").encode(y=alt.value(46), text="text:N")
    chart = (rect + inside + rule + below).properties(width=width, height=62)
    return chart.properties(title=label(column.name)) if titled else chart


def _decimal(value: Fraction, digits: int) -> str:
    with decimal.localcontext(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        rounded = (decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator)).normalize()
        plain = rounded == 0 or -5 <= rounded.adjusted() < max(9, digits)
        return f"{rounded:f}" if plain else f"{rounded:e}"


def _magnitude(value: Fraction) -> int:
    """About the decimal exponent of a positive number, of any size."""
    return (value.numerator.bit_length() - value.denominator.bit_length()) * 3 // 10
