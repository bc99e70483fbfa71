"""Linkage across releases: what a second release of the same data adds, beside what the two promise together.

Each result with two releases stands beside the same attack on one. Redactions: a record stays hidden only where both
withhold it, which is what the product policy does. Switches: positions are averaged, and likelihood ratios multiply.
Quantisers: a value lies in the cell of the common refinement; a repetition adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.accounting.composition import compose, composed_delta, refined, temporal_at
from reticent.attacks.cells import ERROR, distance, middles, present
from reticent.attacks.frame import AttackResult, Estimate
from reticent.attacks.realignment import advantage_bound, draw_orders, neighbour_test
from reticent.attacks.reconstruction import Case, redacted
from reticent.attacks.reconstruction.trials import DRAWN, Tally, drawn_cases
from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.quantization import Quantizer
from reticent.randomness import Source, secure_source
from reticent.redaction import RedactionPolicy, SequentialRedaction
from reticent.switching import Switch

Floats = NDArray[np.float64]

NAME = "linkage of releases"


def link_redactions(
    mechanism: RedactionPolicy | SequentialRedaction,
    other: RedactionPolicy | SequentialRedaction | None = None,
    *,
    cases: Sequence[Case] | None = None,
    runs: int = 10_000,
    source: Source | None = None,
) -> tuple[AttackResult, ...]:
    """Reconstruct secrets from one release, then from two.

    Parameters
    ----------
    mechanism, other : RedactionPolicy or SequentialRedaction
        Of the first and of the second release; the same by default.
    cases : sequence of Case, optional
        Releases that were made by `mechanism`; a second one is drawn of each. Series of the chain by default.
    runs : int
        Series drawn where no cases are given.
    source : Source, optional

    Returns
    -------
    tuple of AttackResult
        Success and gain of odds of one release, then of both. Of local policies both together have the leakage of their
        product as a bound; a sequential redaction that is drawn twice has none.

    Raises
    ------
    ArgumentError
        Two policies that do not compose; a sequential redaction of several clusters of secrets.
    """
    source = secure_source() if source is None else source
    other = mechanism if other is None else other
    where = DRAWN if cases is None else "this release, and a fresh draw"
    product = None
    if isinstance(mechanism, RedactionPolicy) and isinstance(other, RedactionPolicy):
        product = mechanism.composed(other)
    elif mechanism is not other:
        raise ArgumentError("other: a sequential redaction is only linked with itself, drawn twice")
    alone = Tally(mechanism.leakage())
    both = Tally(math.inf if product is None else product.leakage())
    for case in drawn_cases(mechanism, runs, source) if cases is None else cases:
        again = redacted(other, case.codes, source)
        alone.add(case)
        both.add(
            replace(case, again=again)
            if product is None
            else Case(product, case.codes, np.where(case.outputs >= 0, case.outputs, again))
        )
    return tuple(
        _named(result, releases) for releases, tally in ((1, alone), (2, both)) for result in tally.results(where=where)
    )


def _named(result: AttackResult, releases: int) -> AttackResult:
    return replace(result, name=NAME, settings={**result.settings, "releases": releases})


def link_switches(
    switch: Switch, *, n: int = 300, releases: int = 2, runs: int = 2000, series: int = 40, source: Source | None = None
) -> tuple[AttackResult, ...]:
    """Put a series of values that all differ back in order from several fresh releases, and tell neighbours apart.

    Parameters
    ----------
    switch : Switch
    n : int
        Records of a series.
    releases : int
        Two or more.
    runs, series : int
        Games of the neighbour test; series that are put in order.
    source : Source, optional

    Returns
    -------
    tuple of AttackResult
        Advantage with one release and with all of them, and the share of values put back with one and with all.

    Raises
    ------
    ArgumentError
        As for `neighbour_test`; one release alone.
    """
    if releases < 2:
        raise ArgumentError("releases: it takes two to link them")
    source = secure_source() if source is None else source
    own = switch.guarantee
    found = [
        _named(neighbour_test(switch, runs=runs, source=source.spawn("one")), 1),
        _named(
            neighbour_test(
                switch,
                runs=runs,
                releases=releases,
                guarantee=_at_zero(switch, releases),
                source=source.spawn("several"),
            ),
            releases,
        ),
    ]
    law = switch.displacement()
    chances = np.full(2 * n + 1, 1e-12)
    near = np.abs(law.offsets) <= n
    chances[law.offsets[near] + n] += law.probabilities[near]
    effort = -np.log(chances)
    draws = [draw_orders(switch, n, range(series), source.spawn(("order", each))) for each in range(releases)]
    for used in (1, releases):
        share = np.array([_put_back([orders[k] for orders in draws[:used]], effort) for k in range(series)])
        stays = np.array([(draws[0][k] == np.arange(n)).mean() for k in range(series)])
        found.append(
            AttackResult(
                NAME,
                "share of values put back in place",
                _mean(share),
                Estimate.exact(1.0),
                _mean(stays),
                bound=None,
                bound_reason=f"the guarantee (ε = {own.epsilon:.4g} nats a release) is about exchanges of two values.",
                trained="nothing: it matches the positions in all releases with the law of the mechanism",
                knows="the mechanism, and which values of the releases are the same: all of them differ",
                settings={"adversary": "positions", "on": "fresh draws", "releases": used},
            )
        )
    return tuple(found)


def _at_zero(switch: Switch, releases: int) -> TemporalGuarantee:
    """δ at ε = 0 of all releases together: an advantage is at most that, and (e^ε - 1 + 2δ)/(e^ε + 1) is it for one."""
    one = temporal_at(switch, switch.window)
    whole = compose(*[switch] * releases)
    assert isinstance(whole, TemporalGuarantee)
    exact = TemporalGuarantee(0.0, composed_delta([one] * releases, 0.0), switch.window, one.statistical)
    return min(exact, whole, key=advantage_bound)


def _mean(shares: Floats) -> Estimate:
    return Estimate.bootstrapped([shares], np.mean)


def _put_back(orders: Sequence[NDArray[np.int64]], effort: Floats) -> float:
    """Share of values that the most likely order of all releases puts where they were."""
    from scipy.optimize import linear_sum_assignment

    n = orders[0].size
    cost = np.zeros((n, n))
    for order in orders:
        slots = np.empty(n, dtype=np.int64)
        slots[order] = np.arange(n)
        cost += effort[slots[:, None] - np.arange(n)[None, :] + n]
    return float((linear_sum_assignment(cost)[1] == np.arange(n)).mean())


def link_quantizers(quantizer: Quantizer, other: Quantizer, series: Sequence[ArrayLike]) -> tuple[AttackResult, ...]:
    """Recover values from their cells, of one release and of two with different cells.

    Parameters
    ----------
    quantizer, other : Quantizer
    series : sequence of array_like, shape (n_i,)
        The values, NaN where missing.

    Returns
    -------
    tuple of AttackResult
        The mean distance from a value to the middle of its cell, for one release and for both: the cells of the common
        refinement. Guessing names the middle of the range.

    Raises
    ------
    ArgumentError
        Two quantisers without a common refinement, or no value at all.
    """
    values = present(series)
    cells = refined([quantizer, other])
    if len(cells) > 1:
        raise ArgumentError("other: it has no common refinement with the first quantiser (range, or policy outside it)")
    guessed = distance(values, [np.full(each.size, float(quantizer.low + quantizer.high) / 2) for each in values])
    found = []
    for releases, own in ((1, quantizer), (2, cells[0])):
        found.append(
            AttackResult(
                NAME,
                ERROR,
                distance(values, [middles(own, each) for each in values]),
                Estimate.exact(0.0),
                guessed,
                bound=None,
                bound_reason=f"{own.outputs} outputs bound how many answers there are, and not how near they lie.",
                trained="nothing: it names the middle of the cell",
                knows="the cells of each release",
                settings={"adversary": "cells", "on": "the same values", "releases": releases, "outputs": own.outputs},
            )
        )
    return tuple(found)
