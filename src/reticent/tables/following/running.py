"""Follow a stream: records in as they come, released records out, and a checkpoint from which a crash is mended.

*Exactly once.* Each round takes some records, computes what they set free, makes a checkpoint durable that holds both
the state after them and the very bytes that are to be emitted, and only then emits these. So

- what was emitted had been committed before: no instant is drawn twice, and records that no checkpoint knows of have
  never touched anything that was seen;
- a run that begins from a checkpoint emits its bytes again. With an output *file* it first cuts the file back to where
  the checkpoint says these bytes begin, so the file holds each record once, whatever was killed when. In a *pipe* each
  record carries a number (`seq`), the repeated lines are equal byte for byte, and the consumer drops numbers that it
  has, or says which it has seen (`seen`); what a consumer that dies left in the pipe is gone;
- an output file that does not hold what was released into it, byte for byte, is not gone on with, nor certified;
- the input is given again from its beginning (records that were taken are skipped, and compared by a keyed digest), or
  from any record on that is not later than the checkpoint (`after`).

An old copy of a checkpoint is refused. The key and the values that are held back stand in it, as secret as the data.
"""

from __future__ import annotations

import hashlib
import os
import select
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from reticent.accounting.coverage import Coverage
from reticent.accounting.events import Event as Charged
from reticent.accounting.events import step_of_release
from reticent.certificates import Certificate
from reticent.errors import ArgumentError, EmptyInputError, InputError, RefusedError, ReticentError
from reticent.randomness import Source
from reticent.tables.following.checkpoints import Checkpoint, Store
from reticent.tables.following.job import Followed, Following
from reticent.tables.following.lines import Clock, Event, Lines, name_of
from reticent.tables.following.sinks import FileSink, PipeSink, Sink, stop_signals
from reticent.tables.following.verbs import FollowVerb
from reticent.tables.staging import Outputs, write_whole

_MOST = 50_000  # records in a round
_PIECE = 1 << 18  # bytes read at once
_LONGEST = 1 << 24  # bytes of a record
_GRACE = 0.1  # seconds within which a signal that has ended the input reaches this end of the pipe too
_SHARE = 4  # rounds take at least so many times as long as their checkpoint

Make = Callable[[Source | None, dict[str, Any]], FollowVerb]


def follow(job: Following, descriptor: int, verb: str, asked: dict[str, Any], make: Make) -> Followed:
    """Follow a stream until its end, or until SIGTERM or SIGINT, after which another run goes on.

    Parameters
    ----------
    job : Following
    descriptor : int
        Of the input.
    verb : str
    asked : dict
        What every run must ask for alike, as plain values.
    make : callable
        The verb from a source and its saved state.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        One sentence. What came before the record at fault has been released, and the next run goes on with it.
    """
    columns = [job.columns.time, list(job.columns.value), list(job.columns.id), list(job.columns.keep)]
    parameters = {
        "verb": verb,
        **asked,
        "columns": columns,
        "format": job.format,
        "late": job.late,
        "duplicates": job.duplicates,
        "time_format": job.time_format,
        "dataset": job.dataset,
        "ledger": job.ledger is not None,
        "seeded": job.source.seeded,
        "output": None if job.output is None else str(job.output.absolute()),
    }
    job.check_input(descriptor)
    store = Store(job.checkpoint)
    known = store.read()
    checkpoint = known or Checkpoint.fresh(job.source, parameters)
    checkpoint.check(parameters)
    source = Source.from_state(bytes.fromhex(checkpoint.source)) if checkpoint.source else None
    if job.source.seeded and source is not None and source.tag("same") != job.source.tag("same"):
        raise ArgumentError("seed: the stream goes on with the randomness that it began with; give the same seed")
    output = PipeSink(job.seen) if job.output is None else FileSink(job.output)
    if known is None:
        output.check_new(job.overwrite)
    with store.held(checkpoint), output:
        if job.after > checkpoint.taken:
            raise ArgumentError(
                f"after: the stream was given {checkpoint.taken:,} records so far, and those up to {job.after:,} would "
                "be lost; begin the input earlier"
            )
        if known is None:  # before anything is charged: the stream keeps its name, whatever happens
            checkpoint = store.write(checkpoint)
        run = _Run(job, store, checkpoint, output, source, make(source, checkpoint.series))
        try:
            return run.go(descriptor)
        except ReticentError:
            if known is None and run.untouched:  # nothing is left behind
                output.discard()
                job.checkpoint.unlink(missing_ok=True)
            raise


class _Round(NamedTuple):
    """Records of one round that follow the rules, and what is known after them."""

    events: list[Event]
    lines: list[int]  # of each event
    last: dict[str, int]
    chained: str
    clock: str
    dropped: dict[str, int]
    taken: int
    failure: ReticentError | None


