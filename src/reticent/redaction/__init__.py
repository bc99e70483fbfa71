"""Withhold records: influence, exact leakage, and the policies that keep their promise."""

from reticent.redaction.influence import (
    binary_delta_star,
    binary_influence,
    delta_star,
    max_influence,
    pointwise_influence,
    quilt_influence,
    regions,
)
from reticent.redaction.markov_quilt import (
    data_independent_bound,
    markov_quilt,
    necessary_epsilon,
    published_quilt_utility,
)
from reticent.redaction.optimal import optimal_policy
from reticent.redaction.policy import RedactionPolicy
from reticent.redaction.record import RecordPolicy
from reticent.redaction.release import redact_batch
from reticent.redaction.sequential import SequentialRedaction, sequential_redaction
from reticent.redaction.three_region import published_utility, three_region, three_region_gain

__all__ = [
    "RecordPolicy",
    "RedactionPolicy",
    "SequentialRedaction",
    "binary_delta_star",
    "binary_influence",
    "data_independent_bound",
    "delta_star",
    "markov_quilt",
    "max_influence",
    "necessary_epsilon",
    "optimal_policy",
    "pointwise_influence",
    "published_quilt_utility",
    "published_utility",
    "quilt_influence",
    "redact_batch",
    "regions",
    "sequential_redaction",
    "three_region",
    "three_region_gain",
]
