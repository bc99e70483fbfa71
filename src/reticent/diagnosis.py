"""Does a chain fit some sequences, and what would fit better?

Likelihood-ratio (G) tests of independence in contingency tables, one table for each context: the classical tests of
Anderson and Goodman (1957) for Markov chains. A diagnosis of private records is private: it never belongs in a
certificate.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError

if TYPE_CHECKING:
    from reticent.markov import MarkovChain

Counts = NDArray[np.int64]

LEVEL = 1e-3
"""A test rejects below this p-value."""

PARTS = 48
"""A rhythm of more instants is tested in this many parts: single minutes of a day hold too few transitions to tell."""

_AT_ONCE = 1 << 18  # records that are counted at once: a series may be long


@dataclass(frozen=True)
class GTest:
    """A likelihood-ratio test.

    Parameters
    ----------
    statistic : float
        G, twice the log-likelihood ratio (nats).
    degrees : int
        Of freedom.
    p_value : float
    gain : float
        What the richer model explains more, in nats for each transition: whether a rejection matters in practice.
    """

    statistic: float
    degrees: int
    p_value: float
    gain: float

    @property
    def rejects(self) -> bool:
        """Whether the simpler model is rejected."""
        return self.p_value < LEVEL


@dataclass(frozen=True)
class Diagnosis:
    """How a chain fits some sequences.

    Parameters
    ----------
    transitions : int
        Transitions seen, between neighbouring records that are both present.
    never_seen, never_left : tuple of states
        States that do not occur; states from which no transition was seen, so that the data say nothing of their row.
    irreducible : bool
        Every state of the chain can be reached from every other.
    cycle : int
        Period of the chain (1: aperiodic). With a longer one, and with a deterministic one in particular, influence
        need not fade.
    smoothed : float
        Largest difference between a probability of the chain and the relative frequency: what smoothing, or another
        origin of the model, has changed.
    fit : GTest
        The chain against the frequencies seen.
    stationarity : GTest
        One chain against another one in the second half of each sequence.
    order : GTest
        A chain of order one against one of order two.
    rhythm : GTest or None
        One matrix against one for each instant (or 48 equal parts of a longer rhythm), if a rhythm was named.
    """

    transitions: int
    never_seen: tuple[Hashable, ...]
    never_left: tuple[Hashable, ...]
    irreducible: bool
    cycle: int
    smoothed: float
    fit: GTest
    stationarity: GTest
    order: GTest
    rhythm: GTest | None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the model, and what would fit better; empty if nothing was found."""
        found = []
        if self.never_seen:
            found.append(f"{len(self.never_seen)} declared states never occur")
        if self.never_left:
            found.append(f"{len(self.never_left)} states are never left, so the data say nothing of what follows them")
        if not self.irreducible:
            found.append("some states cannot be reached from others: the chain is reducible")
        if self.cycle > 1:
            found.append(f"the chain has a cycle of {self.cycle} steps, so influence may not fade")
        for test, sentence in (
            (self.fit, "the chain differs from the frequencies seen: fit it on data like these"),
            (self.stationarity, "the two halves differ: model a shorter stretch, or name the rhythm"),
            (
                self.order,
                "the past matters beyond one step: use a higher order or another coarsening",
            ),
            (self.rhythm, "the time of day (or week) matters: use a periodic chain"),
        ):
            if test is not None and test.rejects:
                found.append(f"{sentence} (p = {test.p_value:.2g}, {test.gain:.2g} nats a transition)")
        return tuple(found)

    def describe(self) -> str:
        """The diagnosis in a few lines."""
        lines = [f"{self.transitions:,} transitions; largest change of a probability {self.smoothed:.3g}."]
        lines += [f"- {warning}." for warning in self.warnings] or ["Nothing speaks against the chain."]
        return "\n".join(lines)


def diagnose(
    chain: MarkovChain,
    sequences: Iterable[Iterable[Any]],
    rhythm: int | None = None,
    phases: Sequence[int] | None = None,
) -> Diagnosis:
    """See `MarkovChain.diagnose`."""
    codes = [chain.encode(sequence) for sequence in sequences]
    starts = [0] * len(codes) if phases is None else list(phases)
    if len(starts) != len(codes):
        raise ArgumentError(f"phases: {len(starts)} for {len(codes)} sequences; give one a sequence")
    return diagnose_codes(chain, zip(codes, starts, strict=True), rhythm)


