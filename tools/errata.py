"""The numbers of the documentation's page on the papers' errors, computed with the library while the page is built.

A page says ``{{ expression = shown }}``. The expression is evaluated with the names of this module; where its value,
rounded to the digits that are shown, is not what is shown, the build fails.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import reticent as rt
from reticent.information import estimation_error_bound, leakage, zero_error_capacity
from reticent.quantization import LinearQuantizer, levels_for
from reticent.redaction import RedactionPolicy, binary_influence, delta_star, max_influence, three_region_gain

FIELD = re.compile(r"\{\{ (.+?) = (\S+) \}\}")


def filled(page: str) -> str:
    """The page with each field replaced by its number.

    Raises
    ------
    ValueError
        A number that is not the one that is shown, or a field that is not of this form.
    """
    text = FIELD.sub(lambda match: checked(match[1], match[2]), page)
    if "{{" in text:
        raise ValueError("a field is not of the form {{ expression = shown }}")
    return text


def checked(expression: str, shown: str) -> str:
    """What is shown, if the expression comes out so."""
    value = evaluated(ast.parse(expression, mode="eval").body)
    if isinstance(value, str):
        found = value
    else:
        exact = Decimal(value.numerator) / value.denominator if isinstance(value, Fraction) else Decimal(float(value))
        found = str(exact.quantize(Decimal(shown.replace("−", "-")), ROUND_HALF_EVEN)).replace("-", "−")
    if found != shown:
        raise ValueError(f"{expression} is {found}, and {shown} is shown")
    return shown


def evaluated(node: ast.expr) -> Any:
    """A call of a function of this module with numbers, or a difference or quotient of such."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        return FUNCTIONS[node.func.id](*(evaluated(each) for each in node.args))
    raise ValueError(f"{ast.unparse(node)} is no call of a function of errata.py with numbers")


def published(alpha: float, beta: float, n: int, epsilon: float) -> RedactionPolicy:
    """The three-region mechanism as printed, first record private."""
    return rt.three_region(rt.MarkovChain.binary(alpha, beta), n, 0, epsilon, variant="published")


def true_leakage(alpha: float, beta: float, n: int, epsilon: float) -> float:
    """What the published mechanism leaks, in nats."""
    return published(alpha, beta, n, epsilon).leakage()


def by_hand(alpha: float, beta: float, epsilon: float, secret: int) -> float:
    """Pr(⊥, ⊥, 1 | first record) of the published mechanism on three records, written out."""
    r = published(alpha, beta, 3, epsilon).probabilities[1]
    stay, change = (1 - beta, beta) if secret else (1 - alpha, alpha)
    to_one = {0: alpha, 1: 1 - beta}
    if secret:
        return float(change * r[0] * to_one[0] + stay * r[1] * to_one[1])
    return float(stay * r[0] * to_one[0] + change * r[1] * to_one[1])


def log_ratio(alpha: float, beta: float, epsilon: float) -> float:
    """ln of the ratio of the two, which the paper says is at most ε."""
    return math.log(by_hand(alpha, beta, epsilon, 1) / by_hand(alpha, beta, epsilon, 0))


def example_withheld(variant: str) -> float:
    """Example 1: the probability that the value 0 of the second record is withheld."""
    policy = rt.three_region(rt.MarkovChain.binary(0.25, 0.5), 2, 0, 0.5, variant=variant)
    return float(policy.probabilities[1, 0])


def example_utility() -> float:
    """Example 1: the expected share of released records of the sound mechanism."""
    return rt.three_region(rt.MarkovChain.binary(0.25, 0.5), 2, 0, 0.5).utility()


def printed_reach(alpha: float, beta: float, epsilon: float) -> int:
    """Δ⋆ by the printed formula."""
    share = math.expm1(epsilon) / (beta / alpha * math.exp(epsilon) + 1)
    return math.ceil(math.log(share) / math.log(1 - alpha - beta))


def reach(alpha: float, beta: float, epsilon: float) -> float:
    """Δ⋆ by search."""
    return delta_star(rt.MarkovChain.binary(alpha, beta), epsilon, 10_000)


