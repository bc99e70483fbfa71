"""Fig. 4 of the noiseless paper: which appliances are on, from the coarsened load of a house."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reticent.attacks import AttackResult
from reticent.attacks.disaggregation import BITS, disaggregation
from reticent.experiments.frame import Outcome, Progress, markdown, spread
from reticent.experiments.loads import sub_metered
from reticent.reports.drawing import PALETTE, data

LOW, HIGH = 0, 6000  # watts: where the meter of the house ends
MONTHS = 4  # to test on: those after the training month
SHORT = {"combinatorial optimisation": "combinations", "cell by cell": "cell by cell"}
COLOURS = {"combinatorial optimisation": PALETTE[0], "cell by cell": PALETTE[1]}
_TABLED = (0, 1, 2, 3, 4, 5, 6, 8, 10)


def appliances(files: Mapping[str, Path], bits: tuple[int, ...] = BITS, progress: Progress | None = None) -> Outcome:
    """Trained on one month, tested on the four after it.

    Parameters
    ----------
    files : mapping
        File of each data set: of the training month, the others beside it.
    bits : tuple of int
        Budgets.
    progress : callable, optional
        Told the budgets done, and how many there are.
    """
    file = next(iter(files.values()))
    training, testing = sub_metered([file]), sub_metered(following(file, MONTHS))
    results = disaggregation(training, testing, LOW, HIGH, bits, progress)
    setting = (
        f"Trained on {training.mains.size:,} minutes, tested on {testing.mains.size:,} minutes of "
        f"{results[0].protected.estimate().trials} days; appliances: {', '.join(training.names)}. Public range "
        f"[{LOW:,}, {HIGH:,}] W. f-score with a 95 % bootstrap interval over days."
    )
    return Outcome([each.row() for each in results], _chart(results), _findings(results, setting), _table(results))


def following(file: Path, months: int) -> list[Path]:
    """The files of the months after that of `file` that are beside it, its name with another ``YYYY-MM``."""
    found = re.search(r"(\d{4})-(\d\d)", file.name)
    if found is None:
        return []
    first = 12 * int(found[1]) + int(found[2]) - 1
    names = (f"{k // 12:04}-{k % 12 + 1:02}" for k in range(first + 1, first + 1 + months))
    places = (file.with_name(file.name.replace(found[0], name)) for name in names)
    return [place for place in places if place.is_file()]


# --- words -----------------------------------------------------------------------------------------------------------


def _series(results: Sequence[AttackResult]) -> dict[tuple[str, str], list[AttackResult]]:
    """By adversary and appliance, in the order of the budgets."""
    found: dict[tuple[str, str], list[AttackResult]] = {}
    for each in results:
        found.setdefault((each.name.removeprefix("disaggregation, "), each.settings["appliance"]), []).append(each)
    return found


def _findings(results: Sequence[AttackResult], setting: str) -> str:
    claim = (
        "The paper says that the f-score gets rapidly bad as ε decreases. Unprotected, and the budgets (bits) from "
        "which on at least half of that is kept:"
    )
    sentences = [setting, claim]
    for (adversary, appliance), line in _series(results).items():
        control, guess = line[0].control.estimate(), line[0].baseline.estimate()
        kept = _least(line)
        sentences.append(
            f"{appliance}, {adversary}: {_interval(line, None)}; "
            f"{'no ε' if kept is None else f'ε ≥ {kept}'}. "
            f"Called on at all times: {guess.value:.2f}"
            f"{'.' if control.low > guess.high else ', which the attack does not clearly beat even unprotected.'}"
        )
    sentences.append(
        "For no ε of a bit or more does the guarantee imply a bound on the f-score: it counts answers. These "
        "adversaries look at one minute at a time; one who follows the series may do better."
    )
    return "\n\n".join(sentences)


def _least(line: Sequence[AttackResult]) -> int | None:
    """The least budget from which on the f-score stays above half of the unprotected one."""
    kept = None
    for each in reversed(line):
        if each.protected.estimate().value < each.control.estimate().value / 2:
            break
        kept = int(each.settings["bits"])
    return kept


def _interval(line: Sequence[AttackResult], budget: int | None) -> str:
    found = (
        line[0].control.estimate()
        if budget is None
        else next(each.protected.estimate() for each in line if each.settings["bits"] == budget)
    )
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def _table(results: Sequence[AttackResult]) -> str:
    lines = _series(results)
    budgets = [each.settings["bits"] for each in next(iter(lines.values())) if each.settings["bits"] in _TABLED]
    header = ["adversary, appliance", *(f"ε = {budget}" for budget in budgets), "unprotected", "always on"]
    return markdown(
        header,
        [
            [
                f"{adversary}, {appliance}",
                *(_interval(line, budget) for budget in budgets),
                _interval(line, None),
                f"{line[0].baseline.estimate().value:.2f}",
            ]
            for (adversary, appliance), line in lines.items()
        ],
    )


# --- the figure ------------------------------------------------------------------------------------------------------


def _chart(results: Sequence[AttackResult]) -> Any:
    import altair as alt

    lines = _series(results)
    names = list(dict.fromkeys(appliance for _, appliance in lines))
    panels = [
        _panel({adversary: lines[adversary, name] for adversary in COLOURS}, name, place % 2 == 0)
        for place, name in enumerate(names)
    ]
    strips = [alt.hconcat(*panels[k : k + 2], spacing=84) for k in range(0, len(panels), 2)]
    caption = alt.Title(
        "Which appliances are on, from the coarsened load of the house",
        subtitle=[
            "bands: 95 % intervals over days; dashed: the load itself is published",
            "grey: the appliance is called on at all times, without looking",
        ],
        offset=14,
    )
    return alt.vconcat(*strips, spacing=24).properties(title=caption)


def _panel(lines: Mapping[str, Sequence[AttackResult]], title: str, first: bool) -> Any:
    import altair as alt

    rows = [
        {"adversary": name, "bits": each.settings["bits"], **each.row()}
        for name, line in lines.items()
        for each in line
    ]
    ends = [{"adversary": name, **line[-1].row()} for name, line in lines.items()]
    labels = [{"label": SHORT[end["adversary"]], "adversary": end["adversary"], "bits": end["bits"]} for end in ends]
    labels.append({"label": "always on", "adversary": "always on", "bits": ends[0]["bits"]})
    heights = spread([*(end["protected"] for end in ends), ends[0]["baseline"]], 0.04)
    named = [{**label, "height": height} for label, height in zip(labels, heights, strict=True)]
    colours = alt.Scale(domain=[*COLOURS, "always on"], range=[*COLOURS.values(), PALETTE[7]])
    colour = alt.Color("adversary:N", scale=colours, legend=None)
    scale = alt.Scale(domain=[0, 0.55], nice=False)
    x = alt.X("bits:Q", title="ε (bits a reading)", axis=alt.Axis(tickCount=6, format="d", grid=False))
    y = alt.Y("protected:Q", title="f-score" if first else None, scale=scale, axis=alt.Axis(tickCount=5))
    layers = (
        alt.Chart(data(ends[:1])).mark_rule(color=PALETTE[7], strokeWidth=2).encode(y=alt.Y("baseline:Q", scale=scale)),
        alt.Chart(data(ends)).mark_rule(strokeDash=[3, 3], opacity=0.7).encode(y="control:Q", color=colour),
        alt.Chart(data(rows))
        .mark_area(opacity=0.18)
        .encode(x=x, y=alt.Y("protected_low:Q", scale=scale), y2="protected_high:Q", color=colour),
        alt.Chart(data(rows))
        .mark_line(strokeWidth=2, point={"size": 26, "filled": True})
        .encode(x=x, y=y, color=colour),
        alt.Chart(data(named))
        .mark_text(align="left", dx=6, fontSize=11)
        .encode(x=x, y=alt.Y("height:Q", scale=scale), text="label:N", color=colour),
    )
    return alt.layer(*layers).properties(width=250, height=170, title=alt.Title(title, fontSize=13))
