"""What each mechanism does to real series at the same ε: means, autocorrelation, warping distance, costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.experiments.frame import Outcome, Progress, markdown, part
from reticent.experiments.panels import Panel, Series, load_panel
from reticent.randomness import seeded_source
from reticent.reports import vega
from reticent.reports.drawing import PALETTE
from reticent.switching import (
    CostCounts,
    Dispatch,
    FootruleSwitch,
    MallowsSwitch,
    RanSwitch,
    StaSwitch,
    Switch,
)
from reticent.switching.costs import counts_of_origins

Floats = NDArray[np.float64]
Order = NDArray[np.int64]

EPSILON = 2.0
STREAM_DELTA = 1e-6
SEED = 7
DAMAGES = {
    "hourly means": "root mean square error, in standard deviations of the series",
    "daily means": "the same, of days",
    "autocorrelation": "largest change at lags of up to a day",
    "warping distance": "dynamic time warping within a day, per record, in standard deviations",
}
COSTS = ("missing", "repeated", "empty", "misalignment")


@dataclass(frozen=True)
class Contestant:
    """A mechanism at the ε of all: its name, its δ (NaN where no guarantee is claimed), whether that is an upper
    confidence bound, and how it draws.

    ``draw(n, source)`` gives the instant of the original that each instant of the release shows, -1 where it is empty.
    """

    name: str
    delta: float
    bound: bool
    draw: Callable[[int, Any], Order]


def contestants(window: int, epsilon: float) -> list[Contestant]:
    """Every mechanism at `window` and `epsilon`, the dispatch mechanisms of the prior work last."""
    switches: dict[str, Switch] = {
        "FootruleSwitch": FootruleSwitch(window, epsilon),
        "MallowsSwitch, file": MallowsSwitch(window, epsilon, 0.0),
        "MallowsSwitch, stream": MallowsSwitch(window, epsilon, STREAM_DELTA),
        "RanSwitch": RanSwitch(window, epsilon),
        "StaSwitch": StaSwitch(window, epsilon),
    }
    found = [
        Contestant(name, switch.delta(epsilon), switch.statistical, switch.order) for name, switch in switches.items()
    ]
    baselines = (Dispatch(window, epsilon, direction) for direction in ("backward", "forward"))
    return found + [Contestant(f"dispatch, {each.direction}", float("nan"), False, each.origins) for each in baselines]


def series(
    files: Mapping[str, Path],
    epsilon: float = EPSILON,
    most: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Every data set that was found.

    Parameters
    ----------
    files : mapping
        File of each data set.
    epsilon : float
        Nats.
    most : int, optional
        Only the first `most` series of each data set, and the first 1,000 records of each: for a quick look.
    progress : callable, optional
        Told the mechanisms done, and how many there are, over all data sets.
    """
    rows: list[dict[str, Any]] = []
    for place, (name, file) in enumerate(files.items()):
        panel = load_panel(name, file)
        if most is not None:
            panel = panel.shortened(most, 1000)
        rows += ranked(measured(panel, epsilon, part(progress, place, len(files))))
    return Outcome(rows, _chart(rows), _findings(rows), _markdown(rows))


def measured(panel: Panel, epsilon: float, progress: Progress | None = None) -> list[dict[str, Any]]:
    """One row a mechanism and measure, the mean over the series of the panel."""
    rows = []
    field = contestants(panel.window, epsilon)
    for done, contestant in enumerate(field, 1):
        source = seeded_source(SEED)
        found = [
            measures(each, contestant.draw(each.values.size, source.spawn(str(i))), panel.day)
            for i, each in enumerate(panel.series)
        ]
        for measure in found[0]:
            before, after = np.mean([each[measure] for each in found], axis=0).tolist()
            rows.append(
                {
                    "data": panel.title,
                    "series": len(panel.series),
                    "window": panel.window,
                    "epsilon": epsilon,
                    "mechanism": contestant.name,
                    "delta": contestant.delta,
                    "delta_is_bound": contestant.bound,
                    "measure": measure,
                    "before": before,
                    "after": after,
                }
            )
        if progress:
            progress(done, len(field))
    return rows


def measures(series: Series, origins: Order, day: int) -> dict[str, tuple[float, float]]:
    """(before, after) of each measure of one series; for a damage, before is zero."""
    from reticent.experiments import _kernels

    spread = float(series.values.std())
    values = (series.values - series.values.mean()) / spread
    released = np.where(origins >= 0, values[np.maximum(origins, 0)], np.nan)
    kept = released[origins >= 0]
    lags = range(1, day + 1)
    before, after = autocorrelation(values, lags), autocorrelation(released, lags)
    counts: CostCounts = counts_of_origins(origins, values.size)
    n = values.size
    return {
        "hourly means": (0.0, mean_error(values, released, series.hours)),
        "daily means": (0.0, mean_error(values, released, series.days)),
        "autocorrelation": (0.0, float(np.abs(after - before).max())),
        "warping distance": (0.0, float(_kernels.warping_distance(values, kept, day)) / n),
        "autocorrelation, one step": (float(before[0]), float(after[0])),
        "autocorrelation, one day": (float(before[-1]), float(after[-1])),
        "missing": (0.0, counts.missing / n),
        "repeated": (0.0, counts.repetition / n),
        "empty": (0.0, counts.empty / n),
        "misalignment": (0.0, counts.misalignment / n),
    }


