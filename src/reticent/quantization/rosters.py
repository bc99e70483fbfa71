"""Who is in a group: public and fixed beforehand. And the readings of many groups, checked against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError, InputError
from reticent.quantization.fixed_point import Flags, Units


@dataclass(frozen=True, init=False)
class Roster:
    """The public geometry of a group.

    Parameters
    ----------
    individuals : int
        How many individuals the group has, whether or not they have data.
    rows : int, optional
        Readings of the whole group: as many as individuals by default.
    most_rows : int, optional
        The most readings of one individual: its share of the group is most_rows / rows. One by default.

    Raises
    ------
    ArgumentError
        Numbers that no group can have.
    """

    individuals: int
    rows: int
    most_rows: int

    def __init__(self, individuals: int, rows: int | None = None, most_rows: int = 1) -> None:
        rows = individuals if rows is None else rows
        for name, value in (("individuals", individuals), ("rows", rows), ("most_rows", most_rows)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ArgumentError(f"{name}: must be an integer, one or more")
        if not max(individuals, most_rows) <= rows <= individuals * most_rows:
            raise ArgumentError("rows: must lie between individuals and individuals × most_rows; state most_rows")
        object.__setattr__(self, "individuals", int(individuals))
        object.__setattr__(self, "rows", int(rows))
        object.__setattr__(self, "most_rows", int(most_rows))


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of many groups, in the order of (group, individual).

    Attributes
    ----------
    present : bool, shape (rows,)
    groups : int64, shape (rows,)
        Group of each row.
    order : int64, shape (rows,)
        Where each row stood in the input.
    firsts : int64, shape (pairs,)
        First row of each pair of a group and one of its individuals.
    offsets : int64, shape (groups + 1,)
        Group g has the pairs offsets[g] … offsets[g + 1] − 1.
    """

    present: Flags
    groups: NDArray[np.int64]
    order: NDArray[np.int64]
    firsts: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def arrange(cls, present: Flags, groups: NDArray[np.int64], individuals: ArrayLike | None, count: int) -> Readings:
        """Sort by (group, individual) where that is needed; without individuals each row is one of its own."""
        people = np.arange(present.size) if individuals is None else np.asarray(individuals)
        if people.shape != present.shape or (people.size and people.dtype.kind not in "iu"):
            raise ArgumentError("individuals: give one integer code a row")
        step = np.diff(groups)
        sorted_already = bool(((step > 0) | ((step == 0) & (people[1:] >= people[:-1]))).all())
        order = np.arange(present.size) if sorted_already else np.lexsort((people, groups))
        groups, people = groups[order], people[order]
        new = np.ones(present.size, dtype=bool)
        new[1:] = (groups[1:] != groups[:-1]) | (people[1:] != people[:-1])
        firsts = np.flatnonzero(new)
        offsets = np.searchsorted(groups[firsts], np.arange(count + 1))
        return cls(present[order], groups, order, firsts, offsets)

    @property
    def taking_part(self) -> Flags:
        """Whether each pair's individual has a reading, shape (pairs,)."""
        return _reduce(np.logical_or, self.present, self.firsts)

    def sums(self, units: Units) -> Units:
        """Sum of each pair's units (given in this order), shape (pairs,)."""
        return _reduce(np.add, units, self.firsts)

    @property
    def pair_groups(self) -> NDArray[np.int64]:
        return self.groups[self.firsts]

    def check(self, rosters: Sequence[Roster], *, complete: bool) -> None:
        """Refuse readings that are not of these rosters: more than they hold or, if `complete`, other than they hold.

        Raises
        ------
        InputError
            It says how many groups are wrong, never which.
        """
        limits = np.array([(roster.rows, roster.individuals, roster.most_rows) for roster in rosters], dtype=np.int64)
        limits = limits.reshape(-1, 3)
        rows = np.bincount(self.groups, minlength=len(rosters))
        people = np.diff(self.offsets)
        crowded = np.diff(np.append(self.firsts, self.groups.size)) > limits[self.pair_groups, 2]
        wrong = (rows > limits[:, 0]) | (people > limits[:, 1])
        wrong[self.pair_groups[crowded]] = True
        if wrong.any():
            raise InputError(
                f"values: {int(wrong.sum())} of {len(rosters)} groups have more rows or individuals than their roster; "
                "state the roster as it is"
            )
        short = (rows < limits[:, 0]) | (people < limits[:, 1])
        if complete and short.any():
            raise InputError(
                f"values: {int(short.sum())} of {len(rosters)} groups lack rows of their roster; give each of them, as "
                "missing if need be, or choose participation='private'"
            )


def group_codes(groups: ArrayLike | None, rows: int, count: int) -> NDArray[np.int64]:
    """The group of each row, checked; all in one group if None."""
    if groups is None and count > 1:
        raise ArgumentError(f"groups: there are {count} rosters; give the group of each row")
    codes = np.zeros(rows, dtype=np.int64) if groups is None else np.asarray(groups)
    if codes.shape != (rows,) or (rows and codes.dtype.kind not in "iu"):
        raise ArgumentError("groups: give one integer code a row")
    if rows and not 0 <= int(codes.min()) <= int(codes.max()) < count:
        raise ArgumentError(f"groups: codes must lie between 0 and {count - 1}, one a roster")
    return codes.astype(np.int64)


def positions(rosters: Sequence[Roster]) -> dict[Roster, NDArray[np.int64]]:
    """Which groups have each roster."""
    places: dict[Roster, list[int]] = {}
    for group, roster in enumerate(rosters):
        places.setdefault(roster, []).append(group)
    return {roster: np.array(where) for roster, where in places.items()}


def _reduce(function: Any, values: NDArray[Any], firsts: NDArray[np.int64]) -> NDArray[Any]:
    return function.reduceat(values, firsts) if firsts.size else values[:0]
