"""The strongest adversary of the model: exact posterior of a secret, given everything that a redaction shows.

A record that is not shown has the likelihood of being withheld, ``r[t, v]`` (a local policy) or ``1 - release`` (a
walk of the sequential redaction), by its unknown value; a missing record has likelihood one. The forward-backward
recursion over the hidden records is run once for all outputs, in `_kernels.tabulate`. With the true chain nobody
guesses better; with another chain it is what somebody would compute who has to estimate it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.redaction import RedactionPolicy, SequentialRedaction
from reticent.redaction.leakage import Secret, possible_ends

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mechanism: TypeAlias = RedactionPolicy | SequentialRedaction

_ENTER, _MEET, _LEAVE = 1, 2, 4


@dataclass(frozen=True, eq=False)
class Adversary:
    """Knows the mechanism, believes in a chain, and asks for one secret.

    Parameters
    ----------
    mechanism : RedactionPolicy or SequentialRedaction
    secret : (int, int)
        First and last record of one of the mechanism's secrets.
    chain : MarkovChain
        What the adversary takes for the law of the series: the mechanism's own, or an estimate.

    Raises
    ------
    ArgumentError
        A secret that the mechanism does not have; a chain over other states.
    """

    mechanism: Mechanism
    secret: Secret
    chain: MarkovChain

    def __post_init__(self) -> None:
        if self.secret not in self.mechanism.private:
            raise ArgumentError("secret: must be one of the mechanism's secrets, as (first, last)")
        if self.chain.states != self.mechanism.chain.states:
            raise ArgumentError("chain: its states must be those of the mechanism's chain, in the same order")

    @classmethod
    def knowing(cls, mechanism: Mechanism, secret: int | Secret | None = None) -> Adversary:
        """With the true chain; about the first secret, unless another is named."""
        if secret is None:
            secret = mechanism.private[0]
        return cls(mechanism, (secret, secret) if isinstance(secret, int) else secret, mechanism.chain)

    def log_likelihoods(self, outputs: Ints) -> tuple[Floats, Floats]:
        """ln Pr(what is shown left, right of the secret | value of its first, last record), shape (m, s) each.

        Parameters
        ----------
        outputs : int64, shape (m, n)
            Codes of what is shown, -1 where nothing is. Each row is known up to a constant of its own; -inf where a
            value is ruled out, and where the row is no possible output.
        """
        from reticent.attacks.reconstruction import _kernels

        outputs = np.ascontiguousarray(outputs, dtype=np.int64)
        if outputs.ndim != 2 or outputs.shape[1] != self.mechanism.n:
            raise ArgumentError(f"outputs: must have shape (outputs, {self.mechanism.n}), one series a row")
        found = np.empty((2, len(outputs), self.chain.size))
        for direction, side in ((-1, 0), (1, 1)):
            shown, nothing = self._tables[side]
            _kernels.look_up(outputs, self.secret[side], direction, shown, nothing, found[side])
        return found[0], found[1]

    @cached_property
    def _tables(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        from reticent.attacks.reconstruction import _kernels

        left, right = (
            _kernels.tabulate(
                self.chain.transitions if direction == 1 else self.chain.backs,
                self.chain.phase,
                end,
                direction,
                *_laws(self.mechanism, end, direction),
            )
            for direction, end in ((-1, self.secret[0]), (1, self.secret[1]))
        )
        return left, right

    def log_odds_gain(self, outputs: Ints) -> Floats:
        """The largest of ln(posterior odds / prior odds) over pairs of realisations of the secret, shape (m,), nats.

        Realisations are told apart by their two end values alone, so these suffice. NaN for a row that is no output.
        """
        left, right = self.log_likelihoods(outputs)
        first, last = possible_ends(self.chain, self.secret).T
        gains = left[:, first] + right[:, last]
        best, least = gains.max(axis=1), gains.min(axis=1)
        with np.errstate(invalid="ignore"):  # -inf less -inf: nothing explains the row
            return np.asarray(best - least)

    def posterior(self, outputs: Ints) -> Floats:
        """Pr(value | output) of each record of the secret, shape (m, records, s)."""
        left, right = self.log_likelihoods(outputs)
        first, last = self.secret
        forward = [_normal(np.exp(left - left.max(axis=1, keepdims=True)) * self.chain.law(first))]
        for t in range(first, last):
            forward.append(_normal(forward[-1] @ self.chain.step(t)))
        backward = np.exp(right - right.max(axis=1, keepdims=True))
        out = np.empty((len(left), last - first + 1, self.chain.size))
        for t in range(last, first - 1, -1):
            out[:, t - first] = _normal(forward[t - first] * backward)
            if t > first:
                backward = _normal(backward @ self.chain.step(t - 1).T)
        return out

    def guess(self, outputs: Ints) -> Ints:
        """The most probable realisation of the whole secret (MAP), shape (m, records)."""
        left, right = self.log_likelihoods(outputs)
        weights, paths = self._best_paths
        scores = weights[None] + left[:, :, None] + right[:, None, :]
        best = scores.reshape(len(left), -1).argmax(axis=1)
        return np.asarray(paths.reshape(-1, paths.shape[2])[best])

    def record_guesses(self, outputs: Ints) -> Ints:
        """The most probable value of each record of the secret, one by one, shape (m, records)."""
        return np.asarray(self.posterior(outputs).argmax(axis=2))

    @property
    def priors(self) -> Floats:
        """Law of each record of the secret, shape (records, s)."""
        return np.stack([self.chain.law(t) for t in range(self.secret[0], self.secret[1] + 1)])

    @property
    def prior_record_guesses(self) -> Ints:
        """The most probable value of each record before anything is seen, shape (records,)."""
        return np.asarray(self.priors.argmax(axis=1))

    @property
    def prior_guess(self) -> tuple[Ints, float]:
        """The most probable realisation before anything is seen, shape (records,), and its probability."""
        weights, paths = self._best_paths
        best = np.unravel_index(int(weights.argmax()), weights.shape)
        return paths[best], float(np.exp(weights[best]))

    @cached_property
    def _best_paths(self) -> tuple[Floats, Ints]:
        """For each pair of end values the most probable path between them: ln of its probability, and the path."""
        first, last = self.secret
        size = self.chain.size
        with np.errstate(divide="ignore"):
            weights = np.log(np.where(np.eye(size, dtype=bool), self.chain.law(first)[:, None], 0.0))
            paths = np.broadcast_to(np.arange(size)[None, :, None], (size, size, 1)).astype(np.int64)
            for t in range(first, last):
                longer = weights[:, :, None] + np.log(self.chain.step(t))[None]
                before = longer.argmax(axis=1)  # (first value, new last value)
                weights = longer.max(axis=1)
                kept = np.take_along_axis(paths, before[:, :, None], axis=1)
                new = np.broadcast_to(np.arange(size)[None, :, None], (size, size, 1))
                paths = np.concatenate([kept, new], axis=2)
        return weights, paths

    def success_bound(self, epsilon: float) -> float:
        """What ε allows any adversary to guess right, on average over series of the chain: see `success_bound`.

        A redaction tells realisations apart by their two end values alone. So of those with the same ends only the most
        probable one is worth a guess, and the bound is that for telling pairs of end values apart, each with the
        probability of its most probable realisation.
        """
        return success_bound(epsilon, np.exp(self._best_paths[0]).ravel())


class TwiceShown(Adversary):
    """Sees two draws of a sequential redaction of the same series, side by side: outputs of shape (m, 2n).

    Raises
    ------
    ArgumentError
        Several clusters of secrets: what two walks towards each other show twice is not computed.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.mechanism, SequentialRedaction) or len(self.mechanism.private) != 1:
            raise ArgumentError("mechanism: two draws are linked of a sequential redaction with one secret")

    def log_likelihoods(self, outputs: Ints) -> tuple[Floats, Floats]:
        from reticent.attacks.reconstruction import _kernels

        one, other = (np.ascontiguousarray(half, dtype=np.int64) for half in np.hsplit(outputs, 2))
        found = np.empty((2, len(one), self.chain.size))
        assert isinstance(self.mechanism, SequentialRedaction)
        for walk, into in zip(self.mechanism.walks, found, strict=True):
            steps = self.chain.backs if walk.direction == -1 else self.chain.transitions
            _kernels.look_up_twice(
                one, other, steps, self.chain.phase, walk.start, walk.direction, walk.release, walk.present, into
            )
        return found[0], found[1]


