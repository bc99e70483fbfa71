"""Compiled loops of the attacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.compiled import kernel


@kernel
def mark_peaks(series: Any, peaks: Any) -> None:
    """Mark in each row the instants of a peak: a run of equal values with smaller ones right before and right after.

    Parameters
    ----------
    series : int64, shape (rounds, steps)
    peaks : bool, shape (rounds, steps), false at first
    """
    for r in range(series.shape[0]):
        start, risen = 0, False
        for t in range(1, series.shape[1]):
            if series[r, t] > series[r, t - 1]:
                start, risen = t, True
            elif series[r, t] < series[r, t - 1]:
                if risen:
                    peaks[r, start:t] = True
                risen = False


@kernel
def compare_candidates(loads: Any, load_peaks: Any, codes: Any, code_peaks: Any, symbols: Any, scale: int) -> Any:
    """Which of two candidates each adversary prefers: 1 the second, -1 the first, 0 neither.

    All sums are exact integers; only the last step of the correlation is in floats, where equal candidates stay equal.

    Parameters
    ----------
    loads : int64, shape (2, rounds, steps)
        Readings of the candidates, in units.
    load_peaks : bool, shape (2, rounds, steps)
    codes : int64, shape (rounds, steps)
        What was published: cells, or exact sums.
    code_peaks : bool, shape (rounds, steps)
    symbols : int64, shape (rounds, steps)
        The published values, in units, times `scale`.
    scale : int

    Returns
    -------
    int8, shape (3, rounds)
        By correlation, by mean squared error, by common peaks.
    """
    _, rounds, steps = loads.shape
    preferred = np.zeros((3, rounds), dtype=np.int8)
    correlation = np.zeros(2)
    squares = np.zeros(2, dtype=np.int64)
    common = np.zeros(2, dtype=np.int64)
    for r in range(rounds):
        for j in range(2):
            sum_x = sum_y = sum_xx = sum_xy = cross = shared = 0
            for t in range(steps):
                x, y = loads[j, r, t], codes[r, t]
                sum_x += x
                sum_y += y
                sum_xx += x * x
                sum_xy += x * y
                cross += x * symbols[r, t]
                shared += load_peaks[j, r, t] and code_peaks[r, t]
            variance = steps * sum_xx - sum_x * sum_x
            correlation[j] = (steps * sum_xy - sum_x * sum_y) / np.sqrt(variance) if variance > 0 else 0.0
            squares[j] = scale * sum_xx - 2 * cross  # the squared error, but for what both candidates share
            common[j] = shared
        preferred[0, r] = np.sign(correlation[1] - correlation[0])
        preferred[1, r] = np.sign(squares[0] - squares[1])
        preferred[2, r] = np.sign(common[1] - common[0])
    return preferred
