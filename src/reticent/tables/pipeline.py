"""The one way from records to a release: sorted chunks, one verb, one writer, then a certificate."""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from reticent.accounting.coverage import Coverage
from reticent.accounting.events import Event
from reticent.accounting.lines import Charge
from reticent.certificates import Certificate
from reticent.errors import ArgumentError
from reticent.randomness import Source
from reticent.tables.arranging import limit_memory
from reticent.tables.charging import Account, Gathering, Work, file_hash, file_hashes, parts
from reticent.tables.chunks import Chunk, chunks
from reticent.tables.delimited import Reading
from reticent.tables.extent import Extent
from reticent.tables.formats import Writer, format_of_name, with_whole_seconds
from reticent.tables.formulas import formula_names, guarded
from reticent.tables.frames import from_arrow
from reticent.tables.partitions import PartitionedWriter, check_partition
from reticent.tables.planning import with_released
from reticent.tables.reading import Columns, Records, connect, open_records, sentence
from reticent.tables.restoring import kind_of
from reticent.tables.sifting import quarantine
from reticent.tables.sources import paths_meet, source_of
from reticent.tables.staging import Outputs, complete, seal, staged

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int, int], None]

SAMPLE_SERIES = 3
SAMPLE_ROWS = 1000


class Verb(Protocol):
    """What is done to each chunk, and what may be said of it afterwards."""

    @property
    def action(self) -> str:
        """redact, switch or quantize."""

    @property
    def records(self) -> Records:
        """What it reads."""

    @property
    def released(self) -> Columns:
        """Columns of the release."""

    @property
    def extra(self) -> tuple[str, ...]:
        """Columns that are read beside those of the release."""

    @property
    def look_ahead(self) -> int | None:
        """Records needed before one can be released, so that a long series may come in parts; None for all of them."""

    def warm_up(self) -> None:
        """Load what `apply` needs, while the data are being sorted."""

    def apply(self, chunk: Chunk, source: Source) -> pa.Table:
        """The release of whole series, or what can be released of one after its next part."""

    def examine(self, chunk: Chunk) -> pa.Table:
        """What `apply` would return, as far as that can be said without a draw: the same rows and columns."""

    def parameters(self) -> dict[str, Any]:
        """Public parameters, known once all chunks have passed; raises if the promise is not kept."""


@dataclass(frozen=True)
class Job:
    """What is common to all verbs.

    Parameters
    ----------
    table : path, list of paths, or frame
        A CSV, Parquet or Feather file, several of them or a folder of them; a pandas, Polars or PyArrow table.
    columns : Columns
    source : Source
        One for the whole job; each series spawns its own.
    duplicates : {"error", "min", "max", "mean", "keep"}
    reading : Reading
    memory : str, optional
        What sorting may use before it spills to disk, such as "500MB"; by default a quarter of the machine's, at most
        1 GB.
    output : path, optional
        Where the released file goes, certificate and report beside it; a frame is returned where there is none.
    overwrite : bool
    private_report : bool
        Also write the comparison with the original, which must not leave the house.
    progress : callable, optional
        Called with rows done and rows in all.
    account : Account
        Where the release is charged.
    sign : path, optional
        Private key to sign the certificate with.
    text : str
        What was asked for, so that a request is answered with the same.
    compression : str, optional
        Inside a Parquet or Feather file; zstd by default.
    formulas : {"keep", "quote"}
        What is done to texts in a text file that a spreadsheet would run: "quote" writes an apostrophe before each.
    dry_run : bool
        Only say what the release would promise and cost.
    partition_by : str, optional
        Write a folder, parted by this column of identifiers or of those that are kept.
    prepare, commit : callable
        Called before the release is charged, and when it is sure to come but not yet in place.
    """

    table: Any
    columns: Columns
    source: Source
    duplicates: str = "error"
    reading: Reading = field(default_factory=Reading)
    memory: str | None = None
    output: Path | None = None
    overwrite: bool = False
    private_report: bool = False
    progress: Progress | None = None
    account: Account = field(default_factory=Account)
    sign: Path | None = None
    text: str = ""
    compression: str | None = None
    formulas: str = "keep"
    dry_run: bool = False
    partition_by: str | None = None
    prepare: Callable[[], None] = lambda: None
    commit: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Pair:
    """One series before and after, for the private report."""

    original: pa.Table
    released: pa.Table


