"""The state of a ledger, rebuilt from its entries: which account each series of each data set has.

Series with the same history share one account, so a panel of 10^5 series is charged by a few array operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.accounts import Account, Item
from reticent.accounting.budgets import Budget
from reticent.accounting.coverage import Coverage
from reticent.accounting.events import Event
from reticent.errors import RefusedError

KINDS = ("temporal", "pufferfish", "noiseless")


@dataclass(frozen=True)
class Spending:
    """What was spent of one kind, on the series on which it is most.

    Attributes
    ----------
    dataset : str
    spent : Budget
        In the unit of the limit; without a limit, of switches at the window of the last one.
    limit : Budget or None
    series : int
        Number of series that were charged; 0 where only the data set as a whole was.
    releases : int
        The most releases of any series.
    """

    dataset: str
    spent: Budget
    limit: Budget | None
    series: int
    releases: int

    def __str__(self) -> str:
        of = "no limit" if self.limit is None else f"limit {self.limit}"
        releases = "1 release" if self.releases == 1 else f"{self.releases:,} releases"
        return f"{self.spent} after {releases} ({of})"


@dataclass(frozen=True)
class Posting:
    """A charge that was found possible, and is not yet made.

    Attributes
    ----------
    coverage : Coverage
    which : int64
        Account of each covered series, as a position in the book's accounts once `fresh` are appended.
    default : int
        Account of series that are yet to come.
    fresh : tuple of Account
    again : int
        Number of series that had been charged before.
    """

    coverage: Coverage
    which: NDArray[np.int64]
    default: int
    fresh: tuple[Account, ...]
    again: int


@dataclass
class Book:
    """One data set."""

    series: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    which: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    default: int = 0
    accounts: list[Account] = field(default_factory=lambda: [Account()])
    limits: dict[tuple[str, int], Budget] = field(default_factory=dict)

    def prepare(self, event: Event) -> Posting:
        """What the accounts become.

        Raises
        ------
        RefusedError
            Where nothing is proved of the releases together.
        """
        coverage = event.coverage
        if coverage.all_series:
            before = np.append(self.which, self.default)
            geometry = np.zeros(before.size, dtype=np.int64)
        else:
            before = self._find(coverage.series)
            geometry = coverage.which.astype(np.int64)
        size = len(coverage.geometries)
        keys = before * size + geometry
        if (keys == keys[0]).all():
            pairs, inverse, counts = keys[:1], np.zeros_like(keys), np.array([keys.size])
        else:
            pairs, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        old = [self.accounts[pair // size] for pair in pairs.tolist()]
        items = [Item(event, coverage.geometries[pair % size]) for pair in pairs.tolist()]
        fresh = tuple(account.add(item) for account, item in zip(old, items, strict=True))
        again = sum(n for account, n in zip(old, counts.tolist(), strict=True) if account.releases)
        after = inverse.reshape(-1) + len(self.accounts)
        if coverage.all_series:
            return Posting(coverage, after[:-1], int(after[-1]), fresh, again)
        return Posting(coverage, after, self.default, fresh, again)

    def post(self, posting: Posting) -> None:
        """Make the charge."""
        self.accounts += posting.fresh
        self.default = posting.default
        if posting.coverage.all_series:
            self.which = posting.which
            return
        codes = posting.coverage.series
        places = np.searchsorted(self.series, codes)
        known = self._known(codes, places)
        self.which[places[known]] = posting.which[known]
        if not known.all():
            self.series = np.insert(self.series, places[~known], codes[~known])
            self.which = np.insert(self.which, places[~known], posting.which[~known])

    def _find(self, codes: NDArray[np.uint64]) -> NDArray[np.int64]:
        places = np.searchsorted(self.series, codes)
        known = self._known(codes, places)
        found = np.full(codes.size, self.default, dtype=np.int64)
        found[known] = self.which[places[known]]
        return found

    def _known(self, codes: NDArray[np.uint64], places: NDArray[np.intp]) -> NDArray[np.bool_]:
        if not self.series.size:
            return np.zeros(codes.size, dtype=bool)
        return np.asarray(self.series[np.minimum(places, self.series.size - 1)] == codes)

    def reset(self) -> None:
        """Forget what was spent; the limits stay."""
        self.series, self.which = self.series[:0], self.which[:0]
        self.default, self.accounts = 0, [Account()]

    def limits_of(self, kind: str) -> list[Budget]:
        """The limits of a kind; of switches there may be one a window."""
        return [limit for limit in self.limits.values() if limit.kind == kind]

    def spending(self, name: str, window: int = 0) -> Iterator[Spending]:
        """The largest amounts of each kind, in the unit of each of its limits (of switches, or at `window`)."""
        used, counts = np.unique(np.append(self.which, self.default), return_counts=True)
        counts[used == self.default] -= 1
        accounts = [self.accounts[i] for i in used.tolist()]
        for kind in KINDS:
            own = [(each, n) for each, n in zip(accounts, counts.tolist(), strict=True) if kind in each.parts]
            asked: list[Budget | None] = [
                limit for limit in self.limits_of(kind) if not window or limit.window in (0, window)
            ]
            if own and not asked:
                asked.append(None)
            for limit in asked:
                at = limit.window if limit is not None else window
                yield Spending(
                    name,
                    largest([each for each, _ in own], kind, at),
                    limit,
                    sum(n for _, n in own),
                    max((each.releases for each, _ in own), default=0),
                )


def largest(accounts: Sequence[Account], kind: str, window: int = 0) -> Budget:
    """The largest amount of each unit among accounts; of switches at `window`, or each at its own if that is zero."""
    spent = [found for each in accounts if (found := each.spent(kind, window)) is not None]
    if not spent:
        return Budget(kind, window=window, outputs=int(kind == "noiseless"))
    if len(spent) == 1:
        return spent[0]
    if len({each.unit for each in spent}) > 1:
        return max(spent, key=lambda each: (each.epsilon, each.delta))
    return Budget(
        kind,
        max(each.epsilon for each in spent),
        max(each.delta for each in spent),
        spent[0].window,
        max(each.outputs for each in spent),
    )


def prepared(book: Book, event: Event) -> Posting:
    """What the accounts would become.

    Raises
    ------
    RefusedError
        Nothing is proved of the releases together.
    """
    try:
        return book.prepare(event)
    except RefusedError as error:
        raise RefusedError(
            f"ledger: what was released of these data before stands against it: {error}. If these are other data, with "
            "equal names of series and times, give them a name of their own (--dataset)"
        ) from None


def checked(event: Event, book: Book, posting: Posting) -> tuple[Spending, ...]:
    """The cumulative cost of the series that would be charged, in the unit of each limit.

    Raises
    ------
    RefusedError
        It exceeds a limit, or the releases together show what one of them hides. Nothing has been spent.
    """
    if posting.again and any(account.void for account in posting.fresh):
        raise RefusedError(
            "ledger: the releases of a series together would show a record that one of them withholds as private, so "
            "that claim would be void; hide the same records in each"
        )
    if book.limits and not any(book.limits_of(kind) for kind in event.claims):
        stated = " and ".join(sorted({limit.kind for limit in book.limits.values()}))
        asked = " or ".join(sorted(event.claims))
        raise RefusedError(
            f"ledger: a limit is set for {stated} privacy of these data and none for {asked} privacy, so this release "
            "would pass it by; set one for that too (reticent ledger limit)"
        )
    found = []
    releases = max(account.releases for account in posting.fresh)
    for kind in sorted(event.claims):
        limits: list[Budget | None] = [*book.limits_of(kind)]
        for limit in limits or [None]:
            total = largest(posting.fresh, kind, 0 if limit is None else limit.window)
            if limit is not None and not total.within(limit):
                named = f" of data set {event.dataset}" if event.dataset else ""
                raise RefusedError(
                    f"ledger: the budget{named} would be exceeded: all releases together would cost {total}, and the "
                    f"limit is {limit}; nothing was charged, and nothing is released"
                )
            found.append(Spending(event.dataset, total, limit, event.coverage.series.size, releases))
    return tuple(found)