def success_bound(epsilon: float, priors: Floats) -> float:
    """The largest probability of guessing a secret right that ε allows, whatever the mechanism; it is attained.

    Parameters
    ----------
    epsilon : float
        Nats, at least the mechanism's leakage.
    priors : array, shape (m,)
        Probabilities of the realisations of the secret, or of those that are worth a guess.

    Notes
    -----
    Derived here. Let w_x = Pr(guess = x | x). Under x′ the guess is x with probability at least e^-ε·w_x, so
    w_x′ + e^-ε Σ_{x≠x′} w_x ≤ 1 for every x′: with W = Σ w no w_x exceeds c(W) = (1 - e^-ε W)/(1 - e^-ε). At a given W
    the best is c(W) on the most probable realisations, and the result is linear in W between the points where k of
    them have c(W) and the others nothing, which is c = 1/(1 + (k-1)e^-ε): the bound is the largest of
    (π_1 + … + π_k)/(1 + (k-1)e^-ε). Randomised response over these k attains it.
    """
    largest = np.cumsum(np.sort(priors)[::-1])
    return float(min(1.0, (largest / (1 + np.arange(largest.size) * np.exp(-epsilon))).max()))


def _normal(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


Laws: TypeAlias = tuple[Floats, Floats, Ints]


def _laws(mechanism: Mechanism, end: int, direction: int) -> Laws:
    """What `tabulate` asks for."""
    return (
        _local(mechanism, end, direction)
        if isinstance(mechanism, RedactionPolicy)
        else _walked(mechanism, end, direction)
    )


def _local(policy: RedactionPolicy, end: int, direction: int) -> Laws:
    """As far as the last record that may be shown, or the first that always is."""
    r = policy.probabilities[end::direction]
    some = np.flatnonzero((r < 1).any(axis=1))
    surely = np.flatnonzero((r == 0).all(axis=1))
    reach = int(surely[0] if surely.size else some[-1] if some.size else 0)
    hidden = np.array(r[: reach + 1, None, :])
    return hidden, 1 - hidden, np.zeros(reach + 1, dtype=np.int64)


def _walked(redaction: SequentialRedaction, end: int, direction: int) -> Laws:
    """Walks that lead away from the secret, its own cluster's first, and those that come towards it from other ones."""
    size = redaction.chain.size
    away = [w for w in redaction.walks if w.direction == direction and direction * (w.start - end) >= 0]
    towards = [w for w in redaction.walks if w.direction == -direction and direction * (w.start - end) > 0 and w.count]
    reach = max([direction * (w.start - end) + len(w.release) - 1 for w in away])
    reach = max([reach, *(direction * (w.start - end) for w in towards)])
    hidden = np.ones((reach + 1, size, size))
    first = np.zeros((reach + 1, size, size))
    turns = np.zeros(reach + 1, dtype=np.int64)
    for walk in away:
        start = direction * (walk.start - end)
        turns[start] |= _ENTER
        here = slice(start + 1, start + len(walk.release))
        first[here] = walk.release[1:]
        hidden[here] = 1 - walk.release[1:]
    for walk in towards:
        start = direction * (walk.start - end)
        turns[start] |= _LEAVE
        turns[start - walk.count] |= _MEET
        for distance in range(1, walk.count + 1):
            # where it is shown, all that lies beyond is independent of this secret: any constant will do
            first[start - distance, 0] = walk.present[distance]
            if distance < len(walk.release):
                hidden[start - distance] = 1 - walk.release[distance]
    return hidden, first, turns
