"""Release time series truthfully, with a privacy guarantee that is checked exactly.

The public names, nothing else. Each is loaded from its room when it is first used, so that ``import reticent`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reticent._version import __version__

if TYPE_CHECKING:
    from reticent import datasets, information, tables
    from reticent.certificates import Certificate
    from reticent.guarantees import NoiselessGuarantee, PufferfishGuarantee, TemporalGuarantee
    from reticent.markov import MarkovChain
    from reticent.quantization import LinearQuantizer, LocalQuantization, Quantizer, levels_for
    from reticent.randomness import secure_source, seeded_source
    from reticent.redaction import RedactionPolicy, markov_quilt
    from reticent.switching import Costs, MallowsSwitch

_ROOMS = {
    "certificates": ("Certificate",),
    "guarantees": ("NoiselessGuarantee", "PufferfishGuarantee", "TemporalGuarantee"),
    "markov": ("MarkovChain",),
    "quantization": ("LinearQuantizer", "LocalQuantization", "Quantizer", "levels_for"),
    "randomness": ("secure_source", "seeded_source"),
    "redaction": ("RedactionPolicy", "markov_quilt"),
    "switching": ("Costs", "MallowsSwitch"),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
_PACKAGES = ("datasets", "information", "tables")

__all__ = [
    "Certificate",
    "Costs",
    "LinearQuantizer",
    "LocalQuantization",
    "MallowsSwitch",
    "MarkovChain",
    "NoiselessGuarantee",
    "PufferfishGuarantee",
    "Quantizer",
    "RedactionPolicy",
    "TemporalGuarantee",
    "__version__",
    "datasets",
    "information",
    "levels_for",
    "markov_quilt",
    "secure_source",
    "seeded_source",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"reticent.{name}")
    if name in _HOMES:
        return getattr(import_module(f"reticent.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'reticent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
