"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from reticent.cli.terminal import say
from reticent.errors import ArgumentError

INPUT = Annotated[Path, typer.Argument(metavar="INPUT", help="A CSV, Parquet or Feather file (gzip, zstd).")]
INPUTS = Annotated[
    list[Path], typer.Argument(metavar="INPUT...", help="CSV, Parquet or Feather files, or a folder of them.")
]
TIME = Annotated[str, typer.Option("--time", help="Column of the times.", show_default=False)]
VALUE = Annotated[list[str], typer.Option("--value", help="Column to release; repeat for several.", show_default=False)]
ID = Annotated[list[str] | None, typer.Option("--id", help="Column that names the series; repeat for several.")]
KEEP = Annotated[
    list[str] | None, typer.Option("--keep", help="Column to carry along unchanged; it can give the values away.")
]
OUTPUT = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where the release goes.", show_default=False)
]
PARTITION_BY = Annotated[
    str | None,
    typer.Option("--partition-by", metavar="COLUMN", help="OUT is a folder, parted by a column of --id or --keep."),
]
OVERWRITE = Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")]
PRIVATE_REPORT = Annotated[
    bool, typer.Option("--private-report", help="Also compare original and released; must not leave the house.")
]
SEED = Annotated[int | None, typer.Option("--seed", help="For tests only: a release with a seed is not private.")]
JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
MEMORY = Annotated[
    str | None,
    typer.Option("--memory", help="What sorting may use before it spills: 1GB, or a quarter of all if less."),
]
DUPLICATES = Annotated[
    str,
    typer.Option(
        "--duplicates",
        help="Records of one series and time: error, min, max, mean (no longer a value that occurred) or keep.",
    ),
]
DELIMITER = Annotated[str | None, typer.Option("--delimiter", help="CSV field mark; found by default.")]
DECIMAL = Annotated[str | None, typer.Option("--decimal", help="CSV decimal mark; '.' by default.")]
ENCODING = Annotated[
    str | None, typer.Option("--encoding", help="CSV text encoding; by its byte-order mark, or UTF-8, by default.")
]
TIME_FORMAT = Annotated[
    str | None,
    typer.Option(
        "--time-format",
        help="How times are written, such as '%d.%m.%Y %H:%M', or 'epoch s', or 'whole numbers'; found by default.",
    ),
]
TIME_ZONE = Annotated[str | None, typer.Option("--time-zone", help="Zone of times without one, such as Europe/Berlin.")]
AMBIGUOUS = Annotated[
    str,
    typer.Option("--ambiguous", help="Times that occur twice, where clocks go back: second, first or error."),
]
NULL = Annotated[list[str] | None, typer.Option("--null", help="Further text that means missing; repeat for several.")]
ROW_NAMES = Annotated[bool, typer.Option("--row-names", help="Each row begins with its name, which the header omits.")]
THOUSANDS = Annotated[str | None, typer.Option("--thousands", help="CSV mark between thousands, such as '.'.")]
QUOTE = Annotated[str, typer.Option("--quote", help="CSV quotation mark.")]
NO_HEADER = Annotated[bool, typer.Option("--no-header", help="The first line holds values: columns are column1, ...")]
COLUMNS = Annotated[
    str | None, typer.Option("--columns", help="Names of all columns of a CSV file, separated by commas.")
]
SKIP_ROWS = Annotated[int, typer.Option("--skip-rows", help="Lines of a CSV file to pass over first.")]
NULL_ID = Annotated[
    str, typer.Option("--null-id", help="Rows without an identifier: error, drop, or group (a series of their own).")
]
QUARANTINE = Annotated[
    Path | None,
    typer.Option(
        "--quarantine", metavar="FILE", help="Set rows that cannot be read aside there, and go on; as secret as INPUT."
    ),
]
DRY_RUN = Annotated[
    bool, typer.Option("--dry-run", help="Show plan, promise and charge; draw, write and charge nothing.")
]
QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print how INPUT was understood.")]
EVERY = Annotated[str | None, typer.Option("--every", help="Sampling period, such as 30m; found by default.")]
STATES = Annotated[
    str | None,
    typer.Option(
        "--states",
        help="All states, as off,on; with the values that stand for each, as 'off=off|0|False, on=on|1|True', or in a "
        ".json file; found by default.",
    ),
]
SMOOTHING = Annotated[float | None, typer.Option("--smoothing", help="Added to every count of transitions.")]
EDGES = Annotated[
    str | None,
    typer.Option(
        "--edges", help="Public edges of cells, such as 0,1,2.5,10: numbers are coarsened to these states first."
    ),
]
EDGE_SYMBOLS = Annotated[str, typer.Option("--symbols", help="With --edges: interval, midpoint or left.")]
PERIOD = Annotated[int, typer.Option("--period", help="Instants of a daily or weekly rhythm (48 half-hours, say).")]

