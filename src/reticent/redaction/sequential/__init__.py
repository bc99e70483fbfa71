"""The optimal sequential redaction: one curator, one draw, perfect privacy at ε = 0."""

from reticent.redaction.sequential.mechanism import SequentialRedaction
from reticent.redaction.sequential.plan import sequential_redaction

__all__ = ["SequentialRedaction", "sequential_redaction"]
