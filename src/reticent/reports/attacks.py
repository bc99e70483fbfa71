"""The private page of the attacks: each beside its control, its baseline and the bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reticent.attacks.frame import AttackResult, Measure
from reticent.reports import vega
from reticent.reports.account import Pairs, Table, released
from reticent.reports.drawing import BLUE, ORANGE, PALETTE, RED, Figure, axis, figure
from reticent.reports.words import LABEL, label, number, several

if TYPE_CHECKING:
    from reticent.attacks.running import AttackReport

HEAD = ("Attack", "On the release", "Unprotected", "By guessing", "Bound", "")
_CERTAIN = 2.5  # an interval of 95 % so many times as wide misses once in a million


@dataclass(frozen=True)
class Page:
    """What the template asks for."""

    attacked: str
    promise: str
    limits: str
    outcome: str
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    adversaries: Pairs
    notes: tuple[str, ...]
    release: Pairs


def attacks_page(report: AttackReport) -> str:
    """The HTML of a report of attacks.

    Parameters
    ----------
    report : AttackReport

    Returns
    -------
    str
        It holds numbers that were computed from original values.
    """
    from reticent.reports.page import fill

    guarantee = report.certificate.claims["guarantee"]
    facts = report.certificate.released
    attacks = len({each.name for each in report.results})
    page = Page(
        attacked=(
            f"A {_ACTIONS[report.certificate.action]} of {several(facts['rows'], 'row')} in "
            f"{several(facts['series'], 'series', 'series')}, by {several(attacks, 'attack')}, "
            f"with {several(len(report.results), 'result')} in all."
        ),
        promise=guarantee["promise"],
        limits=guarantee["limits"],
        outcome=outcome(report.results),
        figures=tuple(_figures(report.results)),
        tables=tuple(_tables(report.results)),
        adversaries=tuple(_adversaries(report.results)),
        notes=report.notes,
        release=released(report.certificate),
    )
    return fill("attacks.html.j2", page=page)


_ACTIONS = {"redact": "redaction", "switch": "switch", "quantize": "quantisation"}


def outcome(results: Sequence[AttackResult]) -> str:
    """Whether all stay within their bounds, in a sentence."""
    bounded = [result for result in results if result.bound is not None]
    above = [result for result in bounded if verdict(result) == ABOVE]
    if above:
        names = ", ".join(dict.fromkeys(f"{each.name} ({each.measure})" for each in above))
        return (
            f"{len(above)} of {len(bounded)} results lie above what the promise allows: {names}. Either the series "
            "does not follow the model of the certificate, or the promise does not hold."
        )
    if not results:
        return "No attack fits this release."
    return (
        f"No result lies above what the promise allows; {len(bounded)} of {len(results)} have such a bound, and for "
        "the others the promise implies none."
    )


BELOW, AT, ABOVE, UNBOUNDED = "below the bound", "at the bound", "ABOVE the bound", "no bound"


def verdict(result: AttackResult) -> str:
    """Where the result lies: *at* the bound if it is above by no more than chance explains (one in a million)."""
    if result.bound is None:
        return UNBOUNDED
    found = result.protected.estimate()
    if found.value <= result.bound:
        return BELOW
    return AT if found.value - _CERTAIN * (found.value - found.low) <= result.bound else ABOVE


def cells(result: AttackResult) -> tuple[str, ...]:
    """One row of the table, as texts: see `HEAD`."""
    return (
        described(result.settings),
        told(result.protected),
        told(result.control),
        told(result.baseline),
        "none" if result.bound is None else _short(result.bound),
        "" if result.bound is None else verdict(result),
    )


def described(settings: Mapping[str, Any]) -> str:
    """The settings that tell one result from another."""
    words = []
    for key, value in settings.items():
        if key == "releases":
            words.append(several(value, "release"))
        elif key == "distance":
            words.append(f"{several(value, 'step')} apart")
        elif key in ("column", "adversary", "on"):
            words.append(str(value))
        elif key == "outputs":
            words.append(several(value, "output"))
        elif key == "n":
            words.append(f"{number(value)} in a group")
    return ", ".join(words)


def told(measure: Measure) -> str:
    """The number, with its interval where there is one."""
    found = measure.estimate()
    if found.low == found.high:
        return _short(found.value)
    return f"{_short(found.value)} ({_short(found.low)} to {_short(found.high)})"


def _short(value: float) -> str:
    return number(float(f"{value:.3g}")) if abs(value) >= 1e-8 else "0"


def grouped(results: Sequence[AttackResult]) -> dict[tuple[str, str], list[AttackResult]]:
    """The results by attack and measure, in the order in which they came."""
    found: dict[tuple[str, str], list[AttackResult]] = {}
    for result in results:
        found.setdefault((result.name, result.measure), []).append(result)
    return found


def _tables(results: Sequence[AttackResult]) -> Iterator[Table]:
    numbered = enumerated(results)
    for (name, measure), mine in grouped(results).items():
        rows = [(place, cells(each)) for place, each in numbered if (each.name, each.measure) == (name, measure)]
        reasons = " ".join(dict.fromkeys(_capital(each.bound_reason) for each in mine))
        lines = tuple((f"{place}. {row[0]}", *row[1:]) for place, row in rows)
        yield Table(f"{_capital(name)}: {measure}", HEAD, lines, reasons)


def enumerated(results: Sequence[AttackResult]) -> list[tuple[int, AttackResult]]:
    """The results numbered in the order of the tables."""
    return list(enumerate((each for mine in grouped(results).values() for each in mine), start=1))


def _adversaries(results: Sequence[AttackResult]) -> Iterator[tuple[str, str]]:
    told_of = dict.fromkeys(
        (f"{_capital(each.name)}, {each.settings.get('adversary', 'adversary')}", each.knows, each.trained)
        for each in results
    )
    for name, knows, trained in told_of:
        yield name, f"Knows {knows}. Trained on {trained}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _figures(results: Sequence[AttackResult]) -> Iterator[Figure]:
    """All shares and advantages on one axis from 0 to 1, numbered as in the tables."""
    shown = [each for each in enumerated(results) if each[1].measure.startswith(("share", "advantage"))]
    if not shown:
        return
    rows: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    for place, each in shown:
        found = each.protected.estimate()
        name = f"{place}. {each.name}: {described(each.settings)}"
        spans.append({"place": place, "x": found.low, "x2": found.high, "name": name})
        points = (found.value, each.control.estimate().value, each.baseline.estimate().value, each.bound)
        rows += [
            {"place": place, "x": x, "what": what} for what, x in zip(_MARKS, points, strict=True) if x is not None
        ]

    def draw(width: int) -> Any:
        room = width // 6
        along = vega.field(
            "x:Q", axis=axis("share, or advantage", tickCount=5), scale={"domain": [0, 1], "clamp": True}
        )
        down = vega.field("place:O", axis=None)
        named = [{**span, "name": _fitting(span["name"], room)} for span in spans]
        text = vega.chart(named).mark("text", align="left", dy=-13).encode(x=vega.value(0), y=down, text="name:N")
        line = vega.chart(named).mark("rule", color=BLUE, strokeWidth=6, opacity=0.35).encode(x=along, y=down, x2="x2")
        points = vega.chart(rows).encode(
            x=along,
            y=down,
            color=vega.field("what:N", title=None, scale={"domain": list(_MARKS), "range": [*_MARKS.values()]}),
        )
        dots = points.filter("datum.what != 'bound'").mark("point", size=70, filled=True, opacity=1)
        bounds = points.filter("datum.what == 'bound'").mark("tick", thickness=3, size=18)
        return (text + line + bounds + dots).properties(width=width, height={"step": 38})

    yield figure(
        "What each adversary achieves",
        "The further to the right, the more; the numbers are those of the tables. A good attack stands far to the "
        "right where nothing is protected; a good release holds it near guessing, and its promise keeps it left of "
        "the bound.",
        "; ".join(f"{each.name}, {each.measure}: {told(each.protected)}, bound {each.bound}" for _, each in shown),
        draw,
    )


def _fitting(text: str, room: int) -> str:
    """As `label`, with so many characters of room."""
    parts = [label(text[at : at + LABEL]) for at in range(0, len(text), LABEL)]
    whole = "".join(parts)
    return whole if len(whole) <= room else whole[: room - 1] + "…"


_MARKS = {"on the release": BLUE, "unprotected": ORANGE, "by guessing": PALETTE[7], "bound": RED}
