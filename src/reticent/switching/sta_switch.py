"""StaSwitch: as RanSwitch, but no value is put off by more than k-1 steps in all.

The privacy of the paper's Theorem IV.3 is lost with its equation, and what is left of its argument bounds single
likelihood ratios by a product of averages, which is not a bound for sets of outputs. Here δ is exact for short windows
(`privacy.stateful`), and a one-sided confidence bound from replay otherwise, named statistical.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.switching.costs import Displacement
from reticent.switching.mechanism import Sampler, Switch, check_number, check_order, check_window
from reticent.switching.ran_switch import exchange_weights

EXACT_WINDOW = 5  # Bell(k) states of the delays
_LARGEST_WINDOW = 256


@dataclass(frozen=True)
class StaSwitch(Switch):
    """The paper's stateful switch, with its true guarantee.

    Parameters
    ----------
    window : int
        Privacy window k, in steps: every value ends within k-1 steps of its instant.
    log_ratio : float
        ln(p/q), nats. **Not** its ε: δ depends on the ε that one asks about, and `guarantee` is that at ε = log_ratio.

    Raises
    ------
    ArgumentError
        For parameters out of range.
    """

    name: ClassVar[str] = "sta"
    window: int
    log_ratio: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", check_window(self.window))
        object.__setattr__(self, "log_ratio", check_number("log_ratio", self.log_ratio))
        if self.window > _LARGEST_WINDOW:
            raise ArgumentError(
                f"window: StaSwitch takes at most {_LARGEST_WINDOW} steps; use a shorter window or MallowsSwitch"
            )

    @property
    def _weights(self) -> tuple[int, int]:
        return exchange_weights(self.window, self.log_ratio)

    @property
    def p(self) -> float:
        """Probability that an instant keeps a content that is not late, as the machine draws it."""
        return 1 - (self.window - 1) * self.q

    @property
    def q(self) -> float:
        """Probability of each exchange, as the machine draws it."""
        stay, move = self._weights
        return move / (stay + (self.window - 1) * move)

    @property
    def look_ahead(self) -> int | None:
        """Records needed before an instant can be released."""
        return self.window

    @property
    def statistical(self) -> bool:
        """True beyond the windows for which the exact programme is run."""
        return self.window > EXACT_WINDOW

    @property
    def guarantee(self) -> TemporalGuarantee:
        return self.guarantee_at()

    def guarantee_at(self, epsilon: float | None = None, window: int | None = None) -> TemporalGuarantee:
        """δ at any ε (nats; `log_ratio` if absent): exact up to k=5, else an upper confidence bound, failing with
        probability 1e-6, over the pairs tried (the start, an interior instant and the end of a series).
        """
        window = self.window if window is None else check_window(window)
        epsilon = self.log_ratio if epsilon is None else check_number("epsilon", epsilon)
        if window == 1:
            return TemporalGuarantee(epsilon, 0.0, window)
        if window >= 2 * self.window:  # 2k-1 apart: the first is released before the other can be
            return TemporalGuarantee(epsilon, 1.0, window)
        if not self.statistical:
            from reticent.switching.privacy.stateful import exact_losses

            laws = exact_losses(self.window, self.q, window)
            return TemporalGuarantee(epsilon, min(1.0, max(law.delta(epsilon) + more for law, more in laws)), window)
        from reticent.switching.privacy.replay import stateful_bound

        return TemporalGuarantee(
            epsilon, stateful_bound(self.window, self.log_ratio, window, epsilon), window, statistical=True
        )

    def mean_field(self) -> MeanField:
        """The paper's analysis, Eqs. 10-12: an approximation, taking delays at different instants for independent."""
        return _mean_field(self.window, self.q)

    def displacement(self) -> Displacement:
        """Exact up to k=6, by following one value among the delays of its window; beyond, the mean-field analysis."""
        if self.window > EXACT_WINDOW + 1:
            law = self.mean_field().law
            offsets = np.arange(1 - self.window, self.window)
            return Displacement(offsets, law, exact=False, note="mean-field approximation (the paper's Eqs. 10-12)")
        return Displacement(np.arange(1 - self.window, self.window), _followed(self.window, self.q))

    def log_probability(self, order: ArrayLike) -> float:
        from reticent.switching.privacy import _kernels

        order = check_order(order)
        return float(_kernels.stateful_log_probability(order, self.window, self.q))

    def sampler(self) -> Sampler:
        from reticent.switching import _kernels

        stay, move = self._weights
        last = stay + (self.window - 1) * move - 1
        return Sampler(
            _kernels.sta_series,
            _kernels.sta_batch,
            (self.window, np.uint64(move), 2.0 / move, np.uint64(last)),
            lambda n: n + 2,
        )

    def to_dict(self) -> dict[str, Any]:
        return {"mechanism": self.name, "window": self.window, "log_ratio": self.log_ratio}

    def describe(self) -> str:
        return (
            f"StaSwitch: each instant exchanges what it holds with each later instant that the value may still be put "
            f"off to, at most {self.window - 1} steps in all, with probability {self.q:.6g}. {self.guarantee}"
        )


