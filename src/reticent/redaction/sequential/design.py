"""The best walk within a budget: a linear programme, repaired and checked, or the greedy law where that is as good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats
from reticent.redaction.sequential.walks import Walk, onward, setting, stride

THOROUGH, QUICK = 1500, 120  # records at which a linear programme may release first, at the end and while searching
AT_FIRST = 1 << 12  # distances among which the end of a walk is looked for first; fewer are designed as a whole
HOPELESS = 1 << 16  # records of which none can be released, so that none is looked for beyond


def horizon(chain: MarkovChain, direction: int, present: Bools, epsilon: float, near: int) -> int:
    """Distance up to which a walk is to be designed: beyond it the greedy law has next to nothing left to release.

    Parameters
    ----------
    chain, direction, epsilon
        As for `best_walk`.
    present : bool, shape (count + 1,)
        Which distances 0 … count can be released.
    near : int
        The least distance that will do.

    Notes
    -----
    Where of many records none can be released at all none is expected to be. To withhold what lies beyond is sound
    anyway, since a walk is analysed as it is cut.
    """
    from reticent.redaction.sequential import kernels

    count = present.size - 1
    if count <= near:
        return count
    last = count - int(np.argmax(present[::-1])) if present.any() else 0
    while near < last:
        here = np.ascontiguousarray(present[: near + 1])
        free = np.full((near + 1, chain.size, chain.size), np.inf)
        _, first, _, walking = kernels.carry(*setting(chain, 0, direction), here, free, epsilon)
        if not walking or (np.count_nonzero(here) >= HOPELESS and not first.any()):
            return near
        near *= 4
    return last


@lru_cache(maxsize=4096)
def best_walk(
    chain: MarkovChain,
    direction: int,
    pattern: bytes,
    more: int,
    far: int,
    joined: bool,
    epsilon: float,
    thorough: bool,
) -> tuple[float, Floats] | None:
    """The walk of the largest expected release within `epsilon` nats, or None where there is none.

    Parameters
    ----------
    chain : MarkovChain
        Shifted so that record 0 is the walk's start.
    direction : {-1, 1}
    pattern : bytes
        ``present``: which distances 0 … h can be released first, one byte each.
    more, far : int
        How many records are there beyond these, and how many steps until the end of the walk.
    joined : bool
        Whether a record beyond the last may be seen though nothing was released before it.
    epsilon : float
    thorough : bool
        Let the linear programme release first at every record (up to a limit); otherwise at a few, spread evenly.

    Returns
    -------
    (expected releases, release (at most h + 1, s, s)), or None

    Notes
    -----
    The greedy B = min(D, e^ε min_x' D) releases at each record as much as can be. At ε = 0 no mechanism releases more
    (the proof is in docs/redaction.md). At ε > 0 it can pay to hold back: what is withheld with one value of the secret
    lets more be released with another, later; and the last event may ask for it. A linear programme knows how much. The
    better of the two is taken, since a programme of few places can lose to the greedy law. Each is mixed with "release
    nothing at all" (with a probability η that does not depend on the secret), which leaves the ratios of B as they are
    and brings the last event within e^ε: all of the repair that the programme's tolerances ask for, and next to nothing
    where the walk is long.

    *The cut at h is exact*: nothing is first released beyond it, so what lies there adds `more` to what follows a
    release, and has two effects on the last event. If the series ends there, none: the rows of C·P^far have the sums
    of C, as those of every P are one. If it is joined, C·P^far is what "nothing, and then v" has: `stride` gives P^far.
    """
    ahead = Ahead(chain, direction, np.frombuffer(pattern, dtype=np.bool_), more, far, joined)
    margin = 4 * _rounding(chain.size, ahead.count + 2)
    while True:
        inner = max(0.0, epsilon - margin)
        found = _best(ahead, inner, thorough)
        if found is None or inner == 0:
            return found
        excess = _leak(ahead, found[1]) - epsilon
        if excess <= 0:
            return found
        margin = 4 * max(margin, excess)


@dataclass(frozen=True)
class Ahead:
    """What `best_walk` has before it."""

    chain: MarkovChain
    direction: int
    present: Bools
    more: int
    far: int
    joined: bool

    @property
    def near(self) -> int:
        """The last distance at which something may be released first."""
        return self.present.size - 1

    @property
    def count(self) -> int:
        """Records of the whole walk."""
        return self.near + self.far

    @property
    def place(self) -> tuple[Floats, int, int, int, Bools]:
        """What every compiled walk asks for first."""
        return setting(self.chain, 0, self.direction)

    @property
    def onward(self) -> Floats:
        """Records from each distance outward that are released once one is, shape (h + 1,)."""
        return onward(self.present, self.more)

    def hops(self, places: NDArray[np.int64]) -> Floats:
        """Laws from each of some distances to the next, the first from the secret, the last to beyond the walk."""
        from reticent.redaction.sequential import kernels

        hops = kernels.hops(*self.place[:4], places, self.near)
        if self.joined and self.far:
            hops[-1] = hops[-1] @ stride(self.chain, self.direction, self.direction * (self.near + 1), self.far)
        return hops


def _leak(ahead: Ahead, release: Floats) -> float:
    walk = Walk(0, ahead.direction, ahead.count, ahead.joined, release, ahead.present)
    return float(walk.seen(ahead.chain, (0, 0)).max())


def _best(ahead: Ahead, inner: float, thorough: bool) -> tuple[float, Floats] | None:
    """The best of the greedy law, that of perfect privacy, the programme's, and releasing nothing at all; None where
    each shows too much.
    """
    free = np.full((ahead.near + 1, ahead.chain.size, ahead.chain.size), np.inf)
    laws = [_mixed(ahead, inner, free), _mixed(ahead, 0.0, free), _mixed(ahead, inner, np.zeros_like(free))]
    if inner > 0 and ahead.present.any() and np.count_nonzero(ahead.chain.law(0)) > 1:  # else there is nothing to hide
        targets = programme(ahead, _places(ahead, THOROUGH if thorough else QUICK), inner)
        if targets is not None:
            laws.append(_mixed(ahead, inner, targets))
    return max((law for law in laws if law is not None), key=lambda law: law[0], default=None)


def _places(ahead: Ahead, limit: int) -> NDArray[np.int64]:
    """Distances at which a programme may release first: as far as perfect privacy would still withhold something."""
    from reticent.redaction.sequential import kernels

    free = np.full((ahead.near + 1, ahead.chain.size, ahead.chain.size), np.inf)
    first = kernels.carry(*ahead.place, ahead.present, free, 0.0)[1]
    left = 1 - first.sum(axis=2).max(axis=1).cumsum()
    places = np.flatnonzero(ahead.present & (np.concatenate([[1.0], left[:-1]]) > 1e-11))
    if places.size > limit:
        places = np.unique(places[np.linspace(0, places.size - 1, limit).astype(np.int64)])
    return places


def _rounding(size: int, distance: int) -> float:
    from reticent.redaction import kernels

    return kernels.rounding(size, distance)


def _mixed(ahead: Ahead, epsilon: float, targets: Floats) -> tuple[float, Floats] | None:
    """Carry the targets out, mixed with "nothing" as far as the last event asks; None where no mixture is enough."""
    from reticent.redaction.sequential import kernels

    release, first, rest, _ = kernels.carry(*ahead.place, ahead.present, targets, epsilon)
    eta = _needed(ahead, epsilon, rest)
    if eta is None:
        return None
    if eta > 0:
        eta = min(1.0, eta * (1 + 1e-9) + 1e-15)
        release, first, rest, _ = kernels.carry(*ahead.place, ahead.present, (1 - eta) * first, epsilon)
    used = np.flatnonzero(release.any(axis=(1, 2)))
    return _value(ahead, first), release[: used[-1] + 1 if used.size else 1]


def _value(ahead: Ahead, first: Floats) -> float:
    return float(np.einsum("x,txv,t->", ahead.chain.law(0), first, ahead.onward))


def _needed(ahead: Ahead, epsilon: float, rest: Floats) -> float | None:
    """Least probability η of releasing nothing that brings the last event within e^ε; None where none does.

    Of the last event, "nothing was released" (or also "and then v is seen"), let F(x) be the probability and Q(x) that
    of the same without any release (one, or that of v at this distance). The mixture (1-η)F + ηQ has to satisfy
    (1-η)F(x) + ηQ(x) ≤ e^ε ((1-η)F(x') + ηQ(x')).
    """
    live = ahead.chain.law(0) > 0
    if ahead.joined:
        hops = ahead.hops(np.array([ahead.near] if ahead.near else [], dtype=np.int64))
        last = rest @ hops[-1]
        without = hops[0] @ hops[1] if ahead.near else hops[0]
    else:
        last, without = rest.sum(axis=1, keepdims=True), np.ones((ahead.chain.size, 1))
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


def programme(ahead: Ahead, places: NDArray[np.int64], epsilon: float) -> Floats | None:
    """The optimum law B of first releases at some distances, as a linear programme; None where the solver finds none.

    Variables are C_j(x, v) = Pr(nothing yet, value v | x) after each place j, so that B_j = C_{j-1} P_j - C_j. What is
    withheld is the sum of all π(x) C_j(x, v), each times the records from place j up to the next.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    live = np.flatnonzero(ahead.chain.law(0) > 0)
    size, rows, m = ahead.chain.size, live.size, places.size
    hops = ahead.hops(places)
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
    onto = hops[m] if ahead.joined else np.ones((size, 1))
    last = sparse.kron(sparse.eye_array(rows), onto.T)  # of C at the last place: what is seen at the end
    last = sparse.hstack([sparse.csr_array((last.shape[0], order.size - rows * size)), last]).tocsr()
    ending = np.arange(last.shape[0]).reshape(rows, -1)
    factor = math.exp(epsilon)
    pairs = [(x, y) for x in range(rows) for y in range(rows) if x != y]
    larger, smaller = (np.concatenate([order[:, pair[i]].ravel() for pair in pairs]) for i in (0, 1))
    more, less = (np.concatenate([ending[pair[i]] for pair in pairs]) for i in (0, 1))
    bounds = sparse.vstack([-first, first[larger] - factor * first[smaller], last[more] - factor * last[less]])
    limits = [constant, factor * constant[smaller] - constant[larger], np.zeros(more.size)]
    wait = -np.diff(np.append(ahead.onward[places], 0.0))
    cost = np.kron(wait, np.repeat(ahead.chain.law(0)[live], size))
    found = linprog(cost, A_ub=bounds.tocsr(), b_ub=np.concatenate(limits), bounds=(0, None), method="highs-ds")
    if not found.success:
        return None
    law = np.zeros((ahead.near + 1, size, size))
    law[np.ix_(places, live)] = np.maximum(0.0, first @ found.x + constant).reshape(m, rows, size)
    return law
