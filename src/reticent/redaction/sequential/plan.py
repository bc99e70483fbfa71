"""How the secrets are grouped, the gaps divided and the budgets split."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, RefusedError
from reticent.markov import MarkovChain
from reticent.redaction.leakage import (
    TOLERANCE,
    Bools,
    Private,
    Secret,
    as_chains,
    as_epsilon,
    as_records,
    as_secrets,
    covered,
)
from reticent.redaction.sequential.design import best_walk
from reticent.redaction.sequential.mechanism import SequentialRedaction
from reticent.redaction.sequential.walks import LEFT, RIGHT, Walk

Cluster = tuple[int, int]
"""First and last secret of a group without a release between them."""


def sequential_redaction(
    chain: MarkovChain,
    n: int,
    private: Private,
    epsilon: float,
    missing: Sequence[int] | NDArray[Any] = (),
) -> SequentialRedaction:
    """The best sequential redaction, by one curator who holds the whole series.

    Parameters
    ----------
    chain : MarkovChain
        One chain (it may be periodic, and need not be reversible).
    n, private, missing
        As for `RedactionPolicy`.
    epsilon : float
        Nats. At 0 the release is independent of each secret, at a constant price.

    Returns
    -------
    SequentialRedaction
        For one secret the optimum, up to the split of the budget between the sides. Between two secrets the gap is
        halved, as if the records at the border were known, or withheld where that is impossible or not worth it.

    Raises
    ------
    ArgumentError
        Bad arguments, or several chains.

    Notes
    -----
    *Derived here.* Left and right of a secret are independent given its value, so budgets of both sides add. A secret
    inside a cluster sees the walk of another secret only through the chain: its likelihoods are averages of that
    walk's, and their ratios no larger. The leakage about each secret is recomputed with everything, then checked.
    """
    if not isinstance(chain, MarkovChain):
        raise ArgumentError(
            "chain: a sequential redaction exists for one chain (its programme is not linear for several); use "
            "markov_quilt, three_region or optimal_policy for a list"
        )
    as_chains(chain)
    return _designed(chain, n, as_secrets(private, n), as_epsilon(epsilon), as_records(missing, n))


@lru_cache(maxsize=1024)
def _designed(
    chain: MarkovChain, n: int, secrets: tuple[Secret, ...], epsilon: float, missing: tuple[int, ...]
) -> SequentialRedaction:
    plan = Plan(chain, n, secrets, missing, epsilon)
    found = SequentialRedaction(chain, n, list(secrets), plan.walks(), missing, epsilon)
    if found.leakage() > epsilon + TOLERANCE:
        raise RefusedError(f"epsilon: the design leaks {found.leakage():.6g} nats, more than was asked for")
    return found


class Plan:
    """Clusters of secrets, and the best share of ε for the walk on the left of each."""

    def __init__(
        self, chain: MarkovChain, n: int, secrets: tuple[Secret, ...], missing: tuple[int, ...], epsilon: float
    ) -> None:
        self.chain, self.n, self.secrets, self.epsilon = chain, n, secrets, epsilon
        self.reversible = chain.period == 1 and np.allclose(chain.backs, chain.transitions, rtol=1e-14, atol=0)
        self.present = ~covered(secrets, n)
        self.present[list(missing)] = False
        self.found: dict[tuple[Cluster, int, int], tuple[float, float]] = {}

    def walks(self) -> list[Walk]:
        """Two walks for each cluster."""
        out = []
        for cluster, low, high in self._borders(self._clusters()):
            share = self._share(cluster, low, high)[1]
            for direction, budget in ((LEFT, share * self.epsilon), (RIGHT, self.epsilon - share * self.epsilon)):
                start, count, joined, present = self._side(cluster, low, high, direction)
                best = self._best(start, direction, joined, present, budget, thorough=True)
                if best is None:
                    raise RefusedError("epsilon: no sequential redaction was found between two secrets")
                out.append(Walk(start, direction, count, joined, best[1], present))
        return out

    def _clusters(self) -> list[Cluster]:
        """Merge neighbours, the nearest first, as long as a gap cannot be used or is better withheld."""
        clusters = [(i, i) for i in range(len(self.secrets))]
        while len(clusters) > 1:
            borders = self._borders(clusters)
            values = [self._share(*one)[0] for one in borders]
            gaps = [self.secrets[b[0]][0] - self.secrets[a[1]][1] for a, b in pairwise(clusters)]
            for i in np.argsort(gaps, kind="stable"):
                together = (clusters[i][0], clusters[i + 1][1])
                merged = self._share(together, borders[i][1], borders[i + 1][2])[0]
                if values[i] + values[i + 1] <= merged or values[i] + values[i + 1] == -math.inf:
                    clusters[i : i + 2] = [together]
                    break
            else:
                break
        return clusters

    def _borders(self, clusters: Sequence[Cluster]) -> list[tuple[Cluster, int, int]]:
        """Each cluster with the first and the last record of its stretch; gaps are halved."""
        halves = [(self.secrets[a[1]][1] + self.secrets[b[0]][0]) // 2 + 1 for a, b in pairwise(clusters)]
        cuts = [0, *halves, self.n]
        return [(cluster, cuts[i], cuts[i + 1] - 1) for i, cluster in enumerate(clusters)]

    def _side(self, cluster: Cluster, low: int, high: int, direction: int) -> tuple[int, int, bool, Bools]:
        """(start, count, joined, present) of one walk of a cluster in its stretch."""
        start = self.secrets[cluster[0]][0] if direction == LEFT else self.secrets[cluster[1]][1]
        count = start - low if direction == LEFT else high - start
        joined = low > 0 if direction == LEFT else high < self.n - 1
        places = start + direction * np.arange(1, count + 1)
        return start, count, joined, np.concatenate([[False], self.present[places]])

    def _best(self, start: int, direction: int, joined: bool, present: Bools, budget: float, thorough: bool) -> Any:
        if self.reversible and not thorough:  # the same walk on both sides but for rounding
            direction = RIGHT
        return best_walk(self.chain.shifted(start), direction, present.tobytes(), joined, budget, thorough)

    def _share(self, cluster: Cluster, low: int, high: int) -> tuple[float, float]:
        """(expected releases, best share of ε for the left walk) of a cluster in its stretch."""
        key = (cluster, low, high)
        if key not in self.found:
            sides = [self._side(cluster, low, high, direction) for direction in (LEFT, RIGHT)]

            def value(share: float) -> float:
                total = 0.0
                budgets = (share * self.epsilon, self.epsilon - share * self.epsilon)
                for (start, _, joined, present), direction, budget in zip(sides, (LEFT, RIGHT), budgets, strict=True):
                    best = self._best(start, direction, joined, present, budget, thorough=False)
                    total += -math.inf if best is None else best[0]
                return total

            empty = [count == 0 and not joined for _, count, joined, _ in sides]
            if any(empty) or self.epsilon == 0:
                share = 0.0 if empty[0] else 1.0
                self.found[key] = (value(share), share)
            else:
                self.found[key] = _peak(value)
        return self.found[key]


def _peak(value: Callable[[float], float]) -> tuple[float, float]:
    """(largest value, where) on [0, 1]: a grid, then a search around its best point."""
    grid = np.linspace(0, 1, 5)
    values = [value(share) for share in grid]
    best = int(np.argmax(values))
    found = (values[best], float(grid[best]))
    step = 1 / 8
    while step > 1 / 200 and math.isfinite(found[0]):
        around = [share for share in (found[1] - step, found[1] + step) if 0 <= share <= 1]
        found = max([found, *((value(share), share) for share in around)], key=lambda pair: pair[0])
        step /= 2
    return found
