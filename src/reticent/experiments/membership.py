"""Fig. 3 of the noiseless paper: which of two households is in a quantised mean, for three adversaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks import AttackResult
from reticent.attacks.membership import ADVERSARIES, BITS, ROUNDS, RULES, SIZES, Profiles, membership
from reticent.errors import InputError
from reticent.experiments.frame import Outcome, Progress, markdown, part, spread
from reticent.experiments.loads import household_days, weekly_totals
from reticent.reports import vega
from reticent.reports.drawing import PALETTE

CLAIMED = ((4, 2), (8, 3))  # (n, ε) where the paper says that the advantage is about zero
NEGLIGIBLE = 0.05
SHOWN = {"sound": "levels that the rule allows", "few": "2^ε levels in all"}
_SHARE = 0.96  # of the days of the year that a household must have for its daily totals


@dataclass(frozen=True)
class Game:
    """Profiles, with the sizes and budgets for which the game is played on them.

    Attributes
    ----------
    profiles : Profiles
    sizes, bits : tuple of int
    drawn : bool
        Whether it is in the figure; else it is there to show what another range does.
    """

    profiles: Profiles
    sizes: tuple[int, ...]
    bits: tuple[int, ...] = BITS
    drawn: bool = True

    def with_range(self, readings: NDArray[np.float64], high: int) -> Game:
        """The same readings with another public range, played at the paper's two points only."""
        sizes, bits = (tuple(sorted(each)) for each in zip(*CLAIMED, strict=True))
        return Game(Profiles.of(self.profiles.title, readings, 0, high, "0.001"), sizes, bits, False)


def half_hourly(
    files: Mapping[str, Path],
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    bits: tuple[int, ...] = BITS,
) -> Outcome:
    """On daily totals over a year, and on the half-hours of a day.

    Parameters
    ----------
    files : mapping
        File of each data set.
    rounds : int
        Of the game.
    progress : callable, optional
        Told the rounds played, and how many there are.
    bits : tuple of int
        Budgets.
    """
    days = household_days(next(iter(files.values())))
    totals = daily_totals(days)
    daily = Game(Profiles.of("daily totals", totals, 0, 100, "0.001"), SIZES, bits)
    halves = Game(Profiles.of("half-hours of a day", days, 0, 8, "0.001"), SIZES, bits)
    games = [
        daily,
        halves,
        *(daily.with_range(totals, high) for high in (50, 360)),
        *(halves.with_range(days, high) for high in (4,)),
    ]
    setting = (
        f"{totals.shape[0]} households with daily totals on the same {totals.shape[2]} days, one series of all these "
        f"days; {days.shape[0]} households with half-hours, a random day in each round. Public ranges: [0, 100] kWh a "
        "day, [0, 8] kWh a half-hour; others for comparison."
    )
    return _outcome(games, rounds, progress, setting)


def weekly(
    files: Mapping[str, Path],
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    bits: tuple[int, ...] = BITS,
) -> Outcome:
    """On weekly totals over a year; parameters as for `half_hourly`."""
    totals = weekly_totals(next(iter(files.values())))
    game = Game(Profiles.of("weekly totals", totals, 0, 1200, "0.001"), (*SIZES, 32), bits)
    setting = (
        f"{totals.shape[0]:,} households, {totals.shape[2]} full weeks. Public range: [0, 1200] kWh a week; others for "
        "comparison."
    )
    return _outcome([game, *(game.with_range(totals, high) for high in (300, 2520))], rounds, progress, setting)


def daily_totals(days: NDArray[np.float64]) -> NDArray[np.float64]:
    """Totals, shape (households, 1, days), of households with most of the days, on the days that all of these have.

    Raises
    ------
    InputError
        If there is no such day.
    """
    totals = days.sum(axis=2)
    there = ~np.isnan(totals)
    households = there.mean(axis=1) >= _SHARE
    common = there[households].all(axis=0)
    if not households.any() or not common.any():
        raise InputError(f"data: no household has {_SHARE:.0%} of the days of a year; give a longer period")
    return np.asarray(totals[households][:, common][:, None, :])


def _outcome(games: Sequence[Game], rounds: int, progress: Progress | None, setting: str) -> Outcome:
    drawn: list[AttackResult] = []
    others: list[AttackResult] = []
    for place, game in enumerate(games):
        told = part(progress, place, len(games))
        found = membership(game.profiles, game.sizes, game.bits, rounds=rounds, progress=told)
        (drawn if game.drawn else others).extend(found)
    results = [*drawn, *others]
    findings = _findings(drawn, others, rounds, setting)
    return Outcome([each.row() for each in results], _chart(drawn), findings, _table(results))


# --- words -----------------------------------------------------------------------------------------------------------


def _claimed(results: Sequence[AttackResult]) -> list[AttackResult]:
    return [each for each in results if (each.settings["n"], each.settings["bits"]) in CLAIMED]


def _findings(drawn: Sequence[AttackResult], others: Sequence[AttackResult], rounds: int, setting: str) -> str:
    rules = "; ".join(f"*{name}*: {what}" for name, what in RULES.items())
    played = (
        f"{rounds:,} rounds. {setting} Rules for the number of levels: {rules}. Advantage: 2 Pr[right] - 1, with "
        "Wilson's 95 % interval over the rounds; a tie is a coin."
    )
    claim = (
        "The paper says that the advantage is about zero at (n = 4, ε = 2) and (n = 8, ε = 3). Here a case, "
        f"an adversary and a point, confirms it if its interval is within ±{NEGLIGIBLE}, and refutes it if outside:"
    )
    sentences = [played, claim]
    for title in dict.fromkeys(each.settings["readings"] for each in drawn):
        for rule in RULES:
            here, there = (
                [e for e in _claimed(group) if e.settings["readings"] == title and e.settings["rule"] == rule]
                for group in (drawn, others)
            )
            also = f" With other ranges: {_span(there)}." if there else ""
            sentences.append(f"{title.capitalize()}, *{rule}*: {_verdict(here)}.{also}")
    sentences.append(
        "Where the advantage is near zero the published series is constant, or nearly so, in most rounds: look at the "
        "share of ties. For ε of one bit or more the guarantee implies no bound on a guess between two. At ε = 0 it "
        "implies that nothing is learnt: so it is with the one level of *sound* and *few*."
    )
    broken = [e for e in drawn if e.settings["rule"] == "published" and e.within_bound is False]
    if broken:
        sentences[-1] += f" The n levels of *published* break that promise: {_span(broken)}."
    return "\n\n".join(sentences)


