"""Fig. 2 of the switching paper: the allocation laws of all mechanisms at equal ε."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reticent.experiments.frame import Outcome
from reticent.reports import vega
from reticent.reports.drawing import PALETTE
from reticent.switching import (
    Displacement,
    FootruleSwitch,
    MallowsSwitch,
    RanSwitch,
    StaSwitch,
    ideal_allocation,
)

IDEAL = "the paper's ideal (no mechanism)"
PUBLISHED = "RanSwitch as published"
STREAM_DELTA = 1e-6


def laws(files: Mapping[str, Path] | None = None, window: int = 10, epsilon: float = 2.0) -> Outcome:
    """Probability of each displacement far from the ends, with the mean |displacement| and the true δ."""
    published = RanSwitch.published(window, epsilon)
    found: dict[str, tuple[Displacement, float, bool]] = {
        IDEAL: (ideal_allocation(window, epsilon), float("nan"), True),
        PUBLISHED: (published.displacement(), published.delta(epsilon), False),
    }
    switches = {
        "RanSwitch": RanSwitch(window, epsilon),
        "StaSwitch": StaSwitch(window, epsilon),
        "MallowsSwitch, stream": MallowsSwitch(window, epsilon, STREAM_DELTA),
        "FootruleSwitch": FootruleSwitch(window, epsilon),
    }
    for name, switch in switches.items():
        found[name] = switch.displacement(), switch.delta(epsilon), switch.statistical
    rows = [
        {
            "mechanism": name,
            "window": window,
            "epsilon": epsilon,
            "delta": delta,
            "delta_is_bound": bound,
            "mean_displacement": law.mean,
            "mean_lumped_at_2k": lumped(law, 2 * window),
            "offset": int(offset),
            "probability": float(probability),
        }
        for name, (law, delta, bound) in found.items()
        for offset, probability in zip(law.offsets, law.probabilities, strict=True)
        if abs(offset) <= 4 * window
    ]
    told = {name: (law.mean, delta) for name, (law, delta, _) in found.items()}
    findings = (
        f"k = {window}, ε = {epsilon:g} nats. RanSwitch as published (q = {published.q:.7f}) moves a value by "
        f"{lumped(found[PUBLISHED][0], 2 * window):.3f} steps in the mean if all beyond 2k is counted as 2k, as the "
        f"paper does; the true mean is {told[PUBLISHED][0]:.3f}. The ideal law, which no mechanism has, moves it by "
        f"{told[IDEAL][0]:.3f}. True δ at ε = {epsilon:g} and mean |displacement| in steps: "
        + "; ".join(f"{name} {delta:.3g}, {mean:.3f}" for name, (mean, delta) in told.items() if name != IDEAL)
        + ". (δ of StaSwitch is an upper confidence bound for k > 5, and its law the mean-field one for k > 6.)"
    )
    return Outcome(rows, _chart(rows, window), findings)


def lumped(law: Displacement, most: int) -> float:
    """Mean |displacement| with everything beyond `most` steps counted as `most` (the paper's footnote 4)."""
    return float(np.minimum(np.abs(law.offsets), most) @ law.probabilities)


def _chart(rows: Sequence[Mapping[str, Any]], window: int) -> Any:
    means = {row["mechanism"]: row for row in rows}
    labels = {}
    for name, row in means.items():
        failing = "" if name == IDEAL else f", δ {'≤' if row['delta_is_bound'] else '='} {row['delta']:.2g}"
        labels[name] = f"{name}: {row['mean_displacement']:.2f} steps{failing}"
    names = list(labels.values())
    colours = ["#9aa0a6", PALETTE[4], PALETTE[1], PALETTE[3], PALETTE[0], PALETTE[2]]
    dashes = [[2, 3], [5, 3], [1, 0], [1, 0], [1, 0], [1, 0]]
    shown = [
        {"offset": row["offset"], "probability": row["probability"], "mechanism": labels[row["mechanism"]]}
        for row in rows
        if -3 * window <= row["offset"] <= 4 * window and row["probability"] >= 1e-4
    ]
    return (
        vega.chart(shown)
        .mark("line", strokeWidth=2)
        .encode(
            x=vega.field(
                "offset:Q",
                title="displacement in steps (negative: released early)",
                scale={"domain": [-3 * window, 4 * window], "nice": False},
            ),
            y=vega.field(
                "probability:Q",
                title="probability (log scale)",
                scale={"type": "log", "domain": [1e-4, 1]},
                axis={"values": [1e-4, 1e-3, 1e-2, 1e-1, 1]},
            ),
            color=vega.field(
                "mechanism:N",
                title=f"mechanism: mean |displacement|, δ at ε = {next(iter(rows))['epsilon']:g}",
                sort=names,
                scale={"domain": names, "range": colours},
                legend={"orient": "right", "titleLimit": 400},
            ),
            strokeDash=vega.field("mechanism:N", sort=names, scale={"domain": names, "range": dashes}, legend=None),
        )
        .properties(
            width=560,
            height=340,
            title={
                "text": f"Where a value goes, k = {window}",
                "subtitle": f"RanSwitch as published: {means[PUBLISHED]['mean_lumped_at_2k']:.3f} steps with all "
                f"beyond 2k counted as 2k, as in the paper; {means[PUBLISHED]['mean_displacement']:.3f} in truth",
            },
        )
    )
