"""How the secrets are grouped, the gaps divided and the budgets split."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    Floats,
    Private,
    Secret,
    as_chains,
    as_epsilon,
    as_secrets,
    covered,
    sorted_records,
)
from reticent.redaction.sequential.design import AT_FIRST, best_walk, horizon
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
    reach: int | None = None,
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
    reach : int, optional
        Records farther than this from every secret are released with certainty, except in a gap between secrets that
        has to be withheld whole: a forced end, without which a walk may go on, with a small probability, to the end of
        the series. Needed where the chain was fitted on the others.

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
    if reach is not None and (isinstance(reach, bool) or not isinstance(reach, int | np.integer) or reach < 0):
        raise ArgumentError("reach: must be a whole number of records, zero or more")
    secrets, gaps = as_secrets(private, n), sorted_records(missing, n)
    return _designed(chain, n, secrets, as_epsilon(epsilon), _packed(gaps, n), reach)


def _packed(gaps: NDArray[np.int64], n: int) -> bytes:
    """Which records are missing, one bit each; empty where none is."""
    mask = np.zeros(n if gaps.size else 0, dtype=np.bool_)
    mask[gaps] = True
    return np.packbits(mask).tobytes()


def _unpacked(packed: bytes, n: int) -> NDArray[np.int64]:
    return np.flatnonzero(np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=n if packed else 0))


@lru_cache(maxsize=1024)
def _designed(
    chain: MarkovChain,
    n: int,
    secrets: tuple[Secret, ...],
    epsilon: float,
    packed: bytes,
    reach: int | None,
) -> SequentialRedaction:
    gaps = _unpacked(packed, n)
    plan = Plan(chain, n, secrets, gaps, epsilon, reach)
    found = SequentialRedaction(chain, n, list(secrets), plan.walks(), gaps, epsilon)
    if found.leakage() > epsilon + TOLERANCE:
        raise RefusedError(f"epsilon: the design leaks {found.leakage():.6g} nats, more than was asked for")
    return found


@dataclass(frozen=True)
class Side:
    """What a walk has before it: its `start`, how many records, whether another walk comes from beyond (`joined`), and
    at which distances 0 … count there is a record (`present`)."""

    start: int
    count: int
    joined: bool
    present: Bools

    def within(self, reach: int) -> tuple[Bools, bool]:
        """`present` up to the reach, and whether what lies beyond may be seen though nothing was released before it."""
        if self.present[reach + 1 :].any():
            return self.present[: reach + 1], True
        return self.present, self.joined

    def ended(self, release: Floats, reach: int) -> Floats:
        """The walk's table with its forced end: the first record beyond the reach is released with certainty."""
        beyond = np.flatnonzero(self.present[reach + 1 :])
        if not beyond.size:
            return release
        whole = np.zeros((reach + 2 + int(beyond[0]), *release.shape[1:]))
        whole[: len(release)] = release
        whole[-1] = 1.0
        return whole


ENOUGH = 500.0  # nats: beyond it e^ε would overflow, and nothing is gained


class Plan:
    """Clusters of secrets, and the best share of ε for the walk on the left of each."""

    def __init__(
        self,
        chain: MarkovChain,
        n: int,
        secrets: tuple[Secret, ...],
        gaps: NDArray[np.int64],
        epsilon: float,
        reach: int | None,
    ) -> None:
        self.chain, self.n, self.secrets = chain, n, secrets
        self.epsilon = min(epsilon, ENOUGH)
        self.reach = n if reach is None else reach
        self.reversible = chain.period == 1 and np.allclose(chain.backs, chain.transitions, rtol=1e-14, atol=0)
        self.present = ~covered(secrets, n)
        self.present[gaps] = False
        self.found: dict[tuple[Cluster, int, int], tuple[float, float]] = {}
        self.horizons: dict[tuple[int, int, int], int] = {}

    def walks(self) -> list[Walk]:
        """Two walks for each cluster."""
        return [walk for stretch in self._borders(self._clusters()) for walk in self._pair(*stretch)]

    def _pair(self, cluster: Cluster, low: int, high: int) -> list[Walk]:
        """Both walks of a cluster; the smaller budget first, so that the other side makes up for its rounding."""
        share = self._share(cluster, low, high)[1]
        budgets = {LEFT: share * self.epsilon, RIGHT: self.epsilon - share * self.epsilon}
        out, spent = {}, 0.0
        for direction in sorted(budgets, key=lambda side: budgets[side]):
            side = self._side(cluster, low, high, direction)
            budget = max(0.0, min(budgets[direction], self.epsilon - spent))
            best = self._best(side, direction, budget, thorough=True)
            if best is None:
                raise RefusedError(
                    "epsilon: too small for a sequential redaction that must end between two secrets, or at its reach; "
                    "use the optimal local policy"
                )
            release = side.ended(best[1], self.reach)
            out[direction] = Walk(side.start, direction, side.count, side.joined, release, side.present)
            spent = float(out[direction].seen(self.chain, (side.start, side.start)).max())
        return [out[LEFT], out[RIGHT]]

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

    def _side(self, cluster: Cluster, low: int, high: int, direction: int) -> Side:
        """One side of a cluster in its stretch."""
        start = self.secrets[cluster[0]][0] if direction == LEFT else self.secrets[cluster[1]][1]
        count = start - low if direction == LEFT else high - start
        joined = low > 0 if direction == LEFT else high < self.n - 1
        stretch = self.present[low : start + 1][::-1] if direction == LEFT else self.present[start : high + 1]
        return Side(start, count, joined, np.ascontiguousarray(stretch))  # the start itself is in a secret

    def _best(self, side: Side, direction: int, budget: float, thorough: bool) -> Any:
        chain, (within, joined) = self.chain.shifted(side.start), side.within(self.reach)
        key = (side.start, direction, within.size)  # of either side: other records may be missing there
        if self.reversible:  # the same walk on both sides, to be designed once
            direction = RIGHT
        if key not in self.horizons:  # a programme may release first as far as the greedy law at ε = 0 does
            self.horizons[key] = horizon(chain, direction, within, 0.0, AT_FIRST)
        near = within[: horizon(chain, direction, within, budget, self.horizons[key]) + 1]
        more, far = int(np.count_nonzero(within[near.size :])), within.size - near.size
        found = best_walk(chain, direction, near.tobytes(), more, far, joined, budget, thorough)
        return None if found is None else (found[0] + int(np.count_nonzero(side.present[within.size :])), found[1])

    def _share(self, cluster: Cluster, low: int, high: int) -> tuple[float, float]:
        """(expected releases, best share of ε for the left walk) of a cluster in its stretch."""
        key = (cluster, low, high)
        if key not in self.found:
            sides = [self._side(cluster, low, high, direction) for direction in (LEFT, RIGHT)]

            def value(share: float) -> float:
                total = 0.0
                budgets = (share * self.epsilon, self.epsilon - share * self.epsilon)
                for side, direction, budget in zip(sides, (LEFT, RIGHT), budgets, strict=True):
                    best = self._best(side, direction, budget, thorough=False)
                    total += -math.inf if best is None else best[0]
                return total

            empty = [side.count == 0 and not side.joined for side in sides]
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
