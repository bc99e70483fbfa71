"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

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
    """How a file is to be read, from the options."""
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


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `reading`, in place of a parameter of that name."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    options = inspect.signature(reading, eval_str=True).parameters

    @wraps(command)
    def reading_first(**given: Any) -> None:
        how = reading(**{name: given.pop(name) for name in options})
        command(**given, reading=how)

    kept = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each.name != "reading"]
    added = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in options.values()]
    parameters = [*kept, *added]
    reading_first.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    reading_first.__annotations__ = {each.name: each.annotation for each in parameters}
    return reading_first


def charging(
    ledger: Path | None, no_ledger: bool, dataset: str, request: str | None, sign: Path | None
) -> dict[str, Any]:
    """Where a release is charged, and who signs it."""
    if no_ledger and ledger is not None:
        raise ArgumentError("no-ledger: leave --ledger out")
    where = not no_ledger if ledger is None else ledger
    return {"ledger": where, "dataset": dataset, "request": request, "sign": sign}


def states(text: str | None, reading: Any) -> tuple[list[Any] | None, Any]:
    """States from ``off,on``, or a reading that maps values to states: see `spellings.states_from`."""
    from dataclasses import replace

    from reticent.tables.spellings import states_from

    if text is None:
        return None, reading
    listed, mapping = states_from(text)
    return listed, replace(reading, states=mapping)


def edges(text: str | None) -> list[str] | None:
    """Edges from ``0,1,2.5,10``, exactly as written."""
    return None if text is None else [word.strip() for word in text.split(",")]


def choice(name: str, value: str, allowed: tuple[str, ...]) -> Any:
    """One of a few words."""
    if value not in allowed:
        raise ArgumentError(f"{name}: must be one of {', '.join(allowed)}")
    return value