def diagnose_codes(
    chain: MarkovChain, series_and_phases: Iterable[tuple[NDArray[np.int64], int]], rhythm: int | None = None
) -> Diagnosis:
    """The same for codes of states (-1 where missing), each series with the instant of its first record."""
    if rhythm is not None and rhythm < 2:
        raise ArgumentError("rhythm: must be a number of instants, two or more")
    size, period = chain.size, chain.period
    halves = np.zeros((period * size, 2, size), dtype=np.int64)  # context: instant and state; half; next state
    pairs = np.zeros((period * size, size, size), dtype=np.int64)  # context: instant and state; state before; next
    cycle = rhythm or 1
    parts = min(cycle, PARTS)
    instants = np.zeros((size, parts, size), dtype=np.int64)  # context: state; part of the rhythm; next state
    seen = np.zeros(size, dtype=np.int64)
    for series, start in series_and_phases:
        for begin in range(0, series.size, _AT_ONCE):
            codes = series[begin : begin + _AT_ONCE + 1]
            seen += np.bincount(codes[:_AT_ONCE][codes[:_AT_ONCE] >= 0], minlength=size)
            now, after = codes[:-1], codes[1:]
            before = series[begin - 1 : begin + now.size - 1] if begin else np.append(-1, now[:-1])
            places = np.arange(begin, begin + now.size)
            here = (places + start) % period * size + now
            half = (places >= (series.size - 1) / 2).astype(np.int64)
            instant = (places + start) % cycle * parts // cycle
            both = (now >= 0) & (after >= 0)
            _count(halves, (here, half, after), both)
            _count(instants, (now, instant, after), both)
            _count(pairs, (here, before, after), both & (before >= 0))
    counts = halves.sum(axis=1)
    total = int(counts.sum())
    if total == 0:
        raise ArgumentError("sequences: no two neighbouring records are present; give longer sequences")
    law = chain.transitions.reshape(period * size, size)
    rows = counts.sum(axis=1)
    shares = counts / np.maximum(rows, 1)[:, None]
    left = rows.reshape(period, size).sum(axis=0)
    return Diagnosis(
        transitions=total,
        never_seen=tuple(chain.states[i] for i in np.flatnonzero(seen == 0)),
        never_left=tuple(chain.states[i] for i in np.flatnonzero((left == 0) & (seen > 0))),
        irreducible=_irreducible(chain),
        cycle=_cycle(chain),
        smoothed=float(np.abs(shares - law)[rows > 0].max()),
        fit=_against(counts, law, total),
        stationarity=_independence(halves, total),
        order=_independence(pairs, total),
        rhythm=None if rhythm is None else _independence(instants, total),
    )


def _count(table: Counts, index: tuple[NDArray[np.int64], ...], counted: NDArray[np.bool_]) -> None:
    """Add one at each index that is counted."""
    flat = np.ravel_multi_index(tuple(each[counted] for each in index), table.shape)
    np.add.at(table.reshape(-1), flat, 1)  # into a view: a flat index is several times faster


def _independence(tables: Counts, total: int) -> GTest:
    """Rows against columns, in each table of (contexts, rows, columns)."""
    rows, columns = tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
    expected = rows * columns / np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1)
    used = tables > 0
    statistic = 2 * float((tables[used] * np.log(tables[used] / expected[used])).sum())
    degrees = int((np.maximum(0, (rows > 0).sum(axis=1) - 1) * np.maximum(0, (columns > 0).sum(axis=2) - 1)).sum())
    return _test(statistic, degrees, total)


def _against(counts: Counts, law: NDArray[np.float64], total: int) -> GTest:
    """Frequencies against a given law, in each context."""
    used = counts > 0
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    with np.errstate(divide="ignore"):
        statistic = 2 * float((counts[used] * (np.log(shares[used]) - np.log(law[used]))).sum())
    visited = counts.sum(axis=1) > 0
    return _test(statistic, int(((law > 0)[visited].sum(axis=1) - 1).sum()), total)


def _test(statistic: float, degrees: int, total: int) -> GTest:
    from scipy.stats import chi2

    statistic = max(0.0, statistic)
    p_value = float(chi2.sf(statistic, degrees)) if degrees else float(statistic < 1e-9)
    return GTest(statistic, degrees, p_value, statistic / (2 * total))


def _whole(chain: MarkovChain) -> NDArray[np.bool_]:
    """Which states can follow which after one whole period."""
    reach = np.eye(chain.size)
    for t in range(chain.period):
        reach = ((reach @ chain.step(t)) > 0).astype(np.float64)
    return reach > 0


def _irreducible(chain: MarkovChain) -> bool:
    reach = (_whole(chain) | np.eye(chain.size, dtype=bool)).astype(np.float64)
    return bool((np.linalg.matrix_power(reach, chain.size) > 0).all())


def _cycle(chain: MarkovChain) -> int:
    """Greatest common divisor of the lengths of all returns to a recurrent state, in whole periods (breadth first)."""
    step = _whole(chain)
    first = int(np.argmax(chain.law(0)))
    level = {first: 0}
    queue, common = [first], 0
    for i in queue:
        for j in np.flatnonzero(step[i]).tolist():
            if j not in level:
                level[j] = level[i] + 1
                queue.append(j)
            common = math.gcd(common, level[i] + 1 - level[j])
    return common or 1
