"""The exact privacy of StaSwitch for short windows, by a joint dynamic programme (derived here).

Replay one release on two neighbours, run A on the series and run B on the one with the values of i and j exchanged.
Both start with the same delays at the same instants, and the contents of B are always those of A with two positions
u and v exchanged: what A finds at u, B finds at v. When A releases the value at u, B releases it from v, and the
present content goes to u in A, to v in B; when the present instant is one of the two and another value is released, the
pair goes on with its place; when it is released itself, or the other is, the contents agree, and there remains at most
one value whose delay differs. So a state is A's delays, u, v and B's delays there: a few hundred for five steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

Delays = tuple[int, ...]  # of the contents of the next k positions
_Pair = tuple[Delays, int, int, int, int]  # A's delays, u, v, B's delays at u and v

_NEGLIGIBLE = 1e-16


@dataclass(frozen=True)
class LossLaw:
    """The privacy loss of one pair: a finite law, and what is certain to be told apart."""

    losses: tuple[tuple[float, float], ...]
    infinite: float

    def delta(self, epsilon: float) -> float:
        """δ(ε), rounded up."""
        finite = math.fsum(p * -math.expm1(min(0.0, epsilon - loss - 1e-11)) for loss, p in self.losses)
        return min(1.0, (self.infinite + finite) * (1 + 1e-12))


def delay_step(delays: Delays, q: float, left: int) -> Iterator[tuple[Delays, int, float]]:
    """(delays one instant later, offset, probability) of each choice; `left` instants remain."""
    k = len(delays)
    reach = min(k - 1 - delays[0], left - 1)
    for offset in range(reach + 1):
        after = list(delays)
        after[offset] = delays[0] + offset
        yield (*after[1:], 0), offset, (q if offset else 1 - reach * q)


def evolve(law: dict[Delays, float], q: float) -> dict[Delays, float]:
    """The law of the delays one instant later, far from the end."""
    after: dict[Delays, float] = defaultdict(float)
    for delays, p in law.items():
        for next_delays, _, share in delay_step(delays, q, len(delays)):
            after[next_delays] += p * share
    return after


def distance(one: dict[Delays, float], other: dict[Delays, float]) -> float:
    """Total variation."""
    return sum(abs(one.get(state, 0.0) - other.get(state, 0.0)) for state in {*one, *other}) / 2


@lru_cache(maxsize=32)
def stationary_delays(window: int, q: float) -> dict[Delays, float]:
    """The stationary law of the delays of the next `window` contents."""
    law: dict[Delays, float] = {(0,) * window: 1.0}
    while True:
        after = evolve(law, q)
        if distance(law, after) < _NEGLIGIBLE * 10:
            return after
        law = after


def loss_law(start: dict[Delays, float], q: float, u: int, v: int, left: int) -> LossLaw:
    """The privacy loss for the values at positions u<v, with `left` instants to go and nothing moved there yet."""
    current: dict[tuple[_Pair, float], float] = {((delays, u, v, 0, 0), 0.0): p for delays, p in start.items()}
    losses: dict[float, float] = defaultdict(float)
    infinite = 0.0
    while current and left > 0 and sum(current.values()) > _NEGLIGIBLE:
        following: dict[tuple[_Pair, float], float] = defaultdict(float)
        for (pair, loss), p in current.items():
            for after, step, share in _pair_step(pair, q, left):
                if step == math.inf:
                    infinite += p * share
                elif after is None:
                    losses[round(loss + step, 12)] += p * share
                else:
                    following[after, round(loss + step, 12)] += p * share
        current, left = following, left - 1
    for (_, loss), p in current.items():
        if left == 0:
            losses[loss] += p
        else:
            infinite += p
    return LossLaw(tuple(losses.items()), infinite)


def _pair_step(pair: _Pair, q: float, left: int) -> Iterator[tuple[_Pair | None, float, float]]:
    """(pair one instant later or None where the runs agree, loss, probability in A) of each choice of A."""
    delays, u, v, at_u, at_v = pair
    here_a = delays[0]
    here_b = at_u if u == 0 else at_v if v == 0 else here_a
    reach_b = min(len(delays) - 1 - here_b, left - 1)
    for after, offset, share in delay_step(delays, q, left):
        found = v if offset == u else u if offset == v else offset
        if found > reach_b:
            yield None, math.inf, share
            continue
        loss = math.log(share / (q if found else 1 - reach_b * q))
        place_u, place_v, next_u, next_v = u, v, at_u, at_v
        if u == v:
            if offset == u:  # the value whose delay differs is released
                yield None, loss, share
                continue
            if u == 0:
                place_u = place_v = offset
                next_u = next_v = here_b + offset
        elif u == 0 or v == 0:
            other, at_other = (v, at_v) if u == 0 else (u, at_u)
            if offset in (0, other):
                place_u = place_v = other
                next_u = next_v = here_b + other if offset == 0 else at_other
                if next_u == (after[other - 1] if other < len(delays) else 0):
                    yield None, loss, share
                    continue
            else:
                place_u, place_v, next_u, next_v = offset, other, here_b + offset, at_other
        elif offset == u:
            next_v = here_a + v
        elif offset == v:
            next_u = here_a + u
        yield (after, place_u - 1, place_v - 1, next_u, next_v), loss, share


@lru_cache(maxsize=32)
def exact_losses(window: int, q: float, other: int) -> tuple[tuple[LossLaw, float], ...]:
    """Loss laws of every pair fewer than `other` apart, at both ends and between, each with what to add to its δ.

    The delays before i are those of a series that began i instants ago, up to 3k; from then on they are within their
    present distance of the stationary law, which never grows. A pair is over before 4k further instants, so more of
    them at the end change nothing.
    """
    laws: dict[LossLaw, float] = {}
    starts: list[tuple[dict[Delays, float], int, float]] = []
    began: dict[Delays, float] = {(0,) * window: 1.0}
    starts += [(began, i, 0.0) for i in range(window - 1)]
    for _ in range(2 * window + 2):
        starts.append((began, window - 1, 0.0))
        began = evolve(began, q)
    far = stationary_delays(window, q)
    starts.append((far, window - 1, distance(began, far) + 1e-13))
    for start, u, extra in starts:
        for apart in range(1, other):
            for after in range(1, 4 * window):
                law = loss_law(start, q, u, u + apart, u + apart + after)
                laws[law] = max(extra, laws.get(law, 0.0))
    return tuple(laws.items())
