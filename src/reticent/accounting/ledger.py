"""The ledger: what has been spent on which data, kept on disk, charged before anything is released."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections import deque
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from reticent.accounting.books import Book, Posting, Spending, checked, prepared
from reticent.accounting.budgets import Budget
from reticent.accounting.chain import Body, Chain
from reticent.accounting.coverage import Coverage
from reticent.accounting.events import Event, once_name
from reticent.accounting.fingerprints import home
from reticent.accounting.lines import Answer, Charge, HistoryEntry, line_of
from reticent.errors import ArgumentError, LedgerError, RefusedError
from reticent.quantization.exact import Number


def default_path() -> Path:
    """The ledger of the curator's own folder."""
    return home() / "ledger.sqlite"


class Ledger:
    """Budgets and charges of data sets, by series and stretch of time.

    Safe for many processes and threads. Opening checks every entry against the chain's head, which is kept outside.

    Parameters
    ----------
    path : path, optional
        An SQLite file; the one in the curator's own folder by default.
    create : bool
        Make it where there is none.

    Raises
    ------
    LedgerError
        A ledger that is not as it was left: nothing can be charged to it, so nothing is released.
    """

    def __init__(self, path: str | Path | None = None, *, create: bool = True, _lost: bool = False) -> None:
        self.path = default_path() if path is None else Path(path)
        self._lock = threading.RLock()
        self._books: dict[str, Book] = {}
        self._requests: dict[str, Answer] = {}
        self._released: set[str] = set()
        self._steps: dict[str, Body] = {}
        self._refusals: list[Body] = []
        self._coverages: dict[str, int] = {}
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._own: tuple[Body, Posting] | None = None
        self._chain = Chain(self.path, create=create, lost=_lost)
        self._chain.read(self._take)
        self._load = lru_cache(maxsize=32)(self._chain.coverage)

    @classmethod
    def replace_lost(cls, path: str | Path | None = None, *, reason: str) -> Self:
        """An empty ledger in place of one that is gone for good: an explicit act, with which its history begins.

        Raises
        ------
        ArgumentError
            If there is a ledger (damaged or not): move it away first.
        """
        file = default_path() if path is None else Path(path)
        if file.exists():
            raise ArgumentError(f"ledger: {file.name} is there; if it cannot be used, move it away first")
        ledger = cls(file, _lost=True)
        ledger.reset(reason=f"the ledger that was here before is lost: {reason}")
        return ledger

    # --- writing -----------------------------------------------------------------------------------------------------

    def limit(
        self,
        dataset: str = "",
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        window: int | None = None,
        outputs: int | None = None,
        bits: Number | None = None,
    ) -> Budget:
        """Set a limit for every series of a data set: (ε, δ) at a window, ε about secrets, or outputs of a reading.

        Parameters
        ----------
        dataset : str
        epsilon, delta, window
            With a window: of switches. Without: of redactions.
        outputs, bits
            Of quantisations: exactly one of the two.

        Raises
        ------
        ArgumentError
            Amounts that are negative, infinite or no numbers.
        """
        if epsilon is None:
            if window is not None or delta != 0:
                raise ArgumentError("epsilon: a limit at a window needs it (nats)")
            limit = Budget.noiseless(outputs, bits)
        elif outputs is not None or bits is not None:
            raise ArgumentError("outputs, bits: set them apart from a limit of ε; they are another kind of budget")
        else:
            limit = Budget.pufferfish(epsilon) if window is None else Budget.temporal(epsilon, window, delta)
        if window is None and delta != 0:
            raise ArgumentError("delta: it belongs to a limit at a window")
        self._append({"entry": "limit", "dataset": str(dataset), "budget": limit.to_dict()})
        return limit

    def charge(
        self, event: Event, *, request: str | None = None, released: str | None = None, job: str | None = None
    ) -> Charge:
        """Spend what an event costs. **Charge first, release after**: what raises here must not be released.

        Parameters
        ----------
        event : Event
        request : str, optional
            A name for the request: made again, it is answered with the same release at no further charge.
        released : str, optional
            SHA-256 of the staged file.
        job : str, optional
            What was asked for, in words of the caller's: a request that is made again must ask the same.

        Raises
        ------
        RefusedError
            A limit would be exceeded, nothing is proved of the releases together, or the request named another event.
        LedgerError
            The ledger is not as it was left, or cannot be written.
        """
        name = request if request is not None else once_name(event)
        digest = event.digest
        with self._lock:
            try:
                with self._chain.writing(self._take) as append:
                    self._catch_up()
                    known = None if name is None else self._requests.get(name)
                    if known is not None:
                        if known.digest != digest:
                            raise RefusedError(_OTHER)
                        return known.again(name)
                    book = self._books.get(event.dataset) or Book()
                    posting = prepared(book, event)
                    spent = checked(event, book, posting)
                    named, data = self._named(event.coverage)
                    body = {
                        "entry": "charge",
                        "at": _now(),
                        "dataset": event.dataset,
                        "request": name,
                        "job": job,
                        "event": event.to_dict(),
                        "digest": digest,
                        "coverage": named,
                        "released": released,
                    }
                    entry = append(body, data)
                    self._own = body, posting
                self._catch_up()
            finally:
                self._own = None
        return Charge(entry, name, False, released, posting.again, spent)

    def quote(self, event: Event) -> tuple[int, tuple[Spending, ...]]:
        """What a charge would come to: series that had been released before, and the cumulative cost.

        Raises
        ------
        RefusedError
            As `charge` would.
        """
        with self._lock:
            self._refresh()
            book = self._books.get(event.dataset) or Book()
            posting = prepared(book, event)
            return posting.again, checked(event, book, posting)

    def note_step(self, event: Event, released: str) -> None:
        """A file that stays in the house, as a step of a pipeline: nothing is spent, its hash is remembered."""
        with self._lock:
            with self._chain.writing(self._take) as append:
                self._catch_up()
                named, data = self._named(event.coverage)
                body = {"dataset": event.dataset, "event": event.to_dict(), "coverage": named, "released": released}
                append({"entry": "step", "at": _now(), **body}, data)
            self._catch_up()

    def note_refusal(self, dataset: str, coverage: Coverage) -> None:
        """A model fitted on what would have been released was refused: with these data it is not tried again."""
        with self._lock:
            with self._chain.writing(self._take) as append:
                self._catch_up()
                named, data = self._named(coverage)
                append({"entry": "refusal", "at": _now(), "dataset": dataset, "coverage": named}, data)
            self._catch_up()

    def _named(self, coverage: Coverage) -> tuple[Body, bytes | None]:
        """How an entry names a coverage, and its bytes if it is a new one."""
        place = self._coverages.get(coverage.digest)
        named = {
            "id": self._chain.count if place is None else place,
            "digest": coverage.digest,
            "series": coverage.series.size,
        }
        return named, coverage.to_bytes() if place is None else None

    def reset(self, dataset: str = "", *, reason: str) -> None:
        """Forget what was spent on a data set; this act, and all before it, stay in the history."""
        if not reason.strip():
            raise ArgumentError("reason: say why the budget is reset; it stays in the history")
        self._append({"entry": "reset", "dataset": str(dataset), "reason": reason})

    def _append(self, body: Body) -> None:
        with self._lock:
            with self._chain.writing(self._take) as append:
                append({**body, "at": _now()})
            self._catch_up()

    # --- reading -----------------------------------------------------------------------------------------------------

    def answer(self, request: str, job: str | None = None) -> Charge | None:
        """The charge of a request that was made before.

        Raises
        ------
        RefusedError
            If it asked for something else.
        """
        with self._lock:
            self._refresh()
            known = self._requests.get(request)
        if known is not None and known.job != job:
            raise RefusedError(_OTHER)
        return None if known is None else known.again(request)

    def step(self, released: str) -> Event | None:
        """What made a file which stayed in the house."""
        with self._lock:
            self._refresh()
            body = self._steps.get(released)
            return None if body is None else self._event(body)

    @property
    def has_steps(self) -> bool:
        """Whether any file has stayed in the house."""
        with self._lock:
            self._refresh()
            return bool(self._steps)

    def refused(self, dataset: str, coverage: Coverage) -> bool:
        """Whether `note_refusal` spoke of some of these data; a reset does not undo what the curator was told."""
        with self._lock:
            self._refresh()
            named = [body["coverage"] for body in self._refusals if body["dataset"] == dataset]
            return any(self._load(each["id"], each["digest"]).meets(coverage) for each in named)

    def charged(self, released: str) -> bool:
        """Whether the release of a file has been charged."""
        with self._lock:
            self._refresh()
            return released in self._released

    def spent(self, dataset: str | None = None, *, window: int | None = None) -> tuple[Spending, ...]:
        """The largest amounts of each data set and kind, in the unit of each limit.

        Parameters
        ----------
        dataset : str, optional
            All of them by default.
        window : int, optional
            Steps: of switches, the amounts at this window.
        """
        with self._lock:
            self._refresh()
            names = sorted(self._books) if dataset is None else [dataset]
            books = [(name, self._books.get(name, Book())) for name in names]
            return tuple(each for name, book in books for each in book.spending(name, window or 0))

    def history(self, dataset: str | None = None, *, last: int | None = 100) -> tuple[HistoryEntry, ...]:
        """The last entries, oldest first; all of them if `last` is None. Charges before a reset are among them."""
        with self._lock:
            self._chain.read(self._take)
            found: list[HistoryEntry] = []
            mark = None if dataset is None else b'"dataset":' + json.dumps(dataset, ensure_ascii=False).encode()
            for number, text in self._chain.bodies(newest_first=True):
                if last is not None and len(found) >= last:
                    break
                if mark is not None and mark not in text:
                    continue
                body = json.loads(text)
                if body["entry"] != "ledger" and (dataset is None or body["dataset"] == dataset):
                    found.append(line_of(number, body))
            return tuple(reversed(found))

    def export(self) -> list[Body]:
        """Every entry as plain values, for an auditor: no key, no draw, no name of a series."""
        with self._lock:
            self._chain.read(self._take)
            return [{"number": number, **json.loads(text)} for number, text in self._chain.bodies()]

    def close(self) -> None:
        """Let go of the file."""
        self._chain.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.path.name}>"

    # --- state -------------------------------------------------------------------------------------------------------

    def _take(self, number: int, text: bytes) -> None:
        """An entry that was checked; its meaning is worked out when it is needed."""
        self._waiting.append((number, text))

    def _refresh(self) -> None:
        self._chain.read(self._take)
        self._catch_up()

    def _catch_up(self) -> None:
        while self._waiting:
            number, text = self._waiting[0]
            if self._own is not None:  # the only one that can be waiting
                self._post(number, *self._own)
            else:
                self._apply(number, json.loads(text))
            self._waiting.popleft()

    def _apply(self, number: int, body: Body) -> None:
        match body["entry"]:
            case "limit":
                limit = Budget.from_dict(body["budget"])
                self._book(body).limits[limit.unit] = limit
            case "reset":
                self._book(body).reset()
            case "step":
                self._steps[body["released"]] = body
                self._coverages.setdefault(body["coverage"]["digest"], body["coverage"]["id"])
            case "refusal":
                self._refusals.append(body)
                self._coverages.setdefault(body["coverage"]["digest"], body["coverage"]["id"])
            case "charge":
                self._post(number, body)
            case "ledger":
                return
            case _:
                raise LedgerError(f"ledger: entry {number} is of a newer version; use the version that wrote it")

    def _post(self, number: int, body: Body, posting: Posting | None = None) -> None:
        book, named = self._book(body), body["coverage"]
        book.post(book.prepare(self._event(body)) if posting is None else posting)
        self._coverages.setdefault(named["digest"], named["id"])
        if body["released"] is not None:
            self._released.add(body["released"])
        if body["request"] is not None:
            self._requests[body["request"]] = Answer(number, body["digest"], body["job"], body["released"])

    def _event(self, body: Body) -> Event:
        return Event.from_dict(body["event"], self._load(body["coverage"]["id"], body["coverage"]["digest"]))

    def _book(self, body: Body) -> Book:
        return self._books.setdefault(body["dataset"], Book())


_OTHER = "request: it was made before, for another release; give each request a name of its own"


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
