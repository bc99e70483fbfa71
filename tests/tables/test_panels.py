"""Series laid on their grids all at once are what each is by itself, and alike only where they are equal."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.randomness import EncodedIds
from reticent.tables import panels
from reticent.tables._kernels import place_on_grid
from reticent.tables.grid import Grid, Gridded, runs
from reticent.tables.panels import ABSENT, PRIVATE, Panel, bites
from reticent.tables.private import Finder

STEP = 10

series = st.lists(
    st.tuples(st.integers(1, 3), st.booleans(), st.booleans()), min_size=1, max_size=8
)  # steps since the record before, flag, whether the value is missing
bounds = st.lists(
    st.tuples(st.integers(-20, 150), st.integers(0, 60)).map(lambda each: (each[0], sum(each))), max_size=2
)


def laid(panel: list[Any], starts: list[int]) -> tuple[Any, ...]:
    rows = [np.cumsum([0, *(gap for gap, _, _ in each[1:])]) for each in panel]
    ticks = [start + STEP * own for start, own in zip(starts, rows, strict=False)]
    flags = np.array([flag for each in panel for _, flag, _ in each])
    codes = np.array([-1 if missing else 0 for each in panel for _, _, missing in each])
    return np.concatenate(rows), np.concatenate(ticks), np.cumsum([0, *map(len, panel)]), codes, flags


@settings(deadline=None)
@given(
    st.lists(series, min_size=1, max_size=6),
    st.lists(st.integers(0, 60), min_size=6, max_size=6),
    bounds,
    st.booleans(),
)
def test_marks_are_those_of_each_series(panel: list[Any], starts: list[int], intervals: Any, flagged: bool) -> None:
    rows, ticks, offsets, codes, flags = laid(panel, starts)
    finder = Finder(tuple(intervals), "flag" if flagged else None)
    found = Panel.of(rows, ticks, offsets, STEP)
    marks = found.marks(finder, codes, flags if flagged else None)
    for i, (a, b) in enumerate(pairwise(offsets.tolist())):
        one = Gridded.of(rows[a:b], ticks[a:b], STEP)
        here = slice(found.offsets[i], found.offsets[i + 1])
        assert found.ticks[here].tolist() == one.ticks.tolist()
        assert runs(marks[here] == PRIVATE) == finder.secrets(one, flags[a:b] if flagged else None)
        there = set(one.rows[codes[a:b] >= 0].tolist())
        absent = [t for t in range(one.n) if t not in there and marks[here][t] != PRIVATE]
        assert np.flatnonzero(marks[here] == ABSENT).tolist() == absent


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=3), st.integers(0, 1)), min_size=1, max_size=40)
)
def test_alike_is_equal(drawn: list[tuple[list[int], int]]) -> None:
    marks = np.array([mark for each, _ in drawn for mark in each], dtype=np.uint8)
    offsets = np.cumsum([0, *(len(each) for each, _ in drawn)])
    phases = np.array([phase for _, phase in drawn])
    chosen = np.array([i for i, (each, _) in enumerate(drawn) if 2 in each], dtype=np.int64)
    panel = Panel(np.zeros(marks.size, dtype=np.int64), offsets, slice(None), slice(None))
    wanted = [next(j for j in chosen if drawn[j] == drawn[i]) for i in chosen]
    assert panel.alike(marks, phases, chosen).tolist() == wanted


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(5, 40), max_size=6), min_size=1, max_size=6))
def test_positions_are_rounded_steps_one_by_one(gaps: list[list[int]]) -> None:
    ticks = np.concatenate([np.cumsum([-7, *each]) for each in gaps])
    offsets = np.cumsum([0, *(len(each) + 1 for each in gaps)])
    wanted = [sum((2 * gap + STEP) // (2 * STEP) for gap in each[:i]) for each in gaps for i in range(len(each) + 1)]
    found = np.zeros(ticks.size, dtype=np.int64)
    assert place_on_grid(ticks, offsets, STEP, found) == 0
    assert found.tolist() == wanted
    steps = Grid(STEP, True).steps(ticks, offsets)
    assert [int(n) for a, b in pairwise(offsets.tolist()) for n in np.cumsum(steps[a:b])] == wanted
    assert place_on_grid(np.array([0, 4, 14, 18]), np.array([0, 4]), STEP, np.zeros(4, dtype=np.int64)) == 2


def test_bites_are_all_series_once(monkeypatch: Any) -> None:
    monkeypatch.setattr(panels, "_STEPS_AT_ONCE", 10)
    rows, bounds = np.array([0, 3, 0, 30, 0, 0, 1, 0, 9]), np.array([0, 2, 4, 5, 7, 9])
    cuts = list(bites(rows, bounds))
    assert [i for each in cuts for i in range(each.start, each.stop)] == list(range(5))
    assert len(cuts) > 2


def test_some_of_the_encoded_identifiers() -> None:
    names = ["a", "", "ccc", "dd", "a b"]
    ids = EncodedIds.of(names)
    for which in ([], [2], [4, 0, 1], [0, 1, 2, 3, 4]):
        found, wanted = ids.take(np.array(which, dtype=np.int64)), EncodedIds.of([names[i] for i in which])
        assert found.offsets.tolist() == wanted.offsets.tolist()
        assert found.data.tobytes() == wanted.data.tobytes()
