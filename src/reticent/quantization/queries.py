"""A curator coarsens an aggregate: noiseless privacy of each individual in it (paper, Theorem 8, corrected).

Floats break the theorem: rounding moves a mean across an edge. So readings are exact integers in units of a declared
resolution, sums are exact, and edges are compared with in the same units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError, InputError
from reticent.guarantees import NoiselessGuarantee
from reticent.quantization.arrays import as_fractions, as_numbers, present_values
from reticent.quantization.exact import MAX_LEVELS, Number, allowed_outputs, exact, length_of, range_of, text
from reticent.quantization.fixed_point import FixedPoint, Units
from reticent.quantization.local import series_guarantee
from reticent.quantization.plans import SAFE, Geometry, Plan
from reticent.quantization.quantizers import MISSING, LinearQuantizer, levels_for
from reticent.quantization.rosters import Readings, Roster, group_codes, positions
from reticent.quantization.rules import PublicationRule
from reticent.quantization.symbols import REPRESENTATIVES

Query: TypeAlias = Callable[[list[Fraction]], int | Fraction]
Participation: TypeAlias = Literal["public", "private"]

QUERIES = ("mean", "sum", "count", "min", "max")


@dataclass(frozen=True, init=False)
class AggregateQuantization:
    """Publish the cell of an aggregate. With m outputs each individual can produce at most m answers.

    Parameters
    ----------
    query : {"mean", "sum", "count", "min", "max"} or callable
        *count*: of the individuals that have a reading. A callable takes the readings of a group as fractions and
        returns an exact number (integer or fraction: floats would break the guarantee).
    sensitivity : number, optional
        Diameter of what one individual can make of the query, all else being equal. Required for a callable; for the
        named queries it follows from the range and the roster, and a stated one must not be smaller.
    low, high : numbers
        The stated, public range: of a reading for a named query (not needed for *count*), of the answer for a callable.
    bits, outputs
        The budget: exactly one of the two. Being withheld is one of the outputs where it depends on the data.
    resolution : number
        Readings are multiples of it, such as "0.001". Not used by *count* and callables.
    participation : {"public", "private"}
        *public*: every row of the roster is there; a missing one takes the public value `fill`. *private*: who has data
        is hidden too: absence adds nothing to a sum (the mean still divides by the rows of the roster), and does not
        count for an extreme. *count* is always private.
    fill : number, optional
        A public number that stands for a missing reading.
    rule : PublicationRule or text such as "15/15", optional
        When to withhold; its `at_least` applies to those who take part.
    outside, off_grid
        As for `FixedPoint`; for a callable `outside` speaks of its answer.
    symbols : {"midpoint", "left", "interval"}

    Raises
    ------
    ArgumentError
        A callable without a sensitivity, a named query without a range or resolution, a rule that looks at values with
        negative readings or a callable, or a budget that leaves no cell.
    """

    query: str | Query
    sensitivity: Fraction | None
    low: Fraction
    high: Fraction
    outputs: int
    resolution: Fraction | None
    participation: Participation
    fill: Fraction | None
    rule: PublicationRule
    outside: Literal["error", "clip"]
    off_grid: Literal["error", "round"]
    symbols: str

    def __init__(
        self,
        query: str | Query,
        sensitivity: Number | None = None,
        low: Number | None = None,
        high: Number | None = None,
        bits: Number | None = None,
        outputs: int | None = None,
        *,
        resolution: Number | None = None,
        participation: Participation | None = None,
        fill: Number | None = None,
        rule: PublicationRule | str | None = None,
        outside: Literal["error", "clip"] = "error",
        off_grid: Literal["error", "round"] = "error",
        symbols: str = "midpoint",
    ) -> None:
        if isinstance(query, str):
            if query not in QUERIES:
                raise ArgumentError(f"query: must be one of {', '.join(QUERIES)}, or a function")
        elif not callable(query):
            raise ArgumentError(f"query: {type(query).__name__} is neither a name nor a function")
        elif sensitivity is None:
            raise ArgumentError("sensitivity: a function has none that can be derived; state it")
        if query == "count":
            low, high, resolution, participation = 0, 1, 1, participation or "private"
            if participation != "private":
                raise ArgumentError("participation: a count of those who have data is always 'private'")
        if low is None or high is None:
            raise ArgumentError("low, high: the range is never read off the data; state both")
        if isinstance(query, str) and resolution is None:
            raise ArgumentError("resolution: readings must be exact multiples of a stated unit, such as '0.001'")
        participation = participation or "public"
        if participation not in ("public", "private"):
            raise ArgumentError("participation: must be 'public' or 'private'")
        if fill is not None and participation == "private":
            raise ArgumentError("fill: belongs to participation='public'; leave it out")
        if symbols not in REPRESENTATIVES:
            raise ArgumentError(f"symbols: must be one of {', '.join(REPRESENTATIVES)}")
        start, width = range_of(low, high)
        named_rule = PublicationRule.parse(rule) if isinstance(rule, str) else rule or PublicationRule()
        if named_rule.looks_at_values and (start < 0 or not isinstance(query, str)):
            raise ArgumentError("rule: shares of a total need a named query of readings that are not negative")
        values: dict[str, Any] = {
            "query": query,
            "sensitivity": None if sensitivity is None else length_of(sensitivity, "sensitivity"),
            "low": start,
            "high": start + width,
            "outputs": allowed_outputs(bits, outputs),
            "resolution": None if resolution is None else exact(resolution, "resolution"),
            "participation": participation,
            "fill": None if fill is None else exact(fill, "fill"),
            "rule": named_rule,
            "outside": outside,
            "off_grid": off_grid,
            "symbols": symbols,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.outputs <= self.withheld_outputs:
            raise ArgumentError("outputs: being withheld takes the only output; allow at least two (one bit)")
        if isinstance(query, str):
            self._check_grid()
        elif outside not in ("error", "clip"):
            raise ArgumentError("outside: must be 'error' or 'clip'")

    def _check_grid(self) -> None:
        grid = self.grid
        if self.fill is not None and (
            not self.low <= self.fill <= self.high or (self.fill / grid.resolution).denominator != 1
        ):
            raise ArgumentError("fill: must be a multiple of the resolution within the range")

    # --- analysis ----------------------------------------------------------------------------------------------------

    @cached_property
    def grid(self) -> FixedPoint:
        """Where readings of a named query lie."""
        assert self.resolution is not None
        return FixedPoint(self.low, self.high, self.resolution, self.outside, self.off_grid)

    @property
    def withheld_outputs(self) -> int:
        """One if being withheld depends on the data: on values, on who takes part, or on whether anybody does."""
        hidden = self.participation == "private" and (self.rule.at_least > 1 or self._needs_somebody)
        return int(self.rule.looks_at_values or hidden)

    @property
    def _needs_somebody(self) -> bool:
        """An extreme, or a function, of no reading at all has no value."""
        return self.query not in ("mean", "sum", "count")

    def geometry(self, roster: Roster) -> Geometry:
        """The query in exact units, for one roster.

        With private participation an absent row is worth 0, so a row ranges over [min(low, 0), max(high, 0)]: the
        diameter is max(|low|, |high|, high − low), as in the design.
        """
        low, high = self.grid.low_units, self.grid.high_units
        if self.query in ("min", "max"):
            return Geometry(low, high, high - low, self.grid.resolution)
        if self.query == "count":
            return Geometry(0, roster.individuals, 1, Fraction(1))
        if self.participation == "private":
            low, high = min(low, 0), max(high, 0)
        worth = self.grid.resolution / (roster.rows if self.query == "mean" else 1)
        return Geometry(roster.rows * low, roster.rows * high, roster.most_rows * (high - low), worth)

    @cached_property
    def _plans(self) -> dict[Roster, Plan]:
        return {}

    def plan(self, roster: Roster) -> Plan:
        """Cells, thresholds and counted outputs for one roster (a named query), found once; see `Plan.make`."""
        if roster not in self._plans:
            self._plans[roster] = Plan.make(
                self.geometry(roster), self.outputs, self.withheld_outputs, self.sensitivity, self.symbols
            )
        return self._plans[roster]

    @cached_property
    def answer(self) -> LinearQuantizer:
        """Cells of the answer of a callable."""
        assert self.sensitivity is not None
        budget = self.outputs - self.withheld_outputs
        levels = min(levels_for(self.sensitivity, self.low, self.high, outputs=budget), MAX_LEVELS)
        return LinearQuantizer(self.low, self.high, levels, self.symbols, outside=self.outside)

    @property
    def guarantee(self) -> NoiselessGuarantee:
        """For one published aggregate."""
        return NoiselessGuarantee(self.outputs, "reading", local=False, assuming=self.assumptions)

    def for_series(self, periods: int) -> NoiselessGuarantee:
        """For a series of T aggregates over the same individuals: output counts multiply (paper, Theorem 6)."""
        return series_guarantee(self.guarantee, periods)

    @property
    def assumptions(self) -> str:
        """What the count of outputs takes as given, in words."""
        given = [
            "the periods and the roster of each group are public and fixed beforehand",
            "no individual is in two groups of one period",
        ]
        if self.participation == "public" and self.fill is None:
            given.append("every individual of the roster has its readings")
        if not isinstance(self.query, str):
            given.append(f"one individual moves the query by at most {text(self.sensitivity or Fraction(0))}")
        if self.outside == "error" and self.query != "count":
            what = "every reading" if isinstance(self.query, str) else "every answer"
            given.append(f"{what} lies in [{text(self.low)}, {text(self.high)}]")
        if self.off_grid == "error" and isinstance(self.query, str) and self.query != "count":
            given.append(f"every reading is a multiple of {text(self.grid.resolution)}")
        return ", ".join(given[:-1]) + " and " + given[-1]

    # --- release -----------------------------------------------------------------------------------------------------

    def encode(
        self,
        values: ArrayLike,
        rosters: Roster | Sequence[Roster],
        groups: ArrayLike | None = None,
        individuals: ArrayLike | None = None,
    ) -> NDArray[np.int32]:
        """The cell of each group's aggregate, −1 where it is withheld.

        Parameters
        ----------
        values : array of numbers, shape (rows,)
        rosters : Roster, or one a group
            One alone stands for a single group.
        groups : int, shape (rows,), optional
            Group of each row: an index into `rosters`.
        individuals : int, shape (rows,), optional
            Who each row is of; by default each row of a group is of another individual.

        Returns
        -------
        int32, shape (groups,)

        Raises
        ------
        ArgumentError
            Rosters smaller than the rule's `at_least`, or codes that do not fit.
        InputError
            Readings outside the range or off the grid, or that are not those of the rosters.
        """
        rosters = [rosters] if isinstance(rosters, Roster) else list(rosters)
        small = sum(roster.individuals < self.rule.at_least for roster in rosters)
        if small:
            raise ArgumentError(
                f"rosters: {small} of {len(rosters)} groups have fewer than {self.rule.at_least} individuals; "
                "leave them out"
            )
        array = as_numbers(values).reshape(-1)
        codes = group_codes(groups, array.size, len(rosters))
        numbers, present = self._numbers(array)
        readings = Readings.arrange(present, codes, individuals, len(rosters))
        readings.check(rosters, complete=self.participation == "public")
        numbers = numbers[readings.order]
        cells = (
            self._cells(numbers, readings, rosters) if isinstance(self.query, str) else self._answers(numbers, readings)
        )
        cells[self._withheld(numbers, readings, rosters)] = MISSING
        return cells

    def _numbers(self, array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Exact numbers (units, or fractions for a callable), gaps filled where that is public; and which are there."""
        numbers: NDArray[Any]
        if self.query == "count":
            present = present_values(array)
            numbers = present.astype(np.int64)
        elif isinstance(self.query, str):
            numbers, present = self.grid.units(array)
        else:
            numbers, present = as_fractions(array)
        if self.participation == "private" or present.all():
            return numbers, present
        if self.fill is None:
            raise InputError(
                f"values: {int((~present).sum())} of {present.size} are missing; state fill=, or choose "
                "participation='private'"
            )
        numbers[~present] = int(self.fill / self.grid.resolution) if isinstance(self.query, str) else self.fill
        return numbers, np.ones(present.size, dtype=bool)

    def release(
        self,
        values: ArrayLike,
        rosters: Roster | Sequence[Roster],
        groups: ArrayLike | None = None,
        individuals: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """The symbol of each group's aggregate (see `encode`): NaN, or None among texts, where it is withheld."""
        rosters = [rosters] if isinstance(rosters, Roster) else list(rosters)
        codes = self.encode(values, rosters, groups, individuals)
        if not isinstance(self.query, str):
            return self.answer.decode(codes)
        out = np.empty(len(rosters), dtype=object if self.symbols == "interval" else np.float64)
        for roster, where in positions(rosters).items():
            out[where] = self.plan(roster).quantizer.decode(codes[where])
        return out

    def _cells(self, units: Units, readings: Readings, rosters: Sequence[Roster]) -> NDArray[np.int32]:
        from reticent.quantization import _kernels

        sums = np.zeros(len(rosters), dtype=np.int64)
        if self.query in ("min", "max"):
            sign = 1 if self.query == "max" else -1
            sums[:] = min(sign * self.grid.low_units, sign * self.grid.high_units)
            there = readings.present
            _kernels.group_extremes(units[there], readings.groups[there], sign, sums)
            sums *= sign
        elif self.query == "count":
            _kernels.group_sums(readings.taking_part.astype(np.int64), readings.pair_groups, sums)
        else:
            _kernels.group_sums(units, readings.groups, sums)
        codes = np.empty(len(rosters), dtype=np.int32)
        for roster, where in positions(rosters).items():
            plan = self.plan(roster)
            cells = np.empty(where.size, dtype=np.int32)
            _kernels.encode_search(sums[where], plan.thresholds, plan.quantizer.levels, MISSING, MISSING, cells)
            codes[where] = cells
        return codes

    def _answers(self, numbers: NDArray[Any], readings: Readings) -> NDArray[np.int32]:
        assert callable(self.query)
        ends = np.append(readings.firsts, numbers.size)[readings.offsets]
        answers: list[int | Fraction | None] = []
        for start, end in pairwise(ends):
            known = numbers[start:end][readings.present[start:end]].tolist()
            answer = self.query(known) if known else None
            if isinstance(answer, bool | float) or not isinstance(answer, int | Fraction | None):
                raise ArgumentError(
                    f"query: returned {type(answer).__name__}; return an integer or a fraction, as floats are not exact"
                )
            answers.append(answer)
        return self.answer.encode(np.array(answers, dtype=object)).astype(np.int32)

    def _withheld(self, numbers: NDArray[Any], readings: Readings, rosters: Sequence[Roster]) -> NDArray[np.bool_]:
        taking_part = np.bincount(readings.pair_groups, weights=readings.taking_part, minlength=len(rosters))
        fewest = self.rule.at_least if self.rule.at_least > 1 else int(self._needs_somebody)
        withheld = taking_part < fewest
        if self.rule.looks_at_values:
            largest = max(roster.rows for roster in rosters) * self.grid.high_units  # of a total, also for an extreme
            if largest >= SAFE:
                raise ArgumentError("resolution: sums have too many units for exact integers; choose a coarser one")
            contributions = readings.taking_part.astype(np.int64) if self.query == "count" else readings.sums(numbers)
            withheld |= self.rule.withheld(contributions, readings.offsets, largest)
        return withheld

    # --- words and JSON ----------------------------------------------------------------------------------------------

    def describe(self) -> str:
        """Mechanism and guarantee in words."""
        name = self.query if isinstance(self.query, str) else f"answer of {_name(self.query)}"
        rule = "" if self.rule == PublicationRule() else f" It is {self.rule.describe()}."
        return f"The {name} of each group is published as a cell.{rule} {self.guarantee.describe()}"

    def to_dict(self) -> dict[str, Any]:
        """Public parameters; rationals are texts. A callable is written as its name alone."""
        numbers = {
            key: None if value is None else text(value)
            for key, value in (
                ("sensitivity", self.sensitivity),
                ("low", self.low),
                ("high", self.high),
                ("resolution", self.resolution),
                ("fill", self.fill),
            )
        }
        return {
            "kind": "aggregate",
            "query": self.query if isinstance(self.query, str) else {"function": _name(self.query)},
            **numbers,
            "outputs": self.outputs,
            "participation": self.participation,
            "rule": self.rule.to_dict(),
            "outside": self.outside,
            "off_grid": self.off_grid,
            "symbols": self.symbols,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AggregateQuantization:
        """The mechanism that `to_dict` wrote (a named query: functions are not stored)."""
        values = {key: value for key, value in data.items() if key not in ("kind", "rule")}
        if not isinstance(data["query"], str):
            raise ArgumentError("query: a function is not stored in a file; build the mechanism with it again")
        return cls(**values, rule=PublicationRule.from_dict(data["rule"]))


def _name(query: Any) -> str:
    return str(getattr(query, "__name__", type(query).__name__))
