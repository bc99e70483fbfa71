"""Secrets, and the exact leakage of a local policy about them.

A local policy withholds record t with probability ``r[t, v]`` where its value is v, each record on its own. Once a
record is released, everything beyond it is independent of the secret; so what is seen on one side of a secret is the
run of withheld records and the first released one, and the walk of `kernels.walk` meets every such event. *Derived
here*; the paper's Lemmas 1 and 2, Corollary 2 and Eq. 19 are special cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.markov import MarkovChain

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Secret: TypeAlias = tuple[int, int]
Private: TypeAlias = int | tuple[int, int] | Sequence[int | tuple[int, int]]
Chains: TypeAlias = MarkovChain | Sequence[MarkovChain]

TOLERANCE = 1e-9
"""Nats by which a sequential design may exceed its ε (a local one never does): far below what anyone can observe."""


def as_secrets(private: Private, n: int) -> tuple[Secret, ...]:
    """`private` as sorted intervals (first, last), both ends included.

    Raises
    ------
    ArgumentError
        A length that is none; no secret, an index that is not an integer, out of range, or in two secrets.
    """
    if not _is_index(n) or n < 1:
        raise ArgumentError("n: must be a whole number of records, one or more")
    if isinstance(private, tuple) and len(private) == 2 and all(_is_index(end) for end in private):
        items: Sequence[Any] = [private]
    else:
        items = list(private) if isinstance(private, Iterable) else [private]
    secrets = []
    for item in items:
        ends = (item, item) if _is_index(item) else tuple(item) if isinstance(item, tuple | list) else ()
        if len(ends) != 2 or not all(_is_index(end) for end in ends):
            raise ArgumentError("private: give a record, an interval (first, last) of records, or a list of these")
        first, last = int(ends[0]), int(ends[1])
        if not 0 <= first <= last < n:
            raise ArgumentError(f"private: a secret lies outside the records 0 to {n - 1}, or ends before it begins")
        secrets.append((first, last))
    secrets.sort()
    if not secrets:
        raise ArgumentError("private: there is no secret; give at least one record")
    if any(a[1] >= b[0] for a, b in pairwise(secrets)):
        raise ArgumentError("private: two secrets overlap; merge them into one interval, or separate them")
    return tuple(secrets)


def _is_index(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_chains(chain: Chains) -> tuple[MarkovChain, ...]:
    """One chain or several over the same states, as a tuple.

    Raises
    ------
    ArgumentError
        No chain, different states, or an entry too small to be told from zero.
    """
    chains = (chain,) if isinstance(chain, MarkovChain) else tuple(chain)
    if not chains or not all(isinstance(one, MarkovChain) for one in chains):
        raise ArgumentError("chain: give a MarkovChain, or a list of these")
    for one in chains:
        if one.states != chains[0].states:
            raise ArgumentError("chain: all listed chains must have the same states in the same order")
        for steps in (one.transitions, one.backs):
            if ((steps > 0) & (steps < 1e-100)).any():
                raise ArgumentError("chain: a probability below 1e-100 cannot be told from zero; write zero")
    return chains


def as_epsilon(epsilon: float) -> float:
    """`epsilon` as a float; negative, NaN and infinite ones are refused."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.integer | np.floating):
        raise ArgumentError(f"epsilon: {type(epsilon).__name__} is not a number of nats")
    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise ArgumentError("epsilon: must be a finite number of nats, zero or more")
    return float(epsilon)


def as_records(records: Sequence[int] | NDArray[Any], n: int) -> tuple[int, ...]:
    """Indices of missing records, sorted and distinct."""
    return tuple(sorted_records(records, n).tolist())


def sorted_records(records: Sequence[int] | NDArray[Any], n: int) -> NDArray[np.int64]:
    """Indices of missing records, sorted and distinct, as an array: of many a tuple takes five times as much."""
    found = np.asarray(records)
    if found.ndim != 1 or (found[1:] <= found[:-1]).any():
        found = np.unique(found)
    if found.size and (not np.issubdtype(found.dtype, np.integer) or found[0] < 0 or found[-1] >= n):
        raise ArgumentError(f"missing: must be indices of records, from 0 to {n - 1}")
    return found.astype(np.int64)


def covered(intervals: Sequence[Secret], n: int) -> Bools:
    """Which of n records lie in one of the intervals."""
    mask = np.zeros(n, dtype=np.bool_)
    for first, last in intervals:
        mask[first : last + 1] = True
    return mask


def runs(mask: Bools) -> list[Secret]:
    """Maximal intervals (first, last) of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(first), int(end) - 1) for first, end in edges.reshape(-1, 2)]


def possible_ends(chain: MarkovChain, secret: Secret) -> NDArray[np.int64]:
    """Pairs of values of the two end records that have positive probability, shape (pairs, 2)."""
    first, last = secret
    return np.argwhere(_reach(chain, first, last) & (chain.law(first) > 0)[:, None])


def _reach(chain: MarkovChain, first: int, last: int) -> Bools:
    """Which values of record `last` can follow which of record `first`: (s, s) bool; whole periods by squaring."""
    out = np.eye(chain.size, dtype=np.bool_)
    periods, rest = divmod(last - first, chain.period)
    if periods:
        cycle = _steps(chain, first, chain.period)
        while periods:
            if periods % 2:
                out = out @ cycle
            cycle = cycle @ cycle
            periods //= 2
    return out @ _steps(chain, last - rest, rest)


def _steps(chain: MarkovChain, first: int, count: int) -> Bools:
    """Which values can follow which after `count` steps from record `first`."""
    out = np.eye(chain.size, dtype=np.bool_)
    for t in range(first, first + count):
        out = out @ (chain.step(t) > 0)
    return out


def frozen(array: Floats) -> Floats:
    """The same array, read-only: what the kernels take."""
    view = array.view()
    view.flags.writeable = False
    return view


def sides(chain: MarkovChain, r: Floats, secret: Secret) -> tuple[Floats, Floats]:
    """Largest log-ratios seen left and right of a secret, each (s, s) and indexed by its two candidate end values."""
    from reticent.redaction import kernels

    first, last = secret
    n, r = len(r), frozen(r)
    left = kernels.walk(chain.backs, chain.phase, r, first, -1, first, chain.law(first) > 0)
    right = kernels.walk(chain.transitions, chain.phase, r, last, 1, n - 1 - last, chain.law(last) > 0)
    return left, right


def local_leakage(chain: MarkovChain, r: Floats, secret: Secret) -> float:
    """Exact leakage about one secret, in nats, of the local policy `r` (n, s); rounded up.

    Parameters
    ----------
    chain : MarkovChain
    r : array, shape (n, s)
        Probabilities of redaction; one inside the secret.
    secret : (int, int)

    Notes
    -----
    Both sides are independent given the secret, so the largest ratio is that of the worst pair of realisations, of
    which only the end values count: for one record max over x ≠ x' of left[x, x'] + right[x, x'].
    """
    from reticent.redaction import kernels

    left, right = sides(chain, r, secret)
    return float(kernels.combine(left, right, possible_ends(chain, secret)))
