"""The verbs over streams: `switch` and `quantize` of records as they come, with a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reticent.errors import ArgumentError
from reticent.quantization import VectorQuantization
from reticent.quantization.exact import Number, allowed_outputs
from reticent.quantization.quantizers import Missing, Outside
from reticent.randomness import Source
from reticent.tables.delimited import NULLS
from reticent.tables.following.job import Followed, Following
from reticent.tables.following.running import follow
from reticent.tables.following.verbs import FollowQuantize, FollowSwitch
from reticent.tables.switching import choose_switch
from reticent.tables.verbs import ranges_of

__all__ = ["Followed", "Following", "quantize", "switch"]


def switch(
    descriptor: int,
    job: Following,
    *,
    window: int,
    epsilon: float,
    delta: float | None = None,
    mechanism: str = "mallows",
    accept_statistical: bool = False,
) -> Followed:
    """Move the values of each series of a stream in time, with bounded look-ahead.

    Parameters
    ----------
    descriptor : int
        Of the input, such as ``sys.stdin.fileno()``.
    job : Following
    window, epsilon, delta, mechanism, accept_statistical
        As for `reticent.tables.switch`, of the mechanisms that stream.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        See `follow`.
    """
    chosen = choose_switch("mallows" if mechanism == "auto" else mechanism, window, epsilon, delta, accept_statistical)
    if chosen.look_ahead is None:
        raise ArgumentError(
            "follow: this mechanism needs the whole series before it releases any of it; choose --mechanism mallows "
            "with a --delta above 0, such as 1e-6"
        )
    asked = {"epsilon": float(epsilon), "delta": float(delta or 0.0)}

    def make(source: Source | None, state: dict[str, Any]) -> FollowSwitch:
        return FollowSwitch(chosen, asked, source, state, len(job.columns.value))

    return follow(job, descriptor, "switch", {"mechanism": chosen.to_dict(), "asked": asked}, make)


def quantize(
    descriptor: int,
    job: Following,
    *,
    low: Number | Sequence[Number] | None = None,
    high: Number | Sequence[Number] | None = None,
    bits: Number | None = None,
    outputs: int | None = None,
    symbols: str = "midpoint",
    outside: Outside = "error",
    missing: Missing = "public",
    nulls: tuple[str, ...] = NULLS,
    decimal: str = ".",
) -> Followed:
    """Coarsen each value of a stream.

    Parameters
    ----------
    descriptor, job
        As for `switch`.
    low, high, bits, outputs, symbols, outside, missing
        As for `reticent.tables.quantize`.
    nulls : tuple of str
        Text that means missing.
    decimal : str
        Decimal mark of text.

    Raises
    ------
    ArgumentError, InputError, RefusedError
        See `follow`.
    """
    budget = allowed_outputs(bits, outputs)
    ranges = ranges_of(low, high, job.columns)
    mechanism = VectorQuantization.split(ranges, bits, outputs, symbols=symbols, outside=outside, missing=missing)
    asked = {
        "coordinates": [part.to_dict() for part in mechanism.coordinates],
        "asked": {"outputs": budget},
        "nulls": list(nulls),
        "decimal": decimal,
    }

    def make(source: Source | None, state: dict[str, Any]) -> FollowQuantize:
        return FollowQuantize(mechanism, budget, nulls, decimal)

    return follow(job, descriptor, "quantize", asked, make)
