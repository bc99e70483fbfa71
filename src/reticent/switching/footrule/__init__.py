"""FootruleSwitch: a whole series at once, δ = 0. Derived here.

Pr(σ) ∝ e^{α·cycles(σ)}·φ^{F(σ)} over all permutations, F(σ) = Σ|slot of value i - i| (Spearman's footrule: the total
misalignment). Exchanging the labels i<j changes F by at most 2(j-i) ≤ 2(k-1) and the cycles by one, so
α + 2(k-1)·ln(1/φ) = ε gives pure ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.randomness import Words
from reticent.switching.costs import Displacement
from reticent.switching.footrule.tables import Tables, log_weight, rounding, stationary, tables
from reticent.switching.mallows import MallowsSwitch
from reticent.switching.mechanism import Order, Sampler, Switch, check_number, check_order, check_window
from reticent.switching.privacy import dominated_delta
from reticent.switching.ran_switch import cycles

_MOST_CHAINS = 512  # the tables for the end of a series then take some 170 MB
_LARGEST_EPSILON = 64.0


@dataclass(frozen=True)
class FootruleSwitch(Switch):
    """Rearrange a whole series, with a pure guarantee.

    Parameters
    ----------
    window : int
        Privacy window k, in steps; with k=1 the series is released as it is.
    epsilon : float
        Nats. The machine's own ε, rounding included, does not exceed it.
    alpha : float, optional
        Share of ε (nats, 0 ≤ α < ε) spent on cycles rather than distance; that of least mean displacement if absent.

    Raises
    ------
    ArgumentError
        For parameters out of range: (window-1)/(epsilon-alpha) is at most 512, epsilon at most 64.
    """

    name: ClassVar[str] = "footrule"
    window: int
    epsilon: float
    alpha: float | None = None

    def __post_init__(self) -> None:
        window, epsilon = check_window(self.window), check_number("epsilon", self.epsilon)
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "epsilon", epsilon)
        if self.alpha is not None:
            alpha = check_number("alpha", self.alpha)
            if window > 1 and alpha >= epsilon:
                raise ArgumentError("alpha: must be at least 0 and below epsilon")
        else:
            alpha = 0.0
        if window > 1 and window - 1 > _MOST_CHAINS * (epsilon - alpha - rounding(window)):
            raise ArgumentError(
                f"epsilon: (window - 1)/(epsilon - alpha) must be at most {_MOST_CHAINS} for FootruleSwitch; take a "
                "larger ε, a shorter window, or MallowsSwitch"
            )
        if epsilon > _LARGEST_EPSILON:
            raise ArgumentError(f"epsilon: FootruleSwitch takes at most {_LARGEST_EPSILON:g} nats; take a smaller ε")
        if self.alpha is None and window > 1:
            alpha = best_alpha(window, epsilon)
        object.__setattr__(self, "alpha", alpha)

    @property
    def _alpha(self) -> float:
        return self.alpha or 0.0

    @property
    def _theta(self) -> float:
        return math.exp(self._alpha)

    @property
    def _phi2(self) -> float:
        return _phi_squared(self.window, self.epsilon, self._alpha)

    @property
    def _tables(self) -> Tables:
        return tables(self._theta, self._phi2)

    @property
    def phi(self) -> float:
        """Weight of a step of misalignment (0 at window 1: the series as it is)."""
        return math.sqrt(self._phi2) if self.window > 1 else 0.0

    @property
    def look_ahead(self) -> int | None:
        """None: the whole series is needed before any of it is released (1 at window 1)."""
        return 1 if self.window == 1 else None

    def epsilon_at(self, window: int) -> float:
        """The ε of every ratio at another window (nats, rounded up): α + 2(k-1)·ln(1/φ) and the rounding."""
        if check_window(window) == 1:
            return 0.0
        return math.inf if self.window == 1 else _machine_epsilon(window, self._alpha, self._phi2)

    @property
    def guarantee(self) -> TemporalGuarantee:
        return self.guarantee_at()

    def guarantee_at(self, epsilon: float | None = None, window: int | None = None) -> TemporalGuarantee:
        window = self.window if window is None else check_window(window)
        pure = self.epsilon_at(window)
        epsilon = pure if epsilon is None else check_number("epsilon", epsilon)
        return TemporalGuarantee(epsilon, dominated_delta(pure, 0.0, epsilon), window)

    def displacement(self) -> Displacement:
        """Exact (symmetric): by following the chain that a value waits in."""
        if self.window == 1:
            return Displacement(np.zeros(1, dtype=np.int64), np.ones(1))
        from reticent.switching.footrule import _kernels

        table = self._tables
        law = stationary(self._theta, self._phi2).law[: table.inside + 1]
        late = _kernels.footrule_displacement(table.ratios[-1], law, table.theta, table.phi2, 1e-14)
        offsets = np.arange(1 - late.size, late.size)
        return Displacement(offsets, np.concatenate([late[:0:-1], late]))

    def mean_displacement(self) -> float:
        """Mean |displacement| far from the ends, in steps."""
        return stationary(self._theta, self._phi2).mean_displacement if self.window > 1 else 0.0

    def log_probability(self, order: ArrayLike) -> float:
        order = check_order(order)
        n = order.size
        moved = int(np.abs(order - np.arange(n)).sum())
        if self.window == 1:
            return -math.inf if moved else 0.0
        return self._alpha * cycles(order) + moved * math.log(self._phi2) / 2 - log_weight(self._tables, n)

    def exchange_losses(self, orders: Order, firsts: Order, seconds: Order) -> NDArray[np.float64]:
        if self.window == 1:
            return super().exchange_losses(orders, firsts, seconds)
        from reticent.switching.privacy import _kernels

        losses = np.empty((orders.shape[0], firsts.size))
        _kernels.footrule_losses(orders, self._alpha, math.log(self._phi2) / 2, firsts, seconds, losses)
        return losses

    def sampler(self) -> Sampler:
        if self.window == 1:
            return MallowsSwitch(1, 0.0).sampler()
        return _FootruleSampler(self._theta, self._phi2)

    def to_dict(self) -> dict[str, Any]:
        return {"mechanism": self.name, "window": self.window, "epsilon": self.epsilon, "alpha": self.alpha}

    def describe(self) -> str:
        if self.window == 1:
            return "The series is released as it is (window 1)."
        cycle = f", and e^{self._alpha:.6g} times as likely for each cycle" if self._alpha else ""
        return (
            f"FootruleSwitch: one rearrangement of the whole series, {self.phi:.6g} times as likely for each step that "
            f"a value moves{cycle}. {self.guarantee}"
        )


class _FootruleSampler(Sampler):
    """Keeps the open chains of one series between calls, and builds larger tables where their number leaves them."""

    def __init__(self, theta: float, phi2: float, bits: int = 100) -> None:
        self._theta, self._phi2, self._bits = theta, phi2, bits
        self._state = np.zeros(2, dtype=np.int64)
        self._waiting = np.zeros((2, 0), dtype=np.int64)
        self._scratch = (np.zeros(5), np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.uint64))
        self._load()

    def _load(self) -> None:
        self._table = tables(self._theta, self._phi2, self._bits)
        room = np.zeros((2, self._table.inside + 2 - self._waiting.shape[1]), dtype=np.int64)
        self._waiting = np.concatenate([self._waiting, room], axis=1)

    def _grow(self) -> None:
        if self._state[1]:
            self._state[1] = 0
            self._bits *= 2
            self._load()

    @property
    def _arguments(self) -> tuple[Any, ...]:
        table = self._table
        far = (table.marks, table.common)
        return (
            self._state, self._waiting, *self._scratch, table.ratios, *far, table.inside, table.theta, table.phi2
        )  # fmt: skip

    def words_needed(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        return 2 * lengths + lengths // 64 + 2

    def draw(self, order: Order, start: int, stop: int, words: Words) -> tuple[int, int]:
        from reticent.switching.footrule import _kernels

        if start == 0:
            self._state[0] = 0
        result: tuple[int, int] = _kernels.footrule_series(
            order, start, stop, order.size, words, 0, words.size, *self._arguments
        )
        self._grow()
        return result

    def draw_many(
        self, order: Order, offsets: Order, chosen: Order, words: Words, word_offsets: Order, done: NDArray[np.bool_]
    ) -> None:
        from reticent.switching.footrule import _kernels

        _kernels.footrule_batch(order, offsets, chosen, words, word_offsets, done, *self._arguments)
        self._grow()


def _machine_epsilon(window: int, alpha: float, phi2: float) -> float:
    exact = alpha - (window - 1) * math.log(phi2)
    return (exact + rounding(window)) * (1 + 2.0**-50)


@lru_cache(maxsize=512)
def _phi_squared(window: int, epsilon: float, alpha: float) -> float:
    """The smallest φ² (a float) whose machine ε does not exceed `epsilon`."""
    budget = epsilon - alpha - rounding(window)
    phi2 = math.exp(-budget * (1 - 2.0**-49) / (window - 1))
    while _machine_epsilon(window, alpha, phi2) > epsilon:
        phi2 = math.nextafter(phi2 + 2.0**-53, 1.0)
    return phi2


@lru_cache(maxsize=256)
def best_alpha(window: int, epsilon: float) -> float:
    """The α of least mean displacement: a grid, then bisection of the bracket; 0 unless it gains something."""

    def moved(alpha: float) -> float:
        return stationary(math.exp(alpha), _phi_squared(window, epsilon, alpha)).mean_displacement

    most = epsilon - max((window - 1) / _MOST_CHAINS, epsilon / 64)
    if most <= 0:
        return 0.0
    grid = [most * i / 16 for i in range(17)]
    means = [moved(alpha) for alpha in grid]
    best = int(np.argmin(means))
    if best == 0:
        return 0.0
    low, high = grid[best - 1], grid[min(best + 1, 16)]
    while high - low > epsilon / 2000:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if moved(left) <= moved(right) else (left, high)
    alpha = round((low + high) / 2, 6)
    return alpha if moved(alpha) < means[0] else 0.0


def auto_switch(window: int, epsilon: float) -> Switch:
    """The switch for a whole series that moves values least at the ε asked for: FootruleSwitch, unless MallowsSwitch
    over the whole series moves less (k=2), or the parameters are beyond FootruleSwitch's limits.
    """
    mallows = MallowsSwitch(window, epsilon, 0.0)
    try:
        footrule = FootruleSwitch(window, epsilon)
    except ArgumentError:
        return mallows
    return footrule if footrule.mean_displacement() <= mallows.displacement().mean else mallows
