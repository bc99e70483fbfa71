"""Coverages as plain Python makes them, and their bytes as earlier versions wrote and read them."""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reticent.accounting import _kernels
from reticent.accounting.coverage import Coverage, CoverageBuilder, Geometry
from reticent.errors import InputError

small = st.integers(-2, 2)
piece = st.tuples(
    st.integers(0, 12), st.tuples(small, small, small, st.sampled_from([-(2**63), -1, 0, 2**63 - 1])), small
)
with_home = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path))


def built(pieces: list[tuple[int, tuple[int, int, int, int], int]], cut: int) -> CoverageBuilder:
    builder = CoverageBuilder()
    for some in (pieces[:cut], pieces[cut:]):
        if some:
            codes = np.array([code << 60 for code, _, _ in some], dtype=np.uint64)
            builder.join(codes, np.array([row for _, row, _ in some], dtype=np.int64))
    return builder


def listed(coverage: Coverage) -> dict[int, Geometry]:
    which = coverage.which.tolist()
    return dict(zip(coverage.series.tolist(), (coverage.geometries[i] for i in which), strict=True))


def canonical(coverage: Coverage) -> bool:
    """Series in order, each geometry once and in order: equal data have equal bytes."""
    series, geometries = coverage.series.tolist(), list(coverage.geometries)
    used = set(coverage.which.tolist())
    return (
        series == sorted(set(series)) and geometries == sorted(set(geometries)) and used == set(range(len(geometries)))
    )


@with_home
@given(st.lists(piece, min_size=1, max_size=9, unique_by=lambda each: each[0]), st.integers(0, 9), st.booleans())
def test_a_coverage_holds_each_series_with_its_geometry(pieces, cut, designed) -> None:
    designs = np.array([design for _, _, design in pieces]) if designed else None
    coverage = built(pieces, cut).finish(designs)
    assert listed(coverage) == {code << 60: Geometry(*row, design if designed else 0) for code, row, design in pieces}
    assert canonical(coverage)


@with_home
@given(st.lists(piece, min_size=1, max_size=12), st.integers(0, 12))
def test_pieces_of_a_series_are_joined(pieces, cut) -> None:
    wanted: dict[int, Geometry] = {}
    for code, (first, last, records, times), _ in pieces:
        known = wanted.get(code << 60, Geometry(first, last, 0, 0))
        total = (known.times + times + 2**63) % 2**64 - 2**63
        wanted[code << 60] = Geometry(min(known.first, first), max(known.last, last), known.records + records, total)
    coverage = built(pieces, cut).finish(joined=True)
    assert listed(coverage) == wanted
    assert canonical(coverage)
    if len(wanted) < len(pieces):
        with pytest.raises(InputError, match="cannot tell apart"):
            built(pieces, cut).finish()


@with_home
@given(st.lists(piece, min_size=1, max_size=9, unique_by=lambda each: each[0]))
def test_bytes_are_one_zlib_stream_as_ever(pieces) -> None:
    coverage = built(pieces, 0).finish()
    size, count = coverage.series.size, len(coverage.geometries)
    raw = struct.pack("<4sQQ", b"rtc2", size, count)
    raw += struct.pack(f"<{size}Q{size}I", *coverage.series.tolist(), *coverage.which.tolist())
    raw += b"".join(struct.pack("<5q", *each) for each in coverage.geometries)
    assert zlib.decompress(coverage.to_bytes()) == raw
    assert coverage.digest == hashlib.sha256(raw).hexdigest()
    for data in (coverage.to_bytes(), zlib.compress(raw, 1)):
        assert listed(Coverage.from_bytes(data, coverage.digest)) == listed(coverage)


def test_a_panel_takes_eight_bytes_a_series() -> None:
    builder = CoverageBuilder()
    builder.add(range(100_000), np.tile([5, 6], 100_000), np.arange(0, 200_001, 2))
    assert len(builder.finish().to_bytes()) < 8.05 * 100_000


@given(st.integers(0, 2**32 - 1), st.integers(0, 3000), st.sampled_from([64, 63, 20, 0]))
def test_codes_are_sorted_in_buckets_where_they_are_spread_evenly(seed: int, size: int, bits: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 2**bits - 1, size, dtype=np.uint64, endpoint=True)
    codes[: size // 3] = codes[size // 3 : size // 3 * 2]
    found, order = np.empty_like(codes), np.empty(size, dtype=np.int64)
    if _kernels.sort_codes(codes, found, order):
        assert np.array_equal(found, np.sort(codes))
        assert np.array_equal(codes[order], found)
        assert np.array_equal(np.sort(order), np.arange(size))
    else:
        assert size > 256
        assert bits < 64


def test_many_series_are_sorted_as_a_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    builder, size = CoverageBuilder(), 1 << 18
    builder.add(np.arange(size), np.arange(2 * size) % 6, np.arange(0, 2 * size + 1, 2))
    coverage = builder.finish()
    monkeypatch.setattr("reticent.accounting.coverage._MANY", 2 * size)
    assert coverage.digest == builder.finish().digest
