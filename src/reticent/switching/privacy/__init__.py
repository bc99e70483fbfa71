"""Temporal privacy of a law of permutations: closed forms, domination and (for what has none) replay."""

from __future__ import annotations

import math


def dominated_delta(epsilon: float, delta: float, at: float) -> float:
    """δ at a smaller ε of anything that is (epsilon, delta)-private: δ + (1-δ)(e^ε - e^at)/(1 + e^ε), rounded up.

    Every such mechanism is a post-processing of randomised response with ε that fails with probability δ (Kairouz, Oh
    and Viswanath 2017), whose curve this is. RanSwitch attains it.
    """
    if at >= epsilon:
        return delta
    if math.isinf(epsilon):
        return 1.0
    # (e^ε - e^at)/(1 + e^ε) = (1 - e^(at-ε))/(1 + e^-ε): no overflow
    share = -math.expm1(at - epsilon) / (1 + math.exp(-epsilon))
    return min(1.0, (delta + (1 - delta) * share) * (1 + 1e-14))
