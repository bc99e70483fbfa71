"""Small files and frames for the tests of tables."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

import reticent as rt
from reticent import tables
from reticent.certificates import Certificate
from reticent.tables import Reading

START = dt.datetime(2024, 1, 1)


def hours(n: int, start: dt.datetime = START, unit: str = "us", zone: str | None = None) -> pa.Array:
    """`n` stamps an hour apart."""
    return pa.array([start + dt.timedelta(hours=i) for i in range(n)], pa.timestamp("us")).cast(
        pa.timestamp(unit, zone)
    )


def text_file(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    """A file of just these characters."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def store(path: Path, table: pa.Table) -> Path:
    """A Parquet or Feather file, by the suffix."""
    (pa.parquet.write_table if path.suffix == ".parquet" else pa.feather.write_feather)(table, path)
    return path


def load(path: Path) -> pa.Table:
    """What `store` wrote."""
    return (pa.parquet.read_table if path.suffix == ".parquet" else pa.feather.read_table)(path)


def rows(path: Path, delimiter: str = ",") -> list[list[str]]:
    """The rows of a text file, the header first."""
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8")), delimiter=delimiter))


def switched(source: Any, output: Path, *, time: str = "ts", value: Any = "kwh", seed: int = 1, **options: Any) -> Path:
    """Switch within four steps, and verify what came out."""
    options = {"mechanism": "mallows", "ledger": False} | options
    release = tables.switch(
        source, time=time, value=value, window=4, epsilon=2.0, output=output, source=rt.seeded_source(seed), **options
    )
    assert release.outputs is not None
    Certificate.read(release.outputs.certificate).verify(output)
    return output


def by_series(ids: Sequence[Any], values: Sequence[Any]) -> dict[Any, list[str]]:
    """The multiset of values of each series, as sorted texts (so NaN and null are told apart)."""
    found = defaultdict(list)
    for name, value in zip(ids, values, strict=True):
        found[name].append(repr(value))
    return {name: sorted(members) for name, members in found.items()}


def stamps(path: Path) -> list[str]:
    """The first column of a text file, which is that of the times."""
    return [row[0] for row in rows(path)[1:]]


def plan_of(release: tables.Release) -> dict[str, str]:
    """The plan, its lines by name."""
    return dict(release.plan)


def tried(
    source: Any, *, reading: Reading | None = None, time: str = "ts", value: str = "kwh", **options: Any
) -> tables.Release:
    """A dry run of a switch."""
    return tables.switch(
        source, time=time, value=value, window=2, epsilon=1.0, reading=reading, dry_run=True, ledger=False, **options
    )
