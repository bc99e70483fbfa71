"""Local designs on the records near the secrets, since only these matter; equal surroundings are designed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats, Secret, covered
from reticent.redaction.policy import RedactionPolicy

Design = Callable[[tuple[MarkovChain, ...], Secret, bytes, float], Floats]
"""(chains, secret, present as bytes, ε) to probabilities of redaction, for a stretch of records."""

Whole = Callable[[tuple[MarkovChain, ...], int, tuple[Secret, ...], float, tuple[int, ...]], Floats]
"""(chains, n, secrets, ε, missing) to probabilities of redaction, for a whole series."""

NEGLIGIBLE = 1e-6  # of ε: records whose influence is below it are not looked beyond
_FADED = 1 / 64  # of ε: beyond the distance at which the influence is below it, records are released
_MORE = 16  # records looked at beyond it
_AT_FIRST = 1024  # distances at which the influence is looked for, to begin with


def around(
    chains: tuple[MarkovChain, ...],
    n: int,
    secrets: tuple[Secret, ...],
    epsilon: float,
    missing: Sequence[int],
    design: Whole,
) -> RedactionPolicy:
    """The policy of `design` for n records, which is asked for the stretch around all secrets only.

    *Derived here.* Leakage: if on either side of the secrets the design on the stretch always releases a record, every
    walk away from a secret ends there or before, so with all records beyond released the leakage about each secret is
    that on the stretch. If it does not, the stretch grows, up to the whole series. Utility: of two policies that differ
    beyond the stretch only, one that withholds nothing there is no worse. One whose first release on a side lies beyond
    the stretch leaks no less, and withholds no fewer records, than the policy on the stretch that releases nothing on
    that side (withholding more never leaks more), which `design` has found to be no better than its own.
    """
    gaps = np.array(missing, dtype=np.int64)
    reach = max(_fades(chains, n, secret, epsilon * NEGLIGIBLE, 2 * _MORE) for secret in (secrets[0], secrets[-1]))
    while True:
        reach = 2 * reach
        low, high = max(0, secrets[0][0] - reach), min(n - 1, secrets[-1][1] + reach)
        inside = tuple((first - low, last - low) for first, last in secrets)
        here = gaps[(gaps >= low) & (gaps <= high)] - low
        shifted = tuple(chain.shifted(low) for chain in chains)
        r = design(shifted, high - low + 1, inside, epsilon, tuple(here.tolist()))
        shown = (r == 0).all(axis=1)
        shown[here] = False
        if (low == 0 or shown[: inside[0][0]].any()) and (high == n - 1 or shown[inside[-1][1] + 1 :].any()):
            return RedactionPolicy.around(chains, n, low, r, list(secrets), missing, epsilon)


def _fades(chains: Sequence[MarkovChain], n: int, secret: Secret, enough: float, least: int) -> int:
    """Distance at which the influence of a secret is at most `enough` on either side, or its side ends."""
    return max(least, *(len(table) for chain in chains for table in influences(chain, n, secret, enough)))


def influences(chain: MarkovChain, n: int, secret: Secret, enough: float) -> tuple[Floats, Floats]:
    """`kernels.influences` left and right of a secret."""
    first, last = secret
    return (
        _influences(chain.backs, chain.phase, first, -1, first, chain.law(first) > 0, enough),
        _influences(chain.transitions, chain.phase, last, 1, n - 1 - last, chain.law(last) > 0, enough),
    )


def _influences(
    steps: Floats, origin: int, start: int, direction: int, count: int, live: Bools, enough: float
) -> Floats:
    """`kernels.influences`, asked for few distances first: what it asks memory for grows with their number."""
    from reticent.redaction import kernels

    some = min(count, _AT_FIRST)
    while True:
        found = kernels.influences(steps, origin, start, direction, some, live, enough)
        if len(found) <= some or some == count or found[-1].max() <= enough:
            return found
        some = min(count, 4 * some)


def one_by_one(
    chains: Sequence[MarkovChain],
    n: int,
    secrets: Sequence[Secret],
    missing: Sequence[int],
    epsilon: float,
    design: Design,
) -> Floats:
    """The strictest of the rules that `design` makes about each secret, shape (n, s).

    Withholding more never leaks more, so each secret keeps what it was designed for. A rule for the records nearby is
    extended outward: where one of them is always released, whatever lies beyond is independent of the secret given it,
    and is released; otherwise it is withheld.
    """
    present = ~covered(secrets, n)
    present[list(missing)] = False
    inner = epsilon - min(1e-12, epsilon / 1000)  # the strictest of several rules may round differently
    r = np.zeros((n, chains[0].size))
    for secret in secrets:
        low, high = _stretch(chains, n, secret, epsilon)
        near = present[low : high + 1]
        inside = (secret[0] - low, secret[1] - low)
        rule = design(tuple(chain.shifted(low) for chain in chains), inside, near.tobytes(), inner)
        r[low : high + 1] = np.maximum(r[low : high + 1], rule)
        shown = (rule == 0).all(axis=1) & near
        if not shown[: inside[0]].any():
            r[:low] = 1.0
        if not shown[inside[1] + 1 :].any():
            r[high + 1 :] = 1.0
    return r


def as_present(pattern: bytes) -> Bools:
    """The records that can be released, from the bytes that a `Design` is given."""
    return np.frombuffer(pattern, dtype=np.bool_)


def _stretch(chains: Sequence[MarkovChain], n: int, secret: Secret, epsilon: float) -> Secret:
    """First and last record near a secret."""
    first, last = secret
    before, after = 0, 0
    for chain in chains:
        left, right = influences(chain, n, secret, epsilon * _FADED)
        before, after = max(before, len(left) + _MORE), max(after, len(right) + _MORE)
    return max(0, first - before), min(n - 1, last + after)
