"""demo: the two-minute tour on real data that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import options as opt

if TYPE_CHECKING:
    from reticent.tables import Release

EVENING = "2007-12-20 18:00/2007-12-20 23:30"
EARLIER = "2007-12-17"


def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path("reticent-demo"),
    overwrite: opt.OVERWRITE = False,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", help="Only write the shipped data there, as files to try things on."),
    ] = None,
) -> None:
    """The two-minute tour: coarsen and switch a glucose series, hide an evening, coarsen a weather series."""
    from reticent import datasets, tables
    from reticent.errors import ArgumentError

    if data is not None:
        _write_data(data, overwrite)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "private").mkdir(exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"output: {folder} cannot be made ({error.strerror})") from None
    common: dict[str, Any] = {"overwrite": overwrite, "ledger": False}  # the data are public

    _say(1, "Hide when, within an hour, a glucose value occurred", datasets.describe("glucose"))
    coarse = tables.quantize(
        datasets.path("glucose"),
        time="datetime",
        value="glucose",
        low=40,
        high=400,
        bits=3,
        output=folder / "private" / "glucose-coarse.csv",
        **common,
    )
    assert coarse.outputs is not None
    typer.echo("  Coarsened to eight levels first (that file stays in private/), then switched within 12 steps.")
    _done(
        tables.switch(
            coarse.outputs.released,
            time="datetime",
            value="glucose",
            window=12,
            epsilon=2.0,
            output=folder / "glucose.csv",
            **common,
        )
    )

    _say(2, "Hide whether the water heater was on during one evening", datasets.describe("household-power"))
    power = datasets.path("household-power")
    model = tables.fit(power, time="time", value="water_heater", until=EARLIER)
    typer.echo(f"  The chain is fitted on the weeks before {EARLIER}; the evening is {EVENING.replace('/', ' to ')}.")
    _done(
        tables.redact(
            power,
            time="time",
            value="water_heater",
            private=EVENING,
            epsilon=1.0,
            model=model,
            output=folder / "water-heater.csv",
            **common,
        )
    )

    _say(3, "Publish daily temperatures in eight steps", datasets.describe("weather"))
    _done(
        tables.quantize(
            datasets.path("weather"),
            time="date",
            value="temp_max",
            low=-10,
            high=40,
            bits=3,
            output=folder / "temperature.csv",
            **common,
        )
    )
    typer.echo(f"All files are in {folder}/; open the .report.html files in a browser.")


def _write_data(folder: Path, overwrite: bool) -> None:
    """Each shipped data set as a file, with its title and its licence in words."""
    from reticent import datasets
    from reticent.errors import ArgumentError

    files = {name: folder / datasets.path(name).name for name in datasets.names()}
    taken = [file.name for file in files.values() if file.exists()]
    if taken and not overwrite:
        raise ArgumentError(f"data: {', '.join(taken)} exists in {folder}; --overwrite replaces it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, file in files.items():
            file.write_bytes(datasets.path(name).read_bytes())
    except OSError as error:
        raise ArgumentError(f"data: {folder} cannot be written to ({error.strerror})") from None
    for name, file in files.items():
        known = datasets.describe(name)
        typer.echo(f"{file}: {known.title} ({known.licence}); columns {', '.join(known.columns)}")


def _say(number: int, what: str, data: Any) -> None:
    typer.echo(f"{number}. {what}\n  {data.title} ({data.licence}).")


def _done(release: Release) -> None:
    """Verify from the files alone, and say what is promised."""
    from reticent.certificates import Certificate

    outputs = release.outputs
    assert outputs is not None
    verdict = Certificate.read(outputs.certificate).verify(outputs.released).verdict
    typer.echo(f"  {release.certificate.claims['guarantee']['promise']}")
    typer.echo(f"  {outputs.released}, certificate {verdict}, report {outputs.report.name}\n")
