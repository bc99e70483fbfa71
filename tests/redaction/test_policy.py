"""Local policies: exact leakage, utility, what they write and read, composition."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from redaction_twin import enumerated_leakage, enumerated_utility, local_law, random_chain, random_policy

import reticent as rt
from reticent.errors import RefusedError
from reticent.redaction import RedactionPolicy
from shared_data import shared_vectors


@pytest.mark.parametrize("case", range(20))
def test_leakage_is_that_of_the_vectors(case):
    vector = shared_vectors("redaction_leakage")[case]
    policy = RedactionPolicy(rt.MarkovChain(vector["transition"]), vector["policy"], tuple(vector["secret"]))
    expected = math.inf if vector["leakage"] is None else vector["leakage"]
    assert policy.leakage() == pytest.approx(expected, abs=1e-9)
    assert policy.leakage() >= expected - 1e-15  # rounded towards safety


@pytest.mark.parametrize("seed", range(40))
def test_leakage_and_utility_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    n = int(rng.integers(1, 8 if size == 2 else 6))
    chain = random_chain(rng, size, period=int(rng.integers(1, 4)), zeros=size == 3 and seed % 2 == 0)
    first = int(rng.integers(n))
    last = int(rng.integers(first, min(n, first + 3)))
    policy = RedactionPolicy(chain, random_policy(rng, n, size, [(first, last)]), (first, last))
    law = local_law(policy.probabilities)
    assert policy.leakage() == pytest.approx(enumerated_leakage(chain, n, (first, last), law), abs=1e-11)
    assert policy.utility() == pytest.approx(enumerated_utility(chain, n, law), abs=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_several_secrets_missing_records_and_listed_chains_equal_enumeration(seed):
    rng = np.random.default_rng(100 + seed)
    n, secrets, missing = 7, [(1, 1), (4, 5)], [2] if seed % 2 else [0, 6]
    chains = [random_chain(rng, 2) for _ in range(3)]
    policy = RedactionPolicy(chains, random_policy(rng, n, 2, secrets), secrets, missing)
    assert (policy.probabilities[missing] == 1).all()
    law = local_law(policy.probabilities)
    expected = max(enumerated_leakage(chain, n, secret, law) for chain in chains for secret in secrets)
    assert policy.leakage() == pytest.approx(expected, abs=1e-11)
    assert policy.utility() == pytest.approx(min(enumerated_utility(chain, n, law) for chain in chains), abs=1e-12)


def test_states_of_probability_zero_are_dropped():
    chain = rt.MarkovChain([[0.5, 0.5, 0], [0.3, 0.7, 0], [0.2, 0.3, 0.5]])
    same = rt.MarkovChain([[0.5, 0.5], [0.3, 0.7]])
    r = np.array([[1.0, 1.0, 1.0], [0.2, 0.9, 0.4], [0.0, 0.0, 0.0]])
    assert RedactionPolicy(chain, r, 0).leakage() == pytest.approx(
        RedactionPolicy(same, r[:, :2], 0).leakage(), abs=1e-13
    )


def test_nothing_seen_and_independent_records_leak_exactly_nothing():
    ones = np.ones((50, 2))
    assert RedactionPolicy(rt.MarkovChain.binary(0.02, 0.2), ones, 7).leakage() == 0.0
    half = np.full((50, 2), 0.5)
    half[7] = 1
    assert RedactionPolicy(rt.MarkovChain([[0.3, 0.7], [0.3, 0.7]]), half, 7).leakage() == 0.0


def test_influence_too_small_for_floating_point_is_not_called_zero():
    r = np.ones((2001, 2))
    r[2000] = 0
    assert 0 < RedactionPolicy(rt.MarkovChain.binary(0.25, 0.5), r, 0).leakage() < 1e-9


def test_a_million_redactions_neither_underflow_nor_blow_up():
    n = 10**6
    r = np.full((n, 2), 0.5)
    r[:, 1] = 0.4
    r[0] = 1
    leak = RedactionPolicy(rt.MarkovChain.binary(0.1, 0.2), r, 0).leakage()
    short = RedactionPolicy(rt.MarkovChain.binary(0.1, 0.2), r[:2000], 0).leakage()
    assert leak == pytest.approx(short, abs=1e-8)


def test_opposite_runs_do_not_underflow_into_silence():
    # staying in 0 or in 1: a run of d redactions is (1/2)^d times likelier from 0 than from 1
    chain = rt.MarkovChain([[1 - 1e-90, 1e-90], [1e-90, 1 - 1e-90]])
    r = np.tile([1.0, 0.5], (3001, 1))
    r[0] = 1
    assert RedactionPolicy(chain, r, 0).leakage() == math.inf or RedactionPolicy(chain, r, 0).leakage() > 200


def test_probabilities_are_rounded_up_to_what_the_machine_uses():
    tiny = 2.0**-70
    policy = RedactionPolicy(rt.MarkovChain.binary(0.2, 0.3), [[1, 1], [tiny, 0.1]], 0)
    assert policy.probabilities.tolist() == [[1, 1], [2.0**-64, 0.1]]
    assert float(policy.probabilities[1, 1]) * 2.0**64 % 1 == 0


@pytest.mark.parametrize("seed", range(10))
def test_leakage_is_monotone(seed):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, 3)
    r = random_policy(rng, 6, 3, [(2, 2)])
    more = np.minimum(1.0, r + rng.uniform(0, 0.3, r.shape) * (rng.uniform(size=r.shape) < 0.3))
    assert RedactionPolicy(chain, more, 2).leakage() <= RedactionPolicy(chain, r, 2).leakage() + 1e-12


def test_guarantee_carries_the_recomputed_leakage():
    policy = RedactionPolicy(rt.MarkovChain.binary(0.1, 0.1), [[1, 1], [0, 0]], 0)
    assert policy.guarantee.epsilon == policy.leakage() == pytest.approx(math.log(9))
    assert "record 0" in str(policy.guarantee)
    assert "released" in policy.describe()


def test_json_round_trip_is_exact_and_small():
    rng = np.random.default_rng(3)
    n, secrets = 40_000, [(100, 120), (30_000, 30_000)]
    r = np.zeros((n, 2))
    r[90:130] = rng.uniform(size=(40, 2))
    r[100:121] = r[30_000] = 1
    policy = RedactionPolicy(random_chain(rng, 2, period=4), r, secrets, range(50, 5_000))
    text = policy.to_json()
    assert len(text) < 10_000
    assert RedactionPolicy.from_json(text) == policy
    assert json.loads(text)["mechanism"] == "redaction_policy"


def test_epsilon_does_not_add():
    # two releases that leak .2131 and 1.3947 leak 1.7303 together
    chain = rt.MarkovChain([[0.99, 0.01], [0.8, 0.2]])
    first = RedactionPolicy(chain, [[1, 1], [0.6, 1], [0.4, 1]], 0)
    second = RedactionPolicy(chain, [[1, 1], [1, 1], [0, 0]], 0)
    both = first.composed(second)
    assert first.leakage() == pytest.approx(0.2131, abs=5e-5)
    assert second.leakage() == pytest.approx(1.3947, abs=5e-5)
    assert both.leakage() == pytest.approx(1.7303, abs=5e-5)
    assert both.leakage() > first.leakage() + second.leakage() + 0.1
    law = local_law(first.probabilities * second.probabilities)
    assert both.leakage() == pytest.approx(enumerated_leakage(chain, 3, (0, 0), law), abs=1e-11)


def test_a_pair_of_secrets_is_not_hidden_jointly():
    # each leaks 1.516, the pair 3.033
    chain = rt.MarkovChain.binary(0.1, 0.1)
    r = np.ones((5, 2))
    r[2] = 0
    policy = RedactionPolicy(chain, r, [0, 4])
    assert policy.leakages == pytest.approx((1.516, 1.516), abs=5e-4)
    pair = 0.0
    for x, other in [((0, 0), (1, 1)), ((1, 1), (0, 0)), ((0, 1), (1, 0))]:
        for v in (0, 1):
            ratio = [chain.power(2)[a, v] * chain.power(2)[v, b] / chain.power(4)[a, b] for a, b in (x, other)]
            pair = max(pair, math.log(ratio[0] / ratio[1]))
    assert pair == pytest.approx(3.033, abs=5e-4)
    assert "not jointly" in policy.guarantee.limits


def test_composition_rounds_down_and_refuses_what_does_not_compose():
    chain = rt.MarkovChain.binary(0.2, 0.3)
    tiny = RedactionPolicy(chain, [[1, 1], [2.0**-40, 0.3]], 0)
    assert tiny.composed(tiny).probabilities[1, 0] == 0.0
    assert tiny.composed(tiny).probabilities[1, 1] <= 0.3 * 0.3
    with pytest.raises(ValueError, match="same chain"):
        tiny.composed(RedactionPolicy(chain, np.ones((3, 2)), 0))
    with pytest.raises(RefusedError, match="once"):
        tiny.composed("sequential")  # type: ignore[arg-type]


def test_for_record_is_what_the_individual_needs():
    policy = RedactionPolicy(rt.MarkovChain.binary(0.2, 0.3, ("off", "on")), [[1, 1], [0, 1], [0.5, 0.5]], 0)
    part = policy.for_record(1)
    source = rt.seeded_source(1)
    assert (part.release("off", source), part.release("on", source)) == ("off", None)
    assert part.to_dict() == {"record": 1, "states": ["off", "on"], "probabilities": [0.0, 1.0]}
    shown = sum(policy.for_record(2).release("on", source) is not None for _ in range(1000))
    assert 400 < shown < 600
    with pytest.raises(ValueError, match="declared states"):
        part.release("broken", source)
    with pytest.raises(ValueError, match="no such record"):
        policy.for_record(3)


CHAIN = rt.MarkovChain.binary(0.2, 0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CHAIN, np.ones((3, 3)), 0), "shape"),
        ((CHAIN, np.ones(3), 0), "shape"),
        ((CHAIN, np.full((3, 2), 1.1), 0), "between 0 and 1"),
        ((CHAIN, np.full((3, 2), np.nan), 0), "between 0 and 1"),
        ((CHAIN, np.zeros((3, 2)), 0), "might be released"),
        ((CHAIN, np.ones((3, 2)), 3), "outside the records"),
        ((CHAIN, np.ones((3, 2)), -1), "outside the records"),
        ((CHAIN, np.ones((3, 2)), (2, 1)), "ends before"),
        ((CHAIN, np.ones((3, 2)), [(0, 1), 1]), "overlap"),
        ((CHAIN, np.ones((3, 2)), []), "no secret"),
        ((CHAIN, np.ones((3, 2)), 0.5), "private"),
        ((CHAIN, np.ones((3, 2)), 0, [3]), "missing"),
        (([], np.ones((3, 2)), 0), "chain"),
        (([CHAIN, rt.MarkovChain.binary(0.2, 0.3, "ab")], np.ones((3, 2)), 0), "same states"),
        ((rt.MarkovChain.binary(1e-120, 0.3), np.ones((3, 2)), 0), "1e-100"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        RedactionPolicy(*arguments)


def test_from_dict_refuses_another_mechanism():
    with pytest.raises(ValueError, match="mechanism"):
        RedactionPolicy.from_dict({"mechanism": "footrule_switch"})
