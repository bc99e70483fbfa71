"""The membership game: exact cells, a slow twin, and data on which it must succeed and must fail."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from reticent.attacks import membership as game
from reticent.errors import ArgumentError
from reticent.quantization import AggregateQuantization, Roster, levels_for
from reticent.quantization.fixed_point import FixedPoint
from reticent.randomness import seeded_source

GRID = FixedPoint("0", "10", "0.01", "clip", "round")
STEPS = 24


def _profiles(readings: np.ndarray, high: str = "10") -> game.Profiles:
    return game.Profiles.of("tests", readings, 0, high, "0.01")


def _random(households: int = 12, periods: int = 3, seed: int = 0) -> game.Profiles:
    rng = np.random.default_rng(seed)
    return _profiles(rng.gamma(1.0, 1.5, (households, periods, STEPS)))


# --- exact cells -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "bits"), [(4, 1), (3, 2), (7, 3)])
def test_the_sound_cells_are_those_of_the_library(n: int, bits: int) -> None:
    rng = np.random.default_rng(n)
    readings = rng.integers(0, 1001, (500, n))
    readings[::3] = readings[::3] // 50 * 50  # many on the edges
    library = AggregateQuantization("mean", low=0, high=10, bits=bits, resolution="0.01")
    groups = np.repeat(np.arange(500), n)
    expected = library.encode(readings.reshape(-1) / 100, [Roster(n)] * 500, groups)
    each = game.Publication.by("sound", GRID, n, bits)
    assert each.levels == levels_for(Fraction(10, n), 0, 10, bits=bits)
    assert each.encode(readings.sum(axis=1)).tolist() == expected.tolist()


@pytest.mark.parametrize("rule", game.RULES)
def test_cells_and_midpoints_in_fractions(rule: str) -> None:
    grid = FixedPoint("-2", "5", "0.5", "clip", "round")
    each = game.Publication.by(rule, grid, 3, 2)
    q = each.levels
    assert q == {"sound": 9, "published": 12, "few": 4}[rule]
    sums = np.arange(3 * 14 + 1)
    for total, code in zip(sums.tolist(), each.encode(sums).tolist(), strict=True):
        mean = Fraction(total, 3) / 2  # above the low end
        assert code == min(mean * q // 7, q - 1)
    symbols, scale = each.midpoints
    assert [Fraction(int(s), scale) / 2 for s in symbols] == [Fraction(7 * (2 * c + 1), 2 * q) for c in range(q)]


def test_an_unknown_rule_too_few_households_and_too_fine_units_are_refused() -> None:
    with pytest.raises(ArgumentError, match="rule: must be one of sound"):
        game.Publication.by("best", GRID, 3, 2)
    with pytest.raises(ArgumentError, match="no period has 13 households"):
        game.membership(_random(), sizes=(12,), rounds=1)
    fine = game.Profiles.of("tests", np.zeros((5, 1, 4)), 0, 10, "0.00000001")
    with pytest.raises(ArgumentError, match="too many units"):
        game.membership(fine, sizes=(2,), rounds=1)


# --- the slow twin ---------------------------------------------------------------------------------------------------


def _peaks(series: list[int]) -> set[int]:
    found = set()
    for t in range(len(series)):
        before = next((x for x in reversed(series[:t]) if x != series[t]), None)
        after = next((x for x in series[t + 1 :] if x != series[t]), None)
        if before is not None and after is not None and before < series[t] > after:
            found.add(t)
    return found


def _correlation(x: list[int], y: list[Fraction]) -> tuple[int, Fraction]:
    """Sign and square: exact, and ordered as the correlation is."""
    n, mx, my = len(x), Fraction(sum(x), len(x)), sum(y) / len(y)
    vx, vy = sum((a - mx) ** 2 for a in x), sum((b - my) ** 2 for b in y)
    if not vx or not vy:
        return 0, Fraction(0)
    covariance = sum((x[t] - mx) * (y[t] - my) for t in range(n))
    sign = (covariance > 0) - (covariance < 0)
    return sign, sign * covariance**2 / (vx * vy)


def _preferred(score: list) -> int:
    return (score[1] > score[0]) - (score[0] > score[1])


def _twin(candidates: list[list[int]], published: list[Fraction]) -> list[int]:
    by_correlation = _preferred([_correlation(x, published) for x in candidates])
    errors = [sum((a - b) ** 2 for a, b in zip(x, published, strict=True)) for x in candidates]
    by_peaks = _preferred([len(_peaks(x) & _peaks(published)) for x in candidates])
    return [by_correlation, -_preferred(errors), by_peaks]


@pytest.mark.parametrize("rule", game.RULES)
@pytest.mark.parametrize("n", [2, 5])
def test_one_round_as_in_plain_python(rule: str, n: int) -> None:
    profiles = _random(seed=n)
    block = game.Block.draw(profiles, np.arange(3), 5, 40, seeded_source(1))
    group = [game.Publication.by(rule, GRID, n, bits) for bits in (0, 1, 3)]
    for each, preferred in zip([*group, None], block.preferences(n, group), strict=True):
        for r in range(40):
            candidates = block.loads[:, r].tolist()
            members = [candidates[int(block.second[r])], *block.others[: n - 1, r].tolist()]
            means = [Fraction(sum(column), n) for column in zip(*members, strict=True)]
            if each is not None:
                q = each.levels
                means = [Fraction(1000 * (2 * min(mean * q // 1000, q - 1) + 1), 2 * q) for mean in means]
            assert preferred[:, r].tolist() == _twin(candidates, means)


def test_draws_are_disjoint_complete_and_fair() -> None:
    rng = np.random.default_rng(5)
    readings = np.arange(12.0)[:, None, None] / 2 + np.zeros((12, 2, STEPS))  # a household is known by its load
    readings[3, 0, 7] = np.nan
    readings[rng.integers(4, 12), 1, 0] = np.nan
    profiles = _profiles(readings)
    block = game.Block.draw(profiles, np.arange(2), 8, 6000, seeded_source(2))
    people = np.concatenate([block.loads[:, :, 1], block.others[:, :, 1]]) // 50
    assert people.shape == (9, 6000)
    assert all(len(set(column)) == 9 for column in people.T.tolist())
    counts = np.bincount(people[0], minlength=12)
    assert (counts > 0).all()
    assert counts.max() < 1.4 * counts[[0, 1, 2]].min()
    assert abs(block.second.mean() - 0.5) < 0.03
    assert (abs(block.coins.mean(axis=1) - 0.5) < 0.03).all()
    assert abs(np.corrcoef(block.second, block.coins[0])[0, 1]) < 0.05


# --- must succeed, must fail -----------------------------------------------------------------------------------------


def _rates(profiles: game.Profiles, **choices: object) -> dict[str, game.AttackResult]:
    results = game.membership(profiles, **{"rounds": 2000, **choices})  # type: ignore[arg-type]
    return {result.name.removeprefix("membership by "): result for result in results}


def test_alone_and_unprotected_everybody_is_recognised() -> None:
    for result in _rates(_random(), sizes=(1,), bits=(6,), rules=("few",)).values():
        assert result.control.estimate().value > 0.99
        assert result.protected.estimate().value > 0.9


def test_distinguishable_households_are_told_apart_through_the_cells() -> None:
    readings = np.zeros((8, 1, STEPS))
    for household in range(8):
        readings[household, 0, 1 + 2 * household] = 9.0  # each peaks at its own time
    found = _rates(_profiles(readings), sizes=(2, 4), bits=(3,), rules=("sound",))
    assert found["correlation"].protected.estimate().value == 1.0
    assert found["common peaks"].protected.estimate().value == 1.0


@pytest.mark.parametrize("rule", ["sound", "few"])
def test_one_level_shows_nothing(rule: str) -> None:
    for result in _rates(_random(), sizes=(4,), bits=(0,), rules=(rule,), rounds=4000).values():
        assert result.settings["levels"] == 1
        assert result.bound == 0.0
        assert result.within_bound
        assert abs(result.protected.estimate().value) < 0.05
        if result.name != "membership by mean squared error":
            assert result.settings["ties"] == 1.0


def test_the_published_levels_break_their_promise_at_zero_bits() -> None:
    """n levels where one is allowed: two households at the ends of the range are told apart by the mean of two."""
    for result in _rates(_random(), sizes=(2,), bits=(0,), rules=("published",), rounds=4000).values():
        assert (result.settings["levels"], result.bound) == (2, 0.0)
    ends = np.repeat(np.arange(6) % 2 * 10.0, STEPS).reshape(6, 1, STEPS) * (np.arange(STEPS) % 3 == 1)
    found = _rates(_profiles(ends), sizes=(2,), bits=(0,), rules=("published",), rounds=4000)
    assert found["correlation"].within_bound is False


def test_identical_households_are_a_coin_even_unprotected() -> None:
    one = np.random.default_rng(0).gamma(1.0, 1.5, (1, 2, STEPS))
    for result in _rates(_profiles(np.repeat(one, 7, axis=0)), sizes=(4,), bits=(3,), rounds=4000).values():
        assert result.settings["ties"] == 1.0
        assert result.control.estimate().low < 0 < result.control.estimate().high


# --- the whole -------------------------------------------------------------------------------------------------------


def test_results_are_complete_and_repeatable_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    choices: dict = {"sizes": (2, 4), "bits": (1, 3), "rounds": 700}
    results = game.membership(_random(), **choices, progress=lambda done, total: told.append((done, total)))
    assert told == [(500, 700), (700, 700)]
    assert len(results) == 2 * 2 * 3 * 3
    assert results == game.membership(_random(), **choices)
    other = game.membership(_random(), **choices, seed=1)
    assert [each.protected for each in other] != [each.protected for each in results]
    for result in results:
        assert result.bound is None
        assert "no bound" in result.describe()
        assert {"n", "bits", "rule", "levels", "range", "readings", "households"} <= set(result.row())


def test_readings_outside_are_clipped_and_missing_ones_keep_a_household_out() -> None:
    readings = np.full((3, 1, 2), 4.0)
    readings[0, 0] = 11.0
    readings[1, 0, 0] = np.nan
    profiles = _profiles(readings)
    assert profiles.complete.tolist() == [[True, False, True]]
    assert profiles.units[0, 0].tolist() == [1000, 1000]


def test_ten_thousand_rounds_take_seconds() -> None:
    profiles = _profiles(np.random.default_rng(1).gamma(1.0, 1.5, (30, 1, 365)))
    game.membership(profiles, sizes=(4,), bits=(2,), rules=("sound",), rounds=10)
    start = time.process_time()
    game.membership(profiles, sizes=(4,), bits=(2,), rules=("sound",))
    assert time.process_time() - start < 20
