"""The HTML report of a release: one page that opens from disk, with no network and no script.

The public report is a function of the certificate alone. The private one compares original and released, and says on
every page that it must not leave the house.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reticent.certificates import Certificate
    from reticent.tables.pipeline import Pair

__all__ = ["private_report", "public_report", "warm_up", "with_composition"]


@cache
def warm_up() -> None:
    """Begin, once, to load what draws the charts and the page, beside other work: it takes longer than to draw them.

    It holds Python's lock for half a second: begin where others work without it, in DuckDB and in kernels.
    """
    Thread(target=_warm_up, daemon=True).start()


def _warm_up() -> None:
    from reticent.reports.drawing import warm_up

    warm_up()
    from reticent.reports.page import template

    template("report.html.j2")


def public_report(certificate: Certificate) -> str:
    """The page that goes where the release goes.

    Parameters
    ----------
    certificate : Certificate

    Returns
    -------
    str
        HTML. It holds nothing that the certificate does not.
    """
    from reticent.reports.page import render

    return render(certificate)


def private_report(certificate: Certificate, pairs: Sequence[Pair], plan: tuple[tuple[str, str], ...]) -> str:
    """The page for the curator alone: what the public one says, then original and released beside each other.

    Parameters
    ----------
    certificate : Certificate
    pairs : sequence of Pair
        Series before and after; of the first few, the first thousand rows are drawn.
    plan : tuple of (str, str)
        How the input was understood.

    Returns
    -------
    str
        HTML. It shows private values. What was released of the data before is to be filled in by `with_composition`.
    """
    from reticent.reports.comparison import compare
    from reticent.reports.page import render

    return render(certificate, compare(certificate, pairs), plan)


def with_composition(page: str, so_far: Sequence[str]) -> str:
    """A private report with what the ledger said when the release was charged.

    Parameters
    ----------
    page : str
        Of `private_report`: it is written before the charge, so that nothing can fail after it.
    so_far : sequence of str
        Lines; none where no ledger was asked.
    """
    from reticent.reports.page import with_composition as fill

    return fill(page, so_far)
