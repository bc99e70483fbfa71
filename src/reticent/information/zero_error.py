"""Zero-error capacity of a memoryless uncertain channel (paper, Eq. 10): bounds from both sides."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.information.nonstochastic import leakage
from reticent.information.relation import Relation, RelationLike, as_relation

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_OVERLAPS = 10_000_000
"""Most pairs of inputs with a common output that are compared in search of redundant inputs."""
MAX_PAIRS = 10_000_000
"""Most pairs (word, output word) among which a code is sought."""
MAX_SUBSET_INPUTS = 20
"""Most inputs of which all subsets are enumerated."""
GRID = 232_792_560
"""Least common multiple of 1 to 22: solutions with such denominators are whole numbers on this grid."""


@dataclass(frozen=True)
class ZeroErrorCode:
    """Words of equal length of which no two can give the same output word.

    Parameters
    ----------
    words : tuple of tuples
        The codewords, each `letters` inputs.
    letters : int
        Their length.
    optimal : bool
        Whether it is proved that no code of this length has more words.
    """

    words: tuple[tuple[Hashable, ...], ...]
    letters: int
    optimal: bool

    @property
    def rate(self) -> float:
        """Bits per letter, log₂(words) / letters: a lower bound on the zero-error capacity."""
        return math.log2(len(self.words)) / self.letters


@dataclass(frozen=True)
class ZeroErrorCapacity:
    """Bounds on the zero-error capacity, in bits per letter.

    Parameters
    ----------
    lower : float
        The rate of `code`.
    upper : float
        The least upper bound that was found.
    code : ZeroErrorCode
        A code that attains `lower`.
    bound : str
        Where `upper` is from: ``"leakage"``, it is L(Y;X); ``"fractional packing"``, it is Shannon's.
    """

    lower: float
    upper: float
    code: ZeroErrorCode
    bound: str


def zero_error_capacity(relation: RelationLike, letters: int = 1, seconds: float | None = None) -> ZeroErrorCapacity:
    """Bounds on the zero-error capacity of the memoryless channel that sends x to any y with (x, y) possible.

    *Lower*: a largest code of 1, 2, …, `letters` letters, by an exact maximum independent set of the
    confusability graph; the best rate is kept.

    *Upper*: log₂ of the fractional packing number a = max{Σ p_x : Σ_{x∈⟦X|y⟧} p_x ≤ 1 for all y, p ≥ 0}
    (Shannon 1956), a linear programme. It is at most the paper's bound (Proposition 2), the supremum of L_s0
    over input subsets, which in turn is at most L(Y;X). Derived here: let p be optimal, q an optimal
    solution of the dual min{Σ q_y : Σ_{y∈⟦Y|x⟧} q_y ≥ 1}, and S the support of p. By complementary slackness
    the dual constraints of S are equalities, and q vanishes outside ⟦Y|S⟧, so
    |S| = Σ_{x∈S} Σ_{y∈⟦Y|x⟧} q_y = Σ_y q_y |S|y| ≥ a·min_y |S|y|, that is log a ≤ L(S;Y). And
    q_y = 1/min_{x∈S}|⟦Y|x⟧| on ⟦Y|S⟧ is feasible for the dual of S, whose optimum is a too: log a ≤ L(Y;S).
    Hence log a ≤ L_s0(S;Y). It bounds the capacity since it is multiplicative: products of solutions are
    solutions, for the packing and for its dual, so that no code of k letters has more than a^k words.
    The number returned comes from a dual solution scaled to be feasible, so the solver need not be trusted.
    (L_s0 on the full range is *no* bound: [[0,1],[1,1],[1,0]] has L_s0 = 0.585 and capacity 1.)

    Only what can occur matters, not how much it weighs: the segments of a continuous X are letters.

    Parameters
    ----------
    relation : Relation, or array of booleans or of zeros and ones
        Inputs, and the outputs that each can give.
    letters : int
        The longest block length to try. The work grows exponentially with it.
    seconds : float, optional
        Time allowed for each block length; the code found by then is still a code (`ZeroErrorCode.optimal`
        is then False). Without it the search runs to the end.

    Raises
    ------
    ArgumentError
        If `letters` or `seconds` is out of range, or the problem is too large.
    """
    joint = as_relation(relation)
    channel, kept = _essential(joint)
    longest = _checked(letters, seconds, channel)
    ceiling, bound = _upper_bound(joint, channel)
    code = None
    for length in range(1, longest + 1):
        found = _largest_code(joint, channel, kept, length, seconds)
        if code is None or found.rate > code.rate:
            code = found
        if code.rate > ceiling - 1e-9:
            break
    assert code is not None
    return ZeroErrorCapacity(code.rate, max(ceiling, code.rate), code, bound)


def zero_error_code(relation: RelationLike, letters: int = 1, seconds: float | None = None) -> ZeroErrorCode:
    """A largest zero-error code of exactly `letters` letters; arguments as in `zero_error_capacity`.

    One code variable for each word, and for each output word at most one codeword that can give it: two words
    are confusable just if they share an output word, so this is the maximum independent set of the
    confusability graph, and its linear relaxation is the fractional packing.
    """
    joint = as_relation(relation)
    channel, kept = _essential(joint)
    return _largest_code(joint, channel, kept, _checked(letters, seconds, channel), seconds)


def subset_leakage(relation: RelationLike) -> float:
    """The paper's upper bound on the zero-error capacity (Proposition 2), sup L_s0(X;Y) over input subsets.

    In bits. All subsets are enumerated; `zero_error_capacity` has a bound that is never larger, and quick.

    Raises
    ------
    ArgumentError
        If there are more than `MAX_SUBSET_INPUTS` inputs.
    """
    joint = as_relation(relation)
    n = len(joint.inputs)
    if n > MAX_SUBSET_INPUTS:
        raise ArgumentError(
            f"all subsets of {n} inputs are too many to enumerate, the limit is {MAX_SUBSET_INPUTS}; use "
            "zero_error_capacity, whose upper bound is never larger"
        )
    table = joint.incidence().toarray().astype(float)
    spread = table.sum(axis=1)
    best = 1.0
    for start in range(1, 1 << n, 1 << 14):
        codes = np.arange(start, min(start + (1 << 14), 1 << n))
        subsets = (codes[:, None] >> np.arange(n) & 1).astype(float)
        reach = subsets @ table
        fewest_inputs = np.where(reach > 0, reach, np.inf).min(axis=1)
        fewest_outputs = np.where(subsets > 0, spread, np.inf).min(axis=1)
        forward = subsets.sum(axis=1) / fewest_inputs
        backward = (reach > 0).sum(axis=1) / fewest_outputs
        best = max(best, np.minimum(forward, backward).max())
    return math.log2(best)


def _checked(letters: int, seconds: float | None, channel: csr_array) -> int:
    """`letters`, if the search is meaningful and not too large."""
    if isinstance(letters, bool) or not isinstance(letters, (int, np.integer)) or letters < 1:
        raise ArgumentError("letters must be a whole number of at least one")
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise ArgumentError("seconds must be a positive number, or None for no limit")
    if letters * math.log(channel.nnz) > math.log(MAX_PAIRS):
        raise ArgumentError(
            f"{channel.nnz} essential pairs and {letters} letters make more than {MAX_PAIRS} pairs of words to "
            "choose a code from; ask for fewer letters, or bound the capacity by leakage(relation.T)"
        )
    return int(letters)


def _essential(joint: Relation) -> tuple[csr_array, NDArray[np.intp]]:
    """The channel without redundant inputs, and the positions of those that are kept.

    An input whose outputs include all those of another is redundant: put the other in its place in any code
    of any length, and the code stays one. Nor does the packing gain by it. Of equal inputs the first is kept.
    """
    channel = joint.incidence()
    channel.sort_indices()
    ends = channel.indptr.tolist()
    firsts: dict[bytes, int] = {}
    for i, (start, end) in enumerate(pairwise(ends)):
        firsts.setdefault(channel.indices[start:end].tobytes(), i)
    distinct = np.fromiter(firsts.values(), dtype=np.intp)
    channel = channel[distinct]
    overlaps = int((np.bincount(channel.indices, minlength=channel.shape[1]) ** 2).sum())
    if overlaps > MAX_OVERLAPS:  # what is left redundant costs time, not exactness
        return channel, distinct
    common = (channel @ channel.T).tocoo()
    sizes = np.diff(channel.indptr)
    x, other = common.coords
    redundant = x[(common.data == sizes[other]) & (x != other)]
    kept = np.setdiff1d(np.arange(distinct.size), redundant)
    return channel[kept], distinct[kept]


def _upper_bound(joint: Relation, channel: csr_array) -> tuple[float, str]:
    """The fractional packing bound or L(Y;X) in bits, whichever is smaller, and its name."""
    from scipy.optimize import linprog

    counted = Relation.from_pairs(joint.pairs)
    simple = leakage(counted.T)
    solution = linprog(
        np.ones(channel.shape[1]), A_ub=-channel.astype(float), b_ub=-np.ones(channel.shape[0]), method="highs"
    )
    if solution.x is None:
        return simple, "leakage"
    cover = np.maximum(solution.x, 0.0)
    grid = np.rint(cover * GRID).astype(np.int64)  # the same solution without the solver's rounding, usually
    packing = min(
        math.fsum(cover) / (channel @ cover).min() * (1 + 1e-12), int(grid.sum()) / int((channel @ grid).min())
    )
    sharp = math.log2(packing)
    return (sharp, "fractional packing") if sharp < simple - 1e-9 else (simple, "leakage")


def _largest_code(
    joint: Relation, channel: csr_array, kept: NDArray[np.intp], letters: int, seconds: float | None
) -> ZeroErrorCode:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import kron

    blocks = channel
    for _ in range(letters - 1):
        blocks = kron(blocks, channel, format="csr")
    words = blocks.shape[0]
    solution = milp(
        -np.ones(words),
        integrality=np.ones(words),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(blocks.T.astype(float), -np.inf, 1.0),
        options={"mip_rel_gap": 0.0} | ({} if seconds is None else {"time_limit": seconds}),
    )
    found = None if solution.x is None else np.flatnonzero(solution.x > 0.5)
    chosen = np.array([0]) if found is None or found.size == 0 else found  # out of time: a word alone is a code
    if (blocks[chosen].sum(axis=0) > 1).any():
        raise ArithmeticError("the solver returned words that can be confused; no capacity is claimed")
    letters_of = kept[np.stack(np.unravel_index(chosen, (channel.shape[0],) * letters), axis=1)]
    code = tuple(tuple(joint.inputs[i] for i in word) for word in letters_of.tolist())
    return ZeroErrorCode(code, letters, optimal=solution.status == 0)
