"""What every switch can do. A mechanism adds its law, its tables and its guarantee."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError, RefusedError
from reticent.guarantees import TemporalGuarantee
from reticent.randomness import Source, Words, secure_source
from reticent.switching.costs import Costs, Displacement

if TYPE_CHECKING:
    from reticent.switching.streams import SwitchStream

Order = NDArray[np.int64]

WORDS_AT_ONCE = 1 << 15  # 256 KB: what was drawn is used while it is still in the cache


def check_window(window: Any) -> int:
    """`window` as an int of one or more, or an ArgumentError."""
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise ArgumentError("window: must be a whole number of steps, one or more")
    return int(window)


def check_number(name: str, value: Any, low: float = 0.0) -> float:
    """A finite float of at least `low`, or an ArgumentError."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ArgumentError(f"{name}: {type(value).__name__} is not a number; give a finite number")
    if not np.isfinite(value) or value < low:
        raise ArgumentError(f"{name}: must be a finite number, {low:g} or more")
    return float(value)


def check_order(order: ArrayLike) -> Order:
    """A permutation of 0 … n-1 as int64, or an ArgumentError."""
    array = np.asarray(order)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ArgumentError("order: must be a one-dimensional array of whole numbers")
    array = array.astype(np.int64)
    if not np.array_equal(np.sort(array), np.arange(array.size)):
        raise ArgumentError("order: must hold each of 0 … n-1 once")
    return array


def check_values(values: Any) -> NDArray[Any]:
    """One series: values, shape (n,), or records by rows, shape (n, columns)."""
    array = np.asanyarray(values)
    if array.ndim not in (1, 2):
        raise ArgumentError(
            f"values: an array of {array.ndim} dimensions is no series; give one dimension, or records by rows"
        )
    return array


