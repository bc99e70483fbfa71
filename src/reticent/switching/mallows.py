"""MallowsSwitch: release the r-th oldest of the next w values with probability proportional to φ^r.

Derived here. Pr(σ) ∝ φ^{inversions(σ)} on the permutations that release no value more than w-1 early. The exchange of
the labels i<j changes the inversions by at most 2(j-i)-1 ≤ 2k-3, so φ = e^{-ε/(2k-3)} gives finite ratios of at most
e^ε, and δ is the chance that a value is released before one k-1 later has entered the buffer.
"""

from __future__ import annotations

import decimal
import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.switching.costs import Displacement
from reticent.switching.mechanism import Order, Sampler, Switch, check_number, check_order, check_window
from reticent.switching.privacy import dominated_delta

_WORD = 2**64
_TAIL_BITS = 16  # the table ends where φ^rank falls to 2^-16: no weight is so small that rounding shows
_LARGEST_SCALE = 2**12  # of 1/ln(1/φ): the mean rank, and the size of the tables
_WHOLE = sys.maxsize


@dataclass(frozen=True, eq=False)
class _Law:
    """The machine's own law: weights of ranks 0 … B-1 on words, and what is left for "B more, and draw again"."""

    cumulative: NDArray[np.uint64]
    again: float  # probability of going beyond the table
    rate: float  # nats: no adjacent ranks differ by more, rounded up

    def weights(self, reach: int) -> NDArray[np.float64]:
        """Relative weights of the ranks below `reach`."""
        first = np.diff(self.cumulative.astype(object), prepend=0).astype(np.float64) / _WORD
        blocks = -(-reach // first.size)
        return np.outer(self.again ** np.arange(blocks), first).reshape(-1)[:reach]


@lru_cache(maxsize=64)
def _law(rate: decimal.Decimal) -> _Law:
    """The table for φ = e^-rate, rounded to words. Decimal and whole numbers: the same on every machine."""
    table = max(1, int(_TAIL_BITS * math.log(2) / float(rate)))
    with decimal.localcontext(prec=60):
        phi = (-rate).exp()
        # P(rank ≥ r) = φ^r exactly for geometric ranks, so the weights are differences of rounded powers
        step, tails = int((phi * 2**128).to_integral_value()), [2**128]
    for _ in range(table):
        tails.append(tails[-1] * step >> 128)
    above = [max(1, round_shift(tail, 64)) for tail in tails]
    weights = [a - b for a, b in pairwise(above)]
    # between adjacent ranks, the last of a block and the first of the next included
    ratios = [a / b for a, b in pairwise(weights)]
    ratios.append(weights[-1] * _WORD / (above[-1] * weights[0]))
    steepest = max(max(ratios), 1 / min(ratios))
    cumulative = np.array([_WORD - tail for tail in above[1:]], dtype=np.uint64)
    return _Law(cumulative, above[-1] / _WORD, (math.log(steepest) + 2**-52) * (1 + 2**-50))


def round_shift(value: int, bits: int) -> int:
    """value / 2^bits to the nearest whole number."""
    return (value + (1 << (bits - 1))) >> bits


@lru_cache(maxsize=64)
def _law_for(epsilon: float, exchanges: int) -> _Law:
    """The law of the largest rate whose machine ε, exchanges × rate, does not exceed `epsilon`."""
    budget = decimal.Decimal(epsilon)
    with decimal.localcontext(prec=40):
        slack = decimal.Decimal(0)
        while True:
            law = _law((budget - slack) / exchanges)
            excess = decimal.Decimal(_times(exchanges, law.rate)) - budget
            if excess <= 0:
                return law
            slack += excess * decimal.Decimal("1.25")


def _times(count: int, rate: float) -> float:
    """count × rate, rounded up."""
    return math.nextafter(count * rate, math.inf)


@lru_cache(maxsize=256)
def _early(law: _Law, reach: int, steps: int) -> float:
    from reticent.switching.privacy import _kernels as analysis

    if steps == 0:
        return 0.0
    return min(1.0, float(analysis.early_release(law.weights(reach), steps)) * (1 + 1e-12))


def _smallest_reach(law: _Law, steps: int, delta: float) -> int:
    high = max(2, steps)
    while _early(law, high, steps) > delta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _early(law, middle, steps) > delta else (low, middle)
    return high


@dataclass(frozen=True, init=False)
class MallowsSwitch(Switch):
    """Look ahead further than the window, with quickly falling weight: for streams, and pure for files.

    Parameters
    ----------
    window : int
        Privacy window k, in steps; with k=1 the series is released as it is.
    epsilon : float
        Nats. The machine's own ε does not exceed it.
    delta : float, optional
        The largest δ allowed: the buffer is the shortest one that meets it. 0 (also without a buffer): the buffer is
        as long as the series, and the guarantee pure.
    buffer : int, optional
        The buffer w, in records, if given explicitly.

    Raises
    ------
    ArgumentError
        For parameters out of range, or a buffer too short for `delta`.
    """

    name: ClassVar[str] = "mallows"
    window: int
    epsilon: float
    max_delta: float | None
    buffer: int | None

    def __init__(self, window: int, epsilon: float, delta: float | None = None, buffer: int | None = None) -> None:
        window = check_window(window)
        epsilon = check_number("epsilon", epsilon)
        if delta is not None and check_number("delta", delta) >= 1:
            raise ArgumentError("delta: must be at least 0 and below 1")
        if buffer is not None and (isinstance(buffer, bool) or not isinstance(buffer, int | np.integer) or buffer < 1):
            raise ArgumentError("buffer: must be a whole number of records, one or more")
        if window > 1 and epsilon * _LARGEST_SCALE < 2 * window - 3:
            raise ArgumentError(
                f"epsilon: too small for MallowsSwitch at window {window}, which needs "
                f"{(2 * window - 3) / _LARGEST_SCALE:.3g} or more; take a larger ε or a shorter window"
            )
        delta = None if delta is None else float(delta)
        buffer = None if buffer is None else int(buffer)
        for name, value in (("window", window), ("epsilon", epsilon), ("max_delta", delta), ("buffer", buffer)):
            object.__setattr__(self, name, value)
        if window > 1 and buffer is None and delta:
            object.__setattr__(self, "buffer", _smallest_reach(self._law, window - 1, delta))
        if buffer is not None and delta is not None and (reachable := self.guarantee.delta) > delta:
            raise ArgumentError(
                f"delta: a buffer of {buffer} reaches {reachable:.3g}; give a longer buffer, or none to have it chosen"
            )

    @property
    def _law(self) -> _Law:
        return _law_for(self.epsilon, max(1, 2 * self.window - 3))

    @property
    def phi(self) -> float:
        """Ratio of the weights of adjacent ranks (0 at window 1: the series as it is)."""
        return math.exp(-self._law.rate) if self.window > 1 else 0.0

    @property
    def look_ahead(self) -> int | None:
        """Records needed before an instant can be released; None for the whole series."""
        return 1 if self.window == 1 else self.buffer

    @property
    def guarantee(self) -> TemporalGuarantee:
        return self.guarantee_at()

    def epsilon_at(self, window: int) -> float:
        """The ε of every finite ratio at another window (nats, rounded up)."""
        window = check_window(window)
        if window == 1:
            return 0.0
        if self.window == 1:
            return math.inf
        return min(_times(2 * window - 3, self._law.rate), self.epsilon if window == self.window else math.inf)

    def guarantee_at(self, epsilon: float | None = None, window: int | None = None) -> TemporalGuarantee:
        window = self.window if window is None else check_window(window)
        pure = self.epsilon_at(window)
        epsilon = pure if epsilon is None else check_number("epsilon", epsilon)
        return TemporalGuarantee(epsilon, dominated_delta(pure, self._early(window), epsilon), window)

    def _early(self, window: int) -> float:
        """The chance that a value betrays its place to a neighbour that is not yet in the buffer."""
        if window == 1 or self.look_ahead is None:
            return 0.0
        return 1.0 if self.window == 1 else _early(self._law, self.look_ahead, window - 1)

    def displacement(self) -> Displacement:
        """Exact; for a whole series, that of a value far from both ends."""
        from reticent.switching.privacy import _kernels as analysis

        if self.look_ahead == 1:
            return Displacement(np.zeros(1, dtype=np.int64), np.ones(1))
        if self.look_ahead is None:
            return _unbounded_displacement(self._law.rate)
        probabilities = analysis.mallows_displacement(self._law.weights(self.look_ahead), 1e-14)
        return Displacement(np.arange(1 - self.look_ahead, probabilities.size + 1 - self.look_ahead), probabilities)

    def log_probability(self, order: ArrayLike) -> float:
        from reticent.switching.privacy import _kernels as analysis

        order = check_order(order)
        n = order.size
        ranks = analysis.buffer_ranks(order, min(n, self.look_ahead or n))
        if n and ranks[-1] < 0:
            return -math.inf
        if self.look_ahead == 1 or n == 0:
            return 0.0
        reach = min(n, self.look_ahead or n)
        weights = self._law.weights(reach)
        totals = np.cumsum(weights)
        limits = np.minimum(np.arange(n, 0, -1), reach)
        return float(np.sum(np.log(weights[ranks]) - np.log(totals[limits - 1])))

    def exchange_losses(self, orders: Order, firsts: Order, seconds: Order) -> NDArray[np.float64]:
        if self.window == 1:
            return super().exchange_losses(orders, firsts, seconds)
        from reticent.switching.privacy import _kernels as analysis

        losses = np.empty((orders.shape[0], firsts.size))
        reach = min(orders.shape[1], self.look_ahead or orders.shape[1])
        analysis.mallows_losses(orders, np.log(self._law.weights(reach)), firsts, seconds, losses)
        return losses

    def sampler(self) -> Sampler:
        from reticent.switching import _kernels

        if self.window == 1:
            return Sampler(_kernels.mallows_series, _kernels.mallows_batch, _sampling_tables(None, 1), lambda n: n * 0)
        return Sampler(
            _kernels.mallows_series,
            _kernels.mallows_batch,
            _sampling_tables(self._law, self.look_ahead or _WHOLE),
            lambda n: n + n // 64 + np.minimum(n, self._law.cumulative.size) + 4,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "mechanism": self.name,
            "window": self.window,
            "epsilon": self.epsilon,
            "delta": self.max_delta,
            "buffer": self.buffer,
        }

    def describe(self) -> str:
        if self.window == 1:
            return "The series is released as it is (window 1)."
        ahead = "all values still to come" if self.look_ahead is None else f"the next {self.look_ahead} values"
        return (
            f"MallowsSwitch: each instant releases one of {ahead}, the r-th oldest with probability proportional to "
            f"{self.phi:.6g}^r. {self.guarantee}"
        )


@lru_cache(maxsize=64)
def _unbounded_displacement(rate: float) -> Displacement:
    """The law in an endless series (Gnedin and Olshanski 2012), with q = φ:

    P(d) = P(-d) = (1-q)·Σ_r q^{r(r+d)+2r+d}·(q^{r+1}; q)_∞ / (q; q)_{r+d}, r values passing on one side and r+d on
    the other.
    """
    from reticent.switching.privacy import _kernels as analysis

    late = analysis.endless_displacement(rate, math.ceil(40 / rate))
    return Displacement(np.arange(1 - late.size, late.size), np.concatenate([late[:0:-1], late]))


@lru_cache(maxsize=64)
def _sampling_tables(law: _Law | None, reach: int) -> tuple[Any, ...]:
    """Arguments of the kernel: reach, cumulative weights, shift of each total, guide from top bits to a first rank."""
    cumulative = np.array([_WORD - 1], dtype=np.uint64) if law is None else law.cumulative
    shifts = np.array([64 - (int(total) - 1).bit_length() for total in cumulative], dtype=np.uint64)
    bits = min(16, max(8, cumulative.size.bit_length() + 2))
    starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    guide = np.searchsorted(cumulative, starts, side="right").astype(np.int64)
    return reach, cumulative, shifts, guide, np.uint64(64 - bits)