class _Run:
    """One run over a stream."""

    def __init__(
        self,
        job: Following,
        store: Store,
        checkpoint: Checkpoint,
        output: Sink,
        source: Source | None,
        verb: FollowVerb,
    ) -> None:
        self._job, self._store, self._output, self._verb = job, store, output, verb
        self._state = replace(checkpoint, runs=checkpoint.runs + 1)
        self._key = b"" if source is None else source.tag("stream journal")
        self._lines = Lines(
            job.columns,
            job.format,
            Clock(job.time_format, checkpoint.clock),
            checkpoint.delimiter or job.delimiter,
        )
        self._skip = max(checkpoint.taken - job.after, 0)
        self._skipped = ""  # digest of what was skipped, the header included

    @property
    def untouched(self) -> bool:
        """Whether no record has been taken."""
        return not self._state.taken

    def go(self, descriptor: int) -> Followed:
        state = self._state
        head = self._lines.head(True) if state.pending else ""
        self._output.begin(state, head)
        ended = state.ended
        if not ended:
            ended = self._read(descriptor) and not self._job.keep_open
            if ended:
                if not self._state.taken:
                    raise EmptyInputError("input: there are no rows; the next run begins the stream")
                self._commit_released(self._verb.flush(), ended=True)
        return self._account(ended)

    # --- input -------------------------------------------------------------------------------------------------------

    def _read(self, descriptor: int) -> bool:
        """Take records until the input ends (True) or a signal comes (False)."""
        waiting: list[bytes] = []
        rest, due = b"", 0.0
        with stop_signals() as woken:
            while True:
                pause = max(due - time.monotonic(), 0.0) if waiting else None
                ready, _, _ = select.select([descriptor, woken], [], [], pause)
                if woken in ready:
                    self._round(waiting)
                    return False
                if descriptor in ready:
                    data = os.read(descriptor, _PIECE)
                    if not data:
                        stopped, _, _ = select.select([woken], [], [], _GRACE)  # what stops both comes to both
                        if not stopped:
                            break
                        continue
                    *lines, rest = (rest + data).split(b"\n")
                    waiting += self._fresh(lines)
                    if len(rest) > _LONGEST:
                        self._rounds(waiting)
                        raise InputError(f"input: a record is longer than {_LONGEST:,} bytes; is it of another format?")
                if waiting and (time.monotonic() >= due or len(waiting) >= _MOST):
                    begun = time.monotonic()
                    self._rounds(waiting)
                    now = time.monotonic()
                    due = now + max(self._job.commit, _SHARE * (now - begun))
        self._round(waiting)
        if rest.strip():
            raise InputError(
                "input: its last record has no line end, so it may have been cut, and was not taken; give the input "
                "again, with a line end after each record"
            )
        if self._skip:
            raise InputError(
                f"input: it ends before the {self._state.taken:,} records that this stream was given; give it again "
                "from its beginning, or say with --after how many records are left out"
            )
        return True

    def _fresh(self, lines: list[bytes]) -> list[bytes]:
        """Records that no checkpoint knows of yet: those before are compared and skipped."""
        lines = [line for line in lines if line.strip()]
        if lines and self._lines.needs_header:
            head = lines.pop(0)
            self._lines.header(head)
            self._skipped = self._chain("", head)
            if not self._state.taken:
                self._state = replace(self._state, chained=self._skipped)
        if not self._skip:
            return lines
        known, lines = lines[: self._skip], lines[self._skip :]
        self._skip -= len(known)
        for line in known:
            self._skipped = self._chain(self._skipped, line)
        if not self._skip and not self._job.after and self._skipped != self._state.chained:
            raise RefusedError(
                "input: its first records are not those that this stream was given before; give the same input again, "
                "from its beginning"
            )
        return lines

    def _chain(self, before: str, line: bytes) -> str:
        return hashlib.blake2b(before.encode() + line.rstrip(b"\r"), key=self._key, digest_size=16).hexdigest()

    def _arrange(self, lines: list[bytes]) -> _Round:
        """Read records up to the first that is at fault, by the declared rules."""
        state = self._state
        events: list[Event] = []
        places: list[int] = []
        last: dict[str, int] = {}
        dropped = dict(state.dropped)
        chained, clock, failure, taken = state.chained, state.clock, None, 0
        self._lines.clock.kind = clock
        for line in lines:
            number = state.taken + taken + 1
            try:
                event = self._lines.event(line, number)
                before = last.get(event.key, state.last.get(event.key))
                rule = self._broken(event.tick, before, number)
            except ReticentError as error:
                failure = error
                break
            clock, chained = self._lines.clock.kind, self._chain(chained, line)
            if rule is None:
                events.append(event)
                places.append(taken)
                last[event.key] = event.tick
            else:
                dropped[rule] = dropped.get(rule, 0) + 1
            taken += 1
        self._lines.clock.kind = clock
        return _Round(events, places, last, chained, clock, dropped, taken, failure)

    def _broken(self, tick: int, before: int | None, number: int) -> str | None:
        """The rule by which a record is left out, if it is."""
        if before is None or tick > before:
            return None
        rule, what = ("late", "lies before") if tick < before else ("duplicates", "has the time of")
        choice = self._job.late if rule == "late" else self._job.duplicates
        if choice == "error":
            other = "drop" if rule == "late" else "first"
            raise InputError(
                f"time: record {number:,} {what} the one before it of its series; correct the input, or leave such "
                f"records out with --{rule} {other}"
            )
        return rule

    # --- output ------------------------------------------------------------------------------------------------------

    def _rounds(self, lines: list[bytes]) -> None:
        while lines:
            self._round(lines[:_MOST])
            del lines[:_MOST]

    def _round(self, lines: list[bytes]) -> None:
        """Take some records: charge, commit, emit; then complain of the first that is at fault."""
        if not lines:
            return
        taken = self._arrange(lines)
        try:
            released = self._verb.take(taken.events)
        except ReticentError:
            taken, released = self._up_to_fault(lines, taken)
        fresh = [key for key in taken.last if key not in self._state.last]
        self._charge(fresh)
        self._state = replace(
            self._state,
            taken=self._state.taken + taken.taken,
            chained=taken.chained,
            clock=taken.clock,
            delimiter=self._lines.delimiter or "",
            dropped=taken.dropped,
            last={**self._state.last, **taken.last},
        )
        self._commit_released(released)
        if taken.failure is not None:
            raise taken.failure

    def _up_to_fault(self, lines: list[bytes], taken: _Round) -> tuple[_Round, list[Event]]:
        """The round up to the first record that the verb refuses; such a verb has no state."""
        for place, event in zip(taken.lines, taken.events, strict=True):
            try:
                self._verb.take([event])
            except ReticentError as error:
                failure = InputError(f"record {self._state.taken + place + 1:,}: {error}")
                shorter = self._arrange(lines[:place])._replace(failure=failure)
                return shorter, self._verb.take(shorter.events)
        raise AssertionError("the records were refused together, and none by itself")

    def _charge(self, keys: list[str]) -> None:
        """Spend what further series cost, before anything of them is emitted; asked again it costs no more."""
        if self._job.ledger is None or not keys:
            return
        names = map(name_of, keys)
        ids = [name[0] if len(name) == 1 else name for name in names]
        event = Charged.of(
            step_of_release(self._verb.action, self._verb.parameters()),
            dataset=self._job.dataset,
            columns=self._job.columns.value,
            coverage=Coverage.of(ids),
            stream=self._state.stream,
        )
        self._job.ledger.charge(event, job=f"stream {self._state.stream}")

    def _commit_released(self, released: list[Event], ended: bool = False) -> None:
        state = self._state
        before = len(state.pending.encode())
        rows = dict(state.rows)
        for event in released:
            rows[event.key] = rows.get(event.key, 0) + 1
        sent = state.sent + state.pending_records
        numbered = self._job.output is None
        pending = self._lines.text(released, sent + 1 if numbered else None)
        if not numbered and not state.written + before:
            pending = self._lines.head(False) + pending
        self._output.sync()  # what the last checkpoint would have emitted again
        self._state = self._store.write(
            replace(
                state,
                written=state.written + before,
                digest=self._output.digest,
                sent=sent,
                pending=pending,
                pending_records=len(released),
                rows=rows,
                series=self._verb.save(),
                ended=ended,
                source="" if ended else state.source,
            )
        )
        self._output.emit(pending, self._lines.head(True))

    def _account(self, ended: bool) -> Followed:
        """Certificate and report; of a stream that has ended, the last thing that is done."""
        from reticent.reports import public_report

        job, state = self._job, self._state
        outputs = Outputs(job.checkpoint if job.output is None else job.output)
        columns = job.columns
        named = {"id": list(columns.id), "time": columns.time, "value": list(columns.value), "kept": list(columns.keep)}
        facts: dict[str, Any] = {
            "columns": {**named, "added": []},
            "rows": sum(state.rows.values()),
            "series": len(state.rows),
            "longest": max(state.rows.values(), default=0),
            "format": job.format,
        }
        self._output.sync()
        if job.output is not None:
            words = dict.fromkeys((*columns.id, columns.time, *columns.keep), "words")
            kinds = words | dict(zip(columns.value, self._verb.kinds(), strict=True))
            facts |= {"sha256": self._output.digest, "kinds": kinds}
            facts |= {"delimiter": state.delimiter or ","} if job.format == "csv" else {}
        parameters = {**self._verb.parameters(), "duplicates": job.duplicates, "late": job.late}
        if not ended and self._verb.action == "switch":
            parameters["continued"] = {"stream": state.stream, "run": state.runs, "finished": False}
        certificate = Certificate.issue(self._verb.action, parameters, facts, bool(state.parameters["seeded"]))
        if job.sign is not None:
            certificate = certificate.signed(job.sign)
        write_whole(outputs.report, public_report(certificate))
        write_whole(outputs.certificate, certificate.to_json())
        if ended:
            self._state = self._store.write(replace(state, finished=True, pending="", pending_records=0, last={}))
        released = state.sent + state.pending_records
        return Followed(state.taken, released, state.dropped, ended, certificate, outputs)
