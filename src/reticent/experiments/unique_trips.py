"""Fig. 6 of the noiseless paper: the share of trips whose start and end, coarsened, no other trip shares."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.uniqueness import uniqueness
from reticent.errors import InputError
from reticent.experiments.frame import Outcome, Progress, part
from reticent.reports import vega
from reticent.reports.drawing import PALETTE

Floats = NDArray[np.float64]

BITS = tuple(range(41))
SMALL = 1000  # trips of the smaller sample, evenly spread over the file


@dataclass(frozen=True)
class City:
    """A public box (degrees), and the columns of its file: start and end, latitude before longitude."""

    title: str
    latitude: tuple[str, str]
    longitude: tuple[str, str]
    columns: tuple[str, str, str, str]


CITIES = {
    "nyc-green-taxi-2013-08": City(
        "New York, August 2013",
        ("40.49", "40.92"),
        ("-74.27", "-73.68"),
        ("Pickup_latitude", "Pickup_longitude", "Dropoff_latitude", "Dropoff_longitude"),
    ),
    "chicago-taxi": City(
        "Chicago, tract centres",
        ("41.64", "42.03"),
        ("-87.95", "-87.52"),
        ("pickup_latitude", "pickup_longitude", "dropoff_latitude", "dropoff_longitude"),
    ),
}


def unique_trips(files: Mapping[str, Path], bits: Sequence[int] = BITS, progress: Progress | None = None) -> Outcome:
    """For each city and for a thousand of its trips: the levels, and the share of unique trips, against ε."""
    rows: list[dict[str, Any]] = []
    for place, (name, file) in enumerate(files.items()):
        city = CITIES[name]
        trips = inside(city, load_trips(file, city.columns))
        spread = np.linspace(0, len(trips) - 1, SMALL).astype(np.int64)
        for half, chosen in enumerate((trips[spread], trips)):
            told = part(progress, 2 * place + half, 2 * len(files))
            rows += [
                {
                    "city": city.title,
                    **result.settings,
                    "unique_share": result.protected.estimate().value,
                    "unique_share_exact": result.control.estimate().value,
                    "bound": result.bound,
                }
                for result in uniqueness(chosen, [city.latitude, city.longitude] * 2, bits, told)
            ]
    return Outcome(rows, _chart(rows), _findings(rows))


def load_trips(file: Path, columns: Sequence[str]) -> Floats:
    """Start and end of the trips with both, shape (trips, 4); zero coordinates are missing ones.

    A blank line after the header and rows with more fields than the header (trailing commas) are borne.

    Raises
    ------
    InputError
        If a column is not there.
    """
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.reader(lines)
        header = [name.strip() for name in next(rows)]
        absent = [name for name in columns if name not in header]
        if absent:
            raise InputError(f"data: the file has no column {', '.join(absent)}; give trips with coordinates")
        places = [header.index(name) for name in columns]
        found = [[row[place] for place in places] for row in rows if len(row) > max(places)]
    texts = np.array([texts for texts in found if all(texts)])
    trips = texts.astype(np.float64)
    return trips[(trips != 0).all(axis=1)]


def inside(city: City, trips: Floats) -> Floats:
    """The trips that begin and end in the city's box."""
    low = np.array([city.latitude[0], city.longitude[0]] * 2, dtype=np.float64)
    high = np.array([city.latitude[1], city.longitude[1]] * 2, dtype=np.float64)
    return trips[((trips >= low) & (trips <= high)).all(axis=1)]


def _findings(rows: Sequence[Mapping[str, Any]]) -> str:
    rule = (
        "The levels of the four coordinates (start latitude, start longitude, end latitude, end longitude) are "
        "integers whose product is at most 2^ε: each is ⌊2^(ε/4)⌋, and then, in this order, one more as long as the "
        "product allows. Cells are equal parts of a public box around the city; trips that leave it do not count."
    )
    sentences = [rule]
    for city in dict.fromkeys(row["city"] for row in rows):
        for trips in dict.fromkeys(row["trips"] for row in rows if row["city"] == city):
            here = [row for row in rows if row["city"] == city and row["trips"] == trips]
            at = {row["bits"]: row["unique_share"] for row in here}
            half = next((row["bits"] for row in here if row["unique_share"] >= 0.5), None)
            told = ", ".join(f"{at[budget]:.2%} at {budget}" for budget in (4, 8, 12, 16, 20) if budget in at)
            reached = f"half at {half} bits" if half is not None else "never half"
            sentences.append(
                f"{city}, {trips:,} trips: {told} bits; {reached}; {here[0]['unique_share_exact']:.2%} as recorded."
            )
    sentences.append(
        "The share depends on the number of trips as much as on ε: it is small as long as 2^ε is small beside it. What "
        "the guarantee implies is just that: of n trips at most 2^ε - 1 are unique, as long as n > 2^ε."
    )
    return "\n\n".join(sentences)


def _chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    named = [{**row, "sample": f"{row['city']}: {row['trips']:,} trips"} for row in rows]
    samples = list(dict.fromkeys(row["sample"] for row in named))
    cities = list(dict.fromkeys(row["city"] for row in named))
    colours = [PALETTE[cities.index(sample.split(":")[0])] for sample in samples]
    dashes = [[5, 3] if place % 2 == 0 else [1, 0] for place in range(len(samples))]
    colour = vega.field("sample:N", title=None, sort=samples, scale={"domain": samples, "range": colours})
    dash = vega.field("sample:N", title=None, sort=samples, scale={"domain": samples, "range": dashes})
    lines = (
        vega.chart(named)
        .mark("line", strokeWidth=2.2)
        .encode(
            x=vega.field("bits:Q", title="ε (bits a trip)", axis={"tickCount": 10}),
            y=vega.field("unique_share:Q", title="trips with a unique start and end", axis={"format": ".0%"}),
            color=colour,
            strokeDash=dash,
        )
    )
    limits = [row for row in named if row["bits"] == named[-1]["bits"]]
    rules = (
        vega.chart(limits)
        .mark("rule", strokeWidth=1, opacity=0.6)
        .encode(y="unique_share_exact:Q", color=colour, strokeDash=dash)
    )
    return (lines + rules).properties(
        width=520,
        height=320,
        title={"text": "Unique trips against ε", "subtitle": "thin horizontal lines: coordinates as recorded"},
    )
