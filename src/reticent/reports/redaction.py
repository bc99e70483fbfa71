"""What is said of a redaction, and its pictures: who is withheld, and how fast influence fades."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.markov import MarkovChain
from reticent.redaction import RedactionPolicy
from reticent.reports import vega
from reticent.reports.account import Account, Table
from reticent.reports.drawing import BLUE, PALETTE, RED, SECRET, Figure, axis, figure
from reticent.reports.words import at_most, finite, label, listed, number, period, several, share

if TYPE_CHECKING:
    from reticent.certificates import Certificate

Floats = NDArray[np.float64]

REACH = 150  # steps that are drawn on either side of a secret, at most
UNKNOWN_REACH = 30  # as many where it is not known what may be withheld
LINES = 4  # states that are drawn each on its own
MATRIX = 8  # a transition matrix up to this size is printed
GEOMETRIES = 8  # the commonest ones are listed


def account(certificate: Certificate) -> Account:
    """The account of a redaction."""
    parameters, claims = certificate.parameters, certificate.claims
    guarantee, utility, model = claims["guarantee"], claims["utility"], parameters["model"]
    guarded, whole = utility["series_with_private_records"], utility["series_released_whole"]
    chain = parameters["chains"][0]
    epsilon = at_most(guarantee["epsilon"])
    kept = share(utility["expected_released_fraction"])
    return Account(
        title="Release by redaction",
        done=(
            f"In {several(guarded, 'series', 'series')} the private records ({'; '.join(parameters['private'])}) were "
            "withheld, and with them as many records around them as the promise asks for; every record that is "
            "released is true and in its place."
            if guarded
            else "No series holds a private record, so every record was released as it is."
        ),
        promise=guarantee["promise"],
        limits=guarantee["limits"],
        assumption=f"The series follows {guarantee['model']}, and is independent of every other series.",
        composition=(
            "The ε of two redactions of the same records do not add up: local ones are recomputed together, and a "
            "sequential one may be drawn only once."
        ),
        tiles=(
            (f"{epsilon} nats", "ε, the exact leakage"),
            (kept, "of the records of these series are expected to be released"),
            (number(guarded), "series with private records"),
            (number(whole), "series released whole"),
        ),
        parameters=(
            ("Mechanism", str(parameters["asked"]["mechanism"])),
            ("ε asked for", f"{number(parameters['asked']['epsilon'])} nats"),
            ("Private", "; ".join(parameters["private"])),
            ("Sampling period", period(parameters["every"])),
            ("States of the chain", listed(map(number, chain["states"]))),
            ("Rhythm of the chain", _rhythm(len(chain["transitions"]))),
            ("Origin of the chain", "this release" if model["origin"] == "released" else "a file"),
            *((("Margin", several(model["margin"], "step")),) if model.get("margin") is not None else ()),
            *((("Smoothing", number(model["smoothing"])),) if model.get("smoothing") is not None else ()),
            ("Different geometries of secrets", number(len(parameters["mechanisms"]))),
        ),
        utility=(
            ("Records of series with secrets that are expected to be released", kept),
            ("Series with private records", number(guarded)),
            ("Series released whole", number(whole)),
        ),
        tables=(*_geometries(parameters, claims), *_matrix(parameters)),
    )


def _geometries(parameters: Mapping[str, Any], claims: Mapping[str, Any]) -> tuple[Table, ...]:
    counts = _counts(parameters)
    rows = []
    for index, count in counts.most_common(GEOMETRIES):
        mechanism = parameters["mechanisms"][index]
        secrets = mechanism["private"]
        hidden = sum(last - first + 1 for first, last in secrets)
        rows.append(
            (
                number(count),
                number(mechanism["n"]),
                f"{number(len(secrets))}, of {several(hidden, 'record')} in all",
                f"{at_most(claims['leakage'][index])} nats",
            )
        )
    rest = len(counts) - len(rows)
    note = f"and {several(rest, 'geometry', 'geometries')} more" if rest else ""
    table = Table(
        "Geometries of secrets", ("Series", "Records in each", "Secrets in each", "Leakage"), tuple(rows), note
    )
    return (table,) if rows else ()


def _matrix(parameters: Mapping[str, Any]) -> tuple[Table, ...]:
    chains = parameters["chains"]
    states, steps = chains[0]["states"], chains[0]["transitions"]
    if len(chains) != 1 or len(steps) != 1 or len(states) > MATRIX:
        return ()
    rows = tuple(
        (number(state), *(f"{chance:.4f}" for chance in row)) for state, row in zip(states, steps[0], strict=True)
    )
    return (Table("The chain: probability of the next state", ("from \\ to", *map(number, states)), rows),)


def _rhythm(period: int) -> str:
    return "none: the same at all times" if period == 1 else f"repeats after {period:,} steps"


# --- pictures --------------------------------------------------------------------------------------------------------


def figures(certificate: Certificate) -> Iterator[Figure]:
    """Around the first secret of the commonest geometry; nothing where no series has a secret.

    All is read off the parameters near that secret, so that it costs the same for any number of records.
    """
    parameters = certificate.parameters
    counts = _counts(parameters)
    if not counts:
        return
    index = max(counts, key=lambda index: (counts[index], -index))
    design = parameters["mechanisms"][index]
    chains = [
        MarkovChain.from_dict({**chain, "phase": chain["phase"] + design["phase"]}) for chain in parameters["chains"]
    ]
    asked, leakage = finite(parameters["asked"]["epsilon"]), at_most(certificate.claims["leakage"][index])
    local = design["mechanism"] == RedactionPolicy.mechanism
    before, after = (_rows(design, chains[0].size, side) for side in (-1, 1))
    reach = (_reach(before), _reach(after)) if local else (UNKNOWN_REACH, UNKNOWN_REACH)
    reach = (min(reach[0], len(before)), min(reach[1], len(after)))
    if local:
        yield _probability(design, chains[0].states, before[: reach[0]], after[: reach[1]])
    else:
        left, right = (_walk(design, chains[0], side, most) for side, most in zip((-1, 1), reach, strict=True))
        if left is not None and right is not None:
            yield _probability(design, ("",), left, right)
    yield _influence(design, chains, reach, asked, leakage)


def _counts(parameters: Mapping[str, Any]) -> Counter[int]:
    """How many series have each geometry of secrets."""
    counts: Counter[int] = Counter()
    for index, count in parameters["series"]:
        if index is not None:
            counts[index] += count
    return counts


def _rows(design: Mapping[str, Any], size: int, side: int) -> Floats:
    """Probabilities of redaction at 1, 2, … steps before (-1) or after (1) the first secret, at most `REACH`."""
    first, last = design["private"][0]
    low, high = (max(0, first - REACH), first) if side < 0 else (last + 1, min(design["n"], last + 1 + REACH))
    r = np.zeros((high - low, size))
    certain = [[*interval, 1.0] for interval in (*design["private"], *design.get("missing", ()))]
    for begin, end, row in [*design.get("probabilities", ()), *certain]:
        if begin < high and end >= low:
            r[max(begin - low, 0) : end + 1 - low] = row
    return r[::side]


def _walk(design: Mapping[str, Any], chain: MarkovChain, side: int, most: int) -> Floats | None:
    """Probability that nothing was released up to 1, 2, … `most` steps on one side of the first secret, shape (m, 1).

    None where the walk on that side begins at another secret of its cluster.
    """
    from reticent.redaction.sequential import kernels
    from reticent.redaction.sequential.walks import setting

    start = design["private"][0][0 if side < 0 else 1]
    for shape in design.get("walks", ()):
        if shape["direction"] == ("left" if side < 0 else "right") and start in shape["starts"]:
            release = np.zeros((most + 1, chain.size, chain.size))
            for first, last, matrix in shape["release"]:
                release[first : last + 1] = matrix
            law = kernels.first_release(*setting(chain, start, side), release)
            released = np.cumsum(np.einsum("x,txv->t", chain.law(start), law))[1:]
            return np.clip(1.0 - released, 0.0, 1.0)[:, None]
    return None


def _reach(r: Floats) -> int:
    """Steps to be drawn: what may be withheld next to the secret, and half as much again."""
    kept = np.flatnonzero((r == 0).all(axis=1))
    run = int(kept[0]) if kept.size else len(r)
    return run + max(6, run // 2)


def _probability(design: Mapping[str, Any], states: Any, before: Floats, after: Floats) -> Figure:
    inside = np.ones((1, len(states)))
    lines = _by_state(np.concatenate([before[::-1], inside, after]), states)
    rows = []
    for name, values in lines.items():
        starts = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
        rows += [
            {"x": i - len(before) - 0.5, "y": float(values[min(i, len(values) - 1)]), "name": name} for i in starts
        ]
    beside = sum(int((r > 0).any(axis=1).cumprod().sum()) for r in (before, after))
    said = f"Next to it, {several(beside, 'more record')} may be withheld."
    if design["mechanism"] != RedactionPolicy.mechanism:
        said = "Outward from it, records are withheld until one is released, and with it all beyond."

    def draw(width: int) -> Any:
        along = _along(before, after)
        up = vega.field("y:Q", axis=axis("probability", tickCount=3), scale={"domain": [0, 1]})
        step = vega.chart(rows).mark("line", interpolate="step-after", strokeWidth=2)
        return (_secrets(design, before, after) + step.encode(x=along, y=up, **_coloured(lines))).properties(
            width=width, height=120
        )

    return figure(
        "How probable it is that a record is withheld",
        f"Every record of the secret is withheld. {said} A missing record counts as withheld.{_which(design)}",
        f"Probability of redaction against steps from the secret, from {-len(before)} to {len(after)}. {said}",
        draw,
    )


def _by_state(r: Floats, states: Any) -> dict[str, Floats]:
    if (r == r[:, :1]).all():
        return {"whatever its state": r[:, 0]}
    if len(states) <= LINES:
        return {f"state {label(state)}": r[:, code] for code, state in enumerate(states)}
    return {"the state most often withheld": r.max(axis=1), "the state least often withheld": r.min(axis=1)}


def _influence(
    design: Mapping[str, Any], chains: list[MarkovChain], reach: tuple[int, int], asked: float | None, leakage: str
) -> Figure:
    first, last = design["private"][0]
    before = _influences(chains, first, -1, reach[0])
    after = _influences(chains, last, 1, reach[1])
    states = chains[0].states
    if len(states) <= LINES:
        lines = {f"on state {label(state)}": slice(code, code + 1) for code, state in enumerate(states)}
    else:
        lines = {"on the state most influenced": slice(None)}
    rows = [
        {"x": side * distance, "y": value if math.isfinite(value) else None, "name": name, "side": side}
        for side, values in ((-1, before), (1, after))
        for name, part in lines.items()
        for distance, value in enumerate(values[:, part].max(axis=1).tolist(), start=1)
    ]
    allowed = [] if asked is None else [{"y": asked, "text": f"asked for: {number(asked)} nats"}]
    gap = " Where no point is drawn it is infinite." if any(row["y"] is None for row in rows) else ""

    def draw(width: int) -> Any:
        up = vega.field("y:Q", axis=axis("influence (nats)", tickCount=4), scale={"domainMin": 0})
        line = vega.chart(rows).mark("line", strokeWidth=2, point={"size": 14})
        line = line.encode(x=_along(before, after), y=up, detail="side:N", **_coloured(lines))
        base = vega.chart(allowed).encode(y="y:Q")
        rule = base.mark("rule", strokeDash=[5, 4], color=RED, strokeWidth=1.5)
        text = base.mark("text", align="right", baseline="bottom", dy=-3).encode(x=vega.value(width), text="text:N")
        return (_secrets(design, before, after) + line + rule + text).properties(width=width, height=160)

    return figure(
        "How much a record tells about the secret",
        "The influence of the secret on one record so many steps away, under the model, in nats. What all released "
        f"records tell together, those before and those after the secret, is the leakage: {leakage} nats.{gap}",
        f"Influence in nats against steps from the secret. The leakage of the release is {leakage} nats.",
        draw,
    )


def _influences(chains: list[MarkovChain], record: int, direction: int, count: int) -> Floats:
    """Largest influence over the chains on each state at distances 1 … count, shape (count, s)."""
    from reticent.redaction.influence import by_value

    return np.asarray(np.max([by_value(chain, record, direction, count)[1:] for chain in chains], axis=0))


def _secrets(design: Mapping[str, Any], before: Floats, after: Floats) -> Any:
    """The first secret at 0, whatever its length, and what else is private nearby."""
    first, last = design["private"][0]
    end = len(after) + 0.5
    others = [{"x": a - last - 0.5, "x2": min(b - last + 0.5, end)} for a, b in design["private"][1:] if a - last < end]
    bands = [{"x": -0.5, "x2": 0.5}, *others]
    name = "secret" if first == last else f"secret ({last - first + 1:,} records)"
    band = vega.chart(bands).mark("rect", color=SECRET, opacity=0.35).encode(x=_along(before, after), x2="x2")
    mark = vega.chart([{"x": 0, "name": name}]).encode(x="x:Q")
    rule = mark.mark("rule", color=SECRET, strokeWidth=4, opacity=0.6)
    text = mark.mark("text", baseline="bottom", align="center", dy=-3, fontStyle="italic")
    return band + rule + text.encode(y=vega.value(0), text="name:N")


def _along(before: Floats, after: Floats) -> Any:
    domain = [-len(before) - 0.5, len(after) + 0.5]
    return vega.field("x:Q", axis=axis("steps from the secret"), scale={"domain": domain, "nice": False, "zero": False})


def _which(design: Mapping[str, Any]) -> str:
    secrets = len(design["private"])
    return "" if secrets == 1 else f" Shown is the first of {secrets:,} secrets; others nearby are shaded."


def _coloured(names: Mapping[str, Any]) -> dict[str, Any]:
    """Colour and dash by name; a legend only where there is a choice."""
    if len(names) == 1:
        return {"color": vega.value(BLUE)}
    domain = list(names)
    dashes = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
    colours = {"domain": domain, "range": list(PALETTE[: len(domain)])}
    lines = {"domain": domain, "range": dashes[: len(domain)]}
    return {
        "color": vega.field("name:N", title=None, scale=colours, legend={"symbolType": "stroke"}),
        "strokeDash": vega.field("name:N", title=None, scale=lines),
    }
