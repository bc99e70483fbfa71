"""Data-independent redaction: withhold a window around each secret, release everything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, RefusedError
from reticent.markov import MarkovChain
from reticent.redaction.influence import delta_star, max_influence
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
    covered,
    possible_ends,
)
from reticent.redaction.nearby import NEGLIGIBLE, around, influences
from reticent.redaction.policy import RedactionPolicy

Ints = NDArray[np.int64]


def markov_quilt(
    chain: Chains,
    n: int,
    private: Private,
    epsilon: float,
    variant: str = "exact",
    missing: Sequence[int] | NDArray[Any] = (),
) -> RedactionPolicy:
    """Windows of withheld records around the secrets, as small as ε allows.

    Parameters
    ----------
    chain, n, private, missing
        As for `RedactionPolicy`.
    epsilon : float
        Nats.
    variant : {"exact", "published"}
        ``"exact"``: the windows that withhold the fewest records among all whose exact leakage is at most ε, a side
        wholly withheld and a gap between secrets wholly withheld included. ``"published"``: the paper's Algorithm 1 as
        printed, mirrored for a record beyond the middle; its radius Δ⋆ is one more than needed (erratum 6).

    Raises
    ------
    ArgumentError
        Bad arguments, or a variant that does not exist.
    """
    chains = as_chains(chain)
    secrets = as_secrets(private, n)
    epsilon = as_epsilon(epsilon)
    gaps = as_records(missing, n)
    if variant not in ("exact", "published"):
        raise ArgumentError("variant: must be 'exact' or 'published'")
    if variant == "exact":
        return kept(around(chains, n, secrets, epsilon, gaps, exact))
    first, last = published_window(*published_setting(chains, n, secrets, gaps), epsilon)
    window = np.ones((last - first + 1, chains[0].size))
    return kept(RedactionPolicy.around(chains, n, first, window, list(secrets), gaps, epsilon))


def exact(
    chains: tuple[MarkovChain, ...], n: int, secrets: tuple[Secret, ...], epsilon: float, missing: tuple[int, ...]
) -> Floats:
    """The probabilities of the exact windows, shape (n, s)."""
    r = np.zeros((n, chains[0].size))
    r[withheld(chains, n, secrets, epsilon, missing)] = 1.0
    return r


def kept(policy: RedactionPolicy) -> RedactionPolicy:
    """`policy`, if its exact leakage is at most its ε (every sound design ends here)."""
    if policy.epsilon is None or policy.leakage() > policy.epsilon:
        raise RefusedError(f"epsilon: the design leaks {policy.leakage():.6g} nats, more than was asked for")
    return policy


def published_setting(
    chains: Sequence[MarkovChain], n: int, secrets: Sequence[Secret], missing: Sequence[int]
) -> tuple[MarkovChain, int, int]:
    """(chain, n, private record), where the paper's mechanisms exist.

    Raises
    ------
    ArgumentError
        Anything but one stationary chain of two states, one private record and no missing ones.
    """
    chain, (first, last) = chains[0], secrets[0]
    steps = chain.transitions[0]
    if (
        len(chains) > 1
        or chain.period > 1
        or chain.size != 2
        or len(secrets) > 1
        or first != last
        or missing
        or not 0 < steps[0, 1] < 1
        or not 0 < steps[1, 0] < 1
    ):
        raise ArgumentError(
            "variant: the published mechanisms exist for one stationary chain of two states (0 < α, β < 1), one "
            "private record and no missing ones; use the sound variant"
        )
    return chain, n, first


def published_window(chain: MarkovChain, n: int, private: int, epsilon: float) -> Secret:
    """First and last record that the paper's Algorithm 1 withholds."""
    mirrored = private > n - 1 - private
    p = 1 + (n - 1 - private if mirrored else private)
    whole, half = delta_star(chain, epsilon, n), delta_star(chain, epsilon / 2, n)
    both = max_influence(chain, n + 1 - p) + max_influence(chain, p - 1)
    if p == 1 or epsilon < both or math.isinf(half) or p + whole - 2 * half < 0:
        before, after = p - 1, int(min(whole, n - p))
    else:
        before = after = int(half)
    first, last = max(1, p - before) - 1, min(n, p + after) - 1
    return (n - 1 - last, n - 1 - first) if mirrored else (first, last)


