"""What every mechanism does, whatever its law."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from switching_oracles import exact_delta, largest_ratio, law_of

from reticent.errors import ArgumentError
from reticent.guarantees import TemporalGuarantee
from reticent.randomness import secure_source, seeded_source
from reticent.switching import (
    Costs,
    FootruleSwitch,
    MallowsSwitch,
    RanSwitch,
    StaSwitch,
    auto_switch,
    compare,
    switch_batch,
    switch_from_dict,
)

SWITCHES = [
    FootruleSwitch(3, 2.0),
    FootruleSwitch(4, 6.0, 4.0),
    FootruleSwitch(1, 0.0),
    MallowsSwitch(3, 2.0),
    MallowsSwitch(4, 1.0, 0.05),
    MallowsSwitch(3, 0.5, buffer=3),
    MallowsSwitch(1, 1.0),
    RanSwitch(3, 1.0),
    RanSwitch(8, 0.0),
    RanSwitch(1, 1.0),
    StaSwitch(3, 1.0),
    StaSwitch(4, 0.5),
    StaSwitch(1, 1.0),
    auto_switch(2, 1.0),
]
LONG = [FootruleSwitch(24, 2.0), MallowsSwitch(24, 2.0, 1e-6), RanSwitch(24, 2.0), StaSwitch(24, 2.0)]
every = pytest.mark.parametrize("switch", SWITCHES, ids=repr)


@every
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_guarantee_is_above_the_exact_leakage(switch, n):
    law = law_of(switch, n)
    assert sum(law.values()) == pytest.approx(1, abs=1e-11)
    for window in (1, switch.window, switch.window + 1, n):
        own = switch.guarantee_at(window=window)
        assert isinstance(own, TemporalGuarantee)
        assert own.window == window
        for epsilon in {0.0, 0.4, 1.0, *([own.epsilon] if math.isfinite(own.epsilon) else [])}:
            assert exact_delta(law, n, window, epsilon) <= switch.delta(epsilon, window) + 1e-12
        if own.delta == 0:
            assert largest_ratio(law, n, window) <= own.epsilon + 1e-12
    assert switch.guarantee == switch.guarantee_at()


@every
def test_delta_falls_with_epsilon_and_grows_with_window(switch):
    for window in (1, 2, 3, 6):
        deltas = [switch.delta(epsilon, window) for epsilon in np.linspace(0, 5, 21)]
        assert all(0 <= b <= a <= 1 for a, b in pairwise(deltas))
    for epsilon in (0.0, 1.0):
        deltas = [switch.delta(epsilon, window) for window in range(1, 8)]
        assert deltas[0] == 0
        assert all(a <= b + 1e-15 for a, b in pairwise(deltas))


@every
@pytest.mark.parametrize("n", [0, 1, 2, 7, 500])
def test_releases_are_rearrangements(switch, n):
    order = switch.order(n, seeded_source(1))
    assert order.dtype == np.int64
    assert np.array_equal(np.sort(order), np.arange(n))
    values = np.random.default_rng(0).normal(size=n)
    assert np.array_equal(switch.release(values, seeded_source(1)), values[order])
    table = np.random.default_rng(0).normal(size=(n, 3))
    assert np.array_equal(switch.release(table, seeded_source(1)), table[order])
    counts = compare(values, switch.release(values))
    assert (counts.missing, counts.repetition, counts.empty) == (0, 0, 0)
    assert switch.log_probability(order) > -math.inf


@every
def test_kinds_of_values(switch):
    missing = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])
    assert np.ma.count_masked(switch.release(missing, seeded_source(1))) == 1
    for values in (["a", "b", "c"], np.array([None, 1, "x"], dtype=object), np.arange(3).astype("datetime64[D]")):
        released = switch.release(values, seeded_source(1))
        assert sorted(map(str, released.tolist())) == sorted(map(str, np.asarray(values).tolist()))


@every
def test_seeds(switch):
    one, two = (switch.order(300, seeded_source(1)) for _ in range(2))
    assert np.array_equal(one, two)
    if switch.window > 1:
        assert not np.array_equal(one, switch.order(300, seeded_source(2)))
        assert not np.array_equal(switch.order(300), switch.order(300, secure_source()))


@every
def test_input_is_left_alone(switch):
    values = np.arange(50)
    values.flags.writeable = False
    switch.release(values)
    assert np.array_equal(values, np.arange(50))


@every
def test_parameters_round_trip(switch):
    written = json.loads(json.dumps(switch.to_dict(), allow_nan=False))
    again = switch_from_dict(written)
    assert again == switch
    assert again.guarantee == switch.guarantee
    assert np.array_equal(again.order(50, seeded_source(1)), switch.order(50, seeded_source(1)))
    with pytest.raises(ArgumentError):
        switch_from_dict({**written, "unknown": 1})


def test_unknown_mechanism():
    with pytest.raises(ArgumentError, match="footrule"):
        switch_from_dict({"mechanism": "magic"})


@every
def test_descriptions_and_costs(switch):
    assert str(switch.guarantee.promise).endswith(".")
    assert switch.describe().endswith(".")
    law = switch.displacement()
    assert law.probabilities.min() >= 0
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-11)
    assert law.offsets.size == law.probabilities.size
    assert switch.expected_cost(Costs(misalignment=3.0)) == pytest.approx(3 * law.mean)
    assert law.probability(10**9) == 0


@pytest.mark.parametrize("switch", [*SWITCHES, *LONG], ids=repr)
def test_a_batch_is_each_series_on_its_own(switch):
    lengths = [0, 1, 2, 3, 40, 1, 5000, 0, 17, 2]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = [f"meter {i}" for i in range(len(lengths))]
    source = seeded_source(9)
    flat = switch_batch(switch, offsets, source, ids)
    for i, n in enumerate(lengths):
        expected = offsets[i] + switch.order(n, source.spawn(ids[i]))
        assert np.array_equal(flat[offsets[i] : offsets[i + 1]], expected)


@pytest.mark.parametrize("switch", LONG, ids=repr)
def test_a_batch_whose_words_run_out(switch, monkeypatch):
    """Series that need more words than was guessed are drawn again, from the same words and further ones."""
    sampler = type(switch.sampler())
    monkeypatch.setattr(sampler, "words_needed", lambda self, n: n // 2, raising=False)
    plain = sampler.__init__

    def starved(self, *arguments):
        plain(self, *arguments)
        self.__dict__.pop("words_needed", None)

    monkeypatch.setattr(sampler, "__init__", starved)
    offsets = np.arange(6) * 300
    source = seeded_source(9)
    flat = switch_batch(switch, offsets, source, range(5))
    for i in range(5):
        assert np.array_equal(flat[i * 300 : i * 300 + 300] - i * 300, switch.order(300, source.spawn(i)))


def test_a_batch_of_one_long_series_among_short_ones():
    switch = MallowsSwitch(4, 2.0, 1e-3)
    offsets = np.array([0, 10, 700_010, 700_020])
    source = seeded_source(9)
    flat = switch_batch(switch, offsets, source, ["a", "b", "c"])
    for i, name in enumerate("abc"):
        n = offsets[i + 1] - offsets[i]
        assert np.array_equal(flat[offsets[i] : offsets[i + 1]] - offsets[i], switch.order(n, source.spawn(name)))


@pytest.mark.parametrize(("offsets", "ids"), [([], []), ([1, 2], ["a"]), ([0, 3, 2], ["a", "b"]), ([0, 2], [])])
def test_bad_batches(offsets, ids):
    with pytest.raises(ArgumentError):
        switch_batch(RanSwitch(3, 1.0), offsets, seeded_source(1), ids)


@every
def test_bad_values(switch):
    for values in (3.0, np.ones((2, 2, 2))):
        with pytest.raises(ArgumentError, match="values"):
            switch.release(values)
    for order in ([0, 0], [1, 2], [[0, 1]], [0.0, 1.0]):
        with pytest.raises(ArgumentError, match="order"):
            switch.log_probability(order)
    for epsilon in (-1.0, math.nan, math.inf, "x"):
        with pytest.raises(ArgumentError, match="epsilon"):
            switch.delta(epsilon)
    for window in (0, 1.5, True):
        with pytest.raises(ArgumentError, match="window"):
            switch.delta(1.0, window)


def test_the_core_imports_little():
    code = (
        "import sys, reticent.switching; "
        "heavy = {'numba', 'scipy', 'duckdb', 'pyarrow', 'altair', 'rich'} & set(sys.modules); sys.exit(bool(heavy))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
