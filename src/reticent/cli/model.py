"""fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.cli.release import show_plan, warn_quarantine
from reticent.cli.terminal import say


@opt.grouped(chain=opt.chain, reading=opt.reading)
def fit(
    input: opt.INPUT,
    time: opt.TIME,
    value: opt.VALUE,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Where the model file goes.")],
    chain: Any,
    since: Annotated[str | None, typer.Option("--since", help="Only records from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only records before this time.")] = None,
    rhythm: Annotated[
        int | None, typer.Option("--rhythm", help="Instants of a rhythm to test for; those of a day by default.")
    ] = None,
    id: opt.ID = None,
    memory: opt.MEMORY = None,
    duplicates: opt.DUPLICATES = "error",
    dry_run: opt.DRY_RUN = False,
    quiet: opt.QUIET = False,
    reading: Any = None,
) -> None:
    """Fit a Markov chain to data that are not to be hidden: the past, or other people's, with their consent."""
    from reticent import tables
    from reticent.tables.fitting import fitted
    from reticent.tables.staging import write_whole

    chain["states"], reading = opt.states(chain["states"], reading)
    options: dict[str, Any] = {
        "since": since,
        "until": until,
        "time": time,
        "value": value,
        "id": id or (),
        "memory": memory,
        "duplicates": duplicates,
        "reading": reading,
    }
    model, plan = fitted(input, dry_run=dry_run, **chain, **options)
    if model is not None:
        write_whole(output, model.to_json())
    if not quiet:
        show_plan(plan)
    if model is None:
        typer.echo("DRY RUN: nothing was fitted or written.")
        return
    law = model.chain
    instants = f", {law.period} instants" if law.period > 1 else ""
    say(f"A chain over {law.size} states{instants}, one step every {model.every}.")
    if law.period == 1 and law.size <= 8:
        for state, row in zip(law.states, law.transition, strict=True):
            say(f"  from {state}: " + ", ".join(f"{to} {p:.4f}" for to, p in zip(law.states, row, strict=True)))
    diagnosis = tables.diagnose(input, model, rhythm=rhythm, **options)
    say(diagnosis.describe())
    say(f"model:       {output}")
    warn_quarantine(reading, dry_run)
