"""RanSwitch: exchange each instant's content with that of one of the next k-1 instants, or leave it.

Its law is derived here. Choices and permutations correspond one to one, and the instants that stay are the cycles, so
Pr(σ) ∝ p^{cycles(σ)} q^{n-cycles(σ)} on the permutations that release no value more than k-1 early. An exchange of
labels changes the number of cycles by exactly one: every finite ratio is e^{±ε} with ε = ln(p/q), and
δ = 1-(1-q)^{k-1} is the chance that a value is released before its neighbour k-1 later can be reached. The paper's
Eq. 5 with δ = q claims less than the truth (`published`).
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.switching.costs import Displacement
from reticent.switching.mechanism import Sampler, Switch, check_number, check_order, check_window
from reticent.switching.privacy import dominated_delta

_WORD = 2**64


@lru_cache(maxsize=256)
def exchange_weights(window: int, log_ratio: float) -> tuple[int, int]:
    """Whole weights of staying and of each of window-1 moves: their ratio is at most e^log_ratio, their total 2^64.

    Nor is the ratio ever above 2^49, so that no move is too rare for a word and the kernels' division holds.
    """
    with decimal.localcontext(prec=60):
        ratio = decimal.Decimal(min(log_ratio, 49 * math.log(2))).exp()
        move = max(1, int(_WORD / (ratio + window - 1)))
        stay = min(int(move * ratio), _WORD - (window - 1) * move)
    return stay, move


@dataclass(frozen=True)
class RanSwitch(Switch):
    """The paper's baseline, with its true guarantee.

    Parameters
    ----------
    window : int
        Privacy window k, in steps.
    epsilon : float
        Nats: ln(p/q). The machine's own ε does not exceed it.

    Raises
    ------
    ArgumentError
        For parameters out of range.
    """

    name: ClassVar[str] = "ran"
    window: int
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", check_window(self.window))
        object.__setattr__(self, "epsilon", check_number("epsilon", self.epsilon))
        if self.window > 2**20:
            raise ArgumentError("window: RanSwitch takes at most 1,048,576 steps; use a shorter window")

    @classmethod
    def published(cls, window: int, epsilon: float) -> Self:
        """The switch whose q solves the paper's Eq. 5 as printed, at `epsilon`: its `guarantee` shows what is true.

        Raises
        ------
        ArgumentError
            If no q > 0 with p > q solves it.
        """
        window = check_window(window)
        target = check_number("epsilon", epsilon)
        if window == 1:
            raise ArgumentError("window: Eq. 5 needs a window of two or more")
        from scipy.optimize import brentq

        def excess(q: float) -> float:
            p, rest = 1 - (window - 1) * q, (1 - q) ** (2 * (window - 1))
            top = p * p * rest - q
            return math.log(top / (q * q * rest)) - target if top > 0 else -1e300

        highest = 1.0 / window
        if excess(1e-15) < 0 or excess(highest) > 0:
            raise ArgumentError("epsilon: Eq. 5 of the paper has no solution there; take an ε between 0 and 60")
        q = brentq(excess, 1e-15, highest, xtol=1e-16)
        return cls(window, math.log((1 - (window - 1) * q) / q))

    @property
    def _weights(self) -> tuple[int, int]:
        return exchange_weights(self.window, self.epsilon)

    @property
    def p(self) -> float:
        """Probability that an instant keeps its content, as the machine draws it."""
        stay, move = self._weights
        return stay / (stay + (self.window - 1) * move)

    @property
    def q(self) -> float:
        """Probability of each exchange, as the machine draws it."""
        stay, move = self._weights
        return move / (stay + (self.window - 1) * move)

    @property
    def look_ahead(self) -> int | None:
        """Records needed before an instant can be released."""
        return self.window

    def epsilon_at(self, window: int) -> float:
        """The ε of every finite ratio (nats, rounded up): the same at every window above one."""
        if check_window(window) == 1:
            return 0.0
        if self.window == 1:
            return math.inf
        stay, move = self._weights
        return 0.0 if stay == move else min(self.epsilon, math.nextafter(math.log(stay / move), math.inf))

    @property
    def guarantee(self) -> TemporalGuarantee:
        return self.guarantee_at()

    def guarantee_at(
        self, epsilon: float | None = None, window: int | None = None, length: int | None = None
    ) -> TemporalGuarantee:
        """The exact guarantee: the whole curve is that of randomised response that fails with probability δ.

        Parameters
        ----------
        epsilon : float, optional
            Nats; ln(p/q) if absent.
        window : int, optional
            Steps; the mechanism's own if absent.
        length : int, optional
            The number of records, if it is known to be no more: up to k records δ is zero.
        """
        window = self.window if window is None else check_window(window)
        failing = min(1.0, self._betrayed(window, length) * (1 + 1e-13))
        pure = self.epsilon_at(window)
        epsilon = pure if epsilon is None else check_number("epsilon", epsilon)
        return TemporalGuarantee(epsilon, dominated_delta(pure, failing, epsilon), window)

    def _betrayed(self, window: int, length: int | None) -> float:
        """The chance that a value is released before a neighbour can be reached, the largest over neighbours.

        Within the mechanism's own window a value is never at the present instant by then: q a step. Beyond it, by
        recursion on how far ahead d it lies: G_s(d) = q + (1-q)·G_{s-1}(d-1), G_s(0) = p + q·Σ_{m<k-1} G_{s-1}(m).
        A value i starts at d = k-1, or at d = i with k-1-i steps fewer.
        """
        k, p, q = self.window, self.p, self.q
        ahead = window - 1 if length is None else min(window - 1, max(0, length - k))
        if window <= k:
            return -math.expm1(ahead * math.log1p(-q))
        worst, released = 0.0, np.zeros(k)
        for s in range(1, ahead + 1):
            present = p + q * released[:-1].sum()
            released[1:] = q + (1 - q) * released[:-1]
            released[0] = present
            start = s - window + k  # the one whose last step this is; where the series ends, also those further ahead
            if s == ahead:
                worst = max(worst, float(released[max(0, start) :].max()))
            elif start >= 0:
                worst = max(worst, float(released[start]))
        return worst

    def composed_delta(self, epsilon: float, releases: int) -> float:
        """δ at a total `epsilon` (nats) of so many releases of one series: exact (Kairouz, Oh and Viswanath 2017).

        The loss of one release is +ε, -ε or infinite; the number of +ε among `releases` is binomial.
        """
        epsilon = check_number("epsilon", epsilon)
        if isinstance(releases, bool) or not isinstance(releases, int | np.integer) or releases < 1:
            raise ArgumentError("releases: must be a whole number, one or more")
        from scipy.stats import binom

        own = self.guarantee
        if math.isinf(own.epsilon) or self.window == 1:
            return 0.0
        plus = np.arange(releases + 1)
        losses = (2 * plus - releases) * own.epsilon
        shares = -np.expm1(np.minimum(0.0, epsilon - losses))
        kept = (1 - own.delta) ** releases
        law = binom.pmf(plus, releases, 1 / (1 + math.exp(-own.epsilon)))
        return min(1.0, (-math.expm1(releases * math.log1p(-own.delta)) + kept * float(law @ shares)) * (1 + 1e-12))

    def displacement(self) -> Displacement:
        """Exact. Within k-1 steps q(1-q)^{k-1+j} and p(1-q)^{k-1}; beyond, where the paper's form sums to more than
        one, by the recursion on positions: the content of the instant itself moves by each offset with probability q.
        """
        k, p, q = self.window, self.p, self.q
        ahead = np.zeros(k)  # how far ahead of the present instant the value lies
        ahead[k - 1] = 1.0
        law = []
        while ahead.sum() > 1e-14:
            law.append(p * ahead[0] + q * ahead[1:].sum())
            present = ahead[0]
            ahead[:-1] = (1 - q) * ahead[1:] + q * present
            ahead[-1] = 0.0
        return Displacement(np.arange(1 - k, len(law) + 1 - k), np.array(law))

    def cost_bound(self) -> float:
        """Lower bound of the mean |displacement| from the first 2k-1 probabilities (paper, Eq. 8), in steps.

        Σ_{|j|<k} |j|·P_j, with r = 1-q, m = k-1, γ = 1-r^k and s = γ/q - 1: m - (1-r^m)·s - m·r^{2m+1}. For fixed q it
        grows like k; at fixed ε, where q ≈ 1/k, only like 2(1/e - 1/e²)·k = 0.465 k.
        """
        r, m = 1 - self.q, self.window - 1
        s = (1 - r**self.window) / self.q - 1
        return m - (1 - r**m) * s - m * r ** (2 * m + 1)

    def log_probability(self, order: ArrayLike) -> float:
        order = check_order(order)
        n, k = order.size, self.window
        if n and np.any(order - np.arange(n) >= k):
            return -math.inf
        stay, move = (math.log(weight) if weight else -math.inf for weight in self._weights)
        limits = np.minimum(np.arange(n, 0, -1), k)
        totals = [math.log(self._weights[0] + (m - 1) * self._weights[1]) for m in range(1, k + 1)]
        kept = cycles(order)
        return kept * stay + (n - kept) * move - math.fsum(totals[m - 1] for m in limits.tolist())

    def sampler(self) -> Sampler:
        from reticent.switching import _kernels

        return Sampler(
            _kernels.ran_series,
            _kernels.ran_batch,
            _sampling_tables(self.window, *self._weights),
            lambda n: n + n // 64 + np.minimum(n, self.window) + 4,
        )

    def to_dict(self) -> dict[str, Any]:
        return {"mechanism": self.name, "window": self.window, "epsilon": self.epsilon}

    def describe(self) -> str:
        return (
            f"RanSwitch: each instant keeps what it holds with probability {self.p:.6g}, else exchanges it with one of "
            f"the next {self.window - 1} instants. {self.guarantee}"
        )


def cycles(order: ArrayLike) -> int:
    """Number of cycles of a permutation."""
    from reticent.switching.privacy import _kernels

    return int(_kernels.count_cycles(np.asarray(order, dtype=np.int64)))


@lru_cache(maxsize=64)
def _sampling_tables(window: int, stay: int, move: int) -> tuple[Any, ...]:
    lasts = [stay + m * move - 1 for m in range(window)]
    shifts = [64 - last.bit_length() for last in lasts]
    return (
        window,
        np.uint64(move),
        2.0 / move,
        np.array(lasts, dtype=np.uint64),
        np.array(shifts, dtype=np.uint64),
    )


def ideal_allocation(window: int, epsilon: float) -> Displacement:
    """The paper's unattainable ideal (its Fig. 2): P_0, and the same P for each other |j| < k.

    P_0² - P = e^ε·P², P = (1-P_0)/(2k-2): what its Eq. 5 asks of such a law. No mechanism has it.
    """
    window, epsilon = check_window(window), check_number("epsilon", epsilon)
    if window == 1:
        raise ArgumentError("window: the ideal allocation needs a window of two or more")
    from scipy.optimize import brentq

    others = 2 * window - 2
    p = brentq(lambda p: (1 - others * p) ** 2 - p - math.exp(epsilon) * p * p, 0.0, 1.0 / others, xtol=1e-17)
    probabilities = np.full(others + 1, p)
    probabilities[window - 1] = 1 - others * p
    return Displacement(np.arange(1 - window, window), probabilities, exact=False, note="ideal: no mechanism has it")
