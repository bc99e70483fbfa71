"""The explorer's page: what is known of the input, and the page put together."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from reticent.reports.explorer import families

if TYPE_CHECKING:
    from reticent.quantization.exact import Number
    from reticent.tables.models import Model


@dataclass(frozen=True)
class Input:
    """The public parameters of an input, as far as they are known: no value of it is among them.

    Parameters
    ----------
    name : str, optional
        Of the file, as the command line shall have it.
    columns : sequence of str
        Options that name its columns, such as ``("--time", "ts")``.
    reading : sequence of str
        Options that say how it is read.
    records : int
        Of its longest series, on the grid of the sampling period.
    every : mapping, optional
        The sampling period, as certificates write it.
    model : Model, optional
        A chain: that of a model file, or fitted on request.
    model_file : str
        Its file, as the command line shall have it.
    origin : str
        Of the chain, in words.
    fit : str
        Lines that make the model file, for the command line.
    low, high, resolution : number
        The public range of the values, and what they are multiples of.
    """

    name: str | None = None
    columns: Sequence[str] = ()
    reading: Sequence[str] = ()
    records: int = 1000
    every: Mapping[str, Any] | None = None
    model: Model | None = None
    model_file: str = "model.json"
    origin: str = "the model file"
    fit: str = ""
    low: Number = 0
    high: Number = 10
    resolution: Number = "0.01"

    @property
    def constants(self) -> dict[str, str]:
        """What command lines are filled with that no slider changes; in capitals where a name is not known."""
        columns = self.columns or ("--time", "TIME", "--value", "VALUE")
        named = shlex.join([*columns, *self.reading])
        return {
            "file": "INPUT" if self.name is None else shlex.quote(self.name),
            "out": f"released{''.join(_suffixes(self.name))}",
            "columns": named,
            "identified": named if "--id" in columns else f"--id ID {named}",
            "model_file": shlex.quote(self.model_file),
            "fit": self.fit,
            "low": shlex.quote(str(self.low)),
            "high": shlex.quote(str(self.high)),
            "resolution": shlex.quote(str(self.resolution)),
        }

    @property
    def redaction_notes(self) -> tuple[str, ...]:
        """What is to be known beside the numbers of a redaction."""
        where = (
            "START and END are the first and the last instant to be hidden. The numbers are those of one series, and "
            "hold wherever the secret lies far from its ends."
        )
        if self.model is not None:
            owes = "Fit a model on earlier data, or on other people's: it must owe nothing to what is hidden."
            near = "Records that a chain was fitted on are never withheld: close to them more is, or none can be."
            return (where, owes, near)
        length = "" if self.name is None else f" Yours has {self.records:,}: about as many are withheld of it."
        own = "For those of your own chain, give its model file with --model, or fit it with --fit."
        return (where, f"They are of a series of 1,000 records.{length} {own}")


def _suffixes(name: str | None) -> Sequence[str]:
    known = {".csv", ".parquet", ".feather", ".tsv", ".gz", ".zst"}
    return [suffix for suffix in PurePath(name or "x.csv").suffixes if suffix in known]


def explorer(given: Input | None = None) -> str:
    """The page.

    Parameters
    ----------
    given : Input, optional
        What is known of the data; nothing by default.

    Returns
    -------
    str
        HTML: one page, with no network. Its numbers are the library's, its script only looks them up.
    """
    import jinja2

    given = given or Input()
    parts = [
        families.redaction(given),
        families.switching(given),
        families.quantization(given),
        families.aggregation(given),
    ]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reticent.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = environment.loader
    assert loader is not None
    script = loader.get_source(environment, "explorer.js")[0]
    digest = base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode()
    page = environment.get_template("explorer.html.j2").render(
        families=parts,
        given=given,
        digest=digest,
        script=script,
        data=_json({"constants": given.constants, "families": [_data(part) for part in parts]}),
    )
    return page.encode("utf-8", "replace").decode()


def _json(body: Any) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _data(family: families.Family) -> dict[str, Any]:
    """A family as the page reads it; reasons, which are long and often the same, are written once."""
    reasons: dict[str, int] = {}
    cells = {
        key: [reasons.setdefault(each, len(reasons)) if isinstance(each, str) else each for each in column]
        for key, column in family.cells.items()
    }
    body = asdict(family)
    return {**body, "cells": cells, "reasons": list(reasons)}
