"""What several releases promise together, and what a pipeline of steps carries. Where nothing is proved, a refusal.

Sources: the sections *Composition* of the three families. Pufferfish: the product policy, recomputed. Temporal: sums at
one window, or the exact law of losses (Kairouz, Oh and Viswanath 2017). Noiseless: common refinement, else the product.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, TypeAlias

import numpy as np

from reticent.errors import ArgumentError, RefusedError
from reticent.guarantees import Guarantee, NoiselessGuarantee, PufferfishGuarantee, TemporalGuarantee
from reticent.quantization import AggregateQuantization, LocalQuantization, Quantizer, VectorQuantization
from reticent.redaction import RedactionPolicy
from reticent.switching import Switch

Data: TypeAlias = Literal["same data", "disjoint series", "stretches of one series", "public cuts"]
_DATA = ("same data", "disjoint series", "stretches of one series", "public cuts")

NAMES = {
    "pufferfish": "a redaction (Pufferfish privacy)",
    "temporal": "a switch (temporal privacy)",
    "noiseless": "a quantisation (noiseless privacy)",
}

_REASONS = {
    frozenset({"noiseless", "temporal"}): (
        "the quantised copy shows the order of the values, so nothing is hidden about when each occurred, and the "
        "switched copy publishes the values themselves. Only the noiseless claim survives, as a statement about the "
        "quantised copy alone. Quantise first and switch the quantised series, and hand out that one only: then both "
        "claims hold"
    ),
    frozenset({"pufferfish", "temporal"}): (
        "the switched copy publishes every value, the withheld ones included, and the redacted copy shows values at "
        "their true times. Neither claim survives"
    ),
    frozenset({"noiseless", "pufferfish"}): (
        "the quantised copy shows the withheld records up to their cell, and the redacted copy shows the others "
        "exactly. Only the noiseless claim survives, as a statement about the quantised copy alone. Redact first and "
        "quantise the redacted series: then the redaction's claim holds"
    ),
}

EPSILON_DOES_NOT_ADD = (
    "two redactions of the same records share these records, so their ε do not add (.2131 and 1.3947 nats can leak "
    "1.7303 together): no claim survives beyond what the product of the two policies leaks. Compose the policies "
    "themselves, whose joint leakage is computed exactly"
)
DRAWN_ONCE = (
    "a sequential redaction is drawn once for each series and returned again; beside another redaction of the same "
    "records, or drawn twice, it can leak without bound, and no claim survives. Hand out the stored release again"
)
STRETCHES = (
    "two stretches of one series that are switched separately betray, with certainty, which stretch a value came from: "
    "only pairs within a stretch stay protected. Continue the same stream, release the series as a whole, or declare "
    "public cuts, which says that pairs across a cut are not protected"
)


def kind_of(part: Any) -> str:
    """pufferfish, temporal or noiseless: what a guarantee or a mechanism is about."""
    if isinstance(part, Guarantee):
        return part.kind
    if isinstance(part, Switch):
        return TemporalGuarantee.kind
    if isinstance(part, Quantizer | LocalQuantization | VectorQuantization | AggregateQuantization):
        return NoiselessGuarantee.kind
    if isinstance(getattr(part, "guarantee", None), PufferfishGuarantee):
        return PufferfishGuarantee.kind
    raise ArgumentError(
        f"parts: {type(part).__name__} is neither a guarantee nor a mechanism; give what was released, or its guarantee"
    )


def refuse_kinds(one: str, other: str, *, on: str = "the same data") -> RefusedError:
    """Two kinds on the same data: both names, the reason, and what survives."""
    return RefusedError(
        f"{NAMES[one]} and {NAMES[other]} of {on} have no joint guarantee: {_REASONS[frozenset({one, other})]}"
    )


def compose(*parts: Any, on: Data = "same data", window: int | None = None, epsilon: float | None = None) -> Guarantee:
    """What several releases promise together.

    Parameters
    ----------
    *parts : guarantees or mechanisms
        A mechanism says more than its guarantee: its curve at every window, its policy, its cells.
    on : {"same data", "disjoint series", "stretches of one series", "public cuts"}
        Whether the releases are of the same records, of series that do not share individuals (series independent of
        one another, no events in common, rosters fixed beforehand), of different stretches of one series, or of such
        stretches between cuts that are public and were declared.
    window : int, optional
        Steps: the window of the budget, for switches; needed where their own windows differ.
    epsilon : float, optional
        Nats: ask for the δ of the composed switches at this total ε (exact for RanSwitch, else an upper bound).

    Raises
    ------
    RefusedError
        Where nothing is proved: it names both releases, the reason, and what survives.
    ArgumentError
        No parts, or parts that need a window.
    """
    if not parts:
        raise ArgumentError("parts: give at least one guarantee or mechanism")
    if on not in _DATA:
        raise ArgumentError(f"on: must be one of {', '.join(_DATA)}")
    kinds = [kind_of(part) for part in parts]
    other = next((kind for kind in kinds if kind != kinds[0]), None)
    if other is not None:
        if on == "disjoint series":
            raise RefusedError(
                f"{NAMES[kinds[0]]} and {NAMES[other]} of different series make no single claim: each survives about "
                "its own series"
            )
        raise refuse_kinds(kinds[0], other, on="the same data" if on == "same data" else "one series")
    match kinds[0]:
        case "temporal":
            return _temporal(parts, on, window, epsilon)
        case "noiseless":
            return _noiseless(parts, on)
    return _pufferfish(parts, on)


# --- temporal --------------------------------------------------------------------------------------------------------


def _temporal(parts: Sequence[Any], on: Data, window: int | None, epsilon: float | None) -> TemporalGuarantee:
    if window is None:
        windows = {part.window for part in parts}
        if len(windows) > 1:
            raise ArgumentError("window: the parts have different windows; state that of the budget (window=)")
        (window,) = windows
    found = [temporal_at(part, window) for part in parts]
    statistical, cuts = any(each.statistical for each in found), any(each.cuts for each in found)
    if on == "stretches of one series" and len(parts) > 1:
        raise RefusedError(f"{NAMES['temporal']} and another of one series have no joint guarantee: {STRETCHES}")
    if on != "same data":
        worst = max(each.epsilon for each in found), max(each.delta for each in found)
        return TemporalGuarantee(*worst, window, statistical, cuts or on == "public cuts")
    if epsilon is not None:
        return TemporalGuarantee(epsilon, composed_delta(found, epsilon), window, statistical, cuts)
    total = rounded_up([each.epsilon for each in found]), min(1.0, rounded_up([each.delta for each in found]))
    return TemporalGuarantee(*total, window, statistical, cuts)


def temporal_at(part: Any, window: int) -> TemporalGuarantee:
    """The guarantee of a switch at a window; a bare guarantee holds at its own and at every shorter one.

    Raises
    ------
    RefusedError
        A bare guarantee at a longer window.
    """
    if isinstance(part, Switch):
        own = part.guarantee
        return own if window == own.window else part.guarantee_at(window=window)
    if window > part.window:
        raise RefusedError(
            f"a guarantee at window {part.window} says nothing at window {window}: give the mechanism, whose curve is "
            "known at every window"
        )
    return replace(part, window=window)


def rounded_up(values: Sequence[float]) -> float:
    """Their sum as a float, never below the exact one."""
    if math.inf in values:
        return math.inf
    exact = sum(map(Fraction, values))
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


def composed_delta(parts: Sequence[TemporalGuarantee], epsilon: float) -> float:
    """δ at a total `epsilon`: of independent losses that are ±ε_i, or infinite with probability δ_i.

    Every (ε_i, δ_i) mechanism is a post-processing of such a one (Kairouz, Oh and Viswanath 2017); RanSwitch is one.
    """
    from scipy.stats import binom

    if any(math.isinf(each.epsilon) for each in parts):
        return 1.0
    law = {0.0: 1.0}
    for own, count in sorted(Counter(each.epsilon for each in parts).items()):
        steps = binom.pmf(np.arange(count + 1), count, 1 / (1 + math.exp(-own))).tolist()
        grown: dict[float, float] = {}
        for loss, mass in law.items():
            for plus, step in enumerate(steps):
                at = loss + (2 * plus - count) * own
                grown[at] = grown.get(at, 0.0) + mass * step
        law = grown
    whole = math.fsum(math.log1p(-each.delta) if each.delta < 1 else -math.inf for each in parts)
    beyond = math.fsum(-mass * math.expm1(epsilon - loss) for loss, mass in law.items() if loss > epsilon)
    return min(1.0, (-math.expm1(whole) + math.exp(whole) * beyond) * (1 + 1e-12))


# --- noiseless -------------------------------------------------------------------------------------------------------


def _noiseless(parts: Sequence[Any], on: Data) -> NoiselessGuarantee:
    found = [part if isinstance(part, NoiselessGuarantee) else _local(part).guarantee for part in parts]
    if len({each.per for each in found}) > 1:
        raise RefusedError(
            "a guarantee for each reading and one for the whole series count different things and make no joint claim: "
            "both survive as they are. Give them in one unit (for_series)"
        )
    per, local = found[0].per, all(each.local for each in found)
    assuming = " and ".join(dict.fromkeys(each.assuming for each in found if each.assuming))
    if on == "same data":
        outputs = _joint(parts, found)
    elif on == "disjoint series" or per == "reading":
        outputs = max(each.outputs for each in found)
    else:
        outputs = math.prod(each.outputs for each in found)
    return NoiselessGuarantee(outputs, per, local, assuming)


def _local(part: Any) -> Any:
    return LocalQuantization.of(part) if isinstance(part, Quantizer) else part


def _joint(parts: Sequence[Any], found: Sequence[NoiselessGuarantee]) -> int:
    """Quantisers of the same values by their common refinement, the rest by multiplying."""
    cells = [coordinates(part) for part in parts]
    rest = math.prod(each.outputs for each, own in zip(found, cells, strict=True) if own is None)
    groups: dict[int, list[tuple[Quantizer, ...]]] = {}
    for own in cells:
        if own is not None:
            groups.setdefault(len(own), []).append(own)
    columns = [column for group in groups.values() for column in zip(*group, strict=True)]
    return rest * math.prod(each.outputs for column in columns for each in refined(column))


def coordinates(part: Any) -> tuple[Quantizer, ...] | None:
    """The quantiser of each value column, where there is one."""
    match part:
        case Quantizer():
            return (part,)
        case LocalQuantization():
            return (part.quantizer,)
        case VectorQuantization():
            return tuple(each.quantizer for each in part.coordinates)
    return None


def refined(quantizers: Sequence[Quantizer]) -> tuple[Quantizer, ...]:
    """As few quantisers as refining gives, of those of one value; their outputs multiply."""
    kept: list[Quantizer] = []
    for one in quantizers:
        for i, other in enumerate(kept):
            try:
                kept[i] = other if one == other else other.refine(one)
            except ArgumentError:  # different policies for what is outside, or ranges that do not overlap
                continue
            break
        else:
            kept.append(one)
    return tuple(kept)


# --- pufferfish ------------------------------------------------------------------------------------------------------


def _pufferfish(parts: Sequence[Any], on: Data) -> PufferfishGuarantee:
    found = [part if isinstance(part, PufferfishGuarantee) else part.guarantee for part in parts]
    if len(parts) == 1:
        return found[0]
    if on == "disjoint series":
        return PufferfishGuarantee(
            max(each.epsilon for each in found),
            "; ".join(dict.fromkeys(each.secrets for each in found)),
            "; ".join(dict.fromkeys(each.model for each in found)),
            all(each.exact for each in found),
        )
    for part in parts:
        if not isinstance(part, RedactionPolicy | PufferfishGuarantee):
            raise RefusedError(f"{NAMES['pufferfish']} and another have no joint guarantee: {DRAWN_ONCE}")
    if on != "same data" or not all(isinstance(part, RedactionPolicy) for part in parts):
        raise RefusedError(f"{NAMES['pufferfish']} and another have no joint guarantee: {EPSILON_DOES_NOT_ADD}")
    return reduce(lambda one, other: one.composed(other), parts).guarantee


# --- pipelines -------------------------------------------------------------------------------------------------------


def pipeline(*steps: Any) -> tuple[Guarantee, ...]:
    """What the last step's output promises, where only that is handed out.

    Parameters
    ----------
    *steps : mechanisms, in the order in which they are applied
        *Quantise, then switch* carries both claims. *Quantise, then redact* carries the redaction's about the state,
        where the chain is over the symbols, and the noiseless one where the redaction does not look at the value.
        *Redact, then quantise* and *redact, then switch* carry the redaction's.

    Raises
    ------
    RefusedError
        Any other pipeline, or one whose condition does not hold: no joint claim.
    """
    if len(steps) == 1:
        return (steps[0].guarantee if not isinstance(steps[0], Quantizer) else _local(steps[0]).guarantee,)
    order = tuple(kind_of(step) for step in steps)
    if any(isinstance(step, Guarantee) for step in steps):
        raise ArgumentError("steps: a pipeline is made of mechanisms; a guarantee does not say what was done")
    match order:
        case ("noiseless", "temporal"):
            return _quantise_then_switch(*steps)
        case ("noiseless", "pufferfish"):
            return _quantise_then_redact(*steps)
        case ("pufferfish", "noiseless" | "temporal"):
            return (steps[0].guarantee,)
    raise RefusedError(
        f"{', then '.join(NAMES[kind] for kind in order)}: no joint claim is known for this pipeline. What is known: "
        "quantise, then switch; quantise, then redact; redact, then quantise"
    )


def _quantise_then_switch(quantizer: Any, switch: Switch) -> tuple[Guarantee, ...]:
    """A pointwise map commutes with exchanges, so the switch's claim stands; and nothing but symbols is published."""
    if coordinates(quantizer) is None:
        raise RefusedError(
            "an aggregate and then a switch have no joint claim: an exchange of two readings changes the aggregates "
            "themselves. Only one quantiser for all instants, without aggregation, carries both claims"
        )
    return _local(quantizer).guarantee, switch.guarantee


def _quantise_then_redact(quantizer: Any, redaction: Any) -> tuple[Guarantee, ...]:
    cells = coordinates(quantizer)
    if cells is None or len(cells) != 1:
        raise RefusedError(
            "a quantisation and then a redaction have a joint claim only for one quantised column, without aggregation"
        )
    (own,) = cells
    if not set(redaction.chain.states) <= set(own.symbols):
        raise RefusedError(
            "a quantisation and then a redaction have a joint claim only where the chain models the quantised series: "
            "its states must be the symbols of the quantiser (a coarsened chain is in general no chain). Fit the model "
            "on quantised data"
        )
    r = getattr(redaction, "probabilities", None)
    blind = r is not None and bool((r == r[:, :1]).all())
    return (redaction.guarantee, _local(quantizer).guarantee) if blind else (redaction.guarantee,)
