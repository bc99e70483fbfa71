"""What is said of a quantisation, value by value, and its picture: the cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reticent.reports.account import Account, Pairs
from reticent.reports.cells import Cells, axes, lists
from reticent.reports.drawing import Figure
from reticent.reports.words import at_most, listed, number, several

if TYPE_CHECKING:
    from reticent.certificates import Certificate

OUTSIDE = {"error": "refused", "clip": "moved to the end cell", "missing": "released as missing"}


def account(certificate: Certificate) -> Account:
    """The account of a quantisation."""
    guarantee, series = certificate.claims["guarantee"], certificate.claims["series"]
    columns = _columns(certificate)
    assuming = guarantee["assuming"]
    clips = any(column.outside == "clip" for column in columns)
    return Account(
        title="Release by quantisation",
        done=(
            f"Each value ({listed(column.name for column in columns)}) was replaced by the symbol of the cell that it "
            "lies in; nothing was drawn at random, and no value lies outside its cell"
            + (", but for those beyond the range, which were moved to the end cell." if clips else ".")
        ),
        promise=guarantee["promise"],
        limits=guarantee["limits"],
        assumption=f"{assuming[0].upper()}{assuming[1:]}." if assuming else "Range and cells were fixed beforehand.",
        composition=(
            "The outputs of several releases of the same values multiply, so their bits add; other cells "
            "narrow down what was released before."
        ),
        tiles=(
            (f"{at_most(guarantee['bits'])} bits", "per reading, at most"),
            (f"{at_most(series['bits'])} bits", f"per series of {several(series['readings'], 'reading')}, at most"),
            (number(guarantee["outputs"]), "different outputs of one reading"),
            (listed(column.width for column in columns[:3]), "width of the widest cell"),
        ),
        parameters=(
            ("Outputs asked for", f"at most {number(certificate.parameters['asked']['outputs'])} per reading"),
            *(entry for column in columns for entry in _parameters(column, len(columns) > 1)),
            *_missing(certificate),
        ),
        utility=tuple(
            (f"Widest cell of {column.name}", f"{column.width}: so far apart may two values with one symbol be")
            for column in columns
        ),
        tables=lists(columns),
    )


def figures(certificate: Certificate) -> Iterator[Figure]:
    """The cells of each column, where there are not too many."""
    return axes(_columns(certificate))


def _columns(certificate: Certificate) -> list[Cells]:
    names, cells = certificate.released["columns"]["value"], certificate.claims["cells"]
    parts = zip(names, certificate.parameters["coordinates"], cells, strict=True)
    return [Cells.declared(name, body, each["levels"]) for name, body, each in parts]


def _parameters(column: Cells, named: bool) -> Pairs:
    of = f" of {column.name}" if named else ""
    return (
        (f"Range{of}", column.range),
        (f"Cells{of}", number(column.levels)),
        (f"Values outside the range{of}", OUTSIDE[column.outside]),
    )


def _missing(certificate: Certificate) -> Pairs:
    """Whether it is public which values are missing."""
    parts = zip(certificate.parameters["coordinates"], certificate.claims["cells"], strict=True)
    counted = [body["outputs"] > cells["levels"] for body, cells in parts]
    said = (
        "is one more output" if all(counted) else "is one more output of some columns" if any(counted) else "is public"
    )
    return (("That a value is missing", said),)
