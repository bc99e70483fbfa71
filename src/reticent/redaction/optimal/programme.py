"""The best probabilities for given thresholds: a smooth programme with few variables.

On each side value v may be released from a distance a_v on; from the largest of these on everything is released. Given
the thresholds, what is seen (first release at d, of value v) has a likelihood that is smooth in the probabilities, so
SciPy's SLSQP finds the optimum with exact gradients. The budget between the sides is a variable too, for one record
even one for each ordered pair of its values (derived here).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Floats, frozen
from reticent.redaction.three_region import Side

Ints = NDArray[np.int64]

LEAST = 1e-9  # probabilities stay above it while logarithms are taken
IMPOSSIBLE = -600.0  # a log-likelihood below it stands for zero


@dataclass(frozen=True, eq=False)
class Layout:
    """One side under given thresholds: which probabilities vary, and which events may be seen.

    Parameters
    ----------
    side : Side
    fixed : array, shape (m + 1, s)
        Probabilities of redaction by distance, where they do not vary.
    columns : int, shape (m + 1, s)
        Index of each that varies, else -1.
    places, values : int, shape (k,)
        Events: first release at this distance, of this value.
    ended : bool
        The side ends before everything is released.
    """

    side: Side
    fixed: Floats
    columns: Ints
    places: Ints
    values: Ints
    ended: bool

    @classmethod
    def of(cls, side: Side, thresholds: Ints) -> Layout:
        """The layout of a side; a threshold beyond its end means never."""
        size = thresholds.size
        safe = np.flatnonzero(side.present & (np.arange(side.count + 1) >= thresholds.max()))
        last = int(safe[0]) if safe.size else side.count
        fixed = np.ones((last + 1, size))
        varies = (np.arange(last + 1)[:, None] >= thresholds) & side.present[: last + 1, None]
        if safe.size:
            fixed[last] = 0.0
        seen = varies.copy()
        if safe.size:
            varies[last] = False
        columns = np.full(varies.shape, -1, dtype=np.int64)
        columns[varies] = np.arange(int(varies.sum()))
        places, values = np.nonzero(seen)
        return cls(side, fixed, columns, places, values, not safe.size)

    @property
    def size(self) -> int:
        """Number of variables."""
        return int(self.columns.max(initial=-1)) + 1

    def probabilities(self, z: Floats) -> Floats:
        """All probabilities of the side, shape (m + 1, s)."""
        r = self.fixed.copy()
        r[self.columns >= 0] = z
        return r

    def weights(self) -> Floats:
        """Probability of the value of each variable: what withholding it costs."""
        return self.side.weights[: len(self.fixed)][self.columns >= 0]

    def excess(self, chain: MarkovChain, z: Floats) -> tuple[Floats, Floats, Ints]:
        """Log-ratios of all events between all ordered pairs of values, their gradients, and the pairs.

        Returns
        -------
        ratios : (q,)
        slopes : (q, variables)
        pairs : (q, 2) int
        """
        from reticent.redaction.kernels import unseen
        from reticent.redaction.optimal.kernels import events

        live, r = chain.law(self.side.start) > 0, frozen(self.probabilities(z))
        place = (self.side.steps(chain), chain.phase, self.side.start, self.side.direction)
        logs, slopes = events(
            *place,
            live,
            unseen(*place, np.diag(live.astype(np.float64)), r),
            r,
            self.places,
            self.values,
            self.ended,
            self.columns,
            self.size,
        )
        states = np.flatnonzero(live)
        pairs = np.array([(x, y) for x in states for y in states if x != y], dtype=np.int64).reshape(-1, 2)
        ratios = (logs[:, pairs[:, 0]] - logs[:, pairs[:, 1]]).ravel()
        gradients = (slopes[:, pairs[:, 0]] - slopes[:, pairs[:, 1]]).reshape(ratios.size, self.size)
        possible = (logs[:, pairs[:, 0]] > IMPOSSIBLE).ravel()
        return ratios[possible], gradients[possible], np.tile(pairs, (len(logs), 1))[possible]


@dataclass(frozen=True)
class Solution:
    """Probabilities of the variables of both sides, the split of the budget, and the expected number withheld."""

    variables: tuple[Floats, ...]
    split: Floats
    cost: float


def solve(
    chains: Sequence[MarkovChain],
    layouts: Sequence[Layout],
    paired: bool,
    epsilon: float,
    start: Sequence[Floats],
    share: Floats,
) -> Solution | None:
    """Least expected redaction for given thresholds; None where the solver finds no feasible point.

    Parameters
    ----------
    layouts : one or two Layout
    paired : bool
        The secret is one record: the split may differ from one ordered pair of its values to another.
    epsilon : float
    start : probabilities to begin with, for each layout
    share : array, shape (s, s)
        Nats for the first of two sides to begin with.
    """
    from scipy.optimize import minimize

    sizes = [layout.size for layout in layouts]
    states = chains[0].size
    split = 0 if len(layouts) == 1 else states * states if paired else 1
    total = sum(sizes) + split
    cost = np.concatenate([*(layout.weights() for layout in layouts), np.zeros(split)])
    if total == 0:
        return Solution(tuple(np.empty(0) for _ in layouts), share, 0.0)

    def parts(z: Floats) -> tuple[list[Floats], Floats]:
        pieces = np.split(z, np.cumsum(sizes))
        budget = pieces[-1].reshape(states, states) if split > 1 else np.full((states, states), z[-1])
        return pieces[:-1], budget

    def constraints(z: Floats) -> tuple[Floats, Floats]:
        variables, budget = parts(z)
        slack, slopes = [], []
        for i, layout in enumerate(layouts):
            for chain in chains:
                ratios, gradients, pairs = layout.excess(chain, variables[i])
                whole = np.zeros((ratios.size, total))
                begin = sum(sizes[:i])
                whole[:, begin : begin + sizes[i]] = -gradients
                allowed = np.full(ratios.size, epsilon)
                if split:
                    sign = 1.0 if i == 0 else -1.0
                    mine = budget[pairs[:, 0], pairs[:, 1]]
                    allowed = mine if i == 0 else epsilon - mine
                    column = sum(sizes) + (pairs @ [states, 1] if split > 1 else np.zeros(ratios.size, dtype=np.int64))
                    whole[np.arange(ratios.size), column] = sign
                slack.append(allowed - ratios)
                slopes.append(whole)
        return np.concatenate(slack), np.concatenate(slopes)

    kept: dict[bytes, tuple[Floats, Floats]] = {}

    def cached(z: Floats) -> tuple[Floats, Floats]:
        key = z.tobytes()
        if key not in kept:
            kept.clear()
            kept[key] = constraints(z)
        return kept[key]

    z = np.concatenate([*start, *([share.ravel()] if split > 1 else [[share.mean()]] if split else [])])
    found: Any = minimize(
        lambda z: float(cost @ z),
        np.clip(z, LEAST, None),
        jac=lambda z: cost,
        bounds=[(LEAST, 1.0)] * sum(sizes) + [(0.0, epsilon)] * split,
        constraints={"type": "ineq", "fun": lambda z: cached(z)[0], "jac": lambda z: cached(z)[1]},
        method="SLSQP",
        options={"maxiter": 80, "ftol": 1e-10},
    )
    if not np.isfinite(found.x).all() or cached(found.x)[0].min(initial=0.0) < -1e-6:
        return None
    variables, budget = parts(found.x)
    return Solution(tuple(np.clip(piece, 0.0, 1.0) for piece in variables), budget, float(cost @ found.x))
