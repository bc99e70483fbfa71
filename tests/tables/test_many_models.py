"""A model fitted to many series at once, and whom it knows, beside one series after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reticent import MarkovChain
from reticent.accounting.fingerprints import fingerprint_key, key_name, series_fingerprint
from reticent.errors import RefusedError
from reticent.tables import fit, redact
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


def reach(ticks: np.ndarray, secrets: list[tuple[int, int]], stretches: list[tuple[int, int]]) -> int:
    """Of one series, as it reads."""
    steps = []
    for begin, end in stretches:
        fitted = np.flatnonzero((ticks >= begin) & (ticks <= end))
        if fitted.size:
            steps += [max(first - int(fitted[-1]), int(fitted[0]) - last) - 1 for first, last in secrets]
    return max(min(steps), 0) if steps else -1


@with_home
@given(
    st.lists(one_series, min_size=1, max_size=6),
    st.dictionaries(
        st.integers(0, 7), st.lists(st.tuples(st.integers(-60, 150), st.integers(0, 40)), min_size=1, max_size=3)
    ),
    st.lists(st.tuples(st.integers(-60, 150), st.integers(0, 30)), max_size=2),
)
def test_how_far_secrets_are_from_what_the_model_was_fitted_on(panel, known, intervals) -> None:
    chunk = chunk_of(panel)
    stretches = {name: [(first, first + length) for first, length in own] for name, own in known.items()}
    key = fingerprint_key()
    model = Model(
        MarkovChain.binary(0.1, 0.2),
        key=key_name(key),
        spans={series_fingerprint(key, name): own for name, own in stretches.items()},
    )
    series, begins, ends = model.stretches(chunk.ids)
    found = list(zip(series.tolist(), begins.tolist(), ends.tolist(), strict=True))
    assert found == [(i, *each) for i in range(len(panel)) for each in stretches.get(i, ())]
    finder = Finder(tuple((first, first + length) for first, length in intervals), None)
    codes = rooms.state_codes(chunk, "value", (0, 1, 2))
    ((whole, _, here),) = rooms._panels(chunk, GRID, codes)
    reached = whole.reach(whole.marks(finder, codes[here], None), series, begins, ends)
    for i, (one, _) in enumerate(series_on_grid(chunk, GRID, "value", (0, 1, 2))):
        assert reached[i] == reach(one.ticks, finder.secrets(one, None), stretches.get(i, []))


def test_a_model_refuses_what_it_was_fitted_on_and_fingerprints_that_it_cannot_compare() -> None:
    key = fingerprint_key()
    spans = {series_fingerprint(key, 1): [(0, 10)]}
    own, other = (Model(MarkovChain.binary(0.1, 0.2), key=name, spans=spans) for name in (key_name(key), "another"))
    own.refuse_overlap(False)
    with pytest.raises(RefusedError, match="fitted on records that are to be hidden"):
        own.refuse_overlap(True)
    with pytest.raises(RefusedError, match="another key"):
        other.refuse_overlap(False)
    Model(own.chain, key="another").refuse_overlap(False)


def test_each_series_is_remembered_with_its_own_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = chunk_of([(10 * i, [(1, i % 2), (2, 1), (1, i % 3 % 2)]) for i in range(20)])
    whole = fit(chunk.table, id="id", time="time", value="value", every="10", smoothing=1.0)
    monkeypatch.setattr("reticent.tables.panels._STEPS_AT_ONCE", 7)
    parted = fit(chunk.table, id="id", time="time", value="value", every="10", smoothing=1.0)
    key = fingerprint_key()
    assert whole.spans == parted.spans == {series_fingerprint(key, i): [(10 * i, 10 * i + 30)] for i in range(20)}
    assert np.array_equal(whole.chain.transition, parted.chain.transition)


def test_one_known_series_among_many_is_refused_and_the_others_are_not() -> None:
    """Half of the series were fitted on, before the secrets; one of them where they are, in another run."""
    chunk = chunk_of([(0, [(1, (i + j * j // 3) % 2) for j in range(60)]) for i in range(9)])
    early = chunk.table.filter(pc.and_(pc.less(chunk.table["time"], 30), pc.less(chunk.table["id"], 5)))
    late = chunk.table.filter(pc.equal(chunk.table["id"], 7))
    named = {"id": "id", "time": "time", "value": "value", "every": "10"}
    asked = {**named, "private": "550/560", "epsilon": 1.0, "mechanism": "optimal", "ledger": False, "seed": 1}
    del asked["every"]
    released = redact(chunk.table, model=fit(early, **named), **asked)
    reaches = released.certificate.parameters["mechanisms"]
    assert len(reaches) == 2  # those five are released with certainty where the model was fitted
    with pytest.raises(RefusedError, match="fitted on records that are to be hidden"):
        redact(chunk.table, model=fit(late, **named, smoothing=1.0), **asked)
