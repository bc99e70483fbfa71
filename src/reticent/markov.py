"""Finite Markov chains: the model of how the records of a series depend on one another.

A chain is stationary (one transition matrix) or periodic (one matrix for each instant of a day, a week, …, with a
stated phase). ``P_t`` leads from record t to record t + 1; going left, the reversal
``P̃_t(i, j) = π_t(j) P_t(j, i) / π_{t+1}(i)`` leads back from record t + 1 to record t.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError
from reticent.randomness import Source, secure_source

if TYPE_CHECKING:
    from reticent.diagnosis import Diagnosis

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

ROW_TOLERANCE = 1e-9
MISSING = -1


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """A finite Markov chain in its stationary (or periodically stationary) law.

    Parameters
    ----------
    transition : array, shape (s, s)
        ``transition[i, j]`` = Pr(next is j | now is i). Rows sum to one (tolerance 1e-9, then normalised).
    states : sequence of hashable, optional
        Names of the states, in the order of the rows; 0 … s-1 by default.

    Raises
    ------
    ArgumentError
        Rows that do not sum to one, entries that are negative or not finite, shapes that do not match, or a chain
        without a unique stationary law.
    """

    transitions: Floats
    states: tuple[Hashable, ...]
    phase: int
    laws: Floats

    def __init__(self, transition: ArrayLike, states: Sequence[Hashable] | None = None, *, phase: int = 0) -> None:
        matrices = np.array(transition, dtype=np.float64)
        if matrices.ndim == 2:
            matrices = matrices[None]
        if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or 0 in matrices.shape:
            raise ArgumentError(
                f"transition: shape {np.shape(transition)} is not (states, states); give a square matrix"
            )
        size = matrices.shape[1]
        names = tuple(range(size)) if states is None else tuple(states)
        if len(names) != size or len(set(names)) != size:
            raise ArgumentError(f"states: {len(names)} names for {size} rows; give one distinct name a row")
        if not np.isfinite(matrices).all() or (matrices < 0).any():
            raise ArgumentError("transition: entries must be finite and not negative")
        sums = matrices.sum(axis=2)
        if (np.abs(sums - 1) > ROW_TOLERANCE).any():
            raise ArgumentError("transition: every row must sum to one (tolerance 1e-9)")
        off = np.abs(sums - 1) > size * 2.0**-52  # the others are as good as they get: reading back changes nothing
        matrices[off] /= sums[off][:, None]
        if isinstance(phase, bool) or not isinstance(phase, int | np.integer):
            raise ArgumentError(f"phase: {type(phase).__name__} is not an integer number of steps")
        laws = _periodic_laws(matrices)
        for array in (matrices, laws):
            array.flags.writeable = False
        object.__setattr__(self, "transitions", matrices)
        object.__setattr__(self, "states", names)
        object.__setattr__(self, "phase", int(phase) % len(matrices))
        object.__setattr__(self, "laws", laws)

    @classmethod
    def binary(cls, alpha: float, beta: float, states: Sequence[Hashable] = (0, 1)) -> MarkovChain:
        """Two states with ``P(0→1) = alpha`` and ``P(1→0) = beta``."""
        for name, value in (("alpha", alpha), ("beta", beta)):
            if not 0 <= value <= 1:
                raise ArgumentError(f"{name}: must be a probability between 0 and 1")
        return cls([[1 - alpha, alpha], [beta, 1 - beta]], states)

    @classmethod
    def periodic(cls, transitions: ArrayLike, phase: int = 0, states: Sequence[Hashable] | None = None) -> MarkovChain:
        """A daily or weekly rhythm: `transitions` has shape (period, s, s).

        Record t goes to record t + 1 by ``transitions[(phase + t) % period]``.
        """
        matrices = np.asarray(transitions, dtype=np.float64)
        if matrices.ndim != 3:
            raise ArgumentError(
                f"transitions: shape {matrices.shape} is not (period, states, states); give one matrix an instant"
            )
        return cls(matrices, states, phase=phase)

    @classmethod
    def fit(
        cls,
        sequences: Iterable[Iterable[Any]],
        states: Sequence[Hashable] | None = None,
        smoothing: float | None = None,
        *,
        period: int = 1,
        phases: Sequence[int] | None = None,
    ) -> MarkovChain:
        """Relative frequencies of the transitions seen in `sequences`.

        Parameters
        ----------
        sequences : iterable of sequences of states
            Of any lengths; ``None`` or NaN is missing: it is neither a state nor a bridge, it breaks the sequence.
        states : sequence, optional
            The alphabet; the sorted states that occur, by default.
        smoothing : float, optional
            Added to every count. Nothing is smoothed unless asked.
        period, phases : int, sequence of int
            A chain with this many instants; the instant of each sequence's first record (0 by default).

        Raises
        ------
        ArgumentError
            A state outside `states`; a row that was never seen and no smoothing.
        """
        kept = [list(sequence) for sequence in sequences]
        if states is None:
            seen = {value for sequence in kept for value in sequence if not _is_missing(value)}
            states = sorted(seen, key=lambda value: (str(type(value)), value))
        names = tuple(states)
        starts = [0] * len(kept) if phases is None else list(phases)
        counts = np.zeros((period, len(names), len(names)), dtype=np.int64)
        for sequence, start in zip(kept, starts, strict=True):
            counts += count_transitions(encode(sequence, names), len(names), period, start)
        return cls.from_counts(counts, names, smoothing)

    @classmethod
    def from_counts(cls, counts: ArrayLike, states: Sequence[Hashable], smoothing: float | None = None) -> MarkovChain:
        """The chain of transition counts (s, s) or (period, s, s), which add up across files and partitions."""
        table = np.asarray(counts, dtype=np.float64)
        if smoothing is not None:
            if not (np.isfinite(smoothing) and smoothing > 0):
                raise ArgumentError("smoothing: must be a positive number that is added to every count")
            table = table + smoothing
        rows = table.sum(axis=-1)
        if (rows == 0).any():
            never = sorted({int(index[-1]) for index in np.argwhere(rows == 0)})
            raise ArgumentError(
                f"smoothing: state number {', '.join(map(str, never))} is never left in the sequences, so its row is "
                "unknown; give more data, fewer states, or smoothing="
            )
        return cls(table / rows[..., None], states)

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def period(self) -> int:
        """Number of instants after which the law repeats (1: stationary)."""
        return len(self.transitions)

    @property
    def transition(self) -> Floats:
        """The transition matrix of a stationary chain, shape (s, s)."""
        self.require_stationary("transition")
        return self.transitions[0]

    @property
    def stationary(self) -> Floats:
        """The stationary law, shape (s,)."""
        self.require_stationary("stationary")
        return self.laws[0]

    def require_stationary(self, what: str) -> None:
        """Refuse a periodic chain where only a stationary one has a meaning."""
        if self.period != 1:
            raise ArgumentError(f"chain: {what} is defined for a stationary chain; this one has period {self.period}")

    def step(self, t: int) -> Floats:
        """``P_t``, from record t to record t + 1."""
        return self.transitions[(self.phase + t) % self.period]

    def law(self, t: int) -> Floats:
        """The law of record t."""
        return self.laws[(self.phase + t) % self.period]

    def back(self, t: int) -> Floats:
        """``P̃_t``, from record t + 1 back to record t; rows of impossible states are zero."""
        here, there = self.law(t), self.law(t + 1)
        step = self.step(t)
        if (step == step[0]).all():  # independent, and exactly so
            return np.where(there[:, None] > 0, here, 0.0)
        joint = here[:, None] * step
        return np.divide(joint.T, there[:, None], out=np.zeros_like(joint), where=there[:, None] > 0)

    @cached_property
    def backs(self) -> Floats:
        """All the ``P̃_t`` of a period, shape (period, s, s): ``back(t)`` is ``backs[(phase + t) % period]``."""
        backs = np.stack([self.back(t - self.phase) for t in range(self.period)])
        backs.flags.writeable = False
        return backs

    def power(self, d: int) -> Floats:
        """``P^d`` of a stationary chain, shape (s, s)."""
        return np.linalg.matrix_power(self.transition, d)

    def reversed(self) -> MarkovChain:
        """The chain seen backwards in time (states of probability zero keep their place in the alphabet)."""
        flipped = np.stack([self.back(-t - 1 - self.phase) for t in range(self.period)])
        impossible = flipped.sum(axis=2) == 0
        for t, i in np.argwhere(impossible):
            flipped[t, i] = self.law(-t - 1 - self.phase)
        return MarkovChain(flipped, self.states, phase=-self.phase)

    def shifted(self, steps: int) -> MarkovChain:
        """The same chain, with record `steps` as its first."""
        return MarkovChain(self.transitions, self.states, phase=self.phase + steps)

    def sample(self, n: int, source: Source | None = None) -> NDArray[Any]:
        """A series of `n` states drawn from the chain, first record from its stationary law."""
        source = secure_source() if source is None else source
        uniform = source.words(n).astype(np.float64) * 2.0**-64
        codes = np.empty(n, dtype=np.int64)
        for t in range(n):
            row = self.law(0) if t == 0 else self.step(t - 1)[codes[t - 1]]
            codes[t] = min(int(np.searchsorted(np.cumsum(row), uniform[t], side="right")), self.size - 1)
        return np.array(self.states)[codes]

    def diagnose(
        self,
        sequences: Iterable[Iterable[Any]],
        rhythm: int | None = None,
        phases: Sequence[int] | None = None,
    ) -> Diagnosis:
        """Whether this chain fits some sequences, and what would fit better.

        Parameters
        ----------
        sequences : iterable of sequences of states
            ``None`` or NaN is missing.
        rhythm : int, optional
            Instants of a day or week: test whether these matter.
        phases : sequence of int, optional
            Instant of each sequence's first record.

        Returns
        -------
        Diagnosis
            Private if the sequences are.

        Raises
        ------
        ArgumentError
            A value that is no state; no two neighbouring records.
        """
        from reticent.diagnosis import diagnose

        return diagnose(self, sequences, rhythm, phases)

    def encode(self, values: Iterable[Any]) -> Codes:
        """Codes of `values` (``-1`` where missing); a value that is no state is an error."""
        return encode(values, self.states)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: states, phase and matrices (exactly: floats print and read back the same)."""
        return {
            "states": [state.item() if isinstance(state, np.generic) else state for state in self.states],
            "phase": self.phase,
            "transitions": self.transitions.tolist(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MarkovChain:
        """The chain that `to_dict` wrote."""
        return cls(data["transitions"], data["states"], phase=data["phase"])

    def _key(self) -> tuple[bytes, tuple[Hashable, ...], int]:
        return self.transitions.tobytes(), self.states, self.phase

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MarkovChain) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        rhythm = f", period {self.period}" if self.period > 1 else ""
        return f"<MarkovChain over {self.size} states{rhythm}>"


def encode(values: Iterable[Any], states: Sequence[Hashable]) -> Codes:
    """Index of each value in `states`, ``-1`` where it is missing (None or NaN).

    Raises
    ------
    ArgumentError
        A value that is no state (how many, never which).
    """
    codes = _found(values, states) if type(values) is np.ndarray else None
    if codes is None:
        index = {state: code for code, state in enumerate(states)}
        found = [MISSING if _is_missing(value) else index.get(value, MISSING - 1) for value in values]
        codes = np.array(found, dtype=np.int64)
    strangers = int((codes == MISSING - 1).sum())
    if strangers:
        raise ArgumentError(f"values: {strangers} are not among the {len(states)} declared states")
    return codes


def _found(values: NDArray[Any], states: Sequence[Hashable]) -> Codes | None:
    """`encode` of a whole array, a stranger as ``MISSING - 1``; None where its kind does not compare with the states
    as their own values would.
    """
    if not states or not all(isinstance(each, int | float | str) for each in states):
        return None
    kind, names = values.dtype.kind, np.array(states)
    number = all(isinstance(each, float) or (isinstance(each, int) and abs(each) <= 2**53) for each in states)
    whole = kind in "biu" and values.dtype != np.uint64 and names.dtype.kind in "bi"
    exact = kind == "f" and number
    text = kind == "U" and all(type(state) is str and not state.endswith("\0") for state in states)
    if values.ndim != 1 or names.ndim != 1 or not (whole or exact or text):
        return None
    order = np.argsort(names, kind="stable")
    places = np.minimum(np.searchsorted(names[order], values), names.size - 1)
    codes = np.where(names[order][places] == values, order[places], MISSING - 1)
    return np.where(np.isnan(values), MISSING, codes) if exact else codes


def count_transitions(codes: Codes, size: int, period: int = 1, phase: int = 0) -> NDArray[np.int64]:
    """Transitions between neighbouring records that are both present, shape (period, size, size)."""
    now, after = codes[:-1], codes[1:]
    instant = (np.arange(now.size) + phase) % period
    seen = (now >= 0) & (after >= 0)
    counts = np.zeros((period, size, size), dtype=np.int64)
    np.add.at(counts, (instant[seen], now[seen], after[seen]), 1)
    return counts


def _is_missing(value: Any) -> bool:
    return value is None or value is np.ma.masked or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _periodic_laws(matrices: Floats) -> Floats:
    """Law of each instant: the stationary law of one whole period, carried through it."""
    whole = matrices[0]
    for matrix in matrices[1:]:
        whole = whole @ matrix
    laws = np.empty(matrices.shape[:2])
    laws[0] = _stationary(whole)
    for t in range(1, len(matrices)):
        laws[t] = laws[t - 1] @ matrices[t - 1]
    return laws


def _stationary(matrix: Floats) -> Floats:
    """Stationary law by the elimination of Grassmann, Taksar and Heyman (no subtraction: every entry is accurate)."""
    recurrent = _closed_class(matrix)
    a = matrix[np.ix_(recurrent, recurrent)].copy()
    size = len(recurrent)
    for k in range(size - 1, 0, -1):
        a[:k, k] /= a[k, :k].sum()
        a[:k, :k] += np.outer(a[:k, k], a[k, :k])
    law = np.ones(size)
    for k in range(1, size):
        law[k] = law[:k] @ a[:k, k]
    full = np.zeros(len(matrix))
    full[recurrent] = law / law.sum()
    return full


def _closed_class(matrix: Floats) -> NDArray[np.intp]:
    """States of the only closed class; an error if there are several."""
    reach = (matrix > 0) | np.eye(len(matrix), dtype=bool)
    for _ in range(len(matrix).bit_length()):
        reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
    closed = (~reach | reach.T).all(axis=1)  # i is recurrent when all that it reaches reaches it
    classes = {tuple(np.flatnonzero(reach[i])) for i in np.flatnonzero(closed)}
    if len(classes) > 1:
        raise ArgumentError(
            f"transition: the chain has {len(classes)} closed classes and no unique stationary law; "
            "model one class at a time"
        )
    return np.array(next(iter(classes)), dtype=np.intp)
