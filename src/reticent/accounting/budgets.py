"""Amounts in the unit of a budget: ε and δ at a window, ε about secrets, or a number of outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reticent.accounting.amounts import Amount, amount, computed, read, written
from reticent.errors import ArgumentError
from reticent.guarantees import Guarantee, NoiselessGuarantee, PufferfishGuarantee, TemporalGuarantee, count, rounded_up
from reticent.quantization.exact import Number, allowed_outputs


@dataclass(frozen=True)
class Budget:
    """How much may be spent, or how much was.

    Made by `temporal`, `pufferfish` or `noiseless`, never directly.

    Attributes
    ----------
    kind : {"temporal", "pufferfish", "noiseless"}
    epsilon, delta : Fraction (or infinity)
        Nats and a probability; zero where they have no meaning.
    window : int
        Steps; zero where it has no meaning.
    outputs : int
        Of one reading; zero where it has no meaning.
    """

    kind: str
    epsilon: Amount = 0
    delta: Amount = 0
    window: int = 0
    outputs: int = 0

    @classmethod
    def temporal(cls, epsilon: Number, window: int, delta: Number = 0) -> Budget:
        """(ε, δ) at a window."""
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise ArgumentError("window: must be a whole number of steps, one or more")
        failing = amount(delta, "delta")
        if failing > 1:
            raise ArgumentError("delta: must be a probability between 0 and 1")
        return cls(TemporalGuarantee.kind, amount(epsilon, "epsilon"), failing, window)

    @classmethod
    def pufferfish(cls, epsilon: Number) -> Budget:
        """ε about the secrets, by the product of all policies."""
        return cls(PufferfishGuarantee.kind, amount(epsilon, "epsilon"))

    @classmethod
    def noiseless(cls, outputs: int | None = None, bits: Number | None = None) -> Budget:
        """Outputs (or bits) of one reading."""
        return cls(NoiselessGuarantee.kind, outputs=allowed_outputs(bits, outputs))

    @classmethod
    def of(cls, guarantee: Guarantee) -> Budget:
        """What a bare guarantee costs."""
        match guarantee:
            case TemporalGuarantee(epsilon, delta, window):
                return cls(guarantee.kind, computed(epsilon), computed(delta), window)
            case PufferfishGuarantee(epsilon):
                return cls(guarantee.kind, computed(epsilon))
            case NoiselessGuarantee(outputs):
                return cls(guarantee.kind, outputs=outputs)
        raise ArgumentError("guarantee: must be one of the three kinds")

    @property
    def unit(self) -> tuple[str, int]:
        """Amounts in different units are different budgets: the kind, and for switches the window."""
        return self.kind, self.window

    def within(self, limit: Budget) -> bool:
        """Whether this much does not exceed a limit in the same unit."""
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta and self.outputs <= limit.outputs

    def to_dict(self) -> dict[str, Any]:
        """Plain values; amounts are exact texts."""
        match self.kind:
            case "temporal":
                amounts = {"epsilon": written(self.epsilon), "delta": written(self.delta), "window": self.window}
            case "pufferfish":
                amounts = {"epsilon": written(self.epsilon)}
            case _:
                amounts = {"outputs": str(self.outputs)}
        return {"kind": self.kind, **amounts}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Budget:
        """The amounts that `to_dict` wrote."""
        epsilon, delta = read(data.get("epsilon", "0")), read(data.get("delta", "0"))
        return cls(data["kind"], epsilon, delta, data.get("window", 0), int(data.get("outputs", "0")))

    def __str__(self) -> str:
        match self.kind:
            case "temporal":
                failing = f", δ = {rounded_up(float(self.delta))}" if self.delta else ""
                return f"ε = {rounded_up(float(self.epsilon))} nats{failing} at window {self.window}"
            case "pufferfish":
                return f"ε = {rounded_up(float(self.epsilon))} nats about the secrets"
        return f"{count(self.outputs)} outputs a reading ({math.log2(self.outputs):.6g} bits)"
