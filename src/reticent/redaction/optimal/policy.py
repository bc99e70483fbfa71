"""The best local policy: thresholds by search, probabilities by programme, then to the frontier by bisection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.markov import MarkovChain
from reticent.redaction.leakage import (
    Chains,
    Floats,
    Private,
    Secret,
    as_chains,
    as_epsilon,
    as_records,
    as_secrets,
    covered,
    local_leakage,
)
from reticent.redaction.markov_quilt import kept, markov_quilt
from reticent.redaction.nearby import around, as_present, one_by_one
from reticent.redaction.optimal.frontier import FINEST, to_frontier
from reticent.redaction.optimal.programme import Layout, Solution, solve
from reticent.redaction.policy import RedactionPolicy
from reticent.redaction.three_region import Side, best_share, three_region

Thresholds: TypeAlias = tuple[tuple[int, ...], ...]

NARROW, WIDEST = 6, 96  # records on a side whose probabilities may vary, to begin with and at most
NEARLY = 1e-6  # a record that is released more rarely than this is withheld
MARGIN = 1e-9  # of ε, left to the solver's tolerance and taken back by bisection
GAIN = 1e-7  # expected records: the search for thresholds goes on while it gains more


def optimal_policy(
    chain: Chains,
    n: int,
    private: Private,
    epsilon: float,
    missing: Sequence[int] | NDArray[Any] = (),
) -> RedactionPolicy:
    """The local policy that releases the most records, by exact leakage.

    Parameters
    ----------
    chain, n, private, missing
        As for `RedactionPolicy`; several chains may be listed.
    epsilon : float
        Nats.

    Returns
    -------
    RedactionPolicy
        Exact leakage at most ε, and no worse than `markov_quilt` and `three_region`. The problem is not convex: a
        better policy is not excluded. Several secrets are designed one by one, each record taking the strictest of
        their rules (withholding more never leaks more), and then brought to the frontier together.

    Raises
    ------
    ArgumentError
        Bad arguments.
    """
    chains = as_chains(chain)
    return _designed(chains, n, as_secrets(private, n), as_epsilon(epsilon), as_records(missing, n))


@lru_cache(maxsize=128)
def _designed(
    chains: tuple[MarkovChain, ...], n: int, secrets: tuple[Secret, ...], epsilon: float, missing: tuple[int, ...]
) -> RedactionPolicy:
    return kept(around(chains, n, secrets, epsilon, missing, best))


def best(
    chains: tuple[MarkovChain, ...], n: int, secrets: tuple[Secret, ...], epsilon: float, missing: tuple[int, ...]
) -> Floats:
    """The probabilities of the best policy, shape (n, s)."""
    designs = [
        three_region(chains, n, list(secrets), epsilon, missing=missing).probabilities,
        markov_quilt(chains, n, list(secrets), epsilon, missing=missing).probabilities,
    ]
    if epsilon > 0:
        designs.insert(0, one_by_one(chains, n, secrets, missing, epsilon, _about))
    policies = []
    for r in designs:
        free = np.ones(n, dtype=np.bool_)
        free[list(missing)] = False
        better = to_frontier(chains, secrets, np.array(r), free & ~covered(secrets, n), epsilon)
        policies.append(RedactionPolicy(chains, better, list(secrets), missing, epsilon))
    return min(policies, key=lambda each: each.withheld).probabilities


@lru_cache(maxsize=512)
def _about(chains: tuple[MarkovChain, ...], secret: Secret, pattern: bytes, epsilon: float) -> Floats:
    """Probabilities about one secret, for a stretch of records (see `nearby.Design`); exact leakage at most ε."""
    present = as_present(pattern)
    sides = [Side(chains, secret, direction, present) for direction in (-1, 1)]
    search = _Search(chains, [side for side in sides if side.count], secret, epsilon)
    r = np.ones((present.size, chains[0].size))
    for thresholds, solution in search.best():
        trial = search.write(thresholds, solution)
        if _leak(chains, trial, secret) <= epsilon:
            return trial
        blank = search.write(thresholds, search.withheld(thresholds))
        if _leak(chains, blank, secret) <= epsilon:
            low, high = 0.0, 1.0  # towards withholding all that varies, until the exact leakage allows it
            while high - low > 1e-9:
                middle = 0.5 * (low + high)
                inside = _leak(chains, blank + middle * (trial - blank), secret) <= epsilon
                low, high = (middle, high) if inside else (low, middle)
            return blank + low * (trial - blank)
    return r


def _leak(chains: Sequence[MarkovChain], r: Floats, secret: Secret) -> float:
    return max(local_leakage(chain, r, secret) for chain in chains)


class _Search:
    """Thresholds by local search; for each, the programme's probabilities."""

    def __init__(self, chains: Sequence[MarkovChain], sides: Sequence[Side], secret: Secret, epsilon: float) -> None:
        self.chains, self.sides, self.epsilon = chains, sides, epsilon * (1 - MARGIN)
        self.secret, self.paired = secret, secret[0] == secret[1]
        self.n = sides[0].scratch.shape[0] if sides else 0
        self.found: dict[Thresholds, tuple[float, Solution | None]] = {}

    def best(self) -> list[tuple[Thresholds, Solution]]:
        """Thresholds and solutions, the best first."""
        if not self.sides:
            return []
        shares = [0.5, best_share(self.sides, self.epsilon)] if len(self.sides) == 2 else [1.0]
        for share in dict.fromkeys(shares):
            here = self._climb(self._first(share, NARROW), share)
            width = NARROW
            while width < WIDEST and self._reaches_out(here):
                width *= 2
                here = self._climb(self._first(share, width), share)
        solved = [(gain, key, solution) for key, (gain, solution) in self.found.items() if solution is not None]
        return [(key, solution) for _, key, solution in sorted(solved, key=lambda item: -item[0])]

    def _first(self, share: float, width: int) -> Thresholds:
        budgets = (share * self.epsilon, self.epsilon - share * self.epsilon)
        return tuple(_first_thresholds(side, budget, width) for side, budget in zip(self.sides, budgets, strict=False))

    def _reaches_out(self, thresholds: Thresholds) -> bool:
        """Whether a record at the secret's end of what varies is released now and then: more should vary."""
        solution = self.found[thresholds][1]
        return solution is not None and any(
            bool((layout.probabilities(z)[min(one)] < 0.999).any()) and min(one) > 1
            for layout, z, one in zip(self._layouts(thresholds), solution.variables, thresholds, strict=True)
            if layout.size
        )

    def _climb(self, here: Thresholds, share: float) -> Thresholds:
        """Move thresholds by single steps as long as that gains; the best found."""
        split = np.full((self.chains[0].size,) * 2, share * self.epsilon)
        gain, solution = self._try(here, split)
        improved = True
        while improved:
            improved = False
            for i, side in enumerate(self.sides):
                for v in range(self.chains[0].size):
                    for step in (1, -1):
                        there = _moved(here, i, v, step, side.count)
                        if there is None:
                            continue
                        new, candidate = self._try(there, split if solution is None else solution.split)
                        if new > gain + GAIN:
                            here, gain, solution, improved = there, new, candidate, True
        return here

    def _try(self, thresholds: Thresholds, split: Floats) -> tuple[float, Solution | None]:
        """(expected releases, solution) for given thresholds."""
        if thresholds not in self.found:
            layouts = self._layouts(thresholds)
            if _leak(self.chains, self.write(thresholds, self.withheld(thresholds)), self.secret) > self.epsilon:
                self.found[thresholds] = (-np.inf, None)  # too much even where all that varies is withheld
                return self.found[thresholds]
            start = [np.full(layout.size, 0.9) for layout in layouts]
            solution = solve(self.chains, layouts, self.paired, self.epsilon, start, split)
            gain = -np.inf if solution is None else self._gain(layouts, solution)
            self.found[thresholds] = (gain, solution)
        return self.found[thresholds]

    def _layouts(self, thresholds: Thresholds) -> list[Layout]:
        return [Layout.of(side, np.array(one)) for side, one in zip(self.sides, thresholds, strict=True)]

    def _gain(self, layouts: Sequence[Layout], solution: Solution) -> float:
        whole = sum(float(layout.weights().sum()) for layout in layouts) - solution.cost
        always = sum(float(layout.side.rest[len(layout.fixed) - 1]) for layout in layouts if not layout.ended)
        return whole + always

    def withheld(self, thresholds: Thresholds) -> Solution:
        """The solution that withholds all that varies."""
        layouts = self._layouts(thresholds)
        return Solution(tuple(np.ones(layout.size) for layout in layouts), np.empty(0), np.inf)

    def write(self, thresholds: Thresholds, solution: Solution) -> Floats:
        """A solution as probabilities of all records, shape (n, s)."""
        r = np.ones((self.n, self.chains[0].size))
        for layout, variables in zip(self._layouts(thresholds), solution.variables, strict=True):
            side = layout.side
            near = np.minimum(1.0, np.ceil(layout.probabilities(variables) / FINEST) * FINEST)
            near[near > 1 - NEARLY] = 1.0  # upwards, so that it leaks no more
            r[side.start + side.direction * np.arange(1, len(near))] = near[1:]
            if not layout.ended:
                far = np.flatnonzero(side.present[len(near) :]) + len(near)
                r[side.start + side.direction * far] = 0.0
        return r


def _first_thresholds(side: Side, budget: float, width: int) -> tuple[int, ...]:
    """Where each value's influence is within the budget for good; full release where calibration puts it."""
    never = side.count + 1
    above = side.influence > budget
    last = np.where(above.any(axis=0), side.count - np.argmax(above[::-1], axis=0), 0)
    first = last + 1
    first[np.argmax(first)] = max(side.best(budget).end, int(first.max()))
    top = min(int(first.max()), never)
    return tuple(int(min(never, max(one, top - width))) for one in first)


def _moved(thresholds: Thresholds, side: int, value: int, step: int, count: int) -> Thresholds | None:
    """Thresholds with one of them moved by a step, or None where it cannot be."""
    one = list(thresholds[side])
    one[value] += step
    if not 1 <= one[value] <= count + 1 or max(one) - min(one) > WIDEST:
        return None
    return (*thresholds[:side], tuple(one), *thresholds[side + 1 :])