@dataclass(frozen=True, eq=False)
class MeanField:
    """Eqs. 10-12 of the paper, solved.

    Attributes
    ----------
    delays : float64, shape (k,)
        P_b^i: probability that the content of an instant is i steps late.
    offsets : float64, shape (k,)
        p_0, q_1, …, q_{k-1}: probability of each choice, whatever the delay.
    law : float64, shape (2k-1,)
        P_{1-k} … P_{k-1}: probability of each displacement.
    """

    delays: NDArray[np.float64]
    offsets: NDArray[np.float64]
    law: NDArray[np.float64]


@lru_cache(maxsize=256)
def _mean_field(k: int, q: float) -> MeanField:
    p = 1 - (k - 1) * q
    b = np.zeros(k)
    b[0] = 1.0
    while True:
        # Eq. 10: a content that is i late may choose offsets up to k-1-i
        chosen = q * np.array([b[: k - j].sum() for j in range(k)])
        chosen[0] = float(b @ (p + q * np.arange(k)))
        passed = np.concatenate([[1.0], np.cumprod(1 - chosen[1:])])  # Π_{r=1}^{m} (1 - q_r)
        # Eq. 11
        new = np.zeros(k)
        new[0] = passed[k - 1]
        for i in range(1, k):
            new[i] = q * sum(new[lag] * passed[i - lag - 1] for lag in range(i))
        if np.abs(new - b).max() < 1e-15:
            break
        b = (b + new) / 2
    law = np.zeros(2 * k - 1)
    for j in range(1, k):
        law[k - 1 - j] = chosen[j] * np.prod(1 - chosen[j + 1 :])
    law[k - 1] = p * b[0]
    for j in range(1, k):
        for lag in range(j):
            steps = j - lag - 1
            later = sum(chosen[i] * np.prod(1 - chosen[i + 1 : i + steps + 1]) for i in range(1, k - j))
            law[k - 1 + j] += q * b[lag] * ((p + j * q) * passed[steps] + later)
    return MeanField(b, chosen, law)


@lru_cache(maxsize=64)
def _followed(k: int, q: float) -> NDArray[np.float64]:
    """Probabilities of the displacements 1-k … k-1 of a value that comes into reach of a stationary series."""
    from reticent.switching.privacy.stateful import delay_step, stationary_delays

    law = np.zeros(2 * k - 1)
    current = {(delays, k - 1): p for delays, p in stationary_delays(k, q).items()}
    for step in range(2 * k - 1):
        following: dict[tuple[tuple[int, ...], int], float] = {}
        for (delays, place), p in current.items():
            for after, offset, share in delay_step(delays, q, k):
                if offset == place:
                    law[step] += p * share
                else:
                    state = (after, (offset if place == 0 else place) - 1)
                    following[state] = following.get(state, 0.0) + p * share
        current = following
    return law
