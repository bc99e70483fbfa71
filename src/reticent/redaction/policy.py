"""Local redaction policies: each record is withheld with a probability that depends on its own value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError, RefusedError
from reticent.guarantees import PufferfishGuarantee
from reticent.markov import MarkovChain
from reticent.randomness import Source, secure_source
from reticent.redaction.leakage import (
    Bools,
    Chains,
    Floats,
    Private,
    Secret,
    as_chains,
    as_epsilon,
    as_records,
    as_secrets,
    covered,
    local_leakage,
    runs,
)
from reticent.redaction.probabilities import GRID, expected_loss, stretch
from reticent.redaction.record import RecordPolicy
from reticent.redaction.release import check_promise, masked, release_one


@dataclass(frozen=True, eq=False)
class RedactionPolicy:
    """A local policy: record t is withheld with probability ``probabilities[t, v]`` where its value is v.

    Parameters
    ----------
    chain : MarkovChain or sequence of MarkovChain
        The model of the series; with several, the guarantee holds whichever of *these* is true.
    probabilities : array, shape (n, s)
        Pr(redact | value), rounded up to what the machine uses (multiples of 2^-64).
    private : int, (int, int) or list of these
        Records (zero-based) or intervals, both ends included; an interval is hidden jointly, several secrets each on
        its own. Their probabilities must be one.
    missing : sequence of int
        Records that are missing in the data: withheld whatever their value, in the leakage and in the utility.
    epsilon : float, optional
        What was asked for, in nats: nothing is ever released if the exact leakage is above it.

    Attributes
    ----------
    n : int
        Number of records.
    low, near : int, array, shape (m, s)
        The probabilities of records ``low … low + m - 1``, which are all that is kept: outside of these a record is
        withheld where it is missing, and released otherwise. They reach on either side to a record that is always
        released, or to the end of the series.

    Raises
    ------
    ArgumentError
        Probabilities outside [0, 1], shapes that do not match, or a secret that might be released.
    """

    mechanism: ClassVar[str] = "redaction_policy"

    chains: tuple[MarkovChain, ...]
    n: int
    low: int
    near: Floats
    private: tuple[Secret, ...]
    missing: tuple[int, ...]
    epsilon: float | None

    def __init__(
        self,
        chain: Chains,
        probabilities: ArrayLike,
        private: Private,
        missing: Sequence[int] | NDArray[Any] = (),
        epsilon: float | None = None,
    ) -> None:
        r = np.asarray(probabilities, dtype=np.float64)
        self._set(chain, len(r) if r.ndim else 0, 0, r, private, missing, epsilon)

    @classmethod
    def around(
        cls,
        chain: Chains,
        n: int,
        low: int,
        probabilities: Floats,
        private: Private,
        missing: Sequence[int] | NDArray[Any] = (),
        epsilon: float | None = None,
    ) -> RedactionPolicy:
        """The policy over n records with these `probabilities` (m, s) from record `low` on; all others are released.

        Missing records are withheld wherever they are. The other parameters are those of the constructor.
        """
        policy = cls.__new__(cls)
        policy._set(chain, n, low, np.asarray(probabilities, dtype=np.float64), private, missing, epsilon)
        return policy

    def _set(
        self,
        chain: Chains,
        n: int,
        low: int,
        r: Floats,
        private: Private,
        missing: Sequence[int] | NDArray[Any],
        epsilon: float | None,
    ) -> None:
        """Check, and keep the stretch that counts: see `near`."""
        chains = as_chains(chain)
        if r.ndim != 2 or r.shape[1] != chains[0].size or r.shape[0] == 0 or not 0 <= low <= n - len(r):
            raise ArgumentError(f"probabilities: shape {r.shape} is not (records, {chains[0].size} states)")
        if not ((r >= 0) & (r <= 1)).all():
            raise ArgumentError("probabilities: must lie between 0 and 1")
        secrets = as_secrets(private, n)
        outside = secrets[0][0] < low or secrets[-1][1] >= low + len(r)
        hidden = covered([(max(0, a - low), b - low) for a, b in secrets], len(r))
        if outside or (r[hidden] < 1).any():
            raise ArgumentError("probabilities: a record inside a secret might be released; its row must be one")
        gaps = np.array(as_records(missing, n), dtype=np.int64)
        here = (gaps >= low) & (gaps < low + len(r))
        gaps = gaps[~here | ~hidden[np.where(here, gaps - low, 0)]]
        low, near = stretch(n, low, r, gaps)
        near.flags.writeable = False
        for name, value in (("chains", chains), ("n", int(n)), ("low", low), ("near", near), ("private", secrets)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "missing", tuple(gaps.tolist()))
        object.__setattr__(self, "epsilon", None if epsilon is None else as_epsilon(epsilon))

    @cached_property
    def probabilities(self) -> Floats:
        """Pr(redact | value) of every record, shape (n, s)."""
        r = np.zeros((self.n, self.chain.size))
        r[list(self.missing)] = 1.0
        r[self.low : self.low + len(self.near)] = self.near
        r.flags.writeable = False
        return r

    @property
    def chain(self) -> MarkovChain:
        """The chain, or the first of those listed."""
        return self.chains[0]

    @cached_property
    def leakages(self) -> tuple[float, ...]:
        """Exact leakage about each secret, in nats: the largest over the listed chains.

        The walk away from a secret ends at the first record that is always released, or at the end of the series, and
        `near` reaches to one or the other: over `near` it takes the very steps that it would take over all records.
        """
        chains = [chain.shifted(self.low) for chain in self.chains]
        return tuple(
            max(local_leakage(chain, self.near, (first - self.low, last - self.low)) for chain in chains)
            for first, last in self.private
        )

    def leakage(self) -> float:
        """Exact leakage in nats: the largest over the secrets and the listed chains."""
        return max(self.leakages)

    def utility(self) -> float:
        """Expected fraction of records that are released (the paper's Definition 2); the least over listed chains."""
        return 1.0 - self.withheld / self.n

    @cached_property
    def withheld(self) -> float:
        """Expected number of withheld records (missing ones included); the most over listed chains."""
        near = max(expected_loss(chain.shifted(self.low), self.near) for chain in self.chains)
        return near + self._beyond.size

    @property
    def guarantee(self) -> PufferfishGuarantee:
        """What is promised: the leakage as recomputed, whatever the policy was designed for."""
        return PufferfishGuarantee(self.leakage(), say_secrets(self.private), say_model(self.chains))

    @cached_property
    def _beyond(self) -> NDArray[np.int64]:
        """Missing records outside of `near`."""
        gaps = np.array(self.missing, dtype=np.int64)
        return gaps[(gaps < self.low) | (gaps >= self.low + len(self.near))]

    def _spread(self, near: Bools) -> Bools:
        """What holds of the records of `near`, and of the missing ones beyond them, as shape (n,)."""
        mask = np.zeros(self.n, dtype=np.bool_)
        mask[self.low : self.low + len(near)] = near
        mask[self._beyond] = True
        return mask

    @cached_property
    def certain(self) -> Bools:
        """Records that are withheld whatever their value, so that they may be missing: shape (n,)."""
        return self._spread(np.asarray((self.near >= 1).all(axis=1)))

    @property
    def touched(self) -> Bools:
        """Records that may be withheld, private and missing ones included: shape (n,)."""
        return self._spread(np.asarray((self.near > 0).any(axis=1)))

    @cached_property
    def drawn(self) -> Bools:
        """Records of `near` for which a word is drawn: those whose fate is not certain, shape (m,)."""
        return np.asarray(((self.near > 0) & (self.near < 1)).any(axis=1))

    @property
    def word_count(self) -> int:
        """Random words that each release uses, whatever the values."""
        return int(self.drawn.sum())

    def draw(
        self,
        codes: NDArray[np.int64],
        starts: NDArray[np.int64],
        words: NDArray[np.uint64],
        first_words: NDArray[np.int64],
        mask: Bools,
    ) -> None:
        """Draw the series that begin at ``codes[starts]``; `mask` becomes True where a record is withheld."""
        from reticent.redaction import kernels

        kernels.draw(codes, starts, self.n, self.low, self.near, self.drawn, words, first_words, mask)
        if self._beyond.size:
            for base in starts.tolist():
                mask[base + self._beyond] = True

    def release(self, states: Iterable[Any], source: Source | None = None) -> np.ma.MaskedArray[Any, Any]:
        """Release a series.

        Parameters
        ----------
        states : sequence of n states
            ``None``, NaN or masked where missing.
        source : Source, optional
            Of randomness; the operating system's by default.

        Returns
        -------
        masked array, shape (n,)
            The values as given, masked where withheld; what lies under the mask is a neutral fill.

        Raises
        ------
        ArgumentError
            A value that is no state, a series that is impossible under the chain, a record that is missing but was
            not declared so. Nothing has been drawn then.
        RefusedError
            The exact leakage is above the `epsilon` that was asked for.
        """
        return masked(states, release_one(self, states, secure_source() if source is None else source))

    def composed(self, other: RedactionPolicy) -> RedactionPolicy:
        """The policy that two releases of the same records amount to: the elementwise product.

        A record stays hidden only if both releases withhold it. ε does not add; it is recomputed. Products are rounded
        *down* to the machine's grid, since they describe what has been run.

        Raises
        ------
        ArgumentError
            Another chain, length or secret.
        RefusedError
            Anything but a local policy.
        """
        if not isinstance(other, RedactionPolicy):
            raise RefusedError(
                "other: only local policies compose; a sequential redaction is drawn once for each series and returned "
                "again"
            )
        if (self.chains, self.n, self.private) != (other.chains, other.n, other.private):
            raise ArgumentError("other: two policies compose if they have the same chains, records and secrets")
        one, two = self.probabilities, other.probabilities
        sure = (one == 0) | (one == 1) | (two == 0) | (two == 1)
        product = np.where(sure, one * two, np.nextafter(one * two, 0.0))
        return RedactionPolicy(
            self.chains,
            np.floor(product * GRID) / GRID,
            list(self.private),
            sorted(set(self.missing) & set(other.missing)),
        )

    def for_record(self, t: int) -> RecordPolicy:
        """The part that concerns record t, to be handed to the individual who holds it.

        Raises
        ------
        ArgumentError
            No such record.
        RefusedError
            The exact leakage is above the `epsilon` that was asked for.
        """
        if not 0 <= t < self.n:
            raise ArgumentError(f"t: there is no such record; they run from 0 to {self.n - 1}")
        check_promise(self)
        return RecordPolicy(int(t), self.chain.states, tuple(self.probabilities[t].tolist()))

    def describe(self) -> str:
        """What the policy does and promises, in a few sentences."""
        return (
            f"A local redaction policy over {self.n:,} records: each is withheld or released on its own; "
            f"{self.utility():.4%} are expected to be released. {self.guarantee.describe()}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Public parameters only, as plain values; equal neighbouring rows are written once, certain ones not at all.

        ``probabilities`` is a list of ``[first, last, row]``; a record not named is released, or withheld if it is
        private or missing.
        """
        forced = covered([(first - self.low, last - self.low) for first, last in self.private], len(self.near))
        gaps = np.array(self.missing, dtype=np.int64) - self.low
        forced[gaps[(gaps >= 0) & (gaps < len(self.near))]] = True
        rows = np.where(forced[:, None], 0.0, self.near)
        starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
        ends = np.append(starts[1:], len(rows)) - 1
        return {
            "mechanism": self.mechanism,
            "chains": [chain.to_dict() for chain in self.chains],
            "n": self.n,
            "epsilon": self.epsilon,
            "private": [list(secret) for secret in self.private],
            "missing": [list(run) for run in runs(_at(self.missing, self.n))],
            "probabilities": [
                [self.low + int(first), self.low + int(last), rows[first].tolist()]
                for first, last in zip(starts, ends, strict=True)
                if rows[first].any()
            ],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RedactionPolicy:
        """The policy that `to_dict` wrote, exactly.

        Raises
        ------
        ArgumentError
            If the data describe something else, or break a rule of the constructor.
        """
        if data.get("mechanism") != cls.mechanism:
            raise ArgumentError(f"mechanism: this is not a {cls.mechanism}")
        chains = [MarkovChain.from_dict(chain) for chain in data["chains"]]
        n = int(data["n"])
        secrets = as_secrets([(first, last) for first, last in data["private"]], n)
        missing = covered([(first, last) for first, last in data["missing"]], n)
        stretches = [*secrets, *((int(first), int(last)) for first, last, _ in data["probabilities"])]
        low, high = min(first for first, _ in stretches), max(last for _, last in stretches)
        if low < 0 or high >= n:
            raise ArgumentError(f"probabilities: of records outside 0 to {n - 1}")
        r = np.zeros((high - low + 1, chains[0].size))
        for first, last, row in data["probabilities"]:
            r[first - low : last - low + 1] = row
        for first, last in secrets:
            r[first - low : last - low + 1] = 1.0
        return cls.around(chains, n, low, r, list(secrets), np.flatnonzero(missing), data["epsilon"])

    def to_json(self) -> str:
        """`to_dict` as strict JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> RedactionPolicy:
        """The policy that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RedactionPolicy)
            and self._public() == other._public()
            and np.array_equal(self.near, other.near)
        )

    def __hash__(self) -> int:
        return hash((self._public(), self.near.tobytes()))

    def _public(self) -> tuple[Any, ...]:
        return self.chains, self.n, self.low, self.private, self.missing, self.epsilon


def say_secrets(secrets: Sequence[Secret]) -> str:
    """The secrets in words; of many, the first few and a count."""
    words = [f"record {a}" if a == b else f"records {a} to {b} (jointly)" for a, b in secrets[:4]]
    more = f" and {len(secrets) - 4} more secrets" if len(secrets) > 4 else ""
    return ", ".join(words) + more


def say_model(chains: Sequence[MarkovChain]) -> str:
    """The model in words."""
    what = "the stated" if len(chains) == 1 else f"any of the {len(chains)} listed"
    kinds = {"stationary" if chain.period == 1 else f"period {chain.period}" for chain in chains}
    return f"{what} Markov chain over {chains[0].size} states ({', '.join(sorted(kinds))})"


def _at(records: Sequence[int], n: int) -> Bools:
    mask = np.zeros(n, dtype=np.bool_)
    mask[list(records)] = True
    return mask
