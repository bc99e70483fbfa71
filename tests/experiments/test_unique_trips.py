"""Fig. 6 of the noiseless paper: trips as found, levels, and the shares."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from reticent.errors import InputError
from reticent.experiments import unique_trips as trips
from shared_data import shared

NEW_YORK, CHICAGO = "nyc-green-taxi-2013-08", "chicago-taxi"
FILES = {NEW_YORK: "green_tripdata_2013-08.csv", CHICAGO: "data.csv"}
MESSY = (
    "Pickup_latitude,Pickup_longitude,Dropoff_latitude,Dropoff_longitude\n\n40.7,-74,40.8,-73.9,,\n0,0,0,0,,\n,,1,1,,\n"
)


def test_blank_lines_trailing_commas_zeros_and_empty_fields(tmp_path: Path) -> None:
    file = tmp_path / "trips.csv"
    file.write_text(MESSY)
    assert trips.load_trips(file, trips.CITIES[NEW_YORK].columns).tolist() == [[40.7, -74.0, 40.8, -73.9]]
    with pytest.raises(InputError, match="no column pickup_latitude"):
        trips.load_trips(file, trips.CITIES[CHICAGO].columns)


@pytest.mark.parametrize(("name", "recorded", "inside"), [(NEW_YORK, 7_083, 7_060), (CHICAGO, 14_519, 14_519)])
def test_trips_as_found(name: str, recorded: int, inside: int) -> None:
    city = trips.CITIES[name]
    found = trips.load_trips(shared("data", name, FILES[name]), city.columns)
    assert len(found) == recorded
    assert len(trips.inside(city, found)) == inside


def test_shares_and_levels_on_real_trips() -> None:
    files = {name: shared("data", name, file) for name, file in FILES.items()}
    rows = trips.unique_trips(files, bits=(0, 5, 8, 16, 25)).rows
    share = {(row["city"].split(",")[0], row["trips"], row["bits"]): row["unique_share"] for row in rows}
    for row in rows:
        levels = [int(level) for level in row["levels"].split(" × ")]
        assert math.prod(levels) == row["outputs"] <= 2 ** row["bits"]
        assert max(levels) - min(levels) <= 1
    assert next(row["levels"] for row in rows if row["bits"] == 5) == "3 × 2 × 2 × 2"
    assert share["New York", 7_060, 0] == 0
    assert share["New York", 7_060, 8] < 0.005 < 0.5 < share["New York", 7_060, 25]
    assert share["New York", 7_060, 16] == pytest.approx(0.0435, abs=1e-4)
    assert share["Chicago", 14_519, 16] == pytest.approx(0.0185, abs=1e-4)
    assert share["New York", 1_000, 16] > share["New York", 7_060, 16]  # fewer trips, more of them unique
