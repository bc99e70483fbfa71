"""Measures of what a release gives away, without probabilities and with them.

Everything here is about which pairs (x, y) can occur: build a `Relation`, then measure it. Quantities are in
**bits** unless ``unit="nats"`` is asked for; ``leakage(r)`` is L(X;Y) and ``leakage(r.T)`` is L(Y;X).
"""

from __future__ import annotations

from reticent.information.nonstochastic import (
    Unit,
    conditional_entropy,
    hartley_entropy,
    information,
    leakage,
    maximin_information,
    overlap_partition,
    symmetrized_leakage,
    test_performance,
    test_performance_bound,
)
from reticent.information.relation import Relation
from reticent.information.stochastic import estimation_error_bound, maximal_leakage
from reticent.information.zero_error import (
    ZeroErrorCapacity,
    ZeroErrorCode,
    subset_leakage,
    zero_error_capacity,
    zero_error_code,
)

__all__ = [
    "Relation",
    "Unit",
    "ZeroErrorCapacity",
    "ZeroErrorCode",
    "conditional_entropy",
    "estimation_error_bound",
    "hartley_entropy",
    "information",
    "leakage",
    "maximal_leakage",
    "maximin_information",
    "overlap_partition",
    "subset_leakage",
    "symmetrized_leakage",
    "test_performance",
    "test_performance_bound",
    "zero_error_capacity",
    "zero_error_code",
]
