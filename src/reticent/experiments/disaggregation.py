"""Fig. 4 of the noiseless paper: which appliances are on, from the coarsened load of a house."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from reticent.attacks import AttackResult
from reticent.attacks.disaggregation import BITS, disaggregation
from reticent.experiments.frame import Outcome, Progress, markdown, part, spread
from reticent.experiments.loads import sub_metered
from reticent.reports import vega
from reticent.reports.drawing import PALETTE

LOW = 0  # watts


@dataclass(frozen=True)
class Home:
    """A house: the file of the training month, how many months after it to test on, and the public range.

    Attributes
    ----------
    title, file : str
    months : int
        Those of them count whose files are there.
    high : int
        Watts; a round number just above the readings (REFIT's end at 6,000).
    """

    title: str
    file: str
    months: int
    high: int


REFIT = Home("REFIT house 2", "REFIT_House2_2014-03.gzip", 4, 6000)
OTHERS = (
    Home("UK-DALE house 2", "UKDALE_House2_2013-06.gzip", 1, 6000),
    Home("IDEAL house 65", "IDEAL_House65_2018-02.gzip", 2, 15_000),
)
SHORT = {"combinatorial optimisation": "combinations", "cell by cell": "cell by cell"}
COLOURS = {"combinatorial optimisation": PALETTE[0], "cell by cell": PALETTE[1]}
Lines: TypeAlias = dict[tuple[str, str, str], list[AttackResult]]  # by house, appliance and adversary
_TABLED = (0, 1, 2, 3, 4, 5, 6, 8, 10)


def appliances(files: Mapping[str, Path], bits: tuple[int, ...] = BITS, progress: Progress | None = None) -> Outcome:
    """One house, trained on one month, tested on the four after it.

    Parameters
    ----------
    files : mapping
        A file of each data set; the others are beside it.
    bits : tuple of int
        Budgets.
    progress : callable, optional
        Told the budgets done, and how many there are.
    """
    return _outcome((REFIT,), next(iter(files.values())).parent, bits, progress)


def other_houses(files: Mapping[str, Path], bits: tuple[int, ...] = BITS, progress: Progress | None = None) -> Outcome:
    """Two more houses; parameters as for `appliances`."""
    return _outcome(OTHERS, next(iter(files.values())).parent, bits, progress)


def _outcome(homes: Sequence[Home], folder: Path, bits: tuple[int, ...], progress: Progress | None) -> Outcome:
    lines: Lines = {}
    settings = []
    for place, home in enumerate(homes):
        file = folder / home.file
        training, testing = sub_metered([file]), sub_metered(following(file, home.months))
        results = disaggregation(training, testing, LOW, home.high, bits, part(progress, place, len(homes)))
        for each in results:
            name = each.name.removeprefix("disaggregation, ")
            lines.setdefault((home.title, each.settings["appliance"], name), []).append(each)
        days = results[0].protected.estimate().trials
        settings.append(
            f"{home.title}: trained on {training.mains.size:,} minutes, tested on {testing.mains.size:,} minutes of "
            f"{days} days; public range [{LOW:,}, {home.high:,}] W; appliances: {', '.join(training.names)}."
        )
    rows = [{"house": house, **each.row()} for (house, _, _), line in lines.items() for each in line]
    return Outcome(rows, _chart(lines), _findings(lines, settings), _table(lines))


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


def _findings(lines: Lines, settings: Sequence[str]) -> str:
    claim = (
        "The paper says that the f-score gets rapidly bad as ε decreases. Unprotected, with a 95 % bootstrap interval "
        "over days, and the budgets (bits) from which on at least half of that is kept:"
    )
    sentences = [*settings, claim]
    for (house, appliance, adversary), line in lines.items():
        control, guess = line[0].control.estimate(), line[0].baseline.estimate()
        kept = _least(line)
        sentences.append(
            f"{house}, {appliance}, {adversary}: {_interval(line, None)}; "
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


def _table(lines: Lines) -> str:
    budgets = [each.settings["bits"] for each in next(iter(lines.values())) if each.settings["bits"] in _TABLED]
    header = ["house, appliance, adversary", *(f"ε = {budget}" for budget in budgets), "unprotected", "always on"]
    return markdown(
        header,
        [
            [
                ", ".join(names),
                *(_interval(line, budget) for budget in budgets),
                _interval(line, None),
                f"{line[0].baseline.estimate().value:.2f}",
            ]
            for names, line in lines.items()
        ],
    )


# --- the figure ------------------------------------------------------------------------------------------------------


def _chart(lines: Lines) -> Any:
    top = max(each.protected.estimate().high for line in lines.values() for each in line)
    pairs = list(dict.fromkeys(names[:2] for names in lines))
    panels = [
        _panel({name: lines[*pair, name] for name in COLOURS}, ", ".join(pair), top, place % 2 == 0)
        for place, pair in enumerate(pairs)
    ]
    strips = [vega.hconcat(*panels[k : k + 2], spacing=84) for k in range(0, len(panels), 2)]
    caption = {
        "text": "Which appliances are on, from the coarsened load of the house",
        "subtitle": [
            "bands: 95 % intervals over days; dashed: the load itself is published",
            "grey: the appliance is called on at all times, without looking",
        ],
        "offset": 14,
    }
    return vega.vconcat(*strips, spacing=24).properties(title=caption)


def _panel(lines: Mapping[str, Sequence[AttackResult]], title: str, top: float, first: bool) -> Any:
    rows = [
        {"adversary": name, "bits": each.settings["bits"], **each.row()}
        for name, line in lines.items()
        for each in line
    ]
    ends = [{"adversary": name, **line[-1].row()} for name, line in lines.items()]
    labels = [{"label": SHORT[end["adversary"]], "adversary": end["adversary"], "bits": end["bits"]} for end in ends]
    labels.append({"label": "always on", "adversary": "always on", "bits": ends[0]["bits"]})
    heights = spread([*(end["protected"] for end in ends), ends[0]["baseline"]], 0.08 * top)
    named = [{**label, "height": height} for label, height in zip(labels, heights, strict=True)]
    colours = {"domain": [*COLOURS, "always on"], "range": [*COLOURS.values(), PALETTE[7]]}
    colour = vega.field("adversary:N", scale=colours, legend=None)
    scale = {"domain": [0, 1.05 * top], "nice": False}
    x = vega.field("bits:Q", title="ε (bits a reading)", axis={"tickCount": 6, "format": "d", "grid": False})
    y = vega.field("protected:Q", title="f-score" if first else None, scale=scale, axis={"tickCount": 5})
    layers = (
        vega.chart(ends[:1])
        .mark("rule", color=PALETTE[7], strokeWidth=2)
        .encode(y=vega.field("baseline:Q", scale=scale)),
        vega.chart(ends).mark("rule", strokeDash=[3, 3], opacity=0.7).encode(y="control:Q", color=colour),
        vega.chart(rows)
        .mark("area", opacity=0.18)
        .encode(x=x, y=vega.field("protected_low:Q", scale=scale), y2="protected_high", color=colour),
        vega.chart(rows).mark("line", strokeWidth=2, point={"size": 26, "filled": True}).encode(x=x, y=y, color=colour),
        vega.chart(named)
        .mark("text", align="left", dx=6, fontSize=11)
        .encode(x=x, y=vega.field("height:Q", scale=scale), text="label:N", color=colour),
    )
    return vega.layer(*layers).properties(width=250, height=170, title={"text": title, "fontSize": 13})