LEDGER = Annotated[
    Path | None,
    typer.Option("--ledger", metavar="FILE", help="Where the release is charged; your own if absent."),
]
NO_LEDGER = Annotated[bool, typer.Option("--no-ledger", help="Charge nothing: a second release goes unnoticed.")]
DATASET = Annotated[str, typer.Option("--dataset", help="Name of the data; equal series and times are one data set.")]
REQUEST = Annotated[
    str | None, typer.Option("--request", help="A name for this request: made again, it gives the same file.")
]
INTERNAL = Annotated[
    bool, typer.Option("--internal", help="OUT stays in the house, as a first step; it is not charged.")
]
COMPRESSION = Annotated[
    str | None,
    typer.Option("--compression", help="Inside a Parquet or Feather file: zstd (by default), snappy, gzip, lz4, none."),
]
FORMULAS = Annotated[
    str, typer.Option("--formulas", help="Text that a spreadsheet would run: keep, or quote (an apostrophe before it).")
]
WINDOW = Annotated[int, typer.Option("--window", help="Steps within which the order is protected.", show_default=False)]
EPSILON = Annotated[float, typer.Option("--epsilon", help="Nats.", show_default=False)]
DELTA = Annotated[
    float | None, typer.Option("--delta", help="Largest δ allowed: 0 unless stated, or the release is refused.")
]
ACCEPT_STATISTICAL = Annotated[
    bool, typer.Option("--accept-statistical", help="Take a δ that is a confidence bound, not an exact number.")
]
LOW = Annotated[
    list[str] | None, typer.Option("--low", help="Lower end of the public range; repeat for several columns.")
]
HIGH = Annotated[
    list[str] | None, typer.Option("--high", help="Upper end of the public range; repeat for several columns.")
]
BITS = Annotated[str | None, typer.Option("--bits", help="Budget of a record, in bits.")]
OUTPUTS = Annotated[int | None, typer.Option("--outputs", help="Budget of a record, as a number of outputs.")]
SYMBOLS = Annotated[str, typer.Option("--symbols", help="midpoint, interval or left.")]
OUTSIDE = Annotated[str, typer.Option("--outside", help="Values outside the range: error, clip or missing.")]
MISSING = Annotated[str, typer.Option("--missing", help="When a value is missing: public, or one more output.")]
SIGN = Annotated[Path | None, typer.Option("--sign", metavar="KEY", help="Key to sign the certificate with.")]


def reading(
    delimiter: DELIMITER = None,
    decimal: DECIMAL = None,
    encoding: ENCODING = None,
    time_format: TIME_FORMAT = None,
    time_zone: TIME_ZONE = None,
    null: NULL = None,
    row_names: ROW_NAMES = False,
    thousands: THOUSANDS = None,
    quote: QUOTE = '"',
    no_header: NO_HEADER = False,
    columns: COLUMNS = None,
    skip_rows: SKIP_ROWS = 0,
    null_id: NULL_ID = "error",
    quarantine: QUARANTINE = None,
    ambiguous: AMBIGUOUS = "second",
) -> Any:
    """How INPUT is read."""
    from reticent.tables.delimited import NULLS, Reading

    return Reading(
        "\t" if delimiter == r"\t" else delimiter,
        decimal,
        encoding,
        time_format,
        time_zone,
        (*NULLS, *(null or ())),
        row_names,
        thousands=thousands,
        quote=quote,
        header=not no_header,
        names=() if columns is None else tuple(name.strip() for name in columns.split(",")),
        skip_rows=skip_rows,
        null_id=null_id,
        quarantine=quarantine,
        ambiguous=ambiguous,
    )


