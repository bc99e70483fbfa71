"""redact, switch, quantize."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import options as opt
from reticent.cli.terminal import one_line, say, say_json
from reticent.errors import ArgumentError

if TYPE_CHECKING:
    from reticent.tables import Release


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show_plan(plan: Iterable[tuple[str, str]]) -> None:
    """How the input was understood, for the curator: not part of the output."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for name, words in plan:
        console.print(Text.assemble((f"{name + ':':17}", "dim"), one_line(words)))


def tell(release: Release, as_json: bool, quiet: bool) -> None:
    """What was promised, and where the files are."""
    certificate, outputs = release.certificate, release.outputs
    if not quiet:
        show_plan(release.plan)
    warn_formulas(release)
    files = (
        {}
        if outputs is None
        else {
            "released": str(outputs.released),
            "certificate": str(outputs.certificate),
            "report": str(outputs.report),
        }
    )
    if as_json:
        body: dict[str, Any] = {"files": files, "certificate": certificate.body, "ledger": charged(release)}
        if outputs is None:
            body["plan"] = [list(line) for line in release.plan]
        say_json(body)
        return
    guarantee = certificate.claims["guarantee"]
    if outputs is None:
        say("DRY RUN: nothing was drawn, written or charged; the release would promise this.\n")
    if not certificate.private:
        say("NOT PRIVATE: a seed was used.\n")
    say(f"{guarantee['promise']}\n{guarantee['limits']}\n")
    if "series" in certificate.claims:
        series, cells = certificate.claims["series"], certificate.claims["cells"]
        say(f"bits:        {guarantee['bits']:.6g} a reading, {series['bits']:.6g} a series of {series['readings']:,}")
        widths = (f"{each['levels']}, {each['narrowest']:g} to {each['widest']:g} wide" for each in cells)
        say(f"cells:       {'; '.join(widths)}")
    for line in charged(release):
        say(f"{'ledger:':13}{line}")
    if outputs is None:
        stands = "none, or a new one" if release.charge is None else "as it would then stand"
        say(f"{'ledger:':13}{stands}")
        return
    for name, path in files.items():
        say(f"{name + ':':13}{path}")
    say(f"{'to check:':13}reticent verify {outputs.certificate} {outputs.released}")


def warn_quarantine(reading: Any, dry_run: bool) -> None:
    """The file of what was set aside holds original rows."""
    if reading.quarantine is not None and not dry_run:
        say(f"PRIVATE: {reading.quarantine} holds rows as they were given; it must not leave the house", err=True)


def warn_formulas(release: Release) -> None:
    """Text that a spreadsheet would run where a file is opened in one."""
    if release.formulas and "formulas" not in release.certificate.released:
        say(
            f"warning: {release.formulas:,} texts of the released file start like a formula (=, +, -, @), which a "
            "spreadsheet would run; --formulas quote writes an apostrophe before each",
            err=True,
        )


def charged(release: Release) -> list[str]:
    """What the release cost, with all that was released of the same data before."""
    return [] if release.charge is None else release.charge.lines()


def source(seed: int | None) -> Any:
    """Secure unless a seed is given."""
    from reticent.randomness import secure_source, seeded_source

    return secure_source() if seed is None else seeded_source(seed)


def one(name: str, values: list[str] | None) -> str | None:
    """The only value of a repeatable option."""
    if values and len(values) > 1:
        raise ArgumentError(f"{name}: an aggregate has one range; give it once")
    return values[0] if values else None


