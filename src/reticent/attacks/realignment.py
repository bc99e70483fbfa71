"""Realignment of a switched series: which value was where, and which of two neighbours was the original.

The order is guessed by linear assignment: value t of the release goes to the instant s that makes the displacement
t - s probable under the mechanism's law and the value likely there, by its neighbours (smoothness) or by a correlated
series that the adversary holds. The neighbour test is the game that the guarantee is about, and bounds: the
adversary knows the whole series but for one exchange, and all values differ, so that the release shows its order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.attacks.frame import AttackResult, Estimate, Rate
from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.randomness import Source, secure_source
from reticent.switching import Switch
from reticent.switching.batches import switch_batch
from reticent.switching.costs import Displacement
from reticent.switching.mechanism import Order

Floats = NDArray[np.float64]

SHARE = "share of instants with their own value"
ADVANTAGE = "advantage"
PIECE = 1000  # records that are assigned together: the cost is a matrix of so many rows and columns
STRETCHES = 20  # of a single series, for the bootstrap
_WIDTHS = (16, 8, 4, 2, 1)  # of the smoothing, round by round
_RARE = 1e-12  # of a displacement that the law does not know: the ends of a series have laws of their own
_RECORDS_AT_ONCE = 1 << 21


def realign(released: ArrayLike, law: Displacement, side: ArrayLike | None = None) -> Floats:
    """The most likely original of one series.

    Parameters
    ----------
    released : array_like, shape (n,)
        Numbers, NaN where missing. Taken in pieces of a thousand.
    law : Displacement
        Of the mechanism: Pr(a value is released so many steps after its own instant).
    side : array_like, shape (n,), optional
        A correlated series at the original instants; without one the series is taken to be smooth.

    Returns
    -------
    array, shape (n,)
        The same values, put back where they are believed to have been.

    Raises
    ------
    ArgumentError
        Shapes that do not match.
    """
    values = np.asarray(released, dtype=np.float64)
    held = None if side is None else np.asarray(side, dtype=np.float64)
    if values.ndim != 1 or (held is not None and held.shape != values.shape):
        raise ArgumentError("released, side: must be one-dimensional series of numbers of one length")
    pieces = np.array_split(np.arange(values.size), max(1, math.ceil(values.size / PIECE)))
    return np.concatenate(
        [_realign_piece(values[piece], law, None if held is None else held[piece]) for piece in pieces]
    )


def most_likely_slots(values: Floats, moved: Floats, level: Floats, noise: float) -> Order:
    """Where each value of the release goes, shape (n,): the order of maximum likelihood, by linear assignment.

    Parameters
    ----------
    values : array, shape (n,)
        NaN where missing.
    moved : array, shape (n, n)
        ``[t, s]``: Pr(the value of instant s is released at t).
    level : array, shape (n,)
        What the value of each instant is near to.
    noise : float
        Variance of the values about it, normal.
    """
    from scipy.optimize import linear_sum_assignment

    misfit = np.nan_to_num((values[:, None] - level[None, :]) ** 2 / (2 * noise))
    return np.asarray(linear_sum_assignment(misfit - np.log(np.maximum(moved, _RARE)))[1])


def _realign_piece(values: Floats, law: Displacement, side: Floats | None) -> Floats:
    n = values.size
    known = ~np.isnan(values)
    if known.sum() < 2:
        return values
    moved = moves(law, n)
    weights = moved * known[:, None]
    filled = np.where(known, values, 0.0)
    level = _divided(filled @ weights, weights.sum(axis=0), float(values[known].mean()))
    if side is not None:
        level = _regressed(filled, known, moved, side)
    spread = float(np.nanvar(values))
    # what the level does not explain: while nothing is in place, as much as the release shows, or the spread allows
    noise = float(np.nanmean((values - level) ** 2)) if side is None else spread - float(np.var(level))
    for width in _WIDTHS:
        noise = max(noise, 1e-6 * spread, 1e-300)
        guess = np.empty_like(values)
        guess[most_likely_slots(values, moved, level, noise)] = values
        level = _smoothed(guess, width) if side is None else _fitted(guess, side)
        noise = float(np.nanmean((guess - level) ** 2))
    return guess


def moves(law: Displacement, n: int) -> Floats:
    """Pr(the value of instant s is released at t), shape (n, n), by [t, s]."""
    found = np.zeros(2 * n + 1)
    near = np.abs(law.offsets) <= n
    found[law.offsets[near] + n] = law.probabilities[near]
    steps = np.arange(n)
    return np.asarray(found[steps[:, None] - steps[None, :] + n])


def _regressed(values: Floats, known: NDArray[np.bool_], moved: Floats, side: Floats) -> Floats:
    """Level by a straight line in `side`: a value at t is, on average, that of where it may have come from."""
    total = np.maximum(moved.sum(axis=1), 1e-300)
    expected = moved @ np.nan_to_num(side, nan=float(np.nanmean(side))) / total
    slope, base = np.polyfit(expected[known], values[known], 1) if np.ptp(expected[known]) > 0 else (0.0, values.mean())
    return np.asarray(base + slope * np.nan_to_num(side, nan=float(np.nanmean(side))))


def _fitted(guess: Floats, side: Floats) -> Floats:
    good = ~np.isnan(guess) & ~np.isnan(side)
    flat = good.sum() < 2 or np.ptp(side[good]) == 0
    slope, base = (0.0, float(np.nanmean(guess))) if flat else np.polyfit(side[good], guess[good], 1)
    return np.asarray(base + slope * np.nan_to_num(side, nan=float(np.nanmean(side))))


def _smoothed(guess: Floats, width: int) -> Floats:
    """Mean of the neighbours within `width` steps, oneself left out."""
    kernel = np.ones(2 * width + 1)
    kernel[width] = 0.0
    good = ~np.isnan(guess)
    total = np.convolve(np.where(good, guess, 0.0), kernel, "same")[: guess.size] if guess.size > 2 * width else None
    if total is None:
        return np.full(guess.size, float(np.nanmean(guess)))
    return _divided(total, np.convolve(good.astype(np.float64), kernel, "same"), float(np.nanmean(guess)))


def _divided(total: Floats, weight: Floats, otherwise: float) -> Floats:
    return np.divide(total, weight, out=np.full(total.shape, otherwise), where=weight > 1e-9)


def realignment(
    originals: Sequence[ArrayLike],
    releases: Sequence[ArrayLike],
    switch: Switch,
    sides: Sequence[ArrayLike] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[AttackResult, AttackResult]:
    """Put a release back in order, and see how much of it came out right.

    Parameters
    ----------
    originals, releases : sequences of array_like, shape (n_i,)
        Series by series. Numbers, NaN where missing.
    switch : Switch
    sides : sequence of array_like, shape (n_i,), optional
        Correlated series that the adversary holds.
    progress : callable, optional
        Called with series done and series in all.

    Returns
    -------
    (share, error) : AttackResult, AttackResult
        The share of instants that show their own value (equal values count as one), and the root mean square error.
        Guessing, the baseline, leaves the release as it is. Intervals are by bootstrap over the series, or over twenty
        stretches where there is one series alone.

    Raises
    ------
    ArgumentError
        Series that do not match.
    """
    before = [np.asarray(series, dtype=np.float64) for series in originals]
    after = [np.asarray(series, dtype=np.float64) for series in releases]
    if [series.shape for series in before] != [series.shape for series in after] or not before:
        raise ArgumentError("originals, releases: give the same series, each with as many records, before and after")
    held = [None] * len(after) if sides is None else list(sides)
    law = switch.displacement()
    guesses = []
    for done, (series, side) in enumerate(zip(after, held, strict=True), start=1):
        guesses.append(realign(series, law, side))
        if progress:
            progress(done, len(after))
    common: dict[str, Any] = {
        "bound": None,
        "trained": "the release itself, with the law of the mechanism",
        "knows": "the mechanism and its parameters"
        + (", and that the series is smooth" if sides is None else ", and a correlated series at the true instants"),
        "settings": {"adversary": "smoothness" if sides is None else "correlated series", "on": "this release"},
    }
    share = AttackResult(
        "realignment",
        SHARE,
        _measured(before, guesses, _right, _mean),
        Estimate.exact(1.0),
        _measured(before, after, _right, _mean),
        bound_reason="the guarantee is about exchanges of two values, and says nothing about how many are in place.",
        **common,
    )
    error = AttackResult(
        "realignment",
        "root mean square error, in units of the value",
        _measured(before, guesses, _squares, _root),
        Estimate.exact(0.0),
        _measured(before, after, _squares, _root),
        bound_reason="the guarantee hides when values occurred, not roughly how large they were at a time.",
        **common,
    )
    return share, error


def _right(truth: Floats, guess: Floats) -> Floats:
    return ((truth == guess) | (np.isnan(truth) & np.isnan(guess))).astype(np.float64)


def _squares(truth: Floats, guess: Floats) -> Floats:
    return np.square(truth - guess)


def _mean(total: Floats, count: Floats, axis: int) -> Floats:
    return np.asarray(total.sum(axis=axis) / np.maximum(count.sum(axis=axis), 1))


def _root(total: Floats, count: Floats, axis: int) -> Floats:
    return np.sqrt(_mean(total, count, axis))


def _measured(
    truths: Sequence[Floats],
    guesses: Sequence[Floats],
    score: Callable[[Floats, Floats], Floats],
    statistic: Callable[..., Floats],
) -> Estimate:
    scores = [score(truth, guess) for truth, guess in zip(truths, guesses, strict=True)]
    if len(scores) == 1:
        scores = np.array_split(scores[0], min(STRETCHES, max(1, scores[0].size)))
    total = np.array([np.nansum(part) for part in scores])
    count = np.array([(~np.isnan(part)).sum() for part in scores], dtype=np.float64)
    if len(scores) < 2:
        return Estimate.exact(float(statistic(total, count, 0)), 1)
    return Estimate.bootstrapped([total, count], statistic)


def advantage_bound(guarantee: TemporalGuarantee) -> float:
    """The largest advantage in telling two neighbours apart, (e^ε - 1 + 2δ)/(e^ε + 1).

    It is δ at ε = 0 of whatever keeps the guarantee: Pr(O | S) - Pr(O | S′), for the set O of releases on which S is
    guessed, summed with the same for its complement (Kairouz, Oh and Viswanath 2017).
    """
    shrunk = math.exp(-guarantee.epsilon)  # which, other than e^ε, does not overflow
    return min(1.0, math.tanh(guarantee.epsilon / 2) + 2 * guarantee.delta * shrunk / (1 + shrunk))


def neighbour_test(
    switch: Switch,
    *,
    pair: tuple[int, int] | None = None,
    n: int | None = None,
    guarantee: TemporalGuarantee | None = None,
    releases: int = 1,
    runs: int = 4000,
    source: Source | None = None,
) -> AttackResult:
    """Tell a series from the one in which two values traded places: the exact likelihood-ratio test.

    Parameters
    ----------
    switch : Switch
    pair : (int, int), optional
        The two instants; by default (k-1, 2k-2), the farthest neighbours that are the worst ones for the paper's
        switches.
    n : int, optional
        Records; by default enough that the ends do not show.
    guarantee : TemporalGuarantee, optional
        What was promised of all the releases together; the mechanism's own (for one release) by default.
    releases : int
        Fresh releases of the same series that the adversary sees.
    runs : int
        Games played.
    source : Source, optional

    Raises
    ------
    ArgumentError
        A window of one step, which has no neighbours; a pair outside the window or the series.

    Notes
    -----
    All values differ: that is the worst series. The release then shows the order σ of one series, or τσ of the other,
    and ln Pr(σ)/Pr(τσ) is the statistic of Neyman and Pearson: no test has a larger advantage.
    """
    k = switch.window
    if k < 2:
        raise ArgumentError("window: within one step there are no two neighbours to tell apart; take two or more")
    i, j = (k - 1, 2 * k - 2) if pair is None else pair
    n = max(j + 2, 6 * k + int(12 * switch.displacement().mean) + 8) if n is None else n
    if not 0 <= i < j < n or j - i >= k:
        raise ArgumentError("pair: must be two instants of the series, the earlier first, within the window")
    source = secure_source() if source is None else source
    promised = switch.guarantee if guarantee is None else guarantee
    losses = sum((_losses(switch, n, i, j, runs, source.spawn(each)) for each in range(releases)), np.zeros(runs))
    coins = source.spawn(releases).words(runs) >> np.uint64(63) == 1
    right = (losses > 0) | ((losses == 0) & coins)
    return AttackResult(
        "which of two neighbours",
        ADVANTAGE,
        Rate(int(right.sum()), runs).advantage_estimate(),
        Estimate.exact(1.0),
        Estimate.exact(0.0),
        bound=advantage_bound(promised),
        bound_reason=(
            f"no test does better than (e^ε - 1 + 2δ)/(e^ε + 1), with ε = {promised.epsilon:.4g} nats and "
            f"δ = {promised.delta:.3g}."
        ),
        trained="nothing: it computes the likelihood of the release under both series exactly",
        knows="the mechanism, and the whole series but for the order of two values that lie within the window",
        settings={"adversary": "likelihood ratio", "on": "fresh draws", "distance": j - i, "releases": releases},
    )


def _losses(switch: Switch, n: int, i: int, j: int, runs: int, source: Source) -> Floats:
    """ln Pr(σ)/Pr(τσ) of so many fresh draws."""
    at_once = max(1, _RECORDS_AT_ONCE // n)
    return np.concatenate(
        [
            switch.exchange_losses(draw_orders(switch, n, part, source), np.array([i]), np.array([j]))[:, 0]
            for part in (range(a, min(a + at_once, runs)) for a in range(0, runs, at_once))
        ]
    )


def draw_orders(switch: Switch, n: int, runs: Sequence[int], source: Source) -> Order:
    """Fresh draws of the order of a series, one a run, shape (runs, n): instant t shows the value of ``order[t]``."""
    starts = np.arange(len(runs) + 1) * n
    flat = switch_batch(switch, starts, source, runs)
    return np.asarray(flat.reshape(len(runs), n) - starts[:-1, None])
