"""What a worker does with one part of the data, a group of whole series: look it over, and later release it.

An error of the first pass travels as a row, as one sentence, and never as a traceback that might show the data.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from reticent.accounting.fingerprints import borrowed_key
from reticent.errors import InputError, ReticentError
from reticent.randomness import Source
from reticent.tables.charging import Gathering
from reticent.tables.chunks import Chunk, chunks, series_offsets
from reticent.tables.content import content_kinds, series_hashes
from reticent.tables.delimited import Reading
from reticent.tables.grid import Grid
from reticent.tables.pipeline import Verb
from reticent.tables.reading import Columns, Records, connect, open_records, sentence
from reticent.tables.redacting import RedactVerb
from reticent.tables.stream_state import Given

if TYPE_CHECKING:
    import pyarrow as pa

PART = "reticent part"
SURVEY = (
    "part long, kind string, error string, body string, shape binary, "
    "codes binary, rows binary, series binary, ids binary"
)

Designs = list[tuple[Any, dict[str, Any]]]


@dataclass(frozen=True)
class Task:
    """All that a worker needs; it holds the key of the job.

    Parameters
    ----------
    make : bytes
        The maker of the verb, pickled.
    source : bytes
        State of the job's source.
    fingerprints : bytes
        The curator's key of fingerprints, for the ledger and for model files.
    columns : Columns
    extra : tuple of str
    duplicates : str
    reading : Reading
    memory : str, optional
    given : dict
        Digest of the records of each part that the first pass saw; empty in the first pass.
    designs : list
        Of a redaction: each geometry with its mechanism, as the certificate has it; empty in the first pass.
    """

    make: bytes = field(repr=False)
    source: bytes = field(repr=False)
    fingerprints: bytes = field(repr=False)
    columns: Columns
    extra: tuple[str, ...]
    duplicates: str
    reading: Reading
    memory: str | None
    given: dict[int, str] = field(default_factory=dict)
    designs: Designs = field(default_factory=list)

    def on_group(self, work: Callable[[Task, int, pa.Table], pa.Table]) -> Callable[[Any, pa.Table], pa.Table]:
        """`work` as Spark calls it."""

        def group(key: Any, table: pa.Table) -> pa.Table:
            return work(self, key[0].as_py(), table)

        return group

    @contextmanager
    def opened(self, table: pa.Table) -> Iterator[Records]:
        """The records of a part; nothing is spilled to a disk of the worker's, and no core taken but its own."""
        import duckdb

        try:
            with connect(self.memory, None) as con:
                con.execute("SET threads = 1")
                yield replace(open_records(con, table, self.columns, self.reading, self.extra), part=True)
        except (duckdb.Error, MemoryError) as error:  # whose words may hold a value
            if isinstance(error, MemoryError) or "Out of Memory" in str(error):
                raise InputError("frame: a part of it does not fit the memory of a worker; use more parts") from None
            raise sentence(error, table) from None

    def chunks(self, verb: Verb) -> Iterator[Chunk]:
        """The series of a part."""
        return chunks(verb.records, duplicates=self.duplicates, extra=verb.extra, kept=verb.released.keep)


def survey(task: Task, part: int, table: pa.Table) -> pa.Table:
    """One row: what a part would release, as far as the driver must know it, or why it cannot."""
    import pyarrow as pa

    row: dict[str, Any] = dict.fromkeys(("kind", "error", "body", "shape", "codes", "rows", "series", "ids"))
    try:
        row |= _surveyed(task, _records(table))
    except ReticentError as error:
        row |= {"kind": type(error).__name__, "error": str(error)}
    except Exception as error:  # its words may hold a value
        row |= {"kind": "ReticentError", "error": f"an unexpected {type(error).__name__} in a worker"}
    words = {name: pa.array([row[name]], pa.string()) for name in ("kind", "error", "body")}
    binary = {name: pa.array([row[name]], pa.binary()) for name in ("shape", "codes", "rows", "series", "ids")}
    return pa.table({"part": pa.array([part], pa.int64()), **words, **binary})


