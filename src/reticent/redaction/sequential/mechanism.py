"""The sequential redaction: one curator, who holds the whole series, walks outward from the secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, RefusedError
from reticent.guarantees import PufferfishGuarantee
from reticent.markov import MarkovChain
from reticent.randomness import Source, secure_source
from reticent.redaction.leakage import (
    Bools,
    Private,
    Secret,
    as_epsilon,
    as_secrets,
    covered,
    possible_ends,
    runs,
    sorted_records,
)
from reticent.redaction.policy import say_model, say_secrets
from reticent.redaction.probabilities import GRID
from reticent.redaction.release import masked, release_one
from reticent.redaction.sequential.impute import fill
from reticent.redaction.sequential.walks import LEFT, RIGHT, Walk

Ints = NDArray[np.int64]

ONCE = (
    "a sequential redaction is drawn once for each series and returned again; drawn twice, or beside another release "
    "of the same records, it has no bound"
)


@dataclass(frozen=True, eq=False)
class SequentialRedaction:
    """Walks outward from clusters of secrets, each with its own law of the first release.

    Made by `sequential_redaction`. Same methods as a `RedactionPolicy`, except that it neither composes nor divides
    among individuals: it needs the whole series, and may be drawn once.

    Parameters
    ----------
    chain : MarkovChain
        One chain: the guarantee cannot be asked for over several.
    n : int
    private : secrets, as for `RedactionPolicy`
    walks : sequence of Walk
        Two for each cluster of secrets without a release between them; records in no walk are withheld.
    missing : sequence of int
    epsilon : float, optional
        What was asked for: nothing is released if the exact leakage is above it (by more than 1e-9).

    Attributes
    ----------
    gaps : int64 array
        The missing records, sorted.
    """

    mechanism: ClassVar[str] = "sequential_redaction"

    chain: MarkovChain
    n: int
    private: tuple[Secret, ...]
    walks: tuple[Walk, ...]
    gaps: Ints
    epsilon: float | None

    def __init__(
        self,
        chain: MarkovChain,
        n: int,
        private: Private,
        walks: Sequence[Walk],
        missing: Sequence[int] | NDArray[Any] = (),
        epsilon: float | None = None,
    ) -> None:
        secrets = as_secrets(private, n)
        hidden = covered(secrets, n)
        gaps = sorted_records(missing, n)
        gaps = gaps[~hidden[gaps]]
        gaps.flags.writeable = False
        there = ~hidden
        there[gaps] = False
        taken = hidden.copy()
        for walk in walks:
            if walk.count and (walk.low < 0 or walk.low + walk.count > n or walk.along(taken).any()):
                raise ArgumentError("walks: a walk leaves the series, enters a secret, or meets another walk")
            walk.along(taken)[:] = True
            _check_law(walk, chain.size, walk.along(there))
        ordered = _in_order(walks)
        _check_clusters(ordered, secrets)
        for name, value in (("chain", chain), ("n", int(n)), ("private", secrets), ("walks", ordered)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "gaps", gaps)
        object.__setattr__(self, "epsilon", None if epsilon is None else as_epsilon(epsilon))

    @property
    def missing(self) -> tuple[int, ...]:
        """The missing records, as of a policy."""
        return tuple(self.gaps.tolist())

    @property
    def chains(self) -> tuple[MarkovChain, ...]:
        """The one chain, as for a policy."""
        return (self.chain,)

    @cached_property
    def leakages(self) -> tuple[float, ...]:
        """Exact leakage about each secret, in nats, with everything that is seen on either side of it.

        A secret inside a cluster is seen through the walks of the cluster's ends: their law is carried back to it along
        the chain.
        """
        from reticent.redaction import kernels

        found = []
        for secret in self.private:
            left = max((w for w in self.walks if w.direction == LEFT and w.start <= secret[0]), key=lambda w: w.start)
            right = min((w for w in self.walks if w.direction == RIGHT and w.start >= secret[1]), key=lambda w: w.start)
            seen = left.seen(self.chain, secret), right.seen(self.chain, secret)
            found.append(float(kernels.combine(*seen, possible_ends(self.chain, secret))))
        return tuple(found)

    def leakage(self) -> float:
        """Exact leakage in nats: the largest over the secrets."""
        return max(self.leakages)

    def utility(self) -> float:
        """Expected fraction of records that are released."""
        return sum(walk.expected(self.chain) for walk in self.walks) / self.n

    @property
    def guarantee(self) -> PufferfishGuarantee:
        """What is promised: the leakage as recomputed."""
        return PufferfishGuarantee(self.leakage(), say_secrets(self.private), say_model(self.chains))

    @cached_property
    def certain(self) -> Bools:
        """Records that are withheld whatever the values, so that they may be missing: shape (n,)."""
        mask = np.ones(self.n, dtype=np.bool_)
        for walk in self.walks:
            walk.along(mask)[walk.silent :] = False
        mask[self.gaps] = True
        return mask

    @cached_property
    def word_count(self) -> int:
        """Random words that each release uses, whatever the values."""
        return sum(1 + int(walk.drawn.sum()) for walk in self.walks)

    def draw(self, codes: Ints, starts: Ints, words: NDArray[np.uint64], first_words: Ints, mask: Bools) -> None:
        """Draw the series that begin at ``codes[starts]``; `mask` becomes True where a record is withheld.

        The first word of each walk draws its secret's value where that is missing in the data, given all that is known
        (so that a missing secret shows as any other).
        """
        from reticent.redaction.sequential import kernels

        for base in starts:
            mask[base : base + self.n] = True
        ends = fill(self.chain, self.n, codes, starts, [w.start for w in self.walks], self._first(words, first_words))
        used = 0
        for walk, values in zip(self.walks, ends, strict=True):
            kernels.draw(
                codes,
                starts,
                values,
                walk.start,
                walk.direction,
                walk.present,
                walk.release,
                walk.drawn,
                words,
                first_words + used + 1,
                mask,
            )
            used += 1 + int(walk.drawn.sum())

    def _first(self, words: NDArray[np.uint64], first_words: Ints) -> NDArray[np.uint64]:
        """The first word of each walk in each series, shape (walks, series)."""
        counts = [1 + int(walk.drawn.sum()) for walk in self.walks]
        return words[np.cumsum([0, *counts[:-1]])[:, None] + first_words[None, :]]

    def release(self, states: Iterable[Any], source: Source | None = None) -> np.ma.MaskedArray[Any, Any]:
        """Release a series, **once**: see `RedactionPolicy.release`."""
        return masked(states, release_one(self, states, secure_source() if source is None else source))

    def composed(self, other: Any) -> NoReturn:
        """Refused."""
        raise RefusedError(f"other: {ONCE}")

    def for_record(self, t: int) -> NoReturn:
        """Refused."""
        raise RefusedError("t: a sequential redaction needs the whole series; an individual can run a local policy")

    def describe(self) -> str:
        """What the mechanism does and promises, in a few sentences."""
        return (
            f"A sequential redaction of {self.n:,} records by one curator, outward from the secrets: "
            f"{self.utility():.4%} are expected to be released; {ONCE}. {self.guarantee.describe()}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Public parameters only, as plain values."""
        gone = np.zeros(self.n, dtype=np.bool_)
        gone[self.gaps] = True
        return {
            "mechanism": self.mechanism,
            "chains": [self.chain.to_dict()],
            "n": self.n,
            "epsilon": self.epsilon,
            "private": [list(secret) for secret in self.private],
            "missing": [list(run) for run in runs(gone)],
            "walks": _grouped(self.walks),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SequentialRedaction:
        """The mechanism that `to_dict` wrote, exactly."""
        if data.get("mechanism") != cls.mechanism:
            raise ArgumentError(f"mechanism: this is not a {cls.mechanism}")
        chain, n = MarkovChain.from_dict(data["chains"][0]), int(data["n"])
        missing = covered([(first, last) for first, last in data["missing"]], n)
        walks = [
            Walk.from_dict({**shape, "start": start}, chain.size, missing)
            for shape in data["walks"]
            for start in shape["starts"]
        ]
        secrets = [(first, last) for first, last in data["private"]]
        return cls(chain, n, secrets, walks, np.flatnonzero(missing), data["epsilon"])

    def to_json(self) -> str:
        """`to_dict` as strict JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> SequentialRedaction:
        """The mechanism that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SequentialRedaction) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.chain, self.n, self.private, self.gaps.tobytes(), self.epsilon))


