"""The series of `switching_series`, read from the files as found."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOUR, DAY = 3600, 86_400


@dataclass(frozen=True, eq=False)
class Series:
    """One series in order of time: values, and the hour and the day of each, numbered from 0. Shapes (n,)."""

    values: Floats
    hours: Ints
    days: Ints

    @classmethod
    def of(cls, seconds: Ints, values: Floats) -> Series:
        """From times in seconds: sorted, the first of equal times kept."""
        times, first = np.unique(seconds, return_index=True)
        hours, days = times // HOUR, times // DAY
        return cls(values[first].astype(np.float64), hours - hours[0], days - days[0])


@dataclass(frozen=True, eq=False)
class Panel:
    """Series of one kind, the privacy window (steps) that suits them, and the records of a day."""

    title: str
    window: int
    day: int
    series: tuple[Series, ...]

    def shortened(self, count: int, records: int) -> Panel:
        """The first `count` series, the first `records` of each."""
        kept = (Series(s.values[:records], s.hours[:records], s.days[:records]) for s in self.series[:count])
        return replace(self, series=tuple(kept))


def load_panel(name: str, file: Path) -> Panel:
    """The panel of a data set.

    Raises
    ------
    InputError
        If an R file is to be read and the package for it is not installed.
    """
    return _LOADERS[name](file)


def glucose(file: Path) -> Panel:
    """Glucose every 5 minutes: within an hour."""
    opened: Callable[..., TextIO] = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8-sig") as lines:
        rows = [(row["datetime"], float(row["glucose"])) for row in csv.DictReader(lines) if row["glucose"]]
    times = np.array([time for time, _ in rows], dtype="datetime64[s]").astype(np.int64)
    return Panel("glucose, 5 minutes", 12, 288, (Series.of(times, np.array([value for _, value in rows])),))


def steps(file: Path) -> Panel:
    """Steps of the hour: within six hours; people with at least four weeks who walk at all."""
    people: dict[str, list[tuple[int, float]]] = {}
    with file.open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            people.setdefault(row["Id"], []).append((_hour(row["ActivityHour"]), float(row["StepTotal"])))
    return Panel("steps, hourly", 6, 24, tuple(_long(people, 28 * 24)))


def read_meters(file: Path) -> tuple[NDArray[np.str_], Ints, Floats]:
    """Household, seconds and load of each half-hourly reading that is there.

    Raises
    ------
    InputError
        If the package that reads R files is not installed.
    """
    try:
        import rdata
    except ImportError:
        raise InputError("data: reading an R file takes the package rdata; pip install rdata") from None
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about R classes that it does not know
        frame = rdata.read_rds(file)
    times = np.asarray(frame["reading_datetime"], dtype=np.float64).astype(np.int64)
    load = np.asarray(frame["general_supply_kwh"], dtype=np.float64)
    kept = ~np.isnan(load)
    return np.asarray(frame["customer_id"])[kept], times[kept], load[kept]


def meters(file: Path) -> Panel:
    """Half-hourly load in 2013: within four hours; households with at least 99 % of the readings."""
    people, times, load = read_meters(file)
    begin, end = (int(np.datetime64(f"{year}-01-01", "s").astype(np.int64)) for year in (2013, 2014))
    kept = (times >= begin) & (times < end)
    homes, codes = np.unique(people[kept], return_inverse=True)
    order = np.argsort(codes, kind="stable")
    cuts = np.searchsorted(codes[order], np.arange(homes.size + 1))
    groups = (order[a:b] for a, b in pairwise(cuts.tolist()))
    whole = (end - begin) // 1800
    found = (Series.of(times[kept][group], load[kept][group]) for group in groups)
    return Panel(
        "household load, half-hourly", 8, 48, tuple(each for each in found if each.values.size >= 0.99 * whole)
    )


def _long(people: dict[str, list[tuple[int, float]]], least: int) -> Iterator[Series]:
    for records in people.values():
        times, values = np.array([time for time, _ in records]), np.array([value for _, value in records])
        if times.size >= least and values.any():
            yield Series.of(times, values)


def _hour(text: str) -> int:
    """Seconds of ``4/12/2016 13:00`` or ``4/12/2016 1:00:00 PM``."""
    form = "%m/%d/%Y %I:%M:%S %p" if text.endswith("M") else "%m/%d/%Y %H:%M"
    return int((datetime.strptime(text, form) - datetime(1970, 1, 1)).total_seconds())


_LOADERS: dict[str, Callable[[Path], Panel]] = {
    "cgm-glucose": glucose,
    "sgsc-50-households": meters,
    "fitbit-hourly-steps": steps,
}
