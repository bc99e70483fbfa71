"""Release time series truthfully, with a privacy guarantee that is checked exactly."""

from reticent._version import __version__
from reticent.guarantees import NoiselessGuarantee, PufferfishGuarantee, TemporalGuarantee
from reticent.markov import MarkovChain
from reticent.randomness import secure_source, seeded_source

__all__ = [
    "MarkovChain",
    "NoiselessGuarantee",
    "PufferfishGuarantee",
    "TemporalGuarantee",
    "__version__",
    "secure_source",
    "seeded_source",
]
