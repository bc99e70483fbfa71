"""What an advice expects of a release is what the recommended command then realises, on real public data."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reticent as rt
from reticent.advice import Advice, Expected, Option, advise
from reticent.advice.commands import Commands, reading_options
from reticent.advice.draws import draws_for
from reticent.certificates import Certificate
from reticent.errors import ArgumentError
from reticent.tables import Reading
from shared_data import shared


@dataclass(frozen=True)
class Case:
    """A data set and what is asked of it; `least` options must come out."""

    source: tuple[str, ...]
    asked: dict[str, Any]
    least: set[str]
    melt: bool = False
    pandas: dict[str, Any] = field(default_factory=dict)


CASES = {
    "household-power": Case(
        ("household-power",),
        {"time": "time", "value": "water_heater", "private": ("2007-12-20 18:00/2007-12-20 23:30",), "epsilon": 1.0},
        {"redact", "switch"},
    ),
    "seattle-weather": Case(
        ("seattle-weather", "seattle-weather.csv"),
        {"time": "date", "value": "temp_max", "low": -10, "high": 40, "window": 7},
        {"switch", "quantize"},
    ),
    "office-occupancy": Case(
        ("office-occupancy", "datatraining.txt"),
        {
            "time": "date",
            "value": "Occupancy",
            "private": ("2015-02-09 08:00/2015-02-09 12:00",),
            "epsilon": 1.0,
            "reading": Reading(row_names=True),
        },
        {"redact", "switch"},
        pandas={"index_col": 0},
    ),
    "cgm-glucose": Case(
        ("cgm-glucose", "CGM.csv.gz"),
        {"time": "datetime", "value": "glucose", "low": 40, "high": 400, "duplicates": "max", "bits": 2},
        {"switch", "quantize"},
    ),
    "fitbit-hourly-steps": Case(
        ("fitbit-hourly-steps", "hourlySteps_merged.csv"),
        {
            "id": "Id",
            "time": "ActivityHour",
            "value": "StepTotal",
            "low": 0,
            "high": 12000,
            "window": 6,
            "epsilon": 1.5,
        },
        {"switch", "quantize", "quantize mean"},
    ),
    "lcl-1130-households-weekly": Case(
        ("lcl-1130-households-weekly", "featureSet_weekly.csv"),
        {"id": "home", "time": "week", "value": "kwh", "low": 0, "high": 1500, "window": 4, "bits": 4},
        {"switch", "quantize", "quantize mean"},
        melt=True,
    ),
}
QUICK = ("seattle-weather",)


def run(command: str, folder: Path, *more: str) -> str:
    """A command line as it stands, in a folder."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    line = shlex.join([*shlex.split(command), *more])
    done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def file_of(case: Case, folder: Path) -> Path:
    """The data as found; weekly totals as one row a home and week, and numbers of the rows as a further column."""
    if case.source[0] in rt.datasets.names():
        return rt.datasets.path(case.source[0])
    source = shared("data", *case.source)
    if not case.melt:
        return source
    frame = pd.read_csv(source)
    weeks = frame.columns[0]
    long = frame.melt(id_vars=weeks, var_name="home", value_name="kwh").rename(columns={weeks: "week"})
    long.to_csv(folder / "homes.csv", index=False)
    return folder / "homes.csv"


def frame_of(path: Path, case: Case, **how: Any) -> pd.DataFrame:
    """A file in the order of series and time."""
    columns = case.asked
    frame = pd.read_csv(path, na_values=["nil"], **how)
    frame[columns["time"]] = pd.to_datetime(frame[columns["time"]], format="mixed")
    keys = [each for each in (columns.get("id"), columns["time"]) if each in frame]
    if columns.get("duplicates") == "max":
        frame = frame.sort_values([*keys, columns["value"]]).drop_duplicates(keys, keep="last")
    return frame.sort_values(keys, kind="stable").reset_index(drop=True)


