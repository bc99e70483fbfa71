"""The slow, obvious twin: cells in plain Python fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np


def as_fraction(value: Any) -> Fraction:
    """The shortest decimal that reads back as this float, in its own precision."""
    return Fraction(Decimal(str(value)))


def cell(value: Fraction, edges: list[Fraction]) -> int:
    """Index of the cell, −2 below the range and −3 above it."""
    if value < edges[0]:
        return -2
    if value > edges[-1]:
        return -3
    for i in range(len(edges) - 2):
        if edges[i] <= value < edges[i + 1]:
            return i
    return len(edges) - 2


def clipped(value: Fraction, edges: list[Fraction]) -> int:
    return {-2: 0, -3: len(edges) - 2}.get(c := cell(value, edges), c)


def around(x: Any, steps: int = 2) -> list[Any]:
    """A float and its nearest neighbours on either side, in its own type."""
    up, down = [x], [x]
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(steps):
            up.append(np.nextafter(up[-1], x.dtype.type(np.inf)))
            down.append(np.nextafter(down[-1], x.dtype.type(-np.inf)))
    return down[::-1] + up[1:]
