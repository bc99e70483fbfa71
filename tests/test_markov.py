"""Markov chains: laws, reversal, fitting, diagnosis."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import reticent as rt
from reticent.errors import ArgumentError
from reticent.markov import count_transitions, encode
from shared_data import shared

rates = st.floats(0.001, 0.999)


def random_steps(seed: int, size: int, period: int = 1) -> np.ndarray:
    steps = np.random.default_rng(seed).dirichlet(np.ones(size), size=(period, size)) + 1e-3
    return steps / steps.sum(axis=2, keepdims=True)


@given(rates, rates)
def test_two_states_in_closed_form(alpha, beta):
    chain = rt.MarkovChain.binary(alpha, beta)
    assert chain.stationary == pytest.approx([beta / (alpha + beta), alpha / (alpha + beta)], rel=1e-13)
    assert chain.backs[0] == pytest.approx(chain.transition, abs=1e-12)  # two states: reversible


@pytest.mark.parametrize("seed", range(30))
def test_reading_back_changes_nothing(seed):
    raw = np.round(random_steps(seed, 4), 10)  # rows are off by about 1e-10, and normalised once
    chain = rt.MarkovChain.periodic(raw)
    again = rt.MarkovChain.from_dict(chain.to_dict())
    assert (again.transitions == chain.transitions).all()
    assert again == chain


@pytest.mark.parametrize(("size", "period"), [(2, 1), (3, 1), (5, 1), (3, 4), (2, 7)])
def test_laws_are_carried_and_reversed(size, period):
    for seed in range(5):
        chain = rt.MarkovChain.periodic(random_steps(seed, size, period), phase=seed)
        for t in range(-3, 5):
            assert chain.law(t) @ chain.step(t) == pytest.approx(chain.law(t + 1), abs=1e-14)
            joint = chain.law(t)[:, None] * chain.step(t)
            assert pytest.approx(joint, abs=1e-15) == (chain.law(t + 1)[:, None] * chain.back(t)).T
            assert chain.backs[(chain.phase + t) % period] == pytest.approx(chain.back(t), abs=0)
            assert chain.shifted(t).step(0) == pytest.approx(chain.step(t), abs=0)
        twice = chain.reversed().reversed()
        for t in range(period):
            assert twice.step(t) == pytest.approx(chain.step(t), abs=1e-12)
            assert chain.reversed().step(t) == pytest.approx(chain.back(-t - 1), abs=1e-12)


def test_stationary_law_is_accurate_for_slow_chains():
    chain = rt.MarkovChain([[1 - 1e-12, 1e-12, 0], [2e-12, 1 - 3e-12, 1e-12], [0, 1e-12, 1 - 1e-12]])
    exact = np.array([2, 1, 1]) / 4
    assert chain.stationary == pytest.approx(exact, rel=1e-12)


def test_independent_records_are_exactly_so_backwards():
    chain = rt.MarkovChain([[0.3, 0.7], [0.3, 0.7]])
    assert (chain.backs[0][0] == chain.backs[0][1]).all()


def test_transient_states_have_no_law():
    chain = rt.MarkovChain([[0.5, 0.25, 0.25], [0, 0.4, 0.6], [0, 0.7, 0.3]])
    assert chain.stationary[0] == 0
    assert chain.back(0)[0].tolist() == [0, 0, 0]
    assert chain.reversed().stationary == pytest.approx(chain.stationary)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rt.MarkovChain([[0.5, 0.6], [0.5, 0.5]]), "sum to one"),
        (lambda: rt.MarkovChain([[1.5, -0.5], [0.5, 0.5]]), "not negative"),
        (lambda: rt.MarkovChain([[np.nan, 1], [0.5, 0.5]]), "finite"),
        (lambda: rt.MarkovChain([[1.0, 0.0], [0.0, 1.0]]), "closed classes"),
        (lambda: rt.MarkovChain([0.5, 0.5]), "square"),
        (lambda: rt.MarkovChain([[0.5, 0.5]]), "square"),
        (lambda: rt.MarkovChain([[0.5, 0.5], [0.5, 0.5]], ["a", "a"]), "distinct"),
        (lambda: rt.MarkovChain([[0.5, 0.5], [0.5, 0.5]], phase=0.5), "phase"),  # type: ignore[arg-type]
        (lambda: rt.MarkovChain.binary(1.2, 0.5), "alpha"),
        (lambda: rt.MarkovChain.periodic([[0.5, 0.5], [0.5, 0.5]]), "period"),
        (lambda: rt.MarkovChain.fit([[0, 1, 2, 2, 2], [0, 1, 2]], smoothing=-1), "smoothing"),
        (lambda: rt.MarkovChain.fit([[0, 0, 1]]), "never left"),
        (lambda: rt.MarkovChain.fit([[0, 5, 0]], states=[0, 1]), "declared states"),
        (lambda: rt.MarkovChain.periodic(random_steps(0, 2, 3)).transition, "stationary"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_fit_counts_over_gaps_and_sequences():
    chain = rt.MarkovChain.fit([[0, 1, None, 0, 1, 1], [1, 0, float("nan"), 0]])
    # 0→1 twice; 1→1 once, 1→0 once; nothing across a gap
    assert chain.transition.tolist() == [[0.0, 1.0], [0.5, 0.5]]
    assert rt.MarkovChain.fit([[0, 0, 1]], smoothing=1.0).transition.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    codes = np.array([0, 1, -1, 0, 1, 1])
    assert count_transitions(codes, 2).tolist() == [[[0, 2], [0, 1]]]


def test_dict_round_trip_is_exact():
    chain = rt.MarkovChain.periodic(random_steps(3, 3, 4), phase=2, states=("a", "b", "c"))
    assert rt.MarkovChain.from_dict(json.loads(json.dumps(chain.to_dict()))) == chain
    assert hash(rt.MarkovChain.from_dict(chain.to_dict())) == hash(chain)


def test_samples_follow_the_chain():
    chain = rt.MarkovChain.binary(0.1, 0.3, ("off", "on"))
    values = chain.sample(20_000, rt.seeded_source(2))
    counts = count_transitions(chain.encode(values), 2)[0]
    for i in range(2):
        assert stats.chisquare(counts[i], counts[i].sum() * chain.transition[i]).pvalue > 1e-3
    assert chain.diagnose([values]).warnings == ()


def test_diagnosis_names_what_is_wrong():
    chain = rt.MarkovChain.binary(0.1, 0.3)
    rng = np.random.default_rng(0)
    slow, fast = (rt.MarkovChain.binary(a, a).sample(4_000, rt.seeded_source(1)) for a in (0.05, 0.4))
    halves = chain.diagnose([np.concatenate([slow, fast])])
    assert halves.stationarity.rejects
    assert halves.fit.rejects
    assert any("halves" in warning for warning in halves.warnings)

    second = [0, 1]
    for _ in range(6_000):  # the next value repeats the one before the last, mostly
        second.append(second[-2] if rng.uniform() < 0.8 else 1 - second[-2])
    order = rt.MarkovChain.fit([second]).diagnose([second])
    assert order.order.rejects
    assert not order.fit.rejects
    assert order.smoothed == 0

    day = rt.MarkovChain.periodic([rt.MarkovChain.binary(a, 0.5).transition for a in (0.1, 0.1, 0.8, 0.1)])
    values = day.sample(6_000, rt.seeded_source(3))
    plain = rt.MarkovChain.fit([values])
    assert plain.diagnose([values], rhythm=4).rhythm.rejects
    assert not plain.diagnose([values], rhythm=3).rhythm.rejects
    assert plain.diagnose([values]).rhythm is None
    assert day.diagnose([values]).warnings == ()


def test_a_rhythm_of_many_instants_is_tested_in_parts():
    """One matrix a minute would have so many parameters that no test could reject."""
    day = rt.MarkovChain.periodic(
        np.repeat([rt.MarkovChain.binary(a, 0.1).transition for a in (0.01, 0.03)], 720, axis=0)
    )
    values = day.sample(6 * 1440, rt.seeded_source(4))
    plain = rt.MarkovChain.fit([values])
    assert plain.diagnose([values], rhythm=1440).rhythm.rejects
    assert not plain.diagnose([plain.sample(6 * 1440, rt.seeded_source(5))], rhythm=1440).rhythm.rejects


def test_diagnosis_of_structure_and_smoothing():
    ring = rt.MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    found = ring.diagnose([[0, 1, 2] * 5])
    assert (found.cycle, found.irreducible) == (3, True)
    assert any("cycle" in warning for warning in found.warnings)
    transient = rt.MarkovChain([[0.5, 0.5], [0, 1.0]])
    assert not transient.diagnose([[0, 1, 1]]).irreducible
    smoothed = rt.MarkovChain.fit([[0, 1, 0, 1, 2]], states=[0, 1, 2, 3], smoothing=1.0)
    found = smoothed.diagnose([[0, 1, 0, 1, 2]])
    assert found.never_seen == (3,)
    assert found.never_left == (2,)
    assert found.smoothed > 0.3
    assert found.transitions == 4
    assert "transitions" in found.describe()


def test_tests_have_their_level():
    """Under the chain p-values are nearly uniform: few below 5 %."""
    chain = rt.MarkovChain.binary(0.3, 0.4)
    runs = [chain.diagnose([chain.sample(400, rt.seeded_source(seed))], rhythm=4) for seed in range(200)]
    for name in ("fit", "stationarity", "order", "rhythm"):
        low = sum(getattr(run, name).p_value < 0.05 for run in runs)
        assert 1 <= low <= 25, name


def test_diagnosis_refuses_what_it_cannot_use():
    chain = rt.MarkovChain.binary(0.3, 0.4)
    for arguments in (([[0, None, 1]],), ([[0, 1]], 1), ([[0, 1]], None, [0, 0]), ([[0, 7]],)):
        with pytest.raises(ValueError, match=r"sequences|rhythm|phases|declared states"):
            chain.diagnose(*arguments)


def test_office_occupancy_is_no_plain_chain():
    """Real data: the time of day matters, and a plain chain is rejected."""
    folder = shared("data", "office-occupancy")
    name = next(path for path in sorted(folder.iterdir()) if "train" in path.name.lower())
    header, *lines = name.read_text().splitlines()
    column = [field.strip('"') for field in header.split(",")].index("Occupancy") - len(header.split(","))
    values = [int(line.split(",")[column]) for line in lines]
    found = rt.MarkovChain.fit([values]).diagnose([values], rhythm=24 * 60)
    assert found.transitions == len(values) - 1
    assert found.rhythm is not None
    assert found.rhythm.rejects
    assert found.order.rejects


STATES = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, unique=True),
    st.lists(st.sampled_from([-1.5, 0.0, 0.1, 1, 2, 2**60 + 1]), min_size=1, unique=True),
    st.lists(st.sampled_from(["", "a", "ab", "b", "ö", "1"]), min_size=1, unique=True),
    st.lists(st.sampled_from([True, False]), min_size=1, unique=True),
    st.lists(st.sampled_from([0, "a", 2.5, (1, 2), (3,)]), unique=True),
)
ARRAYS = st.one_of(
    st.lists(st.integers(-3, 3)).map(lambda values: np.array(values, dtype=np.int8)),
    st.lists(st.integers(0, 2**63)).map(lambda values: np.array(values, dtype=np.uint64)),
    st.lists(st.sampled_from([np.nan, -0.0, 0.1, 1.0, 2.0, 2.0**60])).map(np.array),
    st.lists(st.sampled_from([0.1, 1.5, 2.0])).map(lambda values: np.array(values, dtype=np.float32)),
    st.lists(st.sampled_from(["", "a", "b", "c", "ö", "1"])).map(lambda values: np.array(values, dtype="U3")),
    st.lists(st.booleans()).map(lambda values: np.array(values, dtype=bool)),
)


@given(ARRAYS, STATES)
def test_an_array_is_encoded_as_its_values_are(values, states):
    def codes(given):
        try:
            return encode(given, states).tolist()
        except ArgumentError as error:
            return str(error)

    assert codes(values) == codes(list(values))