def _verdict(here: Sequence[AttackResult]) -> str:
    """Which of the cases (adversaries and points) confirm the claim, and which refute it."""
    found = [each.protected.estimate() for each in here]
    confirmed = sum(each.low >= -NEGLIGIBLE and each.high <= NEGLIGIBLE for each in found)
    refuted = sum(each.low > NEGLIGIBLE or each.high < -NEGLIGIBLE for each in found)
    cases = f"of {len(found)} cases {refuted} refute it, {confirmed} confirm it"
    word = {(len(found), 0): "refuted", (0, len(found)): "confirmed"}.get((refuted, confirmed), cases)
    return f"{word}, {_span(here)}"


def _span(here: Sequence[AttackResult]) -> str:
    """The smallest and the largest advantage, over adversaries and points."""
    ordered = sorted(here, key=lambda each: each.protected.estimate().value)
    return f"from {_interval(ordered[0])} to {_interval(ordered[-1])}"


def _table(results: Sequence[AttackResult]) -> str:
    rows: dict[tuple[Any, ...], dict[str, AttackResult]] = {}
    for each in _claimed(results):
        s = each.settings
        key = (s["readings"], s["range"], s["n"], s["bits"], s["rule"], s["levels"])
        rows.setdefault(key, {})[each.name.removeprefix("membership by ")] = each
    header = ["readings, range (kWh)", "n", "ε", "rule", "levels", *ADVERSARIES, "ties", "unprotected"]
    lines = [
        [
            f"{readings}, {span}",
            str(n),
            str(bits),
            rule,
            str(levels),
            *(_interval(found[name]) for name in ADVERSARIES),
            f"{found['correlation'].settings['ties']:.0%}",
            " / ".join(f"{found[name].control.estimate().value:.2f}" for name in ADVERSARIES),
        ]
        for (readings, span, n, bits, rule, levels), found in rows.items()
    ]
    return markdown(header, lines)


def _interval(result: AttackResult) -> str:
    found = result.protected.estimate()
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


# --- the figure ------------------------------------------------------------------------------------------------------


def _chart(results: Sequence[AttackResult]) -> Any:
    strips = []
    for title in dict.fromkeys(each.settings["readings"] for each in results):
        for rule, said in SHOWN.items():
            here = [e for e in results if e.settings["readings"] == title and e.settings["rule"] == rule]
            panels = [
                _panel([e for e in here if e.name.endswith(adversary)], adversary, place == 0)
                for place, adversary in enumerate(ADVERSARIES)
            ]
            name = {"text": f"{title}, {said}", "fontSize": 13, "fontWeight": "bold"}
            strips.append(vega.hconcat(*panels, spacing=46).properties(title=name))
    caption = {
        "text": "Which of two households is in the mean of n?",
        "subtitle": [
            "bands: 95 % intervals; dashed: the exact mean is published",
            "circles: (n = 4, ε = 2) and (n = 8, ε = 3), where the paper says that there is almost no advantage",
        ],
        "offset": 14,
    }
    return vega.vconcat(*strips, spacing=26).properties(title=caption)


def _panel(results: Sequence[AttackResult], title: str, first: bool) -> Any:
    rows = [{"n": e.settings["n"], "bits": e.settings["bits"], **e.row()} for e in results]
    sizes = list(dict.fromkeys(row["n"] for row in rows))
    last = max(row["bits"] for row in rows)
    ends = [row for row in rows if row["bits"] == last]
    heights = spread([row["protected"] for row in ends], 0.095)
    labels = [{**row, "label": f"n = {row['n']}", "height": at} for row, at in zip(ends, heights, strict=True)]
    marks = [row for row in rows if (row["n"], row["bits"]) in CLAIMED]
    colour = vega.field("n:N", legend=None, scale={"domain": sizes, "range": list(PALETTE[: len(sizes)])})
    scale = {"domain": [-0.1, 1], "nice": False}
    x = vega.field("bits:Q", title="ε (bits a reading)", axis={"tickCount": 5, "format": "d", "grid": False})
    y = vega.field("protected:Q", title="advantage" if first else None, scale=scale, axis={"tickCount": 5})
    layers = (
        vega.chart(ends).mark("rule", strokeDash=[3, 3], opacity=0.55).encode(y=vega.field("control:Q"), color=colour),
        vega.chart(rows)
        .mark("area", opacity=0.22)
        .encode(x=x, y=vega.field("protected_low:Q", scale=scale), y2="protected_high", color=colour),
        vega.chart(rows).mark("line", strokeWidth=2).encode(x=x, y=y, color=colour),
        vega.chart(marks).mark("point", size=80, strokeWidth=2, filled=False).encode(x=x, y=y, color=colour),
        vega.chart(labels)
        .mark("text", align="left", dx=6, fontSize=11)
        .encode(x=x, y=vega.field("height:Q", scale=scale), text="label:N", color=colour),
    )
    return vega.layer(*layers).properties(width=185, height=135, title={"text": f"by {title}", "fontSize": 12})
