"""Certify by counting: the exact non-stochastic leakage of any finite mechanism."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from reticent.errors import ArgumentError

_MOST_COMBINATIONS = 10**7


def counted_outputs(mechanism: Callable[..., Hashable], domains: Sequence[Sequence[Any]]) -> int:
    """The most outputs that one individual can produce, whatever the others have, by trying every combination.

    This is the definition itself: log2 of it is max over i of L(Y; X_i | x_{−i}), the smallest ε for which the
    mechanism is ε-noiselessly private (paper, Definitions 1 and 2).

    Parameters
    ----------
    mechanism : callable
        From one value an individual to a hashable output.
    domains : sequence of sequences
        The values that each individual can have.

    Raises
    ------
    ArgumentError
        If there are no individuals, an empty domain, or more than 10^7 combinations.
    """
    combinations = math.prod(len(domain) for domain in domains)
    if not domains or combinations == 0:
        raise ArgumentError("domains: give at least one individual, each with at least one value")
    if combinations > _MOST_COMBINATIONS:
        raise ArgumentError(f"domains: more than {_MOST_COMBINATIONS:,} combinations; count on a coarser grid")
    reached: dict[tuple[int, tuple[int, ...]], set[Hashable]] = {}
    for places in itertools.product(*(range(len(domain)) for domain in domains)):
        output = mechanism(*(domain[place] for domain, place in zip(domains, places, strict=True)))
        for i in range(len(domains)):
            reached.setdefault((i, (*places[:i], *places[i + 1 :])), set()).add(output)
    return max(map(len, reached.values()))