@dataclass(frozen=True)
class Release:
    """What came out.

    Attributes
    ----------
    table : frame or None
        Of the kind that was given; None where files were written, and in a dry run.
    certificate : Certificate
    outputs : Outputs or None
        Where the files are; None where there are none.
    plan : tuple of (str, str)
        How the input was understood (for the curator).
    charge : Charge or None
        What it cost, with all that was released before (for the curator); None where no ledger was asked.
    formulas : int
        Texts of a text file, names of columns included, that a spreadsheet would run.
    """

    table: Any
    certificate: Certificate
    outputs: Outputs | None
    plan: tuple[tuple[str, str], ...]
    charge: Charge | None = None
    formulas: int = 0


@contextmanager
def opened(job: Job, extra: tuple[str, ...], place: Path | None = None) -> Iterator[Records]:
    """The typed records of a job; DuckDB spills into a folder of its own (in `place`), which is removed."""
    import duckdb

    table = source_of(job.table)
    scratch = Path(tempfile.mkdtemp(prefix=".reticent-", dir=place))
    try:
        with connect(job.memory, scratch) as con:
            if job.memory is None:
                limit_memory(con)
            yield open_records(con, table, job.columns, job.reading, extra)
    except duckdb.Error as error:  # whose words may hold a line of the data
        raise sentence(error, table) from None
    except (MemoryError, OSError) as error:  # DuckDB's own, by way of Arrow
        if "Out of Memory Error" not in str(error) and not _is_damage(error):
            raise
        raise sentence(error, table) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _is_damage(error: Exception) -> bool:
    """Whether Arrow says that a file is not whole; what the operating system refuses has a number."""
    return isinstance(error, OSError) and error.errno is None


class Elsewhere(ABC):
    """A table that is where no file is, and runs a job there: a frame on a cluster."""

    @abstractmethod
    def run_job(self, job: Job, make_verb: Callable[[Records], Verb], extra: tuple[str, ...]) -> Release:
        """As `run`."""


def run(job: Job, make_verb: Callable[[Records], Verb], extra: tuple[str, ...] = ()) -> Release:
    """Release a table or a file.

    Raises
    ------
    InputError, ArgumentError
        Before anything is written.
    RefusedError
        The exact guarantee is not what was asked for: nothing is left behind.
    """
    if isinstance(job.table, Elsewhere):
        return job.table.run_job(job, make_verb, extra)
    if job.dry_run:
        from reticent.tables.previewing import preview

        return preview(job, make_verb, extra)
    _check_quarantine(job)
    with quarantine(job.reading.quarantine, job.overwrite) as aside:

        def commit() -> None:
            aside.commit()
            job.commit()

        return _run(replace(job, commit=commit), lambda records: make_verb(aside.write(records)), extra)


def _check_quarantine(job: Job) -> None:
    path = job.reading.quarantine
    if path is None:
        return
    own = path.absolute()
    outputs = [] if job.output is None else [Outputs(job.output).released, *Outputs(job.output).companions]
    if paths_meet(job.table, path):
        raise ArgumentError("quarantine: it is an input, which would be lost, or lies among them; name another file")
    if any(own == each.absolute() or each.absolute() in own.parents for each in outputs):
        raise ArgumentError("quarantine: it is a file of the release; name another, which stays in the house")


