"""Membership in an aggregate: which of two households is in it? (noiseless privacy, Section V-A, after Buescher et al.)

A round of the game: two candidates are drawn, a fair coin says which of them is in the group, and n - 1 others, neither
of the two, complete it. The curator publishes the quantised mean load of the group, instant by instant. The adversary
knows the readings of both candidates, sees the published series, and names one.

What the paper leaves open is settled so:

- The candidates and the others are drawn uniformly, without replacement, among the households with all readings of
  the period, and the period uniformly among those given (a single one: the same period in every round).
- The range is public and stated; readings outside are clipped to it before they are added. The sum is exact, in units
  of a stated resolution, and so is its comparison with the edges.
- The levels: see `RULES`.
- *Correlation*: the candidate whose readings have the larger Pearson correlation with the published series; that with
  a constant series counts as 0. *Mean squared error*: the candidate with the smaller Σ(x_t - y_t)², y_t the midpoint
  of the published cell. *Common peaks*: the candidate with more instants that are peaks of both series; a peak is a run
  of equal values right after a smaller one and right before a smaller one, all its instants count, and it needs both.
- A tie, such as after a constant output, is decided by a fair coin.
- The advantage is 2 Pr[right] - 1, with its sign: the paper takes the absolute value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.attacks.frame import AttackResult, Estimate, Rate
from reticent.errors import ArgumentError
from reticent.quantization import levels_for
from reticent.quantization.exact import Number, text
from reticent.quantization.fixed_point import FixedPoint
from reticent.randomness import Source, seeded_source

Units = NDArray[np.int64]
Progress = Callable[[int, int], None]

ADVERSARIES = ("correlation", "mean squared error", "common peaks")
RULES = {
    "sound": "the most levels of which one household meets at most 2^ε (`levels_for`)",
    "published": "n·2^ε levels, as the paper's Theorem 8 allows: one cell more may be met",
    "few": "2^ε levels in all, as many as if a household published alone",
}
ROUNDS = 10_000
SIZES = (2, 4, 8, 16)
BITS = tuple(range(9))
_BLOCK = 500
_SAFE = 2**62
_TRAINED = "nothing: it has no parameters"
_KNOWS = (
    "the exact readings of both candidates at the published instants, the mechanism, and that exactly one of them "
    "takes part; nothing of the others"
)


@dataclass(frozen=True, eq=False)
class Profiles:
    """Readings of households in units of the resolution, counted from the low end of the range.

    Attributes
    ----------
    title : str
        What a reading is.
    units : int64, shape (periods, households, steps)
    complete : bool, shape (periods, households)
        Whether all readings of the household in that period are there.
    grid : FixedPoint
        The public range and resolution.
    """

    title: str
    units: Units
    complete: NDArray[np.bool_]
    grid: FixedPoint

    @classmethod
    def of(cls, title: str, readings: ArrayLike, low: Number, high: Number, resolution: Number) -> Profiles:
        """From readings, shape (households, periods, steps); NaN is missing. Outside is clipped, between is rounded."""
        array = np.moveaxis(np.asarray(readings, dtype=np.float64), 0, 1)
        grid = FixedPoint(low, high, resolution, "clip", "round")
        units, present = grid.units(array.reshape(-1))
        units = units.reshape(array.shape) - grid.low_units
        return cls(title, units, np.asarray(present.reshape(array.shape).all(axis=2)), grid)

    @property
    def households(self) -> int:
        """How many there are."""
        return self.units.shape[1]


@dataclass(frozen=True)
class Publication:
    """What the curator publishes of the mean of `n`: equal cells over the public range.

    Attributes
    ----------
    rule : str
        One of `RULES`, or where else the levels come from.
    n : int
    bits : float
        What was promised.
    levels : int
    width : int
        Of the range, in units of a reading.
    """

    rule: str
    n: int
    bits: float
    levels: int
    width: int

    @classmethod
    def by(cls, rule: str, grid: FixedPoint, n: int, bits: int) -> Publication:
        """The publication that a rule allows.

        Raises
        ------
        ArgumentError
            If there is no such rule.
        """
        if rule not in RULES:
            raise ArgumentError(f"rule: must be one of {', '.join(RULES)}")
        sound = levels_for((grid.high - grid.low) / n, grid.low, grid.high, bits=bits)
        levels = {"sound": sound, "published": n * 2**bits, "few": 2**bits}[rule]
        return cls(rule, n, bits, levels, grid.high_units - grid.low_units)

    @cached_property
    def thresholds(self) -> Units:
        """Smallest sum of `n` readings in each cell, and the one above them all: the exact edges i·n·width / levels."""
        edges = np.arange(self.levels + 1) * (self.n * self.width)
        found = -(-edges // self.levels)
        found[-1] += 1  # the last cell is closed
        return found

    @property
    def midpoints(self) -> tuple[Units, int]:
        """Symbols of the cells in units of a reading: numerators, and their denominator."""
        return (2 * np.arange(self.levels) + 1) * self.width, 2 * self.levels

    def encode(self, sums: Units) -> Units:
        """The cell of each exact sum of `n` readings, in units from the low end."""
        from reticent.quantization import _kernels

        codes = np.empty(sums.size, dtype=np.int64)
        _kernels.encode_search(sums.reshape(-1), self.thresholds, self.levels, 0, self.levels - 1, codes)
        return codes.reshape(sums.shape)


def membership(
    profiles: Profiles,
    sizes: Sequence[int] = SIZES,
    bits: Sequence[int] = BITS,
    rules: Sequence[str] = tuple(RULES),
    rounds: int = ROUNDS,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[AttackResult]:
    """Play the game; one result for each adversary, group size, rule and budget, all from the same rounds.

    Parameters
    ----------
    profiles : Profiles
    sizes : sequence of int
        Group sizes n.
    bits : sequence of int
        Budgets ε of one published mean.
    rules : sequence of str
        Of `RULES`.
    rounds : int
    seed : int
        The same seed plays the same rounds.
    progress : callable, optional
        Called with the rounds played and the rounds in all.

    Returns
    -------
    list of AttackResult
        Advantages with Wilson's interval over the rounds; control: the exact mean; baseline: a coin. The intervals
        speak of the game on these households, not of other households.

    Raises
    ------
    ArgumentError
        If no period has households enough, or the numbers are too large for exact integers.
    """
    published = {n: [Publication.by(rule, profiles.grid, n, each) for rule in rules for each in bits] for n in sizes}
    return play(profiles, published, rounds, seeded_source(seed), progress)


def play(
    profiles: Profiles,
    published: Mapping[int, Sequence[Publication]],
    rounds: int,
    source: Source,
    progress: Progress | None = None,
) -> list[AttackResult]:
    """The game against given publications, by group size; see `membership`."""
    sizes = tuple(published)
    periods = np.flatnonzero(profiles.complete.sum(axis=1) > max(sizes))
    if not periods.size:
        raise ArgumentError(
            f"profiles: no period has {max(sizes) + 1} households with all readings; give more, or smaller sizes"
        )
    _check_magnitudes(profiles, [each for group in published.values() for each in group])
    shape = {n: (len(group) + 1, len(ADVERSARIES)) for n, group in published.items()}
    right = {n: np.zeros(shape[n], dtype=np.int64) for n in sizes}
    ties = {n: np.zeros(shape[n], dtype=np.int64) for n in sizes}
    played = 0
    while played < rounds:
        block = Block.draw(profiles, periods, max(sizes), min(_BLOCK, rounds - played), source)
        for n, group in published.items():
            for k, preferred in enumerate(block.preferences(n, group)):
                guesses = np.where(preferred == 0, block.coins, preferred > 0)
                right[n][k] += (guesses == block.second).sum(axis=1)
                ties[n][k] += (preferred == 0).sum(axis=1)
        played += block.second.size
        if progress:
            progress(played, rounds)
    return [
        _result(profiles, each, adversary, right[n][[k, -1], a], ties[n][k, a], rounds)
        for n, group in published.items()
        for k, each in enumerate(group)
        for a, adversary in enumerate(ADVERSARIES)
    ]


@dataclass(frozen=True, eq=False)
class Block:
    """Rounds of the game.

    Attributes
    ----------
    loads : int64, shape (2, rounds, steps)
        Of the candidates.
    others : int64, shape (others, rounds, steps)
    second : bool, shape (rounds,)
        Whether the second candidate takes part.
    coins : bool, shape (adversaries, rounds)
        What each adversary says in a tie.
    """

    loads: Units
    others: Units
    second: NDArray[np.bool_]
    coins: NDArray[np.bool_]

    @classmethod
    def draw(cls, profiles: Profiles, periods: Units, most: int, rounds: int, source: Source) -> Block:
        """Periods, households and coins. A 64-bit word a household orders them: the first ones are drawn."""
        words = source.words(rounds * (profiles.households + 2))
        keys = words[2 * rounds :].reshape(rounds, profiles.households).copy()
        chosen = periods[(words[:rounds] % np.uint64(periods.size)).astype(np.int64)]
        keys[~profiles.complete[chosen]] = np.iinfo(np.uint64).max
        order = np.argsort(keys, axis=1)[:, : most + 1]
        loads = profiles.units[chosen[:, None], order]  # (rounds, most + 1, steps)
        loads = np.ascontiguousarray(np.moveaxis(loads, 1, 0))
        flips = words[rounds : 2 * rounds]
        bits = [(flips >> np.uint64(k)) & np.uint64(1) == 1 for k in range(1 + len(ADVERSARIES))]
        return cls(loads[:2], loads[2:], bits[0], np.array(bits[1:]))

    def preferences(self, n: int, group: Sequence[Publication]) -> Iterator[NDArray[np.int8]]:
        """What the adversaries prefer after each publication of the mean of n, and at last after the exact mean."""
        from reticent.attacks import _kernels

        rounds = np.arange(self.second.size)
        sums = self.loads[self.second.astype(np.int64), rounds] + self.others[: n - 1].sum(axis=0)
        load_peaks = np.array([_peaks(each) for each in self.loads])
        for each in group:
            codes = each.encode(sums)
            midpoints, scale = each.midpoints
            yield _kernels.compare_candidates(self.loads, load_peaks, codes, _peaks(codes), midpoints[codes], scale)
        yield _kernels.compare_candidates(self.loads, load_peaks, sums, _peaks(sums), sums, n)


def _peaks(series: Units) -> NDArray[np.bool_]:
    from reticent.attacks import _kernels

    peaks = np.zeros(series.shape, dtype=np.bool_)
    _kernels.mark_peaks(series, peaks)
    return peaks


def _check_magnitudes(profiles: Profiles, group: Sequence[Publication]) -> None:
    steps, reach = profiles.units.shape[2], profiles.grid.high_units - profiles.grid.low_units
    squares = max(max(each.n, 2 * each.levels) for each in group) * reach**2 * steps * 3
    products = max(max(each.n * reach, each.levels) for each in group) * reach * steps**2 * 2
    edges = max(each.n * each.levels for each in group) * reach
    if max(squares, products, edges) >= _SAFE:
        raise ArgumentError("resolution: sums have too many units for exact integers; choose a coarser one")


def _result(
    profiles: Profiles, each: Publication, adversary: str, right: Units, ties: Any, rounds: int
) -> AttackResult:
    nothing = each.bits == 0
    protected, control = (Rate(int(count), rounds).advantage_estimate() for count in right)
    reason = (
        "at 0 bits whoever takes part changes nothing that is published."
        if nothing
        else "one household may produce two answers or more, and two are enough to tell two candidates apart."
    )
    settings = {
        "readings": profiles.title,
        "households": profiles.households,
        "range": f"[{text(profiles.grid.low)}, {text(profiles.grid.high)}]",
        "n": each.n,
        "bits": each.bits,
        "rule": each.rule,
        "levels": each.levels,
        "ties": float(ties) / rounds,
    }
    return AttackResult(
        f"membership by {adversary}",
        "advantage",
        protected,
        control,
        Estimate.exact(0.0),
        0.0 if nothing else None,
        reason,
        _TRAINED,
        _KNOWS,
        settings,
    )