def _check_law(walk: Walk, size: int, there: Bools) -> None:
    """Refuse a table that is no law of a first release, or not the one that is drawn (multiples of 2^-64)."""
    release, present = walk.release, walk.present
    if release.shape[1:] != (size, size) or not 1 <= len(release) <= walk.count + 1:
        raise ArgumentError("walks: a table's shape does not match the states and the length of its walk")
    if not ((release >= 0) & (release <= 1)).all() or (release * GRID != np.floor(release * GRID)).any():
        raise ArgumentError("walks: release probabilities must lie between 0 and 1, and be multiples of 2^-64")
    if not np.array_equal(present[1:], there) or release[~present[: len(release)]].any():
        raise ArgumentError("walks: a record can be released if it is not missing, and only then")


def _check_clusters(walks: Sequence[Walk], secrets: Sequence[Secret]) -> None:
    """Refuse walks of which `leakages` would overlook one: they come in pairs around the secrets, and know the next."""
    pairs = list(zip(walks[::2], walks[1::2], strict=False))
    firsts, lasts = ({secret[end] for secret in secrets} for end in (0, 1))
    if len(walks) % 2 or not all(
        (left.direction, right.direction) == (LEFT, RIGHT) and left.start in firsts and right.start in lasts
        for left, right in pairs
    ):
        raise ArgumentError("walks: they come in pairs, left of one secret and right of it or another")
    if not all(any(left.start <= a and b <= right.start for left, right in pairs) for a, b in secrets):
        raise ArgumentError("walks: a secret lies between none of their pairs")
    for i, walk in enumerate(walks):
        beyond = walks[:i] if walk.direction == LEFT else walks[i + 1 :]
        if not walk.joined and any(other.count for other in beyond):
            raise ArgumentError("walks: one must be joined if there is another beyond it")


def _in_order(walks: Sequence[Walk]) -> tuple[Walk, ...]:
    """From left to right: the order in which words are used."""
    return tuple(sorted(walks, key=lambda walk: (walk.start, walk.direction)))


def _grouped(walks: Sequence[Walk]) -> list[dict[str, Any]]:
    """Plain values of the walks, equal ones once with all their starts."""
    shapes: dict[str, dict[str, Any]] = {}
    for walk in walks:
        shape = walk.to_dict()
        start = shape.pop("start")
        shapes.setdefault(json.dumps(shape), {**shape, "starts": []})["starts"].append(start)
    return list(shapes.values())
