"""The slow, obvious twins of the attacks: every series, every output, plain Python and fractions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

import reticent as rt
from reticent.redaction import SequentialRedaction

HIDDEN = -1
Pattern = tuple[int, ...]
Joint = dict[Pattern, dict[Pattern, Fraction]]


def series_law(chain: rt.MarkovChain, n: int) -> Iterator[tuple[Pattern, Fraction]]:
    """Every series that can be, with its probability (that of the chain's own floats)."""
    for values in itertools.product(range(chain.size), repeat=n):
        probability = Fraction(float(chain.law(0)[values[0]]))
        for t, (a, b) in enumerate(itertools.pairwise(values)):
            probability *= Fraction(float(chain.step(t)[a, b]))
        if probability:
            yield values, probability


def outputs_of(mechanism, values: Pattern) -> dict[Pattern, Fraction]:
    """Pr(output | series)."""
    if isinstance(mechanism, SequentialRedaction):
        return _walked(mechanism, values)
    found = {(): Fraction(1)}
    for t, v in enumerate(values):
        share = Fraction(float(mechanism.probabilities[t, v]))
        grown: dict[Pattern, Fraction] = {}
        for seen, probability in found.items():
            for shown, factor in ((HIDDEN, share), (v, 1 - share)):
                if factor:
                    grown[(*seen, shown)] = probability * factor
        found = grown
    return found


def _walked(mechanism: SequentialRedaction, values: Pattern) -> dict[Pattern, Fraction]:
    found = {(HIDDEN,) * len(values): Fraction(1)}
    for walk in mechanism.walks:
        closed, first = Fraction(1), {}
        for distance in range(1, min(walk.count + 1, len(walk.release))):
            if walk.present[distance]:
                v = values[walk.start + walk.direction * distance]
                share = Fraction(float(walk.release[distance, values[walk.start], v]))
                first[distance] = closed * share
                closed *= 1 - share
        grown: dict[Pattern, Fraction] = defaultdict(Fraction)
        for seen, probability in found.items():
            if closed:
                grown[seen] += probability * closed
            for start, share in first.items():
                if share:
                    pattern = list(seen)
                    for distance in range(start, walk.count + 1):
                        if walk.present[distance]:
                            t = walk.start + walk.direction * distance
                            pattern[t] = values[t]
                    grown[tuple(pattern)] += probability * share
        found = dict(grown)
    return found


def joint_law(mechanism, secret: tuple[int, int], believed: rt.MarkovChain | None = None, draws: int = 1) -> Joint:
    """Pr(output, secret), over all outputs (of `draws` independent draws, side by side)."""
    joint: Joint = defaultdict(lambda: defaultdict(Fraction))
    for values, probability in series_law(believed or mechanism.chain, mechanism.n):
        own = outputs_of(mechanism, values)
        for parts in itertools.product(own.items(), repeat=draws):
            seen = tuple(itertools.chain.from_iterable(output for output, _ in parts))
            share = probability
            for _, each in parts:
                share *= each
            joint[seen][values[secret[0] : secret[1] + 1]] += share
    return joint


def prior_of(joint: Joint) -> dict[Pattern, Fraction]:
    """Pr(secret)."""
    prior: dict[Pattern, Fraction] = defaultdict(Fraction)
    for row in joint.values():
        for secret, probability in row.items():
            prior[secret] += probability
    return prior


def gain(row: dict[Pattern, Fraction], prior: dict[Pattern, Fraction]) -> Fraction | None:
    """The largest posterior odds over prior odds; None where they are infinite."""
    likelihoods = [row.get(secret, Fraction(0)) / weight for secret, weight in prior.items() if weight]
    return None if not min(likelihoods) else max(likelihoods) / min(likelihoods)


def exchanged(order: Pattern, i: int, j: int) -> Pattern:
    """The same release with the labels i and j exchanged."""
    return tuple(j if label == i else i if label == j else label for label in order)


def best_advantage(law: Callable[[Pattern], float], n: int, i: int, j: int) -> float:
    """Total variation between the releases of two neighbours: what the best test achieves."""
    orders = list(itertools.permutations(range(n)))
    return sum(abs(law(order) - law(exchanged(order, i, j))) for order in orders) / 2


def random_chain(rng: np.random.Generator, size: int, period: int = 1) -> rt.MarkovChain:
    """A chain without zeros."""
    steps = rng.dirichlet(np.full(size, 0.7), size=(period, size)) + 1e-2
    return rt.MarkovChain.periodic(steps / steps.sum(axis=2, keepdims=True), phase=int(rng.integers(period)))
