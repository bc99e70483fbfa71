"""Slow, obvious twins of what the package computes fast."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

Law = dict[tuple[int, ...], float]


def law_of(switch, n: int) -> Law:
    """Probability of every permutation of n instants, from `log_probability`."""
    return {order: math.exp(switch.log_probability(order)) for order in itertools.permutations(range(n))}


def exchanged(order: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    """The same release with the labels i and j exchanged."""
    return tuple(j if value == i else i if value == j else value for value in order)


def delta_of_pair(law: Law, i: int, j: int, epsilon: float) -> float:
    """Σ max(0, Pr(σ) - e^ε·Pr(τσ)) for the exchange τ of i and j."""
    return sum(max(0.0, p - math.exp(epsilon) * law[exchanged(order, i, j)]) for order, p in law.items())


def exact_delta(law: Law, n: int, window: int, epsilon: float) -> float:
    """δ(ε) of a law of permutations, the largest over neighbours."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + window))]
    return max((delta_of_pair(law, i, j, epsilon) for i, j in pairs), default=0.0)


def largest_ratio(law: Law, n: int, window: int) -> float:
    """The largest finite |log ratio| between neighbours (nats)."""
    worst = 0.0
    for i in range(n):
        for j in range(i + 1, min(n, i + window)):
            for order, p in law.items():
                other = law[exchanged(order, i, j)]
                if p > 0 and other > 0:
                    worst = max(worst, math.log(p / other))
    return worst


def mallows_law(n: int, phi: float, reach: int) -> Law:
    """φ^r over the next `reach` waiting values, oldest first, by definition."""
    law = {}
    for order in itertools.permutations(range(n)):
        waiting, p = list(range(n)), 1.0
        for value in order:
            near = waiting[:reach]
            weights = [phi**r for r in range(len(near))]
            p *= weights[near.index(value)] / sum(weights) if value in near else 0.0
            waiting.remove(value)
        law[order] = p
    return law


def chi_square(draw: Callable[[int], np.ndarray], law: Law, draws: int) -> float:
    """p-value of the drawn permutations against a law; a permutation outside its support fails at once."""
    orders = [order for order, p in law.items() if p > 0]
    index = {order: i for i, order in enumerate(orders)}
    counts = np.zeros(len(orders))
    for row in draw(draws):
        counts[index[tuple(row.tolist())]] += 1
    expected = np.array([law[order] for order in orders]) * draws
    few = expected < 5
    if few.any():
        counts = np.append(counts[~few], counts[few].sum())
        expected = np.append(expected[~few], expected[few].sum())
    return float(stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue)


def choices_law(n: int, window: int, weigh: Callable[[int, int, int], float]) -> Law:
    """Law of exchanging instant t with t+m, over all sequences of choices; `weigh(t, m, delay)` is Pr(m)."""
    law = dict.fromkeys(itertools.permutations(range(n)), 0.0)

    def branch(t: int, content: tuple[int, ...], p: float) -> None:
        if t == n:
            law[content] += p
            return
        for m in range(min(window, n - t)):
            q = weigh(t, m, t - content[t])
            if q > 0:
                after = list(content)
                after[t], after[t + m] = after[t + m], after[t]
                branch(t + 1, tuple(after), p * q)

    branch(0, tuple(range(n)), 1.0)
    return law


def ran_law(n: int, window: int, epsilon: float) -> Law:
    q = 1 / (math.exp(epsilon) + window - 1)
    p = 1 - (window - 1) * q

    def weigh(t: int, m: int, delay: int) -> float:
        return (q if m else p) / (p + (min(window, n - t) - 1) * q)

    return choices_law(n, window, weigh)


def footrule_law(n: int, alpha: float, phi: float) -> Law:
    """e^{α·cycles}·φ^{footrule}, normalised over all permutations."""
    weights = {}
    for order in itertools.permutations(range(n)):
        seen: set[int] = set()
        cycles = 0
        for start in range(n):
            cycles += start not in seen
            while start not in seen:
                seen.add(start)
                start = order[start]
        weights[order] = math.exp(alpha * cycles) * phi ** sum(abs(t - x) for t, x in enumerate(order))
    total = sum(weights.values())
    return {order: weight / total for order, weight in weights.items()}


def sta_law(n: int, window: int, log_ratio: float) -> Law:
    q = 1 / (math.exp(log_ratio) + window - 1)

    def weigh(t: int, m: int, delay: int) -> float:
        reach = min(window - 1 - delay, n - t - 1)
        return 0.0 if m > reach else q if m else 1 - reach * q

    return choices_law(n, window, weigh)
