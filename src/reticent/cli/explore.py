"""explore: a page to choose a mechanism and its parameters by looking.

Of INPUT's and the model's path only the last part is on the page, which may be handed out.
"""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.cli.terminal import say
from reticent.errors import ArgumentError

FITTED = "model.json"
FITTING = ("since", "until", "states", "edges", "smoothing", "every")


@opt.grouped(reading=opt.reading)
def explore(
    context: typer.Context,
    input: Annotated[
        Path | None,
        typer.Argument(metavar="[INPUT]", help="The file that shall be released; its values stay off the page."),
    ] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column of the times.")] = None,
    value: Annotated[str | None, typer.Option("--value", help="Column to release.")] = None,
    id: opt.ID = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PAGE", help="Where the page goes.")] = Path(
        "explorer.html"
    ),
    overwrite: opt.OVERWRITE = False,
    show: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open it in a browser; by default on a terminal.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Model file: the page holds its chain in place of α and β.")
    ] = None,
    fit: Annotated[
        bool,
        typer.Option("--fit", help="Fit a chain on INPUT and put it on the page: all it shows of the values."),
    ] = False,
    since: Annotated[str | None, typer.Option("--since", help="With --fit: only records from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="With --fit: only records before this time.")] = None,
    states: opt.STATES = None,
    edges: opt.EDGES = None,
    smoothing: opt.SMOOTHING = None,
    every: opt.EVERY = None,
    low: Annotated[str, typer.Option("--low", help="Lower end of the public range of the values.")] = "0",
    high: Annotated[str, typer.Option("--high", help="Upper end of it.")] = "10",
    resolution: Annotated[str, typer.Option("--resolution", help="Readings are multiples of it.")] = "0.01",
    duplicates: opt.DUPLICATES = "error",
    reading: Any = None,
) -> None:
    """Write one page with sliders: what each mechanism promises and costs, and the command that does it."""
    from reticent.reports.explorer import Input, explorer
    from reticent.tables.staging import write_whole

    if fit and (input is None or model is not None):
        raise ArgumentError("fit: takes an INPUT to fit a chain on, and no --model beside it")
    if not fit and any((since, until, states, edges, smoothing)):
        raise ArgumentError("since, until, states, edges, smoothing: say how --fit fits; give them with --fit")
    if output.exists() and not overwrite:
        raise ArgumentError(f"output: {output.name} exists; name another page, or pass --overwrite")
    stated: dict[str, Any] = {"low": low, "high": high, "resolution": resolution}
    if model is not None:
        from reticent.tables.models import Model

        stated |= {"model": Model.read(model), "model_file": model.name, "origin": model.name}
    if input is None:
        given = Input(**stated)
    elif time is None or value is None:
        raise ArgumentError("time, value: name the columns of INPUT, or leave INPUT out")
    else:
        columns = _words(context.params, ("id", "time", "value"))
        how = _words(context.params, ("duplicates", *inspect.signature(opt.reading).parameters))
        options = {"time": time, "value": value, "id": id or (), "duplicates": duplicates, "reading": reading}
        if fit:
            again = _words(context.params, FITTING)
            line = shlex.join(["reticent", "fit", input.name, *columns, *again, *how, "-o", FITTED])
            stated |= {"fit": f"{line}\n", "origin": f"{input.name}, as fitted"}
            stated["model"] = _fitted(
                input, opt.states(states, reading)[0], edges, smoothing, every, since, until, options
            )
        given = Input(input.name, columns, how, **_facts(input, every, options), **stated)
    write_whole(output, explorer(given))
    say(f"page:        {output}")
    if show or (show is None and sys.stdout.isatty()):
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


def _words(given: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    """Options as they were typed, but for those left at their defaults."""
    defaults = {**inspect.signature(explore).parameters}
    words: list[str] = []
    for name in names:
        value = given[name]
        option = f"--{name.replace('_', '-')}"
        if value in (None, False, [], (), defaults[name].default):
            continue
        if value is True:
            words.append(option)
        else:
            words += [
                word for each in (value if isinstance(value, list | tuple) else [value]) for word in (option, str(each))
            ]
    return words


def _fitted(
    path: Path,
    states: list[Any] | None,
    edges: str | None,
    smoothing: float | None,
    every: str | None,
    since: str | None,
    until: str | None,
    options: dict[str, Any],
) -> Any:
    from reticent import tables

    return tables.fit(
        path,
        states=states,
        edges=opt.listed_edges(edges),
        smoothing=smoothing,
        every=every,
        since=since,
        until=until,
        **options,
    )


def _facts(path: Path, every: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Length of the longest series of INPUT and its sampling period, which its times show."""
    from reticent.tables.grid import Grid
    from reticent.tables.jobs import job_of
    from reticent.tables.pipeline import opened
    from reticent.tables.sql import quoted, quoted_list

    with opened(job_of(path, options), ()) as records:  # type: ignore[arg-type]
        grid = Grid.find(records) if every is None else Grid.parse(every, records.time_is_whole)
        time, ids = quoted(records.columns.time), records.columns.id
        ticks = time if records.time_is_whole else f"epoch_us({time}::TIMESTAMP)"
        groups = f" GROUP BY {quoted_list(ids)}" if ids else ""
        each = f"SELECT max({ticks}) - min({ticks}) AS span FROM {records.view}{groups}"
        (span,) = records.con.sql(f"SELECT max(span) FROM ({each})").fetchall()[0]
    steps = (2 * int(span) + grid.step) // (2 * grid.step) + 1
    return {"records": steps, "every": {"step": grid.step, "unit": "1" if grid.whole else "us"}}