def data_independent_bound(
    chain: MarkovChain, n: int, private: int, epsilon: float, variant: str = "corrected"
) -> float:
    """DIM-UB: a utility that no data-independent mechanism exceeds (the paper, Theorem 2).

    Parameters
    ----------
    chain, n, private
        One stationary chain of two states, one private record; mirrored beyond the middle.
    epsilon : float
        Nats.
    variant : {"corrected", "published"}
        With R_2 = 2Δ⋆(ε/2)-2, or -1 as printed, which is exceeded (erratum 12).
    """
    if variant not in ("corrected", "published"):
        raise ArgumentError("variant: must be 'corrected' or 'published'")
    return _piecewise(chain, n, private, epsilon, 2 if variant == "corrected" else 1, 0)


def published_quilt_utility(chain: MarkovChain, n: int, private: int, epsilon: float) -> float:
    """ν_MQ, the paper's bound on the utility of its Algorithm 1 (Appendix B)."""
    return _piecewise(chain, n, private, epsilon, 1, 2)


def _piecewise(chain: MarkovChain, n: int, private: int, epsilon: float, less: int, more: int) -> float:
    """The cases of Theorem 2: nothing, one-sided (R_1), or the better of it and two-sided (R_2 = 2Δ⋆(ε/2) - less).

    Where both are possible, `more` records are withheld on top.
    """
    published_setting(as_chains(chain), n, as_secrets(private, n), ())
    epsilon = as_epsilon(epsilon)
    p = 1 + min(private, n - 1 - private)
    far, near = max_influence(chain, n - p), max_influence(chain, p - 1)
    if epsilon < far:
        return 0.0
    withheld_records = delta_star(chain, epsilon, n) + p - 1
    if epsilon >= near + far:
        withheld_records = min(withheld_records, 2 * delta_star(chain, epsilon / 2, n) - less) + more
    return max(0.0, 1 - withheld_records / n)


def necessary_epsilon(chain: MarkovChain, private: int, n: int, before: int, after: int) -> float:
    """Least ε of a mechanism that withholds `before` and `after` records around a private one (Corollary 1).

    Exact for two states where ``before + after`` is even or one side is wholly withheld.
    """
    left = max_influence(chain, before + 1, "left", private) if before < private else 0.0
    right = max_influence(chain, after + 1, "right", private) if after < n - 1 - private else 0.0
    return left + right


