"""A dry run: the plan, the exact guarantee and the charge of a release, without drawing, writing or charging any."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reticent.accounting.lines import Charge
from reticent.certificates import Certificate
from reticent.tables.aggregating import AggregateVerb
from reticent.tables.charging import Gathering, Work
from reticent.tables.chunks import chunks
from reticent.tables.extent import Extent
from reticent.tables.pipeline import Job, Release, Verb, declared, opened
from reticent.tables.planning import with_released

if TYPE_CHECKING:
    from reticent.tables.reading import Records


def preview(job: Job, make_verb: Callable[[Records], Verb], extra: tuple[str, ...]) -> Release:
    """What `run` would do, as far as that can be known without a draw: a release without a table or files.

    Raises
    ------
    InputError, ArgumentError, RefusedError
        As the release would.
    """
    before = job.account.earlier(job.table)
    with opened(job, extra) as records:
        verb = make_verb(records)
        gathering = Gathering(verb) if job.account.ledger is not None else None
        extent = Extent()
        names: list[str] = []
        kept, look_ahead = verb.released.keep, verb.look_ahead
        for chunk in chunks(
            verb.records, duplicates=job.duplicates, extra=verb.extra, kept=kept, look_ahead=look_ahead
        ):
            table = verb.examine(chunk)
            if gathering is not None:
                gathering.add(chunk)
            extent.add(table, verb.released.id)
            names = table.column_names
        facts = _facts(verb, names) | extent.facts()
        parameters = {"duplicates": job.duplicates, **verb.parameters(), **declared(job.reading)}
        certificate = Certificate.issue(verb.action, parameters, facts, job.source.seeded)
        charge = None
        if gathering is not None and job.account.ledger is not None and not job.account.internal:
            work = Work(verb.action, verb.parameters(), records.columns.value, gathering.finish(), before, job.text)
            again, spent = job.account.ledger.quote(work.event(job.account.dataset))
            charge = Charge(0, None, False, None, again, spent)
        plan = with_released(verb.records.plan, facts, verb.records.rows, isinstance(verb, AggregateVerb))
        return Release(None, certificate, None, plan, charge)


def _facts(verb: Verb, names: list[str]) -> dict[str, Any]:
    columns = verb.released
    named = {"id": list(columns.id), "time": columns.time, "value": list(columns.value), "kept": list(columns.keep)}
    return {"columns": {**named, "added": [name for name in names if name not in columns.all]}}