@opt.grouped(columns=opt.columns, promise=opt.switching, files=opt.files, charging=opt.charging, reading=opt.reading)
def switch(
    input: opt.INPUTS,
    columns: Any,
    promise: Any,
    files: Any,
    mechanism: Annotated[
        str, typer.Option("--mechanism", help="auto (moves values least, δ = 0), footrule, mallows, ran or sta.")
    ] = "auto",
    cuts: Annotated[
        str | None,
        typer.Option("--cuts", help="Release each day, week, month, quarter or year on its own; weaker at the cuts."),
    ] = None,
    continue_from: Annotated[
        Path | None,
        typer.Option(
            "--continue",
            metavar="STATE",
            help="Go on with the stream of the files before, whose last records STATE holds (made by the first run; as "
            "secret as the data). With --mechanism mallows and a --delta, ran or sta.",
        ),
    ] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="With --continue: release all that is held back; the last file.")
    ] = False,
    states: opt.STATES = None,
    seed: opt.SEED = None,
    as_json: opt.JSON = False,
    quiet: opt.QUIET = False,
    charging: Any = None,
    reading: Any = None,
) -> None:
    """Move values in time: each series keeps its values, and hides when within the window each occurred."""
    from reticent import tables

    listed, reading = opt.states(states, reading)
    if listed is not None:
        raise ArgumentError("states: a switch takes a mapping alone, such as 'off=off|0|False, on=on|1|True'")
    with progress("switching") as bar:
        release = tables.switch(
            input,
            **columns,
            **promise,
            mechanism=mechanism,
            cuts=cuts,
            continue_from=continue_from,
            finish=finish,
            source=source(seed),
            reading=reading,
            progress=bar,
            **files,
            **charging,
        )
    tell(release, as_json, quiet)
    warn_quarantine(reading, files["dry_run"])
    if continue_from is not None and not finish and not files["dry_run"]:
        say(f"PRIVATE: {continue_from} holds unreleased records and the key; it must not leave the house", err=True)


def aggregated(
    aggregate: Annotated[
        str | None,
        typer.Option("--aggregate", help="Publish the mean, sum, count, min or max of a group and not each value."),
    ] = None,
    over: Annotated[
        list[str] | None, typer.Option("--over", help="Column that names a group; all are one by default; repeatable.")
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            "--per", help="Window of an aggregate, such as 1d (of UTC, if times have a zone); the sampling period else."
        ),
    ] = None,
    every: opt.EVERY = None,
    since: Annotated[str | None, typer.Option("--since", help="Begin of the public period of the aggregates.")] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="End of the public period; needed where participation is private.")
    ] = None,
    at_least: Annotated[int, typer.Option("--at-least", help="Leave groups of fewer individuals out.")] = 1,
    rule: Annotated[
        str | None, typer.Option("--rule", help="Publication rule: 15/15, 4/80, (2,85) dominance, 10% (the p % rule).")
    ] = None,
    roster: Annotated[
        Path | None, typer.Option("--roster", help="Public file of who is in which group; else all who occur in INPUT.")
    ] = None,
    participation: Annotated[
        str | None, typer.Option("--participation", help="public, or private: who has data is hidden too.")
    ] = None,
    fill: Annotated[str | None, typer.Option("--fill", help="Public number that stands for a missing reading.")] = None,
    resolution: Annotated[
        str | None, typer.Option("--resolution", help="Readings are multiples of it, such as 0.001.")
    ] = None,
    off_grid: Annotated[str, typer.Option("--off-grid", help="Readings that are none: error or round.")] = "error",
) -> dict[str, Any]:
    """Aggregates."""
    if aggregate is None:
        if over or per or rule or roster or participation or fill or at_least != 1:
            raise ArgumentError("aggregate: say which (mean, sum, count, min or max) is to be published")
        return {}
    return {
        "query": aggregate,
        "over": over or (),
        "per": per,
        "every": every,
        "since": since,
        "until": until,
        "at_least": at_least,
        "rule": rule,
        "roster": roster,
        "participation": participation,
        "fill": fill,
        "resolution": resolution,
        "off_grid": off_grid,
    }


