"""What happened: mechanisms in the order in which they were applied, and the data that they were applied to.

An event says nothing of its cost; the accountants compute that in the unit of a budget.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from reticent.accounting.budgets import Budget
from reticent.accounting.composition import coordinates, kind_of, pipeline
from reticent.accounting.coverage import ALWAYS, Coverage, Geometry
from reticent.claims import redaction_from_dict, redaction_of, switch_of
from reticent.errors import ArgumentError, LedgerError
from reticent.guarantees import Guarantee
from reticent.quantization import AggregateQuantization, LocalQuantization, Quantizer, VectorQuantization
from reticent.redaction import RedactionPolicy
from reticent.switching import Switch, switch_from_dict

Step: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Redaction:
    """The mechanisms of one redaction of a table, one a geometry, each with its chain as of its first record.

    Parameters
    ----------
    mechanisms : tuple of redaction mechanisms
    step : int
        Ticks between neighbouring records.
    cells : mapping, optional
        The quantiser that the values passed first, as plain values: its symbols are the states.
    """

    mechanisms: tuple[Any, ...]
    step: int = 1
    cells: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Event:
    """One release, or one spend.

    Parameters
    ----------
    steps : tuple of dict
        As `Event.of` writes them.
    coverage : Coverage
        Series and stretches of time.
    dataset : str
        The data set that the curator names: equal series and times under two names are taken as different data.
    columns : tuple of str
        Value columns.
    cuts : bool
        A switched piece between public cuts.
    stream : str
        Name of the stream that it goes on with: all its releases together are one.
    """

    steps: tuple[Step, ...]
    coverage: Coverage
    dataset: str = ""
    columns: tuple[str, ...] = ()
    cuts: bool = False
    stream: str = ""

    @classmethod
    def of(
        cls,
        *steps: Any,
        dataset: str = "",
        columns: Sequence[str] = (),
        series: Iterable[Any] | None = None,
        stretch: tuple[int, int] | None = None,
        coverage: Coverage | None = None,
        cuts: bool = False,
        stream: str = "",
    ) -> Event:
        """An event of mechanisms (in order), of a bare guarantee, or of a `Budget` that was spent.

        Parameters
        ----------
        *steps
            One; or several, of which only the last one's output is handed out.
        dataset, columns, cuts, stream
            As for the class.
        series : iterable of identifiers, optional
            All series of the data set, if absent.
        stretch : (int, int), optional
            First and last tick; the whole of each series, if absent.
        coverage : Coverage, optional
            Instead of series and stretch.

        Raises
        ------
        ArgumentError, RefusedError
            Something that is no mechanism; a pipeline without a joint claim.
        """
        if not steps:
            raise ArgumentError("steps: give a mechanism, a guarantee or a spend")
        if coverage is None:
            geometry = Geometry(*(_stretch(stretch) or _natural_stretch(steps[-1])))
            coverage = Coverage.everything(geometry) if series is None else Coverage.of(series, geometry)
        event = cls(tuple(map(step_of, steps)), coverage, str(dataset), tuple(columns), cuts, stream)
        event.claims  # noqa: B018  an unknown pipeline is refused here
        return event

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        """The steps as objects: mechanisms, `Redaction`, or `Budget`."""
        return tuple(_part(canonical(step)) for step in self.steps)

    @cached_property
    def claims(self) -> frozenset[str]:
        """The kinds of guarantee that the release carries."""
        return _claims(canonical(list(self.steps)))

    @cached_property
    def digest(self) -> str:
        """Equal for equal events on equal data."""
        return hashlib.sha256(canonical({**self.to_dict(), "coverage": self.coverage.digest}).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """All but the coverage, as plain values."""
        return {
            "steps": list(self.steps),
            "dataset": self.dataset,
            "columns": list(self.columns),
            "cuts": self.cuts,
            **({"stream": self.stream} if self.stream else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], coverage: Coverage) -> Event:
        """The event that `to_dict` wrote."""
        stream = data.get("stream", "")
        return cls(tuple(data["steps"]), coverage, data["dataset"], tuple(data["columns"]), data["cuts"], stream)

    def describe(self) -> str:
        """The steps in a few words."""
        return describe(self.steps)


def describe(steps: Sequence[Step]) -> str:
    """Steps in a few words."""
    return ", then ".join(_words(step) for step in steps)


def canonical(value: Any) -> str:
    """JSON text that is equal for equal values."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def step_of(part: Any) -> Step:
    """A mechanism, guarantee or spend as plain values; a step that is plain values already is taken as it is."""
    match part:
        case dict():
            return part
        case Budget():
            return {"spend": part.to_dict()}
        case Guarantee():
            return {"spend": Budget.of(part).to_dict()}
        case Switch():
            return {"switch": part.to_dict(), "own": Budget.of(part.guarantee).to_dict()}
        case Quantizer():
            return {"quantize": [LocalQuantization.of(part).to_dict()]}
        case LocalQuantization():
            return {"quantize": [part.to_dict()]}
        case VectorQuantization():
            return {"quantize": [each.to_dict() for each in part.coordinates]}
        case AggregateQuantization():
            return {"aggregate": str(part.guarantee.outputs)}
        case Redaction():
            return _redact_step(part)
    if kind_of(part) == "pufferfish":
        return step_of(Redaction((part,)))
    raise ArgumentError(f"steps: {type(part).__name__} cannot be charged; give a mechanism, a guarantee or a spend")


