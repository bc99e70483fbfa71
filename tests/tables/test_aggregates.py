"""Aggregates over groups and windows of a table, beside plain fractions; rosters, rules, participation, cuts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reticent as rt
from reticent.errors import ArgumentError, InputError, VerificationError
from reticent.quantization import AggregateQuantization, Roster

HOMES = {"A": 12, "B": 9, "C": 3}
COMMON: dict[str, Any] = {
    "time": "ts",
    "value": "kwh",
    "id": "home",
    "over": "street",
    "at_least": 8,
    "low": 0,
    "high": 10,
    "resolution": "0.001",
    "bits": 3,
}


@pytest.fixture(scope="module")
def meters() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (street, f"{street}{home}", pd.Timestamp("2024-01-01") + pd.Timedelta(minutes=30 * t), f"{value:.3f}")
        for street, homes in HOMES.items()
        for home in range(homes)
        for t, value in enumerate(rng.gamma(1, 0.5, 96).round(3))
    ]
    frame = pd.DataFrame(rows, columns=["street", "home", "ts", "kwh"])
    frame["kwh"] = frame["kwh"].astype(float)
    return frame.sample(frac=1, random_state=1)


def fractions(values: pd.Series) -> list[Fraction]:
    return [Fraction(str(value)) for value in values]


def test_the_mean_of_each_large_street_is_the_cell_of_the_exact_mean(meters: pd.DataFrame) -> None:
    release = rt.tables.aggregate(meters, query="mean", **COMMON)
    assert list(release.table.columns) == ["street", "ts", "kwh"]
    assert sorted(release.table["street"].unique()) == ["A", "B"], "C has fewer than eight homes"
    assert len(release.table) == 2 * 96
    mechanism = AggregateQuantization("mean", low=0, high=10, bits=3, resolution="0.001")
    for (street, start), group in meters[meters["street"] != "C"].groupby(["street", "ts"]):
        quantizer = mechanism.plan(Roster(HOMES[street])).quantizer
        mean = sum(fractions(group["kwh"])) / HOMES[street]
        cell = min(
            int((mean - quantizer.low) * quantizer.levels / (quantizer.high - quantizer.low)), quantizer.levels - 1
        )
        row = release.table[(release.table["street"] == street) & (release.table["ts"] == start)]
        assert row["kwh"].item() == quantizer.symbols[cell]


def test_windows_of_a_day_count_the_rows_of_each_individual(meters: pd.DataFrame) -> None:
    release = rt.tables.aggregate(meters, query="mean", per="1d", **COMMON)
    assert len(release.table) == 2 * 2
    assert release.certificate.parameters["readings"] == 48
    assert release.certificate.claims["series"] == {"readings": 2, "bits": 6.0}


def test_a_rule_withholds_and_is_counted_as_one_more_output(meters: pd.DataFrame) -> None:
    loose = rt.tables.aggregate(meters, query="sum", **COMMON)
    strict = rt.tables.aggregate(meters, query="sum", rule="8/50", **COMMON)
    assert loose.certificate.claims["counted_outputs"] <= 8
    assert strict.certificate.claims["counted_outputs"] <= 8
    assert strict.certificate.claims["cells"][0]["levels"] < loose.certificate.claims["cells"][0]["levels"]
    withheld = strict.table.set_index(["street", "ts"])["kwh"].isna()
    for key, group in meters[meters["street"] != "C"].groupby(["street", "ts"]):
        amounts = fractions(group["kwh"])
        assert withheld[key] == (2 * max(amounts) > sum(amounts))


def test_public_participation_asks_for_every_reading_private_hides_who_is_there(meters: pd.DataFrame) -> None:
    first = meters["ts"].min()
    gone = meters[~((meters["street"] == "A") & (meters["ts"] == first))]
    with pytest.raises(InputError, match="lack rows of their roster"):
        rt.tables.aggregate(gone, query="mean", **COMMON)
    with pytest.raises(ArgumentError, match="since, until: state the public period"):
        rt.tables.aggregate(gone, query="mean", participation="private", **COMMON)
    period = {"since": "2024-01-01", "until": "2024-01-03"}
    private = rt.tables.aggregate(gone, query="mean", participation="private", **period, **COMMON)
    assert len(private.table) == 2 * 96, "an empty window is there, and withheld"
    assert np.isnan(private.table.loc[(private.table["street"] == "A"), "kwh"].iloc[0])
    filled = rt.tables.aggregate(gone, query="mean", fill=0, **COMMON)
    assert filled.table.loc[filled.table["street"] == "A", "kwh"].iloc[0] < 0.1
    half = meters.drop(meters[(meters["home"] == "A3") & (meters["ts"] == first)].index)
    hourly = rt.tables.aggregate(half, query="sum", per="1h", participation="private", **period, **COMMON)
    assert len(hourly.table) == 2 * 48


def test_the_windows_of_private_participation_are_those_of_the_period(meters: pd.DataFrame) -> None:
    some = meters[meters["ts"].between("2024-01-01 06:00", "2024-01-01 12:00")]
    more = meters[meters["ts"].between("2024-01-01 06:00", "2024-01-01 18:00")]
    period = {"since": "2024-01-01", "until": "2024-01-02", "per": "1h"}
    options = {**COMMON, "participation": "private", **period}
    for frame in (some, more):
        release = rt.tables.aggregate(frame, query="sum", **options)
        assert len(release.table) == 2 * 24
    outside = rt.tables.aggregate(meters, query="sum", **options)
    assert outside.table["ts"].max() < pd.Timestamp("2024-01-02")
    for change, sentence in (
        ({"until": None}, "since, until: state"),
        ({"until": "2023-12-31"}, "no record lies between"),
        ({"until": "soon"}, "must be times like those"),
    ):
        with pytest.raises((ArgumentError, InputError), match=sentence):
            rt.tables.aggregate(some, query="sum", **{**options, **change})


def test_a_roster_file_is_public_and_complete(meters: pd.DataFrame, tmp_path: Path) -> None:
    roster = meters[["street", "home"]].drop_duplicates()
    more = pd.concat([roster, pd.DataFrame([("C", f"C{i}") for i in range(3, 9)], columns=["street", "home"])])
    more.to_csv(tmp_path / "roster.csv", index=False)
    release = rt.tables.aggregate(
        meters,
        query="mean",
        roster=tmp_path / "roster.csv",
        participation="private",
        since="2024-01-01",
        until="2024-01-03",
        **COMMON,
    )
    assert sorted(release.table["street"].unique()) == ["A", "B", "C"]
    assert release.certificate.parameters["groups"] == [[12, 1], [9, 2]]
    roster.iloc[1:].to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(InputError, match="are not in their group of short"):
        rt.tables.aggregate(meters, query="mean", roster=tmp_path / "short.csv", **COMMON)


def test_files_verify_and_a_changed_symbol_does_not(meters: pd.DataFrame, tmp_path: Path) -> None:
    meters.to_parquet(tmp_path / "in.parquet", index=False)
    out = tmp_path / "out.csv"
    release = rt.tables.aggregate(tmp_path / "in.parquet", query="mean", output=out, **COMMON)
    checked = rt.Certificate.read(f"{out}.certificate.json")
    assert checked.verify(out).verdict == "consistent"
    assert release.certificate.body == checked.body
    out.write_text(out.read_text().replace("0.", "1.", 1))
    with pytest.raises(VerificationError, match=r"SHA-256"):
        checked.verify(out)


def test_the_order_of_rows_changes_nothing(meters: pd.DataFrame) -> None:
    one = rt.tables.aggregate(meters, query="max", **COMMON)
    two = rt.tables.aggregate(meters.sample(frac=1, random_state=5), query="max", **COMMON)
    pd.testing.assert_frame_equal(one.table, two.table)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": ()}, "id: name the column of the individuals"),
        ({"at_least": 20}, "at-least: no group has 20 individuals"),
        ({"over": "home"}, "over: must be other columns"),
        ({"per": "45m"}, "per: must be a multiple of the sampling period, 30m"),
        ({"rule": "often"}, "rule: is none of"),
        ({"low": None}, "low, high: the range is never read off the data"),
        ({"resolution": None}, "resolution: readings must be exact multiples"),
    ],
)
def test_bad_input_is_one_sentence(meters: pd.DataFrame, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ArgumentError, InputError), match=sentence):
        rt.tables.aggregate(meters, query="mean", **{**COMMON, **change})


def test_repeated_readings_and_rows_without_a_group_are_refused(meters: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="repeat the time"):
        rt.tables.aggregate(pd.concat([meters, meters.iloc[:3]]), query="mean", **COMMON)
    holes = meters.copy()
    holes.loc[holes.index[:2], "street"] = None
    with pytest.raises(InputError, match="column street: 2 of"):
        rt.tables.aggregate(holes, query="mean", **COMMON)


def test_cuts_keep_each_month_to_itself_and_the_guarantee_says_so() -> None:
    times = pd.date_range("2024-01-01", periods=24 * 90, freq="h")
    frame = pd.DataFrame({"ts": times, "v": np.arange(times.size)})
    release = rt.tables.switch(
        frame, time="ts", value="v", window=24, epsilon=1.0, cuts="month", source=rt.seeded_source(1)
    )
    months = release.table["ts"].dt.month
    for month in (1, 2, 3):
        assert sorted(release.table.loc[months == month, "v"]) == sorted(frame.loc[months == month, "v"])
    assert release.certificate.claims["guarantee"]["cuts"] is True
    assert "two sides of a public cut" in release.certificate.claims["guarantee"]["limits"]
    with pytest.raises(ArgumentError, match="cuts: must be one of"):
        rt.tables.switch(frame, time="ts", value="v", window=24, epsilon=1.0, cuts="hour")


def test_groups_and_individuals_are_named_as_in_the_input(tmp_path: Path) -> None:
    """01067 is a postal code, and no number: nor in the file of the roster."""
    homes = [(code, f"{code}{home:03d}") for code in ("01067", "1067") for home in range(3)]
    rows = "".join(f"{code},{home},2024-01-0{day},{day}.5\n" for code, home in homes for day in (1, 2))
    (tmp_path / "in.csv").write_text("zip,home,ts,kwh\n" + rows)
    (tmp_path / "roster.csv").write_text("home,zip\n" + "".join(f"{home},{code}\n" for code, home in homes))
    options: dict[str, Any] = {**COMMON, "over": "zip", "at_least": 3, "output": tmp_path / "out.csv", "ledger": False}
    for roster in (None, tmp_path / "roster.csv"):
        options |= {"roster": roster, "overwrite": True}
        done = rt.tables.aggregate(tmp_path / "in.csv", query="mean", **options)
        assert {line.split(",")[0].strip('"') for line in (tmp_path / "out.csv").read_text().splitlines()[1:]} == {
            "01067",
            "1067",
        }
        assert done.certificate.parameters["groups"] == [[3, 2]]
    (tmp_path / "roster.csv").write_text("home,zip\n" + "".join(f"{home},{code}\n" for code, home in homes) + ",1067\n")
    with pytest.raises(InputError, match=r"roster: 1 rows of roster\.csv lack"):
        rt.tables.aggregate(tmp_path / "in.csv", query="mean", **options)


def test_nobody_is_in_two_groups(meters: pd.DataFrame) -> None:
    """Else an individual would move several aggregates of one window, each through as many outputs as are allowed."""
    twice = meters.assign(home=meters["home"].replace({"B0": "A0"}))
    with pytest.raises(InputError, match="over: 1 individuals are in more than one group"):
        rt.tables.aggregate(twice, query="mean", **COMMON)
    small = meters.assign(home=meters["home"].replace({"C0": "A0"}))
    assert len(rt.tables.aggregate(small, query="mean", **COMMON).table) == 2 * 96, "C is not published"


def test_windows_of_numbers_that_no_float_holds() -> None:
    for first in (1_700_000_000_000_000_000, -1_700_000_000_000_000_000):
        ticks = first + 100 * np.arange(8)
        frame = pd.DataFrame({"home": np.repeat(["a", "b"], 8), "ts": np.tile(ticks, 2), "kwh": 1.0})
        options = {**COMMON, "over": (), "at_least": 1, "per": "400", "every": "100"}
        release = rt.tables.aggregate(frame, query="sum", **options)
        assert release.table["ts"].tolist() == [first, first + 400]
