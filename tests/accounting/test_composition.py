"""What releases promise together, against enumeration of all joint outputs; and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from accounting_twin import joint_delta, joint_epsilon, joint_leakage, permutation_law

import reticent as rt
from reticent.accounting import compose, pipeline
from reticent.errors import ArgumentError, RefusedError
from reticent.guarantees import NoiselessGuarantee, PufferfishGuarantee, TemporalGuarantee
from reticent.quantization import AggregateQuantization, LocalQuantization, VectorQuantization
from reticent.redaction import RedactionPolicy, markov_quilt, sequential_redaction
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch

# --- redactions ------------------------------------------------------------------------------------------------------

COUNTER = rt.MarkovChain([[0.99, 0.01], [0.8, 0.2]])


def _random_policy(seed: int, n: int, secret: tuple[int, int]) -> tuple[rt.MarkovChain, RedactionPolicy]:
    chain = rt.MarkovChain.binary(0.1 + 0.05 * (seed % 5), 0.3)
    r = np.random.default_rng(seed).choice([0.0, 0.25, 0.5, 0.9, 1.0], size=(n, 2))
    r[secret[0] : secret[1] + 1] = 1.0
    return chain, RedactionPolicy(chain, r, secret)


@pytest.mark.parametrize(("n", "secret"), [(3, (0, 0)), (4, (1, 1)), (4, (1, 2)), (5, (2, 2))])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_policies_leak_what_enumeration_says(n: int, secret: tuple[int, int], seed: int) -> None:
    chain, one = _random_policy(seed, n, secret)
    other = RedactionPolicy(chain, _random_policy(seed + 100, n, secret)[1].probabilities, secret)
    truth = joint_leakage(chain, [one, other], secret)
    composed = compose(one, other)
    assert isinstance(composed, PufferfishGuarantee)
    assert composed.epsilon == pytest.approx(truth, rel=1e-9) or truth == composed.epsilon == math.inf
    assert composed.epsilon >= truth * (1 - 1e-12) or math.isinf(truth)


def test_two_policies_on_six_records() -> None:
    chain, one = _random_policy(5, 6, (2, 3))
    other = RedactionPolicy(chain, _random_policy(6, 6, (2, 3))[1].probabilities, (2, 3))
    assert compose(one, other).epsilon == pytest.approx(joint_leakage(chain, [one, other], (2, 3)), rel=1e-9)


def test_the_design_s_counterexample_epsilon_does_not_add() -> None:
    one = RedactionPolicy(COUNTER, [[1, 1], [0.6, 1], [0.4, 1]], 0)
    other = RedactionPolicy(COUNTER, [[1, 1], [1, 1], [0, 0]], 0)
    joint = compose(one, other).epsilon
    assert [one.leakage(), other.leakage(), joint] == pytest.approx([0.2131, 1.3947, 1.7303], abs=5e-5)
    assert joint > one.leakage() + other.leakage()
    assert joint == pytest.approx(joint_leakage(COUNTER, [one, other], (0, 0)), rel=1e-9)
    with pytest.raises(RefusedError, match=r"do not add \(.2131 and 1.3947 nats can leak 1.7303"):
        compose(one.guarantee, other.guarantee)


def test_a_sequential_redaction_is_drawn_once() -> None:
    chain = rt.MarkovChain.binary(0.1, 0.2)
    drawn = sequential_redaction(chain, 6, 2, 0.0)
    assert compose(drawn) == drawn.guarantee
    for parts in ((drawn, drawn), (drawn, markov_quilt(chain, 6, 2, 5.0))):
        with pytest.raises(RefusedError, match=r"a redaction .* drawn once .* no claim survives\. Hand out the stored"):
            compose(*parts)


def test_disjoint_series_take_the_largest_redaction() -> None:
    chain = rt.MarkovChain.binary(0.1, 0.2)
    one, other = markov_quilt(chain, 30, 3, 1.0), markov_quilt(chain, 30, 3, 2.0)
    assert compose(one, other, on="disjoint series").epsilon == max(one.leakage(), other.leakage())
    with pytest.raises(RefusedError, match="do not add"):
        compose(one, other, on="stretches of one series")


# --- switches --------------------------------------------------------------------------------------------------------


def test_two_ran_switches_compose_exactly() -> None:
    """n = 2k - 1 = 5, k = 3: there the stated δ is attained, so the whole composed curve is."""
    switches = [RanSwitch(3, 1.0), RanSwitch(3, 0.6)]
    laws = [permutation_law(switch, 5) for switch in switches]
    for epsilon in (0.0, 0.3, 0.7, 1.0, 1.6, 2.0):
        truth = joint_delta(laws, epsilon, 3)
        found = compose(*switches, epsilon=epsilon)
        assert isinstance(found, TemporalGuarantee)
        assert found.delta == pytest.approx(truth, abs=1e-9)
        assert found.delta >= truth - 1e-15
    whole = compose(*switches)
    assert whole.epsilon == pytest.approx(1.6, rel=1e-12)
    assert whole.delta >= joint_delta(laws, whole.epsilon, 3)


def test_three_equal_ran_switches_are_the_binomial_sum() -> None:
    switch = RanSwitch(3, 0.8)
    for epsilon in (0.0, 0.5, 1.0, 2.4):
        assert compose(switch, switch, switch, epsilon=epsilon).delta == pytest.approx(
            switch.composed_delta(epsilon, 3), rel=1e-9
        )


@pytest.mark.parametrize("window", [2, 3])
def test_two_pure_switches_never_leak_more_than_composed(window: int) -> None:
    switches = [FootruleSwitch(3, 1.5), MallowsSwitch(2, 1.0)]
    laws = [permutation_law(switch, 4) for switch in switches]
    found = compose(*switches, window=window)
    truth = joint_epsilon(laws, window)
    assert truth <= found.epsilon
    if window == 2:
        assert truth == pytest.approx(found.epsilon, rel=0.5)
    for epsilon in (0.5, 1.0, 2.0):
        assert compose(*switches, window=window, epsilon=epsilon).delta >= joint_delta(laws, epsilon, window) - 1e-12


def test_switches_add_at_the_window_of_the_budget() -> None:
    one, other = FootruleSwitch(24, 2.0), FootruleSwitch(25, 2.0)
    with pytest.raises(ArgumentError, match="window"):
        compose(one, other)
    found = compose(one, other, window=24)
    assert found.epsilon == pytest.approx(one.epsilon_at(24) + other.epsilon_at(24), rel=1e-15)
    assert found.epsilon >= one.epsilon_at(24) + other.epsilon_at(24)
    assert compose(one.guarantee, other.guarantee, window=24).epsilon == pytest.approx(4.0)
    with pytest.raises(RefusedError, match="says nothing at window 25"):
        compose(one.guarantee, other.guarantee, window=25)


def test_two_stretches_of_one_series_are_not_disjoint() -> None:
    switch = FootruleSwitch(4, 1.0)
    with pytest.raises(RefusedError, match=r"betray, with certainty.*public cuts"):
        compose(switch, switch, on="stretches of one series")
    cut = compose(switch, switch, on="public cuts")
    assert (cut.epsilon, cut.cuts) == (switch.guarantee.epsilon, True)
    assert "public cut" in cut.limits
    assert compose(switch, switch, on="disjoint series") == switch.guarantee


# --- quantisers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("q", "other", "joint"), [(8, 8, 8), (8, 7, 14), (4, 8, 8), (3, 5, 7)])
def test_two_quantisers_cost_their_common_refinement(q: int, other: int, joint: int) -> None:
    a, b = rt.LinearQuantizer(0, 1, q), rt.LinearQuantizer(0, 1, other)
    x = (np.arange(20_000) + 0.5) / 20_000
    pairs = set(zip(a.encode(x).tolist(), b.encode(x).tolist(), strict=True))
    assert len(pairs) == joint
    assert compose(LocalQuantization.of(a), LocalQuantization.of(b)).outputs == joint
    assert compose(a, b, a).outputs == joint  # a repetition is free


def test_counts_alone_multiply() -> None:
    one, other = NoiselessGuarantee(8), NoiselessGuarantee(7)
    assert compose(one, other).outputs == 56
    assert compose(rt.LinearQuantizer(0, 1, 8), other).outputs == 56
    assert compose(one, other, on="disjoint series").outputs == 8
    assert compose(one, other, on="stretches of one series").outputs == 8
    with pytest.raises(RefusedError, match="count different things"):
        compose(one, NoiselessGuarantee(7, per="series"))


def test_ranges_that_do_not_meet_fall_back_to_the_product() -> None:
    a, b = rt.LinearQuantizer(0, 1, 3, outside="clip"), rt.LinearQuantizer(0, 1, 3, outside="missing")
    assert compose(a, b).outputs == 3 * 4


def test_vectors_are_refined_by_column() -> None:
    a = VectorQuantization([LocalQuantization(0, 1, outputs=4), LocalQuantization(0, 1, outputs=2)])
    assert compose(a, a).outputs == 8


# --- kinds -----------------------------------------------------------------------------------------------------------

CHAIN = rt.MarkovChain.binary(0.1, 0.2)
PARTS = {
    "redaction": markov_quilt(CHAIN, 20, 4, 1.0),
    "switch": FootruleSwitch(4, 1.0),
    "quantisation": LocalQuantization(0, 1, bits=2),
}


@pytest.mark.parametrize(
    ("one", "other", "survives"),
    [
        ("switch", "quantisation", "Only the noiseless claim survives"),
        ("redaction", "switch", "Neither claim survives"),
        ("redaction", "quantisation", "Only the noiseless claim survives"),
    ],
)
def test_two_kinds_are_refused_with_both_names_the_reason_and_what_survives(
    one: str, other: str, survives: str
) -> None:
    for parts in ((PARTS[one], PARTS[other]), (PARTS[other].guarantee, PARTS[one].guarantee)):
        with pytest.raises(RefusedError) as error:
            compose(*parts)
        assert f"a {one} (" in str(error.value)
        assert f"a {other} (" in str(error.value)
        assert survives in str(error.value)
    with pytest.raises(RefusedError, match="each survives about its own series"):
        compose(PARTS[one], PARTS[other], on="disjoint series")


def test_nothing_else_is_taken() -> None:
    for parts in ((), ("a guarantee",), (FootruleSwitch(4, 1.0), 3)):
        with pytest.raises(ArgumentError):
            compose(*parts)
    with pytest.raises(ArgumentError, match="on"):
        compose(FootruleSwitch(4, 1.0), on="other data")  # type: ignore[arg-type]


# --- pipelines -------------------------------------------------------------------------------------------------------


def test_quantise_then_switch_carries_both() -> None:
    quantiser, switch = LocalQuantization(0, 1, bits=2), FootruleSwitch(4, 1.0)
    assert pipeline(quantiser, switch) == (quantiser.guarantee, switch.guarantee)
    aggregate = AggregateQuantization("mean", low=0, high=10, resolution=1, outputs=4)
    with pytest.raises(RefusedError, match="an aggregate and then a switch"):
        pipeline(aggregate, switch)


def test_quantise_then_redact_needs_a_chain_of_the_symbols() -> None:
    quantiser = LocalQuantization(0, 2, outputs=2, symbols="left")
    chain = rt.MarkovChain.binary(0.1, 0.2, states=(0.0, 1.0))
    quilt = markov_quilt(chain, 20, 4, 1.0)
    assert pipeline(quantiser, quilt) == (quilt.guarantee, quantiser.guarantee)
    looking = np.ones((20, 2))
    looking[9:] = [0.0, 0.5]
    seeing = RedactionPolicy(chain, looking, 4)
    assert pipeline(quantiser, seeing) == (seeing.guarantee,)
    with pytest.raises(RefusedError, match="its states must be the symbols"):
        pipeline(LocalQuantization(0, 1, outputs=2), quilt)


def test_redact_first_keeps_the_redaction_s_claim_only() -> None:
    quilt = PARTS["redaction"]
    assert pipeline(quilt, PARTS["quantisation"]) == (quilt.guarantee,)
    assert pipeline(quilt, PARTS["switch"]) == (quilt.guarantee,)


def test_other_pipelines_have_no_joint_claim() -> None:
    for steps in (("switch", "redaction"), ("switch", "quantisation"), ("quantisation", "switch", "redaction")):
        with pytest.raises(RefusedError, match="no joint claim is known"):
            pipeline(*(PARTS[step] for step in steps))
