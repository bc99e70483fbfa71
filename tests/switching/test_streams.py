"""Streams: the same output however the input is cut, states that can be restored, and never with other input."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import ArgumentError, RefusedError
from reticent.randomness import seeded_source
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch, StaSwitch, SwitchStream
from reticent.switching import streams as streams_module

STREAMING = [
    MallowsSwitch(4, 2.0, 1e-3),
    MallowsSwitch(3, 1.0, buffer=2),
    MallowsSwitch(1, 0.0),
    RanSwitch(6, 1.0),
    StaSwitch(4, 1.0),
]


def run(stream, values, cuts):
    parts = [stream.push(part) for part in np.split(values, cuts)]
    return np.concatenate([*parts, stream.flush()])


@pytest.fixture(autouse=True)
def _fresh_process():
    streams_module._journals.clear()


@pytest.mark.parametrize("switch", STREAMING)
@given(st.lists(st.integers(0, 200), max_size=8))
def test_output_does_not_depend_on_chunks(switch, cuts):
    values = np.arange(200.0)
    expected = switch.release(values, seeded_source(1))
    assert np.array_equal(run(switch.stream(seeded_source(1)), values, sorted(cuts)), expected)


@pytest.mark.parametrize("switch", STREAMING)
def test_a_record_is_released_as_soon_as_it_can_be(switch):
    stream = switch.stream(seeded_source(1))
    for i in range(200):
        stream.push([i])
        assert stream.released == max(0, i + 2 - switch.look_ahead)
    assert stream.flush().size == min(200, switch.look_ahead - 1)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(60).reshape(20, 3),
        np.array([True, False] * 10),
        np.arange(20).astype("datetime64[h]"),
        np.array([f"{'long ' * (i % 4)}{i}" for i in range(20)]),
        np.array([None, "x", 3.0, (1, 2)] * 5, dtype=object),
        np.array([np.nan, 1.0] * 10, dtype=np.float32),
    ],
)
def test_kinds_of_values(values):
    switch = RanSwitch(3, 1.0)
    expected = switch.release(values, seeded_source(2))
    stream = switch.stream(seeded_source(2))
    got = np.concatenate([stream.push(values[:7]), stream.push(values[7:]), stream.flush()])
    assert got.dtype.kind == values.dtype.kind
    assert list(map(str, got.tolist())) == list(map(str, expected.tolist()))


@pytest.mark.parametrize("switch", STREAMING)
@pytest.mark.parametrize("at", [0, 1, 37, 200])
def test_restored_in_the_middle(switch, at):
    values = np.random.default_rng(0).normal(size=200)
    expected = switch.release(values, seeded_source(1))
    stream = switch.stream(seeded_source(1))
    before = stream.push(values[:at])
    state = stream.save()
    for _ in range(2):
        restored = SwitchStream.restore(state)
        after = np.concatenate([restored.push(values[at:]), restored.flush()])
        assert np.array_equal(np.concatenate([before, after]), expected)
    assert np.array_equal(np.concatenate([before, stream.push(values[at:]), stream.flush()]), expected)


def test_restored_many_times_over():
    values, switch = np.arange(2000).astype(str), MallowsSwitch(4, 2.0, 1e-3)
    expected = switch.release(values, seeded_source(1))
    stream, out = switch.stream(seeded_source(1)), []
    for part in np.split(values, [3, 300, 301, 999, 1500]):
        out.append(stream.push(part))
        stream = SwitchStream.restore(stream.save())
    assert np.array_equal(np.concatenate([*out, stream.flush()]), expected)


@pytest.mark.parametrize("journal", [None, "state.journal"])
def test_other_input_is_refused(tmp_path, journal):
    path = journal and tmp_path / journal
    values = np.arange(100.0)
    other = values.copy()
    other[60] = -1
    switch = RanSwitch(4, 1.0)
    stream = switch.stream(seeded_source(1), journal=path)
    stream.push(values[:50])
    state = stream.save()
    released = stream.push(values[50:80])  # the crash comes after this
    if path:
        streams_module._journals.clear()  # another process
    restored = SwitchStream.restore(state, path)
    with pytest.raises(RefusedError, match="differs"):
        restored.push(other[50:80])
    # fewer records than were given cannot be verified, and wait
    restored = SwitchStream.restore(state, path)
    assert restored.push(other[50:62]).size == 0
    with pytest.raises(RefusedError, match="more records"):
        restored.flush()
    with pytest.raises(RefusedError, match="differs"):
        restored.push(other[62:])
    # the same records go through, in any chunks, and then further ones
    restored = SwitchStream.restore(state, path)
    again = [restored.push(values[50:62]), restored.push(values[62:90])]
    assert np.array_equal(np.concatenate(again)[: released.size], released)
    restored.flush()
    # the series was ended at 90
    restored = SwitchStream.restore(state, path)
    with pytest.raises(RefusedError, match="ended"):
        restored.push(values[50:])
    restored = SwitchStream.restore(state, path)
    restored.push(values[50:85])
    with pytest.raises(RefusedError, match="more records"):
        restored.flush()


def test_journal_survives_a_line_cut_short(tmp_path):
    path = tmp_path / "journal"
    switch = RanSwitch(3, 1.0)
    stream = switch.stream(seeded_source(1), journal=path)
    state = stream.save()
    stream.push(np.arange(10.0))
    assert path.stat().st_mode & 0o077 == 0
    with path.open("a") as file:
        file.write("given 2")
    streams_module._journals.clear()
    restored = SwitchStream.restore(state, path)
    assert restored.push(np.arange(10.0)).size == 8
    path.write_text("something else\n")
    with pytest.raises(ArgumentError, match="journal"):
        SwitchStream.restore(state, path)


def test_altered_states_are_refused():
    stream = RanSwitch(3, 1.0).stream(seeded_source(1))
    stream.push(np.arange(5))
    state = bytearray(stream.save())
    state[200] ^= 1
    for bad in (bytes(state), b"", b"x" * 100):
        with pytest.raises(ArgumentError, match="state"):
            SwitchStream.restore(bad)


def test_push_after_flush():
    stream = RanSwitch(3, 1.0).stream(seeded_source(1))
    assert stream.push([]).size == 0
    assert stream.flush().size == 0
    with pytest.raises(ArgumentError, match="flushed"):
        stream.push([1])
    with pytest.raises(ArgumentError, match="flushed"):
        stream.flush()
    with pytest.raises(ArgumentError, match="flushed"):
        SwitchStream.restore(stream.save()).push([1])


def test_chunks_of_one_kind():
    stream = RanSwitch(3, 1.0).stream(seeded_source(1))
    stream.push([1, 2, 3])
    for bad in ([1.5], ["x"], [[1, 2]], np.ones((1, 1, 1)), 3, np.ma.masked_array([1, 2], mask=[0, 1])):
        with pytest.raises(ArgumentError, match="values"):
            stream.push(bad)
    assert np.array_equal(np.sort(np.concatenate([stream.push([4]), stream.flush()]))[-1], 4)
    stream = RanSwitch(3, 1.0).stream(seeded_source(1))
    stream.push([])  # says nothing about the kind
    stream.push([1.5])
    with pytest.raises(ArgumentError, match="one type"):
        stream.push([2**60 + 1])  # a whole number that a float would not hold
    stream = RanSwitch(3, 1.0).stream(seeded_source(1))
    stream.push(np.array([object()]))
    with pytest.raises(ArgumentError, match="objects"):
        stream.save()


@pytest.mark.parametrize("switch", [FootruleSwitch(4, 1.0), MallowsSwitch(4, 1.0)])
def test_what_needs_the_whole_series_does_not_stream(switch):
    with pytest.raises(ArgumentError, match="whole series"):
        switch.stream()


def test_ten_million_values_in_constant_memory():
    switch = MallowsSwitch(24, 2.0, 1e-6)
    stream = switch.stream(seeded_source(1))
    chunk = np.arange(50_000.0)
    total = stream.push(chunk).size
    tracemalloc.start()
    peaks = []
    for i in range(1, 200):
        total += stream.push(chunk).size
        if i in (50, 199):
            peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert total + stream.flush().size == 10_000_000
    assert peaks[1] < 1.05 * peaks[0] < 20e6
