"""Numbers and names as people read them."""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from typing import Any

DIGITS = 6
LABEL = 40  # characters of a name that a chart has room for

_UP = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_CEILING)
_DOWN = decimal.Context(prec=DIGITS, rounding=decimal.ROUND_FLOOR)


def number(value: Any) -> str:
    """A value of a certificate: six digits, thousands apart, infinity as a sign."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _special(value) or _plain(value)
    return "∞" if value == "infinity" else str(value)


def at_most(value: Any) -> str:
    """A cost (ε, δ, bits): as `number`, never rounded below what it is."""
    if isinstance(value, float) and not _special(value):
        return _plain(float(_UP.create_decimal(repr(float(value)))))
    return number(value)


def share(value: Any) -> str:
    """A fraction as a percentage, never rounded above what it is."""
    if isinstance(value, int | float) and math.isfinite(value):
        return f"{float(_DOWN.create_decimal(repr(round(100 * float(value), 9)))):.6g} %"
    return number(value)


def finite(value: Any) -> float | None:
    """The number, or None where there is none to calculate with."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def label(name: Any) -> str:
    """A name, short and printable, for a chart."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in str(name))
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def listed(names: Any, none: str = "none") -> str:
    """Names with commas between them."""
    return ", ".join(str(name) for name in names) or none


def several(count: int, one: str, many: str | None = None) -> str:
    """``1 record``, ``2 records``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def period(every: Mapping[str, Any]) -> str:
    """A length of time as certificates write it: a step in microseconds, or in units of whole numbers."""
    step = every["step"]
    if every["unit"] == "1":
        return number(step)
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1)):
        if step % (size * 10**6) == 0:
            count = step // (size * 10**6)
            return several(count, unit[:-1], unit)
    return f"{number(step)} µs"


def _special(value: float) -> str:
    if math.isnan(value):
        return "not a number"
    return "" if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _plain(value: float) -> str:
    return f"{value:,.{DIGITS}g}" if abs(value) < 10**DIGITS else f"{value:,.0f}" if abs(value) < 1e15 else f"{value:g}"
