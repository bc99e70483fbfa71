"""Non-stochastic information: how far the possible outputs narrow down the possible inputs.

Equation numbers are those of the paper on noiseless privacy (``noiseless-privacy.txt``). Each measure takes a
`Relation`, or a two-dimensional array of booleans or of zeros and ones whose rows are inputs, and answers in
bits, or with ``unit="nats"`` in the paper's unit for continuous variables. Where X is continuous
(`Relation.from_intervals`) the same functions give h, h(X|Y), I and L of Eqs. 2, 4 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError
from reticent.information.relation import Relation, RelationLike, as_relation

Unit = Literal["bits", "nats"]


def hartley_entropy(relation: RelationLike, unit: Unit = "bits") -> float:
    """H(X) = log |⟦X⟧| (Eq. 1); h(X) = log μ(⟦X⟧) for a continuous X (Eq. 2), which may be negative."""
    return logarithm(as_relation(relation).size, unit)


def conditional_entropy(relation: RelationLike, unit: Unit = "bits") -> float:
    """H(X|Y) = max_y log |⟦X|y⟧| (Eq. 3); h(X|Y) by measure for a continuous X (Eq. 4)."""
    return logarithm(as_relation(relation).conditional_sizes().max(), unit)


def information(relation: RelationLike, unit: Unit = "bits") -> float:
    """I(X;Y) = H(X) − H(X|Y) = min_y log |⟦X⟧| / |⟦X|y⟧| (Eq. 5): what every output tells at least."""
    joint = as_relation(relation)
    return logarithm(_ratio(joint, joint.conditional_sizes().max()), unit)


def leakage(relation: RelationLike, unit: Unit = "bits") -> float:
    """L(X;Y) = max_y log |⟦X⟧| / |⟦X|y⟧| (Eqs. 6 and 7): what the most telling output tells.

    It is not symmetric, and at least I(X;Y). L(Y;X), which an ε-noiselessly private mechanism keeps below ε
    (Theorem 1), is ``leakage(relation.T)``; L(X;Y) itself is not bounded by ε.
    """
    joint = as_relation(relation)
    return logarithm(_ratio(joint, joint.conditional_sizes().min()), unit)


def symmetrized_leakage(relation: RelationLike, unit: Unit = "bits") -> float:
    """L_s0(X;Y) = min(L(X;Y), L(Y;X)) (Eq. 8)."""
    joint = as_relation(relation)
    return min(leakage(joint, unit), leakage(joint.T, unit))


def overlap_partition(relation: RelationLike) -> tuple[tuple[Hashable, ...], ...]:
    """The overlap partition ⟦X|Y⟧⋆ (Section II-B-a): the inputs, by connected component of the relation.

    Two inputs are in the same part if a chain of overlapping conditional ranges leads from one to the other.
    Whoever sees the output knows the part, and nothing common to both sides tells more.
    """
    joint = as_relation(relation)
    count, part = _components(joint)
    order = np.argsort(part, kind="stable").tolist()
    ends = np.cumsum(np.bincount(part, minlength=count)).tolist()
    members = [joint.inputs[i] for i in order]
    return tuple(tuple(members[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True))


def maximin_information(relation: RelationLike, unit: Unit = "bits") -> float:
    """I⋆(X;Y) = log |⟦X|Y⟧⋆| (Eq. 9), the log of the number of parts; symmetric, and at most L_s0 (Prop. 1)."""
    count, _ = _components(as_relation(relation))
    return logarithm(count, unit)


def test_performance(relation: RelationLike, test: Callable[[Any], Hashable], unit: Unit = "bits") -> float:  # noqa: PT028
    """P(T): the log of the number (Eq. 12) or measure (Eq. 11) of the outputs at which a test is correct.

    Parameters
    ----------
    relation : Relation
        Between the two hypotheses (the inputs) and what is observed. From a relation with X, use
        ``relation.image(inputs=g)`` with the hypothesis g that each x belongs to.
    test : callable
        Maps an output to one of the two hypotheses. It is correct at y if y occurs under T(y) only.

    Returns
    -------
    float
        −∞ if the test is correct nowhere.

    Raises
    ------
    ArgumentError
        If the relation has not two inputs, or the test answers something else than one of these.
    """
    joint = _hypotheses(relation)
    answers = [test(y) for y in joint.outputs]
    if any(answer not in joint.inputs for answer in answers):
        raise ArgumentError("the test must answer one of the two hypotheses that the relation has as inputs")
    chosen = np.array([joint.inputs.index(answer) for answer in answers])
    only = _decisive(joint)
    return logarithm(math.fsum(joint.output_measure[only == chosen]), unit)


def test_performance_bound(relation: RelationLike, unit: Unit = "bits") -> float:  # noqa: PT028
    """log |⟦Y|p0⟧ Δ ⟦Y|p1⟧|, the most that P(T) can be for any test T (Proposition 3).

    Tight: a test that answers p at every output that occurs under p alone attains it.

    Raises
    ------
    ArgumentError
        If the relation has not two inputs, the hypotheses.
    """
    joint = _hypotheses(relation)
    return logarithm(math.fsum(joint.output_measure[_decisive(joint) >= 0]), unit)


def logarithm(value: float, unit: Unit) -> float:
    """log₂ or ln of a size, −∞ of nothing."""
    if unit not in ("bits", "nats"):
        raise ArgumentError("unit must be 'bits' or 'nats'")
    if value == 0:
        return -math.inf
    return math.log2(value) if unit == "bits" else math.log(value)


def _ratio(joint: Relation, part: float) -> float:
    """How many times `part` goes into ⟦X⟧: at least once, whatever the rounding of sums of lengths."""
    return max(1.0, joint.size / part)


def _components(joint: Relation) -> tuple[int, NDArray[np.intp]]:
    """The number of connected components of the relation and the component of each input."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = joint.pairs.T
    vertices = len(joint.inputs) + len(joint.outputs)
    edges = (rows, columns + len(joint.inputs))
    graph = coo_array((np.ones(rows.size, dtype=np.int8), edges), shape=(vertices, vertices))
    count, component = connected_components(graph.tocsr(), directed=False)
    return int(count), component[: len(joint.inputs)]


def _hypotheses(relation: RelationLike) -> Relation:
    joint = as_relation(relation)
    if len(joint.inputs) != 2:
        raise ArgumentError(
            f"a test decides between two hypotheses, and the relation has {len(joint.inputs)} inputs; map "
            "them with relation.image(inputs=...), or keep two with relation.restrict(...)"
        )
    return joint


def _decisive(joint: Relation) -> NDArray[np.intp]:
    """For each output the only hypothesis under which it occurs, or −1 where it occurs under both."""
    rows, columns = joint.pairs.T
    only = np.full(len(joint.outputs), -1)
    only[columns] = rows
    only[np.bincount(columns, minlength=len(joint.outputs)) == 2] = -1
    return only
