"""Release time series truthfully, with a privacy guarantee that is checked exactly.

The public names, nothing else. Each is loaded from its room when it is first used, so that ``import reticent`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reticent._version import __version__

if TYPE_CHECKING:
    from reticent import attacks, datasets, information, tables
    from reticent.accounting import Budget, Event, Ledger, compose, pipeline
    from reticent.certificates import Certificate
    from reticent.guarantees import NoiselessGuarantee, PufferfishGuarantee, TemporalGuarantee
    from reticent.markov import MarkovChain
    from reticent.quantization import AggregateQuantization, LinearQuantizer, LocalQuantization, Quantizer, levels_for
    from reticent.randomness import secure_source, seeded_source
    from reticent.redaction import (
        RedactionPolicy,
        data_independent_bound,
        markov_quilt,
        max_influence,
        optimal_policy,
        pointwise_influence,
        quilt_influence,
        regions,
        sequential_redaction,
        three_region,
    )
    from reticent.switching import Costs, FootruleSwitch, MallowsSwitch, RanSwitch, StaSwitch

_ROOMS = {
    "accounting": (
        "Budget",
        "Event",
        "Ledger",
        "compose",
        "pipeline",
    ),
    "certificates": ("Certificate",),
    "guarantees": (
        "NoiselessGuarantee",
        "PufferfishGuarantee",
        "TemporalGuarantee",
    ),
    "markov": ("MarkovChain",),
    "quantization": (
        "AggregateQuantization",
        "LinearQuantizer",
        "LocalQuantization",
        "Quantizer",
        "levels_for",
    ),
    "randomness": (
        "secure_source",
        "seeded_source",
    ),
    "redaction": (
        "RedactionPolicy",
        "data_independent_bound",
        "markov_quilt",
        "max_influence",
        "optimal_policy",
        "pointwise_influence",
        "quilt_influence",
        "regions",
        "sequential_redaction",
        "three_region",
    ),
    "switching": (
        "Costs",
        "FootruleSwitch",
        "MallowsSwitch",
        "RanSwitch",
        "StaSwitch",
    ),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
_PACKAGES = ("attacks", "datasets", "information", "tables")

__all__ = [
    "AggregateQuantization",
    "Budget",
    "Certificate",
    "Costs",
    "Event",
    "FootruleSwitch",
    "Ledger",
    "LinearQuantizer",
    "LocalQuantization",
    "MallowsSwitch",
    "MarkovChain",
    "NoiselessGuarantee",
    "PufferfishGuarantee",
    "Quantizer",
    "RanSwitch",
    "RedactionPolicy",
    "StaSwitch",
    "TemporalGuarantee",
    "__version__",
    "attacks",
    "compose",
    "data_independent_bound",
    "datasets",
    "information",
    "levels_for",
    "markov_quilt",
    "max_influence",
    "optimal_policy",
    "pipeline",
    "pointwise_influence",
    "quilt_influence",
    "regions",
    "secure_source",
    "seeded_source",
    "sequential_redaction",
    "tables",
    "three_region",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"reticent.{name}")
    if name in _HOMES:
        return getattr(import_module(f"reticent.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'reticent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