class Switch(ABC):
    """A mechanism that rearranges a series in time. Small, frozen, and without state between releases."""

    name: ClassVar[str]
    window: int

    @property
    @abstractmethod
    def look_ahead(self) -> int | None:
        """Records needed before an instant can be released; None for the whole series."""

    @property
    def statistical(self) -> bool:
        """True if the guarantee rests on simulation: a release then needs explicit acceptance."""
        return False

    def check_accepted(self, accept_statistical: bool) -> None:
        """Refuse to release on a statistical guarantee that nobody accepted."""
        if self.statistical and not accept_statistical:
            raise RefusedError(
                f"The guarantee of this {type(self).__name__} is a statistical bound, not an exact number; pass "
                "accept_statistical=True to release with it, or use FootruleSwitch or MallowsSwitch"
            )

    @property
    @abstractmethod
    def guarantee(self) -> TemporalGuarantee:
        """What is promised at the mechanism's own window, for the machine's own probabilities, rounded up."""

    @abstractmethod
    def guarantee_at(self, epsilon: float | None = None, window: int | None = None) -> TemporalGuarantee:
        """The guarantee at another window, or at an ε of one's own.

        Where δ has no closed form below the mechanism's own ε, it is the δ of the least private mechanism with that
        guarantee: an upper bound, never an estimate.

        Parameters
        ----------
        epsilon : float, optional
            Nats; the mechanism's own ε at that window if absent.
        window : int, optional
            Steps; the mechanism's own if absent.
        """

    @abstractmethod
    def displacement(self) -> Displacement:
        """The law of the displacement of a value far from the ends."""

    @abstractmethod
    def log_probability(self, order: ArrayLike) -> float:
        """ln Pr(the release is ``values[order]``), for a whole series; -inf where it cannot be.

        Parameters
        ----------
        order : int array, shape (n,)
            A permutation: the value released at instant t came from instant ``order[t]``.
        """

    def exchange_losses(self, orders: Order, firsts: Order, seconds: Order) -> NDArray[np.float64]:
        """ln Pr(σ)/Pr(τσ), shape (runs, pairs): how much more likely each release is than with two labels exchanged.

        Parameters
        ----------
        orders : int64, shape (runs, n)
            Releases that can be, one a row.
        firsts, seconds : int64, shape (pairs,)
            Labels i < j.
        """
        losses = np.empty((orders.shape[0], firsts.size))
        for run, order in enumerate(orders):
            own = self.log_probability(order)
            for pair, (i, j) in enumerate(zip(firsts.tolist(), seconds.tolist(), strict=True)):
                other = np.where(order == i, j, np.where(order == j, i, order))
                losses[run, pair] = own - self.log_probability(other)
        return losses

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The public parameters, for a certificate."""

    @classmethod
    def from_dict(cls, parameters: dict[str, Any]) -> Self:
        """The mechanism that `to_dict` described."""
        return cls(**{key: value for key, value in parameters.items() if key != "mechanism"})

    @abstractmethod
    def describe(self) -> str:
        """What it does, in a sentence or two."""

    def delta(self, epsilon: float, window: int | None = None) -> float:
        """The δ that goes with `epsilon` (nats) at `window` (steps); see `guarantee_at`."""
        return self.guarantee_at(check_number("epsilon", epsilon), window).delta

    def expected_cost(self, costs: Costs) -> float:
        """Expected cost of a record far from the ends. A switch loses, repeats and leaves out nothing."""
        return costs.misalignment * self.displacement().mean

    def order(self, n: int, source: Source | None = None) -> Order:
        """Draw a permutation for a series of `n` records: instant t releases the value of instant ``order[t]``."""
        order = np.arange(n, dtype=np.int64)
        self.sampler().advance(order, 0, n, secure_source() if source is None else source)
        return order

    def release(self, values: Any, source: Source | None = None, *, accept_statistical: bool = False) -> NDArray[Any]:
        """The series rearranged: a new array of the same values.

        Parameters
        ----------
        values : array_like, shape (n,) or (n, columns)
            A missing value is a value like any other.
        source : Source, optional
            Fresh from the operating system if absent.
        accept_statistical : bool
            Accept a guarantee that rests on simulation (StaSwitch beyond k=5).

        Raises
        ------
        RefusedError
            If the guarantee is statistical and that was not accepted.
        """
        self.check_accepted(accept_statistical)
        array = check_values(values)
        return array[self.order(array.shape[0], source)]

    def stream(
        self,
        source: Source | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        accept_statistical: bool = False,
    ) -> SwitchStream:
        """Release one series as it comes, with bounded memory (see `SwitchStream`).

        Raises
        ------
        ArgumentError
            If the mechanism needs the whole series.
        RefusedError
            As for `release`.
        """
        from reticent.switching.streams import SwitchStream

        self.check_accepted(accept_statistical)
        return SwitchStream(self, secure_source() if source is None else source, journal)

    @abstractmethod
    def sampler(self) -> Sampler:
        """What draws one series, for batches and streams."""


class Sampler:
    """The drawing of one series or of many, resumable where words run out.

    Parameters
    ----------
    series, batch : callable
        Kernels of `reticent.switching._kernels`.
    tables : tuple
        Their last arguments.
    words_needed : callable
        Words that a series of n records rarely exceeds; a matter of speed only.
    """

    def __init__(
        self,
        series: Callable[..., tuple[int, int]],
        batch: Callable[..., None],
        tables: tuple[Any, ...],
        words_needed: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> None:
        self._series = series
        self._batch = batch
        self._tables = tables
        self.words_needed = words_needed

    def draw(self, order: Order, start: int, stop: int, words: Words) -> tuple[int, int]:
        """Release from `start` on as far as the words suffice; (instant reached, words used)."""
        return self._series(order, start, stop, order.size, words, 0, words.size, *self._tables)

    def draw_many(
        self, order: Order, offsets: Order, chosen: Order, words: Words, word_offsets: Order, done: NDArray[np.bool_]
    ) -> None:
        """Release the `chosen` series of a flat batch, each with its own words; `done` where they sufficed."""
        self._batch(order, offsets, chosen, words, word_offsets, done, *self._tables)

    def advance(self, order: Order, start: int, stop: int, source: Source) -> None:
        """Release instants `start` … `stop` - 1 of the series in `order`, in place."""
        t, extra = start, 4
        while t < stop:
            reached, used = self.draw(order, t, stop, source.peek(min(WORDS_AT_ONCE, stop - t) + extra))
            source.advance(used)
            extra = 4 if reached > t else 2 * extra
            t = reached