def withheld(
    chains: Sequence[MarkovChain], n: int, secrets: Sequence[Secret], epsilon: float, missing: Sequence[int]
) -> Bools:
    """The smallest set of records to withhold, shape (n,).

    A set matters only through the nearest released record on each side of each secret, and in a gap between two
    secrets everything between the first and the last released record may be released too. So the gaps are taken from
    left to right: a *cluster* of secrets without a release between them sees the last release h before it, which
    fixes the first release after it; the cheapest chain of clusters is found by dynamic programming.
    """
    needs = [_needs(chains, n, secret, epsilon) for secret in secrets]
    halves = [_half(chains, n, secret, epsilon) for secret in secrets]
    present = ~covered(secrets, n)
    present[list(missing)] = False
    lost = np.concatenate([[0], np.cumsum(present)])  # lost[j] - lost[i]: what withholding i … j-1 costs
    following = np.minimum.accumulate(np.where(present, np.arange(n), n)[::-1])[::-1]
    following = np.append(following, n)  # the first record at or after t that can be released, or n

    # cost[j][R]: least cost of all before gap j, where R is the first release in gap j (the gap before secret j)
    bounds = [(0, secrets[0][0])] + [(a[1] + 1, b[0]) for a, b in pairwise(secrets)]
    bounds.append((secrets[-1][1] + 1, n + 1))  # of the last gap, position n stands for no release at all
    cost = [np.full(stop - start, np.inf) for start, stop in bounds]
    origin: list[NDArray[Any]] = [np.full((stop - start, 3), -1, dtype=np.int64) for start, stop in bounds]
    for j in range(len(secrets)):
        start, stop = bounds[j]
        places = np.arange(start, stop)
        before, first_release = _running_least(cost[j])
        price = before + (lost[stop] - lost[places + 1]) if j else lost[stop] - lost[places + 1].astype(float)
        price = np.where(present[places], price, np.inf)
        if j == 0:  # nothing released on the left of the first secret: position -1
            places, price = np.append(places, -1), np.append(price, float(lost[stop]))
            first_release = np.append(np.zeros(stop - start, dtype=np.int64), -1)
        release = np.zeros(places.size, dtype=np.int64)
        for k in range(j, len(secrets)):
            a, b = secrets[k]
            distance = np.where(places < 0, 0, np.minimum(a - places, len(needs[k][0]) - 1))
            need = needs[k][0][distance]
            release = np.maximum(
                release, np.where(need < needs[k][1], b + need, np.where(need > needs[k][1], n + 1, n))
            )
            release = np.where(release < n, following[np.minimum(release, n)], release)
            begin, end = bounds[k + 1]
            fits = np.isfinite(price) & (release >= begin) & (release < end)
            total = price + (lost[np.minimum(release, n)] - lost[stop])
            order = np.flatnonzero(fits)
            order = order[np.argsort(-total[order], kind="stable")]  # the cheapest is written last, and stays
            slots = release[order] - begin
            best, choice = np.full(end - begin, np.inf), np.empty((end - begin, 3), dtype=np.int64)
            best[slots] = total[order]
            choice[slots, 0], choice[slots, 1], choice[slots, 2] = j, places[order], first_release[order]
            better = best < cost[k + 1]
            cost[k + 1][better], origin[k + 1][better] = best[better], choice[better]
            if k + 1 < len(secrets) and end - begin > 2 * (halves[k] + halves[k + 1]):
                break  # withholding the whole gap costs more than two windows of half the budget
    return ~_released(n, secrets, bounds, cost, origin, present)


def _released(
    n: int,
    secrets: Sequence[Secret],
    bounds: Sequence[Secret],
    cost: Sequence[Floats],
    origin: Sequence[NDArray[Any]],
    present: Bools,
) -> Bools:
    """Trace the cheapest chain of clusters back, from the last gap to the first."""
    released = np.zeros(n, dtype=np.bool_)
    gap = len(secrets)
    slot = int(np.argmin(cost[gap]))
    released[bounds[gap][0] + slot :] = True
    while gap > 0:
        gap, place, first = (int(value) for value in origin[gap][slot])
        if place < 0:
            break
        begin = bounds[gap][0] + first if gap else 0
        released[begin : place + 1] = True
        slot = first
    return released & present


def _running_least(cost: Floats) -> tuple[Floats, Ints]:
    """Running minimum, and where it was reached."""
    least = np.minimum.accumulate(cost)
    fresh = np.concatenate([[True], least[1:] < least[:-1]]) if cost.size else np.empty(0, dtype=np.bool_)
    return least, np.maximum.accumulate(np.where(fresh, np.arange(cost.size), 0))


def _needs(chains: Sequence[MarkovChain], n: int, secret: Secret, epsilon: float) -> tuple[Ints, int]:
    """Least right distance for each left distance (0: nothing on the left), and the code for "nothing on the right"."""
    from reticent.redaction import kernels

    found = []
    for chain in chains:
        left, right = influences(chain, n, secret, epsilon * NEGLIGIBLE)
        found.append((kernels.least_right(left, right, possible_ends(chain, secret), epsilon), len(right)))
    nothing = max(size for _, size in found)
    length = max(len(need) for need, _ in found)
    aligned = []
    for need, size in found:
        shifted = np.where(need >= size, need - size + nothing, need)
        aligned.append(np.concatenate([shifted, np.full(length - len(need), shifted[-1])]))
    return np.max(aligned, axis=0), nothing


def _half(chains: Sequence[MarkovChain], n: int, secret: Secret, epsilon: float) -> int:
    """Distance at which the influence on either side is at most ε/2 (n where it never is)."""
    tables = [table for chain in chains for table in influences(chain, n, secret, epsilon / 2)]
    return max((len(table) if table[-1].max() <= epsilon / 2 else n) for table in tables)
