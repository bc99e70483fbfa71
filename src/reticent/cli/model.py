"""fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.cli.terminal import say


def fit(
    input: opt.INPUT,
    time: opt.TIME,
    value: opt.VALUE,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where the model file goes.")],
    states: opt.STATES = None,
    edges: opt.EDGES = None,
    symbols: opt.EDGE_SYMBOLS = "interval",
    smoothing: opt.SMOOTHING = None,
    period: opt.PERIOD = 1,
    every: opt.EVERY = None,
    since: Annotated[str | None, typer.Option("--since", help="Only records from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only records before this time.")] = None,
    rhythm: Annotated[
        int | None, typer.Option("--rhythm", help="Instants of a rhythm to test for; those of a day by default.")
    ] = None,
    id: opt.ID = None,
    memory: opt.MEMORY = None,
    duplicates: opt.DUPLICATES = "error",
    delimiter: opt.DELIMITER = None,
    decimal: opt.DECIMAL = None,
    encoding: opt.ENCODING = "utf-8",
    time_format: opt.TIME_FORMAT = None,
    time_zone: opt.TIME_ZONE = None,
    null: opt.NULL = None,
    row_names: opt.ROW_NAMES = False,
) -> None:
    """Fit a Markov chain to data that are not to be hidden: the past, or other people's, with their consent."""
    from reticent import tables
    from reticent.tables.staging import write_whole

    options: dict[str, Any] = {
        "since": since,
        "until": until,
        "time": time,
        "value": value,
        "id": id or (),
        "memory": memory,
        "duplicates": duplicates,
        "reading": opt.reading(delimiter, decimal, encoding, time_format, time_zone, null, row_names),
    }
    model = tables.fit(
        input,
        states=opt.states(states),
        smoothing=smoothing,
        period=period,
        every=every,
        edges=opt.edges(edges),
        symbols=symbols,
        **options,
    )
    write_whole(output, model.to_json())
    chain = model.chain
    instants = f", {chain.period} instants" if chain.period > 1 else ""
    say(f"A chain over {chain.size} states{instants}, one step every {model.every}.")
    if chain.period == 1 and chain.size <= 8:
        for state, row in zip(chain.states, chain.transition, strict=True):
            say(f"  from {state}: " + ", ".join(f"{to} {p:.4f}" for to, p in zip(chain.states, row, strict=True)))
    diagnosis = tables.diagnose(input, model, rhythm=rhythm, **options)
    say(diagnosis.describe())
    say(f"model:       {output}")
