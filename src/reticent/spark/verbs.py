"""The verbs of `reticent.tables`, for Spark."""

from __future__ import annotations

from typing import Any

from reticent import tables
from reticent.errors import ArgumentError
from reticent.spark.cluster import ClusterFrame
from reticent.spark.sessions import check_encrypted
from reticent.tables.fitting import model_of
from reticent.tables.pipeline import Release

_ELSEWHERE = {
    "output": "write the frame that comes back with Spark, and its certificate with to_json()",
    "overwrite": "write the frame that comes back with Spark",
    "private_report": "it compares files; make it from a sample",
    "request": "a Spark frame is not stored, so it cannot be handed out again",
    "internal": "only a file can be known again as the first step of a pipeline",
    "progress": "Spark shows its own",
    "dry_run": "try the verb on a sample as a file",
}


def switch(frame: Any, *, parts: int | None = None, encrypted: bool = False, **arguments: Any) -> Release:
    """Move the values of each series in time.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Of a classic session or of Spark Connect.
    parts : int, optional
        Groups of whole series, each of which one worker holds in memory; ``spark.sql.shuffle.partitions`` by default.
        They have no influence on the release.
    encrypted : bool
        Declare that disks and network are encrypted, where the session does not let one read it.
    **arguments
        As for `reticent.tables.switch`, but for what concerns files. The ledger is charged unless ``ledger=False``.

    Returns
    -------
    Release
        Its `table` is a Spark DataFrame.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence; nothing is charged or released.
    """
    if arguments.get("continue_from") is not None or arguments.get("finish"):
        raise ArgumentError("continue_from: a stream goes on from file to file, and not on Spark; release it whole")
    return tables.switch(_on_cluster(frame, parts, encrypted, arguments), **arguments)


def quantize(frame: Any, *, parts: int | None = None, encrypted: bool = False, **arguments: Any) -> Release:
    """Coarsen each value to one of few symbols.

    Parameters
    ----------
    frame, parts, encrypted
        As for `switch`.
    **arguments
        As for `reticent.tables.quantize`.

    Returns
    -------
    Release

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence; nothing is charged or released.
    """
    return tables.quantize(_on_cluster(frame, parts, encrypted, arguments), **arguments)


def redact(frame: Any, *, parts: int | None = None, encrypted: bool = False, **arguments: Any) -> Release:
    """Withhold the private records of each series, and as many around them as ε asks for.

    Parameters
    ----------
    frame, parts, encrypted
        As for `switch`.
    **arguments
        As for `reticent.tables.redact`; the model is a file or a chain, and the sampling period is stated (`every`)
        unless the model knows it.

    Returns
    -------
    Release

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence; nothing is charged or released.
    """
    model = arguments.get("model")
    if model == "released":
        raise ArgumentError(
            "model: on Spark it is not fitted on the release; fit one on earlier data, and pass its file"
        )
    if arguments.get("every") is None and (model is None or model_of(model).every is None):
        raise ArgumentError("every: state the sampling period, such as 30m; on Spark it is not looked for")
    return tables.redact(_on_cluster(frame, parts, encrypted, arguments), **arguments)


def _on_cluster(frame: Any, parts: int | None, encrypted: bool, arguments: dict[str, Any]) -> ClusterFrame:
    for name, remedy in _ELSEWHERE.items():
        if arguments.get(name):
            raise ArgumentError(f"{name}: not on Spark; {remedy}")
    if not (hasattr(frame, "groupBy") and hasattr(frame, "sparkSession")):
        raise ArgumentError(f"frame: {type(frame).__name__} is no Spark DataFrame; for others there is reticent.tables")
    if parts is not None and (isinstance(parts, bool) or not isinstance(parts, int) or parts < 1):
        raise ArgumentError("parts: must be a positive number")
    check_encrypted(frame.sparkSession, encrypted)
    if arguments.get("ledger") is None:
        arguments["ledger"] = True
    return ClusterFrame(frame, parts)
