"""The state of a ledger, rebuilt from its entries: which account each series of each data set has.

Series with the same history share one account; and as long as every release of a series was of the same records, what
they cost does not depend on which records these are, so series that differ in nothing else share one too. Hence a
panel of 10^6 series is charged by a few array operations, whatever their times are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.accounts import Account, Item
from reticent.accounting.budgets import Budget
from reticent.accounting.coverage import Coverage, Geometry, grouped
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


@dataclass(frozen=True, eq=False)
class Kin:
    """Series whose accounts are alike.

    Attributes
    ----------
    account : Account
        Of one of them.
    geometry : Geometry, optional
        Records of that one, where all releases of each were of the same records: its account holds their times,
        compares them with each other, finds them equal, and nothing else comes of them. None where the account is that
        of each of them, times included.
    release : (Event, int), optional
        The last one then, without its data (which would be kept in memory), and the design.
    before : Kin, optional
        What they were before it.
    """

    account: Account = field(default_factory=Account)
    geometry: Geometry | None = None
    release: tuple[Event, int] | None = None
    before: Kin | None = None

    @property
    def new(self) -> bool:
        """Whether nothing was released of them."""
        return not self.account.releases

    def again(self, event: Event, geometry: Geometry) -> Kin:
        """One more release, of the records of all before, or the first one; `geometry` is that of one series."""
        own = (self.geometry or geometry)._replace(design=geometry.design)
        bare = replace(event, coverage=Coverage.everything())
        return Kin(self.account.add(Item(event, own)), own, (bare, own.design), self)

    def of(self, geometry: Geometry) -> Account:
        """The account of the series of these records."""
        if self.geometry is None:
            return self.account
        releases, kin = [], self
        while kin.release is not None and kin.before is not None:
            releases.append(kin.release)
            kin = kin.before
        account = kin.account
        for event, design in reversed(releases):
            account = account.add(Item(event, geometry._replace(design=design)))
        return account


@dataclass(frozen=True)
class Posting:
    """A charge that was found possible, and is not yet made.

    Attributes
    ----------
    coverage : Coverage
    states : int64, shape (series, 2)
        Of each covered series: its kin, as a position in the book's once `fresh` are appended, and the row of its
        records in the book's table once `records` are.
    default : int64, shape (2,)
        Of series that are yet to come.
    fresh : tuple of Kin
    records : int64, shape (m, 5)
    again : int
        Number of series that had been charged before.
    """

    coverage: Coverage
    states: NDArray[np.int64]
    default: NDArray[np.int64]
    fresh: tuple[Kin, ...]
    records: NDArray[np.int64]
    again: int


_NEW = np.array([0, -1])  # kin without a release, and hence without records


@dataclass
class Book:
    """One data set."""

    series: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    states: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    default: NDArray[np.int64] = field(default_factory=_NEW.copy)
    kin: list[Kin] = field(default_factory=lambda: [Kin()])
    records: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 5), dtype=np.int64))
    limits: dict[tuple[str, int], Budget] = field(default_factory=dict)

    def prepare(self, event: Event) -> Posting:
        """What the accounts become.

        Raises
        ------
        RefusedError
            Where nothing is proved of the releases together.
        """
        coverage, table = event.coverage, event.coverage.table
        if coverage.all_series:
            states = np.concatenate([self.states, self.default[None]])
            geometry = np.zeros(len(states), dtype=np.int64)
        else:
            states, geometry = self._find(coverage.series), coverage.which.astype(np.int64)
        which, firsts = grouped([states[:, 0], states[:, 1], geometry])
        kin, row, new = states[firsts, 0], states[firsts, 1], geometry[firsts]
        first = np.array([each.new for each in self.kin])[kin]
        same = first | np.array([each.geometry is not None for each in self.kin])[kin]
        later = np.flatnonzero(same & ~first)
        same[later] = (self.records[row[later], :4] == table[new[later], :4]).all(axis=1)
        alike, those = grouped([kin, np.where(same, table[new, 4], new), np.where(same, -1, row)])
        fresh = tuple(self._added(event, int(kin[i]), int(row[i]), int(new[i]), bool(same[i])) for i in those.tolist())
        counts = np.bincount(which)
        again = sum(int(counts[kin == i].sum()) for i in np.unique(kin).tolist() if self.kin[i].account.releases)
        place = np.where(first, len(self.records) + new, np.where(same, row, -1))
        after = np.stack([len(self.kin) + alike, place], axis=1)
        after = after[which] if len(after) > 1 else np.tile(after, (which.size, 1))
        records = table if first.any() else table[:0]
        if coverage.all_series:
            return Posting(coverage, after[:-1], after[-1], fresh, records, again)
        return Posting(coverage, after, self.default, fresh, records, again)

    def _added(self, event: Event, kin: int, row: int, new: int, same: bool) -> Kin:
        """The kin of a series of these records, after one more release."""
        own, geometry = self.kin[kin], Geometry(*event.coverage.table[new].tolist())
        if same:
            return own.again(event, geometry)
        known = Geometry(*self.records[row].tolist()) if row >= 0 else geometry
        return Kin(own.of(known).add(Item(event, geometry)))

    def post(self, posting: Posting) -> None:
        """Make the charge."""
        self.kin += posting.fresh
        self.records = np.concatenate([self.records, posting.records])
        self.default = posting.default
        if posting.coverage.all_series:
            self.states = posting.states
            return
        codes = posting.coverage.series
        if not self.series.size:
            self.series, self.states = codes, posting.states
            return
        places = np.searchsorted(self.series, codes)
        known = self._known(codes, places)
        self.states[places[known]] = posting.states[known]
        if not known.all():
            self.series = np.insert(self.series, places[~known], codes[~known])
            self.states = np.insert(self.states, places[~known], posting.states[~known], axis=0)

    def _find(self, codes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The state of each series."""
        if not self.series.size:
            return np.broadcast_to(self.default, (codes.size, 2))
        places = np.searchsorted(self.series, codes)
        known = self._known(codes, places)
        found = np.tile(self.default, (codes.size, 1))
        found[known] = self.states[places[known]]
        return found

    def _known(self, codes: NDArray[np.uint64], places: NDArray[np.intp]) -> NDArray[np.bool_]:
        return np.asarray(self.series[np.minimum(places, self.series.size - 1)] == codes)

    def reset(self) -> None:
        """Forget what was spent; the limits stay."""
        self.series, self.states, self.records = self.series[:0], self.states[:0], self.records[:0]
        self.default, self.kin = _NEW.copy(), [Kin()]

    def limits_of(self, kind: str) -> list[Budget]:
        """The limits of a kind; of switches there may be one a window."""
        return [limit for limit in self.limits.values() if limit.kind == kind]

    def spending(self, name: str, window: int = 0) -> Iterator[Spending]:
        """The largest amounts of each kind, in the unit of each of its limits (of switches, or at `window`)."""
        used, counts = np.unique(np.append(self.states[:, 0], self.default[0]), return_counts=True)
        counts[used == self.default[0]] -= 1
        accounts = [self.kin[i].account for i in used.tolist()]
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
    accounts = [each.account for each in posting.fresh]
    if posting.again and any(account.void for account in accounts):
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
    releases = max(account.releases for account in accounts)
    for kind in sorted(event.claims):
        limits: list[Budget | None] = [*book.limits_of(kind)]
        for limit in limits or [None]:
            total = largest(accounts, kind, 0 if limit is None else limit.window)
            if limit is not None and not total.within(limit):
                named = f" of data set {event.dataset}" if event.dataset else ""
                raise RefusedError(
                    f"ledger: the budget{named} would be exceeded: all releases together would cost {total}, and the "
                    f"limit is {limit}; nothing was charged, and nothing is released"
                )
            found.append(Spending(event.dataset, total, limit, event.coverage.series.size, releases))
    return tuple(found)
