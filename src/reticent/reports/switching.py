"""What is said of a switch, and its pictures: the law of displacement and the privacy curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.claims import switch_of
from reticent.guarantees import TemporalGuarantee
from reticent.reports import vega
from reticent.reports.account import Account, Table
from reticent.reports.drawing import BLUE, ORANGE, Figure, axis, figure
from reticent.reports.words import at_most, finite, listed, number, several
from reticent.switching import Switch
from reticent.switching.costs import Displacement

if TYPE_CHECKING:
    from reticent.certificates import Certificate

BARS = 200
GROUPS = (1, 2, 5, 12, 24)


def account(certificate: Certificate) -> Account:
    """The account of a switch."""
    parameters, claims = certificate.parameters, certificate.claims
    guarantee, mechanism = claims["guarantee"], parameters["mechanism"]
    columns = certificate.released["columns"]["value"]
    switch = switch_of(parameters)
    law = switch.displacement()
    half, ninety, most = quantiles(law, (0.5, 0.9, 0.99))
    mean = number(claims["utility"]["mean_displacement_steps"])
    return Account(
        title="Release by switching",
        done=(
            f"Within each series the values ({listed(columns)}) traded places in time, at random; every value is true "
            "and occurs as often as before, but not always at its own instant."
        ),
        promise=guarantee["promise"],
        limits=guarantee["limits"],
        assumption=(
            "When records exist does not depend on their values, and nothing else that is released shows the order of "
            "the values of these series."
        ),
        composition=(
            "Each further release of the same series adds its ε and δ to these, since it is another look at the order "
            "of the same values."
        ),
        tiles=(
            (f"{at_most(guarantee['epsilon'])} nats", "ε, for one exchange"),
            (at_most(guarantee["delta"]), "δ, the probability that the bound fails"),
            (several(guarantee["window"], "step"), "window"),
            (f"{mean} steps", "mean displacement of a value"),
        ),
        parameters=(
            ("Mechanism", str(mechanism["mechanism"])),
            ("In words", switch.describe()),
            ("ε asked for", f"{number(parameters['asked']['epsilon'])} nats"),
            ("δ asked for", f"at most {number(parameters['asked']['delta'])}"),
            *((_PARAMETERS.get(key, key), number(value)) for key, value in mechanism.items() if key != "mechanism"),
            *_stream(parameters.get("continued")),
        ),
        utility=(
            ("Values lost, repeated or altered", "none"),
            ("Mean displacement, far from the ends of a series", f"{mean} steps"),
            ("Half of the values move at most", several(half, "step")),
            ("Nine in ten move at most", several(ninety, "step")),
            ("Ninety-nine in a hundred move at most", several(most, "step")),
            *(() if law.exact else (("These numbers are approximate", law.note),)),
        ),
        tables=_groups(guarantee),
    )


_PARAMETERS = {
    "window": "Its window (steps)",
    "epsilon": "Its ε (nats)",
    "delta": "Its largest δ",
    "buffer": "Its buffer (records)",
    "alpha": "Its α (nats)",
    "log_ratio": "Its log-ratio (nats)",
}


def _stream(continued: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    if continued is None:
        return ()
    last = ", the last one" if continued["finished"] else ""
    what = (
        f"release {continued['run']}{last}, of {continued['stream']}; what is promised is of all its releases together"
    )
    return (("Goes on with a stream", what),)


def _groups(guarantee: Mapping[str, Any]) -> tuple[Table, ...]:
    epsilon, delta = finite(guarantee["epsilon"]), finite(guarantee["delta"])
    if epsilon is None or delta is None:
        return ()
    one = TemporalGuarantee(epsilon, delta, guarantee["window"])
    rows = tuple((number(m), f"{at_most(one.group(m).epsilon)} nats", at_most(one.group(m).delta)) for m in GROUPS)
    return (Table("What it costs to hide when a run of values occurred", ("Values", "ε", "δ"), rows),)


def figures(certificate: Certificate) -> Iterator[Figure]:
    """The law of displacement and the privacy curve."""
    yield _displacement(switch_of(certificate.parameters))
    guarantee = certificate.claims["guarantee"]
    epsilon, delta = finite(guarantee["epsilon"]), finite(guarantee["delta"])
    if epsilon and delta is not None:
        yield _curve(epsilon, delta, guarantee["window"])


def quantiles(law: Displacement, shares: tuple[float, ...]) -> list[int]:
    """Steps within which each share of the values stays."""
    steps = np.abs(law.offsets)
    order = np.argsort(steps, kind="stable")
    total = np.cumsum(law.probabilities[order])
    found = np.searchsorted(total, np.array(shares) * total[-1])
    return [int(step) for step in steps[order][np.minimum(found, steps.size - 1)]]


def _displacement(switch: Switch) -> Figure:
    law = switch.displacement()
    half, most = quantiles(law, (0.5, 0.999))
    wide = max(1, math.ceil((2 * most + 1) / BARS))  # steps a bar; an odd number, so that zero is in the middle of one
    wide += 1 - wide % 2
    bins = np.floor_divide(law.offsets + wide // 2, wide)
    reach = most // wide
    sums = np.bincount(np.clip(bins, -reach - 1, reach + 1) + reach + 1, law.probabilities, 2 * reach + 3)[1:-1]
    rows = [
        {"x": i * wide - wide / 2, "x2": i * wide + wide / 2, "y": float(y)}
        for i, y in zip(range(-reach, reach + 1), sums, strict=True)
    ]
    edges = [{"x": sign * (switch.window - 1)} for sign in (-1, 1)] if switch.window - 1 <= most else []
    each = "" if wide == 1 else f" Each bar covers {wide:,} steps."
    rough = "" if law.exact else f" Approximate: {law.note}"
    window = f" Dashed: {several(switch.window - 1, 'step')}, the reach of the window." if edges else ""
    mean = number(law.mean)

    def draw(width: int) -> Any:
        bars = (
            vega.chart(rows)
            .mark("rect", color=BLUE)
            .encode(
                x=vega.field(
                    "x:Q",
                    axis=axis("steps from its own instant (negative: early)"),
                    scale={"nice": False, "zero": False},
                ),
                x2="x2",
                y=vega.field("y:Q", axis=axis("probability", tickCount=4)),
                y2={"datum": 0},
            )
        )
        rules = vega.chart(edges).mark("rule", strokeDash=[5, 4], color=ORANGE, strokeWidth=1.5).encode(x="x:Q")
        return (bars + rules).properties(width=width, height=170)

    return figure(
        "How far a value moves",
        f"The law of a value's displacement, far from the ends of its series. On average a value moves {mean} steps; "
        f"half of them move at most {several(half, 'step')}.{each}{window}{rough}",
        f"Bars of the probability of each displacement, from {-most} to {most} steps; the mean is {mean} steps.",
        draw,
    )


def _curve(epsilon: float, delta: float, window: int) -> Figure:
    from reticent.switching.privacy import dominated_delta

    grid = np.linspace(0, epsilon, 81).tolist()
    rows = [{"x": at, "y": dominated_delta(epsilon, delta, at)} for at in grid]
    point = [{"x": epsilon, "y": delta}]

    def draw(width: int) -> Any:
        line = (
            vega.chart(rows)
            .mark("line", color=BLUE, strokeWidth=2)
            .encode(
                x=vega.field(
                    "x:Q", axis=axis("ε (nats)", tickCount=6), scale={"domain": [0, epsilon * 1.05], "nice": False}
                ),
                y=vega.field("y:Q", axis=axis("δ at most", tickCount=4), scale={"domainMin": 0}),
            )
        )
        dot = vega.chart(point).mark("point", filled=True, size=70, color=ORANGE).encode(x="x:Q", y="y:Q")
        return (line + dot).properties(width=width, height=150)

    return figure(
        "The privacy curve",
        f"At a smaller ε the promise holds, at the window of {several(window, 'step')}, except with probability δ. An "
        "upper bound that every mechanism with this guarantee keeps (Kairouz, Oh and Viswanath, 2017). The dot is what "
        "is promised above.",
        f"δ falls from {at_most(rows[0]['y'])} at ε = 0 to {at_most(delta)} at ε = {at_most(epsilon)} nats.",
        draw,
    )
