"""The parts of what a report says; the families fill them, each in its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reticent.reports.words import listed, number, several

if TYPE_CHECKING:
    from reticent.certificates import Certificate

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows under a heading; the first column names them."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Account:
    """What there is to say of a release.

    Attributes
    ----------
    title, done, promise, limits, assumption : str
        One sentence each, but for the title.
    composition : str
        What a further release of the same data would do to the promise.
    tiles : tuple of (str, str)
        Key numbers with their units.
    parameters, utility : tuple of (str, str)
    tables : tuple of Table
    """

    title: str
    done: str
    promise: str
    limits: str
    assumption: str
    composition: str
    tiles: Pairs
    parameters: Pairs
    utility: Pairs
    tables: tuple[Table, ...]


def released(certificate: Certificate) -> Pairs:
    """What the released file shows of itself."""
    facts, columns = certificate.released, certificate.released["columns"]
    return (
        ("Rows", number(facts["rows"])),
        ("Series", f"{number(facts['series'])}, the longest of {several(facts['longest'], 'row')}"),
        ("Identifiers", listed(columns["id"])),
        ("Time", str(columns["time"])),
        ("Values", listed(columns["value"])),
        ("Carried along as they were", listed(columns["kept"])),
        ("Added", listed(columns["added"])),
        ("Format", str(facts.get("format", "a table in memory"))),
        *(_QUOTED if facts.get("formulas") == "quote" else ()),
    )


_QUOTED: Pairs = (("Text that a spreadsheet would run", "has an apostrophe before it that the data do not have"),)
