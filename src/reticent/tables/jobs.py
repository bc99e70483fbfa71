"""The options that every verb takes, and the job that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Required, TypedDict

from reticent.accounting.ledger import Ledger
from reticent.randomness import Source, secure_source
from reticent.tables.charging import Account, job_text
from reticent.tables.delimited import Reading
from reticent.tables.formulas import check_formulas
from reticent.tables.pipeline import Job, Progress
from reticent.tables.reading import Columns

Names = str | Sequence[str]


def names_of(names: Names) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


class Options(TypedDict, total=False):
    """What every verb takes beside its own arguments; see `Job` and `Account`.

    `ledger` is a `Ledger` or its path; True for the one in the curator's own folder, which is the default where files
    are written; False for none, which is the default where a data frame is returned.
    """

    time: Required[str]
    value: Required[Names]
    id: Names
    keep: Names
    source: Source | None
    duplicates: str
    reading: Reading
    memory: str | None
    output: str | Path | None
    overwrite: bool
    private_report: bool
    progress: Progress | None
    ledger: Ledger | str | Path | bool | None
    dataset: str
    request: str | None
    internal: bool
    sign: str | Path | None
    compression: str | None
    formulas: str


def columns_of(options: Options) -> Columns:
    """The columns that are named."""
    ids, kept = options.get("id", ()), options.get("keep", ())
    return Columns(options["time"], names_of(options["value"]), names_of(ids), names_of(kept))


def job_of(table: Any, options: Options, action: str = "", once: bool = False, **asked: Any) -> Job:
    """The job that the options describe, charged as `Options` says (if there is an action).

    Parameters
    ----------
    table, options
    action : str
    once : bool
        A mechanism that may be drawn only once: charged to the curator's own ledger wherever nothing else is said.
    **asked
        What else was asked for: a request that is made again must ask the same.
    """
    if isinstance(table, list | tuple) and len(table) == 1:
        (table,) = table
    output, key = options.get("output"), options.get("sign")
    columns = columns_of(options)
    written = {name: options[name] for name in ("compression", "formulas") if options.get(name) not in (None, "keep")}
    formulas = options.get("formulas", "keep")
    check_formulas(formulas)
    return Job(
        table,
        columns,
        options.get("source") or secure_source(),
        options.get("duplicates", "error"),
        options.get("reading") or Reading(),
        options.get("memory"),
        None if output is None else Path(output),
        options.get("overwrite", False),
        options.get("private_report", False),
        options.get("progress"),
        _account(options, bool(action) and (output is not None or once)),
        None if key is None else Path(key),
        job_text(action, {**asked, "columns": columns, **written}),
        options.get("compression"),
        formulas,
    )


def remembered(options: Options) -> bool:
    """Whether a ledger will see the release, where the mechanism leaves that to the options."""
    ledger = options.get("ledger")
    return options.get("output") is not None if ledger is None else ledger is not False


def _account(options: Options, default: bool) -> Account:
    ledger = options.get("ledger")
    ledger = default if ledger is None else ledger
    if isinstance(ledger, bool):
        ledger = Ledger() if ledger else None
    elif not isinstance(ledger, Ledger):
        ledger = Ledger(ledger)
    return Account(ledger, options.get("dataset", ""), options.get("request"), options.get("internal", False))
