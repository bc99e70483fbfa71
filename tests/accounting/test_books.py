"""The book of a data set, beside one account a series that grows by each of its releases, in a plain dictionary."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reticent import FootruleSwitch, LinearQuantizer, MallowsSwitch, MarkovChain, RedactionPolicy
from reticent.accounting.accounts import Account, Item
from reticent.accounting.books import Book, checked, largest
from reticent.accounting.coverage import Coverage, CoverageBuilder, Geometry
from reticent.accounting.events import Event, Redaction
from reticent.errors import RefusedError

CHAIN = MarkovChain([[0.9, 0.1], [0.2, 0.8]])
LENGTHS = 3, 4  # of the series of each design


def policy(n: int, hidden: set[int]) -> RedactionPolicy:
    """Those are hidden, and each of the others often enough."""
    return RedactionPolicy(CHAIN, [[1, 1] if i in hidden else [0.3, 0.5] for i in range(n)], 1)


REDACTION = Redaction((policy(3, {0, 1}), policy(4, {1})))
OTHER = Redaction((policy(4, {1}), policy(3, {0, 1})))  # a design has another number here
RELEASES: list[dict[str, Any]] = [
    {"step": FootruleSwitch(4, 1.0)},
    {"step": FootruleSwitch(3, 0.5), "cuts": True},
    {"step": MallowsSwitch(3, 2.0, delta=1e-6), "stream": "s"},
    {"step": LinearQuantizer(low=0.0, high=8.0, levels=4)},
    {"step": LinearQuantizer(low=0.0, high=8.0, levels=3)},
    {"step": REDACTION},
    {"step": OTHER},
]
FAMILIES = [RELEASES[:2], RELEASES[2:3], RELEASES[3:5], RELEASES[5:], RELEASES[:3], RELEASES]
record = st.tuples(
    st.sampled_from([0, 0, 0, 3, 10]),
    st.sampled_from(LENGTHS),
    st.sampled_from([False] * 9 + [True]),
    st.sampled_from([7, 7, 8]),
)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path))


def event_of(data: st.DataObject, release: dict[str, Any], settled: dict[int, Any]) -> Event:
    """Of some series, mostly of the records that each had before; or of all of them."""
    options = {name: each for name, each in release.items() if name != "step"}
    redacts = isinstance(release["step"], Redaction)
    if data.draw(st.integers(0, 9)) == 0 and not redacts:
        return Event.of(
            release["step"], coverage=Coverage.everything(data.draw(st.sampled_from([None, Geometry(0, 2)])))
        )
    codes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=6, unique=True))
    rows, designs = [], []
    for code in codes:
        first, n, whole, times = data.draw(record)
        if code in settled and data.draw(st.integers(0, 7)):
            first, n, times = settled[code]
        settled[code] = first, n, times
        rows.append((first, first + n - 1, n, times))
        designs.append(-1 if whole else [each.n for each in release["step"].mechanisms].index(n) if redacts else 0)
    builder = CoverageBuilder()
    builder.join(np.array(codes, dtype=np.uint64), np.array(rows))
    return Event.of(release["step"], coverage=builder.finish(np.array(designs)), **options)


class Twin:
    """An account a series, and one for those that are yet to come."""

    def __init__(self) -> None:
        self.accounts: dict[int, Account] = {}
        self.later = Account()

    def after(self, event: Event) -> tuple[dict[int, Account], Account, int]:
        """Accounts of what is covered, that of later series, and how many had been charged."""
        coverage = event.coverage
        if coverage.all_series:
            item = Item(event, coverage.geometries[0])
            again = sum(bool(each.releases) for each in (*self.accounts.values(), self.later))
            return {code: each.add(item) for code, each in self.accounts.items()}, self.later.add(item), again
        old = {code: self.accounts.get(code, self.later) for code in coverage.series.tolist()}
        geometries = [coverage.geometries[i] for i in coverage.which.tolist()]
        fresh = {code: own.add(Item(event, each)) for (code, own), each in zip(old.items(), geometries, strict=True)}
        return fresh, self.later, sum(bool(each.releases) for each in old.values())


def amounts(account: Account) -> list[Any]:
    return [
        account.releases,
        account.void,
        *(account.spent(kind, 3) for kind in ("temporal", "noiseless", "pufferfish")),
    ]


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_book_is_one_account_a_series(data: st.DataObject) -> None:
    book, twin, settled = Book(), Twin(), {}
    family = data.draw(st.sampled_from(FAMILIES))
    for _ in range(data.draw(st.integers(1, 7))):
        event = event_of(data, data.draw(st.sampled_from(family)), settled)
        reasons = set()
        for code in event.coverage.series.tolist() or [*twin.accounts, 0]:
            item = Item(event, event.coverage.geometries[0])
            if not event.coverage.all_series:
                at = event.coverage.series.tolist().index(code)
                item = Item(event, event.coverage.geometries[event.coverage.which[at]])
            try:
                twin.accounts.get(code, twin.later).add(item)
            except RefusedError as error:
                reasons.add(str(error))
        if reasons:
            with pytest.raises(RefusedError) as refused:
                book.prepare(event)
            assert str(refused.value) in reasons
            continue
        posting = book.prepare(event)
        fresh, later, again = twin.after(event)
        assert posting.again == again
        charged = [*fresh.values(), later] if event.coverage.all_series else list(fresh.values())
        assert {str(amounts(each.account)) for each in posting.fresh} == {str(amounts(each)) for each in charged}
        try:
            spent = checked(event, book, posting)
        except RefusedError:
            assert again
            assert any(each.void for each in charged)
            continue
        assert [each.spent for each in spent] == [largest(charged, each.spent.kind) for each in spent]
        book.post(posting)
        twin.accounts |= fresh
        twin.later = later
        assert book.series.tolist() == sorted(twin.accounts)
        for code, (kin, row) in zip(book.series.tolist(), book.states.tolist(), strict=True):
            own = book.kin[kin]
            exact = own.of(Geometry(*book.records[row].tolist()) if row >= 0 else Geometry())
            assert amounts(exact) == amounts(own.account) == amounts(twin.accounts[code])


def test_series_of_other_times_share_accounts() -> None:
    """What would be seconds of Python, and one account each, as long as each is released with the same records."""
    size = 100_000
    builder = CoverageBuilder()
    ticks = (np.arange(size)[:, None] * 7 + np.arange(2)).reshape(-1)
    builder.add(np.arange(size), ticks, np.arange(0, 2 * size + 1, 2))
    coverage, book = builder.finish(), Book()
    assert len(coverage.table) == size
    for turn in range(3):
        posting = book.prepare(Event.of(FootruleSwitch(4, 1.0), coverage=coverage))
        assert (len(posting.fresh), posting.again) == (1, size if turn else 0)
        book.post(posting)
    assert next(book.spending("", 4)).spent.epsilon == 3 * Fraction(repr(FootruleSwitch(4, 1.0).guarantee.epsilon))
