"""The draw: of one series, or of many at once with the very same result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ArgumentError, RefusedError
from reticent.markov import MarkovChain
from reticent.randomness import EncodedIds, Source
from reticent.redaction.leakage import TOLERANCE

Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Mechanism(Protocol):
    """What a redaction mechanism has to tell, for a release."""

    @property
    def n(self) -> int: ...
    @property
    def chain(self) -> MarkovChain: ...
    @property
    def chains(self) -> tuple[MarkovChain, ...]: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def certain(self) -> Bools: ...
    @property
    def word_count(self) -> int: ...
    def leakage(self) -> float: ...
    def draw(self, codes: Codes, starts: Codes, words: NDArray[np.uint64], first_words: Codes, mask: Bools) -> None: ...


def release_one(mechanism: Mechanism, states: Iterable[Any], source: Source) -> Bools:
    """Which records of one series are withheld, shape (n,)."""
    codes = mechanism.chain.encode(states)
    if codes.size != mechanism.n:
        raise ArgumentError(f"states: {codes.size} records for a policy over {mechanism.n}")
    start = np.zeros(1, dtype=np.int64)
    check(mechanism, codes, start)
    mask = np.empty(codes.size, dtype=np.bool_)
    mechanism.draw(codes, start, source.words(mechanism.word_count), start, mask)
    return mask


def redact_batch(
    mechanisms: Sequence[Mechanism],
    which: NDArray[np.int64],
    codes: Codes,
    offsets: NDArray[np.int64],
    source: Source,
    ids: Sequence[Any] | EncodedIds,
) -> Bools:
    """Release many series in one call.

    Parameters
    ----------
    mechanisms : sequence of policies or sequential redactions
        One for each geometry.
    which : int64, shape (m,)
        The mechanism of each series.
    codes : int64, shape (N,)
        All series one after the other, as codes of states; -1 where missing.
    offsets : int64, shape (m + 1,)
        Series i is ``codes[offsets[i]:offsets[i + 1]]``.
    source : Source
    ids : sequence or EncodedIds, length m
        Identifiers of the series: each has the randomness of ``source.spawn(ids[i])``.

    Returns
    -------
    bool, shape (N,)
        True where withheld (or missing); what ``mechanism.release(…, source.spawn(id))`` gives, series by series.

    Raises
    ------
    ArgumentError
        As for `release`; nothing has been drawn then.
    """
    which, codes, offsets = (np.asarray(array, dtype=np.int64) for array in (which, codes, offsets))
    if offsets.size != which.size + 1 or len(ids) != which.size or offsets[0] != 0 or offsets[-1] != codes.size:
        raise ArgumentError("offsets: shapes of which, codes, offsets and ids do not match")
    if which.size and not 0 <= which.min() <= which.max() < len(mechanisms):
        raise ArgumentError(f"which: must be indices of the {len(mechanisms)} mechanisms")
    tags = source.tags(ids)
    if _any_twice(tags):
        raise ArgumentError("ids: two series have the same identifier, so they would share their randomness")
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.searchsorted(which[order], np.arange(1, len(mechanisms))))
    lengths = np.diff(offsets)
    for mechanism, members in zip(mechanisms, groups, strict=True):
        if (lengths[members] != mechanism.n).any():
            raise ArgumentError(f"offsets: a series does not have the {mechanism.n} records of its policy")
        check(mechanism, codes, offsets[members])
    mask = np.zeros(codes.size, dtype=np.bool_)
    for mechanism, members in zip(mechanisms, groups, strict=True):
        count = mechanism.word_count
        if count:
            words, first = source.batch(tags[members], np.full(members.size, count, dtype=np.int64))
        else:
            words, first = np.empty(0, dtype=np.uint64), np.zeros(members.size + 1, dtype=np.int64)
        mechanism.draw(codes, offsets[members], words, first[:-1], mask)
    return mask


def _any_twice(tags: NDArray[np.uint8]) -> bool:
    """Whether two series have one tag, as equal identifiers have."""
    heads = np.sort(np.ascontiguousarray(tags[:, :8]).view(np.uint64).reshape(-1))
    return bool((heads[1:] == heads[:-1]).any()) and len({tag.tobytes() for tag in tags}) < len(tags)


def check(mechanism: Mechanism, codes: Codes, starts: NDArray[np.int64]) -> None:
    """Refuse series that the mechanism was not analysed for, before anything is drawn.

    Raises
    ------
    ArgumentError
        Counts only: never a value, nor its place.
    RefusedError
        The exact leakage is above what was asked for.
    """
    from reticent.redaction import kernels

    check_promise(mechanism)
    found = np.zeros((len(mechanism.chains), starts.size, 3), dtype=np.int64)
    for chain, counts in zip(mechanism.chains, found, strict=True):
        kernels.faults(codes, starts, mechanism.certain, chain.transitions, chain.laws, chain.phase, counts)
    missing, strangers = found[0, :, 0].sum(), found[0, :, 1].sum()
    if strangers:
        raise ArgumentError(f"states: {strangers} values are not among the {mechanism.chain.size} declared states")
    if missing:
        raise ArgumentError(
            f"states: {missing} records are missing that were not declared missing, and the policy was not analysed "
            "for that; design it with missing="
        )
    impossible = found[:, :, 2].min(axis=0).astype(bool).sum()
    if impossible:
        raise ArgumentError(
            f"states: {impossible} series hold records that have probability zero under the chain, so its guarantee "
            "would not hold; use a chain that allows them (for example a smoothed one)"
        )


def check_promise(mechanism: Mechanism) -> None:
    """Refuse a mechanism whose exact leakage is above what was asked for."""
    if mechanism.epsilon is not None and mechanism.leakage() > mechanism.epsilon + TOLERANCE:
        raise RefusedError(
            f"epsilon: this mechanism leaks {mechanism.leakage():.6g} nats where {mechanism.epsilon:.6g} were asked, "
            "so it releases nothing; use a sound one, or ask for what it keeps"
        )


def masked(values: Iterable[Any], mask: Bools) -> np.ma.MaskedArray[Any, Any]:
    """`values` with the withheld ones masked, and overwritten by a neutral fill of their kind."""
    data = np.array(np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else _as_array(values))
    data[mask] = _neutral(data.dtype)
    return np.ma.MaskedArray(data, mask=mask)


def _as_array(values: Iterable[Any]) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 1 and array.dtype.kind != "U":
        return array
    return array if isinstance(values, np.ndarray) else _objects(values)


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    """A list of text may hold None, which NumPy would spell out: keep such lists as objects."""
    kept = list(values)
    if all(isinstance(value, str) for value in kept):
        return np.array(kept)
    array = np.empty(len(kept), dtype=object)
    array[:] = kept
    return array


def _neutral(dtype: np.dtype[Any]) -> Any:
    match dtype.kind:
        case "O":
            return None
        case "f":
            return np.nan
        case "M" | "m":
            return np.array("NaT", dtype=dtype)
    return np.zeros(1, dtype=dtype)[0]
