"""Guarantees in numbers and in words."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import ArgumentError
from reticent.guarantees import Guarantee, count, guarantee_from_dict

EPSILONS = st.floats(0, 20)
DELTAS = st.floats(0, 1)


@given(EPSILONS, DELTAS, st.integers(1, 40))
def test_a_group_is_a_chain_of_neighbours(epsilon: float, delta: float, m: int) -> None:
    """Slow twin: Pr ≤ e^ε (e^ε (…) + δ) + δ, one exchange after the other."""
    expected_delta = 0.0
    for _ in range(m):
        expected_delta = expected_delta * math.exp(epsilon) + delta
        if expected_delta > 1:
            break
    group = rt.TemporalGuarantee(epsilon, delta, 24).group(m)
    assert group.epsilon == m * epsilon
    assert group.delta == pytest.approx(min(1.0, expected_delta), rel=1e-9, abs=1e-300)
    assert (group.window, group.statistical) == (24, False)


@pytest.mark.parametrize(
    ("guarantee", "m", "expected"),
    [
        (rt.TemporalGuarantee(0.0, 0.1, 5), 3, (0.0, 0.3)),
        (rt.TemporalGuarantee(1.0, 0.0, 5), 12, (12.0, 0.0)),
        (rt.TemporalGuarantee(math.inf, 0.0, 5), 2, (math.inf, 0.0)),
        (rt.TemporalGuarantee(math.inf, 0.1, 5), 2, (math.inf, 1.0)),
        (rt.TemporalGuarantee(1.0, 0.1, 5, True), 1, (1.0, 0.1)),
        (rt.TemporalGuarantee(50.0, 1e-3, 5), 100, (5000.0, 1.0)),
    ],
)
def test_groups_at_the_ends(guarantee: rt.TemporalGuarantee, m: int, expected: tuple[float, float]) -> None:
    group = guarantee.group(m)
    assert (group.epsilon, pytest.approx(group.delta)) == expected
    assert group.statistical == guarantee.statistical


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, -math.inf])
def test_what_is_no_epsilon(epsilon: float) -> None:
    with pytest.raises(ArgumentError, match="epsilon"):
        rt.PufferfishGuarantee(epsilon, "record 3", "the chain")
    with pytest.raises(ArgumentError, match="epsilon"):
        rt.TemporalGuarantee(epsilon, 0.0, 5)


def test_what_is_no_guarantee() -> None:
    for delta in (-0.1, 1.1, math.nan):
        with pytest.raises(ArgumentError, match="delta"):
            rt.TemporalGuarantee(1.0, delta, 5)
    with pytest.raises(ArgumentError, match="m: "):
        rt.TemporalGuarantee(1.0, 0.0, 5).group(0)
    with pytest.raises(ArgumentError, match="outputs"):
        rt.NoiselessGuarantee(0)
    with pytest.raises(ArgumentError, match="per"):
        rt.NoiselessGuarantee(2, per="day")


@given(st.integers(1, 2**300))
def test_bits_are_rounded_up(outputs: int) -> None:
    bits = rt.NoiselessGuarantee(outputs).bits
    if outputs & (outputs - 1) == 0:
        assert bits == outputs.bit_length() - 1
    else:
        assert outputs.bit_length() - 1 < bits
        assert bits <= outputs.bit_length() + 1e-9
        if outputs < 2**40:
            assert 2**bits >= outputs * (1 - 1e-12)


ALL = [
    rt.PufferfishGuarantee(1.0, "record 3", "the chain"),
    rt.PufferfishGuarantee(math.inf, "record 3", "the chain"),
    rt.PufferfishGuarantee(0.0, "record 3", "the chain"),
    rt.TemporalGuarantee(2.0, 0.0, 24),
    rt.TemporalGuarantee(2.0, 1e-6, 24, True),
    rt.TemporalGuarantee(math.inf, 0.5, 24),
    rt.TemporalGuarantee(700.0, 0.0, 2),
    rt.TemporalGuarantee(0.0, 0.0, 1),
    rt.NoiselessGuarantee(8),
    rt.NoiselessGuarantee(2**200, per="series", local=False, assuming="the roster is public"),
]


@pytest.mark.parametrize("guarantee", ALL, ids=lambda each: each.kind)
def test_words_and_strict_json(guarantee: rt.TemporalGuarantee) -> None:
    body = guarantee.to_dict()
    assert json.loads(json.dumps(body, allow_nan=False)) == body
    assert body["kind"] == guarantee.kind
    for sentence in (body["promise"], body["limits"]):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "nan" not in sentence.lower().split()
    assert str(guarantee) == guarantee.promise
    assert guarantee.describe() == f"{guarantee.promise} {guarantee.limits}"
    with pytest.raises(AttributeError):
        guarantee.epsilon = 3.0  # type: ignore[misc]


def test_every_promise_says_its_unit_and_what_it_leaves_out() -> None:
    assert "nats" in ALL[0].promise
    assert "Nothing is promised" in ALL[1].promise
    assert "nats" in ALL[3].promise
    assert "e^700" in ALL[6].promise
    assert "except with probability" in ALL[4].promise
    assert "statistical" in ALL[4].promise
    assert "12 values" in ALL[3].limits
    assert "ε = 24" in ALL[3].limits
    assert "does not simply add" in ALL[0].limits
    assert "3 bits" in ALL[8].promise
    assert "the roster is public" in ALL[9].limits


@pytest.mark.parametrize(("value", "text"), [(1, "1"), (9_999_999, "9,999,999"), (2**40, "2^40")])
def test_counts(value: int, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    "guarantee",
    [
        rt.PufferfishGuarantee(1.5, "record 3", "the chain"),
        rt.PufferfishGuarantee(float("inf"), "record 3", "the chain"),
        rt.TemporalGuarantee(2.0, 1e-6, 24, statistical=True, cuts=True),
        rt.NoiselessGuarantee(8, "series", local=False, assuming="a public roster"),
    ],
)
def test_a_guarantee_is_read_back_as_it_was_written(guarantee: Guarantee) -> None:
    assert guarantee_from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee
