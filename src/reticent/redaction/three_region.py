"""The three-region mechanism: as published, which does not keep its promise, and calibrated, which does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.redaction.influence import by_value
from reticent.redaction.leakage import (
    Bools,
    Chains,
    Floats,
    Private,
    Secret,
    as_chains,
    as_epsilon,
    as_records,
    as_secrets,
    frozen,
)
from reticent.redaction.markov_quilt import kept, markov_quilt, published_setting
from reticent.redaction.nearby import around, as_present, one_by_one
from reticent.redaction.policy import RedactionPolicy
from reticent.redaction.probabilities import mean_laws

SPLITS = 17  # shares of ε for the left side that are tried
THRESHOLDS = 3  # lower thresholds of influence that are tried


def three_region(
    chain: Chains,
    n: int,
    private: Private,
    epsilon: float,
    variant: str = "calibrated",
    missing: Sequence[int] | NDArray[Any] = (),
) -> RedactionPolicy:
    """Withhold near the secret, release far from it, and in between release some values with one probability.

    Parameters
    ----------
    chain, n, private, missing
        As for `RedactionPolicy`.
    epsilon : float
        Nats.
    variant : {"calibrated", "published"}
        ``"calibrated"`` (derived here): on each side a start of the middle region and a start of full release, and the
        largest release probability in between, for values whose influence is within that side's budget (or a lower
        threshold), for which the *exact* leakage is at most ε; the best over the starts, over the thresholds and over
        the split of ε between the sides. For several secrets, each record takes the strictest of their rules
        (withholding more never leaks more). ``"published"``: the paper's Eqs. 1 and 2, r = exp(-ε_side/|R_M|). It is
        not ε-private in general (erratum 1): its `leakage` and `guarantee` say what is true, and it releases nothing
        where that is above ε.

    Raises
    ------
    ArgumentError
        Bad arguments, or a setting in which the published mechanism does not exist.
    """
    chains = as_chains(chain)
    secrets = as_secrets(private, n)
    epsilon = as_epsilon(epsilon)
    gaps = as_records(missing, n)
    if variant == "published":
        r = published_probabilities(*published_setting(chains, n, secrets, gaps), epsilon)
        return RedactionPolicy(chains, r, list(secrets), gaps, epsilon)
    if variant != "calibrated":
        raise ArgumentError("variant: must be 'calibrated' or 'published'")
    policy = kept(around(chains, n, secrets, epsilon, gaps, rules))
    quilt = markov_quilt(chains, n, list(secrets), epsilon, missing=gaps)  # the same shape, with empty middle regions
    return min(policy, quilt, key=lambda each: each.withheld)


def rules(
    chains: tuple[MarkovChain, ...], n: int, secrets: tuple[Secret, ...], epsilon: float, missing: tuple[int, ...]
) -> Floats:
    """The probabilities of the calibrated rules, shape (n, s)."""
    return one_by_one(chains, n, secrets, missing, epsilon, calibrated)


def published_probabilities(chain: MarkovChain, n: int, private: int, epsilon: float) -> Floats:
    """The paper's Eqs. 1 and 2, shape (n, 2); thresholds at ε/2 where there are two sides (erratum 5)."""
    budget = epsilon if private in (0, n - 1) else epsilon / 2
    r = np.ones((n, 2))
    for direction, count in ((-1, private), (1, n - 1 - private)):
        above = by_value(chain, private, direction, count)[1:] > budget
        middle = np.asarray(above.any(axis=1) & ~above.all(axis=1))
        release = -math.expm1(-budget / max(1, int(middle.sum())))
        places = private + direction * np.arange(1, count + 1)
        r[places[(~above).all(axis=1)]] = 0.0
        r[places[middle]] = np.where(above, 1.0, 1.0 - release)[middle]
    return r


def published_utility(chain: MarkovChain, n: int, private: int, epsilon: float) -> float:
    """ν_3R as Theorem 1 states it."""
    published_setting(as_chains(chain), n, as_secrets(private, n), ())
    r = published_probabilities(chain, n, private, as_epsilon(epsilon))
    middle = np.array(((r > 0) & (r < 1)).any(axis=1))
    always = np.array((r == 0).all(axis=1))
    budget = epsilon if private in (0, n - 1) else epsilon / 2
    common = chain.stationary.max()  # β/(α+β) for α ≤ β: the commoner value is the one of small influence
    total = float(always.sum())
    for side in (middle[:private], middle[private:]):
        size = int(side.sum())
        total += size * common * -math.expm1(-budget / max(1, size))
    return total / n


def three_region_gain(alpha: float, beta: float, n: int, epsilon: float, middle: int) -> float:
    """The paper's gain of three regions over windows, for p = 1 (Section V): |R_M|/(n(1+α/β)) · (1-exp(-ε/|R_M|)).

    The second factor goes to 1, not to 0, for large ε (erratum 14).
    """
    return 0.0 if middle == 0 else middle / (n * (1 + alpha / beta)) * -math.expm1(-epsilon / middle)


@lru_cache(maxsize=512)
def calibrated(chains: tuple[MarkovChain, ...], secret: Secret, pattern: bytes, epsilon: float) -> Floats:
    """The calibrated probabilities about one secret, for a stretch of records (see `nearby.Design`)."""
    present = as_present(pattern)
    sides = [Side(chains, secret, direction, present) for direction in (-1, 1)]
    share = best_share(sides, epsilon)
    r = np.ones((present.size, chains[0].size))
    sides[0].write(r, share * epsilon)
    sides[1].write(r, epsilon - share * epsilon)
    r.flags.writeable = False
    return r


def best_share(sides: Sequence[Side], epsilon: float) -> float:
    """Share of ε for the left side with which the calibrated rules of both sides release the most."""
    left, right = sides
    if left.count == 0 or right.count == 0:
        return 0.0 if left.count == 0 else 1.0
    return max(
        np.linspace(0, 1, SPLITS).tolist(),
        key=lambda share: left.best(share * epsilon).gain + right.best(epsilon - share * epsilon).gain,
    )


class Rule(NamedTuple):
    """Expected releases, starts of the middle and of full release, release probability in the middle, and up to which
    influence a value is released there."""

    gain: float
    begin: int
    end: int
    release: float
    threshold: float


