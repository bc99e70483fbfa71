"""advise: which mechanism, what guarantee, what is lost, the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.guarantees import rounded_up

if TYPE_CHECKING:
    from reticent.advice import Advice, Expected

PRIVATE = "PRIVATE: computed from the values; keep it in the house. Nothing was released, nothing charged."


@opt.grouped(reading=opt.reading)
def advise(
    input: opt.INPUT,
    time: opt.TIME,
    value: opt.VALUE,
    id: opt.ID = None,
    epsilon: Annotated[float, typer.Option("--epsilon", help="Nats, of a redaction or a switch.")] = 2.0,
    bits: Annotated[str, typer.Option("--bits", help="Budget of a coarsened reading or aggregate.")] = "3",
    window: Annotated[int, typer.Option("--window", help="Steps within which a switch hides the order.")] = 12,
    private: Annotated[
        list[str] | None, typer.Option("--private", help="Interval START/END that a redaction hides; repeatable.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Model file for it; else fitted on what lies well before.")
    ] = None,
    low: Annotated[str | None, typer.Option("--low", help="Lower end of the public range of the values.")] = None,
    high: Annotated[str | None, typer.Option("--high", help="Upper end of the public range of the values.")] = None,
    resolution: Annotated[
        str | None, typer.Option("--resolution", help="Readings are multiples of it; for aggregates.")
    ] = None,
    as_json: opt.JSON = False,
    memory: opt.MEMORY = None,
    duplicates: opt.DUPLICATES = "error",
    reading: Any = None,
) -> None:
    """Compare the mechanisms that fit INPUT: what each promises and costs, and the command. Private; no release."""
    from reticent.advice import advise as ask

    advice = ask(
        input,
        time=time,
        value=value,
        id=id or (),
        epsilon=epsilon,
        bits=bits,
        window=window,
        private=tuple(private or ()),
        model=model,
        low=low,
        high=high,
        resolution=resolution,
        memory=memory,
        duplicates=duplicates,
        reading=reading,
    )
    if as_json:
        typer.echo(json.dumps(advice.to_dict(), ensure_ascii=False, indent=2))
    else:
        _show(advice)


def _show(advice: Advice) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 118, highlight=False, markup=False)
    typer.echo(f"{PRIVATE}\n{advice.found}\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0))
    table.add_column("", justify="right")
    table.add_column("verb")
    table.add_column("guarantee", ratio=3)
    table.add_column("expected", ratio=3)
    table.add_column("lost", ratio=2)
    for number, each in enumerate(advice.options, 1):
        expected = "\n".join(figure(each) for each in each.utility)
        table.add_row(str(number), each.verb, each.guarantee, expected, each.lost)
    console.print(table)
    drawn = [each.confidence for option in advice.options for each in option.utility if each.confidence < 1]
    if drawn:
        typer.echo(
            f"A release comes out between the figures in brackets with a probability of at least {min(drawn):.0%}.\n"
        )
    for number, option in enumerate(advice.options, 1):
        typer.echo("\n".join(f"{'' if step else number:<3}{line}" for step, line in enumerate(option.commands)))
    for verb, why in advice.left_out:
        typer.echo(f"\nnot {verb}: {why}")


def figure(expected: Expected) -> str:
    """One expectation with its interval, which is rounded outwards; shares in per cent."""
    share = expected.measure.startswith("share")
    scale, unit = (100, " %") if share else (1, "")
    value = f"{expected.measure} {scale * expected.value:.4g}{unit}"
    if expected.confidence == 1:
        return value
    low = -float(rounded_up(-scale * expected.low, 4))
    return f"{value} ({low:.4g} to {rounded_up(scale * expected.high, 4)})"
