"""What is promised, to whom, and under which assumption.

Guarantees are frozen values. What they cost together is the accountants' business; what they say in words is theirs.
ε of redaction and switching is in nats, the budget of quantisation is a number of outputs (bits for people).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

from reticent.errors import ArgumentError


def number(value: float) -> float | str:
    """A number as strict JSON writes it: infinity is the string ``"infinity"``."""
    return "infinity" if value == math.inf else value


def _check_epsilon(epsilon: float) -> None:
    if not epsilon >= 0:
        raise ArgumentError("epsilon: must be a number of nats, zero or more")


@dataclass(frozen=True)
class Guarantee:
    """Base of the three kinds: `promise` and `limits` are one sentence each."""

    kind: ClassVar[str]

    @property
    def promise(self) -> str:
        """What is promised, in one sentence."""
        raise NotImplementedError

    @property
    def limits(self) -> str:
        """What is not promised, in one sentence."""
        raise NotImplementedError

    def describe(self) -> str:
        """Both sentences."""
        return f"{self.promise} {self.limits}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the two sentences included."""
        values = {key: number(value) if isinstance(value, float) else value for key, value in asdict(self).items()}
        return {"kind": self.kind, **values, "promise": self.promise, "limits": self.limits}

    def __str__(self) -> str:
        return self.promise


@dataclass(frozen=True)
class PufferfishGuarantee(Guarantee):
    """Privacy of withheld records, if the series follows the stated chain.

    Parameters
    ----------
    epsilon : float
        Nats: an observer's posterior odds about a secret are at most e^ε times its prior odds.
    secrets : str
        What is hidden, in words.
    model : str
        The chain (or the listed chains), in words.
    exact : bool
        Computed exactly for the mechanism as it runs.
    """

    kind: ClassVar[str] = "pufferfish"
    epsilon: float
    secrets: str
    model: str
    exact: bool = True

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    @property
    def promise(self) -> str:
        if self.epsilon == math.inf:
            return f"Nothing is promised about {self.secrets}: some output would rule a value out (ε is infinite)."
        return (
            f"Whoever sees the release can improve the odds between any two possibilities for {self.secrets} "
            f"by at most a factor of {_ratio(self.epsilon)} (ε = {rounded_up(self.epsilon)} nats)."
        )

    @property
    def limits(self) -> str:
        return (
            f"This holds if the series follows {self.model} and is independent of every other series; "
            "several secrets are each protected on their own, not jointly; missing records must be missing for "
            "reasons that have nothing to do with the values; and a further release of the same records does not "
            "simply add its ε to this one."
        )


@dataclass(frozen=True)
class TemporalGuarantee(Guarantee):
    """Privacy of *when* each value occurred, within a window.

    Parameters
    ----------
    epsilon : float
        Nats.
    delta : float
        Probability with which the bound may fail, for sets of outputs.
    window : int
        Steps: two instants are neighbours if they are fewer than `window` steps apart.
    statistical : bool
        True where `delta` is an upper confidence bound from simulation, not an exact number.
    cuts : bool
        The series is released in pieces between public cuts: pairs across a cut are not protected.
    """

    kind: ClassVar[str] = "temporal"
    epsilon: float
    delta: float
    window: int
    statistical: bool = False
    cuts: bool = False

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)
        if not 0 <= self.delta <= 1:
            raise ArgumentError("delta: must be a probability between 0 and 1")

    def group(self, m: int) -> TemporalGuarantee:
        """The guarantee for moving `m` values, which takes m exchanges (a spike of m readings).

        (mε, δ(e^{mε}-1)/(e^ε-1)), by chaining m neighbours: Pr ≤ e^ε(e^ε(…)+δ)+δ.
        """
        if m < 1:
            raise ArgumentError("m: a group has at least one value")
        if math.isinf(self.epsilon):
            return replace(self, delta=1.0 if self.delta else 0.0)
        if self.delta == 0 or m * self.epsilon > 700:
            return replace(self, epsilon=m * self.epsilon, delta=1.0 if self.delta else 0.0)
        factor = m if self.epsilon == 0 else math.expm1(m * self.epsilon) / math.expm1(self.epsilon)
        return replace(self, epsilon=m * self.epsilon, delta=min(1.0, self.delta * factor))

    @property
    def promise(self) -> str:
        if self.epsilon == math.inf:
            return f"Nothing is promised about the order of values within {self.window} steps (ε is infinite)."
        apart = (
            "the release is the series as it is: no exchange is hidden"
            if self.window <= 1
            else f"exchanging the values of any two instants fewer than {self.window} steps apart changes the "
            f"probability of every release by at most a factor of {_ratio(self.epsilon)} "
            f"(ε = {rounded_up(self.epsilon)} nats)"
        )
        failing = f", except with probability {rounded_up(self.delta, 3)} (δ)" if self.delta else ""
        basis = "; δ is a statistical bound, not an exact number" if self.statistical else ""
        return f"{apart[0].upper()}{apart[1:]}{failing}{basis}."

    @property
    def limits(self) -> str:
        twelve = self.group(12)
        cuts = "Values on two sides of a public cut are not protected against each other. " if self.cuts else ""
        return (
            "The values themselves are all published, and so is roughly when they occurred: only their order within "
            f"the window is protected. {cuts}Hiding when a run of 12 values occurred costs up to "
            f"ε = {rounded_up(twelve.epsilon)} nats; each further release of the same series adds to the cost."
        )