def _records(table: pa.Table) -> pa.Table:
    """The columns of a part; instants in UTC, since the zone of a session is how it shows them, and not in the data."""
    import pyarrow as pa

    def own(field: pa.Field) -> pa.Field:
        zoned = pa.types.is_timestamp(field.type) and field.type.tz is not None
        return field.with_type(pa.timestamp(field.type.unit, "UTC")) if zoned else field

    table = table.drop_columns([PART])
    return table.cast(pa.schema(map(own, table.schema)))


def _surveyed(task: Task, table: pa.Table) -> dict[str, Any]:
    with borrowed_key(task.fingerprints), task.opened(table) as records:
        verb = pickle.loads(task.make)(records)
        given, gathering = Given(), Gathering(verb)

        def look(chunk: Chunk) -> None:
            given.add(chunk.table)
            gathering.add(chunk)

        released = _released(task, verb, look)
        codes, rows = gathering.parts()
        lengths = np.diff(series_offsets(released, verb.released.id))
        body = {
            "rows": released.num_rows,
            "series": int(lengths.size),
            "longest": int(lengths.max(initial=0)),
            "names": released.column_names,
            "kinds": content_kinds(released.schema),
            "given": given.value(False),
            "action": verb.action,
            "parameters": verb.parameters(),
        }
        ids = b""
        if isinstance(verb, RedactVerb):
            body |= {"designs": verb.designs, "private": _private(verb, table)}
            first = released.select(verb.released.id).take(np.cumsum([0, *lengths[:-1]]))
            ids = _ipc(first.combine_chunks())
        return {
            "body": json.dumps(body),
            "shape": released.schema.serialize().to_pybytes(),
            "codes": codes.tobytes(),
            "rows": rows.tobytes(),
            "series": b"".join(_hashes(task, verb, released)),
            "ids": ids,
        }


def _released(task: Task, verb: Verb, look: Callable[[Chunk], None]) -> pa.Table:
    import pyarrow as pa

    source = Source.from_state(task.source)
    tables = []
    for chunk in task.chunks(verb):
        look(chunk)
        tables.append(verb.apply(chunk, source))
    return pa.concat_tables(tables)


def _hashes(task: Task, verb: Verb, released: pa.Table) -> Iterator[bytes]:
    """Of the series as who verifies a copy will read them."""
    columns = verb.released
    added = tuple(name for name in released.column_names if name not in columns.all)
    whole = Columns(columns.time, (*columns.value, *added), columns.id, columns.keep)
    with connect(task.memory, None) as con:
        records = open_records(con, released, whole, Reading(nulls=("",)))
        for chunk in chunks(records, duplicates="keep"):
            yield from series_hashes(chunk)


def _private(verb: RedactVerb, table: pa.Table) -> list[int]:
    """How many records lie in each interval, and in how many series any is private."""
    ticks = Grid(1, verb.records.time_is_whole).ticks(table[verb.records.columns.time])
    inside = [int(((ticks >= first) & (ticks <= last)).sum()) for first, last in verb.finder.bounds]
    return [*inside, sum(count for index, count in verb.parameters()["series"] if index is not None)]


def release(task: Task, part: int, table: pa.Table) -> pa.Table:
    """The release of a part, the same whenever and wherever it is computed; or no traceback that shows the data."""
    try:
        return _release(task, part, _records(table))
    except ReticentError as error:
        _fail(str(error))
    except Exception as error:
        _fail(f"an unexpected {type(error).__name__} in a worker")


def _release(task: Task, part: int, table: pa.Table) -> pa.Table:
    with borrowed_key(task.fingerprints), task.opened(table) as records:
        verb = pickle.loads(task.make)(records)
        if isinstance(verb, RedactVerb):
            verb.adopt(task.designs)
        given = Given()
        released = _released(task, verb, lambda chunk: given.add(chunk.table))
    if given.value(False) != task.given.get(part):
        raise ReticentError(
            "frame: the records are not those that were looked over before the release was charged, and drawing alike "
            "for both would betray them; keep the input fixed (write it, or checkpoint it), and release it again"
        )
    return released


def _fail(sentence: str) -> NoReturn:
    raise RuntimeError(f"reticent: {sentence}") from None


def _ipc(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
