"""What a charge did, and how the entries of a ledger read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from reticent.accounting.books import Spending
from reticent.accounting.budgets import Budget
from reticent.accounting.events import describe


@dataclass(frozen=True)
class Charge:
    """What a charge did.

    Attributes
    ----------
    number : int
        Of the entry.
    request : str or None
    answered : bool
        The request had been answered before: nothing was charged, and the earlier release is to be handed out again.
    released : str or None
        SHA-256 of the released file.
    again : int
        Number of its series that had been released before.
    spent : tuple of Spending
        The cumulative cost of the series that were charged, in the unit of each limit.
    """

    number: int
    request: str | None
    answered: bool
    released: str | None
    again: int = 0
    spent: tuple[Spending, ...] = ()

    def lines(self) -> list[str]:
        """What it cost, with all that was released of the same data before."""
        if self.answered:
            return [f"this request was answered before (entry {self.number}): the same file, at no further charge"]
        again = [f"{self.again:,} of these series had been released before"] if self.again else []
        return again + [str(each) for each in self.spent]


@dataclass(frozen=True)
class HistoryEntry:
    """One line of the history.

    Attributes
    ----------
    number : int
    at : str
        UTC, ISO 8601.
    entry : {"charge", "step", "refusal", "limit", "reset"}
    dataset : str
    text : str
        What happened, in words.
    request, released : str or None
    """

    number: int
    at: str
    entry: str
    dataset: str
    text: str
    request: str | None = None
    released: str | None = None


class Answer(NamedTuple):
    """What a request was answered with."""

    number: int
    digest: str
    job: str | None
    released: str | None

    def again(self, request: str | None) -> Charge:
        """The charge that was made."""
        return Charge(self.number, request, True, self.released)


def line_of(number: int, body: dict[str, Any]) -> HistoryEntry:
    """An entry in words."""
    match body["entry"]:
        case "charge" | "step":
            event = body["event"]
            series = body.get("coverage", {}).get("series")
            of = "" if series is None else f" of {series:,} series" if series else " of all series"
            text = describe(event["steps"]) + of
        case "refusal":
            text = "a model of the released records was refused: its design exceeded the margin"
        case "limit":
            text = f"limit {Budget.from_dict(body['budget'])}"
        case _:
            text = f"what was spent is forgotten: {body['reason']}"
    return HistoryEntry(
        number, body["at"], body["entry"], body["dataset"], text, body.get("request"), body.get("released")
    )
