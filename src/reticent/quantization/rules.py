"""Publication rules of regulators and statistical offices: when an aggregate is withheld."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.quantization.exact import Number, exact, text


@dataclass(frozen=True, init=False)
class PublicationRule:
    """Withhold an aggregate of too few individuals, or one that a few of them dominate.

    Whether a rule withholds depends on the values: it is one more output, and is counted as one.

    Parameters
    ----------
    at_least : int
        Individuals that must take part.
    dominance : (n, k), optional
        Withhold if the n largest contributions exceed k % of the total.
    p_percent : number, optional
        Withhold if what remains beside the two largest is less than p % of the largest: the second one could then
        estimate the largest too well.

    Raises
    ------
    ArgumentError
        Numbers that are not positive, or percentages above 100 for dominance.
    """

    at_least: int = 1
    dominance: tuple[int, Fraction] | None = None
    p_percent: Fraction | None = None

    def __init__(
        self, at_least: int = 1, dominance: tuple[int, Number] | None = None, p_percent: Number | None = None
    ) -> None:
        if isinstance(at_least, bool) or not isinstance(at_least, int) or at_least < 1:
            raise ArgumentError("at_least: must be an integer, one or more")
        if dominance is not None:
            largest, share = dominance[0], exact(dominance[1], "dominance")
            if isinstance(largest, bool) or not isinstance(largest, int) or largest < 1 or not 0 < share <= 100:
                raise ArgumentError("dominance: must be (n, k) with n ≥ 1 and 0 < k ≤ 100 percent")
            dominance = (largest, share)
        if p_percent is not None and exact(p_percent, "p_percent") <= 0:
            raise ArgumentError("p_percent: must be positive")
        object.__setattr__(self, "at_least", at_least)
        object.__setattr__(self, "dominance", dominance)
        object.__setattr__(self, "p_percent", None if p_percent is None else exact(p_percent, "p_percent"))

    @classmethod
    def parse(cls, rule: str) -> PublicationRule:
        """``"15/15"`` (any n/p), ``"(2,85)"`` for (n, k) dominance, ``"10%"`` for the p % rule.

        n/p: at least n individuals, none with more than p % of the total.
        """
        compact = rule.replace(" ", "")
        if match := re.fullmatch(r"(\d+)/(\d+(?:\.\d+)?)", compact):
            return cls(int(match[1]), (1, match[2]))
        if match := re.fullmatch(r"\((\d+),(\d+(?:\.\d+)?)\)", compact):
            return cls(dominance=(int(match[1]), match[2]))
        if match := re.fullmatch(r"(\d+(?:\.\d+)?)%", compact):
            return cls(p_percent=match[1])
        raise ArgumentError("rule: is none of 'n/p' such as 15/15, '(n,k)' such as (2,85), 'p%' such as 10%")

    @property
    def looks_at_values(self) -> bool:
        return self.dominance is not None or self.p_percent is not None

    def withheld(self, contributions: NDArray[np.int64], offsets: NDArray[np.int64], bound: int) -> NDArray[np.bool_]:
        """Whether each group's contributions break the rule (dominance and p %; taking part is the caller's).

        Parameters
        ----------
        contributions : int64, shape (individuals,), not negative
            Exact units, one an individual, group by group.
        offsets : int64, shape (groups + 1,)
        bound : int
            No total exceeds it: decides between machine and Python integers.

        Returns
        -------
        bool, shape (groups,)
        """
        from reticent.quantization import _kernels

        def sums(largest: int) -> NDArray[Any]:
            result = _kernels.largest_sums(contributions, offsets, largest)
            return result if bound * 100 * self._scale < 2**62 else result.astype(object)

        out = np.zeros(offsets.size - 1, dtype=bool)
        if not self.looks_at_values:
            return out
        total = sums(0)
        if self.dominance is not None:
            largest, share = self.dominance
            out |= (sums(largest) * (100 * share.denominator) > total * share.numerator).astype(bool)
        if self.p_percent is not None:
            rest, first = total - sums(2), sums(1)
            out |= (rest * (100 * self.p_percent.denominator) < first * self.p_percent.numerator).astype(bool)
        return out

    @property
    def _scale(self) -> int:
        parts = [value for value in (self.dominance and self.dominance[1], self.p_percent) if value]
        return max((max(part.numerator, part.denominator) for part in parts), default=1)

    def describe(self) -> str:
        """The rule in words."""
        parts = []
        if self.at_least > 1:
            parts.append(f"fewer than {self.at_least} individuals take part")
        if self.dominance is not None:
            largest, share = self.dominance
            who = "one individual has" if largest == 1 else f"the {largest} largest have"
            parts.append(f"{who} more than {text(share)} % of the total")
        if self.p_percent is not None:
            parts.append(f"all but the two largest have less than {text(self.p_percent)} % of the largest")
        return "withheld if " + " or ".join(parts) if parts else "never withheld"

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `from_dict` reads them back."""
        dominance = None if self.dominance is None else [self.dominance[0], text(self.dominance[1])]
        p_percent = None if self.p_percent is None else text(self.p_percent)
        return {"at_least": self.at_least, "dominance": dominance, "p_percent": p_percent}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PublicationRule:
        dominance = None if data["dominance"] is None else (data["dominance"][0], data["dominance"][1])
        return cls(data["at_least"], dominance, data["p_percent"])
