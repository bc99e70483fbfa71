"""Reconstruction of a hidden record from a redacted series: the posterior, the best guess, and what ε allows."""

from reticent.attacks.reconstruction.adversary import Adversary, TwiceShown, success_bound
from reticent.attacks.reconstruction.trials import (
    Case,
    estimate_chain,
    reconstruct,
    reconstruct_cases,
    redacted,
    sample_outputs,
    unprotected,
)

__all__ = [
    "Adversary",
    "Case",
    "TwiceShown",
    "estimate_chain",
    "reconstruct",
    "reconstruct_cases",
    "redacted",
    "sample_outputs",
    "success_bound",
    "unprotected",
]
