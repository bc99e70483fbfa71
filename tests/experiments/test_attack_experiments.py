"""Fig. 3 and 4 of the noiseless paper: the data as found, the claims in words, and the commands end to end."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from reticent.cli import app
from reticent.errors import InputError
from reticent.experiments import disaggregation, find, loads, membership, write
from reticent.experiments.frame import part, spread
from shared_data import shared

METERS, WEEKLY, HOUSES = "sgsc-50-households", "lcl-1130-households-weekly", "nilm-appliances"


def _weeks(folder: Path, households: int = 20, weeks: int = 14) -> Path:
    rng = np.random.default_rng(0)
    file = folder / WEEKLY / "featureSet_weekly.csv"
    file.parent.mkdir(parents=True)
    loads_of = rng.gamma(4.0, 20.0, (weeks, households)).round(3)
    lines = [",".join(["time", *(f"h{k}" for k in range(households))])]
    lines += [",".join([f"2013-{week}", *map(str, row)]) for week, row in enumerate(loads_of.tolist())]
    file.write_text("\n".join(lines) + "\n")
    return file


def _months(folder: Path, months: tuple[str, ...] = ("03", "04", "05")) -> Path:
    """Two days a month, a kettle of 2,000 W for two minutes an hour above a base of 150 W; some mains are missing."""
    (folder / HOUSES).mkdir(parents=True)
    for month in months:
        rows = []
        for minute in range(2 * 1440):
            kettle = 2000.0 if minute % 60 < 2 else 0.0
            mains = "0" if minute % 97 == 0 else str(150 + kettle)
            rows.append(f"2014-{month}-{1 + minute // 1440:02} 00:00:00,{mains},{kettle}")
        with gzip.open(folder / HOUSES / f"REFIT_House2_2014-{month}.gzip", "wt") as file:
            file.write("\n".join(["Time,Aggregate,Kettle", *rows]) + "\n")
    return folder / HOUSES / "REFIT_House2_2014-03.gzip"


# --- data ------------------------------------------------------------------------------------------------------------


def test_half_hours_as_found() -> None:
    days = loads.household_days(shared("data", METERS, "smart_meter_50_tbl.rds"))
    assert days.shape == (50, 365, 48)
    complete = ~np.isnan(days).any(axis=2)
    assert (complete.sum(axis=1) >= 361).sum() == 26
    assert 4 < np.nanmax(days) < 8
    totals = membership.daily_totals(days)
    assert totals.shape == (31, 1, 334)
    assert not np.isnan(totals).any()
    with pytest.raises(InputError, match="no household has 96%"):
        membership.daily_totals(days[:, :, :] * np.where(np.arange(365) % 2, np.nan, 1.0)[None, :, None])


def test_full_weeks_as_found(tmp_path: Path) -> None:
    totals = loads.weekly_totals(shared("data", WEEKLY, "featureSet_weekly.csv"))
    assert totals.shape == (1130, 1, 51)
    assert not np.isnan(totals).any()
    file = _weeks(tmp_path)
    file.write_text(file.read_text().replace(",", ",much,", 40))
    with pytest.raises(InputError, match="is no number"):
        loads.weekly_totals(file)


def test_months_of_a_house(tmp_path: Path) -> None:
    file = _months(tmp_path)
    found = disaggregation.following(file, 4)
    assert [each.name[-12:-5] for each in found] == ["2014-04", "2014-05"]
    assert disaggregation.following(file.with_name("house.gzip"), 4) == []
    house = loads.sub_metered(found)
    assert house.names == ("Kettle",)
    assert np.unique(house.days).size == 4
    assert house.mains.size == 2 * (2880 - 30)  # without the zero mains
    with pytest.raises(InputError, match="no file of the months"):
        loads.sub_metered([])
    with gzip.open(file, "wt") as other:
        other.write("Time,Aggregate,Toaster\n")
    with pytest.raises(InputError, match="same appliances"):
        loads.sub_metered([*found, file])


def test_months_go_on_in_the_next_year(tmp_path: Path) -> None:
    for name in ("2014-11", "2014-12", "2015-01", "2015-02"):
        (tmp_path / f"house_{name}.gzip").touch()
    found = disaggregation.following(tmp_path / "house_2014-11.gzip", 2)
    assert [each.name for each in found] == ["house_2014-12.gzip", "house_2015-01.gzip"]


# --- what came out ---------------------------------------------------------------------------------------------------


def test_the_claim_about_memberships_is_refuted_on_daily_totals() -> None:
    file = shared("data", METERS, "smart_meter_50_tbl.rds")
    told: list[float] = []
    outcome = membership.half_hourly(
        {METERS: file}, rounds=300, progress=lambda done, total: told.append(done / total), bits=(0, 2, 3)
    )
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert "Daily totals, *sound*: of 6 cases 5 refute it, 0 confirm it" in outcome.findings
    assert "Half-hours of a day, *few*: of 6 cases 0 refute it" in outcome.findings
    rows = {
        (
            row["readings"],
            row["range"],
            row["attack"].removeprefix("membership by "),
            row["n"],
            row["bits"],
            row["rule"],
        ): row
        for row in outcome.rows
    }
    assert rows["daily totals", "[0, 100]", "correlation", 4, 2, "sound"]["protected_low"] > 0.6
    few = rows["half-hours of a day", "[0, 8]", "correlation", 4, 2, "few"]
    assert few["ties"] > 0.95
    assert few["protected_low"] < 0 < few["protected_high"]
    assert len({row["protected"] for row in outcome.rows}) > 50
    assert outcome.table.count("\n") == 1 + 2 * 3 * (2 + 3)


def test_scores_of_appliances_on_a_real_house() -> None:
    file = shared("data", HOUSES, "REFIT_House2_2014-03.gzip")
    outcome = disaggregation.appliances({HOUSES: file}, bits=(0, 2, 6))
    rows = {(row["attack"], row["appliance"], row["bits"]): row for row in outcome.rows}
    assert {row["protected_trials"] for row in outcome.rows} == {122}
    dishwasher = [rows["disaggregation, combinatorial optimisation", "Dishwasher", bits] for bits in (2, 6)]
    assert dishwasher[0]["protected_high"] < dishwasher[0]["baseline"] < dishwasher[1]["protected_low"]
    assert dishwasher[1]["control"] == pytest.approx(0.390, abs=5e-4)
    assert rows["disaggregation, cell by cell", "Dishwasher", 2]["protected_low"] > 0.35
    assert "174,687 minutes of 122 days" in outcome.findings


def _written(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows, once all four files are there."""
    assert (folder / f"{name}.svg").read_text().startswith("<svg")
    assert (folder / f"{name}.png").stat().st_size > 10_000
    assert "The paper says" in (folder / f"{name}.md").read_text()
    with (folder / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_two_more_houses_and_a_month_that_is_not_there(tmp_path: Path) -> None:
    file = shared("data", HOUSES, "REFIT_House2_2014-03.gzip")
    rows = disaggregation.other_houses({HOUSES: file}, bits=(1,)).rows
    assert {(row["house"], row["protected_trials"]) for row in rows} == {
        ("UK-DALE house 2", 31),
        ("IDEAL house 65", 30),
    }
    shower = next(row for row in rows if row["appliance"] == "Shower")
    assert shower["protected_low"] > 0.8  # at one bit
    with pytest.raises(InputError, match=r"UKDALE_House2_2013-06.gzip is not beside"):
        disaggregation.other_houses({HOUSES: _months(tmp_path)})


def test_the_command_from_months_to_files(tmp_path: Path) -> None:
    _months(tmp_path / "data")
    arguments = ["experiment", "noiseless-fig4", "--data", str(tmp_path / "data"), "-o", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert len(_written(tmp_path, "noiseless-fig4")) == 11 * 2


def test_from_weeks_to_files(tmp_path: Path) -> None:
    outcome = membership.weekly({WEEKLY: _weeks(tmp_path, households=40)}, rounds=100)
    write(find("noiseless-fig3-weekly"), outcome, tmp_path)
    rows = _written(tmp_path, "noiseless-fig3-weekly")
    assert len(rows) == 5 * 9 * 9 + 2 * 2 * 2 * 9
    assert {row["protected_trials"] for row in rows} == {"100"}
    assert all(row["bound"] == ("0.0" if row["bits"] == "0" else "") for row in rows)


def test_a_kettle_that_stands_out_is_found_from_one_bit_on(tmp_path: Path) -> None:
    outcome = disaggregation.appliances({HOUSES: _months(tmp_path)}, bits=(0, 2))
    for row in outcome.rows:
        assert row["control"] == 1.0
        assert row["protected"] == (pytest.approx(row["baseline"]) if row["bits"] == 0 else 1.0)


@pytest.mark.parametrize("name", ["noiseless-fig3", "noiseless-fig3-weekly", "noiseless-fig4"])
def test_the_experiments_take_the_data_that_they_name(name: str) -> None:
    assert find(name).sources[0] in (METERS, WEEKLY, HOUSES)


# --- parts -----------------------------------------------------------------------------------------------------------


def test_the_progress_of_parts_adds_up() -> None:
    told: list[tuple[int, int]] = []
    for place in range(3):
        each = part(lambda done, total: told.append((done, total)), place, 3)
        assert each is not None
        each(1, 2)
        each(2, 2)
    assert told == [(1, 6), (2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]
    assert part(None, 0, 3) is None


def test_labels_stay_in_order_and_apart() -> None:
    placed = spread([0.5, 0.1, 0.12, 0.9], 0.1)
    assert placed == pytest.approx([0.5, 0.1, 0.2, 0.9])
    close = spread([0.9, 0.91, 0.92], 0.1)
    assert np.diff(close) == pytest.approx([0.1, 0.1])
    assert close == pytest.approx([0.81, 0.91, 1.01])
