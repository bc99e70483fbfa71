"""Compiled loop of the optimal local policy: what is seen on one side, and how it moves with the probabilities."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TINY = 1e-280


@numba.njit(cache=True)
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
    size = steps.shape[1]
    period = steps.shape[0]
    count = r.shape[0] - 1
    total = places.size + (1 if ended else 0)
    logs = np.zeros((total, size))
    slopes = np.zeros((total, size, variables))
    ahead, next_ahead = np.zeros(size), np.zeros(size)
    for k in range(total):
        nothing = k == places.size
        place = count if nothing else places[k]
        for v in range(size):
            ahead[v] = 1.0 if nothing or v == values[k] else 0.0
        for x in range(size):
            likelihood = 0.0
            for v in range(size):
                likelihood += before[place, x, v] * (r[place, v] * ahead[v] if nothing else ahead[v])
            logs[k, x] = math.log(max(likelihood, TINY))
        for distance in range(place, 0, -1):
            if distance < place or nothing:  # ahead: from value v at this distance, once withheld here
                for v in range(size):
                    if columns[distance, v] >= 0:
                        for x in range(size):
                            if live[x]:
                                slopes[k, x, columns[distance, v]] = (
                                    before[distance, x, v] * ahead[v] / math.exp(logs[k, x])
                                )
                    ahead[v] *= r[distance, v]
            t = start + direction * (distance - 1)
            step = steps[(origin + min(t, t + direction)) % period]
            for u in range(size):
                next_ahead[u] = 0.0
                for v in range(size):
                    next_ahead[u] += step[u, v] * ahead[v]
            ahead, next_ahead = next_ahead, ahead
    return logs, slopes