@opt.grouped(
    columns=opt.columns,
    quantizer=opt.quantizer,
    aggregates=aggregated,
    files=opt.files,
    charging=opt.charging,
    reading=opt.reading,
)
def quantize(
    input: opt.INPUTS,
    columns: Any,
    quantizer: Any,
    files: Any,
    range_from_data: Annotated[
        bool,
        typer.Option("--range-from-data", help="Take the range that the values span: then there is NO guarantee."),
    ] = False,
    internal: opt.INTERNAL = False,
    as_json: opt.JSON = False,
    quiet: opt.QUIET = False,
    aggregates: Any = None,
    charging: Any = None,
    reading: Any = None,
) -> None:
    """Coarsen values: each becomes one of few symbols."""
    from reticent import tables

    verb: Callable[..., Release] = tables.quantize
    what = {**quantizer, **aggregates, "range_from_data": range_from_data}
    if aggregates:
        verb = tables.aggregate
        if what.pop("range_from_data"):
            raise ArgumentError("range-from-data: an aggregate needs a stated range; give --low and --high")
        what |= {"low": one("low", what["low"]), "high": one("high", what["high"])}
        what.pop("missing")  # an aggregate has --fill
    with progress("coarsening") as bar:
        release = verb(input, **columns, **what, internal=internal, reading=reading, progress=bar, **files, **charging)
    tell(release, as_json, quiet)
    warn_quarantine(reading, files["dry_run"])


def hidden(
    private: Annotated[
        list[str] | None, typer.Option("--private", help="Interval START/END to hide, both ends included; repeatable.")
    ] = None,
    private_where: Annotated[
        str | None, typer.Option("--private-where", help="SQL predicate over ids, time and public columns.")
    ] = None,
    private_column: Annotated[str | None, typer.Option("--private-column", help="Boolean column.")] = None,
    public: Annotated[
        list[str] | None, typer.Option("--public", help="Column that the predicate may read; repeatable.")
    ] = None,
) -> Any:
    """Records to hide."""
    from reticent.tables import Private

    return Private(tuple(private or ()), private_where, private_column, tuple(public or ()))


@opt.grouped(
    columns=opt.columns,
    private=hidden,
    chain=opt.chain,
    files=opt.files,
    charging=opt.charging,
    reading=opt.reading,
)
def redact(
    input: opt.INPUTS,
    columns: Any,
    private: Any,
    chain: Any,
    files: Any,
    epsilon: opt.EPSILON,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="quilt, three-region, optimal (the best local one) or sequential (releases most, once for each "
            "series); sequential by default, optimal with --no-ledger.",
        ),
    ] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Model file, from reticent fit.")] = None,
    model_from: Annotated[
        str | None, typer.Option("--model-from", help="released: fit on records released with certainty.")
    ] = None,
    margin: Annotated[
        int | None, typer.Option("--margin", help="With --model-from released: steps around the secrets it leaves out.")
    ] = None,
    diagnosis: Annotated[
        bool, typer.Option("--diagnosis/--no-diagnosis", help="Test the model on INPUT and warn, privately.")
    ] = True,
    internal: opt.INTERNAL = False,
    seed: opt.SEED = None,
    as_json: opt.JSON = False,
    quiet: opt.QUIET = False,
    charging: Any = None,
    reading: Any = None,
) -> None:
    """Withhold records: the private ones, and as many around them as their correlation asks for."""
    from reticent import tables

    if (model is None) == (model_from is None):
        raise ArgumentError("model: give a model file with --model, or --model-from released with --margin")
    if model_from not in (None, "released"):
        raise ArgumentError("model-from: must be 'released'; a model is never fitted on private records")
    chain["states"], reading = opt.states(chain["states"], reading)
    with progress("redacting") as bar:
        release = tables.redact(
            input,
            **columns,
            private=private,
            epsilon=epsilon,
            model="released" if model is None else model,
            margin=margin,
            mechanism=mechanism,
            source=source(seed),
            internal=internal,
            reading=reading,
            progress=bar,
            **chain,
            **files,
            **charging,
        )
    tell(release, as_json, quiet)
    warn_quarantine(reading, files["dry_run"])
    if diagnosis and model is not None and not files["dry_run"]:
        read = {name: files[name] for name in ("memory", "duplicates")}
        warn_model(input, model, **{name: columns[name] for name in ("time", "value", "id")}, **read, reading=reading)


def warn_model(input: list[Path], model: Path, **options: Any) -> None:
    """What speaks against the model, for the curator alone: it was tested on the private records."""
    from reticent import tables
    from reticent.tables.models import Model

    for warning in tables.diagnose(input, Model.read(model), **options).warnings:
        say(f"warning (keep it in the house): {warning}", err=True)