def realised(option: Option, original: pd.DataFrame, released: pd.DataFrame, case: Case) -> list[float | None]:
    """What the release shows of each figure of the advice; None for what it does not show."""
    value = case.asked["value"]
    if option.verb == "redact":
        return [1 - released[f"{value}_redacted"].mean()]
    if "--aggregate" in option.commands[-1]:
        people = original[case.asked["id"]].nunique()
        truth = original.groupby(case.asked["time"])[value].sum() / people
        means = released[value].to_numpy(float)  # of a week from a Thursday, as the windows are counted from the epoch
        return [float(np.nanmean(np.abs(means - truth.to_numpy()))), float(np.isnan(means).mean())]
    if original[value].dtype.kind not in "if":
        return [float((original[value] != released[value]).mean()), None]
    before, after = original[value].to_numpy(float), released[value].to_numpy(float)
    error = np.abs(before - after)
    if option.verb == "quantize":
        return [float(np.nanmean(error)), float(np.sqrt(np.nanmean(error**2)))]
    return [float(np.nanmean(error)), None]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_the_command_realises_what_was_expected(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = file_of(case, tmp_path)
    advice = advise(path, source=rt.seeded_source(11), **case.asked)
    kinds = {f"{each.verb}{' mean' if '--aggregate' in each.commands[-1] else ''}" for each in advice.options}
    assert kinds == case.least, advice.left_out
    original = frame_of(path, case, **case.pandas)
    for number, option in enumerate(advice.options):
        folder = tmp_path / str(number)
        folder.mkdir()
        for command in option.commands[:-1]:
            run(command, folder)
        seed = () if option.verb == "quantize" else ("--seed", str(40 + number), "--no-ledger")
        if option.verb == "redact":
            seed = ("--mechanism", "sequential", *seed[:2]) if "--mechanism" not in option.commands[-1] else seed
        told = json.loads(run(option.commands[-1], folder, *seed, "--json"))
        out = Path(told["files"]["released"])
        assert Certificate.read(folder / told["files"]["certificate"]).verify(folder / out).verdict == "consistent"
        figures = realised(option, original, frame_of(folder / out, case), case)
        assert len(figures) == len(option.utility)
        for expected, figure in zip(option.utility, figures, strict=True):
            assert expected.low <= expected.value <= expected.high
            if figure is not None:
                assert expected.low <= figure <= expected.high, (name, option.commands[-1], expected, figure)


def test_a_redaction_releases_the_share_that_was_expected() -> None:
    power, common = rt.datasets.path("household-power"), {"time": "time", "value": "water_heater"}
    evening = "2007-12-20 18:00/2007-12-20 23:30"
    advice = advise(power, private=(evening,), epsilon=1.0, source=rt.seeded_source(4), **common)
    option = next(each for each in advice.options if "--mechanism" in each.commands[-1] and "optimal" in each.guarantee)
    until = option.commands[0].split("--until '")[1].split("'")[0]
    model = rt.tables.fit(power, until=until, **common)
    frame = pd.read_csv(power, parse_dates=["time"])
    released = rt.tables.redact(
        frame, private=evening, epsilon=1.0, model=model, mechanism="optimal", ledger=False,
        source=rt.seeded_source(5), **common,
    ).table  # fmt: skip
    (share,) = option.utility
    assert 0.98 < share.low <= 1 - released["water_heater_redacted"].mean() <= share.high < 1


@pytest.mark.parametrize("mechanism", [0, 1])
def test_steps_moved_are_those_of_the_command(mechanism: int, tmp_path: Path) -> None:
    frame = pd.read_csv(rt.datasets.path("household-power"))
    frame["row"] = np.arange(len(frame))
    frame.to_csv(tmp_path / "power.csv", index=False)
    advice = advise(tmp_path / "power.csv", time="time", value="active_power_kw", source=rt.seeded_source(3))
    option = [each for each in advice.options if each.verb == "switch"][mechanism]
    run(option.commands[0], tmp_path, "--value", "row", "--seed", "5", "--no-ledger")
    (out,) = tmp_path.glob("*.switched.csv")
    released = pd.read_csv(out)
    moved = (released["row"] - np.arange(len(released))).abs().mean()
    assert option.utility[1].measure == "mean steps moved"
    assert option.utility[1].low <= moved <= option.utility[1].high
    error = (released["active_power_kw"] - frame["active_power_kw"]).abs().mean()
    assert option.utility[0].low <= error <= option.utility[0].high


def test_nothing_is_released_or_charged(tmp_path: Path, curator: Path) -> None:
    before = set(tmp_path.iterdir())
    advise(
        rt.datasets.path("household-power"), time="time", value="water_heater",
        private=("2007-12-20 18:00/2007-12-20 23:30",),
    )  # fmt: skip
    assert set(tmp_path.iterdir()) == before
    assert not list(curator.rglob("ledger*"))


def advised(**more: Any) -> Advice:
    return advise(rt.datasets.path("weather"), time="date", value="temp_max", **more)


def test_what_does_not_fit_says_why() -> None:
    left_out = dict(advised().left_out)
    assert "--low and --high" in left_out["quantize"]
    assert "no states" in left_out["redact"]
    assert "individuals" in dict(advised(low=-10, high=40).left_out)["quantize, aggregate"]
    states = advise(rt.datasets.path("weather"), time="date", value="weather")
    assert "--private" in dict(states.left_out)["redact"]
    early = advise(rt.datasets.path("weather"), time="date", value="weather", private=("2012-01-01/2012-01-02",))
    assert "model file" in dict(early.left_out)["redact, sequential"]


@pytest.mark.parametrize(
    "wrong", [{"low": 1}, {"epsilon": float("nan")}, {"epsilon": -1}, {"value": ("temp_max", "wind")}]
)
def test_bad_input_is_one_sentence(wrong: dict[str, Any]) -> None:
    options: dict[str, Any] = {"time": "date", "value": "temp_max"} | wrong
    with pytest.raises(ArgumentError):
        advise(rt.datasets.path("weather"), **options)


def test_the_command_line_prints_commands_that_are_valid(tmp_path: Path) -> None:
    (tmp_path / "a b.csv").write_bytes(rt.datasets.path("weather").read_bytes())
    line = "reticent advise 'a b.csv' --time date --value temp_max --low -10 --high 40 --window 5"
    told = run(line, tmp_path)
    assert told.startswith("PRIVATE:")
    commands = [part[3:] for part in told.splitlines() if part[3:].startswith("reticent ")]
    assert len(commands) == 3
    for command in commands:
        run(command, tmp_path, "--no-ledger", "--overwrite")
    body = json.loads(run(line, tmp_path, "--json"))
    assert body["private"] is True
    assert [each["commands"][-1] for each in body["options"]] == commands


def test_reading_options_are_handed_on(tmp_path: Path) -> None:
    reading = Reading(
        "\t", ",", "cp1252", "%d.%m.%Y", "Europe/Berlin", (*Reading().nulls, "-"), True,
        thousands=".", quote="'", header=False, names=("a", "b"), skip_rows=2, null_id="drop", quarantine=Path("q.csv"),
    )  # fmt: skip
    assert reading_options(reading) == [
        "--delimiter", r"\t", "--decimal", ",", "--thousands", ".", "--quote", "'", "--encoding", "cp1252",
        "--time-format", "%d.%m.%Y", "--time-zone", "Europe/Berlin", "--columns", "a,b", "--skip-rows", "2",
        "--null-id", "drop", "--quarantine", "q.csv", "--null", "-", "--no-header", "--row-names",
    ]  # fmt: skip
    assert reading_options(Reading()) == []
    for name, output in (
        ("x/CGM.csv.gz", "CGM.done.csv.gz"),
        ("a.parquet", "a.done.parquet"),
        ("datatraining.txt", "datatraining.done.csv"),
        ("house.gzip", "house.done.csv.gz"),
        ("2024.01.csv", "2024.01.done.csv"),
        ("plain", "plain.done.csv"),
    ):
        assert Commands(Path(name), (), Reading(), "error").output("done") == output


def test_the_interval_covers_the_next_draw_as_often_as_it_says() -> None:
    """A law with heavy tails: 19 draws, and the next lies between their extremes in nine of ten cases."""
    rng = np.random.default_rng(1)
    figures = rng.standard_cauchy((20_000, 20))
    inside = [Expected.of("", row[:19]) for row in figures[:2000]]
    share = np.mean([each.low <= row[19] <= each.high for each, row in zip(inside, figures, strict=False)])
    assert inside[0].confidence == pytest.approx(0.9)
    assert share == pytest.approx(0.9, abs=0.02)
    assert [draws_for(rows) for rows in (0, 1_000, 400_000, 10**9)] == [199, 199, 100, 19]