@dataclass(frozen=True)
class NoiselessGuarantee(Guarantee):
    """A bound on how many different outputs one individual can produce.

    Parameters
    ----------
    outputs : int
        The number of outputs, for one reading or for the whole series.
    per : {"reading", "series"}
    local : bool
        Each individual coarsens its own values; otherwise a curator publishes an aggregate.
    assuming : str
        What is taken as given, in words: the domain, whether it is public when a reading is missing, the roster.
    """

    kind: ClassVar[str] = "noiseless"
    outputs: int
    per: str = "reading"
    local: bool = True
    assuming: str = ""

    def __post_init__(self) -> None:
        if self.outputs < 1:
            raise ArgumentError("outputs: there is at least one output")
        if self.per not in ("reading", "series"):
            raise ArgumentError("per: must be 'reading' or 'series'")

    @property
    def bits(self) -> float:
        """log2 of the number of outputs, rounded up."""
        if self.outputs & (self.outputs - 1) == 0:
            return float(self.outputs.bit_length() - 1)
        return math.nextafter(math.log2(self.outputs), math.inf)

    @property
    def promise(self) -> str:
        who = "Each value that is released" if self.local else "Each published aggregate, as one individual varies,"
        what = "" if self.per == "reading" else " over the whole series"
        return f"{who} takes one of at most {count(self.outputs)} values{what} ({rounded_up(self.bits)} bits)."

    @property
    def limits(self) -> str:
        assuming = f"This holds if {self.assuming}. " if self.assuming else ""
        return (
            f"{assuming}It bounds how many answers an individual can produce, not how narrow a cell is; it says "
            "nothing about what follows from other data on the same individual; and T readings cost T times the bits "
            "of one."
        )

    def to_dict(self) -> dict[str, Any]:
        """As for every guarantee, with the bits; a count beyond 2^53 is a text, as JSON readers would round it."""
        outputs = self.outputs if self.outputs <= 2**53 else count(self.outputs)
        return {**super().to_dict(), "outputs": outputs, "bits": self.bits}


@dataclass(frozen=True)
class NoGuarantee(Guarantee):
    """Nothing is promised, and the certificate says so: it adds up with nothing, and is charged to no ledger.

    Parameters
    ----------
    reason : str
        Why, in words.
    """

    kind: ClassVar[str] = "none"
    reason: str

    @property
    def promise(self) -> str:
        return f"Nothing is promised: there is no guarantee, because {self.reason}."

    @property
    def limits(self) -> str:
        return (
            "Whatever can be learnt of the values from this release may be learnt; it also voids what other "
            "releases of the same data promise."
        )


_KINDS: dict[str, type[Guarantee]] = {
    each.kind: each for each in (PufferfishGuarantee, TemporalGuarantee, NoiselessGuarantee)
}


def guarantee_from_dict(data: Mapping[str, Any]) -> Guarantee:
    """The guarantee that `to_dict` wrote; a count of outputs that was written as a power of two is rounded up.

    Raises
    ------
    ArgumentError
        If the data describe no guarantee.
    """
    kind = _KINDS.get(data.get("kind", ""))
    if kind is None:
        raise ArgumentError("kind: must be pufferfish, temporal or noiseless")
    values = {each.name: data[each.name] for each in fields(kind) if each.name in data}
    if values.get("epsilon") == "infinity":
        values["epsilon"] = math.inf
    if isinstance(values.get("outputs"), str):
        values["outputs"] = 2 ** math.ceil(float(values["outputs"].removeprefix("2^")) + 1e-5)
    return kind(**values)


def count(value: int) -> str:
    """A count for people: written out below ten million, as a power of two above."""
    return f"{value:,}" if value < 10**7 else f"2^{math.log2(value):.6g}"


def rounded_up(value: float, digits: int = 6) -> str:
    """A bound for people: rounded up, since a figure that is printed too small would promise too much."""
    if not math.isfinite(value):
        return "infinity"
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    return f"{float(context.create_decimal(decimal.Decimal(repr(float(value))))):.{digits}g}"


def _ratio(epsilon: float) -> str:
    return rounded_up(math.exp(epsilon), 4) if epsilon < 50 else f"e^{rounded_up(epsilon)}"
