"""The options that every verb takes, and the job that they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Required, TypedDict

from reticent.accounting.ledger import Ledger, default_path
from reticent.errors import ArgumentError
from reticent.randomness import Source, secure_source
from reticent.tables.charging import Account, job_text
from reticent.tables.delimited import Reading
from reticent.tables.formulas import check_formulas
from reticent.tables.pipeline import Job, Progress
from reticent.tables.reading import Columns

Names = str | Sequence[str]

_OWN = "reticent "


def names_of(names: Names) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


class Options(TypedDict, total=False):
    """What every verb takes beside its own arguments; see `Job` and `Account`.

    `ledger` is a `Ledger` or its path; True for the one in the curator's own folder, which is the default where files
    are written; False for none, which is the default where a data frame is returned.
    `dry_run` gives a release without a table or files: its plan, and the certificate that it would have.
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
    partition_by: str | None
    overwrite: bool
    private_report: bool
    progress: Progress | None
    ledger: Ledger | str | Path | bool | None
    dataset: str
    request: str | None
    internal: bool
    sign: str | Path | None
    dry_run: bool
    compression: str | None
    formulas: str


_WRITTEN = ("compression", "formulas", "partition_by")


def columns_of(options: Options) -> Columns:
    """The columns that are named."""
    ids, kept = options.get("id", ()), options.get("keep", ())
    columns = Columns(options["time"], names_of(options["value"]), names_of(ids), names_of(kept))
    check_names(columns.all)
    return columns


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are used for columns which are added on the way."""
    own = [name for name in names if name.casefold().startswith(_OWN)]
    if own:
        raise ArgumentError(f"columns: {', '.join(own)} is a name that is used inside; rename that column")


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
    reading = options.get("reading") or Reading()
    read: dict[str, Any] = {"states": reading.states} if reading.states else {}
    read |= {"null_id": reading.null_id} if reading.null_id != "error" else {}
    given: Mapping[str, Any] = options
    written = {name: given[name] for name in _WRITTEN if given.get(name) not in (None, "keep")}
    formulas = options.get("formulas", "keep")
    check_formulas(formulas)
    return Job(
        table,
        columns,
        options.get("source") or secure_source(),
        options.get("duplicates", "error"),
        reading,
        options.get("memory"),
        None if output is None else Path(output),
        options.get("overwrite", False),
        options.get("private_report", False),
        options.get("progress"),
        _account(options, bool(action) and (output is not None or once)),
        None if key is None else Path(key),
        job_text(action, {**asked, "columns": columns, **written, **read}),
        options.get("compression"),
        formulas,
        options.get("dry_run", False),
        partition_by=_partition(options, output),
    )


def _partition(options: Options, output: Any) -> str | None:
    column = options.get("partition_by")
    if column is not None and output is None:
        raise ArgumentError("partition-by: a data frame is not parted; name an output")
    return column


def remembered(options: Options) -> bool:
    """Whether a ledger will see the release, where the mechanism leaves that to the options."""
    ledger = options.get("ledger")
    return options.get("output") is not None if ledger is None else ledger is not False


def _account(options: Options, default: bool) -> Account:
    ledger = options.get("ledger")
    ledger = default if ledger is None else ledger
    if not isinstance(ledger, Ledger):
        path = default_path() if ledger is True else ledger or None
        new = path is not None and options.get("dry_run", False) and not Path(path).exists()
        ledger = None if path is None or new else Ledger(path)
        if new:  # a ledger that would be made has no charges, and a dry run makes none
            return Account()
    return Account(ledger, options.get("dataset", ""), options.get("request"), options.get("internal", False))
