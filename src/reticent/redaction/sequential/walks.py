"""A walk: one direction of a sequential redaction, away from a cluster of secrets.

As long as nothing has been released the curator withholds or releases record t with a probability that depends on the
value x of the secret's end and on X_t; after the first release everything further out is released. All that leaks is
the joint law of "first release at t, with value v": B_t(x, v), and of "nothing": C (derived here).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats, Secret, frozen

LEFT, RIGHT = -1, 1
FAR = 1 << 16  # records beyond its table at which a joined walk is looked at first
FEW = 1 << 6  # steps that are taken one by one
SMALLEST = 1e-150  # as in `redaction.kernels`, which is not loaded before it is needed


@dataclass(frozen=True, eq=False)
class Walk:
    """Public parameters of one walk.

    Parameters
    ----------
    start : int
        The end record of the secret.
    direction : {-1, 1}
    count : int
        How many records the walk may release, next to each other.
    joined : bool
        Another walk comes from beyond: what lies there may be seen even if nothing was released here.
    release : array, shape (h + 1, s, s)
        ``[t, x, v]``: probability of the first release at distance t; nothing is released first beyond h.
    present : bool, shape (count + 1,)
        Distances at which there is a record to release.
    """

    start: int
    direction: int
    count: int
    joined: bool
    release: Floats
    present: Bools

    @cached_property
    def drawn(self) -> Bools:
        """Distances at which a word is drawn, whatever the values: shape (h + 1,)."""
        return np.array(((self.release > 0) & (self.release < 1)).any(axis=(1, 2)))

    @property
    def low(self) -> int:
        """The first record of those that the walk may release."""
        return self.start - self.count if self.direction == LEFT else self.start + 1

    def along(self, records: NDArray[Any]) -> NDArray[Any]:
        """What an array over the series holds of the records at distances 1 … count: a view."""
        return records[self.low : self.low + self.count][:: self.direction]

    @property
    def silent(self) -> int:
        """Number of records next to the secret that are never released."""
        releasing = self.release.any(axis=(1, 2))
        return int(np.argmax(releasing)) - 1 if releasing.any() else self.count

    def seen(self, chain: MarkovChain, secret: Secret) -> Floats:
        """Largest log-ratios between the values of this end of `secret`, which may be another of the cluster.

        Nothing is first released beyond the table. If the series ends there, the last event has the probability of
        "nothing up to the table's end". If it is joined, "nothing, and then v is seen" is looked at twice: at the
        record that may be seen, through the law of what lies between, and `FAR` records beyond the table, as if that
        one were seen. The second is no smaller without rounding, since what lies farther is drawn given it alone and
        mixtures of likelihoods have no larger ratios; but it is rounded up by less. Either bounds what is seen.
        """
        from reticent.redaction.sequential import kernels

        end = secret[0] if self.direction == LEFT else secret[1]
        lag = abs(end - self.start)
        link = stride(chain, self.direction, end, lag)
        near = min(self.count, len(self.release) - 1 + FAR)
        far = self.count - near if self.joined else 0
        ontos = [(np.eye(chain.size), 0)]
        if far:
            ontos.append((stride(chain, self.direction, self.start + self.direction * (near + 1), far), far))
        bounds = [
            kernels.seen(
                *setting(chain, self.start, self.direction)[:4],
                near,
                chain.law(self.start) > 0,
                self.release,
                self.joined,
                frozen(onto),
                steps,
                link,
                chain.law(end) > 0,
                lag,
            )
            for onto, steps in ontos
        ]
        return np.asarray(np.minimum.reduce(bounds))

    def expected(self, chain: MarkovChain) -> float:
        """Expected number of released records."""
        from reticent.redaction.sequential import kernels

        first = kernels.first_release(*setting(chain, self.start, self.direction), self.release)
        near, more = self.present[: len(first)], int(np.count_nonzero(self.present[len(first) :]))
        return float(np.einsum("x,txv,t->", chain.law(self.start), first, onward(near, more)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; equal neighbouring matrices are written once, zero ones not at all."""
        rows = self.release.reshape(len(self.release), -1)
        starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
        ends = np.append(starts[1:], len(rows)) - 1
        return {
            "start": self.start,
            "direction": "left" if self.direction == LEFT else "right",
            "count": self.count,
            "joined": self.joined,
            "release": [
                [int(first), int(last), self.release[first].tolist()]
                for first, last in zip(starts, ends, strict=True)
                if rows[first].any()
            ],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], size: int, missing: Bools) -> Walk:
        """The walk that `to_dict` wrote; `missing` tells which records there are to release."""
        direction = LEFT if data["direction"] == "left" else RIGHT
        start, count = int(data["start"]), int(data["count"])
        release = np.zeros((1 + max((last for _, last, _ in data["release"]), default=0), size, size))
        for first, last, matrix in data["release"]:
            release[first : last + 1] = matrix
        low = start - count if direction == LEFT else start + 1
        if low < 0 or low + count > missing.size:
            raise ArgumentError("walks: a walk leaves the series")
        present = np.concatenate([[False], ~missing[low : low + count][::direction]])
        return cls(start, direction, count, bool(data["joined"]), release, present)


def steps_of(chain: MarkovChain, direction: int) -> Floats:
    """One-step laws in a direction."""
    return chain.backs if direction == LEFT else chain.transitions


def setting(chain: MarkovChain, start: int, direction: int) -> tuple[Floats, int, int, int, Bools]:
    """What every compiled walk asks for first."""
    return steps_of(chain, direction), chain.phase, start, direction, chain.law(start) > 0


def onward(present: Bools, more: int) -> Floats:
    """Number of records from each distance outward that are released once one is: shape (m + 1,).

    Parameters
    ----------
    present : (m + 1,) bool
    more : int
        Records beyond these.
    """
    return np.cumsum(present[::-1])[::-1].astype(np.float64) + more


def stride(chain: MarkovChain, direction: int, start: int, count: int) -> Floats:
    """Law of the record `count` steps away from record `start`, given the value of that: shape (s, s).

    Many steps are taken by squaring whole periods. *Derived here*: all terms are positive, so a product of matrices
    with relative errors of (j-1)·s and (k-1)·s units has one of (j+k-1)·s: no more than step by step. Few steps are
    taken one by one, which is how the claims of earlier certificates were computed.

    Raises
    ------
    ArgumentError
        A probability too small to be told from zero.
    """
    if count <= FEW:
        return _one_by_one(chain, direction, start, count)
    periods, rest = divmod(count, chain.period)
    cycle = _one_by_one(chain, direction, start, chain.period)
    out = np.eye(chain.size)
    while periods:
        if periods % 2:
            out = _times(out, cycle)
        periods //= 2
        cycle = _times(cycle, cycle) if periods else cycle
    return _times(out, _one_by_one(chain, direction, start + direction * (count - rest), rest))


def _one_by_one(chain: MarkovChain, direction: int, start: int, count: int) -> Floats:
    out = np.eye(chain.size)
    for t in range(start, start + direction * count, direction):
        out = _times(out, chain.back(t - 1) if direction == LEFT else chain.step(t))
    return out


def _times(one: Floats, other: Floats) -> Floats:
    product = one @ other
    if ((product > 0) & (product < SMALLEST)).any():
        raise ArgumentError("chain: a probability of several steps is too small to be told from zero; write zero")
    return product
