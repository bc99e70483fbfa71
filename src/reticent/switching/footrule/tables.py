"""The numbers behind FootruleSwitch: stationary law, backward tables, and what floating point adds to ε.

With c open chains the ways from one instant to the next, weighted by φ^{2c'}, are: θ+2c to stay, 1 up, c(c-1+θ) down.
``h_R(c)`` is the weight of all completions with R instants to go. Only ratios of it are stored; they converge to those
of the leading eigenvector, so that only the rows near the end are tables of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-53
_TOLERANCE = 2.0**-49  # between the last two rows, in log ratio
_CASE_ERROR = 2.0**-46  # relative error of a case's probability: 16 roundings, and thresholds of 48 bits or more
_LARGEST_EXPONENT = 600  # nats: of φ^{-2c} for the most chains c; a float holds 709
_TABLE_AGREEMENT = 2.0**-43  # nats: where a larger table is joined to one with fewer columns


@dataclass(frozen=True, eq=False)
class Stationary:
    """Number of open chains far from the ends.

    Attributes
    ----------
    growth : float
        Leading eigenvalue.
    law : float64, shape (m,)
        Probability of c chains.
    ratios : float64, shape (m + 1,)
        h(c)/h(c-1) by continued fraction, for c above the mode.
    """

    growth: float
    law: NDArray[np.float64]
    log_law: NDArray[np.float64]
    ratios: NDArray[np.float64]

    @property
    def mean_displacement(self) -> float:
        """Mean |displacement| in steps: the footrule is twice the sum of the numbers of open chains."""
        return 2 * float(np.arange(self.law.size) @ self.law)


def typical_chains(phi2: float) -> float:
    """1/ln(1/φ²): about the mean number of open chains at θ = 1."""
    return -1 / math.log(phi2)


@lru_cache(maxsize=512)
def stationary(theta: float, phi2: float, bits: int = 100) -> Stationary:
    """The stationary law, with as many numbers of chains as have probability 2^-bits or more (and more)."""
    from scipy.linalg import eigh_tridiagonal

    typical = typical_chains(phi2)
    size = int(2 * typical + math.sqrt(2 * bits * (typical + 1))) + 12
    size = min(size, int(_LARGEST_EXPONENT * typical))  # where φ² is tiny, few chains are more than enough
    while True:
        c = np.arange(size)
        power = phi2**c
        diagonal = (theta + 2 * c) * power
        beside = np.sqrt((c[1:] * (c[:-1] + theta)) * power[1:] * power[:-1])
        values, vectors = eigh_tridiagonal(diagonal, beside, select="i", select_range=(size - 1, size - 1))
        growth, vector = float(values[0]), np.abs(vectors[:, 0])
        mode = int(np.argmax(vector))
        ratios = np.zeros(size + 1)
        for n in range(size - 1, mode, -1):  # the minimal solution, by continued fraction
            ways = growth * math.exp(-n * math.log(phi2)) - theta - 2 * n - phi2 * ratios[n + 1]
            ratios[n] = n * (n - 1 + theta) / (phi2 * ways)
        log_law = np.full(size, -np.inf)
        with np.errstate(divide="ignore"):
            log_law[: mode + 1] = 2 * np.log(vector[: mode + 1])
        for n in range(mode, size - 1):
            step = math.log(phi2) + 2 * math.log(ratios[n + 1]) - math.log((n + 1) * (n + theta))
            log_law[n + 1] = log_law[n] + step
        if log_law[-1] < -(bits + 64) * math.log(2):
            return Stationary(growth, np.exp(log_law), log_law, ratios)
        size *= 2


@dataclass(frozen=True, eq=False)
class Tables:
    """What the sampler reads.

    Attributes
    ----------
    ratios : float64, shape (rows, columns)
        h_R(c)/h_R(c-1); the last row serves every larger R.
    marks : uint64, shape (near + 1, inside + 1, 5)
        For the first rows, and then for the last one: where each case ends among the words. Short series need no more.
    common : bool, shape (near + 1, inside + 1)
        Whether one word resolves the cases.
    inside : int
        The largest number of chains that the table serves; beyond it a larger one is built.
    """

    theta: float
    phi2: float
    ratios: NDArray[np.float64]
    marks: NDArray[np.uint64]
    common: NDArray[np.bool_]
    inside: int


_BITS = 100
_NEAR = 64  # instants to go, of which the cases are worked out beforehand


@lru_cache(maxsize=3)
def tables(theta: float, phi2: float, bits: int = _BITS) -> Tables:
    """The backward tables for numbers of chains of probability 2^-bits or more.

    Beyond 2^-100 they are joined to those for half as many bits: with as many chains as these serve, the sampler's
    probabilities are the very same, whether or not it ever needed more. So a release never says that it did.
    """
    from reticent.switching.footrule import _kernels

    far = stationary(theta, phi2, bits)
    mode = int(np.argmax(far.log_law))
    inside = mode + int(np.argmax(far.log_law[mode:] < -bits * math.log(2)))
    top = mode + int(np.argmax(far.log_law[mode:] < -(bits + 64) * math.log(2)))
    top = min(max(top, inside + 1) + 4, far.log_law.size - 2)  # where few chains do, 64 bits are less than a column
    rows = int(56 * typical_chains(phi2)) + 2 * top + 100
    while True:
        ratios = np.zeros((rows, top + 2))
        last = _kernels.fill_ratios(ratios, theta, phi2, far.ratios[top + 1], inside + 1, _TOLERANCE)
        if last >= 0:
            break
        rows *= 2
    ratios = ratios[: last + 1]
    if bits > _BITS:
        base = tables(theta, phi2, bits // 2)
        served = slice(0, base.inside + 2)
        own = base.ratios.shape[0] - 1
        ratios[:own, served] = base.ratios[:own, served]
        ratios[own:, served] = base.ratios[own, served]
    places = min(_NEAR, last) + 1, inside + 1
    marks, common = np.zeros((*places, 5), dtype=np.uint64), np.zeros(places, dtype=np.bool_)
    _kernels.mark_rows(ratios, theta, phi2, np.empty(5), marks, common)
    return Tables(theta, phi2, ratios, marks, common, inside)


def rounding(window: int) -> float:
    """What floating point adds to ε at `window`, in nats: the design's bound.

    Exchanging i<j changes the number of open chains only at i ≤ t < j, by at most one, and the case only at i ≤ t ≤ j.
    (k-1)·|ln r_t(c)/r_t(c-1)|: a row is computed from the next with at most 16 roundings, and the last row repeats
    itself up to the tolerance. k·ln((1+η)/(1-η)): η is the relative error of a case's probability.
    """
    steps = _TOLERANCE + 32 * UNIT
    cases = 2 * _CASE_ERROR * (1 + _CASE_ERROR)
    return (window - 1) * (steps + _TABLE_AGREEMENT) + window * cases


def log_weight(tables: Tables, n: int) -> float:
    """ln of the total weight of all permutations of n instants, h_n(0) = Π Z_R(0)."""
    first = tables.ratios[:, 1]
    factors = np.log(tables.theta + tables.phi2 * first)
    own = min(n, factors.size)
    return float(factors[:own].sum() + (n - own) * factors[-1])
