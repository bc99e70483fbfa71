"""experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.errors import ArgumentError


def experiment(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="See --list.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the figure and its data.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="Folder that holds a folder for each data set.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Name the experiments and the data that they take.")] = False,
) -> None:
    """Run an experiment of the papers, or beyond them: NAME.csv, NAME.svg, NAME.png, and what came out in NAME.md."""
    from reticent import experiments
    from reticent.cli.release import progress

    if list_all:
        for each in experiments.EXPERIMENTS:
            needs = f" (--data: {', '.join(each.sources)})" if each.sources else ""
            typer.echo(f"{each.name:20}{each.title}{needs}")
        return
    if name is None:
        raise ArgumentError("name: say which experiment to run; --list names them")
    chosen = experiments.find(name)
    if output is None:
        raise ArgumentError("output: give a folder for the figure and its data with -o")
    with progress(chosen.name) as bar:
        outcome = chosen.run(data, bar)
    paths = experiments.write(chosen, outcome, output)
    typer.echo(outcome.findings)
    typer.echo(f"\n{', '.join(str(path) for path in paths)}")
