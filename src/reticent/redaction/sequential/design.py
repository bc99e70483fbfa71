"""The best walk within a budget: a linear programme, repaired and checked, or the greedy law where that is as good."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats
from reticent.redaction.sequential.walks import Walk, onward, setting

THOROUGH, QUICK = 1500, 120  # records at which a linear programme may release first, at the end and while searching


@lru_cache(maxsize=4096)
def best_walk(
    chain: MarkovChain, direction: int, pattern: bytes, joined: bool, epsilon: float, thorough: bool
) -> tuple[float, Floats] | None:
    """The walk of the largest expected release within `epsilon` nats, or None where there is none.

    Parameters
    ----------
    chain : MarkovChain
        Shifted so that record 0 is the walk's start.
    direction : {-1, 1}
    pattern : bytes
        ``present``: which distances 0 … count can be released, one byte each.
    joined : bool
        Whether a record beyond the last may be seen though nothing was released before it.
    epsilon : float
    thorough : bool
        Let the linear programme release first at every record (up to a limit); otherwise at a few, spread evenly.

    Returns
    -------
    (expected releases, release (h + 1, s, s)), or None

    Notes
    -----
    The greedy B = min(D, e^ε min_x' D) releases at each record as much as can be. At ε = 0 no mechanism releases more
    (the proof is in docs/redaction.md). At ε > 0 it can pay to hold back: what is withheld with one value of the secret
    lets more be released with another, later; and the last event may ask for it. A linear programme knows how much. The
    better of the two is taken, since a programme of few places can lose to the greedy law. Each is mixed with "release
    nothing at all" (with a probability η that does not depend on the secret), which leaves the ratios of B as they are
    and brings the last event within e^ε: all of the repair that the programme's tolerances ask for, and next to nothing
    where the walk is long.
    """
    present = np.frombuffer(pattern, dtype=np.bool_)
    margin = 4 * _rounding(chain.size, present.size + 1)
    while True:
        inner = max(0.0, epsilon - margin)
        found = _best(chain, direction, present, joined, inner, thorough)
        if found is None or inner == 0:
            return found
        excess = _leak(chain, direction, present, joined, found[1]) - epsilon
        if excess <= 0:
            return found
        margin = 4 * max(margin, excess)


def _leak(chain: MarkovChain, direction: int, present: Bools, joined: bool, release: Floats) -> float:
    walk = Walk(0, direction, present.size - 1, joined, release, present)
    return float(walk.seen(chain, (0, 0)).max())


def _best(
    chain: MarkovChain, direction: int, present: Bools, joined: bool, inner: float, thorough: bool
) -> tuple[float, Floats] | None:
    """The best of the greedy law, the programme's, and releasing nothing at all; None where each shows too much."""
    free = np.full((present.size, chain.size, chain.size), np.inf)
    laws = [_mixed(chain, direction, present, joined, inner, targets) for targets in (free, np.zeros_like(free))]
    if inner > 0 and present.any():
        places = _places(chain, direction, present, THOROUGH if thorough else QUICK)
        targets = programme(chain, direction, present, places, joined, inner)
        if targets is not None:
            laws.append(_mixed(chain, direction, present, joined, inner, targets))
    return max((law for law in laws if law is not None), key=lambda law: law[0], default=None)


def _places(chain: MarkovChain, direction: int, present: Bools, limit: int) -> NDArray[np.int64]:
    """Distances at which a programme may release first: as far as perfect privacy would still withhold something."""
    from reticent.redaction.sequential import kernels

    free = np.full((present.size, chain.size, chain.size), np.inf)
    _, first, _ = kernels.carry(*setting(chain, 0, direction), present, free, 0.0)
    left = 1 - first.sum(axis=2).max(axis=1).cumsum()
    places = np.flatnonzero(present & (np.concatenate([[1.0], left[:-1]]) > 1e-11))
    if places.size > limit:
        places = np.unique(places[np.linspace(0, places.size - 1, limit).astype(np.int64)])
    return places


def _rounding(size: int, distance: int) -> float:
    from reticent.redaction import kernels

    return kernels.rounding(size, distance)


def _mixed(
    chain: MarkovChain, direction: int, present: Bools, joined: bool, epsilon: float, targets: Floats
) -> tuple[float, Floats] | None:
    """Carry the targets out, mixed with "nothing" as far as the last event asks; None where no mixture is enough."""
    from reticent.redaction.sequential import kernels

    place = setting(chain, 0, direction)
    release, first, rest = kernels.carry(*place, present, targets, epsilon)
    eta = _needed(chain, direction, present.size - 1, joined, epsilon, rest)
    if eta is None:
        return None
    if eta > 0:
        eta = min(1.0, eta * (1 + 1e-9) + 1e-15)
        release, first, rest = kernels.carry(*place, present, (1 - eta) * first, epsilon)
    used = np.flatnonzero(release.any(axis=(1, 2)))
    return _value(chain, first, present), release[: used[-1] + 1 if used.size else 1]


def _value(chain: MarkovChain, first: Floats, present: Bools) -> float:
    return float(np.einsum("x,txv,t->", chain.law(0), first, onward(present)))


def _needed(chain: MarkovChain, direction: int, count: int, joined: bool, epsilon: float, rest: Floats) -> float | None:
    """Least probability η of releasing nothing that brings the last event within e^ε; None where none does.

    Of the last event, "nothing was released" (or also "and then v is seen"), let F(x) be the probability and Q(x) that
    of the same without any release (one, or that of v at this distance). The mixture (1-η)F + ηQ has to satisfy
    (1-η)F(x) + ηQ(x) ≤ e^ε ((1-η)F(x') + ηQ(x')).
    """
    from reticent.redaction.sequential import kernels

    live = chain.law(0) > 0
    if joined:
        hops = kernels.hops(
            *setting(chain, 0, direction)[:4], np.array([count]) if count else np.empty(0, np.int64), count
        )
        last = rest @ hops[-1]
        without = hops[0] @ hops[1] if count else hops[0]
    else:
        last, without = rest.sum(axis=1, keepdims=True), np.ones((chain.size, 1))
    last, without = last[live], without[live]
    factor = math.exp(epsilon)
    excess = last[:, None] - factor * last[None, :]
    room = factor * without[None, :] - without[:, None]
    if epsilon == 0:  # equal but for rounding, where the greedy law releases as much from every secret
        excess[excess <= 1e-11 * last[:, None]] = 0.0
    if ((excess > 0) & (room <= 0)).any():
        return None
    odds = np.divide(excess, room, out=np.zeros_like(excess), where=excess > 0)
    most = float(odds.max(initial=0.0))
    return most / (1 + most)


def programme(
    chain: MarkovChain, direction: int, present: Bools, places: NDArray[np.int64], joined: bool, epsilon: float
) -> Floats | None:
    """The optimum law B of first releases at some distances, as a linear programme; None where the solver finds none.

    Variables are C_j(x, v) = Pr(nothing yet, value v | x) after each place j, so that B_j = C_{j-1} P_j - C_j. What is
    withheld is the sum of all π(x) C_j(x, v), each times the records from place j up to the next.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    from reticent.redaction.sequential import kernels

    live = np.flatnonzero(chain.law(0) > 0)
    size, rows, m = chain.size, live.size, places.size
    hops = kernels.hops(*setting(chain, 0, direction)[:4], places, present.size - 1)
    order = np.arange(m * rows * size).reshape(m, rows, size)
    into, out_of = order[1:, :, None, :], order[:-1, :, :, None]  # C_{j-1}(x, u) adds hop(u, v) to B_j(x, v)
    shape = (m - 1, rows, size, size)
    first = sparse.coo_array(
        (
            np.concatenate([np.full(order.size, -1.0), np.broadcast_to(hops[1:m, None], shape).ravel()]),
            (
                np.concatenate([order.ravel(), np.broadcast_to(into, shape).ravel()]),
                np.concatenate([order.ravel(), np.broadcast_to(out_of, shape).ravel()]),
            ),
        ),
        shape=(order.size, order.size),
    ).tocsr()  # B = first @ C + constant
    constant = np.zeros(order.size)
    constant[: rows * size] = hops[0][live].ravel()
    onto = hops[m] if joined else np.ones((size, 1))
    last = sparse.kron(sparse.eye_array(rows), onto.T)  # of C at the last place: what is seen at the end
    last = sparse.hstack([sparse.csr_array((last.shape[0], order.size - rows * size)), last]).tocsr()
    ending = np.arange(last.shape[0]).reshape(rows, -1)
    factor = math.exp(epsilon)
    pairs = [(x, y) for x in range(rows) for y in range(rows) if x != y]
    larger, smaller = (np.concatenate([order[:, pair[i]].ravel() for pair in pairs]) for i in (0, 1))
    more, less = (np.concatenate([ending[pair[i]] for pair in pairs]) for i in (0, 1))
    bounds = sparse.vstack([-first, first[larger] - factor * first[smaller], last[more] - factor * last[less]])
    limits = [constant, factor * constant[smaller] - constant[larger], np.zeros(more.size)]
    wait = -np.diff(np.append(onward(present)[places], 0.0))
    cost = np.kron(wait, np.repeat(chain.law(0)[live], size))
    found = linprog(cost, A_ub=bounds.tocsr(), b_ub=np.concatenate(limits), bounds=(0, None), method="highs-ds")
    if not found.success:
        return None
    law = np.zeros((present.size, size, size))
    law[np.ix_(places, live)] = np.maximum(0.0, first @ found.x + constant).reshape(m, rows, size)
    return law
