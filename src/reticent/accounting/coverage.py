"""Which data an event speaks of: series and stretches of time, as keyed codes, grouped by geometry.

A panel of many series over the same times is one geometry and one code a series; the ledger keeps such a coverage once,
however often it is charged.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.accounting.fingerprints import derived_key, fingerprint_key, series_codes, time_codes
from reticent.errors import ArgumentError, InputError, LedgerError
from reticent.randomness import EncodedIds

ALWAYS = (-(2**63), 2**63 - 1)
_HEADER = struct.Struct("<4sQQ")
_MAGIC = b"rtc2"
_MANY = 1 << 18  # codes: fewer are sorted in no time without a kernel


class Geometry(NamedTuple):
    """The records of one series.

    Attributes
    ----------
    first, last : int
        Time of the first and of the last record, in ticks; `ALWAYS` if it was not stated.
    records : int
        How many; -1 if it was not stated.
    times : int
        Keyed code of their times; -1 if it was not stated.
    design : int
        For a redaction: which of its mechanisms; -1 where the series was released whole.
    """

    first: int = ALWAYS[0]
    last: int = ALWAYS[1]
    records: int = -1
    times: int = -1
    design: int = 0

    @property
    def stretch(self) -> tuple[int, int]:
        """First and last."""
        return self.first, self.last


@dataclass(frozen=True, eq=False)
class Coverage:
    """Series with their geometries.

    Attributes
    ----------
    series : uint64, shape (m,)
        Sorted codes; none for *all series* of a data set.
    which : uint32, shape (m,)
        Row of `table` of each series.
    table : int64, shape (geometries, 5)
        The fields of each `Geometry`.
    """

    series: NDArray[np.uint64]
    which: NDArray[np.uint32]
    table: NDArray[np.int64]

    @classmethod
    def everything(cls, geometry: Geometry | None = None) -> Coverage:
        """All series of a data set, those that are yet to come included."""
        none = np.empty(0, dtype=np.uint64)
        return cls(none, none.astype(np.uint32), np.array([geometry or Geometry()], dtype=np.int64))

    @classmethod
    def of(cls, series_ids: Iterable[Any], geometry: Geometry | None = None) -> Coverage:
        """The named series, all with one geometry."""
        ids = list(series_ids)
        if not ids:
            raise ArgumentError("series: name at least one, or leave it out for all series of the data set")
        codes = np.sort(series_codes(_key(), ids))
        if (codes[1:] == codes[:-1]).any():
            raise InputError(_ALIKE)
        return cls(codes, np.zeros(codes.size, dtype=np.uint32), np.array([geometry or Geometry()], dtype=np.int64))

    @cached_property
    def geometries(self) -> tuple[Geometry, ...]:
        """The rows of the table."""
        return tuple(map(Geometry, *self.table.T.tolist()))

    @property
    def all_series(self) -> bool:
        """Whether it speaks of a data set as a whole."""
        return not self.series.size

    def same_records(self, other: Coverage) -> bool:
        """Whether the same series have the same times in both, whatever the designs."""
        mine, theirs = ((each.table if each.all_series else each.table[each.which])[:, :4] for each in (self, other))
        return np.array_equal(self.series, other.series) and np.array_equal(mine, theirs)

    def widened(self, piece: Callable[[int], tuple[int, int]]) -> Coverage:
        """The same records, each stretch from the begin of its first tick's piece to the end of its last tick's."""
        table = self.table.copy()
        for column in (0, 1):
            ticks, which = np.unique(table[:, column], return_inverse=True)
            table[:, column] = np.array([piece(tick)[column] for tick in ticks.tolist()])[which]
        return Coverage(self.series, self.which, table)

    def meets(self, other: Coverage) -> bool:
        """Whether some series has a stretch in one that meets its stretch in the other."""
        if self.all_series or other.all_series:  # which has but one
            mine, theirs = self.table, other.table
        else:
            _, here, there = np.intersect1d(self.series, other.series, assume_unique=True, return_indices=True)
            mine, theirs = self.table[self.which[here]], other.table[other.which[there]]
        return bool(((mine[:, 0] <= theirs[:, 1]) & (theirs[:, 0] <= mine[:, 1])).any())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        codes, rest = self._raw()
        found = hashlib.sha256(codes)
        found.update(rest)
        return found.hexdigest()

    def _raw(self) -> tuple[bytes, bytes]:
        """Codes, in which there is no pattern, and all else."""
        head = _HEADER.pack(_MAGIC, self.series.size, len(self.table))
        rest = self.which.astype("<u4").tobytes() + self.table.astype("<i8").tobytes()
        return head + self.series.astype("<u8").tobytes(), rest

    def to_bytes(self) -> bytes:
        """Compact: one zlib stream, of which only what has patterns is compressed."""
        stored, packed = (zlib.compressobj(level, wbits=-15) for level in (0, 1))
        codes, rest = self._raw()
        blocks = stored.compress(codes), stored.flush(zlib.Z_FULL_FLUSH), packed.compress(rest), packed.flush()
        return b"".join([b"\x78\x01", *blocks, zlib.adler32(rest, zlib.adler32(codes)).to_bytes(4, "big")])

    @classmethod
    def from_bytes(cls, data: bytes, digest: str) -> Coverage:
        """The coverage that `to_bytes` wrote.

        Raises
        ------
        LedgerError
            If it is not the one of that digest.
        """
        try:
            raw = zlib.decompress(data)
        except zlib.error:
            raw = b""
        if hashlib.sha256(raw).hexdigest() != digest:
            raise LedgerError("ledger: the series of an entry were altered; put the right file back")
        magic, size, count = _HEADER.unpack_from(raw)
        if magic != _MAGIC:
            raise LedgerError(
                "ledger: an entry was written by another version, which named series otherwise; use that one"
            )
        at = _HEADER.size
        series = np.frombuffer(raw, dtype="<u8", count=size, offset=at).astype(np.uint64)
        which = np.frombuffer(raw, dtype="<u4", count=size, offset=at + 8 * size).astype(np.uint32)
        table = np.frombuffer(raw, dtype="<i8", offset=at + 12 * size).reshape(count, 5).astype(np.int64)
        return cls(series, which, table)


class CoverageBuilder:
    """Gathers the series of a release chunk by chunk."""

    def __init__(self) -> None:
        self._key = _key()
        self._codes: list[NDArray[np.uint64]] = []
        self._rows: list[NDArray[np.int64]] = []

    def add(self, series_ids: Sequence[Any] | EncodedIds, ticks: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
        """Whole series: i has the times ``ticks[offsets[i]:offsets[i + 1]]``, sorted."""
        self._codes.append(series_codes(self._key, series_ids))
        ends = ticks[offsets[:-1]], ticks[offsets[1:] - 1]
        self._rows.append(np.stack([*ends, np.diff(offsets), time_codes(self._key, ticks, offsets)]).T)

    def parts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """What was gathered so far, shapes (m,) and (m, 4), for `join` elsewhere."""
        return np.concatenate(self._codes), np.concatenate(self._rows)

    def join(self, codes: NDArray[np.uint64], rows: NDArray[np.int64]) -> None:
        """Take in what another builder under the same key has gathered."""
        self._codes.append(codes)
        self._rows.append(rows)

    def finish(self, designs: NDArray[np.int64] | None = None, *, joined: bool = False) -> Coverage:
        """The coverage.

        Parameters
        ----------
        designs : int64, shape (series,), optional
            For each series in the order of arrival, which mechanism released it.
        joined : bool
            A series may have come in several pieces, which are joined: from the first to the last.

        Raises
        ------
        InputError
            Two series that the ledger cannot tell apart.
        """
        rows = np.concatenate(self._rows)
        columns = [*rows.T, np.zeros(len(rows), dtype=np.int64) if designs is None else designs]
        codes, order = _sorted(np.concatenate(self._codes))
        starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
        if starts.size < codes.size:
            if not joined:
                raise InputError(_ALIKE)
            how = (np.minimum, np.maximum, np.add, np.add, np.maximum)  # codes of times are sums over records
            columns = [each.reduceat(column[order], starts) for each, column in zip(how, columns, strict=True)]
            codes, order = codes[starts], np.arange(starts.size)
        which, firsts = grouped(columns)
        return Coverage(codes, which[order].astype(np.uint32), np.stack([each[firsts] for each in columns], axis=1))


_ALIKE = "id: two series have identifiers that the ledger cannot tell apart; rename one of them"


def _sorted(codes: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The codes in order, and where each was."""
    if codes.size >= _MANY:
        from reticent.accounting import _kernels

        found, order = np.empty_like(codes), np.empty(codes.size, dtype=np.int64)
        if _kernels.sort_codes(codes, found, order):
            return found, order
    order = np.argsort(codes)
    return codes[order], order


def grouped(columns: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of the distinct rows, which come sorted, each row is; and where the first of each is."""
    which, firsts = np.zeros(columns[0].size, dtype=np.intp), np.zeros(1, dtype=np.intp)
    varying = [each for each in columns if (each != each[0]).any()]
    if varying:
        order = np.lexsort(varying[::-1])
        new = np.concatenate([[True], np.any([np.diff(each[order]) != 0 for each in varying], axis=0)])
        which[order] = np.cumsum(new) - 1
        firsts = order[new]
    return which, firsts


def _key() -> bytes:
    return derived_key(fingerprint_key(), "coverage")
