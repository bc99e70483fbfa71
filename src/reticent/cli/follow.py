"""switch --follow and quantize --follow: records as they come, with a checkpoint."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from reticent.cli import options as opt
from reticent.cli.release import source
from reticent.errors import InputError

if TYPE_CHECKING:
    from reticent.tables.following import Followed, Following

INPUT = Annotated[Path, typer.Argument(metavar="[INPUT]", help="A file or a named pipe; standard input by default.")]
CHECKPOINT = Annotated[
    Path,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Where the stream stands, for the next run to go on from; made by the first, and as secret as the data.",
        show_default=False,
    ),
]
OUTPUT = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="A file that grows, and holds each record once whatever happens; by default standard output, where each "
        "record carries its number, seq.",
    ),
]
FORMAT = Annotated[str, typer.Option("--format", help="csv (with a header) or jsonl (an object a line).")]
LATE = Annotated[str, typer.Option("--late", help="A record that lies before one that came already: error or drop.")]
DUPLICATES = Annotated[
    str, typer.Option("--duplicates", help="A record at the time of the one before: error, or first (which stays).")
]
KEEP_OPEN = Annotated[
    bool, typer.Option("--keep-open", help="The end of INPUT is not the end of the stream: hold back what is held.")
]
AFTER = Annotated[
    int, typer.Option("--after", help="INPUT begins after so many records of the stream, and not with its first.")
]
SEEN = Annotated[int | None, typer.Option("--seen", help="Of a pipe: the seq up to which its reader has the records.")]
COMMIT = Annotated[float, typer.Option("--commit", help="Seconds between checkpoints; records wait for the next one.")]

ALSO = "Of a stream, record by record: reticent {0} --follow (see reticent {0} --follow -h)."

_FLAG = "--follow"


class Commands(TyperGroup):
    """A verb with --follow is a command of its own, with other options."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name."""
        name, *rest = args
        if _FLAG in rest and f"{name} {_FLAG}" in self.commands:
            rest.remove(_FLAG)
            return super().resolve_command(ctx, [f"{name} {_FLAG}", *rest])
        return super().resolve_command(ctx, args)


def stream(
    checkpoint: CHECKPOINT,
    output: OUTPUT = None,
    format: FORMAT = "csv",
    late: LATE = "error",
    duplicates: DUPLICATES = "error",
    keep_open: KEEP_OPEN = False,
    after: AFTER = 0,
    seen: SEEN = None,
    commit: COMMIT = 0.5,
    overwrite: opt.OVERWRITE = False,
    delimiter: opt.DELIMITER = None,
    time_format: opt.TIME_FORMAT = None,
) -> dict[str, Any]:
    """The stream."""
    return {
        "checkpoint": checkpoint,
        "output": output,
        "format": format,
        "late": late,
        "duplicates": duplicates,
        "keep_open": keep_open,
        "after": after,
        "seen": seen,
        "commit": commit,
        "overwrite": overwrite,
        "delimiter": delimiter,
        "time_format": time_format,
    }


@opt.grouped(columns=opt.columns, promise=opt.switching, stream=stream, charging=opt.charging)
def switch(
    input: INPUT = Path("-"),
    columns: Any = None,
    promise: Any = None,
    mechanism: Annotated[str, typer.Option("--mechanism", help="mallows, ran or sta.")] = "mallows",
    seed: opt.SEED = None,
    stream: Any = None,
    charging: Any = None,
) -> None:
    """Move the values of a stream in time, record by record: what is released waits for those that come after it."""
    from reticent.tables import following

    job = _job(columns, charging, source=source(seed), **stream)
    tell(following.switch(_open(input), job, mechanism=mechanism, **promise), job)


@opt.grouped(columns=opt.columns, quantizer=opt.quantizer, stream=stream, charging=opt.charging)
def quantize(
    input: INPUT = Path("-"),
    columns: Any = None,
    quantizer: Any = None,
    decimal: opt.DECIMAL = None,
    null: opt.NULL = None,
    stream: Any = None,
    charging: Any = None,
) -> None:
    """Coarsen the values of a stream, record by record."""
    from reticent.tables import following

    job = _job(columns, charging, **stream)
    reading = opt.reading(job.delimiter, decimal, "utf-8", job.time_format, None, null)
    tell(
        following.quantize(_open(input), job, nulls=reading.nulls, decimal=reading.decimal or ".", **quantizer),
        job,
    )


def _job(columns: dict[str, Any], charging: dict[str, Any], **options: Any) -> Following:
    from reticent.accounting.ledger import Ledger
    from reticent.tables.following import Following
    from reticent.tables.reading import Columns

    where = charging.pop("ledger")
    ledger = None if where is False else Ledger() if where is True else Ledger(where)
    named = Columns(columns["time"], *(tuple(columns[name]) for name in ("value", "id", "keep")))
    return Following(named, ledger=ledger, **charging, **options)


def _open(input: Path) -> int:
    if str(input) == "-":
        return sys.stdin.fileno()
    try:
        return os.open(input, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"input: {input.name} cannot be read ({error.strerror})") from None


def tell(followed: Followed, job: Following) -> None:
    """Where the stream stands, on standard error: standard output may be the release."""

    def say(what: str) -> None:
        typer.echo(what, err=True)

    certificate, outputs = followed.certificate, followed.outputs
    guarantee = certificate.claims["guarantee"]
    if not certificate.private:
        say("NOT PRIVATE: a seed was used.")
    say(f"{guarantee['promise']}\n{guarantee['limits']}")
    say(f"records:     {followed.taken:,} taken, {followed.released:,} released")
    for rule, count in followed.dropped.items():
        say(f"left out:    {count:,} by --{rule} (keep this number in the house)")
    say(f"certificate: {outputs.certificate}")
    say(f"report:      {outputs.report}")
    if job.output is not None:
        say(f"to check:    reticent verify {outputs.certificate} {job.output}")
    if not followed.finished:
        say(
            f"the stream is not at its end: begin the next run with the same command, and INPUT from its beginning or "
            f"with --after {followed.taken}"
        )
        say(f"PRIVATE: {job.checkpoint} holds what is held back, and the key; it must not leave the house")
