"""Where the data of the experiments lie, and where they can be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reticent.errors import ArgumentError


@dataclass(frozen=True)
class Source:
    """A public data set: its file, as found, and where it can be had."""

    file: str
    origin: str


SOURCES = {
    "cgm-glucose": Source(
        "CGM.csv.gz", "the Python package bokeh-sampledata, or any CSV with columns datetime and glucose"
    ),
    "sgsc-50-households": Source(
        "smart_meter_50_tbl.rds",
        "the repository Sayani07/gravitas on GitHub (data/, before it was reduced), from the Australian Smart-Grid "
        "Smart-City customer trial",
    ),
    "lcl-1130-households-weekly": Source(
        "featureSet_weekly.csv",
        "the repository Niloy-Chakraborty/Time-Series_Clustering_on_London_Smart_Meter_Dataset on GitHub, from the Low "
        "Carbon London data of the London Datastore: one column a household, one row a week",
    ),
    "nilm-appliances": Source(
        "REFIT_House2_2014-03.gzip",
        "the repository adrienpetralia/DeviceScope on GitHub (Data/), from the REFIT Electrical Load Measurements; the "
        "files of 2014-04 to 2014-07, and for other houses those of UK-DALE and IDEAL, belong beside it",
    ),
    "fitbit-hourly-steps": Source(
        "hourlySteps_merged.csv", "Zenodo record 53894, also on Kaggle as FitBit Fitness Tracker Data"
    ),
    "nyc-green-taxi-2013-08": Source(
        "green_tripdata_2013-08.csv",
        "the trip records of the New York City Taxi and Limousine Commission in their form of 2013 to 2016, with "
        "coordinates",
    ),
    "chicago-taxi": Source(
        "data.csv", "the City of Chicago's data portal (Taxi Trips), or the examples of tensorflow/tfx"
    ),
}


def located(data: Path | None, names: Sequence[str]) -> dict[str, Path]:
    """The files of those data sets that are in the folder `data`, each in a folder of its name.

    Raises
    ------
    ArgumentError
        If none is there: where they can be had.
    """
    places = {} if data is None else {name: data / name / SOURCES[name].file for name in names}
    found = {name: path for name, path in places.items() if path.is_file()}
    if not found:
        wanted = "; or ".join(f"{name}/{SOURCES[name].file} ({SOURCES[name].origin})" for name in names)
        raise ArgumentError(f"data: give with --data a folder that holds {wanted}")
    return found
