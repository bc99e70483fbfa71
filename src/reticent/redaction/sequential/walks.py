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

from reticent.markov import MarkovChain
from reticent.redaction.leakage import Bools, Floats, Secret

LEFT, RIGHT = -1, 1


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
    def places(self) -> NDArray[np.int64]:
        """Records at distances 1 … count."""
        return self.start + self.direction * np.arange(1, self.count + 1)

    @property
    def silent(self) -> int:
        """Number of records next to the secret that are never released."""
        releasing = self.release.any(axis=(1, 2))
        return int(np.argmax(releasing)) - 1 if releasing.any() else self.count

    def seen(self, chain: MarkovChain, secret: Secret) -> Floats:
        """Largest log-ratios between the values of this end of `secret`, which may be another of the cluster."""
        from reticent.redaction.sequential import kernels

        end = secret[0] if self.direction == LEFT else secret[1]
        link = np.eye(chain.size)
        for t in range(end, self.start, self.direction):
            link = link @ (chain.back(t - 1) if self.direction == LEFT else chain.step(t))
        steps, origin, start, direction, live = setting(chain, self.start, self.direction)
        return kernels.seen(
            steps,
            origin,
            start,
            direction,
            self.count,
            live,
            self.release,
            self.joined,
            link,
            chain.law(end) > 0,
            abs(end - self.start),
        )

    def expected(self, chain: MarkovChain) -> float:
        """Expected number of released records."""
        from reticent.redaction.sequential import kernels

        first = kernels.first_release(*setting(chain, self.start, self.direction), self.release)
        return float(np.einsum("x,txv,t->", chain.law(self.start), first, onward(self.present)[: len(first)]))

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
        present = np.concatenate([[False], ~missing[start + direction * np.arange(1, count + 1)]])
        return cls(start, direction, count, bool(data["joined"]), release, present)


def steps_of(chain: MarkovChain, direction: int) -> Floats:
    """One-step laws in a direction."""
    return chain.backs if direction == LEFT else chain.transitions


def setting(chain: MarkovChain, start: int, direction: int) -> tuple[Floats, int, int, int, Bools]:
    """What every compiled walk asks for first."""
    return steps_of(chain, direction), chain.phase, start, direction, chain.law(start) > 0


def onward(present: Bools) -> Floats:
    """Number of records from each distance outward that are released once one is: shape (m + 1,)."""
    return np.cumsum(present[::-1])[::-1].astype(np.float64)
