"""Which pairs (x, y) can occur: the joint range of two uncertain variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ArgumentError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = tuple[Hashable, ...]
_NAN = float("nan")


@dataclass(frozen=True, eq=False)
class Relation:
    """The joint range ⟦X, Y⟧ ⊆ 𝒳 × 𝒴 (paper, Section II-A), held as a list of pairs.

    Only values that can occur belong to it: every input and every output is in at least one pair. Build it
    with `from_array`, `from_pairs`, `from_function` or `from_intervals`.

    Parameters
    ----------
    inputs, outputs : tuple of hashable
        The labels of the values of X and of Y, each once.
    pairs : ndarray of int, shape (m, 2)
        Positions (in `inputs`, in `outputs`) of the pairs that can occur, each once.
    input_measure, output_measure : ndarray of float
        How much each label weighs: ones where values are counted, lengths where X is continuous and a label
        stands for a segment of it.
    """

    inputs: Labels
    outputs: Labels
    pairs: NDArray[np.intp]
    input_measure: NDArray[np.float64]
    output_measure: NDArray[np.float64]

    @classmethod
    def from_array(cls, array: ArrayLike) -> Relation:
        """The relation of a table of booleans, or of zeros and ones: rows are inputs, columns are outputs.

        The labels are the numbers of the rows and columns. A row or column without any pair cannot occur: it
        is outside the range, and is left out.

        Raises
        ------
        ArgumentError
            If `array` is not two-dimensional, has other entries, or has no pair at all.
        """
        table = np.asarray(array)
        if table.ndim != 2:
            raise ArgumentError(
                f"the array of a relation must have two dimensions, not {table.ndim}; rows are inputs and "
                "columns outputs"
            )
        if table.dtype != np.bool_ and not np.isin(table, (0, 1)).all():
            raise ArgumentError(
                "the array of a relation must hold booleans, or zeros and ones; for a list of pairs use "
                "Relation.from_pairs"
            )
        rows, columns = np.nonzero(table)
        return _relation(range(table.shape[0]), range(table.shape[1]), rows, columns)

    @classmethod
    def from_pairs(cls, pairs: NDArray[Any] | Iterable[tuple[Hashable, Hashable]]) -> Relation:
        """The relation of a list of pairs (x, y), or of an array of shape (m, 2); repetitions count once.

        Raises
        ------
        ArgumentError
            If there is no pair, or an entry is not a pair.
        TypeError
            If a value is not hashable.
        """
        if isinstance(pairs, np.ndarray):
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ArgumentError(f"an array of pairs must have the shape (m, 2), not {pairs.shape}")
            return _encoded(pairs[:, 0], pairs[:, 1])
        listed = list(pairs)
        if any(len(pair) != 2 for pair in listed):
            raise ArgumentError("every entry of the list of pairs must be a pair (x, y)")
        return _encoded([x for x, _ in listed], [y for _, y in listed])

    @classmethod
    def from_function(cls, function: Callable[[Any], Hashable], domain: Iterable[Hashable]) -> Relation:
        """The relation {(x, function(x)) : x in domain}: a deterministic mechanism over a finite domain.

        To ask what a mechanism tells about individual i when the adversary knows all the others, let only
        the data of i vary: ``Relation.from_function(lambda x: mechanism((x, *others)), domain)``.

        Raises
        ------
        ArgumentError
            If the domain is empty.
        TypeError
            If an output is not hashable: return a tuple rather than an array.
        """
        points = list(domain)
        return _encoded(points, [function(x) for x in points])

    @classmethod
    def from_intervals(cls, ranges: Mapping[Hashable, ArrayLike], cuts: Iterable[float] = ()) -> Relation:
        """A continuous X by the conditional ranges ⟦X|y⟧, each an interval (a, b) or a list of them.

        X is cut at every end into segments, on which the set of possible outputs is constant; each segment
        (a, b) is an input that weighs its length, so that sizes are Lebesgue measures (paper, Eqs. 2, 4, 7).
        Ends have measure zero: cells that only touch do not overlap. Transpose it (`T`) for a continuous Y.

        Parameters
        ----------
        ranges : mapping
            For each output, an interval ``(low, high)`` or an array of intervals of shape (m, 2).
        cuts : iterable of float
            Further points at which to cut, so that a test of a continuous variable may change there.

        Raises
        ------
        ArgumentError
            If there is no interval, or one is not finite with low < high.
        """
        bounds = [np.atleast_2d(np.asarray(intervals, dtype=float)) for intervals in ranges.values()]
        if not bounds or any(b.ndim != 2 or b.shape[1] != 2 or b.shape[0] == 0 for b in bounds):
            raise ArgumentError("every output needs an interval (low, high), or an array of them of shape (m, 2)")
        ends = np.concatenate(bounds)
        if not (np.isfinite(ends).all() and (ends[:, 0] < ends[:, 1]).all()):
            raise ArgumentError("every interval must be finite with low < high; leave out those of length zero")
        points = np.unique(np.concatenate((ends.ravel(), np.fromiter(cuts, dtype=float))))
        first, last = np.searchsorted(points, ends).T
        covered = last - first
        steps = np.arange(covered.sum()) - np.repeat(np.cumsum(covered) - covered, covered)
        owners = np.repeat(np.arange(len(bounds)), [b.shape[0] for b in bounds])
        segments = list(zip(points[:-1].tolist(), points[1:].tolist(), strict=True))
        return _relation(
            segments,
            list(ranges),
            np.repeat(first, covered) + steps,
            np.repeat(owners, covered),
            input_measure=np.diff(points),
        )

    @property
    def T(self) -> Relation:
        """The same pairs with X and Y exchanged."""
        return Relation(self.outputs, self.inputs, self.pairs[:, ::-1], self.output_measure, self.input_measure)

    @property
    def size(self) -> float:
        """|⟦X⟧|, or its Lebesgue measure."""
        return math.fsum(self.input_measure)

    def conditional_sizes(self) -> NDArray[np.float64]:
        """|⟦X|y⟧| for each output y, or its Lebesgue measure, shape (outputs,)."""
        rows, columns = self.pairs.T
        sizes = np.bincount(columns, weights=self.input_measure[rows], minlength=len(self.outputs))
        return sizes.astype(np.float64, copy=False)

    def incidence(self) -> csr_array:
        """The table of the relation as a sparse matrix of zeros and ones, shape (inputs, outputs)."""
        from scipy.sparse import csr_array

        rows, columns = self.pairs.T
        ones = np.ones(rows.size, dtype=np.int64)
        return csr_array((ones, (rows, columns)), shape=(len(self.inputs), len(self.outputs)))

    def restrict(self, inputs: Iterable[Hashable]) -> Relation:
        """The relation when only these inputs can occur; outputs that they cannot give are left out.

        Raises
        ------
        ArgumentError
            If one of them is not an input of the relation, or none is given.
        """
        wanted = set(inputs)
        unknown = len(wanted.difference(self.inputs))
        if unknown:
            raise ArgumentError(f"{unknown} of the inputs to keep are not inputs of the relation")
        kept = np.array([x in wanted for x in self.inputs])
        rows, columns = self.pairs[kept[self.pairs[:, 0]]].T
        return _relation(self.inputs, self.outputs, rows, columns, self.input_measure, self.output_measure)

    def image(
        self,
        inputs: Callable[[Any], Hashable] | None = None,
        outputs: Callable[[Any], Hashable] | None = None,
    ) -> Relation:
        """The relation between functions of X and of Y: a hypothesis about X, a post-processing of Y.

        The side that is mapped is discrete afterwards: its values are counted.
        """
        rows, columns = self.pairs.T
        xs: Sequence[Hashable] = self.inputs
        ys: Sequence[Hashable] = self.outputs
        x_measure, y_measure = self.input_measure, self.output_measure
        if inputs is not None:
            xs, codes = _encode([inputs(x) for x in xs])
            rows, x_measure = codes[rows], np.ones(len(xs))
        if outputs is not None:
            ys, codes = _encode([outputs(y) for y in ys])
            columns, y_measure = codes[columns], np.ones(len(ys))
        return _relation(xs, ys, rows, columns, x_measure, y_measure)


RelationLike = Relation | ArrayLike


def as_relation(relation: RelationLike) -> Relation:
    """`relation` itself, or the relation of a two-dimensional array of booleans or of zeros and ones."""
    return relation if isinstance(relation, Relation) else Relation.from_array(relation)


def _encode(labels: Sequence[Hashable] | NDArray[Any]) -> tuple[Sequence[Hashable], NDArray[np.intp]]:
    """Labels, each once, and the position of each given one. All NaN are one label: *missing*."""
    if isinstance(labels, np.ndarray):
        if labels.dtype.kind in "iu" and labels.size and np.can_cast(labels.dtype, np.intp):
            low, high = int(labels.min()), int(labels.max())
            if high - low <= 4 * labels.size:  # dense: no sorting; those that do not occur are left out later
                return range(low, high + 1), labels.astype(np.intp) - low
        if labels.dtype.kind in "biufUS":
            values, codes = np.unique(labels, return_inverse=True)
            return tuple(values.tolist()), codes
        labels = labels.tolist()
    index: dict[Hashable, int] = {}
    try:
        positions = [index.setdefault(_canonical(x), len(index)) for x in labels]
    except TypeError as error:
        raise TypeError("the values of a relation must be hashable: use tuples in place of arrays") from error
    return tuple(index), np.array(positions, dtype=np.intp)


def _canonical(label: Hashable) -> Hashable:
    """`label` with every NaN in it replaced by the same one, as NaN differs from itself."""
    if isinstance(label, tuple):
        return tuple(map(_canonical, label))
    return label if label == label else _NAN


def _encoded(xs: Sequence[Hashable] | NDArray[Any], ys: Sequence[Hashable] | NDArray[Any]) -> Relation:
    inputs, rows = _encode(xs)
    outputs, columns = _encode(ys)
    return _relation(inputs, outputs, rows, columns)


def _relation(
    inputs: Sequence[Hashable],
    outputs: Sequence[Hashable],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    input_measure: NDArray[np.float64] | None = None,
    output_measure: NDArray[np.float64] | None = None,
) -> Relation:
    """Each pair once, in order, without the labels that are in no pair."""
    if rows.size == 0:
        raise ArgumentError("a relation needs at least one pair that can occur, and this one has none")
    keys = np.sort(rows * len(outputs) + columns)  # np.unique hashes integers, which is ten times slower
    rows, columns = np.divmod(keys[np.diff(keys, prepend=-1) > 0], len(outputs))
    xs, x_measure, rows = _used(inputs, input_measure, rows)
    ys, y_measure, columns = _used(outputs, output_measure, columns)
    pairs = np.column_stack((rows, columns))
    for array in (pairs, x_measure, y_measure):
        array.setflags(write=False)
    return Relation(xs, ys, pairs, x_measure, y_measure)


def _used(
    labels: Sequence[Hashable], measure: NDArray[np.float64] | None, codes: NDArray[np.intp]
) -> tuple[Labels, NDArray[np.float64], NDArray[np.intp]]:
    """The labels that occur among `codes`, their measure, and the codes renumbered to match."""
    occurs = np.bincount(codes, minlength=len(labels)) > 0
    if occurs.all():
        kept, renumbered = tuple(labels), codes
    else:
        kept, renumbered = tuple(compress(labels, occurs)), (np.cumsum(occurs) - 1)[codes]
    return kept, np.ones(len(kept)) if measure is None else measure[occurs], renumbered
