"""What is said of coarsened aggregates, and their picture: the cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reticent.quantization import AggregateQuantization, Roster
from reticent.reports.account import Account, Pairs, Table
from reticent.reports.cells import DRAWN, Cells, axes, lists
from reticent.reports.drawing import Figure
from reticent.reports.quantization import OUTSIDE
from reticent.reports.words import at_most, listed, number, period, several

if TYPE_CHECKING:
    from reticent.certificates import Certificate

SIZES = 12  # the commonest sizes of groups are listed


def account(certificate: Certificate) -> Account:
    """The account of a release of aggregates."""
    parameters, claims = certificate.parameters, certificate.claims
    guarantee, series, given = claims["guarantee"], claims["series"], parameters["aggregate"]
    sizes = _sizes(certificate)
    rule = AggregateQuantization.from_dict(given).rule.describe()
    query, value = str(given["query"]), listed(certificate.released["columns"]["value"])
    window = period(parameters["window"])
    widest = max(each["widest"] for each in claims["cells"])
    return Account(
        title="Release of coarsened aggregates",
        done=(
            f"For each of {several(sizes.total(), 'group')} and each window of {window}, the {query} of {value} was "
            "replaced by the symbol of the cell that it lies in; nothing was drawn at random."
        ),
        promise=guarantee["promise"],
        limits=guarantee["limits"],
        assumption=f"{guarantee['assuming'][0].upper()}{guarantee['assuming'][1:]}.",
        composition=(
            "The outputs of several releases of the same groups multiply, so their bits add; other cells "
            "narrow down what was released before."
        ),
        tiles=(
            (f"{at_most(guarantee['bits'])} bits", "per aggregate, at most, as one individual varies"),
            (f"{at_most(series['bits'])} bits", f"per series of {several(series['readings'], 'aggregate')}, at most"),
            (number(guarantee["outputs"]), "different outputs of one aggregate"),
            (" to ".join(number(size) for size in sorted({min(sizes), max(sizes)})), "individuals in a group"),
        ),
        parameters=(
            ("Query", query),
            ("Window", window),
            ("Readings of an individual in a window", number(parameters["readings"])),
            ("An aggregate is", rule),
            ("Outputs asked for", f"at most {number(parameters['asked']['outputs'])} per aggregate"),
            *_given(certificate),
        ),
        utility=(("Widest cell", f"{number(widest)}: so far apart may two aggregates with one symbol be"),),
        tables=(_groups(sizes), *lists(_commonest(certificate))),
    )


def figures(certificate: Certificate) -> Iterator[Figure]:
    """The cells of the commonest size of group, where there are not too many."""
    others = " Other sizes of groups may have other cells." if len(_sizes(certificate)) > 1 else ""
    return axes(_commonest(certificate), others)


def _sizes(certificate: Certificate) -> Counter[int]:
    """How many groups there are of each size."""
    sizes: Counter[int] = Counter()
    for people, count in certificate.parameters["groups"]:
        sizes[people] += count
    return sizes


def _commonest(certificate: Certificate) -> list[Cells]:
    """The cells of the commonest size of group; none where there are so many that building them takes long."""
    if max(each["levels"] for each in certificate.claims["cells"]) > DRAWN:
        return []
    sizes = _sizes(certificate)
    people = max(sizes, key=lambda size: (sizes[size], -size))
    readings = certificate.parameters["readings"]
    mechanism = AggregateQuantization.from_dict(certificate.parameters["aggregate"])
    plan = mechanism.plan(Roster(people, people * readings, readings))
    return [Cells.of(f"groups of {people:,}", plan.quantizer)]


def _given(certificate: Certificate) -> Pairs:
    given = certificate.parameters["aggregate"]
    rows = (
        ("Least reading", given["low"]),
        ("Largest reading", given["high"]),
        ("Resolution of a reading", given["resolution"]),
        ("A missing reading counts as", given["fill"]),
        ("Who takes part", given["participation"]),
        ("Readings outside the range", OUTSIDE.get(given["outside"], given["outside"])),
    )
    return tuple((name, str(value)) for name, value in rows if value is not None)


def _groups(sizes: Counter[int]) -> Table:
    rows = tuple((number(size), number(count)) for size, count in sizes.most_common(SIZES))
    rest = len(sizes) - len(rows)
    return Table(
        "Sizes of groups", ("Individuals", "Groups"), rows, f"and {several(rest, 'other size')}" if rest else ""
    )
