"""Exact amounts. A float stands for its shortest decimal, so ten spends of 0.1 fill a budget of one exactly.

The analyses round their floats up by more than the half unit in the last place that this may take away.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

from reticent.errors import ArgumentError
from reticent.quantization.exact import Number, exact, text

Amount: TypeAlias = Fraction | float
"""A rational number, or the float infinity: no bound at all."""


def amount(value: Number, name: str) -> Fraction:
    """A finite amount, zero or more.

    Raises
    ------
    ArgumentError
        NaN, an infinity, a negative number, or what is no number.
    """
    found = exact(value, name)
    if found < 0:
        raise ArgumentError(f"{name}: must not be negative")
    return found


def computed(value: float) -> Amount:
    """What an analysis found, which may be infinite."""
    return math.inf if value == math.inf else amount(value, "cost")


def written(value: Amount) -> str:
    """For the ledger and for people; `read` gives it back."""
    return "infinity" if isinstance(value, float) else text(value)


def read(value: str) -> Amount:
    """The amount that `written` wrote."""
    return math.inf if value == "infinity" else amount(value, "amount")