def influence(alpha: float, beta: float, distance: int, value: int) -> float:
    """Pointwise influence on a value, in nats."""
    return float(binary_influence(alpha, beta, distance)[value])


def largest_influence(alpha: float, beta: float, distance: int) -> float:
    """Max-influence, in nats."""
    return max_influence(rt.MarkovChain.binary(alpha, beta), distance)


def released_by_quilt(variant: str, alpha: float, beta: float, n: int, private: int, epsilon: float) -> float:
    """Records that the window releases."""
    return n * rt.markov_quilt(rt.MarkovChain.binary(alpha, beta), n, private, epsilon, variant=variant).utility()


def quilt_leakage(alpha: float, beta: float, n: int, private: int, epsilon: float) -> float:
    """What that window leaks, in nats."""
    return rt.markov_quilt(rt.MarkovChain.binary(alpha, beta), n, private, epsilon).leakage()


def bound_of_theorem_2(variant: str, alpha: float, beta: float, n: int, private: int, epsilon: float) -> float:
    """Records that no window can exceed, by Theorem 2."""
    chain = rt.MarkovChain.binary(alpha, beta)
    return n * rt.data_independent_bound(chain, n, private, epsilon, variant=variant)


def second_factor(epsilon: float) -> float:
    """1 − exp(−ε/|R_M|) for |R_M| = 3, from the gain of the three-region mechanism."""
    return three_region_gain(0.01, 0.8, 10, epsilon, 3) / (3 / (10 * (1 + 0.01 / 0.8)))


def switch_q() -> float:
    """The paper's q at k = 10, ε = 2, which it takes for δ."""
    return rt.RanSwitch.published(10, 2.0).q


def switch_epsilon() -> float:
    """ln(p/q) of that mechanism."""
    return rt.RanSwitch.published(10, 2.0).guarantee.epsilon


def switch_delta() -> float:
    """Its true δ, 1 − (1 − q)^(k−1)."""
    return rt.RanSwitch.published(10, 2.0).guarantee.delta


def geometric_total() -> float:
    """What the law of the displacement sums to if it were geometric beyond k − 1."""
    switch = rt.RanSwitch.published(10, 2.0)
    k, p, q = 10, switch.p, switch.q
    early = float((q * (1 - q) ** np.arange(k - 1)).sum())
    return early + p * (1 - q) ** (k - 1) + (1 - q) ** k  # the last is Σ_{j ≥ 1} q(1 − q)^{k−1+j}


def levels_of_the_paper() -> Fraction:
    """Theorem 8 for the mean of four readings in [0, 10] at one bit."""
    return 2 * 10 / Fraction(10, 4)


def cells_reached(levels: int) -> int:
    """Cells that one of the four can move the mean through."""
    return LinearQuantizer(0, 10, levels).cells_met("2.5")


def sound_levels() -> int:
    """The largest number of levels at which one individual meets two cells at most."""
    return levels_for("2.5", 0, 10, bits=1)


def least_error(power: int) -> float:
    """The least E|X − X̂|^p for one cell, X uniform on [0, 1]."""
    return estimation_error_bound(1.0, 1.0, outputs=1, power=power)


def printed_error(power: int) -> float:
    """The paper's constant."""
    return 2.0 ** -(power + 2)


def capacity_example(measure: str) -> float:
    """Of the relation [[0, 1], [1, 1], [1, 0]], in bits."""
    relation = np.array([[0, 1], [1, 1], [1, 0]], dtype=bool)
    if measure == "symmetrized":
        return min(leakage(relation), leakage(relation.T))
    return zero_error_capacity(relation).lower


FUNCTIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        true_leakage, by_hand, log_ratio, example_withheld, example_utility, printed_reach, reach, influence,
        largest_influence, released_by_quilt, quilt_leakage, bound_of_theorem_2, second_factor, switch_q,
        switch_epsilon, switch_delta, geometric_total, levels_of_the_paper, cells_reached, sound_levels, least_error,
        printed_error, capacity_example,
    )
}  # fmt: skip
