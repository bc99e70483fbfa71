"""Between a release and the ledger: which data it speaks of, what it costs, and what a request is answered with."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from reticent.accounting.answers import RELEASED, Answers, path_hash, path_hashes
from reticent.accounting.coverage import Coverage, CoverageBuilder
from reticent.accounting.events import Event, canonical, once_name, step_of_release
from reticent.accounting.ledger import Ledger
from reticent.accounting.lines import Charge
from reticent.errors import ArgumentError, RefusedError
from reticent.tables.aggregating import AggregateVerb
from reticent.tables.chunks import Chunk, arrived
from reticent.tables.frames import to_arrow
from reticent.tables.grid import Grid
from reticent.tables.naming import plain_ids
from reticent.tables.reading import Records
from reticent.tables.sources import files_of
from reticent.tables.staging import Outputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reticent.tables.pipeline import Verb


ONLY_WITH_LEDGER = (
    "ledger: a sequential redaction is drawn once for each series, which only a ledger can see to; release it with one"
)


@dataclass(frozen=True)
class Account:
    """Where and how a release is charged.

    Parameters
    ----------
    ledger : Ledger, optional
        None: nothing is remembered, and a mechanism that may be drawn only once is refused.
    dataset : str
        Equal series and times under two names are taken as different data.
    request : str, optional
        A name: asked again, it is answered with the same files at no further charge.
    internal : bool
        The file stays in the house, as the first step of a pipeline; it is not charged.
    """

    ledger: Ledger | None = None
    dataset: str = ""
    request: str | None = None
    internal: bool = False

    def __post_init__(self) -> None:
        if self.ledger is None and (self.request is not None or self.internal or self.dataset):
            raise ArgumentError("ledger: request, dataset and internal need one")
        if self.internal and self.request is not None:
            raise ArgumentError("internal: a file that stays in the house answers no request")

    def answered(self, job: str) -> Charge | None:
        """The charge of a request that was made before."""
        if self.ledger is None or self.request is None:
            return None
        return self.ledger.answer(self.request, job)

    def identified(self, job: str, table: Any) -> str:
        """What was asked for, and of which data: a request that names others asks for something else."""
        if self.request is None:
            return job
        paths = files_of(table)
        if paths is None:
            return f"{job} of {frame_hash(table)}"
        hashes = [file_hash(path) for path in paths if path.is_file()]
        return f"{job} of {', '.join(sorted(hashes))}" if hashes else job

    def earlier(self, table: Any) -> Event | None:
        """The step that made the input, where it is a file that stayed in the house."""
        if self.ledger is None or not isinstance(table, str | Path) or not Path(table).is_file():
            return None
        return self.ledger.step(file_hash(Path(table))) if self.ledger.has_steps else None

    def charged(self, sha256: str) -> bool:
        """Whether a staged file was charged by a run that was then interrupted."""
        return self.ledger is not None and self.ledger.charged(sha256)

    def settle(self, work: Work, files: Mapping[str, Path] | None) -> Charge | None:
        """Spend what a release costs, before it is handed out.

        Parameters
        ----------
        work : Work
        files : mapping, optional
            The staged files by part. If the request has been answered meanwhile they are replaced by the earlier ones.

        Raises
        ------
        RefusedError
            Over the limit, or nothing is proved of the releases together.
        LedgerError
            The ledger is not as it was left, or cannot be written.
        """
        if self.ledger is None:
            if work.once:
                raise RefusedError(ONLY_WITH_LEDGER)
            return None
        event = work.event(self.dataset)
        sha256 = None if files is None else file_hash(files[RELEASED])
        if self.internal:
            if sha256 is None:
                raise ArgumentError("internal: only a file can be known again as the first step of a pipeline")
            self.ledger.note_step(event, sha256)
            return None
        kept = self.request is not None or once_name(event) is not None
        stored = Answers(self.ledger.path) if files and kept else None
        if stored is not None and files is not None and sha256 is not None:
            stored.keep(sha256, files)
        try:
            charge = self.ledger.charge(event, request=self.request, released=sha256, job=work.job)
        except (RefusedError, ArgumentError):
            if stored is not None and sha256 is not None and not self.charged(sha256):
                stored.drop(sha256)
            raise
        if charge.answered and (files is None or charge.released != sha256):
            if stored is not None and sha256 is not None:
                stored.drop(sha256)
            self.hand_out(charge, files)
        return charge

    def hand_out(self, charge: Charge, files: Mapping[str, Path] | None) -> None:
        """Write the files that a request was answered with.

        Raises
        ------
        RefusedError
            They were never stored: what was released was no file.
        """
        assert self.ledger is not None  # it made the charge
        if files is None or charge.released is None:
            raise RefusedError(
                "request: it was answered before with a data frame, which is not stored and is not made anew; hand out "
                "that one"
            )
        Answers(self.ledger.path).place(charge.released, files)


@dataclass(frozen=True)
class Work:
    """What was done, for the ledger.

    Parameters
    ----------
    action : str
    parameters : mapping
        Public parameters of the release.
    columns : tuple of str
        Value columns.
    coverage : Coverage
    before : Event, optional
        The step of a pipeline that made the input.
    job : str
    """

    action: str
    parameters: Mapping[str, Any]
    columns: tuple[str, ...]
    coverage: Coverage
    before: Event | None = None
    job: str = ""

    @property
    def once(self) -> bool:
        """Whether a mechanism may be drawn only once."""
        return any(each["mechanism"] == "sequential_redaction" for each in self.parameters.get("mechanisms", ()))

    def event(self, dataset: str) -> Event:
        """What is charged."""
        cuts = self.parameters.get("cuts")
        return Event.of(
            *(() if self.before is None else self.before.steps),
            step_of_release(self.action, self.parameters),
            dataset=dataset,
            columns=self.columns,
            coverage=self._covered(),
            cuts=cuts is not None,
            stream=self.parameters.get("continued", {}).get("stream", ""),
        )

    def _covered(self) -> Coverage:
        """Of a redaction that came first, which mechanism released each series too.

        Raises
        ------
        RefusedError
            If this step was of other records than the redaction.
        """
        if self.before is None or not any("redact" in step for step in self.before.steps):
            cuts = self.parameters.get("cuts")
            zone = self.parameters.get("zone")
            return self.coverage if cuts is None else self.coverage.widened(lambda tick: calendar(tick, cuts, zone))
        if not self.before.coverage.same_records(self.coverage):
            raise RefusedError(
                "ledger: a pipeline has a joint claim only where each step is of the same records; give the whole "
                "redacted file to the next step"
            )
        return self.before.coverage


class Margin:
    """What a model of the released records was fitted on: if its design exceeds the margin, there is no second try.

    Whoever tries another margin then lets the choice depend on records which that margin may hide.

    Parameters
    ----------
    account : Account
    records : Records
    """

    def __init__(self, account: Account, records: Records) -> None:
        self._ledger, self._dataset = account.ledger, account.dataset
        self._unit = Grid(1, records.time_is_whole)
        self._builder = CoverageBuilder() if account.ledger is not None else None

    def add(self, chunk: Chunk) -> None:
        """Whole series of the input."""
        if self._builder is not None:
            names = plain_ids(chunk.table, chunk.columns.id, chunk.offsets[:-1])
            self._builder.add(names, self._unit.ticks(chunk.table[chunk.columns.time]), chunk.offsets)

    def check(self) -> None:
        """Called once all series were added, before anything is designed.

        Raises
        ------
        RefusedError
            If these data were refused before.
        """
        if self._ledger is not None and self._ledger.refused(self._dataset, self._coverage):
            raise RefusedError(f"margin: {_SECOND_TRY}")

    def refuse(self, margin: int) -> RefusedError:
        """The refusal, which the ledger remembers before anybody is told."""
        if self._ledger is not None:
            self._ledger.note_refusal(self._dataset, self._coverage)
        return RefusedError(
            f"margin: no design for this ε keeps within {margin} steps of the secrets, beyond which the model was "
            f"fitted, so nothing is released; {_NO_OTHER}"
        )

    @cached_property
    def _coverage(self) -> Coverage:
        assert self._builder is not None  # there is a ledger
        return self._builder.finish()


_NO_OTHER = (
    "another margin must not be tried on these series, since the choice would depend on what is hidden: use a model "
    "file that was fitted on earlier data"
)
_SECOND_TRY = (
    "a model of the released records of these series was refused before, since its design exceeded the margin; "
    + _NO_OTHER
)


def calendar(tick: int, cuts: str, zone: str | None = None) -> tuple[int, int]:
    """First and last tick of the calendar day, week, month, quarter or year of a tick (microseconds).

    Where a zone puts its midnight into an hour that occurs twice, or never, the piece is taken as the longer one.
    """
    day = np.datetime64(_clock(tick, zone), "us").astype("datetime64[D]")
    if cuts in ("day", "week"):
        size = 1 if cuts == "day" else 7
        begin = day - np.timedelta64((int(day.astype(np.int64)) + 3) % size, "D")  # the epoch was a Thursday
        end = begin + np.timedelta64(size, "D")
    else:
        size = {"month": 1, "quarter": 3, "year": 12}[cuts]
        begin = np.datetime64(int(day.astype("datetime64[M]").astype(np.int64)) // size * size, "M")
        end = begin + np.timedelta64(size, "M")
    first, after = (int(each.astype("datetime64[us]").astype(np.int64)) for each in (begin, end))
    return min(_instants(first, zone)), max(_instants(after, zone)) - 1


def _clock(tick: int, zone: str | None) -> int:
    """What the clocks of a zone show at an instant, as microseconds."""
    if zone is None:
        return tick
    offset = (_EPOCH + dt.timedelta(microseconds=tick)).astimezone(_zone(zone)).utcoffset()
    assert offset is not None  # a zone has one
    return tick + offset // dt.timedelta(microseconds=1)


def _instants(clock: int, zone: str | None) -> list[int]:
    """When the clocks of a zone show a time: twice, where they go back."""
    if zone is None:
        return [clock]
    shown = (_EPOCH + dt.timedelta(microseconds=clock)).replace(tzinfo=_zone(zone))
    return [(shown.replace(fold=fold) - _EPOCH) // dt.timedelta(microseconds=1) for fold in (0, 1)]


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ArgumentError(f"time-zone: {name} is not known on this machine; write it like Europe/Berlin") from None


def job_text(action: str, asked: Mapping[str, Any]) -> str:
    """What was asked for, so that a request is not answered with something else."""
    return canonical({"action": action, **{name: str(value) for name, value in asked.items()}})


class Gathering:
    """The coverage of a release, gathered while it is made.

    Parameters
    ----------
    verb : Verb
    """

    def __init__(self, verb: Verb) -> None:
        self._verb = verb
        self._builder = CoverageBuilder()
        self._unit = Grid(1, verb.records.time_is_whole)

    def add(self, chunk: Chunk) -> None:
        """Whole series of the input; of a stream, what arrived of them; of an aggregate, the individuals."""
        chunk = arrived(chunk)
        ticks = self._unit.ticks(chunk.table[chunk.columns.time])
        if isinstance(self._verb, AggregateVerb):
            self._individuals(chunk, ticks)
            return
        names = self._verb.released.id
        ids = plain_ids(chunk.table, names, chunk.offsets[:-1])
        if len(ids):
            self._builder.add(ids, ticks, chunk.offsets)

    def _individuals(self, chunk: Chunk, ticks: NDArray[np.int64]) -> None:
        names = chunk.columns.keep
        order = np.lexsort((ticks, *(_codes(chunk, name) for name in reversed(names))))
        present = order[np.all([_codes(chunk, name)[order] >= 0 for name in names], axis=0)]
        if not present.size:
            return
        changed = np.any([np.diff(_codes(chunk, name)[present]) != 0 for name in names], axis=0)
        starts = np.concatenate([[0], np.flatnonzero(changed) + 1])
        ids = plain_ids(chunk.table, names, present[starts])
        self._builder.add(ids, ticks[present], np.append(starts, present.size))

    def parts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """What was gathered of a part of the data, for `CoverageBuilder.join`."""
        return self._builder.parts()

    def finish(self) -> Coverage:
        """The coverage, once all series have passed; pieces of a series, and windows of an individual, are joined."""
        runs = self._verb.parameters().get("series")
        if runs is None:
            return self._builder.finish(joined=True)
        designs = [-1 if index is None else index for index, _ in runs]
        return self._builder.finish(np.repeat(designs, [count for _, count in runs]))


def _codes(chunk: Chunk, name: str) -> NDArray[np.int64]:
    encoded = chunk.table[name].combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1), dtype=np.int64)


def parts(outputs: Outputs, folder: Path) -> dict[str, Path]:
    """The public files of a release by part, in a folder."""
    paths = {RELEASED: outputs.released, "certificate": outputs.certificate, "report": outputs.report}
    return {name: folder / path.name for name, path in paths.items()}


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal; of a folder, that of the list of its files and their hashes."""
    return path_hash(path)


def file_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a folder, by its name below the folder, in order."""
    return path_hashes(folder)


class _Hashing(io.RawIOBase):
    """A file that keeps nothing but its hash."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)


def frame_hash(frame: Any) -> str:
    """SHA-256 of a data frame as Arrow writes it, in hexadecimal."""
    import pyarrow as pa

    table = to_arrow(frame)
    sink = _Hashing()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.digest.hexdigest()