class Side:
    """One side of one secret: where the middle and the full release may start, and what they gain."""

    def __init__(self, chains: Sequence[MarkovChain], secret: Secret, direction: int, present: Bools) -> None:
        n = present.size
        self.chains, self.direction = chains, direction
        self.start = secret[0] if direction < 0 else secret[1]
        self.count = secret[0] if direction < 0 else n - 1 - secret[1]
        places = self.start + direction * np.arange(self.count + 1)
        self.present = present[places]
        self.weights = mean_laws(chains, n)[places] * self.present[:, None]
        self.influence = np.max([by_value(chain, self.start, direction, self.count) for chain in chains], axis=0)
        self.rest = np.append(np.cumsum(self.weights.sum(axis=1)[::-1])[::-1], 0.0)
        self.scratch = np.ones((n, chains[0].size))
        following = np.where(self.present, np.arange(self.count + 1), self.count + 1)
        self.following = np.append(np.minimum.accumulate(following[::-1])[::-1], self.count + 1).tolist()
        seen = frozen(self.scratch)
        self.walks = [
            (self.steps(chain), chain.phase, seen, self.start, direction, self.count, chain.law(self.start) > 0)
            for chain in chains
        ]
        self.found: dict[float, Rule] = {}

    def steps(self, chain: MarkovChain) -> Floats:
        """One-step laws away from the secret."""
        return chain.backs if self.direction < 0 else chain.transitions

    def allowed(self, threshold: float) -> Bools:
        """Values whose influence is within the threshold, shape (count + 1, s)."""
        return (self.influence <= threshold) & self.present[:, None]

    def best(self, budget: float) -> Rule:
        """The rule that releases the most within `budget`."""
        if budget not in self.found:
            never = self.count + 1
            best = Rule(0.0, never, never, 0.0, budget)
            for threshold in self._thresholds(budget):
                best = self._search(budget, threshold, best)
            self.found[budget] = best
        return self.found[budget]

    def _thresholds(self, budget: float) -> list[float]:
        """The budget, then lower ones, each of which leaves one more of the telling values out.

        A value that has just come within the budget can cost the others more than it gives.
        """
        telling = np.sort(self.influence, axis=1)[:, 1:]
        levels = np.unique(telling[(telling > 0) & (telling <= budget)])[::-1]
        return [budget, *np.nextafter(levels[:THRESHOLDS], 0.0).tolist()]

    def _search(self, budget: float, threshold: float, best: Rule) -> Rule:
        """The best rule with this threshold, if it is better than `best`."""
        never = self.count + 1
        allowed = self.allowed(threshold)
        safe = (self.influence <= budget).all(axis=1)
        first_any = int(np.argmax(allowed.any(axis=1))) if allowed.any() else never
        first_safe = int(np.argmax(safe)) if safe.any() else never
        gains = np.append(np.cumsum((self.weights * allowed).sum(axis=1)[::-1])[::-1], 0.0)
        idle = 0
        for end in [*range(first_safe, never), never]:
            before = best.gain
            for begin in _starts(first_any, end):
                middle = gains[begin] - gains[end] if begin < end else 0.0
                if self.rest[end] + middle <= best.gain:
                    continue
                least = max(0.0, (best.gain - self.rest[end]) / middle) if middle else 0.0  # what would beat the best
                release = self._release(allowed, begin, end, budget, least)
                if self.rest[end] + release * middle > best.gain and release >= 0:
                    best = Rule(self.rest[end] + release * middle, begin, end, release, threshold)
            idle = 0 if best.gain > before else idle + 1
            if idle > 3 or (end < never and self.rest[end] + gains[first_any] - gains[end] <= best.gain):
                break
        return best

    def _release(self, allowed: Bools, begin: int, end: int, budget: float, least: float) -> float:
        """Largest probability with which the `allowed` values at distances ``begin … end - 1`` may all be released.

        Everything from distance `end` on is released, everything else withheld. Bisection: leakage grows with the
        probability. Negative where even `least` is too much.
        """
        from reticent.redaction import kernels

        r = self.scratch[self.start :: self.direction]
        whole = self.following[end]  # the first record that is always released
        r[1:whole] = 1.0
        r[whole : whole + 1] = 0.0  # nothing beyond counts
        some, middle = allowed[begin:end], r[begin:end]

        def fits(trial: float) -> bool:
            middle[some] = 1.0 - trial
            return all(kernels.walk(*walk).max() <= budget for walk in self.walks)

        if not fits(least):
            return -1.0
        if fits(1.0):
            return 1.0
        low, high = least, 1.0
        while high - low >= 1e-12:
            trial = 0.5 * (low + high)
            low, high = (trial, high) if fits(trial) else (low, trial)
        return low

    def write(self, r: Floats, budget: float) -> None:
        """Put the best rule within `budget` into `r`."""
        _, begin, end, release, threshold = self.best(budget)
        distances = np.arange(1, self.count + 1)
        places = self.start + self.direction * distances
        some = self.allowed(threshold)[1:] & (distances >= begin)[:, None]
        r[places] = np.where(some, 1.0 - release, 1.0)
        r[places[(distances >= end) & self.present[1:]]] = 0.0


def _starts(first: int, end: int) -> list[int]:
    """Starts of the middle region that are tried: all of the last 40, then ever fewer towards the secret."""
    near = list(range(end, max(first, end - 40) - 1, -1))
    far = [end - int(40 * 1.25**k) for k in range(1, 60) if end - int(40 * 1.25**k) > first]
    return [*near, *far, first] if end >= first else [end]
