"""How much a record tells about the others: influence, regions and the distance at which it fades.

Source: the paper, Definitions 3 and 4 and Proposition 1, for any finite chain. The influence of record p on the value
v at distance d is the largest log Pr(X_{p+d} = v | X_p = x) / Pr(X_{p+d} = v | X_p = x') over x ≠ x'. Its maximum over
v never grows with d (nor does that of any v in a stationary chain: the columns of P^{d+1} are convex combinations of
those of P^d); it need not be convex in d (erratum 13).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.redaction.leakage import (
    Floats,
    Private,
    Secret,
    as_chains,
    as_epsilon,
    as_secrets,
    covered,
    frozen,
    possible_ends,
)

AT_ONCE = 4096  # distances: there is a law for each value of the secret at each of them


def pointwise_influence(
    chain: MarkovChain, distance: int, state: Hashable, side: str = "right", record: int = 0
) -> float:
    """Influence of a record on one state of the record `distance` steps away, in nats (the paper, Definition 3).

    Parameters
    ----------
    chain : MarkovChain
    distance : int
        Steps; at distance 0 the influence is infinite.
    state : hashable
        One of the chain's states.
    side : {"right", "left"}
    record : int
        Index of the record, which counts where the chain is periodic.

    Raises
    ------
    ArgumentError
        A negative distance, an unknown state or side.
    """
    if state not in chain.states:
        raise ArgumentError("state: not among the chain's states")
    return float(_values(chain, distance, side, record)[-1, chain.states.index(state)])


def max_influence(chain: MarkovChain, distance: int, side: str = "right", record: int = 0) -> float:
    """Influence of a record on the record `distance` steps away: the largest over its values, in nats."""
    return float(_values(chain, distance, side, record)[-1].max())


def binary_influence(alpha: float, beta: float, distance: int) -> tuple[float, float]:
    """Influence on the values 0 and 1 in closed form, for two states (the paper, Eqs. 4 and 5).

    ``|log((1 + c λ^d) / (1 - λ^d))|`` with λ = 1-α-β and c = α/β for the value 0, β/α for the value 1.
    """
    decay = (1 - alpha - beta) ** distance
    ratios = (alpha / beta, beta / alpha)
    zero, one = (abs(math.log1p(c * decay) - math.log1p(-decay)) for c in ratios)
    return zero, one


def quilt_influence(chain: MarkovChain, private: int | Secret, quilt: Sequence[int]) -> float:
    """Influence of a secret on a whole Markov quilt, in nats (the paper, Definition 4).

    Parameters
    ----------
    chain : MarkovChain
    private : int or (int, int)
        One secret.
    quilt : sequence of int
        Any records outside the secret. Only the nearest on each side counts: given these the others are independent of
        the secret. None on a side, or an empty quilt, adds nothing.

    Raises
    ------
    ArgumentError
        More than one secret, or a quilt that reaches into it.

    Notes
    -----
    The two sides are independent given the secret. Hence the paper's Remark 1: at most the sum of both influences, and
    equal to it for two states and an even distance between the two nearest records.
    """
    from reticent.redaction import kernels

    records = sorted({int(t) for t in quilt})
    secrets = as_secrets(private, 1 + max([*records, *np.ravel(np.asarray(private)).tolist()]))
    if len(secrets) != 1:
        raise ArgumentError("private: a quilt surrounds one secret")
    first, last = secrets[0]
    if any(first <= t <= last for t in records) or (records and records[0] < 0):
        raise ArgumentError("quilt: must be records outside the secret")
    before = [first - t for t in records if t < first]
    after = [t - last for t in records if t > last]
    left, right = (np.zeros((chain.size, chain.size)) for _ in range(2))
    if before:
        left = kernels.influences(chain.backs, chain.phase, first, -1, before[-1], chain.law(first) > 0, -1.0)[-1]
    if after:
        right = kernels.influences(chain.transitions, chain.phase, last, 1, after[0], chain.law(last) > 0, -1.0)[-1]
    return float(kernels.combine(left, right, possible_ends(chain, secrets[0])))


def delta_star(chain: MarkovChain, epsilon: float, limit: int, side: str = "right", record: int = 0) -> int | float:
    """Δ⋆(ε): the smallest distance at which the max-influence is at most ε, or infinity.

    Parameters
    ----------
    chain, side, record
        As for `pointwise_influence`.
    epsilon : float
        Nats.
    limit : int
        The search ends here (the length of the series); Δ⋆ may be infinite (ε = 0, or a chain with a period).
    """
    from reticent.redaction import kernels

    steps, direction = _direction(chain, side)
    live = chain.law(record) > 0
    found = kernels.influences(steps, chain.phase, record, direction, limit, live, as_epsilon(epsilon))
    return len(found) - 1 if len(found) > 1 and found[-1].max() <= epsilon else math.inf


def binary_delta_star(alpha: float, beta: float, epsilon: float) -> int | float:
    """Δ⋆(ε) in closed form for two states with λ = 1-α-β > 0: ``⌈log((e^ε-1)/(e^ε+c)) / log λ⌉``, c = max(β/α, α/β).

    From 1+cλ^d ≤ e^ε(1-λ^d). The paper prints c·e^ε+1, which is larger than needed (erratum 3).
    """
    if epsilon == 0:
        return math.inf
    share = math.expm1(epsilon) / (math.exp(epsilon) + max(alpha / beta, beta / alpha))
    return max(1, math.ceil(math.log(share) / math.log(1 - alpha - beta)))


def regions(chain: MarkovChain, n: int, private: Private, epsilon: float) -> str:
    """The region of each record, one letter a record.

    ``P``: private. ``L``: the influence on every value exceeds ε. ``S``: on none. ``M``: on some. With several secrets
    the nearest to L counts. (The paper, Section II; its first bullet of Proposition 1 and its R_S are misprinted,
    erratum 4.)
    """
    secrets = as_secrets(private, n)
    as_chains(chain)
    epsilon = as_epsilon(epsilon)
    rank = np.zeros(n, dtype=np.int64)
    for first, last in secrets:
        for side, end in (("left", first), ("right", last)):
            reach = first if side == "left" else n - 1 - last
            above = _values(chain, reach, side, end)[1:] > epsilon
            level = above.any(axis=1).astype(np.int64) + above.all(axis=1)
            places = end + np.arange(1, reach + 1) * (-1 if side == "left" else 1)
            rank[places] = np.maximum(rank[places], level)
    letters = np.array(list("SML"))[rank]
    letters[covered(secrets, n)] = "P"
    return "".join(letters)


def _values(chain: MarkovChain, distance: int, side: str, record: int) -> Floats:
    """Influence on each value at distances 0 … `distance`, shape (distance + 1, s)."""
    if isinstance(distance, bool) or not isinstance(distance, int | np.integer) or distance < 0:
        raise ArgumentError("distance: must be a whole number of steps, zero or more")
    _, direction = _direction(chain, side)
    return by_value(chain, record, direction, int(distance))


def by_value(chain: MarkovChain, record: int, direction: int, count: int) -> Floats:
    """Influence of a record on each value at distances 0 … `count` in a direction, shape (count + 1, s).

    Not rounded; infinite at distance 0, and 0 for a value that cannot occur.
    """
    from reticent.redaction import kernels

    steps = chain.transitions if direction > 0 else chain.backs
    live = chain.law(record) > 0
    out = np.full((count + 1, chain.size), np.inf)
    law = np.diag(live.astype(np.float64))
    for first in range(1, count + 1, AT_ONCE):
        part = out[first : first + AT_ONCE]
        start = record + direction * (first - 1)
        laws = kernels.unseen(steps, chain.phase, start, direction, law, frozen(np.ones((len(part) + 1, chain.size))))
        law = laws[-1]
        least, most = laws[1:, live].min(axis=1), laws[1:, live].max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            part[:] = np.where(most > 0, np.log(most) - np.log(least), 0.0)
    return out


def _direction(chain: MarkovChain, side: str) -> tuple[Floats, int]:
    if side not in ("left", "right"):
        raise ArgumentError("side: must be 'left' or 'right'")
    return (chain.transitions, 1) if side == "right" else (chain.backs, -1)
