"""The posterior is that of full enumeration; no sound redaction lets odds grow beyond ε, and an unsound one does."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from attack_twins import gain, joint_law, prior_of, random_chain

import reticent as rt
from reticent.attacks.frame import Rate
from reticent.attacks.reconstruction import (
    Adversary,
    Case,
    TwiceShown,
    estimate_chain,
    reconstruct,
    reconstruct_cases,
    sample_outputs,
    success_bound,
    unprotected,
)
from reticent.attacks.reconstruction.trials import GAIN, RECORDS, SUCCESS, drawn_cases, mean_share
from reticent.errors import ArgumentError
from reticent.randomness import seeded_source
from reticent.redaction import RedactionPolicy

SOUND = {
    "quilt": rt.markov_quilt,
    "calibrated": rt.three_region,
    "optimal": rt.optimal_policy,
    "sequential": rt.sequential_redaction,
}
LAZY = rt.MarkovChain.binary(0.02, 0.2)


def policy(chain, n, secrets, missing=(), seed=0):
    """Any probabilities, many of them 0 or 1."""
    r = np.random.default_rng(seed).uniform(-0.5, 1.5, size=(n, chain.size)).clip(0, 1).round(3)
    for secret in secrets:
        first, last = (secret, secret) if isinstance(secret, int) else secret
        r[first : last + 1] = 1.0
    return RedactionPolicy(chain, r, list(secrets), missing)


def settings_of_a_release():
    rng = np.random.default_rng(7)
    for size, n, secrets, missing, period, epsilon in [
        (2, 6, [2], (), 1, 1.0),
        (2, 6, [(2, 3)], (5,), 2, 0.5),
        (2, 6, [0, 4], (2,), 1, 1.0),
        (2, 6, [0, 3, 5], (), 1, 2.0),
        (2, 5, [1], (), 3, 0.0),
        (3, 4, [1], (), 1, 1.0),
        (3, 4, [(0, 1)], (3,), 1, 0.3),
        (3, 4, [0, 3], (), 1, 1.5),
    ]:
        yield random_chain(rng, size, period), n, secrets, missing, epsilon


def mechanisms_of(chain, n, secrets, missing, epsilon):
    yield policy(chain, n, secrets, missing)
    for design in SOUND.values():
        yield design(chain, n, secrets, epsilon, missing=missing)


@pytest.mark.parametrize("setting", list(settings_of_a_release()), ids=lambda setting: f"{setting[1]}-{setting[2]}")
def test_the_posterior_is_that_of_full_enumeration(setting):
    for mechanism in mechanisms_of(*setting):
        for secret in mechanism.private:
            joint = joint_law(mechanism, secret)
            prior = prior_of(joint)
            adversary = Adversary.knowing(mechanism, secret)
            outputs = np.array(list(joint))
            posterior, guesses = adversary.posterior(outputs), adversary.guess(outputs)
            gains = adversary.log_odds_gain(outputs)
            for k, row in enumerate(joint.values()):
                total = sum(row.values())
                for t, v in itertools.product(range(posterior.shape[1]), range(posterior.shape[2])):
                    exact = sum(p for values, p in row.items() if values[t] == v) / total
                    assert posterior[k, t, v] == pytest.approx(float(exact), abs=1e-12)
                assert float(row[tuple(guesses[k].tolist())]) == pytest.approx(float(max(row.values())), rel=1e-9)
                exact_gain = gain(row, prior)
                assert math.exp(gains[k]) == (
                    math.inf if exact_gain is None else pytest.approx(float(exact_gain), rel=1e-9)
                )


def test_a_wrong_chain_gives_the_posterior_that_one_has_who_believes_in_it():
    mechanism = rt.optimal_policy(LAZY, 5, 2, 1.0)
    believed = rt.MarkovChain.binary(0.3, 0.4)
    joint = joint_law(mechanism, (2, 2), believed)
    found = Adversary(mechanism, (2, 2), believed).posterior(np.array(list(joint)))
    for k, row in enumerate(joint.values()):
        for v in (0, 1):
            assert found[k, 0, v] == pytest.approx(float(row[(v,)] / sum(row.values())), abs=1e-12)


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize(
    ("chain", "n", "secret", "epsilon"),
    [
        (rt.MarkovChain.binary(0.01, 0.8), 10, 0, 0.5),
        (rt.MarkovChain.binary(0.01, 0.8), 10, 0, 2.0),
        (LAZY, 10, 4, 1.0),
        (rt.MarkovChain.binary(0.7, 0.9), 9, (3, 4), 1.0),
    ],
)
def test_no_output_at_all_improves_the_odds_beyond_epsilon(name, chain, n, secret, epsilon):
    mechanism = SOUND[name](chain, n, [secret], epsilon)
    adversary = Adversary.knowing(mechanism, mechanism.private[0])
    outputs = np.array(list(itertools.product((-1, 0, 1), repeat=n)))
    gains = adversary.log_odds_gain(outputs)
    possible = ~np.isnan(gains)
    assert possible.sum() > 1
    assert gains[possible].max() <= epsilon + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_no_output_of_many_chains_improves_the_odds_beyond_epsilon(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    n = int(rng.integers(4, 11 if size == 2 else 8))
    chain = random_chain(rng, size, int(rng.integers(1, 3)))
    places = sorted(rng.choice(n, size=2, replace=False).tolist())
    secrets = [places[0]] if seed % 3 == 0 else places if seed % 3 == 1 else [tuple(places)][:1]
    epsilon = float(rng.choice([0.0, 0.3, 1.0, 2.5]))
    outputs = np.array(list(itertools.product(range(-1, size), repeat=n)))
    for design in SOUND.values():
        mechanism = design(chain, n, secrets, epsilon)
        for secret in mechanism.private:
            gains = Adversary.knowing(mechanism, secret).log_odds_gain(outputs)
            assert np.nanmax(gains) <= epsilon + 1e-9


@pytest.mark.parametrize("name", SOUND)
def test_no_simulated_output_improves_the_odds_beyond_epsilon(name):
    mechanism = SOUND[name](LAZY, 50, 0, 1.0)
    success, odds = reconstruct(mechanism, epsilon=1.0, runs=100_000, source=seeded_source(5))
    assert odds.measure == GAIN
    assert odds.protected.value <= 1.0 + 1e-9
    assert odds.within_bound
    assert odds.protected.trials == success.protected.trials == 100_000


def test_the_published_mechanism_breaks_its_promise_before_everybodys_eyes():
    """Erratum 1: α = .02, β = .2, n = 50, ε = 1 leaks 1.2770."""
    mechanism = rt.three_region(LAZY, 50, 0, 1.0, "published")
    _, odds = reconstruct(mechanism, epsilon=1.0, runs=100_000, source=seeded_source(5))
    assert odds.protected.value == pytest.approx(1.2770, abs=5e-5)
    assert odds.protected.value == pytest.approx(mechanism.leakage(), rel=1e-9)
    assert odds.within_bound is False


def test_a_sampled_output_has_the_law_of_the_mechanism():
    mechanism = rt.optimal_policy(LAZY, 4, 1, 0.7)
    codes, outputs = sample_outputs(mechanism, 200_000, seeded_source(3))
    joint = joint_law(mechanism, (1, 1))
    seen, counts = np.unique(outputs, axis=0, return_counts=True)
    exact = np.array([float(sum(joint[tuple(row)].values())) for row in seen.tolist()])
    assert exact.sum() == pytest.approx(1, abs=1e-3)
    assert (np.abs(counts / 200_000 - exact) < 5 * np.sqrt(exact / 200_000) + 1e-12).all()
    assert (outputs[outputs >= 0] == codes[outputs >= 0]).all()


def test_success_is_what_enumeration_says_and_stays_below_the_bound():
    mechanism = rt.optimal_policy(rt.MarkovChain.binary(0.2, 0.25), 6, 2, 1.0)
    joint = joint_law(mechanism, (2, 2))
    exact = float(sum(max(row.values()) for row in joint.values()))
    success, _ = reconstruct(mechanism, runs=100_000, source=seeded_source(1))
    assert success.protected.rate == pytest.approx(exact, abs=0.006)
    assert exact <= success.bound
    assert success.bound == pytest.approx(1 / (1 + math.exp(-mechanism.leakage())), rel=1e-12)
    assert success.control.rate > success.protected.rate + 0.02


@pytest.mark.parametrize("chain", ["true", "estimated"])
def test_an_estimate_of_the_chain_comes_near_the_truth(chain):
    mechanism = rt.optimal_policy(rt.MarkovChain.binary(0.1, 0.3), 40, 20, 0.4)
    success, odds = reconstruct(mechanism, chain=chain, runs=5_000, source=seeded_source(2))
    assert success.within_bound
    assert odds.bound is None if chain == "estimated" else odds.within_bound
    case = Case(mechanism, *sample_outputs(mechanism, 5_000, seeded_source(2)))
    assert estimate_chain([case]).transition == pytest.approx(mechanism.chain.transition, abs=0.01)


def test_long_series_are_drawn_a_few_at_a_time():
    """A year of half-hours: ten thousand of them at once would not fit into memory."""
    mechanism = rt.markov_quilt(LAZY, 17_520, 9_000, 1.0)
    told = []
    cases = drawn_cases(mechanism, 300, seeded_source(1), lambda done, total: told.append((done, total)))
    sizes = [case.codes.size for case in cases]
    assert max(sizes) <= 2_100_000
    assert sum(sizes) == 300 * 17_520
    assert told == [(119, 300), (238, 300), (300, 300)]


def test_it_succeeds_where_nothing_is_protected():
    """A chain that hardly ever moves: both neighbours say what is hidden."""
    mechanism = unprotected(rt.optimal_policy(rt.MarkovChain.binary(0.001, 0.001), 9, 4, 1.0))
    success, _ = reconstruct(mechanism, epsilon=math.inf, runs=20_000, source=seeded_source(1))
    assert success.protected.rate > 0.99
    assert success.bound is None


def test_it_fails_where_everything_is_redacted():
    mechanism = RedactionPolicy(LAZY, np.ones((8, 2)), 3)
    success, odds = reconstruct(mechanism, runs=20_000, source=seeded_source(1))
    assert odds.protected.value == 0.0
    assert success.protected == success.baseline
    assert success.bound == pytest.approx(10 / 11)


def test_it_fails_at_epsilon_zero():
    mechanism = rt.sequential_redaction(rt.MarkovChain.binary(0.1, 0.3), 30, 10, 0.0)
    success, odds = reconstruct(mechanism, runs=20_000, source=seeded_source(1))
    assert odds.protected.value < 1e-9
    assert success.protected == success.baseline


def test_an_over_release_is_caught():
    """One record more is released than the design allows, and the adversary knows it."""
    sound = rt.optimal_policy(LAZY, 20, 10, 0.5)
    r = sound.probabilities.copy()
    r[11] = 0.0
    broken = RedactionPolicy(LAZY, r, 10)
    _, odds = reconstruct(broken, epsilon=0.5, runs=2_000, source=seeded_source(1))
    assert odds.within_bound is False


def test_an_output_that_the_mechanism_cannot_make_is_refused():
    mechanism = rt.markov_quilt(rt.MarkovChain.binary(0.3, 0.4), 20, 10, 1.0)
    codes = np.zeros((1, 20), dtype=np.int64)
    hidden = mechanism.certain.copy()
    assert not hidden[-1]
    hidden[10 + int(np.argmin(hidden[10:]))] = True  # the nearest one, which is always released
    with pytest.raises(ArgumentError, match="no possible output"):
        reconstruct_cases([Case(mechanism, codes, np.where(hidden, -1, codes))], 0.5)


def test_intervals_are_also_counted_record_by_record():
    mechanism = rt.three_region(rt.MarkovChain.binary(0.1, 0.3), 12, (4, 6), 0.5)
    results = reconstruct(mechanism, runs=20_000, source=seeded_source(1))
    assert [each.measure for each in results] == [SUCCESS, RECORDS, GAIN]
    joint = joint_law(RedactionPolicy(mechanism.chain, np.ones((3, 2)), (0, 2)), (0, 2))
    ends = {}
    for path, probability in prior_of(joint).items():  # the middle record changes nothing that is shown
        ends[path[0], path[2]] = max(ends.get((path[0], path[2]), 0.0), float(probability))
    top = sorted(ends.values(), reverse=True)
    best = max(sum(top[:k]) / (1 + (k - 1) * math.exp(-0.5)) for k in range(1, 5))
    assert results[0].bound == pytest.approx(best, rel=1e-6)
    assert results[0].within_bound
    assert results[1].within_bound


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 6.0])
def test_long_intervals_that_hardly_ever_move_stay_below_their_bound(epsilon):
    """One realisation alone has more than half of the probability; seeing both ends tells it from the next ones."""
    chain = rt.MarkovChain.binary(0.01, 0.02)
    for interval in [(10, 12), (10, 23), (10, 109)]:
        mechanism = rt.markov_quilt(chain, 120, interval, epsilon)
        success = reconstruct(mechanism, epsilon=epsilon, runs=4_000, source=seeded_source(1))[0]
        assert success.within_bound
        bare = RedactionPolicy(chain, np.ones((interval[1] - interval[0] + 1, 2)), (0, interval[1] - interval[0]))
        exact = Adversary.knowing(bare)
        assert exact.prior_guess[1] <= exact.success_bound(epsilon) <= 1.0
        likeliest = np.exp(exact._best_paths[0]).sum()  # whoever knows both ends
        assert exact.success_bound(60.0) == pytest.approx(likeliest)


def test_the_interval_of_shares_is_wilsons():
    for right, units in [(0, 1), (1, 1), (3, 7), (50, 50)]:
        exact = Rate(right, units).estimate()
        found = mean_share(right / units, units)
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-6)
    assert mean_share(1.0, 1).low < 0.25


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.9, 0.1], [0.5, 0.3, 0.2], [0.25] * 4, [1.0]])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 3.0])
def test_the_bound_on_success_is_that_of_the_best_mechanism(priors, epsilon):
    """By linear programming over all mechanisms: outputs whose likelihoods are 1 or e^ε, up to a factor."""
    from scipy.optimize import linprog

    likelihoods = np.array(list(itertools.product((1.0, math.exp(epsilon)), repeat=len(priors))))
    gains = (likelihoods * priors).max(axis=1)
    best = linprog(-gains, A_eq=likelihoods.T, b_eq=np.ones(len(priors)))
    assert success_bound(epsilon, np.array(priors)) == pytest.approx(-best.fun, abs=1e-9)


def test_two_draws_of_a_sequential_redaction_are_read_as_enumeration_reads_them():
    mechanism = rt.sequential_redaction(rt.MarkovChain.binary(0.2, 0.3), 5, 1, 0.5)
    joint = joint_law(mechanism, (1, 1), draws=2)
    prior = prior_of(joint)
    gains = TwiceShown(mechanism, (1, 1), mechanism.chain).log_odds_gain(np.array(list(joint)))
    for k, row in enumerate(joint.values()):
        exact = gain(row, prior)
        assert math.exp(gains[k]) == (math.inf if exact is None else pytest.approx(float(exact), rel=1e-9))


def test_wrong_arguments_are_told_in_a_sentence():
    mechanism = rt.optimal_policy(LAZY, 6, 2, 1.0)
    with pytest.raises(ArgumentError, match="secret: must be one of"):
        Adversary.knowing(mechanism, 3)
    with pytest.raises(ArgumentError, match="states"):
        Adversary(mechanism, (2, 2), rt.MarkovChain.binary(0.1, 0.1, states=("a", "b")))
    with pytest.raises(ArgumentError, match="outputs: must have shape"):
        Adversary.knowing(mechanism).posterior(np.zeros((2, 5), dtype=np.int64))
    with pytest.raises(ArgumentError, match="runs"):
        reconstruct(mechanism, runs=0)
    with pytest.raises(ArgumentError, match="no series holds a secret"):
        reconstruct_cases([], 1.0)
    gone = np.full((1, 6), -1, dtype=np.int64)
    with pytest.raises(ArgumentError, match="missing"):
        reconstruct_cases([Case(RedactionPolicy(LAZY, np.ones((6, 2)), 2), gone, gone)], 1.0)
