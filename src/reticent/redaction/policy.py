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
from reticent.redaction.release import check_promise, masked, release_one

GRID = 2.0**64


def on_grid(probabilities: Floats) -> Floats:
    """Rounded up to multiples of 2^-64: a record is withheld where a 64-bit word is below ``r · 2^64``.

    Redacting more never leaks more, so upwards is towards safety. Doubles from 2^-11 on are such multiples already.
    """
    return np.ceil(probabilities * GRID) / GRID


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

    Raises
    ------
    ArgumentError
        Probabilities outside [0, 1], shapes that do not match, or a secret that might be released.
    """

    mechanism: ClassVar[str] = "redaction_policy"

    chains: tuple[MarkovChain, ...]
    probabilities: Floats
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
        chains = as_chains(chain)
        r = np.array(probabilities, dtype=np.float64)
        if r.ndim != 2 or r.shape[1] != chains[0].size or r.shape[0] == 0:
            raise ArgumentError(f"probabilities: shape {r.shape} is not (records, {chains[0].size} states)")
        if not ((r >= 0) & (r <= 1)).all():
            raise ArgumentError("probabilities: must lie between 0 and 1")
        n = len(r)
        secrets = as_secrets(private, n)
        hidden = covered(secrets, n)
        if (r[hidden] < 1).any():
            raise ArgumentError("probabilities: a record inside a secret might be released; its row must be one")
        gaps = np.array([t for t in as_records(missing, n) if not hidden[t]], dtype=np.int64)
        r = on_grid(r)
        r[gaps] = 1.0
        r.flags.writeable = False
        object.__setattr__(self, "chains", chains)
        object.__setattr__(self, "probabilities", r)
        object.__setattr__(self, "private", secrets)
        object.__setattr__(self, "missing", tuple(gaps.tolist()))
        object.__setattr__(self, "epsilon", None if epsilon is None else as_epsilon(epsilon))

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.probabilities)

    @property
    def chain(self) -> MarkovChain:
        """The chain, or the first of those listed."""
        return self.chains[0]

    @cached_property
    def leakages(self) -> tuple[float, ...]:
        """Exact leakage about each secret, in nats: the largest over the listed chains."""
        return tuple(
            max(local_leakage(chain, self.probabilities, secret) for chain in self.chains) for secret in self.private
        )

    def leakage(self) -> float:
        """Exact leakage in nats: the largest over the secrets and the listed chains."""
        return max(self.leakages)

    def utility(self) -> float:
        """Expected fraction of records that are released (the paper's Definition 2); the least over listed chains."""
        return min(expected_release(chain, self.probabilities) for chain in self.chains) / self.n

    @property
    def guarantee(self) -> PufferfishGuarantee:
        """What is promised: the leakage as recomputed, whatever the policy was designed for."""
        return PufferfishGuarantee(self.leakage(), say_secrets(self.private), say_model(self.chains))

    @cached_property
    def certain(self) -> Bools:
        """Records that are withheld whatever their value, so that they may be missing: shape (n,)."""
        return np.asarray((self.probabilities >= 1).all(axis=1))

    @cached_property
    def drawn(self) -> Bools:
        """Records for which a word is drawn: those whose fate is not certain, shape (n,)."""
        return np.asarray(((self.probabilities > 0) & (self.probabilities < 1)).any(axis=1))

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

        may_be = np.flatnonzero((self.probabilities > 0).any(axis=1))
        begin, end = (int(may_be[0]), int(may_be[-1]) + 1) if may_be.size else (0, 0)
        kernels.draw(codes, starts, self.probabilities, self.drawn, begin, end, words, first_words, mask)

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
        forced = covered(self.private, self.n)
        forced[list(self.missing)] = True
        rows = np.where(forced[:, None], 0.0, self.probabilities)
        starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
        ends = np.append(starts[1:], self.n) - 1
        return {
            "mechanism": self.mechanism,
            "chains": [chain.to_dict() for chain in self.chains],
            "n": self.n,
            "epsilon": self.epsilon,
            "private": [list(secret) for secret in self.private],
            "missing": [list(run) for run in runs(_at(self.missing, self.n))],
            "probabilities": [
                [int(first), int(last), rows[first].tolist()]
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
        secrets = [(first, last) for first, last in data["private"]]
        missing = covered([(first, last) for first, last in data["missing"]], n)
        r = np.zeros((n, chains[0].size))
        for first, last, row in data["probabilities"]:
            r[first : last + 1] = row
        r[covered(as_secrets(secrets, n), n) | missing] = 1.0
        return cls(chains, r, secrets, np.flatnonzero(missing), data["epsilon"])

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
            and np.array_equal(self.probabilities, other.probabilities)
        )

    def __hash__(self) -> int:
        return hash((self._public(), self.probabilities.tobytes()))

    def _public(self) -> tuple[Any, ...]:
        return self.chains, self.private, self.missing, self.epsilon


@dataclass(frozen=True)
class RecordPolicy:
    """What the individual who holds one record needs: the probability of withholding each of its values.

    Parameters
    ----------
    record : int
    states : tuple
    probabilities : tuple of float
        Pr(withheld | state), multiples of 2^-64.
    """

    record: int
    states: tuple[Any, ...]
    probabilities: tuple[float, ...]

    def release(self, state: Any, source: Source | None = None) -> Any:
        """`state`, or None where it is withheld.

        Raises
        ------
        ArgumentError
            If `state` is none of the states.
        """
        if state not in self.states:
            raise ArgumentError("state: not among the declared states")
        probability = self.probabilities[self.states.index(state)]
        word = int((secure_source() if source is None else source).words(1)[0])
        return None if word < int(probability * GRID) else state

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"record": self.record, "states": list(self.states), "probabilities": list(self.probabilities)}


def expected_release(chain: MarkovChain, r: Floats) -> float:
    """Expected number of released records, exactly."""
    laws = chain.laws[(chain.phase + np.arange(len(r))) % chain.period]
    return float(((1.0 - r) * laws).sum())


def mean_laws(chains: Sequence[MarkovChain], n: int) -> Floats:
    """Law of each record, averaged over the listed chains, shape (n, s): the weights of a design's objective."""
    return np.mean([chain.laws[(chain.phase + np.arange(n)) % chain.period] for chain in chains], axis=0)


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
