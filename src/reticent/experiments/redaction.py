"""Figures 2, 3 and 4 of the three-region paper, as published and as they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reticent.experiments.frame import Outcome
from reticent.markov import MarkovChain
from reticent.redaction import (
    RedactionPolicy,
    binary_influence,
    data_independent_bound,
    delta_star,
    markov_quilt,
    optimal_policy,
    regions,
    sequential_redaction,
    three_region,
)
from reticent.reports import vega
from reticent.reports.drawing import PALETTE

THRESHOLD = 0.15  # the paper's Fig. 2 leaves ε' open; all three regions are met here
UNUSUAL = (0.6612, 0.9845)  # λ < 0: the influence is not convex (erratum 13)
BUDGETS = tuple(round(0.05 * step, 2) for step in range(1, 51))

Row = dict[str, Any]


def influence(files: Mapping[str, Path] | None = None) -> Outcome:
    """Fig. 2: the pointwise influence about a record, its regions, Δ⋆ as printed and as it is; and erratum 13."""
    rows = [
        {
            "alpha": alpha,
            "beta": beta,
            "distance": d,
            "value": value,
            "influence": binary_influence(alpha, beta, d)[value],
        }
        for (alpha, beta), longest in (((0.25, 0.5), 6), (UNUSUAL, 6))
        for d in range(1, longest + 1)
        for value in (0, 1)
    ]
    chain = MarkovChain.binary(0.25, 0.5)
    letters = regions(chain, 7, 0, THRESHOLD)[1:]
    true, printed = delta_star(MarkovChain.binary(0.02, 0.2), 1.0, 100), printed_delta_star(0.02, 0.2, 1.0)
    steep = [max(binary_influence(*UNUSUAL, d)) for d in range(1, 5)]
    findings = (
        f"At α = 0.25, β = 0.5 and ε′ = {THRESHOLD} the regions at distances 1, 2, … are {letters}. The printed "
        f"formula for Δ⋆ asks for more than is needed (erratum 3): {printed} where {true} suffices, at α = 0.02, "
        "β = 0.2, ε = 1. "
        "The influence is convex in the distance for λ = 1 − α − β > 0, but not for λ < 0 (erratum 13): at "
        f"α = {UNUSUAL[0]}, β = {UNUSUAL[1]} the max-influence at distances 1 to 4 is "
        f"{', '.join(f'{each:.4g}' for each in steep)}."
    )
    return Outcome(rows, _influence_chart(rows, letters), findings)


def printed_delta_star(alpha: float, beta: float, epsilon: float) -> int:
    """Δ⋆ as the paper prints it, with the denominator (β/α)e^ε + 1."""
    share = math.expm1(epsilon) / (beta / alpha * math.exp(epsilon) + 1)
    return math.ceil(math.log(share) / math.log(abs(1 - alpha - beta)))


def _influence_chart(rows: Sequence[Row], letters: str) -> Any:
    def lines(chosen: Sequence[Row]) -> Any:
        return (
            vega.chart({**row, "value": f"X = {row['value']}"} for row in chosen)
            .mark("line", point={"size": 60}, strokeWidth=2)
            .encode(
                x=vega.field("distance:O", title="distance from the private record", axis={"labelAngle": 0}),
                y=vega.field("influence:Q", title="pointwise influence (nats)"),
                color=vega.field("value:N", title="on the value", scale={"range": list(PALETTE[:2])}),
            )
        )

    usual = [row for row in rows if row["alpha"] == 0.25]
    threshold = vega.chart([{"y": THRESHOLD}]).mark("rule", strokeDash=[5, 4], color="#555").encode(y="y:Q")
    bands = [{"distance": d, "y": 0.74, "region": f"R_{letter}"} for d, letter in enumerate(letters, 1)]
    names = vega.chart(bands).mark("text", color="#333").encode(x="distance:O", y="y:Q", text="region:N")
    note = (
        vega.chart([{"distance": 6, "y": THRESHOLD, "text": f"ε′ = {THRESHOLD}"}])
        .mark("text", dy=-9, color="#333")
        .encode(x="distance:O", y="y:Q", text="text:N")
    )
    left = (lines(usual) + threshold + names + note).properties(
        width=360, height=280, title="As in the paper: α = 0.25, β = 0.5"
    )
    unusual = [row for row in rows if row["alpha"] != 0.25 and row["distance"] <= 6]
    right = lines(unusual).properties(
        width=360, height=280, title=f"λ < 0 is not convex: α = {UNUSUAL[0]}, β = {UNUSUAL[1]}"
    )
    return vega.hconcat(left, right, spacing=36)


Design = Callable[[MarkovChain, int, float], tuple[float, float]]


def _of(policy: Any) -> tuple[float, float]:
    return policy.utility(), policy.leakage()


DESIGNS: dict[str, Design] = {
    "DIM-UB, printed": lambda chain, n, epsilon: (data_independent_bound(chain, n, 0, epsilon, "published"), math.nan),
    "DIM-UB, corrected": lambda chain, n, epsilon: (data_independent_bound(chain, n, 0, epsilon), math.nan),
    "quilt, exact": lambda chain, n, epsilon: _of(markov_quilt(chain, n, 0, epsilon)),
    "three-region, published": lambda chain, n, epsilon: _of(three_region(chain, n, 0, epsilon, "published")),
    "three-region, calibrated": lambda chain, n, epsilon: _of(three_region(chain, n, 0, epsilon)),
    "optimal local": lambda chain, n, epsilon: _of(optimal_policy(chain, n, 0, epsilon)),
    "sequential": lambda chain, n, epsilon: _of(sequential_redaction(chain, n, 0, epsilon)),
}


def utility(
    files: Mapping[str, Path] | None = None,
    budgets: Sequence[float] = BUDGETS,
    alpha: float = 0.01,
    beta: float = 0.8,
    n: int = 10,
) -> Outcome:
    """Fig. 3: utility against ε with the private record first, and what each mechanism truly leaks."""
    chain = MarkovChain.binary(alpha, beta)
    rows: list[Row] = []
    for epsilon in budgets:
        for name, design in DESIGNS.items():
            gained, leaked = design(chain, n, epsilon)
            rows.append({"epsilon": epsilon, "mechanism": name, "utility": gained, "leakage": leaked})
    published = [row for row in rows if row["mechanism"] == "three-region, published"]
    broken = [row for row in published if row["leakage"] > row["epsilon"] + 1e-9]
    worst = max(published, key=lambda row: row["leakage"] / row["epsilon"])
    last = {row["mechanism"]: row["utility"] for row in rows if row["epsilon"] == budgets[-1]}
    findings = (
        f"α = {alpha}, β = {beta}, n = {n}, the first record private. The published three-region mechanism leaks more "
        f"than its ε at {len(broken)} of {len(published)} budgets, most at ε = {worst['epsilon']}: "
        f"{worst['leakage']:.4f} nats. All others keep their promise. Utility at ε = {budgets[-1]}: "
        + ", ".join(f"{name} {value:.4f}" for name, value in last.items())
        + ". The printed and the corrected DIM-UB agree here: erratum 12 is about records with two sides."
    )
    return Outcome(rows, _utility_chart(rows), findings)


def _utility_chart(rows: Sequence[Row]) -> Any:
    names = list(DESIGNS)
    colours = ["#9aa0a6", "#3c4043", PALETTE[0], PALETTE[4], PALETTE[1], PALETTE[2], PALETTE[3]]
    dashes = [[2, 3], [7, 5], [1, 0], [5, 3], [1, 0], [1, 0], [1, 0]]
    colour = vega.field("mechanism:N", title=None, sort=names, scale={"domain": names, "range": colours})
    dash = vega.field("mechanism:N", title=None, sort=names, scale={"domain": names, "range": dashes})
    top = max(row["epsilon"] for row in rows)

    def lines(y: str, title: str, drawn: Sequence[str], scale: Any) -> Any:
        layers = [
            vega.chart(row for row in rows if row["mechanism"] == name)
            .mark("line", strokeWidth=2.2)
            .encode(
                x=vega.field("epsilon:Q", title="ε asked for (nats)", scale={"domain": [0, top], "nice": False}),
                y=vega.field(f"{y}:Q", title=title, scale=scale),
                color=colour,
                strokeDash=dash,
            )
            for name in drawn
        ]
        return vega.layer(*layers).properties(width=400, height=320)

    above = [*names[2:], *names[:2]]  # the bounds coincide with the quilt: draw them over it
    left = lines("utility", "utility (expected share released)", above, {"zero": False}).properties(title="Utility")
    leaks = lines("leakage", "exact leakage (nats)", names[2:], {})
    words = (
        vega.chart(
            [{"epsilon": top, "leakage": 0.12 * top, "text": "calibrated, optimal and sequential: on the diagonal"}]
        )
        .mark("text", align="right", color="#333", dx=-6)
        .encode(x="epsilon:Q", y="leakage:Q", text="text:N")
    )
    right = vega.layer(leaks, words).properties(title="Exact leakage against the ε promised")
    return vega.hconcat(left, right, spacing=36)


def probabilities(
    files: Mapping[str, Path] | None = None,
    alpha: float = 0.02,
    beta: float = 0.2,
    n: int = 50,
    epsilon: float = 1.0,
) -> Outcome:
    """Fig. 4: Pr(withheld | value) of each record, with the first one private, ε = 1 and β/α = 10."""
    chain = MarkovChain.binary(alpha, beta)
    policies: dict[str, RedactionPolicy] = {
        "three-region, published": three_region(chain, n, 0, epsilon, "published"),
        "three-region, calibrated": three_region(chain, n, 0, epsilon),
        "optimal local": optimal_policy(chain, n, 0, epsilon),
        "quilt, exact": markov_quilt(chain, n, 0, epsilon),
    }
    rows = [
        {
            "mechanism": name,
            "leakage": policy.leakage(),
            "utility": policy.utility(),
            "record": t,
            "value": value,
            "withheld": float(policy.probabilities[t, value]),
        }
        for name, policy in policies.items()
        for t in range(n)
        for value in (0, 1)
    ]
    told = "; ".join(f"{name} {each.leakage():.4f}, {each.utility():.4f}" for name, each in policies.items())
    findings = (
        f"α = {alpha}, β = {beta} (the paper's caption has the ratio upside down, erratum 4), n = {n}, "
        f"ε = {epsilon:g}, the first record private. Exact leakage (nats) and utility: {told}."
    )
    return Outcome(rows, _probability_chart(rows, policies), findings)


def _probability_chart(rows: Sequence[Row], policies: Mapping[str, RedactionPolicy]) -> Any:
    shown = 1 + max(int(np.flatnonzero(policy.probabilities.max(axis=1))[-1]) for policy in policies.values())
    panels = []
    for name, policy in policies.items():
        chosen = [
            {**row, "value": f"X = {row['value']}"}
            for row in rows
            if row["mechanism"] == name and row["record"] <= shown
        ]
        panel = (
            vega.chart(chosen)
            .mark("line", interpolate="step", strokeWidth=2.2)
            .encode(
                x=vega.field("record:Q", title="record (0 is private)", axis={"tickMinStep": 1}),
                y=vega.field("withheld:Q", title="Pr(withheld | value)", scale={"domain": [0, 1.02]}),
                color=vega.field("value:N", title=None, scale={"range": list(PALETTE[:2])}),
                strokeDash=vega.field("value:N", title=None, scale={"range": [[1, 0], [5, 3]]}),
            )
            .properties(
                width=360,
                height=190,
                title={"text": name, "subtitle": f"leaks {policy.leakage():.4f} nats, releases {policy.utility():.2%}"},
            )
        )
        panels.append(panel)
    return vega.concat(*panels, columns=2, spacing=28)
