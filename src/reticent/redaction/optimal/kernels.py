"""Compiled loop of the optimal local policy: what is seen on one side, and how it moves with the probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TINY = 1e-280


def events(
    steps: Floats,
    origin: int,
    start: int,
    direction: int,
    live: Bools,
    before: Floats,
    r: Floats,
    places: Ints,
    values: Ints,
    ended: bool,
    columns: Ints,
    variables: int,
) -> tuple[Floats, Floats]:
    """Log-likelihoods of some events on one side, given the secret, with their gradients.

    Parameters
    ----------
    before : (m + 1, s, s)
        From `redaction.kernels.unseen`.
    r : (m + 1, s)
        Probabilities of redaction by distance.
    places, values : (k,) int
        Events: the first release is at this distance, of this value.
    ended : bool
        Also the event that nothing is released up to distance m.
    columns : (m + 1, s) int
        Index of each probability among the variables, -1 where it is fixed.
    variables : int
        How many there are.

    Returns
    -------
    logs : (k + ended, s)
    slopes : (k + ended, s, variables)
    """
    size = live.size
    chances = before[places, :, values]  # of each event, given the secret
    if ended:
        nothing = np.zeros((1, size))
        for v in range(size):
            nothing += before[-1, :, v] * r[-1, v]
        chances = np.concatenate([chances, nothing])
    logs = np.empty(chances.shape)
    slopes = np.zeros((*chances.shape, variables))
    nearest = (origin + min(start, start + direction)) % len(steps)
    scratch = np.empty((2, size))
    _events(steps, nearest, direction, live, before, r, places, values, columns, chances, *scratch, logs, slopes)
    return logs, slopes


@kernel
def _events(
    steps: Floats,
    nearest: int,
    direction: int,
    live: Bools,
    before: Floats,
    r: Floats,
    places: Ints,
    values: Ints,
    columns: Ints,
    chances: Floats,
    ahead: Floats,
    next_ahead: Floats,
    logs: Floats,
    slopes: Floats,
) -> None:
    """`events`, where ``steps[nearest]`` is the first step's law."""
    size = live.size
    for k in range(logs.shape[0]):
        nothing = k == places.size
        place = r.shape[0] - 1 if nothing else places[k]
        for v in range(size):
            ahead[v] = 1.0 if nothing or v == values[k] else 0.0
            logs[k, v] = math.log(max(chances[k, v], TINY))
        for distance in range(place, 0, -1):
            instant = (nearest + direction * (distance - 1)) % steps.shape[0]
            for v in range(size):
                if distance < place or nothing:  # ahead: from value v at this distance, once withheld here
                    column = columns[distance, v]
                    if column >= 0:
                        for x in range(size):
                            if live[x]:
                                slopes[k, x, column] = before[distance, x, v] * ahead[v] / math.exp(logs[k, x])
                    ahead[v] *= r[distance, v]
            for u in range(size):
                next_ahead[u] = 0.0
                for v in range(size):
                    next_ahead[u] += steps[instant, u, v] * ahead[v]
            for u in range(size):
                ahead[u] = next_ahead[u]
