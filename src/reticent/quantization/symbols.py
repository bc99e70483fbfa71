"""What is released for a cell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from reticent.errors import ArgumentError
from reticent.quantization.exact import Number, exact, text

REPRESENTATIVES = ("midpoint", "left", "interval")


def representatives(edges: Sequence[Fraction], name: str) -> tuple[float, ...] | tuple[str, ...]:
    """The symbols that follow from the edges: midpoint or left edge as the nearest float64, or the interval as text."""
    cells = list(pairwise(edges))
    match name:
        case "midpoint":
            return tuple(float((a + b) / 2) for a, b in cells)
        case "left":
            return tuple(float(a) for a, _ in cells)
        case "interval":
            closing = [")"] * (len(cells) - 1) + ["]"]
            return tuple(f"[{text(a)}, {text(b)}{end}" for (a, b), end in zip(cells, closing, strict=True))
    raise ArgumentError(f"symbols: must be one of {', '.join(REPRESENTATIVES)}, or one symbol a cell")


def resolve(
    edges: tuple[Fraction, ...], symbols: str | Sequence[Number] | Sequence[str]
) -> tuple[float, ...] | tuple[str, ...]:
    """The symbols as released: named ones, or one a cell, distinct once they are floats.

    Raises
    ------
    ArgumentError
        An unknown name, too few or too many symbols, or symbols that coincide.
    """
    result: tuple[float, ...] | tuple[str, ...]
    if isinstance(symbols, str):
        result = representatives(edges, symbols)
    elif all(isinstance(symbol, str) for symbol in symbols):
        result = tuple(str(symbol) for symbol in symbols)
    else:
        result = tuple(float(exact(symbol, "symbols")) for symbol in symbols)
    if len(result) != len(edges) - 1 or len(set(result)) != len(result):
        raise ArgumentError(
            f"symbols: {len(set(result))} distinct for {len(edges) - 1} cells; give one a cell, distinct as floats, "
            "or fewer levels"
        )
    return result
