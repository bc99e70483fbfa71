"""What is done to the records of a stream as they come: for each series a bounded state that can be saved."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.quantization import VectorQuantization
from reticent.randomness import Source
from reticent.switching import Switch
from reticent.switching.mechanism import Sampler
from reticent.tables.delimited import NULLS
from reticent.tables.following.lines import Event, name_of

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EXACT_DIGITS = 15


class FollowVerb(Protocol):
    """A verb over a stream."""

    @property
    def action(self) -> str:
        """switch or quantize."""

    def take(self, events: list[Event]) -> list[Event]:
        """Records that lie in order within each series; what can be released now, in an order that does not depend on
        how the stream is cut."""

    def flush(self) -> list[Event]:
        """All that is held back."""

    def save(self) -> dict[str, Any]:
        """The state as plain values."""

    def parameters(self) -> dict[str, Any]:
        """Public parameters, as for a file."""

    def kinds(self) -> list[str]:
        """What the released columns hold, for who reads them as text."""


@dataclass
class _Series:
    """One series: the next positions (their time, and what is kept), and the unreleased values by arrival."""

    source: Source
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    arrived: int = 0
    places: deque[tuple[int, Any, list[Any]]] = field(default_factory=deque)
    values: dict[int, list[Any]] = field(default_factory=dict)


class FollowSwitch:
    """Values move within their series as in `SwitchStream`; times, and what is kept, stay where they are.

    Parameters
    ----------
    switch : Switch
        With bounded look-ahead w: record t is released once record t+w-1 of its series has come.
    asked : dict
        ε and δ.
    source : Source
        Of all series.
    state : dict
        From `save`.
    """

    action = "switch"

    def __init__(
        self, switch: Switch, asked: dict[str, Any], source: Source | None, state: dict[str, Any], columns: int = 1
    ) -> None:
        assert switch.look_ahead is not None
        self._switch, self._asked, self._source, self._columns = switch, asked, source, columns
        self._look_ahead = switch.look_ahead
        self._series: dict[str, _Series] = {}
        for key, (words, arrived, order, places, values) in state.items():
            series = self._begun(key)
            series.source.advance(words)
            series.order, series.arrived = np.array(order, dtype=np.int64), arrived
            series.places = deque((tick, time, kept) for tick, time, kept in places)
            series.values = dict(values)

    @cached_property
    def _sampler(self) -> Sampler:
        return self._switch.sampler()

    def _begun(self, key: str) -> _Series:
        assert self._source is not None
        if key not in self._series:
            name = name_of(key)
            self._series[key] = _Series(self._source.spawn(name[0] if len(name) == 1 else name))
        return self._series[key]

    def take(self, events: list[Event]) -> list[Event]:
        came: dict[str, list[int]] = {}
        for number, event in enumerate(events):
            came.setdefault(event.key, []).append(number)
        released: list[tuple[int, Event]] = []
        for key, numbers in came.items():
            series = self._begun(key)
            for number in numbers:
                event = events[number]
                series.places.append((event.tick, event.time, event.kept))
                series.values[series.arrived] = event.values
                series.arrived += 1
            fresh = np.arange(series.arrived - len(numbers), series.arrived, dtype=np.int64)
            series.order = np.concatenate([series.order, fresh])
            out = self._advance(key, series, max(0, series.order.size - self._look_ahead + 1))
            if out:  # each by the record that set it free
                released += zip(numbers[-len(out) :], out, strict=True)
        return [event for _, event in sorted(released, key=lambda each: each[0])]

    def flush(self) -> list[Event]:
        out: list[Event] = []
        for key, series in self._series.items():
            out += self._advance(key, series, series.order.size)
        self._series = {}
        return out

    def _advance(self, key: str, series: _Series, count: int) -> list[Event]:
        if not count:
            return []
        before = series.arrived - series.order.size
        order = series.order - before
        self._sampler.advance(order, 0, count, series.source)
        order += before
        series.order = order[count:].copy()
        out = []
        for origin in order[:count].tolist():
            tick, time, kept = series.places.popleft()
            out.append(Event(key, tick, time, series.values.pop(origin), kept))
        return out

    def save(self) -> dict[str, Any]:
        return {
            key: [
                series.source.position,
                series.arrived,
                series.order.tolist(),
                list(series.places),
                list(series.values.items()),
            ]
            for key, series in self._series.items()
        }

    def parameters(self) -> dict[str, Any]:
        return {"asked": self._asked, "mechanism": self._switch.to_dict(), "cuts": None}

    def kinds(self) -> list[str]:
        return ["words"] * self._columns


class FollowQuantize:
    """Each value becomes its symbol at once; nothing is held and nothing drawn."""

    action = "quantize"

    def __init__(self, mechanism: VectorQuantization, outputs: int, nulls: tuple[str, ...] = NULLS, decimal: str = "."):
        self._mechanism, self._outputs = mechanism, outputs
        self._nulls, self._decimal = frozenset(nulls), decimal

    def take(self, events: list[Event]) -> list[Event]:
        columns = [
            self._symbols(at, part.quantizer, [event.values[at] for event in events])
            for at, part in enumerate(self._mechanism.coordinates)
        ]
        return [
            event._replace(values=list(values))
            for event, values in zip(events, zip(*columns, strict=True), strict=True)
        ]

    def _symbols(self, at: int, quantizer: Any, written: list[Any]) -> list[Any]:
        codes = quantizer.encode([self._number(each) for each in written])
        return [None if code < 0 else quantizer.symbols[code] for code in np.asarray(codes).tolist()]

    def _number(self, written: Any) -> Any:
        """An exact whole number, else the nearest float, which stands for its shortest decimal."""
        if not isinstance(written, str):
            if isinstance(written, bool):
                raise InputError("value: an entry is no number; only numbers are quantised")
            return written
        text = written.strip()
        if text in self._nulls:
            return None
        text = text.replace(self._decimal, ".") if self._decimal != "." else text
        if not _NUMBER.fullmatch(text):
            raise InputError("value: an entry is no number; only numbers are quantised")
        if text.lstrip("+-").isdecimal() and len(text) > _EXACT_DIGITS:
            return Decimal(text)
        return float(text)

    def flush(self) -> list[Event]:
        return []

    def save(self) -> dict[str, Any]:
        return {}

    def parameters(self) -> dict[str, Any]:
        return {
            "asked": {"outputs": self._outputs},
            "coordinates": [part.to_dict() for part in self._mechanism.coordinates],
        }

    def kinds(self) -> list[str]:
        return [
            "words" if isinstance(part.quantizer.symbols[0], str) else "numbers" for part in self._mechanism.coordinates
        ]
