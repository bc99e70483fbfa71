"""What is said of a quantisation by the range of the data itself: that nothing is promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reticent.reports.account import Account
from reticent.reports.drawing import Figure
from reticent.reports.words import listed, number

if TYPE_CHECKING:
    from reticent.certificates import Certificate


def account(certificate: Certificate) -> Account:
    """The account of such a quantisation."""
    names, cells = certificate.released["columns"]["value"], certificate.parameters["cells"]
    guarantee = certificate.claims["guarantee"]
    levels = tuple((f"Cells of {name}", number(each["levels"])) for name, each in zip(names, cells, strict=True))
    return Account(
        title="Release by quantisation, without a guarantee",
        done=(
            f"The range that the values ({listed(names)}) span was cut into equal cells, and each value replaced by "
            "the number of its cell, counted from zero; the range is not told."
        ),
        promise=guarantee["promise"],
        limits=guarantee["limits"],
        assumption="None would help.",
        composition="Nothing is promised, and a further release takes nothing away from that.",
        tiles=(("no guarantee", "the range was read off the data"), *((value, name) for name, value in levels)),
        parameters=(*levels, ("Range", "read off the data, and not told")),
        utility=tuple((name, f"{value}: values of one cell cannot be told apart") for name, value in levels),
        tables=(),
    )


def figures(certificate: Certificate) -> Iterator[Figure]:
    """None: there is no axis to draw cells on."""
    return iter(())
