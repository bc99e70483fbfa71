"""Slow and obvious: every permutation, every series of states, every pair of outputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from reticent import MarkovChain
from reticent.redaction import RedactionPolicy
from reticent.switching import Switch


def permutation_law(switch: Switch, n: int) -> dict[tuple[int, ...], float]:
    """Probability of every order of n records."""
    law = {order: math.exp(switch.log_probability(list(order))) for order in itertools.permutations(range(n))}
    assert math.isclose(math.fsum(law.values()), 1.0, rel_tol=1e-9)
    return law


def exchanged(order: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    return tuple(j if v == i else i if v == j else v for v in order)


def joint_delta(laws: list[dict[tuple[int, ...], float]], epsilon: float, window: int) -> float:
    """δ of independent releases of one series of distinct values: all joint outputs, the worst pair of instants."""
    n = len(next(iter(laws[0])))
    worst = 0.0
    for i, j in itertools.combinations(range(n), 2):
        if j - i >= window:
            continue
        pairs = [[(p, law[exchanged(order, i, j)]) for order, p in law.items()] for law in laws]
        total = 0.0
        for outcome in itertools.product(*pairs):
            here, there = math.prod(p for p, _ in outcome), math.prod(q for _, q in outcome)
            total += max(0.0, here - math.exp(epsilon) * there)
        worst = max(worst, total)
    return worst


def joint_epsilon(laws: list[dict[tuple[int, ...], float]], window: int) -> float:
    """The largest log ratio of joint outputs."""
    n = len(next(iter(laws[0])))
    worst = 0.0
    for i, j in itertools.combinations(range(n), 2):
        if j - i < window:
            worst = max(
                worst,
                math.fsum(
                    max(math.log(p) - math.log(law[exchanged(order, i, j)]) for order, p in law.items()) for law in laws
                ),
            )
    return worst


def series_law(chain: MarkovChain, n: int) -> Iterator[tuple[tuple[int, ...], float]]:
    for states in itertools.product(range(chain.size), repeat=n):
        p = chain.law(0)[states[0]]
        for t in range(n - 1):
            p *= chain.step(t)[states[t], states[t + 1]]
        yield states, float(p)


def joint_leakage(chain: MarkovChain, policies: list[RedactionPolicy], secret: tuple[int, int]) -> float:
    """Leakage of several releases of one series about the records of a secret: all joint outputs."""
    n = policies[0].n
    first, last = secret
    law: dict[tuple[int, ...], dict[Any, float]] = {}
    prior: dict[tuple[int, ...], float] = {}
    for states, p in series_law(chain, n):
        if p == 0:
            continue
        hidden = states[first : last + 1]
        prior[hidden] = prior.get(hidden, 0.0) + p
        choices = []
        for policy in policies:
            r = policy.probabilities[np.arange(n), list(states)]
            fates = []
            for mask in itertools.product((True, False), repeat=n):
                q = math.prod(r[t] if gone else 1 - r[t] for t, gone in enumerate(mask))
                if q > 0:
                    fates.append((tuple(None if gone else states[t] for t, gone in enumerate(mask)), q))
            choices.append(fates)
        for outcome in itertools.product(*choices):
            seen = tuple(each for each, _ in outcome)
            weight = p * math.prod(q for _, q in outcome)
            table = law.setdefault(seen, {})
            table[hidden] = table.get(hidden, 0.0) + weight
    worst = 0.0
    for table in law.values():
        ratios = [table.get(x, 0.0) / p for x, p in prior.items()]
        if max(ratios) > 0:
            worst = max(worst, math.inf if min(ratios) == 0 else math.log(max(ratios) / min(ratios)))
    return worst
