"""Coarsen values: noiseless privacy, with exact cells (paper: noiseless privacy; see each docstring)."""

from reticent.quantization.local import LocalQuantization, VectorQuantization
from reticent.quantization.quantizers import LinearQuantizer, Quantizer, levels_for

__all__ = ["LinearQuantizer", "LocalQuantization", "Quantizer", "VectorQuantization", "levels_for"]
