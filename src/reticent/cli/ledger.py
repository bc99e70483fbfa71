"""ledger: what has been spent on which data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.cli.terminal import say, say_json
from reticent.errors import ArgumentError

if TYPE_CHECKING:
    from reticent.accounting import Ledger

app = typer.Typer(help="What has been spent on which data.", no_args_is_help=True)

FILE = Annotated[Path | None, typer.Option("--ledger", metavar="FILE", help="The curator's own by default.")]
DATASET = Annotated[str, typer.Option("--dataset", help="Data set that the amounts are for.")]
EPSILON = Annotated[str | None, typer.Option("--epsilon", help="Nats, exactly as written.")]
DELTA = Annotated[str, typer.Option("--delta", help="Probability, beside an ε at a window.")]
WINDOW = Annotated[int | None, typer.Option("--window", help="Steps: an ε of switches; of redactions without it.")]
OUTPUTS = Annotated[int | None, typer.Option("--outputs", help="Outputs of one reading.")]
BITS = Annotated[str | None, typer.Option("--bits", help="The same in bits.")]


def _open(file: Path | None, *, create: bool = False) -> Ledger:
    from reticent.accounting import Ledger

    return Ledger(file, create=create)


@app.command()
def limit(
    dataset: DATASET = "",
    epsilon: EPSILON = None,
    delta: DELTA = "0",
    window: WINDOW = None,
    outputs: OUTPUTS = None,
    bits: BITS = None,
    ledger: FILE = None,
) -> None:
    """Set a limit for each series of a data set: ε (and δ) at a window, ε about secrets, or outputs of a reading."""
    book = _open(ledger, create=True)
    found = book.limit(dataset, epsilon=epsilon, delta=delta, window=window, outputs=outputs, bits=bits)
    say(f"{_named(dataset)}: limit {found}")


@app.command()
def show(
    dataset: Annotated[str | None, typer.Option("--dataset", help="All of them by default.")] = None,
    window: Annotated[int | None, typer.Option("--window", help="Amounts of switches at this window.")] = None,
    ledger: FILE = None,
    as_json: opt.JSON = False,
) -> None:
    """What has been spent, on the series on which it is most."""
    found = _open(ledger).spent(dataset, window=window)
    if as_json:
        rows = [
            {
                "dataset": each.dataset,
                "spent": each.spent.to_dict(),
                "limit": None if each.limit is None else each.limit.to_dict(),
                "series": each.series,
                "releases": each.releases,
            }
            for each in found
        ]
        say_json(rows)
        return
    for each in found:
        series = f", {each.series:,} series" if each.series else ""
        say(f"{_named(each.dataset)}: {each}{series}")
    if not found:
        say("Nothing has been spent.")


@app.command()
def charge(
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Charge the release that it describes, to all series.")
    ] = None,
    dataset: DATASET = "",
    epsilon: EPSILON = None,
    delta: DELTA = "0",
    window: WINDOW = None,
    outputs: OUTPUTS = None,
    bits: BITS = None,
    request: Annotated[str | None, typer.Option("--request", help="A name: charged once, however often.")] = None,
    ledger: FILE = None,
) -> None:
    """Charge a release that was made elsewhere, to all series of a data set."""
    from reticent.accounting import Event

    what = _spend(epsilon, delta, window, outputs, bits) if certificate is None else _certified(certificate)
    if certificate is not None and (epsilon or window or outputs or bits):
        raise ArgumentError("certificate: it states the amounts itself; leave them out")
    columns = () if certificate is None else _columns(certificate)
    done = _open(ledger, create=True).charge(Event.of(what, dataset=dataset, columns=columns), request=request)
    if done.answered:
        say(f"{_named(dataset)}: request {request} was charged before (entry {done.number})")
    for each in done.spent:
        say(f"{_named(dataset)}: {each}")


def _spend(epsilon: str | None, delta: str, window: int | None, outputs: int | None, bits: str | None) -> Any:
    from reticent.accounting import Budget

    if epsilon is None:
        return Budget.noiseless(outputs, bits)
    if outputs is not None or bits is not None:
        raise ArgumentError("outputs, bits: charge them apart from an ε; they are another kind of guarantee")
    return Budget.pufferfish(epsilon) if window is None else Budget.temporal(epsilon, window, delta)


def _certified(path: Path) -> Any:
    from reticent.accounting.events import step_of_release
    from reticent.certificates import Certificate

    certificate = Certificate.read(path)
    certificate.verify()
    if certificate.action == "redact":
        raise ArgumentError("certificate: a redaction is charged by its records; release it with --ledger")
    return step_of_release(certificate.action, certificate.parameters)


def _columns(path: Path) -> tuple[str, ...]:
    """Of the values: equal cells of two columns are no repetition."""
    from reticent.certificates import Certificate

    return tuple(Certificate.read(path).released["columns"]["value"])


@app.command()
def history(
    dataset: Annotated[str | None, typer.Option("--dataset", help="All of them by default.")] = None,
    last: Annotated[int, typer.Option("--last", help="How many entries; 0 for all.")] = 20,
    ledger: FILE = None,
) -> None:
    """The last entries, oldest first."""
    for each in _open(ledger).history(dataset, last=last or None):
        request = f" (request {each.request})" if each.request and not each.request.startswith("once ") else ""
        say(f"{each.number:>6}  {each.at}  {_named(each.dataset)}: {each.text}{request}")


@app.command()
def reset(
    reason: Annotated[str, typer.Option("--reason", help="Why; it stays in the history.")],
    dataset: DATASET = "",
    lost: Annotated[
        bool, typer.Option("--lost", help="The ledger file itself is gone for good: begin an empty one in its place.")
    ] = False,
    ledger: FILE = None,
) -> None:
    """Forget what was spent on a data set: an explicit act that stays in the history, as does all before it."""
    from reticent.accounting import Ledger

    if lost:
        Ledger.replace_lost(ledger, reason=reason)
        say("An empty ledger begins, with this act; what was spent with the one before is not known to it")
        return
    _open(ledger).reset(dataset, reason=reason)
    say(f"{_named(dataset)}: what was spent is forgotten from here on; the history keeps it")


@app.command()
def export(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; else it is printed.")] = None,
    ledger: FILE = None,
) -> None:
    """Every entry as JSON, for an auditor; it holds no key, no draw and no name of a series."""
    from reticent.tables.staging import write_whole

    body = _open(ledger).export()
    if output is None:
        say_json(body)
    else:
        write_whole(output, json.dumps(body, ensure_ascii=False, indent=1) + "\n")


def _named(dataset: str) -> str:
    return dataset or "(unnamed data set)"
