"""What all attacks share: a measure with its interval, and an attack beside its control, its baseline and its bound.

A guarantee says what no adversary can do; an attack shows what one adversary does. So each attack is run on protected
data, on unprotected data (the *control*: does it work at all?), and beside guessing (the *baseline*).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from reticent.errors import ArgumentError

LEVEL = 0.95
RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A measure with its interval, from a number of independent units (rounds, days, series).

    Parameters
    ----------
    value, low, high : float
        In the unit of the measure, low ≤ value ≤ high; NaN where there is none.
    trials : int
    """

    value: float
    low: float
    high: float
    trials: int

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Itself: so a `Rate` and an `Estimate` are read alike (`level` was settled when it was made)."""
        return self

    @classmethod
    def exact(cls, value: float, trials: int = 0) -> Estimate:
        """A value that is known without sampling."""
        return cls(value, value, value, trials)

    @classmethod
    def bootstrapped(
        cls,
        samples: Sequence[Any],
        statistic: Callable[..., Any],
        level: float = LEVEL,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> Estimate:
        """Percentile bootstrap over the units, all samples of a unit drawn together (`scipy.stats.bootstrap`).

        Parameters
        ----------
        samples : sequence of arrays, shape (units,) each
            What was counted in each unit.
        statistic : callable
            From the samples, resampled, and ``axis=`` to the measure along that axis.
        level : float
        resamples : int
        seed : int
            So that the same data always give the same interval.

        Raises
        ------
        ArgumentError
            If there are fewer than two units.
        """
        import numpy as np
        from scipy import stats

        arrays = tuple(np.asarray(sample, dtype=np.float64) for sample in samples)
        units = len(arrays[0])
        if units < 2:
            raise ArgumentError(f"samples: an interval takes at least two units, not {units}; give more data")
        value = float(statistic(*arrays, axis=-1))
        found = stats.bootstrap(
            arrays,
            statistic,
            n_resamples=resamples,
            batch=max(1, 4_000_000 // units),
            confidence_level=level,
            paired=True,
            vectorized=True,
            method="percentile",
            rng=np.random.default_rng(seed),
        ).confidence_interval
        return cls(value, min(float(found.low), value), max(float(found.high), value), units)


@dataclass(frozen=True)
class Rate:
    """So many successes in so many independent trials.

    Raises
    ------
    ArgumentError
        If there is no trial, or the successes are not between 0 and the trials.
    """

    successes: int
    trials: int

    def __post_init__(self) -> None:
        if self.trials < 1 or not 0 <= self.successes <= self.trials:
            raise ArgumentError("successes, trials: give at least one trial, and successes between 0 and the trials")

    @property
    def rate(self) -> float:
        """Share of successes."""
        return self.successes / self.trials

    def wilson(self, level: float = LEVEL) -> tuple[float, float]:
        """Wilson's interval of the rate (`scipy.stats.binomtest`)."""
        return _wilson(self.successes, self.trials, level)

    @property
    def advantage(self) -> float:
        """2·rate − 1: of a guess between two equally likely candidates, 0 by a coin and 1 if always right."""
        return 2 * self.rate - 1

    def advantage_interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Wilson's interval, of the advantage."""
        low, high = self.wilson(level)
        return 2 * low - 1, 2 * high - 1

    def estimate(self, level: float = LEVEL) -> Estimate:
        """The rate with Wilson's interval."""
        return Estimate(self.rate, *self.wilson(level), self.trials)

    def advantage_estimate(self, level: float = LEVEL) -> Estimate:
        """The advantage with Wilson's interval."""
        return Estimate(self.advantage, *self.advantage_interval(level), self.trials)


@lru_cache(maxsize=1024)  # a control is told beside many results, and SciPy also works out a p-value each time
def _wilson(successes: int, trials: int, level: float) -> tuple[float, float]:
    from scipy.stats import binomtest

    found = binomtest(successes, trials).proportion_ci(level, method="wilson")
    return float(found.low), float(found.high)


Measure: TypeAlias = Rate | Estimate


@dataclass(frozen=True)
class AttackResult:
    """What an adversary gains.

    Parameters
    ----------
    name : str
        Of the attack, such as ``"membership by correlation"``.
    measure : str
        What is measured, such as ``"advantage"``, ``"f-score"``, ``"share put back in place"``.
    protected, control, baseline : Rate or Estimate
        The same measure on protected data, on unprotected data, and by guessing.
    bound : float, optional
        What the guarantee implies for `protected`, in the unit of the measure; None where it implies nothing.
    bound_reason : str
        One sentence: why it is the bound, or why there is none.
    trained, knows : str
        How the adversary was trained, and what it is assumed to know: each continues a sentence ("It was trained on …",
        "It knows …").
    settings : mapping
        Public parameters of mechanism and attack, for tables.
    """

    name: str
    measure: str
    protected: Measure
    control: Measure
    baseline: Measure
    bound: float | None
    bound_reason: str
    trained: str
    knows: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def within_bound(self) -> bool | None:
        """False only if the whole interval lies above the bound; None where there is no bound."""
        return None if self.bound is None else self.protected.estimate().low <= self.bound

    def describe(self) -> str:
        """In plain words."""
        bound = "no bound" if self.bound is None else f"at most {self.bound:.3g}"
        return (
            f"{self.name}, {self.measure}: {_told(self.protected)} on protected data, {_told(self.control)} on "
            f"unprotected data, {_told(self.baseline)} by guessing. The guarantee implies {bound}: {self.bound_reason} "
            f"The adversary was trained on {self.trained}. It knows {self.knows}."
        )

    def row(self) -> dict[str, Any]:
        """One row of a table: flat, the settings included; the bound is None where there is none."""
        measured = {
            key: number
            for name in ("protected", "control", "baseline")
            for key, number in _columns(name, getattr(self, name).estimate()).items()
        }
        return {"attack": self.name, **self.settings, "measure": self.measure, **measured, "bound": self.bound}


def _columns(name: str, estimate: Estimate) -> dict[str, Any]:
    return {
        name: estimate.value,
        f"{name}_low": estimate.low,
        f"{name}_high": estimate.high,
        f"{name}_trials": estimate.trials,
    }


def _told(measure: Measure) -> str:
    estimate = measure.estimate()
    if estimate.low == estimate.high:
        return f"{estimate.value:.3g}"
    return f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g}, {estimate.trials:,} trials)"
