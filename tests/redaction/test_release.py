"""Releases: what comes out, one series or many, and what is refused before anything is drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from redaction_twin import random_chain, random_policy
from scipy import stats

import reticent as rt
from reticent.redaction import RedactionPolicy, redact_batch

CHAIN = rt.MarkovChain.binary(0.2, 0.3)


def test_release_keeps_the_values_and_their_kind():
    policy = RedactionPolicy(CHAIN, [[0, 0], [1, 1], [0, 0]], 1)
    out = policy.release(np.array([0, 1, 1], dtype=np.int8), rt.seeded_source(0))
    assert out.dtype == np.int8
    assert out.mask.tolist() == [False, True, False]
    assert out.data.tolist() == [0, 0, 1]  # the hidden 1 is not kept under the mask


def test_release_of_text_floats_and_masked_arrays():
    policy = RedactionPolicy(rt.MarkovChain.binary(0.2, 0.3, ("off", "on")), [[0, 0], [1, 1], [0, 0]], 1)
    assert policy.release(["off", "on", "on"]).data.tolist() == ["off", "", "on"]
    assert policy.release(["off", None, "on"]).data.tolist() == ["off", None, "on"]
    numbers = RedactionPolicy(rt.MarkovChain.binary(0.2, 0.3, (0.0, 1.0)), [[0, 0], [1, 1], [0, 0]], 1)
    assert np.isnan(numbers.release([0.0, 1.0, 1.0]).data[1])
    given = np.ma.MaskedArray([0, 1, 1], mask=[False, True, False])
    out = RedactionPolicy(CHAIN, [[0, 0], [1, 1], [0, 0]], 1).release(given)
    assert out.mask.tolist() == [False, True, False]
    assert given.data.tolist() == [0, 1, 1]  # the input is left alone


def test_missing_records_must_be_declared_unless_withheld_anyway():
    r = [[0, 0], [1, 1], [0.5, 0.5]]
    with pytest.raises(ValueError, match="not declared missing"):
        RedactionPolicy(CHAIN, r, 1).release([0, 0, None])
    assert RedactionPolicy(CHAIN, r, 1, [2]).release([0, None, None]).mask.tolist() == [False, True, True]


def test_refusals_come_before_the_draw_and_name_no_value():
    source = rt.seeded_source(0)
    policy = RedactionPolicy(CHAIN, [[0.5, 0.5], [1, 1]], 1)
    before = source.state()
    for states in (["secretword", 0], [0], [0, 7]):
        with pytest.raises(ValueError, match=r"values|states") as caught:
            policy.release(states, source)
        assert "secretword" not in str(caught.value)
        assert "7" not in str(caught.value)
    assert source.state() == before


def test_a_series_of_probability_zero_is_refused():
    chain = rt.MarkovChain([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    policy = RedactionPolicy(chain, np.ones((3, 3)), 1)
    policy.release([0, 1, 2])
    with pytest.raises(ValueError, match="probability zero"):
        policy.release([0, 2, 2])
    transient = rt.MarkovChain([[0.5, 0.5], [0, 1.0]])
    with pytest.raises(ValueError, match="probability zero"):
        RedactionPolicy(transient, np.ones((2, 2)), 1).release([0, 1])


@pytest.mark.parametrize("seed", range(6))
def test_batch_equals_release_series_by_series(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    chain = random_chain(rng, size, period=2)
    mechanisms = [
        RedactionPolicy(chain, random_policy(rng, n, size, [(0, 0)]), 0, [n - 1] if n > 1 else []) for n in (5, 9, 1)
    ]
    which = rng.integers(0, 3, size=40)
    ids = [f"meter {i}" if i % 2 else i for i in range(40)]
    series = [rng.integers(0, size, size=mechanisms[j].n) for j in which]
    for values in series:
        if values.size > 1:
            values[-1] = -1
    offsets = np.concatenate([[0], np.cumsum([values.size for values in series])])
    source = rt.seeded_source(seed)
    mask = redact_batch(mechanisms, which, np.concatenate(series), offsets, source, ids)
    for i, values in enumerate(series):
        states = [None if v < 0 else int(v) for v in values]
        one = mechanisms[which[i]].release(states, source.spawn(ids[i]))
        assert one.mask.tolist() == mask[offsets[i] : offsets[i + 1]].tolist()


def test_batch_refuses_shapes_and_equal_ids():
    policy = RedactionPolicy(CHAIN, [[1, 1], [0, 0]], 0)
    source = rt.seeded_source(0)
    codes = np.zeros(4, dtype=np.int64)
    with pytest.raises(ValueError, match="same identifier"):
        redact_batch([policy], np.zeros(2, int), codes, np.array([0, 2, 4]), source, ["a", "a"])
    with pytest.raises(ValueError, match="do not match"):
        redact_batch([policy], np.zeros(2, int), codes, np.array([0, 2]), source, ["a", "b"])
    with pytest.raises(ValueError, match="do not match"):  # the first record would be in no series, and released
        redact_batch([policy], np.zeros(1, int), np.zeros(3, int), np.array([1, 3]), source, ["a"])
    for which in (-1, 1):
        with pytest.raises(ValueError, match="which"):
            redact_batch([policy], np.array([which]), np.zeros(2, int), np.array([0, 2]), source, ["a"])
    with pytest.raises(ValueError, match="records of its policy"):
        redact_batch([policy], np.zeros(2, int), codes, np.array([0, 1, 4]), source, ["a", "b"])
    with pytest.raises(ValueError, match="declared states"):
        redact_batch([policy], np.zeros(2, int), codes + 2, np.array([0, 2, 4]), source, ["a", "b"])


def test_patterns_have_the_frequencies_of_the_policy():
    """Chi-square over 10^5 releases of one series."""
    values = np.array([0, 1, 0, 1])
    r = np.array([[0.3, 0.9], [1, 1], [0.25, 0.5], [0.1, 0.62]])
    policy = RedactionPolicy(CHAIN, r, 1)
    m = 100_000
    mask = redact_batch(
        [policy], np.zeros(m, int), np.tile(values, m), 4 * np.arange(m + 1), rt.seeded_source(5), range(m)
    ).reshape(m, 4)
    counts, expected = [], []
    chosen = r[np.arange(4), values]
    for pattern in itertools.product([False, True], repeat=4):
        probability = np.prod(np.where(pattern, chosen, 1 - chosen))
        seen = int((mask == pattern).all(axis=1).sum())
        if probability == 0:
            assert seen == 0
        else:
            counts.append(seen)
            expected.append(m * probability)
    assert stats.chisquare(counts, expected).pvalue > 1e-3
