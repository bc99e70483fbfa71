"""Figures in the grammar of Vega-Lite, as plain dictionaries: as much of it as the figures here need.

A chart is its specification. It is made as in Altair, which this stands in for: a mark on rows, then channels. To load
Altair takes longer than to draw all figures of a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Rows: TypeAlias = Iterable[Mapping[str, Any]]

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True)
class Chart:
    """A specification, whole or in part.

    Attributes
    ----------
    spec : dict
        Not to be changed: each method gives a new chart.
    """

    spec: dict[str, Any]

    def mark(self, kind: str, **settings: Any) -> Chart:
        """Drawn as a line, a rule, a bar, …"""
        return Chart({**self.spec, "mark": {"type": kind, **settings}})

    def encode(self, **channels: Any) -> Chart:
        """What is seen of each row: a field written as in `field`, or what `field` and `value` give."""
        said = {name: field(each) if isinstance(each, str) else each for name, each in channels.items()}
        return Chart({**self.spec, "encoding": {**self.spec.get("encoding", {}), **said}})

    def properties(self, **settings: Any) -> Chart:
        """Width, height, title, …"""
        return Chart({**self.spec, **settings})

    def filter(self, condition: str) -> Chart:
        """Only the rows for which an expression is true."""
        return Chart({**self.spec, "transform": [{"filter": condition}]})

    def facet(self, column: Mapping[str, Any]) -> Chart:
        """Side by side, once for each value of a field."""
        within = {name: each for name, each in self.spec.items() if name != "data"}
        return Chart({"data": self.spec["data"], "facet": {"column": column}, "spec": within})

    def __add__(self, other: Chart) -> Chart:
        """The other drawn over this."""
        return layer(*map(Chart, self.spec["layer"]), other) if "layer" in self.spec else layer(self, other)

    def finished(self, **config: Any) -> dict[str, Any]:
        """The whole specification, with the settings of all that it holds."""
        view = {"continuousWidth": 300, "continuousHeight": 300, **config.pop("view", {})}
        return {"$schema": _SCHEMA, "config": {"view": view, **config}, **self.spec}


def chart(rows: Rows) -> Chart:
    """A chart of rows, still without a mark."""
    return Chart({"data": {"values": [dict(row) for row in rows]}})


def field(name: str, **settings: Any) -> dict[str, Any]:
    """A field on a channel: its name and, after a colon, Q, N, O or T for its kind."""
    name, _, kind = name.partition(":")
    return {"field": name, **({"type": _TYPES[kind]} if kind else {}), **settings}


def value(given: Any) -> dict[str, Any]:
    """A channel that is the same for all rows: pixels, or a colour."""
    return {"value": given}


def layer(*charts: Chart) -> Chart:
    """Each drawn over those before it; the size is that of any that has one."""
    layers = [dict(each.spec) for each in charts]
    size: dict[str, Any] = {name: each.pop(name) for each in layers for name in ("width", "height") if name in each}
    return Chart({**size, "layer": layers})


def hconcat(*charts: Chart, **settings: Any) -> Chart:
    """Side by side."""
    return Chart({"hconcat": [each.spec for each in charts], **settings})


def vconcat(*charts: Chart, **settings: Any) -> Chart:
    """Below one another."""
    return Chart({"vconcat": [each.spec for each in charts], **settings})


def concat(*charts: Chart, **settings: Any) -> Chart:
    """In so many `columns`."""
    return Chart({"concat": [each.spec for each in charts], **settings})
