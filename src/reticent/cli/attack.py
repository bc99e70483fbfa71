"""attack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.cli.terminal import one_line, say, say_json
from reticent.errors import ArgumentError

if TYPE_CHECKING:
    from reticent.attacks.running import AttackReport, Progress


_WIDTH = 165  # characters that the table needs


@opt.grouped(reading=opt.reading)
def attack(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The file that the release was made from.")],
    released: Annotated[Path, typer.Argument(metavar="RELEASED", help="The released file.")],
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="RELEASED.certificate.json by default.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Where the report goes: RELEASED.attacks.private.html by default."
        ),
    ] = None,
    side: Annotated[
        str | None,
        typer.Option("--side", help="For a switch: a column of ORIGINAL that the adversary holds, in its true order."),
    ] = None,
    id: Annotated[
        list[str] | None,
        typer.Option("--id", help="For an aggregate: column that names an individual in ORIGINAL; repeatable."),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="Series drawn, or games played, where an attack draws any.")] = (
        10_000
    ),
    seed: Annotated[int | None, typer.Option("--seed", help="The same seed, the same numbers.")] = None,
    overwrite: opt.OVERWRITE = False,
    as_json: opt.JSON = False,
    reading: Any = None,
) -> None:
    """Attack a release with the data it was made from: what an adversary gains, beside a control and the bound.

    The report is PRIVATE, and so is what is printed.
    """
    from reticent.attacks import run
    from reticent.cli.release import source
    from reticent.reports.attacks import attacks_page
    from reticent.tables.staging import write_whole

    page = output or released.with_name(f"{released.name}.attacks.private.html")
    check_output(page, overwrite, (original, released, certificate))
    with steps() as progress:
        report = run(
            original,
            released,
            certificate,
            side=side,
            id=tuple(id or ()),
            runs=runs,
            reading=reading,
            source=source(seed),
            progress=progress,
        )
    write_whole(page, attacks_page(report), mode=0o600)
    if as_json:
        body = {"report": str(page), "results": report.rows(), "notes": list(report.notes)}
        say_json(_strict(body))
        return
    tell(report)
    say(f"{'report:':13}{page}")
    say("PRIVATE: this was computed from original values; it must not leave the house", err=True)


def check_output(path: Path, overwrite: bool, inputs: tuple[Path | None, ...]) -> None:
    """Refuse before any work what could not be written after it."""
    if path.is_dir():
        raise ArgumentError(f"output: {path.name} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ArgumentError(f"output: there is no folder {path.parent.name} to write it to; make it first")
    if path.exists() and any(each is not None and each.exists() and each.samefile(path) for each in inputs):
        raise ArgumentError("output: it is one of the inputs, which would be lost; name another file")
    if path.exists() and not overwrite:
        raise ArgumentError(f"output: {path.name} exists; name another file, or pass --overwrite")


@contextmanager
def steps() -> Iterator[Progress | None]:
    """A progress bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("attacking", total=None)
        yield lambda label, done, total: bar.update(task, description=label, completed=done, total=total)


def tell(report: AttackReport) -> None:
    """A table of all results, and what they come to."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from reticent.reports.attacks import ABOVE, HEAD, cells, grouped, outcome

    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    table = Table(show_lines=False, pad_edge=False, box=None)
    for place, name in enumerate(HEAD):
        wide = place == 0 and console.width >= _WIDTH
        table.add_column(name, justify="left" if place in (0, 5) else "right", overflow="fold", no_wrap=wide)
    for (name, measure), results in grouped(report.results).items():
        table.add_row(Text(one_line(f"{name}: {measure}"), style="bold", overflow="fold"))
        for row in map(cells, results):
            style = "bold red" if row[-1] == ABOVE else ""
            table.add_row(Text(one_line(f"  {row[0]}")), *(Text(cell, style=style) for cell in row[1:]))
    console.print(table)
    say("\n".join(["", outcome(report.results), *report.notes]))


def _strict(value: Any) -> Any:
    """Infinity as certificates write it, and no number where there is none."""
    if isinstance(value, dict):
        return {key: _strict(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_strict(each) for each in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "infinity" if value > 0 else "-infinity"
    return None if isinstance(value, float) and value != value else value
