"""The driver's side: one pass that looks the data over, the certificate, the charge, and then the frame."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent import errors
from reticent.accounting.coverage import Coverage, CoverageBuilder
from reticent.accounting.fingerprints import fingerprint_key
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, EmptyInputError, InputError, ReticentError
from reticent.spark.tasks import PART, SURVEY, Designs, Task, release, survey
from reticent.tables.charging import Work
from reticent.tables.content import content_hash
from reticent.tables.pipeline import Elsewhere, Job, Release, Verb
from reticent.tables.reading import Columns, Records
from reticent.tables.sql import quoted_list

if TYPE_CHECKING:
    import pyarrow as pa

Body = dict[str, Any]
Ints = NDArray[np.int64]

_SHUFFLE = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class ClusterFrame(Elsewhere):
    """A Spark DataFrame, as the table of a job.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    parts : int, optional
    """

    frame: Any
    parts: int | None

    def run_job(self, job: Job, make: Callable[[Records], Verb], extra: tuple[str, ...]) -> Release:
        """Look the data over, charge, and hand out the frame.

        Raises
        ------
        InputError, ArgumentError, RefusedError
            One sentence; nothing is charged or released.
        """
        if job.reading.quarantine is not None:
            raise ArgumentError("quarantine: not on Spark; leave the rows out before")
        task = Task(
            _packed(make),
            job.source.state(),
            fingerprint_key(),
            job.columns,
            extra,
            job.duplicates,
            job.reading,
            job.memory,
        )
        groups = self._grouped(job.columns, extra)
        rows = groups.applyInArrow(task.on_group(survey), SURVEY).collect()
        found = _Survey.of(sorted(rows, key=lambda row: row["part"]), job)
        certificate = Certificate.issue(found.action, found.parameters, found.facts, job.source.seeded)
        if job.sign is not None:
            certificate = certificate.signed(job.sign)
        shape = _spark_schema(found.schema)
        after = replace(task, given=found.given, designs=found.designs)
        released = groups.applyInArrow(after.on_group(release), shape)
        work = Work(found.action, found.parameters, job.columns.value, found.coverage, None, job.text)
        charge = job.account.settle(work, None)
        return Release(released, certificate, None, found.plan, charge)

    def _grouped(self, columns: Columns, extra: tuple[str, ...]) -> Any:
        """The columns that are read, in groups of whole series."""
        frame = self.frame
        names = list(dict.fromkeys((*columns.all, *extra)))
        for name in names:
            if frame.columns.count(name) != 1:
                raise ArgumentError(f"columns: {name} is in the frame {frame.columns.count(name)} times")
        count = self.parts or int(frame.sparkSession.conf.get(_SHUFFLE, "200"))
        ids = ", ".join(f"`{name.replace('`', '``')}`" for name in columns.id)
        part = f"pmod(xxhash64({ids}), {count})" if columns.id else "0L"
        chosen = [f"`{name.replace('`', '``')}`" for name in names]
        return frame.selectExpr(*chosen, f"{part} AS `{PART}`").groupBy(PART)


def _packed(make: Callable[[Records], Verb]) -> bytes:
    """A maker of verbs for the workers; a job that it refers to goes without table, source and ledger."""
    from pyspark.cloudpickle import CloudPickler

    class Packer(CloudPickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, Job):
                return Job, (None, obj.columns, None, obj.duplicates, obj.reading, obj.memory)
            return super().reducer_override(obj)

    sink = io.BytesIO()
    Packer(sink).dump(make)
    return sink.getvalue()


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


@dataclass(frozen=True)
class _Survey:
    """What all parts said together."""

    action: str
    parameters: Body
    facts: Body
    coverage: Coverage
    given: dict[int, str]
    designs: Designs
    schema: pa.Schema
    plan: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, rows: list[Any], job: Job) -> _Survey:
        """Put the answers of the workers together.

        Raises
        ------
        ReticentError
            The first error of a worker.
        """
        import pyarrow as pa

        for row in rows:
            if row["error"] is not None:
                raise getattr(errors, row["kind"], ReticentError)(row["error"])
        if not rows:
            raise EmptyInputError("frame: there are no rows")
        bodies: list[Body] = [json.loads(row["body"]) for row in rows]
        kinds = bodies[0]["kinds"]
        if any(body["kinds"] != kinds for body in bodies):
            raise InputError("frame: parts of it come out with columns of different types; cast them to one each")
        schema = pa.ipc.read_schema(pa.py_buffer(bytes(rows[0]["shape"])))
        columns = job.columns
        hashes = b"".join(bytes(row["series"]) for row in rows)
        named = {"id": list(columns.id), "time": columns.time, "value": list(columns.value), "kept": list(columns.keep)}
        names = bodies[0]["names"]
        facts = {
            "columns": {**named, "added": [name for name in names if name not in columns.all]},
            "rows": sum(body["rows"] for body in bodies),
            "series": sum(body["series"] for body in bodies),
            "longest": max(body["longest"] for body in bodies),
            "content": content_hash(
                [(name, kind) for name, kind in kinds], (hashes[i : i + 32] for i in range(0, len(hashes), 32))
            ),
        }
        parameters = {"duplicates": job.duplicates, **bodies[0]["parameters"]}
        builder = CoverageBuilder()
        for row in rows:
            builder.join(
                np.frombuffer(row["codes"], dtype=np.uint64), np.frombuffer(row["rows"], dtype=np.int64).reshape(-1, 4)
            )
        action: str = bodies[0]["action"]
        designs: Designs = []
        which = None
        if action == "redact":
            _check_private(bodies, parameters)
            order = _canonical_order([bytes(row["ids"]) for row in rows], columns)
            designs, which = _designs(bodies, order)
            parameters["mechanisms"] = [mechanism for _, mechanism in designs]
            parameters["series"] = _runs(which[order])
        given = {row["part"]: body["given"] for row, body in zip(rows, bodies, strict=True)}
        plan = (("frame", f"{facts['rows']:,} rows in {len(rows):,} parts"),)
        coverage = builder.finish(which, joined=which is None)
        return cls(action, parameters, facts, coverage, given, designs, schema, plan)


def _check_private(bodies: list[Body], parameters: Body) -> None:
    """No part knows whether an interval lies in the data, or anything is private."""
    *inside, private = (sum(counts) for counts in zip(*(body["private"] for body in bodies), strict=True))
    for interval, count in zip(parameters["private"], inside, strict=False):
        if not count:
            raise InputError(f"private: no record lies in {interval}")
    if not private:
        raise InputError("private: no record is private; is the predicate or the column right?")


def _canonical_order(ids: list[bytes], columns: Columns) -> Ints:
    """Places of all series, as they come from the parts, in the order of a released file."""
    import duckdb
    import pyarrow as pa

    table = pa.concat_tables([pa.ipc.open_stream(pa.py_buffer(each)).read_all() for each in ids])
    if not columns.id:
        return np.zeros(1, dtype=np.int64)
    table = table.append_column(PART, pa.array(np.arange(table.num_rows)))
    with duckdb.connect() as con:
        con.register("series", table)
        sorted_ = con.sql(f'SELECT "{PART}" AS place FROM series ORDER BY {quoted_list(columns.id)}').to_arrow_table()
    return np.asarray(sorted_["place"], dtype=np.int64)


def _designs(bodies: list[Body], order: Ints) -> tuple[Designs, Ints]:
    """Each geometry once, numbered as the series come in a released file; and which one each series has (-1: none), as
    they come from the parts."""
    known: dict[str, int] = {}
    geometries: Designs = []
    local: list[int] = []
    for body in bodies:
        own = []
        for geometry, mechanism in zip(body["designs"], body["parameters"]["mechanisms"], strict=True):
            name = json.dumps(geometry)
            if name not in known:
                known[name] = len(geometries)
                geometries.append((geometry, mechanism))
            own.append(known[name])
        for index, count in body["parameters"]["series"]:
            local += [-1 if index is None else own[index]] * count
    arrived = np.array(local, dtype=np.int64)
    sorted_ = arrived[order]
    used, first = np.unique(sorted_[sorted_ >= 0], return_index=True)
    ranked = used[np.argsort(first)]
    number = np.full(len(geometries) + 1, -1, dtype=np.int64)
    number[ranked] = np.arange(ranked.size)
    return [geometries[index] for index in ranked.tolist()], number[arrived]


def _runs(which: Ints) -> list[list[int | None]]:
    """Runs of equal designs, as a certificate writes them."""
    starts = np.flatnonzero(np.concatenate([[True], which[1:] != which[:-1]]))
    counts = np.diff(np.append(starts, which.size))
    return [
        [None if index < 0 else index, count]
        for index, count in zip(which[starts].tolist(), counts.tolist(), strict=True)
    ]
