"""The part of a local policy that concerns one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reticent.errors import ArgumentError
from reticent.randomness import Source, secure_source
from reticent.redaction.probabilities import GRID


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
