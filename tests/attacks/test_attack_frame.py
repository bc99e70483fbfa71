"""Rates, intervals, and the words of a result."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from reticent.attacks import AttackResult, Estimate, Rate
from reticent.errors import ArgumentError


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),  # Newcombe 1998, table I, method 3 (Wilson without continuity correction)
        (1, 29, 0.0061, 0.1718),
        (15, 148, 0.0624, 0.1605),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_intervals_as_published(successes: int, trials: int, low: float, high: float) -> None:
    assert Rate(successes, trials).wilson() == pytest.approx((low, high), abs=5e-5)


def test_an_advantage_is_a_rate_stretched() -> None:
    rate = Rate(75, 100)
    low, high = rate.wilson(0.9)
    assert rate.advantage == 0.5
    assert rate.advantage_interval(0.9) == (2 * low - 1, 2 * high - 1)
    assert rate.estimate(0.9) == Estimate(0.75, low, high, 100)
    assert rate.advantage_estimate().value == 0.5
    assert Rate(5, 10).advantage == 0


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (-1, 3), (4, 3)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ArgumentError, match="successes, trials"):
        Rate(successes, trials)


def _ratio(top: np.ndarray, bottom: np.ndarray, axis: int) -> np.ndarray:
    return top.sum(axis=axis) / bottom.sum(axis=axis)


def test_a_bootstrap_covers_what_a_plain_loop_covers() -> None:
    rng = np.random.default_rng(3)
    top, bottom = rng.poisson(20, 40).astype(float), rng.poisson(40, 40).astype(float)
    found = Estimate.bootstrapped([top, bottom], _ratio)
    drawn = (rng.integers(0, 40, 40) for _ in range(4000))
    ratios = [top[units].sum() / bottom[units].sum() for units in drawn]
    assert found.value == top.sum() / bottom.sum()
    assert found.trials == 40
    assert (found.low, found.high) == pytest.approx(np.quantile(ratios, [0.025, 0.975]), abs=0.01)
    assert found == Estimate.bootstrapped([top, bottom], _ratio)  # the same data, the same interval


def test_a_bootstrap_of_equal_units_is_a_point_and_of_one_is_refused() -> None:
    found = Estimate.bootstrapped([np.ones(5), np.full(5, 4.0)], _ratio)
    assert (found.low, found.value, found.high) == (0.25, 0.25, 0.25)
    with pytest.raises(ArgumentError, match="at least two units, not 1"):
        Estimate.bootstrapped([np.ones(1)], lambda x, axis: x.sum(axis=axis))


def _result(bound: float | None, protected: Rate | Estimate) -> AttackResult:
    return AttackResult(
        "a test",
        "success rate",
        protected,
        Rate(90, 100),
        Estimate.exact(0.5),
        bound,
        "so it is proved.",
        "nothing",
        "the chain",
        {"bits": 2},
    )


def test_a_result_tells_everything_in_words_and_in_a_row() -> None:
    result = _result(None, Rate(60, 100))
    told = result.describe()
    for part in (
        "a test",
        "0.6 (0.502 to 0.691, 100 trials)",
        "0.9 (",
        "0.5 by guessing",
        "no bound",
        "so it is proved.",
    ):
        assert part in told
    assert "It knows the chain." in told
    row = result.row()
    assert row["bits"] == 2
    assert (row["protected"], row["protected_trials"], row["control"], row["baseline"]) == (0.6, 100, 0.9, 0.5)
    assert row["bound"] is None
    assert result.within_bound is None


def test_only_a_whole_interval_above_the_bound_breaks_it() -> None:
    assert _result(0.55, Rate(60, 100)).within_bound is True
    assert _result(0.49, Rate(60, 100)).within_bound is False


def test_the_frame_loads_nothing_heavy() -> None:
    code = "import sys, reticent.attacks; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "numba"} & set(loaded)
