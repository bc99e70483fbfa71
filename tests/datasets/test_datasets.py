"""The shipped data: small, licensed, as described, and rebuilt byte for byte by the maker script."""

from __future__ import annotations

import csv
import importlib.util
import os
from dataclasses import FrozenInstanceError
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from reticent import datasets
from reticent.errors import ArgumentError

MAKER = Path(__file__).parents[2] / "tools" / "make_datasets.py"
FOLDER = Path(datasets.__file__).parent
SOURCES = (FOLDER / "SOURCES.md").read_text(encoding="utf-8")


def table(name: str) -> list[dict[str, str]]:
    with datasets.path(name).open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_names_are_the_files_that_ship() -> None:
    assert datasets.names() == ("glucose", "household-power", "weather")
    assert {datasets.path(name) for name in datasets.names()} == set(FOLDER.glob("*.csv*"))


def test_everything_that_ships_is_at_most_a_megabyte() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir() if file.is_file()) <= 1_000_000


@pytest.mark.parametrize("name", datasets.names())
def test_a_file_has_the_declared_columns_and_rows(name: str) -> None:
    declared, rows = datasets.describe(name), table(name)
    assert declared.name == name
    assert tuple(rows[0]) == declared.columns
    assert len(rows) == declared.rows
    assert all(None not in row and all(row.values()) for row in rows)
    assert b"\r" not in datasets.path(name).read_bytes()


@pytest.mark.parametrize("name", datasets.names())
def test_source_and_licence_are_stated_beside_the_file(name: str) -> None:
    declared = datasets.describe(name)
    section = SOURCES.split(f"## `{declared.file}`")[1].split("\n## ")[0]
    assert f"**Licence:** {declared.licence}".lower() in section.replace("[", "").lower()
    assert "**Source:**" in section
    assert "**What was done:**" in section
    assert f"**Rows:** {declared.rows:,}" in section
    assert all(f"`{column}`" in section for column in declared.columns)


def test_a_description_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        datasets.describe("glucose").rows = 0  # type: ignore[misc]


@pytest.mark.parametrize("look", [datasets.path, datasets.describe])
def test_an_unknown_name_is_refused_with_the_known_ones(look: object) -> None:
    assert callable(look)
    with pytest.raises(ArgumentError, match="glucose, household-power, weather"):
        look("../errors")


def test_glucose_stamps_rise_strictly_and_leave_the_grid() -> None:
    stamps = [datetime.fromisoformat(row["datetime"]) for row in table("glucose")]
    steps = [after - before for before, after in pairwise(stamps)]
    five = timedelta(minutes=5)
    assert min(steps) == five
    assert sum(step > five for step in steps) == 22
    assert len({stamp.minute % 5 for stamp in stamps}) > 1
    assert {40 <= int(row["glucose"]) <= 400 and float(row["isig"]) > 0 for row in table("glucose")} == {True}


def test_household_half_hours_are_complete_whole_weeks() -> None:
    rows = table("household-power")
    stamps = [datetime.fromisoformat(row["time"]) for row in rows]
    assert {after - before for before, after in pairwise(stamps)} == {timedelta(minutes=30)}
    assert stamps[0] == datetime(2007, 11, 12)
    assert stamps[0].weekday() == 0
    assert len(rows) % (7 * 48) == 0


def test_the_water_heater_is_on_above_250_and_its_meters_fit_in_the_whole() -> None:
    for row in table("household-power"):
        assert row["water_heater"] == ("on" if int(row["water_heater_wh"]) > 250 else "off")
        metered = sum(int(row[column]) for column in ("kitchen_wh", "laundry_wh", "water_heater_wh"))
        # Meters and mains are rounded by each minute (1 Wh each); the mean is in kW over half an hour.
        assert metered <= 500 * float(row["active_power_kw"]) + 3 * 30


def test_the_weeks_before_the_last_teach_a_chain_both_ways_and_a_daily_rhythm() -> None:
    states = [row["water_heater"] for row in table("household-power")][: -7 * 48]
    moves = list(pairwise(states))
    assert moves.count(("off", "on")) == 117
    assert moves.count(("on", "off")) == 117
    on_at = [states[slot::48].count("on") / (len(states) // 48) for slot in range(48)]
    assert max(on_at) > 0.85
    assert min(on_at) == 0


def test_weather_has_every_day_of_four_years() -> None:
    rows = table("weather")
    days = [date.fromisoformat(row["date"].replace("/", "-")) for row in rows]
    assert days == [date(2012, 1, 1) + timedelta(days=k) for k in range(1461)]
    assert {row["weather"] for row in rows} == {"drizzle", "fog", "rain", "snow", "sun"}
    assert all(float(row["temp_min"]) <= float(row["temp_max"]) for row in rows)


def test_the_maker_rebuilds_the_shipped_bytes() -> None:
    wheels = os.environ.get("RETICENT_WHEELS")
    if wheels is None:
        pytest.skip("RETICENT_WHEELS is not set: a folder with the wheels that tools/make_datasets.py names")
    if not MAKER.exists():
        pytest.skip("tools/make_datasets.py is not here: run from a checkout")
    spec = importlib.util.spec_from_file_location("make_datasets", MAKER)
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    made = maker.make(Path(wheels))
    shipped = {datasets.describe(name).file: datasets.path(name).read_bytes() for name in datasets.names()}
    assert made == shipped
