"""Loads of households and of houses with sub-meters, read from the files as found."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.disaggregation import House
from reticent.errors import InputError
from reticent.experiments.panels import read_meters

Floats = NDArray[np.float64]

HALF_HOURS = 48


def household_days(file: Path) -> Floats:
    """Half-hourly load (kWh) of the calendar year with the most readings, shape (households, days, 48); NaN is missing.

    Of two readings of one household and instant, as when the clocks go back, the first is kept.
    """
    people, seconds, load = read_meters(file)
    years = seconds.astype("datetime64[s]").astype("datetime64[Y]")
    names, counts = np.unique(years, return_counts=True)
    year = names[counts.argmax()]
    begin, end = (each.astype("datetime64[s]").astype(np.int64) for each in (year, year + np.timedelta64(1, "Y")))
    kept = np.flatnonzero((seconds >= begin) & (seconds < end))[::-1]  # the first of two is written last
    households, codes = np.unique(people[kept], return_inverse=True)
    table = np.full((households.size, (end - begin) // 1800), np.nan)
    table[codes, (seconds[kept] - begin) // 1800] = load[kept]
    return table.reshape(households.size, -1, HALF_HOURS)


def weekly_totals(file: Path) -> Floats:
    """Weekly load (kWh), shape (households, 1, weeks), without the first and the last week, which are partial.

    Raises
    ------
    InputError
        If a field is no number.
    """
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.reader(lines))[1:]
    try:
        table = np.array([[float(field) if field else np.nan for field in row[1:]] for row in rows])
    except ValueError:
        raise InputError("data: a field of the weekly totals is no number; give one column a household") from None
    return table[1:-1].T[:, None, :]


def sub_metered(files: list[Path]) -> House:
    """Minutes of a house: columns Time, Aggregate, and one an appliance, in watts.

    Raises
    ------
    InputError
        If a file is not there, or has other columns or other appliances than the first.
    """
    header: list[str] | None = None
    times: list[str] = []
    watts: list[list[float]] = []
    for file in files:
        if not file.is_file():
            raise InputError(f"data: {file.name} is not beside the other files; put it there")
        with gzip.open(file, "rt", encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines)
            found = next(rows)
            if found[:2] != ["Time", "Aggregate"] or len(found) < 3 or (header or found) != found:
                raise InputError("data: each file needs the columns Time, Aggregate and the same appliances")
            header = found
            for row in rows:
                times.append(row[0][:10])
                watts.append([float(field) if field else np.nan for field in row[1:]])
    if header is None:
        raise InputError("data: there is no file of the months to test on; put them beside the first")
    table = np.array(watts)
    return House.of(header[2:], table[:, 0], table[:, 1:], np.array(times, dtype="datetime64[D]").astype(np.int64))
