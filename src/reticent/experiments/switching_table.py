"""δ, mean |displacement| and look-ahead of every switch, at the same guarantee where that is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reticent.experiments.frame import Outcome, markdown
from reticent.reports import vega
from reticent.reports.drawing import PALETTE
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch, StaSwitch, Switch

WINDOWS = (2, 4, 10, 24)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0)
STREAM_DELTA = 1e-6

FOOTRULE = "FootruleSwitch, file"
FILE = "MallowsSwitch, file"
STREAM = "MallowsSwitch, stream"
RAN, STA = "RanSwitch", "StaSwitch"
LIKE_RAN, LIKE_STA = "MallowsSwitch, δ of RanSwitch", "MallowsSwitch, δ of StaSwitch"
NAMES = (FOOTRULE, FILE, STREAM, RAN, LIKE_RAN, STA, LIKE_STA)


def table(
    files: Mapping[str, Path] | None = None,
    windows: Sequence[int] = WINDOWS,
    epsilons: Sequence[float] = EPSILONS,
) -> Outcome:
    """All windows and ε; StaSwitch beyond k = 5 by replay, which takes most of the minutes."""
    rows = [row for window in windows for epsilon in epsilons for row in compared(window, epsilon)]
    findings = (
        "Each row of the table is one window k (steps) and one ε (nats); every δ is that at this ε. FootruleSwitch and "
        "MallowsSwitch over a file have δ = 0 and need the whole series; the stream has "
        f"δ ≤ {STREAM_DELTA:g}. RanSwitch and StaSwitch (p/q = e^ε) look ahead k records and have the δ shown (of "
        "StaSwitch an upper confidence bound where k > 5); beside each, MallowsSwitch with the shortest buffer that "
        "has no larger δ, so that both have the same guarantee."
    )
    return Outcome(rows, _chart(rows), findings, _markdown(rows))


def compared(window: int, epsilon: float) -> list[dict[str, Any]]:
    """One row a mechanism."""
    ran, sta = RanSwitch(window, epsilon), StaSwitch(window, epsilon)
    deltas = {RAN: ran.delta(epsilon), STA: sta.delta(epsilon)}
    switches: dict[str, Switch] = {
        FOOTRULE: FootruleSwitch(window, epsilon),
        FILE: MallowsSwitch(window, epsilon, 0.0),
        STREAM: MallowsSwitch(window, epsilon, STREAM_DELTA),
        RAN: ran,
        LIKE_RAN: MallowsSwitch(window, epsilon, deltas[RAN]),
        STA: sta,
        LIKE_STA: MallowsSwitch(window, epsilon, deltas[STA]),
    }
    rows = []
    for name, switch in switches.items():
        law = switch.displacement()
        rows.append(
            {
                "window": window,
                "epsilon": epsilon,
                "mechanism": name,
                "delta": deltas[name] if name in deltas else switch.delta(epsilon),
                "delta_is_bound": switch.statistical,
                "mean_displacement": law.mean,
                "displacement_is_exact": law.exact,
                "look_ahead": switch.look_ahead or "all",
            }
        )
    return rows


def _markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    header = [
        "k, ε",
        "Footrule, file, δ = 0",
        "Mallows, file, δ = 0",
        "Mallows, stream, δ ≤ 10⁻⁶ (look-ahead)",
        "RanSwitch (δ)",
        "Mallows at that δ (look-ahead)",
        "StaSwitch (δ)",
        "Mallows at that δ (look-ahead)",
    ]
    cells: dict[tuple[int, float], dict[str, str]] = {}
    for row in rows:
        mean, name = f"{row['mean_displacement']:.3f}", row["mechanism"]
        if name in (RAN, STA):
            mean += f" ({'≤ ' if row['delta_is_bound'] else ''}{row['delta']:.3f})"
        elif name in (STREAM, LIKE_RAN, LIKE_STA):
            mean += f" ({row['look_ahead']})"
        cells.setdefault((row["window"], row["epsilon"]), {})[name] = mean
    return markdown(
        header,
        ([f"{window}, {epsilon:g}", *(found[name] for name in NAMES)] for (window, epsilon), found in cells.items()),
    )


def _chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    names = [FOOTRULE, STREAM, RAN, STA]  # MallowsSwitch moves the values of a file as far as those of a stream
    colours = [PALETTE[2], PALETTE[0], PALETTE[1], PALETTE[3]]

    scales = {
        "mean_displacement": {"type": "log", "domain": [0.004, 200], "nice": False},
        "delta": {"domain": [0, 1]},
    }

    def lines(y: str, title: str, ticks: Sequence[float]) -> Any:
        return (
            vega.chart(row for row in rows if row["mechanism"] in names)
            .mark("line", strokeWidth=2, point={"size": 35})
            .encode(
                x=vega.field("epsilon:Q", title="ε (nats)", axis={"values": [0, 2, 4, 6]}),
                y=vega.field(f"{y}:Q", title=title, scale=scales[y], axis={"values": list(ticks)}),
                color=vega.field(
                    "mechanism:N",
                    title=None,
                    sort=names,
                    scale={"domain": names, "range": colours},
                    legend={"orient": "top"},
                ),
            )
            .properties(width=210, height=200)
            .facet(column=vega.field("window:O", title=None, header={"labelExpr": "'k = ' + datum.value"}))
        )

    moved = lines("mean_displacement", "mean |displacement| (steps)", (0.01, 0.1, 1, 10, 100))
    return vega.vconcat(moved, lines("delta", "δ at that ε", (0, 0.2, 0.4, 0.6, 0.8, 1)), spacing=24)
