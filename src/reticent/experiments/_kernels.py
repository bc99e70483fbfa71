"""Banded dynamic time warping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.compiled import kernel

Floats = NDArray[np.float64]


@kernel
def warping_distance(one: Floats, other: Floats, band: int) -> float:
    """Least Σ|one[i] - other[j]| over warping paths within `band` of the (stretched) diagonal.

    Parameters
    ----------
    one, other : float64, shapes (n,) and (m,), neither empty
    band : int
        Steps; widened where the slope of the diagonal needs it.
    """
    n, m = one.size, other.size
    slope = m / n
    reach = max(band, int(np.ceil(slope)) + 1)
    before = np.full(m + 1, np.inf)
    now = np.full(m + 1, np.inf)
    before[0] = 0.0
    low_before, high_before = 0, 0
    for i in range(1, n + 1):
        centre = int(i * slope)
        low, high = max(1, centre - reach), min(m, centre + reach)
        now[low - 1] = np.inf
        for j in range(low, high + 1):
            step = np.inf
            if low_before <= j <= high_before:
                step = before[j]
            if low_before <= j - 1 <= high_before:
                step = min(step, before[j - 1])
            if j > low:
                step = min(step, now[j - 1])
            now[j] = step + abs(one[i - 1] - other[j - 1])
        low_before, high_before = low, high
        before, now = now, before
    return before[m]
