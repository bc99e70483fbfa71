"""A model fitted to many series at once, and whom it knows, beside one series after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reticent import MarkovChain
from reticent.accounting.fingerprints import fingerprint_key, key_name, series_fingerprint
from reticent.tables import fit
from reticent.tables import models as rooms
from reticent.tables.chunks import Chunk
from reticent.tables.grid import Grid
from reticent.tables.models import Model, count_on_grid, near_secrets, series_on_grid
from reticent.tables.panels import PRIVATE
from reticent.tables.private import Finder
from reticent.tables.reading import Columns

GRID = Grid(10, True)
with_home = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
one_series = st.tuples(
    st.integers(-50, 50),
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0, 1, 2, None])), min_size=1, max_size=8),
)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path))


def chunk_of(panel: list[tuple[int, list[tuple[int, int | None]]]]) -> Chunk:
    """Series that begin somewhere, and whose records are some steps apart."""
    ids, times, values, offsets = [], [], [], [0]
    for name, (first, records) in enumerate(panel):
        steps = np.cumsum([0, *(step for step, _ in records[1:])])
        ids += [name] * len(records)
        times += (first + 10 * steps).tolist()
        values += [value for _, value in records]
        offsets.append(len(ids))
    table = pa.table({"id": ids, "time": times, "value": pa.array(values, pa.int64())})
    return Chunk(table, np.array(offsets), Columns("time", ("value",), ("id",)))


@with_home
@given(st.lists(one_series, min_size=1, max_size=6), st.integers(1, 5), st.integers(1, 40))
def test_transitions_of_all_series_are_those_of_each(panel, period, at_once) -> None:
    chunk = chunk_of(panel)
    parts = series_on_grid(chunk, GRID, "value", (0, 1, 2))
    wanted = sum(count_on_grid(series, codes, 3, period, GRID) for series, codes in parts)
    codes = rooms.state_codes(chunk, "value", (0, 1, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.tables.panels._STEPS_AT_ONCE", at_once)
        counts = sum(rooms._count(each, full, 3, period, GRID) for each, full, _ in rooms._panels(chunk, GRID, codes))
    assert np.array_equal(counts, wanted)


@with_home
@given(
    st.lists(one_series, min_size=1, max_size=6),
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(-60, 100), st.integers(0, 40)), max_size=2),
    st.randoms(use_true_random=False),
)
def test_what_is_near_a_secret_is_near_one_of_its_own_series(panel, margin, intervals, random) -> None:
    chunk = chunk_of(panel)
    flags = np.array([random.random() < 0.2 for _ in range(chunk.table.num_rows)]) if random.random() < 0.5 else None
    finder = Finder(tuple((first, first + length) for first, length in intervals), None if flags is None else "flag")
    wanted = []
    for i, (series, _) in enumerate(series_on_grid(chunk, GRID, "value", (0, 1, 2))):
        own = None if flags is None else flags[chunk.offsets[i] : chunk.offsets[i + 1]]
        wanted.append(near_secrets(finder.secrets(series, own), series.n, margin))
    codes = rooms.state_codes(chunk, "value", (0, 1, 2))
    ((whole, _, here),) = rooms._panels(chunk, GRID, codes)
    marks = whole.marks(finder, codes[here], flags)
    assert np.array_equal(rooms._near(marks == PRIVATE, whole.offsets, margin), np.concatenate(wanted))


@with_home
@given(
    st.dictionaries(
        st.integers(0, 5), st.lists(st.tuples(st.integers(0, 90), st.integers(0, 20)), min_size=1, max_size=3)
    ),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=8),
)
def test_a_model_knows_the_series_that_it_was_fitted_on_at_these_times(known, asked) -> None:
    key = fingerprint_key()
    spans = {series_fingerprint(key, name): [(a, a + b) for a, b in own] for name, own in known.items()}
    model = Model(MarkovChain.binary(0.1, 0.2), key=key_name(key), spans=spans)
    names = [name for name, _, _ in asked]
    firsts, lasts = np.array([10 * a for _, a, _ in asked]), np.array([10 * (a + b) for _, a, b in asked])
    near = model.near(names, firsts, lasts).tolist()
    for name, first, last, found in zip(names, firsts.tolist(), lasts.tolist(), near, strict=True):
        assert found == any(a <= last and first <= a + b for a, b in known.get(name, ()))
        if not found:
            assert model.reach(name, np.arange(first, last + 1, 10), [(0, 0)]) is None
            model.refuse_overlap(name, first, last)
    other = Model(model.chain, key="another", spans=spans)
    assert other.near(names, firsts, lasts).tolist() == [bool(spans)] * len(names)


def test_each_series_is_remembered_with_its_own_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = chunk_of([(10 * i, [(1, i % 2), (2, 1), (1, i % 3 % 2)]) for i in range(20)])
    whole = fit(chunk.table, id="id", time="time", value="value", every="10", smoothing=1.0)
    monkeypatch.setattr("reticent.tables.panels._STEPS_AT_ONCE", 7)
    parted = fit(chunk.table, id="id", time="time", value="value", every="10", smoothing=1.0)
    key = fingerprint_key()
    assert whole.spans == parted.spans == {series_fingerprint(key, i): [(10 * i, 10 * i + 30)] for i in range(20)}
    assert np.array_equal(whole.chain.transition, parted.chain.transition)
