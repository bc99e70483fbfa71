"""The switching experiments: the paper's numbers, the measures against plain twins, the panels as found."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.experiments import _kernels, switching_laws, switching_series, switching_table
from reticent.experiments.panels import Panel, Series, load_panel
from shared_data import shared


def test_fig2_numbers() -> None:
    rows = {row["mechanism"]: row for row in switching_laws.laws().rows}
    published = rows[switching_laws.PUBLISHED]
    assert published["mean_lumped_at_2k"] == pytest.approx(4.541, abs=5e-4)
    assert published["mean_displacement"] == pytest.approx(4.630, abs=5e-4)
    assert rows[switching_laws.IDEAL]["mean_displacement"] == pytest.approx(3.819, abs=5e-4)
    assert rows["RanSwitch"]["delta"] == pytest.approx(0.43256, abs=1e-5)
    assert rows["FootruleSwitch"]["mean_displacement"] == pytest.approx(8.679, abs=1e-3)
    assert rows["MallowsSwitch, stream"]["mean_displacement"] == pytest.approx(11.53, abs=5e-3)
    assert rows["FootruleSwitch"]["delta"] == 0 < rows["MallowsSwitch, stream"]["delta"] <= 1e-6


def test_the_table_compares_at_the_same_guarantee() -> None:
    outcome = switching_table.table(windows=(2, 4), epsilons=(1.0, 4.0))
    rows = {(row["window"], row["epsilon"], row["mechanism"]): row for row in outcome.rows}
    assert rows[4, 1.0, switching_table.FOOTRULE]["mean_displacement"] == pytest.approx(5.663, abs=1e-3)
    assert rows[4, 4.0, switching_table.FOOTRULE]["mean_displacement"] == pytest.approx(0.588, abs=1e-3)
    for (window, epsilon, name), row in rows.items():
        assert not row["delta_is_bound"]
        if name in (switching_table.FOOTRULE, switching_table.FILE):
            assert row["delta"] == 0
            assert row["look_ahead"] == "all"
        if name == switching_table.RAN:
            q = 1 / (math.exp(epsilon) + window - 1)
            assert row["delta"] == pytest.approx(1 - (1 - q) ** (window - 1), abs=1e-12)
            assert rows[window, epsilon, switching_table.LIKE_RAN]["delta"] <= row["delta"]
        if name == switching_table.STA:
            assert rows[window, epsilon, switching_table.LIKE_STA]["delta"] <= row["delta"]
    assert outcome.table.count("\n") == 5
    assert "| 2, 1 |" in outcome.table


def warped(one: list[float], other: list[float], band: int) -> float:
    """Every cell of the table, in plain Python."""
    n, m = len(one), len(other)
    reach = max(band, math.ceil(m / n) + 1)
    table = {(0, 0): 0.0}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if abs(j - int(i * (m / n))) <= reach:
                before = [table.get(cell, math.inf) for cell in ((i - 1, j), (i - 1, j - 1), (i, j - 1))]
                table[i, j] = min(before) + abs(one[i - 1] - other[j - 1])
    return table[n, m]


NUMBERS = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=14)


@given(NUMBERS, NUMBERS, st.integers(1, 15))
def test_warping_distance_is_that_of_the_plain_table(one: list[float], other: list[float], band: int) -> None:
    found = _kernels.warping_distance(np.array(one), np.array(other), band)
    assert found == pytest.approx(warped(one, other, band), abs=1e-9)


def test_warping_forgives_a_shift_and_not_a_change() -> None:
    wave = np.sin(np.arange(60) / 5)
    assert _kernels.warping_distance(wave, wave, 10) == 0
    shifted = np.concatenate([wave[:1], wave[:-1]])
    assert _kernels.warping_distance(wave, shifted, 10) < 0.1 * np.abs(wave - shifted).sum()


def test_mean_error_and_autocorrelation_by_hand() -> None:
    values, released = np.array([1.0, 3.0, 5.0, 7.0]), np.array([3.0, np.nan, 7.0, 5.0])
    groups = np.array([0, 0, 1, 1])
    assert switching_series.mean_error(values, released, groups) == pytest.approx(math.sqrt(((3 - 2) ** 2 + 0) / 2))
    centred = values - 4
    expected = float(centred[:-1] @ centred[1:]) / 3 / float((centred**2).mean())
    assert switching_series.autocorrelation(values, [1]) == pytest.approx([expected])
    pairs = switching_series.autocorrelation(released, [1])  # only 7 and 5 are both there
    assert pairs == pytest.approx([(7 - 5) * (5 - 5) / float(np.array([4, 4, 0]).mean())])


def test_the_identity_does_no_damage_and_a_shuffle_some() -> None:
    values = np.arange(96.0) % 24
    series = Series.of(np.arange(96) * 3600, values)
    same = switching_series.measures(series, np.arange(96), 24)
    assert all(same[name] == (0.0, 0.0) for name in (*switching_series.DAMAGES, *switching_series.COSTS))
    mixed = switching_series.measures(series, np.random.default_rng(1).permutation(96), 24)
    assert all(mixed[name][1] > 0 for name in switching_series.DAMAGES)
    assert mixed["missing"] == mixed["repeated"] == mixed["empty"] == (0.0, 0.0)


def test_pure_switches_cost_no_value_and_dispatch_does() -> None:
    rng = np.random.default_rng(3)
    series = Series.of(np.arange(2000) * 3600, rng.normal(size=2000).cumsum())
    rows = switching_series.ranked(switching_series.measured(Panel("walk", 4, 24, (series,)), 2.0))
    after = {(row["mechanism"], row["measure"]): row["after"] for row in rows}
    for name in ("FootruleSwitch", "MallowsSwitch, file", "MallowsSwitch, stream", "RanSwitch", "StaSwitch"):
        assert after[name, "missing"] == after[name, "repeated"] == after[name, "empty"] == 0
    assert after["FootruleSwitch", "misalignment"] == pytest.approx(2.606, rel=0.1)
    assert after["dispatch, backward", "repeated"] > 0.2
    assert after["dispatch, forward", "empty"] > 0.2
    assert after["FootruleSwitch", "daily means"] < after["dispatch, backward", "daily means"]
    ranks = {row["mechanism"]: row["mean_rank"] for row in rows}
    assert sum(ranks.values()) == pytest.approx(7 * 8 / 2)


def test_equal_times_are_kept_once_and_days_are_counted_from_zero() -> None:
    series = Series.of(np.array([90_000, 86_400, 86_400, 172_800]), np.array([2.0, 1.0, 9.0, 3.0]))
    assert series.values.tolist() == [1.0, 2.0, 3.0]
    assert series.hours.tolist() == [0, 1, 24]
    assert series.days.tolist() == [0, 0, 1]


def test_glucose_reads_gzip_and_plain(tmp_path: Path) -> None:
    text = "isig,datetime,glucose\n1,2010-03-24 09:51:00,258\n1,2010-03-24 09:56:00,\n1,2010-03-24 10:01:00,260\n"
    (tmp_path / "plain.csv").write_text(text)
    with gzip.open(tmp_path / "CGM.csv.gz", "wt") as file:
        file.write(text)
    for name in ("plain.csv", "CGM.csv.gz"):
        (series,) = load_panel("cgm-glucose", tmp_path / name).series
        assert series.values.tolist() == [258.0, 260.0]
        assert series.hours.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "file", "count", "longest"),
    [
        ("cgm-glucose", "CGM.csv.gz", 1, 52_281),
        ("sgsc-50-households", "smart_meter_50_tbl.rds", 31, 17_520),
        ("fitbit-hourly-steps", "hourlySteps_merged.csv", 25, 736),
    ],
)
def test_panels_as_found(name: str, file: str, count: int, longest: int) -> None:
    panel = load_panel(name, shared("data", name, file))
    assert len(panel.series) == count
    assert 0.99 * longest <= max(each.values.size for each in panel.series) <= longest
    for each in panel.series:
        assert np.isfinite(each.values).all()
        assert (np.diff(each.hours) >= 0).all()


def test_a_quick_look_at_real_series() -> None:
    files = {"fitbit-hourly-steps": shared("data", "fitbit-hourly-steps", "hourlySteps_merged.csv")}
    outcome = switching_series.series(files, most=3)
    assert len({row["mechanism"] for row in outcome.rows}) == 7
    assert outcome.table.count("\n") == 2 + 7 - 1
    assert "least damage first" in outcome.findings
    first = outcome.findings.split("least damage first: ")[1].split(",")[0]
    assert first == "FootruleSwitch"
