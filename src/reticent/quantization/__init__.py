"""Coarsen values: noiseless privacy, with exact cells (paper: noiseless privacy; see each docstring)."""

from reticent.quantization.choosing import lloyd_max_quantizer, log_quantizer, sqrt_quantizer
from reticent.quantization.counting import counted_outputs
from reticent.quantization.local import LocalQuantization, VectorQuantization
from reticent.quantization.quantizers import LinearQuantizer, Quantizer, levels_for
from reticent.quantization.queries import AggregateQuantization
from reticent.quantization.rosters import Roster
from reticent.quantization.rules import PublicationRule

__all__ = [
    "AggregateQuantization",
    "LinearQuantizer",
    "LocalQuantization",
    "PublicationRule",
    "Quantizer",
    "Roster",
    "VectorQuantization",
    "counted_outputs",
    "levels_for",
    "lloyd_max_quantizer",
    "log_quantizer",
    "sqrt_quantizer",
]