def _run(job: Job, make_verb: Callable[[Records], Verb], extra: tuple[str, ...]) -> Release:
    job = replace(job, text=job.account.identified(job.text, job.table))
    known = job.account.answered(job.text)
    before = job.account.earlier(job.table)
    if job.output is None:
        if known is not None:
            job.account.hand_out(known, None)
        with opened(job, extra) as records:
            verb = make_verb(records)
            tables: list[pa.Table] = []
            facts, coverage = _pass(job, verb, tables.append, [])
            import pyarrow as pa

            table = pa.concat_tables(tables).combine_chunks()
            certificate = _issue(job, verb, facts)
            job.prepare()
            charge = job.account.settle(_work(job, verb, coverage, before), None)
            job.commit()
            return Release(from_arrow(table, job.table), certificate, None, _plan(verb, facts), charge)
    if known is not None:
        return _again(job, job.output, known)
    if paths_meet(job.table, job.output):
        raise ArgumentError("output: it is the input itself, which would be lost, or lies in it; name another file")
    staging = _staged(job, job.output)  # what spilled is removed with it if this run is killed
    with staging as folder, opened(job, extra, folder.parent) as records:
        return _to_files(job, records, make_verb(records), Outputs(job.output), folder, before)


def _staged(job: Job, output: Path) -> AbstractContextManager[Path]:
    def charged(path: Path) -> bool:
        return job.account.charged(file_hash(path))

    return staged(
        output, overwrite=job.overwrite, charged=charged, ready=job.commit, folder=job.partition_by is not None
    )


def _again(job: Job, output: Path, known: Charge) -> Release:
    """The files that the request was answered with, at no further charge and without a draw."""
    outputs = Outputs(output)
    complete(output, lambda path: job.account.charged(file_hash(path)))
    if not (output.exists() and file_hash(output) == known.released):
        with _staged(job, output) as folder:
            job.account.hand_out(known, parts(outputs, folder))
    return Release(None, Certificate.read(outputs.certificate), outputs, (), known)


def _issue(job: Job, verb: Verb, facts: dict[str, Any]) -> Certificate:
    parameters = {"duplicates": job.duplicates, **verb.parameters(), **declared(job.reading)}
    certificate = Certificate.issue(verb.action, parameters, facts, job.source.seeded)
    return certificate if job.sign is None else certificate.signed(job.sign)


def declared(reading: Reading) -> dict[str, Any]:
    """What a certificate says of the reading: rules for rows that could not be read, and what stands for a state."""
    said: dict[str, Any] = {}
    if reading.quarantine is not None:
        said["unread"] = "set aside"
    if reading.null_id != "error":
        said["null_id"] = reading.null_id
    if reading.states:
        said["states"] = [[state, list(values)] for state, values in reading.states.items()]
    return said