def mean_error(values: Floats, released: Floats, groups: NDArray[np.int64]) -> float:
    """Root mean square error of the means of groups of instants; NaN is empty, and groups all empty do not count."""
    full = ~np.isnan(released)
    size = int(groups.max()) + 1
    there, left = np.bincount(groups, minlength=size), np.bincount(groups[full], minlength=size)
    both = (there > 0) & (left > 0)
    sums = np.bincount(groups, values, size), np.bincount(groups[full], released[full], size)
    errors = sums[1][both] / left[both] - sums[0][both] / there[both]
    return float(np.sqrt(np.mean(errors**2)))


def autocorrelation(values: Floats, lags: Sequence[int]) -> Floats:
    """Autocorrelation at each lag over the pairs of which neither is empty (NaN)."""
    full = ~np.isnan(values)
    centred = np.where(full, values - np.nanmean(values), 0.0)
    variance = float((centred**2).sum()) / int(full.sum())
    found = [
        float(centred[:-lag] @ centred[lag:]) / max(1, int((full[:-lag] & full[lag:]).sum())) / variance for lag in lags
    ]
    return np.array(found)


def ranked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds to the rows of one data set each mechanism's mean rank over the damages (1 is least, ties share)."""
    from scipy.stats import rankdata

    ranks: dict[str, list[float]] = {}
    for measure in DAMAGES:
        chosen = [row for row in rows if row["measure"] == measure]
        for row, rank in zip(chosen, rankdata([row["after"] for row in chosen]).tolist(), strict=True):
            ranks.setdefault(row["mechanism"], []).append(rank)
    return [{**row, "mean_rank": float(np.mean(ranks[row["mechanism"]]))} for row in rows]


def _by_mechanism(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, Mapping[str, Any]]]:
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["data"], row["mean_rank"])):
        found.setdefault((row["data"], row["mechanism"]), {})[row["measure"]] = row
    return found


def _markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    header = ["data, mechanism", "δ", *DAMAGES, "missing", "repeated", "empty", "misalignment (steps)", "mean rank"]
    lines = []
    for (title, name), found in _by_mechanism(rows).items():
        lines.append(
            [
                f"{title}, {name}",
                _say_delta(found["missing"]),
                *(f"{found[measure]['after']:.3f}" for measure in DAMAGES),
                *(f"{found[cost]['after']:.1%}" for cost in COSTS[:3]),
                f"{found['misalignment']['after']:.2f}",
                f"{found['missing']['mean_rank']:.2f}",
            ]
        )
    return markdown(header, lines)


def _say_delta(row: Mapping[str, Any]) -> str:
    return "none claimed" if np.isnan(row["delta"]) else f"{'≤ ' if row['delta_is_bound'] else ''}{row['delta']:.2g}"


def _findings(rows: Sequence[Mapping[str, Any]]) -> str:
    grouped = _by_mechanism(rows)
    sentences = [
        f"ε = {rows[0]['epsilon']:g} nats for all. Damage: "
        + "; ".join(f"{name}, {what}" for name, what in DAMAGES.items())
        + ". Mechanisms are ranked by their mean rank over the four."
    ]
    for title in dict.fromkeys(row["data"] for row in rows):
        here = {name: found["missing"] for (data_name, name), found in grouped.items() if data_name == title}
        sound = [name for name, row in here.items() if row["delta"] <= STREAM_DELTA]
        rest = [f"{name} (δ: {_say_delta(row)})" for name, row in here.items() if row["delta"] > STREAM_DELTA]
        one = next(iter(here.values()))
        sentences.append(
            f"{title} ({one['series']} series, k = {one['window']}): with δ ≤ {STREAM_DELTA:g}, least damage first: "
            f"{', '.join(sound)}; with a δ that must be accepted: {', '.join(rest)}."
        )
    sentences.append(
        "Which to use: for a file, the FootruleSwitch, whose guarantee is pure (the MallowsSwitch where it moves "
        "values less, k = 2); for a stream, the MallowsSwitch with the δ that one can bear; RanSwitch and StaSwitch "
        "only where their δ is bearable; a dispatch mechanism never, where every value must be released once (its "
        "small warping distance comes from values that are not there)."
    )
    return "\n\n".join(sentences)


def _chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    strips = []
    for title in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == title]
        panels = []
        for place, measure in enumerate(DAMAGES):
            chosen = [
                {
                    "mechanism": row["mechanism"],
                    "after": row["after"],
                    "kind": "δ ≤ 1e-6"
                    if row["delta"] <= STREAM_DELTA
                    else "no guarantee claimed"
                    if np.isnan(row["delta"])
                    else "large δ",
                }
                for row in here
                if row["measure"] == measure
            ]
            axis: dict[str, Any] | None = {} if place == 0 else None
            panels.append(
                vega.chart(chosen)
                .mark("bar", height=13)
                .encode(
                    x=vega.field("after:Q", title=measure, axis={"tickCount": 4}),
                    y=vega.field("mechanism:N", title=None, sort=names, axis=axis),
                    color=vega.field(
                        "kind:N",
                        title="guarantee",
                        sort=["δ ≤ 1e-6", "large δ", "no guarantee claimed"],
                        scale={
                            "domain": ["δ ≤ 1e-6", "large δ", "no guarantee claimed"],
                            "range": [PALETTE[0], PALETTE[1], PALETTE[7]],
                        },
                        legend={"orient": "top"},
                    ),
                )
                .properties(width=180, height=150)
            )
        strip = vega.hconcat(*panels, spacing=14).properties(
            title=f"{title}: {here[0]['series']} series, k = {here[0]['window']}, ε = {here[0]['epsilon']:g}"
        )
        strips.append(strip)
    return vega.vconcat(*strips, spacing=22)