def grouped(**groups: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some functions, each in place of a parameter: the command gets what it returns.

    The first line of the function's docstring is the title of its options in the help.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command, eval_str=True).parameters.values():
            parameters += _options(groups[own.name]) if own.name in groups else [own]
        names = {name: list(inspect.signature(group).parameters) for name, group in groups.items()}

        @wraps(command)
        def with_groups(**given: Any) -> None:
            made = {
                name: groups[name](**{each: given.pop(each) for each in options}) for name, options in names.items()
            }
            command(**given, **made)

        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_groups.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_groups

    return decorate


def _options(group: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a group, under its title."""
    title = (inspect.getdoc(group) or "").partition("\n")[0].rstrip(".")
    options = []
    for each in inspect.signature(group, eval_str=True).parameters.values():
        kind, option = get_args(each.annotation)
        titled = copy(option)
        titled.rich_help_panel = title
        options.append(each.replace(annotation=Annotated[kind, titled]))
    return options


def columns(time: TIME, value: VALUE, id: ID = None, keep: KEEP = None) -> dict[str, Any]:
    """Columns of INPUT."""
    if keep:
        say(
            f"warning: {', '.join(keep)} is carried along unchanged; if it depends on the values it gives them away",
            err=True,
        )
    return {"time": time, "value": value, "id": id or (), "keep": keep or ()}


def files(
    output: OUTPUT,
    partition_by: PARTITION_BY = None,
    overwrite: OVERWRITE = False,
    private_report: PRIVATE_REPORT = False,
    compression: COMPRESSION = None,
    formulas: FORMULAS = "keep",
    memory: MEMORY = None,
    duplicates: DUPLICATES = "error",
    request: REQUEST = None,
    dry_run: DRY_RUN = False,
) -> dict[str, Any]:
    """The release."""
    return {
        "output": output,
        "partition_by": partition_by,
        "overwrite": overwrite,
        "private_report": private_report,
        "compression": compression,
        "formulas": formulas,
        "memory": memory,
        "duplicates": duplicates,
        "request": request,
        "dry_run": dry_run,
    }


def charging(
    ledger: LEDGER = None, no_ledger: NO_LEDGER = False, dataset: DATASET = "", sign: SIGN = None
) -> dict[str, Any]:
    """Ledger and signature."""
    if no_ledger and ledger is not None:
        raise ArgumentError("no-ledger: leave --ledger out")
    where = not no_ledger if ledger is None else ledger
    return {"ledger": where, "dataset": dataset, "sign": sign}


def switching(
    window: WINDOW, epsilon: EPSILON, delta: DELTA = None, accept_statistical: ACCEPT_STATISTICAL = False
) -> dict[str, Any]:
    """The promise."""
    return {"window": window, "epsilon": epsilon, "delta": delta, "accept_statistical": accept_statistical}


def quantizer(
    low: LOW = None,
    high: HIGH = None,
    bits: BITS = None,
    outputs: OUTPUTS = None,
    symbols: SYMBOLS = "midpoint",
    outside: OUTSIDE = "error",
    missing: MISSING = "public",
) -> dict[str, Any]:
    """Cells of the values."""
    return {
        "low": low,
        "high": high,
        "bits": bits,
        "outputs": outputs,
        "symbols": symbols,
        "outside": choice("outside", outside, ("error", "clip", "missing")),
        "missing": choice("missing", missing, ("public", "output")),
    }


def chain(
    states: STATES = None,
    edges: EDGES = None,
    symbols: EDGE_SYMBOLS = "interval",
    smoothing: SMOOTHING = None,
    period: PERIOD = 1,
    every: EVERY = None,
) -> dict[str, Any]:
    """The Markov chain."""
    return {
        "states": states,
        "edges": listed_edges(edges),
        "symbols": symbols,
        "smoothing": smoothing,
        "period": period,
        "every": every,
    }


def states(text: str | None, reading: Any) -> tuple[list[Any] | None, Any]:
    """States from ``off,on``, or a reading that maps values to states: see `spellings.states_from`."""
    from dataclasses import replace

    from reticent.tables.spellings import states_from

    if text is None:
        return None, reading
    listed, mapping = states_from(text)
    return listed, replace(reading, states=mapping)


def listed_edges(text: str | None) -> list[str] | None:
    """Edges from ``0,1,2.5,10``, exactly as written."""
    return None if text is None else [word.strip() for word in text.split(",")]


def choice(name: str, value: str, allowed: tuple[str, ...]) -> Any:
    """One of a few words."""
    if value not in allowed:
        raise ArgumentError(f"{name}: must be one of {', '.join(allowed)}")
    return value
