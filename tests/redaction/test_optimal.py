"""The best local policy: sound, no worse than the others, as good as the vectors ask."""

from __future__ import annotations

import numpy as np
import pytest
from redaction_twin import enumerated_leakage, local_law, random_chain

import reticent as rt
from reticent.redaction import RedactionPolicy, markov_quilt, optimal_policy, sequential_redaction, three_region
from reticent.redaction.optimal.frontier import to_frontier
from shared_data import shared_vectors

binary = rt.MarkovChain.binary


def test_utility_reaches_the_floor_of_the_vectors():
    for vector in shared_vectors("local_policy_floor"):
        policy = optimal_policy(
            binary(vector["alpha"], vector["beta"]), vector["n"], vector["private"], vector["epsilon"]
        )
        assert policy.utility() >= vector["utility_at_least"] - 1e-6
        assert policy.leakage() <= vector["epsilon"]


@pytest.mark.parametrize(
    ("epsilon", "utility"), [(0.25, 0.6890), (0.5, 0.7383), (1.0, 0.7957), (1.5, 0.8337), (2.0, 0.8618)]
)
def test_figure_3_setting(epsilon, utility):
    policy = optimal_policy(binary(0.01, 0.8), 10, 0, epsilon)
    assert policy.utility() >= utility
    assert policy.utility() < sequential_redaction(binary(0.01, 0.8), 10, 0, epsilon).utility()


@pytest.mark.parametrize("seed", range(30))
def test_sound_by_enumeration_and_no_worse_than_the_others(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    n = int(rng.integers(2, 8 if size == 2 else 6))
    chains = [random_chain(rng, size, period=int(rng.integers(1, 3))) for _ in range(1 + seed % 2)]
    secrets = [(0, 0), (n - 1, n - 1)] if seed % 5 == 0 else [(n // 2, min(n - 1, n // 2 + seed % 2))]
    free = [t for t in range(n) if not any(a <= t <= b for a, b in secrets)]
    missing = [t for t in free if rng.uniform() < 0.15]
    epsilon = float(rng.choice([0.0, 0.3, 1.0, 2.0]))
    policy = optimal_policy(chains, n, secrets, epsilon, missing)
    assert policy.leakage() <= epsilon
    law = local_law(policy.probabilities)
    for chain in chains:
        for secret in secrets:
            assert enumerated_leakage(chain, n, secret, law) <= epsilon + 1e-12
    for other in (markov_quilt, three_region):
        assert policy.utility() >= other(chains, n, secrets, epsilon, missing=missing).utility() - 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_no_policy_of_a_random_search_is_better(seed):
    rng = np.random.default_rng(50 + seed)
    chain, n, epsilon = random_chain(rng, 2), 5, float(rng.choice([0.3, 1.0]))
    best = optimal_policy(chain, n, 0, epsilon).utility()
    free = np.arange(n) > 0
    for _ in range(150):
        r = (rng.uniform(size=(n, 2)) * 1.5).clip(0, 1) if rng.uniform() < 0.7 else np.ones((n, 2))
        r[0] = 1.0
        lifted = np.ones((n, 2))
        low, high = 0.0, 1.0  # towards withholding everything, until it is sound
        for _ in range(30):
            middle = (low + high) / 2
            trial = lifted + middle * (r - lifted)
            inside = RedactionPolicy(chain, trial, 0).leakage() <= epsilon
            low, high = (middle, high) if inside else (low, middle)
        found = to_frontier([chain], [(0, 0)], lifted + low * (r - lifted), free, epsilon)
        policy = RedactionPolicy(chain, found, 0)
        assert policy.leakage() <= epsilon
        assert policy.utility() <= best + 2e-3  # not convex: no proof, but nothing that matters is missed


def test_two_sides_share_the_budget():
    chain, epsilon = binary(0.02, 0.2), 1.5
    one = optimal_policy(chain, 16, 0, epsilon)
    middle = optimal_policy(chain, 31, 15, epsilon)
    assert middle.leakage() <= epsilon
    assert middle.utility() * 31 < 2 * one.utility() * 16
    assert middle.utility() >= three_region(chain, 31, 15, epsilon).utility()


def test_perfect_privacy_of_a_local_policy_withholds_everything():
    assert optimal_policy(binary(0.2, 0.3), 9, 4, 0.0).utility() == 0.0
    assert optimal_policy(rt.MarkovChain([[0.3, 0.7], [0.3, 0.7]]), 9, 4, 0.0).utility() == pytest.approx(8 / 9)


def test_frontier_lowers_what_it_can():
    chain, epsilon = binary(0.25, 0.5), 0.5
    found = to_frontier([chain], [(0, 0)], np.ones((2, 2)), np.array([False, True]), epsilon)
    assert found[1] == pytest.approx([0.1192, 1.0], abs=5e-5)  # Example 1 of the paper
    assert RedactionPolicy(chain, found, 0).leakage() == pytest.approx(epsilon, abs=1e-10)


def test_designs_are_cached_by_chain_and_geometry():
    one = optimal_policy(binary(0.1, 0.3), 20, [5], 0.7)
    assert optimal_policy(binary(0.1, 0.3), 20, 5, 0.7) is one
    again = sequential_redaction(binary(0.1, 0.3), 20, [5], 0.7)
    assert sequential_redaction(binary(0.1, 0.3), 20, 5, 0.7) is again


@pytest.mark.parametrize("design", [markov_quilt, three_region, optimal_policy, sequential_redaction])
def test_an_hour_a_day_for_a_year(design):
    chain, n = binary(0.05, 0.2), 365 * 48
    secrets = [(48 * day + 36, 48 * day + 37) for day in range(365)]
    found = design(chain, n, secrets, 1.0)
    assert found.leakage() <= 1.0 + 1e-9
    assert found.utility() >= markov_quilt(chain, n, secrets, 1.0).utility()
    assert len(found.to_json()) < 80_000
    assert type(found).from_json(found.to_json()) == found


@pytest.mark.parametrize("seed", range(12))
def test_long_series_are_designed_as_short_ones(seed):
    """What is far from the secret does not change the design, and stays released."""
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, 2, period=1 + seed % 2)
    near, far = (design(chain, n, n // 2, 0.8) for design in (three_region,) for n in (400, 4_000))
    assert near.leakage() <= 0.8
    assert far.leakage() <= 0.8
    assert round(400 * (1 - near.utility()), 6) == round(4_000 * (1 - far.utility()), 6)


@pytest.mark.parametrize("secret", [0, 2, (1, 2)])
def test_a_secret_that_is_known_for_certain_asks_for_nothing_else(secret):
    found = optimal_policy(rt.MarkovChain([[0.5, 0.5], [0.0, 1.0]]), 4, secret, 0.5)
    assert found.leakage() == 0.0
    assert found.utility() == (4 - np.size(secret)) / 4
