"""The slow, obvious twin of the redaction family: every sequence of records, every output, plain Python."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import reticent as rt

HIDDEN = -1
Pattern = tuple[int, ...]
Law = Callable[[Pattern], dict[Pattern, float]]


def series_law(chain: rt.MarkovChain, n: int) -> Iterator[tuple[Pattern, float]]:
    """Every sequence of codes with its probability."""
    for values in itertools.product(range(chain.size), repeat=n):
        probability = chain.law(0)[values[0]]
        for t in range(n - 1):
            probability *= chain.step(t)[values[t], values[t + 1]]
        if probability > 0:
            yield values, float(probability)


def local_law(r: np.ndarray) -> Law:
    """Output law of a local policy, given the records."""

    def law(values: Pattern) -> dict[Pattern, float]:
        out = {(): 1.0}
        for t, v in enumerate(values):
            new: dict[Pattern, float] = {}
            for seen, probability in out.items():
                for shown, share in ((HIDDEN, r[t][v]), (v, 1 - r[t][v])):
                    if share > 0:
                        new[(*seen, shown)] = probability * share
            out = new
        return out

    return law


def enumerated_leakage(chain: rt.MarkovChain, n: int, secret: tuple[int, int], law: Law) -> float:
    """Largest log Pr(y | X_S = x) / Pr(y | X_S = x'), over everything."""
    joint: dict[Pattern, dict[Pattern, float]] = defaultdict(lambda: defaultdict(float))
    weight: dict[Pattern, float] = defaultdict(float)
    for values, probability in series_law(chain, n):
        x = values[secret[0] : secret[1] + 1]
        weight[x] += probability
        for seen, share in law(values).items():
            joint[x][seen] += probability * share
    worst = 0.0
    for x, other in itertools.permutations(weight, 2):
        for seen, probability in joint[x].items():
            if probability > 0:
                against = joint[other].get(seen, 0.0) / weight[other]
                worst = max(worst, math.log(probability / weight[x] / against) if against > 0 else math.inf)
    return worst


def enumerated_utility(chain: rt.MarkovChain, n: int, law: Law) -> float:
    """Expected fraction of records that are shown."""
    return sum(
        probability * share * sum(shown != HIDDEN for shown in seen) / n
        for values, probability in series_law(chain, n)
        for seen, share in law(values).items()
    )


def random_chain(rng: np.random.Generator, size: int, period: int = 1, zeros: bool = False) -> rt.MarkovChain:
    """A chain with rounded, possibly zero, entries."""
    steps = rng.dirichlet(np.full(size, 0.7), size=(period, size)) + 1e-3
    if zeros:
        steps[:, 0, size - 1] = 0.0
    return rt.MarkovChain.periodic(steps / steps.sum(axis=2, keepdims=True), phase=int(rng.integers(period)))


def random_policy(rng: np.random.Generator, n: int, size: int, secrets: Sequence[tuple[int, int]]) -> np.ndarray:
    """Probabilities of which many are 0 or 1."""
    r = np.round(rng.uniform(-0.7, 1.7, size=(n, size)).clip(0, 1), 3)
    for first, last in secrets:
        r[first : last + 1] = 1.0
    return r


def sequential_law(mechanism: rt.redaction.SequentialRedaction) -> Law:
    """Output law of a sequential redaction, given the records: each walk on its own."""

    def law(values: Pattern) -> dict[Pattern, float]:
        out = {(HIDDEN,) * len(values): 1.0}
        for walk in mechanism.walks:
            x = values[walk.start]
            closed = 1.0
            shown: dict[int, float] = {0: 0.0}  # first release at this distance
            for distance in range(1, walk.count + 1):
                if distance < len(walk.release) and walk.present[distance]:
                    share = walk.release[distance, x, values[walk.start + walk.direction * distance]]
                    shown[distance] = closed * share
                    closed *= 1 - share
            shown[0] = closed
            new: dict[Pattern, float] = defaultdict(float)
            for seen, probability in out.items():
                for first, share in shown.items():
                    if share > 0:
                        pattern = list(seen)
                        for distance in range(first, walk.count + 1) if first else ():
                            if walk.present[distance]:
                                t = walk.start + walk.direction * distance
                                pattern[t] = values[t]
                        new[tuple(pattern)] += probability * share
            out = dict(new)
        return out

    return law
