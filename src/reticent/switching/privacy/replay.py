"""δ by simulation, with a one-sided confidence bound: for laws whose privacy curve has no closed form.

δ(ε) = E_σ[max(0, 1 - e^ε·Pr(τσ)/Pr(σ))]: the release σ is drawn, its likelihood under the exchange τ is computed
exactly, and every term lies in [0, 1]. The largest over the pairs tried is bounded with a failure probability of 1e-6
in all (a union bound over pairs and stages).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reticent.guarantees import TemporalGuarantee
from reticent.randomness import seeded_source
from reticent.switching.batches import switch_batch
from reticent.switching.mechanism import Switch, check_number, check_window
from reticent.switching.ran_switch import exchange_weights

FAILURE = 1e-6
_SCOUTING, _SETTLING = 4_000, 120_000
_SEED = 20_240_117  # the same analysis gives the same number
_WORDS_AT_ONCE = 1 << 21


def upper_bounds(terms: NDArray[np.float64], failure: float) -> NDArray[np.float64]:
    """Upper confidence bounds of the means of the columns, each failing with probability `failure`.

    Empirical Bernstein (Maurer and Pontil 2009): mean + √(2V·ln(2/f)/N) + 7·ln(2/f)/(3(N-1)), for terms in [0, 1].
    """
    n = terms.shape[0]
    log = math.log(2 / failure)
    bound = terms.mean(axis=0) + np.sqrt(2 * terms.var(axis=0, ddof=1) * log / n) + 7 * log / (3 * (n - 1))
    return np.minimum(1.0, bound)


def shares(losses: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """max(0, 1 - e^(ε - loss)): what each drawn release contributes to δ."""
    return -np.expm1(np.minimum(0.0, epsilon - losses))


@lru_cache(maxsize=128)
def stateful_bound(k: int, log_ratio: float, window: int, epsilon: float) -> float:
    """Upper confidence bound of StaSwitch's δ(ε) at `window`: first all pairs, then those that may be the worst.

    Pairs: i = 0 … 3k, one in the interior and the last 2k, at every distance below `window`.
    """
    n = 7 * k + window
    firsts = [*range(3 * k + 1), 4 * k, *range(n - 2 * k, n)]
    pairs = np.array([(i, i + d) for i in dict.fromkeys(firsts) for d in range(1, window) if i + d < n], dtype=np.int64)
    source = seeded_source(_SEED)
    stay, move = exchange_weights(k, log_ratio)
    total = stay + (k - 1) * move
    q, on_words = move / total, np.uint64(2**64 * move // total)

    def terms(chosen: NDArray[np.int64], runs: int) -> NDArray[np.float64]:
        from reticent.switching.privacy import _kernels

        parts = []
        at_once = max(1, min(_WORDS_AT_ONCE // n, _WORDS_AT_ONCE // len(chosen)))
        for start in range(0, runs, at_once):
            losses = np.empty((min(at_once, runs - start), len(chosen)))
            words = source.words(losses.shape[0] * n)
            first, second = np.ascontiguousarray(chosen.T)
            _kernels.stateful_losses(words, n, k, on_words, q, first, second, losses)
            parts.append(shares(losses, epsilon))
        return np.concatenate(parts)

    failure = FAILURE / (2 * len(pairs))
    scouted = terms(pairs, _SCOUTING)
    bounds = upper_bounds(scouted, failure)
    worst = np.argsort(-scouted.mean(axis=0))
    settled: set[int] = set()
    while True:
        # settle whoever has the largest bound, until that is one already settled
        leading = [pair for pair in np.argsort(-bounds)[:16].tolist() if pair not in settled]
        if settled and int(np.argmax(bounds)) in settled:
            return float(bounds.max())
        leading = list(dict.fromkeys([*leading, *([] if settled else worst[:16].tolist())]))
        fresh = upper_bounds(terms(pairs[leading], _SETTLING), failure)
        bounds[leading] = np.minimum(bounds[leading], fresh)
        settled.update(leading)


def replayed_guarantee(
    switch: Switch, epsilon: float, window: int | None = None, runs: int = 20_000
) -> TemporalGuarantee:
    """A tighter δ below a mechanism's own ε, by replay: statistical, over the pairs tried.

    Parameters
    ----------
    switch : MallowsSwitch or FootruleSwitch
        (RanSwitch's curve is exact, and StaSwitch's own guarantee already is a replay where it is not.)
    epsilon : float
        Nats.
    window : int, optional
        Steps; the mechanism's own if absent.
    runs : int
        Releases drawn, of a series some 12 mean displacements and 6 windows long.

    Returns
    -------
    TemporalGuarantee
        The upper confidence bound (failing with probability 1e-6) over pairs at both ends and in the middle; the exact
        `guarantee_at`, not statistical, where that is no worse.
    """
    window = switch.window if window is None else check_window(window)
    exact = switch.guarantee_at(check_number("epsilon", epsilon), window)
    if window == 1 or exact.delta == 0:
        return exact
    n = 6 * window + int(12 * switch.displacement().mean) + 8
    distances = sorted({1, *(2**b for b in range(1, window.bit_length()) if 2**b < window), window - 1})
    pairs = {(i, i + d) for d in distances for i in (0, 1, window // 2, window - 1, n // 2, n - 1 - d) if i + d < n}
    firsts, seconds = np.array(sorted(pairs), dtype=np.int64).T
    source = seeded_source(_SEED)
    terms = []
    at_once = max(1, min(runs, _WORDS_AT_ONCE // n))
    for start in range(0, runs, at_once):
        chosen = range(start, min(runs, start + at_once))
        flat = switch_batch(switch, np.arange(len(chosen) + 1) * n, source, chosen)
        orders = flat.reshape(-1, n) - (np.arange(len(chosen)) * n)[:, None]
        losses = switch.exchange_losses(orders, np.ascontiguousarray(firsts), np.ascontiguousarray(seconds))
        terms.append(shares(losses, epsilon))
    bound = float(upper_bounds(np.concatenate(terms), FAILURE / len(pairs)).max())
    return TemporalGuarantee(epsilon, bound, window, statistical=True) if bound < exact.delta else exact
