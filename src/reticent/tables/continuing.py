"""Switch a series file by file, as one stream: what a file leaves unreleased is kept in a private state for the next.

All runs together release what one run over all the files would, row for row: a stream is one piece. The state is as
secret as the data, and goes into place just before the release. A journal outside it remembers what each run was given,
so that an old copy of the state never draws the same instants afresh for other data.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.fingerprints import home
from reticent.errors import ArgumentError, InputError, RefusedError, ReticentError
from reticent.randomness import Source
from reticent.switching import Switch
from reticent.switching.journal import Journal
from reticent.switching.mechanism import Sampler
from reticent.tables.charging import file_hash
from reticent.tables.chunks import HELD, Chunk, arrived
from reticent.tables.pipeline import Job, Release, run
from reticent.tables.reading import Columns, Records
from reticent.tables.restoring import restored
from reticent.tables.sql import quoted, quoted_list
from reticent.tables.staging import complete, locked, sync, waiting
from reticent.tables.stream_state import Given, State, private_file, read_state, write_state
from reticent.tables.switching import shuffled

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int64]

ORIGIN = "reticent origin"  # the instant whose value a held place now holds, counted from the next one to be released
WORDS = "reticent words"  # how many its series has used up
_WORDS_AHEAD = 64  # of a series, at most, that are drawn in one call for all
_NEXT, _ROWS = "next", "rows"
_SAME_TEXT = (("BIGINT", "DOUBLE"), ("BIGINT", "VARCHAR"))  # kinds of a text column that one file may show of another


def switch_on(job: Job, path: Path, switch: Switch, asked: dict[str, Any], finish: bool) -> Release:
    """Go on with the stream of a state, or begin one.

    Parameters
    ----------
    job : Job
        A seeded source, where there is one, must be the same in every run.
    path : Path
        The state; made by the first run.
    switch : Switch
        A mechanism with bounded look-ahead.
    asked : dict
        ε and δ.
    finish : bool
        Release all that is held, and accept no more.

    Raises
    ------
    ArgumentError
        A mechanism that does not stream; other parameters than the stream began with; a stream that is finished.
    InputError
        Records that do not lie after those that the stream was given before.
    RefusedError
        Other records than an earlier run from the same state was given; a journal that is lost.
    """
    if switch.look_ahead is None:
        raise ArgumentError(
            "continue: this mechanism needs the whole series before it releases any of it; choose --mechanism mallows "
            "with a --delta above 0, such as 1e-6"
        )
    if switch.look_ahead == 1:
        raise ArgumentError("window: at window 1 each file is released as it is, and there is nothing to continue")
    if job.private_report:
        raise ArgumentError("private-report: a stream is not compared file by file; leave it away")
    if job.output is not None and job.output.absolute() == path.absolute():
        raise ArgumentError("continue: the state and the output are one file; name two")
    if job.dry_run:
        raise ArgumentError("dry-run: a stream is not tried out; leave --continue out to see the plan of one file")
    if job.duplicates == "mean" or job.reading.null_id == "group":
        raise ArgumentError(
            "continue: a stream takes no mean of duplicates, and no records without an identifier; choose other rules"
        )
    folder = path.with_name(f".{path.name}.staged")

    def charged(file: Path) -> bool:
        return job.account.charged(file_hash(file))

    with locked(folder, path):
        done = _recover(folder, path, charged)
        if done is not None and job.output is not None and done == job.output.absolute():
            raise ArgumentError(f"output: an interrupted release to {done.name} was complete and is now in place")
        try:
            release = _go_on(job, path, folder, switch, asked, finish)
        except BaseException:
            if job.output is None or not waiting(job.output, charged):  # else the next run completes it
                shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
    return release


def _recover(folder: Path, path: Path, charged: Callable[[Path], bool]) -> Path | None:
    """Complete a run that was interrupted when its release was whole, else forget it; the output that was completed."""
    following = folder / _NEXT
    if following.exists():
        try:
            output = read_state(following)[0].output
        except InputError:  # cut short, hence before the release was whole
            output = None
        if output is not None and waiting(Path(output), charged):
            following.replace(path)
            sync(path.parent)
    for left in (following, folder / _ROWS):
        left.unlink(missing_ok=True)
    output = read_state(path)[0].output if path.exists() else None
    return Path(output) if output is not None and complete(Path(output), charged) else None


def _go_on(job: Job, path: Path, folder: Path, switch: Switch, asked: dict[str, Any], finish: bool) -> Release:
    columns = {part: names if isinstance(names, str) else list(names) for part, names in asdict(job.columns).items()}
    parameters = {**switch.to_dict(), "asked": asked, **columns, "duplicates": job.duplicates}
    state, held = read_state(path) if path.exists() else (State.fresh(job.source, parameters), None)
    _check_parameters(state, parameters)
    own = state.own_source
    if job.source.seeded and not (own.seeded and job.source.tag("same") == own.tag("same")):
        raise ArgumentError("seed: the stream goes on with the randomness that it began with; leave the seed away")
    output = None if job.output is None else str(job.output.absolute())
    with _journal(state) as journal:
        stage = _Stage(path, folder, journal, replace(state, finished=finish, output=output))

        def make(records: Records) -> ContinuedVerb:
            stage.records = _joined(records, state, held)
            return ContinuedVerb(stage.records, switch, asked, job.columns, stage)

        return run(replace(job, source=own, prepare=stage.prepare, commit=stage.commit), make)


def _check_parameters(state: State, parameters: Mapping[str, Any]) -> None:
    if state.finished:
        raise ArgumentError(
            "continue: this stream was finished, and its series are complete; begin another one with another state"
        )
    for name, known in state.parameters.items():
        if parameters.get(name) != known:
            raise ArgumentError(
                f"continue: the stream began with {name} {known}, and now it is {parameters.get(name)}; a stream goes "
                "on as it began"
            )


@contextmanager
def _journal(state: State) -> Iterator[Journal]:
    """The stream's journal, for one run at a time, whichever copy of the state that begins from."""
    folder = home() / "streams"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (folder / f"{state.stream}.lock").open("w")
    except OSError as error:
        raise ReticentError(
            f"the journal of a stream cannot be kept in {folder} ({error.strerror}); set RETICENT_HOME to a folder "
            "that can be written"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ArgumentError("continue: another run of this stream is under way") from None
        journal = Journal(folder / f"{state.stream}.journal")
        if state.runs:
            if journal.next_position(state.runs - 1) != state.runs:
                raise RefusedError(
                    "continue: the journal of this stream is not in the curator's folder, so it cannot be told what "
                    "later runs were given; bring it back, or set RETICENT_HOME to where it is"
                )
            journal.given(state.digest())
        yield journal


def _joined(records: Records, state: State, held: pa.Table | None) -> Records:
    """The records, in the stream's types, and with them the rows that are held from earlier runs."""
    import pyarrow as pa

    con, names = records.con, records.columns.all
    nothing = ", ".join(f"CAST(NULL AS BIGINT) AS {quoted(name)}" for name in (HELD, ORIGIN, WORDS))
    fitted = ", ".join(f"{_fitted(records, state, name)} AS {quoted(name)}" for name in names)
    con.execute(f"CREATE VIEW arriving AS SELECT {fitted}, {nothing} FROM {records.view}")
    if held is None:
        return replace(records, view="arriving")
    try:
        con.register("held", restored(held, records.schema))
    except pa.ArrowException:
        raise InputError("columns: a type is narrower than in the files before; write them alike") from None
    _check_times(records)
    own = ", ".join(f"CAST({quoted(name)} AS {state.types[name]})" for name in names)
    con.execute(
        f"CREATE VIEW continued AS FROM arriving UNION ALL SELECT {own}, {quoted_list((HELD, ORIGIN, WORDS))} FROM held"
    )
    rows, fractions = records.rows + held.num_rows, not state.whole_seconds
    return replace(records, view="continued", types=state.types, rows=rows, fractions=fractions)


def _fitted(records: Records, state: State, name: str) -> str:
    """A column as SQL, in the type that it has in the stream: that of a text column is found anew in each file."""
    own, known, column = records.types[name], state.types.get(name), quoted(name)
    if known in (None, own):
        return column
    if records.schema is None:
        present = records.con.sql(f"SELECT count({column}) FROM {records.view}").fetchall()[0][0]
        if (own, known) in _SAME_TEXT or not present:
            return f"CAST({column} AS {known})"
    raise InputError(f"column {name}: it holds {own} here, and {known} in the files before; write it alike")


def _check_times(records: Records) -> None:
    ids, time = quoted_list(records.columns.id), quoted(records.columns.time)
    last = f"SELECT {ids + ', ' if ids else ''}max({time}) AS latest FROM held {f'GROUP BY {ids}' if ids else ''}"
    early = records.con.sql(
        f"SELECT count(*) FROM arriving {'' if ids else 'CROSS '}JOIN ({last}) AS before "
        f"{f'USING ({ids})' if ids else ''} WHERE {time} <= latest"
    ).fetchall()[0][0]
    if early:
        raise InputError(
            f"time: {early} records do not lie after all those that the stream was given before; give each record "
            "once, in the order of time"
        )


class _Stage:
    """One run: gathers what the next one needs, and puts it in place just before the release."""

    def __init__(self, path: Path, folder: Path, journal: Journal, state: State) -> None:
        self._path, self._folder, self._journal, self._state = path, folder, journal, state
        self._given = Given()
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        self.records: Records | None = None

    @property
    def finish(self) -> bool:
        """Whether all is released."""
        return self._state.finished

    @property
    def public(self) -> dict[str, Any]:
        """What a certificate says of the stream."""
        return {"stream": self._state.stream, "run": self._state.runs + 1, "finished": self.finish}

    def take(self, given: pa.Table, held: pa.Table) -> None:
        """Rows that arrived, and rows that stay unreleased."""
        import pyarrow as pa

        self._given.add(given)
        if self._writer is None:
            self._file = private_file(self._folder / _ROWS)
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            self._writer = pa.ipc.new_stream(self._file, held.schema, options=options)
        self._writer.write_table(held)

    def prepare(self) -> None:
        """Remember what was given and lay the next state ready: before the release is charged."""
        assert self.records is not None
        assert self._file is not None  # there is at least one row
        self._writer.close()
        self._file.close()
        following = replace(
            self._state,
            runs=self._state.runs + 1,
            types={name: self.records.types[name] for name in self.records.columns.all},
            whole_seconds=self.records.whole_seconds,
            chained=self._state.digest().value(),
            given=self._given.value(self.finish),
        )
        try:
            self._journal.given(following.digest())
        except RefusedError:
            raise RefusedError(
                "continue: from this state an earlier run was begun with other records, and drawing the same instants "
                "for both would betray them; give the same records again, or go on from the newest state"
            ) from None
        sync(home() / "streams")
        write_state(
            self._folder / _NEXT, replace(following, source="") if self.finish else following, self._folder / _ROWS
        )
        sync(self._folder)

    def commit(self) -> None:
        """Put the next state in place: once the release is sure to come, and before it does."""
        following = self._folder / _NEXT
        if following.exists():  # else a request was answered, and nothing was drawn
            following.replace(self._path)
            sync(self._path.parent)


@dataclass(frozen=True)
class ContinuedVerb:
    """A switch of what is held and what arrived, as far as it can be released."""

    records: Records
    switch: Switch
    asked: dict[str, Any]
    columns: Columns
    stage: _Stage
    action = "switch"
    extra: tuple[str, ...] = (HELD, ORIGIN, WORDS)
    look_ahead = None

    @property
    def released(self) -> Columns:
        """Columns of the release: those of the input."""
        return self.columns

    def warm_up(self) -> None:
        """Load the compiler of the kernels."""
        import_module("numba")

    def apply(self, chunk: Chunk, source: Source) -> pa.Table:
        """What can be released of whole series; the rest is held."""
        import pyarrow as pa

        given = arrived(chunk).table.select(self.columns.all)
        chunk = shuffled(chunk, source)
        series = np.repeat(np.arange(chunk.lengths.size), chunk.lengths)
        place = np.arange(series.size) - chunk.offsets[series]
        held = _whole(chunk.table[HELD])
        old, rows = held >= 0, np.arange(series.size)  # what is held comes first in its series, ...
        rows[(chunk.offsets[series] + held)[old]] = np.flatnonzero(old)
        table = chunk.table.take(rows) if (held != place)[old].any() else chunk.table  # ... as it was held
        before = np.where(old, _whole(table[ORIGIN]), place)
        used = np.maximum(_whole(table[WORDS])[chunk.offsets[:-1]], 0)
        counts = chunk.lengths
        if not self.stage.finish:
            assert self.switch.look_ahead is not None
            counts = np.maximum(counts - self.switch.look_ahead + 1, 0)
        after, going = before.copy(), np.flatnonzero(counts)
        words = (used + self._sampler.words_needed(counts))[going]
        words[words > _WORDS_AHEAD] = 0  # drawn when they are needed
        for i, own in zip(
            going.tolist(), source.tagged_with(source.tags(chunk.encoded_ids)[going], words), strict=True
        ):
            own.advance(int(used[i]))
            self._sampler.advance(after[chunk.offsets[i] : chunk.offsets[i + 1]], 0, int(counts[i]), own)
            used[i] = own.position
        lowest = np.minimum.reduceat(before, chunk.offsets[:-1])
        spans = chunk.lengths - lowest  # an instant is never released before its place
        base = (np.cumsum(spans) - spans - lowest)[series]
        where = np.empty(spans.sum(), dtype=np.int64)
        where[before + base] = np.arange(series.size)
        rows = where[after + base]
        for name in self.columns.value:
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(name), table[name].take(rows))
        free = place < counts[series]
        left = {HELD: place - counts[series], ORIGIN: after - counts[series], WORDS: used[series]}
        waiting = table.select(self.columns.all).filter(~free)
        for name, numbers in left.items():
            waiting = waiting.append_column(name, pa.array(numbers[~free]))
        self.stage.take(given, waiting)
        return table.select(self.columns.all).filter(free)

    def examine(self, chunk: Chunk) -> pa.Table:
        """The columns of the release, before anything moves."""
        return chunk.table.select(self.columns.all)

    @cached_property
    def _sampler(self) -> Sampler:
        return self.switch.sampler()

    def parameters(self) -> dict[str, Any]:
        """Public parameters."""
        return {"asked": self.asked, "mechanism": self.switch.to_dict(), "cuts": None, "continued": self.stage.public}


def _whole(column: pa.ChunkedArray) -> Ints:
    """Whole numbers, -1 where there is none."""
    return np.asarray(column.fill_null(-1), dtype=np.int64)
