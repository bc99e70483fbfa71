"""Between a release and the ledger: which data it speaks of, what it costs, and what a request is answered with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.accounting.answers import RELEASED, Answers
from reticent.accounting.coverage import Coverage, CoverageBuilder
from reticent.accounting.events import Event, Step, canonical, step_of_release
from reticent.accounting.ledger import Charge, Ledger
from reticent.errors import ArgumentError, RefusedError
from reticent.tables.aggregating import AggregateVerb
from reticent.tables.chunks import Chunk
from reticent.tables.grid import Grid
from reticent.tables.staging import Outputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reticent.tables.pipeline import Verb


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

    def earlier(self, table: Any, sha256: Any) -> tuple[Step, ...]:
        """The steps that made the input, where it is a file that stayed in the house."""
        if self.ledger is None or not isinstance(table, str | Path) or not self.ledger.has_steps:
            return ()
        return self.ledger.step(sha256(Path(table))) or ()

    def charged(self, sha256: str) -> bool:
        """Whether a staged file was charged by a run that was then interrupted."""
        return self.ledger is not None and self.ledger.charged(sha256)

    def charge(
        self, verb: Verb, before: tuple[Step, ...], coverage: Coverage, job: str, sha256: str | None
    ) -> Charge | None:
        """Spend what a release costs, before it is handed out.

        Raises
        ------
        RefusedError
            Over the limit, or nothing is proved of the releases together.
        LedgerError
            The ledger is not as it was left, or cannot be written.
        """
        parameters = verb.parameters()
        step = step_of_release(verb.action, parameters)
        if self.ledger is None:
            if any(each["mechanism"] == "sequential_redaction" for each in step.get("redact", ())):
                raise RefusedError(
                    "ledger: a sequential redaction is drawn once for each series, which only a ledger can see to; "
                    "release it with one (without --no-ledger)"
                )
            return None
        columns = verb.records.columns.value
        event = Event.of(
            *before,
            step,
            dataset=self.dataset,
            columns=columns,
            coverage=coverage,
            cuts=parameters.get("cuts") is not None,
        )
        if self.internal:
            if sha256 is None:
                raise ArgumentError("internal: only a file can be known again as the first step of a pipeline")
            self.ledger.note_step(event, sha256)
            return None
        return self.ledger.charge(event, request=self.request, released=sha256, job=job)


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
        """Whole series of the input; of an aggregate, the individuals."""
        ticks = self._unit.ticks(chunk.table[chunk.columns.time])
        if isinstance(self._verb, AggregateVerb):
            self._individuals(chunk, ticks)
            return
        names = self._verb.released.id
        ids = _ids(chunk, names, chunk.offsets[:-1])
        self._builder.add(ids, ticks, chunk.offsets)

    def _individuals(self, chunk: Chunk, ticks: NDArray[np.int64]) -> None:
        names = chunk.columns.keep
        order = np.lexsort((ticks, *(_codes(chunk, name) for name in reversed(names))))
        present = order[np.all([_codes(chunk, name)[order] >= 0 for name in names], axis=0)]
        if not present.size:
            return
        changed = np.any([np.diff(_codes(chunk, name)[present]) != 0 for name in names], axis=0)
        starts = np.concatenate([[0], np.flatnonzero(changed) + 1])
        ids = _ids(chunk, names, present[starts])
        self._builder.add(ids, ticks[present], np.append(starts, present.size))

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


def _ids(chunk: Chunk, names: tuple[str, ...], rows: NDArray[np.int64]) -> list[Any]:
    if not names:
        return [()] * rows.size
    first = chunk.table.select(names).take(rows)
    values = [first[name].to_pylist() for name in names]
    return values[0] if len(names) == 1 else list(zip(*values, strict=True))


def parts(outputs: Outputs, folder: Path | None = None) -> dict[str, Path]:
    """The public files of a release by part, in place or in a folder."""
    paths = {RELEASED: outputs.released, "certificate": outputs.certificate, "report": outputs.report}
    return paths if folder is None else {name: folder / path.name for name, path in paths.items()}


def answers(ledger: Ledger) -> Answers:
    """The releases that are stored beside a ledger."""
    return Answers(ledger.path)