def _plan(verb: Verb, facts: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return with_released(verb.records.plan, facts, verb.records.rows, "aggregate" in verb.parameters())


def _work(job: Job, verb: Verb, coverage: Coverage, before: Event | None) -> Work:
    return Work(verb.action, verb.parameters(), verb.records.columns.value, coverage, before, job.text)


def _to_files(job: Job, records: Records, verb: Verb, outputs: Outputs, folder: Path, before: Event | None) -> Release:
    from reticent.reports import private_report, public_report, warm_up, with_composition

    warm_up()
    path = folder / outputs.released.name
    format = format_of_name(outputs.released, records.format, job.compression)
    check_partition(job.partition_by, verb.released, records.types, format)
    whole_seconds = format.kind == "csv" and verb.records.whole_seconds
    writer: Writer | PartitionedWriter | None = None
    pairs: list[Pair] = []
    formulas = 0

    def write(table: pa.Table) -> None:
        nonlocal writer, formulas
        if format.kind == "csv":
            if whole_seconds:
                table = with_whole_seconds(table, verb.released.time)
            table, found = guarded(table, job.formulas)
            formulas += found + (len(formula_names(table.column_names)) if writer is None else 0)
        if writer is None:
            if job.partition_by is None:
                writer = Writer(path, format, table.schema)
            else:
                writer = PartitionedWriter(path, format, table.schema, job.partition_by)
        writer.write(table)

    facts, coverage = _pass(job, verb, write, pairs)
    assert writer is not None  # there is at least one row, hence one chunk
    writer.close()
    facts |= {"format": str(format), "sha256": file_hash(path)}
    if job.partition_by is not None:
        kind = kind_of(writer.schema.field(job.partition_by).type)
        facts |= {"partition_by": job.partition_by, "kinds": {job.partition_by: kind}, "files": file_hashes(path)}
    if format.kind == "csv":
        facts |= {"delimiter": format.delimiter, "kinds": {field.name: kind_of(field.type) for field in writer.schema}}
        if job.formulas == "quote":
            facts |= {"formulas": "quote"}
            if formula_names(writer.schema.names):
                raise ArgumentError("formulas: the name of a column starts one, and is not quoted; rename that column")
    certificate = _issue(job, verb, facts)
    (folder / outputs.certificate.name).write_text(certificate.to_json(), encoding="utf-8")
    (folder / outputs.report.name).write_text(public_report(certificate), encoding="utf-8")
    page = private_report(certificate, pairs, _plan(verb, facts)) if job.private_report else ""
    seal(folder)
    job.prepare()
    charge = job.account.settle(_work(job, verb, coverage, before), parts(outputs, folder))
    if page:  # only now is it known what all releases cost together
        page = with_composition(page, () if charge is None else charge.lines())
        (folder / outputs.private_report.name).write_text(page, encoding="utf-8")
    if charge is not None and charge.answered:
        certificate = Certificate.read(folder / outputs.certificate.name)
    return Release(None, certificate, outputs, _plan(verb, facts), charge, formulas)


def _pass(
    job: Job, verb: Verb, write: Callable[[pa.Table], None], pairs: list[Pair]
) -> tuple[dict[str, Any], Coverage]:
    """One pass over all series; writing goes on beside the next chunk.

    Returns what the release itself shows, and which data it speaks of (for the ledger, if there is one).
    """
    gathering = Gathering(verb) if job.account.ledger is not None else None
    extent, seen = Extent(), 0
    pending: Future[None] | None = None
    names: list[str] = []
    look_ahead = None if job.output is None else verb.look_ahead  # what is returned as a frame is held in any case
    stream = chunks(
        verb.records, duplicates=job.duplicates, extra=verb.extra, kept=verb.released.keep, look_ahead=look_ahead
    )
    with ThreadPoolExecutor(max_workers=1) as reading, ThreadPoolExecutor(max_workers=1) as writing:
        ahead = reading.submit(next, stream, None)
        verb.warm_up()
        while (chunk := ahead.result()) is not None:
            ahead = reading.submit(next, stream, None)
            table = verb.apply(chunk, job.source)
            if gathering is not None:
                gathering.add(chunk)
            if pending is not None:
                pending.result()
            pending = writing.submit(write, table)
            extent.add(table, verb.released.id)
            seen += chunk.table.num_rows
            names = table.column_names
            enough = table.num_rows >= (chunk.table.num_rows if chunk.ends else SAMPLE_ROWS)
            if job.private_report and len(pairs) < SAMPLE_SERIES and chunk.begins and enough:
                pairs += _samples(chunk, table, SAMPLE_SERIES - len(pairs))
            if job.progress:
                job.progress(seen, verb.records.rows)
        if pending is not None:
            pending.result()
    columns = verb.released
    named = {"id": list(columns.id), "time": columns.time, "value": list(columns.value), "kept": list(columns.keep)}
    added = [name for name in names if name not in columns.all]
    facts = {"columns": {**named, "added": added}, **extent.facts()}
    return facts, Coverage.everything() if gathering is None else gathering.finish()


def _samples(chunk: Chunk, released: pa.Table, most: int) -> list[Pair]:
    """The first series, around the first record that was withheld where there is one."""
    added = [name for name in released.column_names if name not in chunk.columns.all]
    withheld = released[added[0]].to_numpy() if added else None
    pairs = []
    for start, length in zip(chunk.offsets[:most].tolist(), chunk.lengths[:most].tolist(), strict=False):
        size = min(length, SAMPLE_ROWS)
        first = 0 if withheld is None else int(np.argmax(withheld[start : start + length]))
        begin = start + min(max(first - size // 2, 0), length - size)
        pairs.append(Pair(chunk.table.slice(begin, size), released.slice(begin, size)))
    return pairs
