"""Load disaggregation: which appliances are on, from the load of the house (noiseless privacy, Section V-B).

*Combinatorial optimisation* (Hart 1992; the benchmark of NILMTK): an appliance is off or in one of a few states, each
with a power; so is the rest of the house. At each instant those states are named whose powers add up to the number
nearest to what was published. The powers are learnt on a month with sub-meters, by exact k-means of the power while on.

*Cell by cell*: an adversary that learnt, on the same month, how often each appliance is on when a cell is published. It
names the cells that give the best f-score there: no adversary who looks at one instant at a time does better on that
month. It may coarsen what it sees, and does, to at most 256 cells, so that a month is enough to learn from.

What the paper leaves open is settled so: the range is public, readings outside are clipped, and the midpoint of the
cell is published; an appliance is on above 20 W; of two sums equally near the smaller is taken; instants without a
mains reading are left out; the numbers of states are those that give the best mean f-score on the training month,
unprotected. The f-score of an appliance is 2·TP / (2·TP + FP + FN) over all instants of the test; its interval is a
bootstrap of days.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.attacks.frame import AttackResult, Estimate
from reticent.errors import ArgumentError
from reticent.quantization import LocalQuantization, Quantizer
from reticent.quantization.exact import Number

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Progress = Callable[[int, int], None]

ON = 20.0  # watts
BITS = tuple(range(11))
ON_STATES = (1, 2, 3)
REST_STATES = (1, 2, 3, 4)
_FINEST = 8  # bits of the cells of the adversary that learns cell by cell
_KNOWS = (
    "the mechanism, which appliances there are, and the load of the house and of each of them in the training period"
)
_NO_BOUND = "it counts the answers that a reading can give, and two are enough to tell on from off."


@dataclass(frozen=True, eq=False)
class House:
    """Instants with a mains reading.

    Attributes
    ----------
    names : tuple of str
        Of the appliances.
    mains : float64, shape (instants,)
        Watts.
    appliances : float64, shape (instants, appliances)
        Watts.
    days : int64, shape (instants,)
        Day of each instant.
    """

    names: tuple[str, ...]
    mains: Floats
    appliances: Floats
    days: NDArray[np.int64]

    @classmethod
    def of(cls, names: Sequence[str], mains: ArrayLike, appliances: ArrayLike, days: ArrayLike) -> House:
        """Leave out the instants whose mains reading is missing or zero, or an appliance's missing.

        Raises
        ------
        ArgumentError
            If nothing is left, or the shapes do not fit.
        """
        load, parts = np.asarray(mains, dtype=np.float64), np.asarray(appliances, dtype=np.float64)
        if parts.shape != (load.size, len(names)):
            raise ArgumentError("appliances: give one column an appliance and one row a mains reading")
        kept = (load > 0) & ~np.isnan(parts).any(axis=1)
        if not kept.any():
            raise ArgumentError("mains: there is no instant with a mains reading and all appliances; give more data")
        return cls(tuple(names), load[kept], parts[kept], np.asarray(days, dtype=np.int64)[kept])

    @property
    def on(self) -> Flags:
        """Which appliance is on when, shape (instants, appliances)."""
        return np.asarray(self.appliances > ON)


class Adversary(Protocol):
    """From published loads to the appliances that it takes to be on."""

    def guess(self, published: Floats) -> Flags: ...


@dataclass(frozen=True, eq=False)
class Combinations:
    """Combinatorial optimisation.

    Attributes
    ----------
    sums : float64, shape (sums,), increasing
        Power of a combination of states.
    on : bool, shape (sums, appliances)
        Which appliances are on in it; of combinations with the same sum, the one with the fewest.
    states : tuple of tuples
        Powers of each appliance while on, and of the rest.
    """

    sums: Floats
    on: Flags
    states: tuple[tuple[float, ...], ...]

    @classmethod
    def learnt(cls, training: House, on_states: int, rest_states: int) -> Combinations:
        """With so many states of each appliance while on, and of the rest of the house."""
        rest = np.maximum(training.mains - training.appliances.sum(axis=1), 0.0)
        powers = [k_means(column[column > ON], on_states) for column in training.appliances.T]
        choices = [(0.0, *each) for each in powers]
        return cls.of([*choices, k_means(rest, rest_states)])

    @classmethod
    def of(cls, states: Sequence[Sequence[float]]) -> Combinations:
        """From the powers of each appliance, off first, and of the rest last."""
        places = list(product(*(range(len(each)) for each in states)))
        sums = np.array([sum(each[k] for each, k in zip(states, place, strict=True)) for place in places])
        on = np.array(places)[:, :-1] > 0
        order = np.lexsort((on.sum(axis=1), sums))
        first = np.unique(sums[order], return_index=True)[1]
        return cls(sums[order][first], on[order][first], tuple(tuple(each) for each in states))

    @classmethod
    def tuned(cls, training: House) -> Combinations:
        """With the numbers of states that give the best mean f-score on the training period."""
        tried = [cls.learnt(training, on, rest) for on in ON_STATES for rest in REST_STATES]
        scores = [f_scores(each.guess(training.mains), training.on).mean() for each in tried]
        return tried[int(np.argmax(scores))]

    def guess(self, published: Floats) -> Flags:
        """The nearest sum, found once for each value that occurs."""
        values, places = np.unique(published, return_inverse=True)
        above = np.minimum(np.searchsorted(self.sums, values), self.sums.size - 1)
        below = np.maximum(above - 1, 0)
        nearest = np.where(values - self.sums[below] <= self.sums[above] - values, below, above)
        return np.asarray(self.on[nearest][places])


@dataclass(frozen=True, eq=False)
class Cells:
    """Cell by cell.

    Attributes
    ----------
    quantizer : Quantizer
        To what it coarsens what it sees.
    on : bool, shape (levels, appliances)
        Which appliances it takes to be on in a cell.
    """

    quantizer: Quantizer
    on: Flags

    @classmethod
    def learnt(cls, quantizer: Quantizer, published: Floats, truth: Flags) -> Cells:
        """Cells in the order of how often the appliance is on in them, as many as give the best f-score."""
        codes = quantizer.encode(published)
        seen = np.bincount(codes, minlength=quantizer.levels)
        on = np.zeros((quantizer.levels, truth.shape[1]), dtype=np.bool_)
        for k, column in enumerate(truth.T):
            hits = np.bincount(codes, weights=column, minlength=quantizer.levels)
            order = np.argsort(-hits / np.maximum(seen, 1), kind="stable")
            scores = 2 * hits[order].cumsum() / np.maximum(seen[order].cumsum() + column.sum(), 1)
            on[order[: int(np.argmax(scores)) + 1], k] = True
        return cls(quantizer, on)

    def guess(self, published: Floats) -> Flags:
        """What was learnt for the cell."""
        return np.asarray(self.on[self.quantizer.encode(published)])


def k_means(values: Floats, count: int) -> tuple[float, ...]:
    """The centres of the exact one-dimensional k-means of values rounded to whole units, by dynamic programming.

    Parameters
    ----------
    values : float64, shape (n,)
    count : int
        Of clusters; fewer if there are fewer distinct values.

    Returns
    -------
    tuple of float, increasing
        Empty if there are no values.
    """
    points, weights = np.unique(np.rint(values), return_counts=True)
    size = points.size
    if not size:
        return ()
    moments = [np.concatenate([[0.0], np.cumsum(weights * points**power)]) for power in range(3)]

    def cost(start: Any, end: Any) -> Any:
        """Squared error of points start … end − 1 about their mean."""
        mass, first, second = (moment[end] - moment[start] for moment in moments)
        return second - first**2 / mass

    best = np.concatenate([[0.0], cost(0, np.arange(1, size + 1))])
    cuts = []
    for clusters in range(2, min(count, size) + 1):
        cut = np.zeros(size + 1, dtype=np.int64)
        following = np.full(size + 1, np.inf)
        for end in range(clusters, size + 1):
            starts = np.arange(clusters - 1, end)
            errors = best[starts] + cost(starts, end)
            cut[end] = starts[errors.argmin()]
            following[end] = errors.min()
        cuts.append(cut)
        best = following
    ends = [size]
    for cut in reversed(cuts):
        ends.append(int(cut[ends[-1]]))
    bounds = [0, *reversed(ends)]
    return tuple(float((moments[1][b] - moments[1][a]) / (moments[0][b] - moments[0][a])) for a, b in pairwise(bounds))


def f_scores(guessed: Flags, truth: Flags) -> Floats:
    """f-score of each appliance; 0 where it is neither on nor named."""
    hits = (guessed & truth).sum(axis=0)
    return np.asarray(2 * hits / np.maximum(guessed.sum(axis=0) + truth.sum(axis=0), 1))


def disaggregation(
    training: House,
    testing: House,
    low: Number,
    high: Number,
    bits: Sequence[int] = BITS,
    progress: Progress | None = None,
) -> list[AttackResult]:
    """Both adversaries against every budget; one result for each of them, appliance and budget.

    Parameters
    ----------
    training, testing : House
        Of the same appliances.
    low, high : number
        Public range of the load (watts).
    bits : sequence of int
        Budgets ε of one reading.
    progress : callable, optional
        Called with the budgets done and the budgets in all.

    Returns
    -------
    list of AttackResult
        f-scores with a bootstrap interval over days; control: the load itself; baseline: to call the appliance on at
        all times, which is the best that can be said without looking.

    Raises
    ------
    ArgumentError
        If the appliances differ, or there are fewer than two days to test on.
    """
    if training.names != testing.names:
        raise ArgumentError("testing: has other appliances than training; give the same ones in the same order")
    combinations = Combinations.tuned(training)
    days = np.unique(testing.days, return_inverse=True)[1]
    finest = LocalQuantization(low, high, bits=_FINEST, outside="clip").quantizer

    def published(house: House, budget: int) -> Floats:
        mechanism = LocalQuantization(low, high, bits=budget, outside="clip")
        return np.asarray(mechanism.release(house.mains), dtype=np.float64)

    def learnt(loads: Floats, budget: int) -> Cells:
        cells = finest if budget >= _FINEST else LocalQuantization(low, high, bits=budget, outside="clip").quantizer
        return Cells.learnt(cells, loads, training.on)

    def scored(guessed: Flags) -> list[Estimate]:
        return [_score(guessed[:, k], testing.on[:, k], days) for k in range(len(testing.names))]

    baseline = scored(np.ones_like(testing.on))
    controls = {
        "combinatorial optimisation": scored(combinations.guess(testing.mains)),
        "cell by cell": scored(learnt(training.mains, _FINEST).guess(testing.mains)),
    }
    results: list[AttackResult] = []
    for done, budget in enumerate(bits, 1):
        adversaries: dict[str, Adversary] = {
            "combinatorial optimisation": combinations,
            "cell by cell": learnt(published(training, budget), budget),
        }
        loads = published(testing, budget)
        for name, adversary in adversaries.items():
            scores = scored(adversary.guess(loads))
            results += [
                AttackResult(
                    f"disaggregation, {name}",
                    "f-score",
                    scores[k],
                    controls[name][k],
                    baseline[k],
                    None,
                    _NO_BOUND,
                    f"{training.mains.size:,} instants of the same house with sub-meters",
                    _KNOWS,
                    {"appliance": appliance, "bits": budget, "outputs": 2**budget, "range": f"[{low}, {high}]"},
                )
                for k, appliance in enumerate(testing.names)
            ]
        if progress:
            progress(done, len(bits))
    return results


def _score(guessed: Flags, truth: Flags, days: NDArray[np.int64]) -> Estimate:
    hits, named, on = (np.bincount(days, weights=flags) for flags in (guessed & truth, guessed, truth))
    return Estimate.bootstrapped([hits, named + on], _f_score)


def _f_score(hits: Floats, either: Floats, axis: int) -> Any:
    return 2 * hits.sum(axis=axis) / np.maximum(either.sum(axis=axis), 1)