def step_of_release(action: str, parameters: Mapping[str, Any]) -> Step:
    """The step of a release of a table, from the public parameters of its certificate."""
    match action:
        case "switch":
            return step_of(switch_of(parameters))
        case "redact":
            mechanisms = (redaction_from_dict(each, parameters["chains"]) for each in parameters["mechanisms"])
            return step_of(Redaction(tuple(mechanisms), parameters["every"]["step"], parameters["quantizer"]))
    if "aggregate" in parameters:
        return step_of(AggregateQuantization.from_dict(parameters["aggregate"]))
    return {"quantize": list(parameters["coordinates"])}


@lru_cache(maxsize=4096)
def _part(text: str) -> Any:
    step = json.loads(text)
    try:
        if "spend" in step:
            return Budget.from_dict(step["spend"])
        if "switch" in step:
            return switch_from_dict(step["switch"])
        if "quantize" in step:
            return VectorQuantization([LocalQuantization.from_dict(each) for each in step["quantize"]])
        if "aggregate" in step:
            return Budget.noiseless(int(step["aggregate"]))
        return _redaction(step)
    except (KeyError, TypeError):
        raise LedgerError(
            "ledger: it holds a mechanism that this version does not know; use the version that charged it"
        ) from None


def _redact_step(part: Redaction) -> Step:
    """Each chain is written once, whatever the phases that it is used at."""
    chains: dict[str, int] = {}
    mechanisms = []
    for each in part.mechanisms:
        body = each.to_dict()
        own = []
        for chain in body.pop("chains"):
            text = canonical({**chain, "phase": 0})
            own.append([chains.setdefault(text, len(chains)), chain["phase"]])
        mechanisms.append({**body, "chains": own})
    cells = {} if part.cells is None else {"cells": part.cells}
    return {"redact": mechanisms, "chains": [json.loads(text) for text in chains], "step": part.step, **cells}


def _redaction(step: Step) -> Redaction:
    mechanisms = []
    for each in step["redact"]:
        chains = [{**step["chains"][index], "phase": phase} for index, phase in each["chains"]]
        mechanisms.append(redaction_of({**each, "chains": chains}))
    return Redaction(tuple(mechanisms), step["step"], step.get("cells"))


@lru_cache(maxsize=4096)
def _claims(text: str) -> frozenset[str]:
    parts = [_part(canonical(step)) for step in json.loads(text)]
    if len(parts) == 1:
        part = parts[0]
        if isinstance(part, Budget):
            return frozenset({part.kind})
        return frozenset({"pufferfish" if isinstance(part, Redaction) else kind_of(part)})
    if any(isinstance(part, Budget) for part in parts):
        raise ArgumentError("steps: a pipeline is made of mechanisms; a guarantee does not say what was done")
    choices = [part.mechanisms if isinstance(part, Redaction) else (_single(part),) for part in parts]
    return frozenset.intersection(
        *(frozenset(each.kind for each in pipeline(*steps)) for steps in itertools.product(*choices))
    )


def _single(part: Any) -> Any:
    """A quantisation of one column as such: what follows a pipeline depends on there being one."""
    cells = coordinates(part) if isinstance(part, VectorQuantization) else None
    return part.coordinates[0] if cells and len(cells) == 1 else part


def _stretch(stretch: tuple[int, int] | None) -> tuple[int, int] | None:
    if stretch is not None and not ALWAYS[0] <= stretch[0] <= stretch[1] <= ALWAYS[1]:
        raise ArgumentError("stretch: give the first and the last tick, first not after last")
    return stretch


def _natural_stretch(step: Any) -> tuple[int, int]:
    """Of a redaction that says no more: its records, counted from zero."""
    n = getattr(step, "n", None)
    return (0, n - 1) if n is not None and kind_of(step) == "pufferfish" else ALWAYS


def _words(step: Step) -> str:
    if "spend" in step:
        return f"spend of {Budget.from_dict(step['spend'])}"
    if "switch" in step:
        return f"switch ({step['switch']['mechanism']}, {Budget.from_dict(step['own'])})"
    if "quantize" in step:
        return f"quantisation ({', '.join(str(each['outputs']) for each in step['quantize'])} outputs a reading)"
    if "aggregate" in step:
        return f"aggregation ({step['aggregate']} outputs as one individual varies)"
    kinds = sorted({each["mechanism"] for each in step["redact"]})
    return f"redaction ({', '.join(kinds)}; {len(step['redact'])} geometries)"


def once_name(event: Event) -> str | None:
    """A sequential redaction is drawn once: asked for again, it is the same request."""
    sequential = any(
        not isinstance(each, RedactionPolicy)
        for part in event.parts
        if isinstance(part, Redaction)
        for each in part.mechanisms
    )
    return f"once {event.digest}" if sequential else None
