"""Windows: sound, and no smaller set exists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from redaction_twin import random_chain

import reticent as rt
from reticent.redaction import RedactionPolicy, markov_quilt


def best_by_enumeration(chains, n, secrets, epsilon, missing):
    """Most records that any set of releases reaches within ε."""
    hidden = {t for a, b in secrets for t in range(a, b + 1)} | set(missing)
    free = [t for t in range(n) if t not in hidden]
    for count in range(len(free), -1, -1):
        for shown in itertools.combinations(free, count):
            r = np.ones((n, chains[0].size))
            r[list(shown)] = 0
            if RedactionPolicy(chains, r, secrets, missing).leakage() <= epsilon:
                return count
    raise AssertionError


@pytest.mark.parametrize("seed", range(60))
def test_exact_window_is_the_best_of_all_sets(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 11))
    chains = [random_chain(rng, int(rng.integers(2, 4)), period=int(rng.integers(1, 3)))]
    if seed % 3 == 0:
        chains.append(random_chain(rng, chains[0].size))
    starts = sorted(rng.choice(n, size=min(n, int(rng.integers(1, 4))), replace=False).tolist())
    secrets = [(t, t) for t in starts]
    if seed % 4 == 0 and starts[-1] < n - 1:
        secrets[-1] = (starts[-1], starts[-1] + 1)
    free = [t for t in range(n) if not any(a <= t <= b for a, b in secrets)]
    missing = [t for t in free if rng.uniform() < 0.2]
    epsilon = float(rng.choice([0.0, 0.1, 0.5, 1.0, 2.0]))
    policy = markov_quilt(chains, n, secrets, epsilon, missing=missing)
    assert policy.leakage() <= epsilon
    assert round(policy.utility() * n) == best_by_enumeration(chains, n, secrets, epsilon, missing)


def test_erratum_12_window_beats_the_printed_bound():
    policy = markov_quilt(rt.MarkovChain.binary(0.25, 0.25), 6, 2, 1.7)
    assert policy.leakage() == pytest.approx(np.log(5))
    assert policy.utility() == pytest.approx(4 / 6)


def test_long_series_with_a_slow_chain():
    chain = rt.MarkovChain.binary(0.002, 0.01)
    policy = markov_quilt(chain, 40_000, [1_000, (1_200, 1_300), 20_000], 0.05)
    assert 0.049 < policy.leakage() <= 0.05
    assert policy.probabilities[:, 0].sum() > 1_000
    assert policy.probabilities[1_100, 0] == 1  # the short gap is withheld
    assert policy.probabilities[10_000, 0] == 0


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), "1"])
def test_bad_epsilon_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        markov_quilt(rt.MarkovChain.binary(0.2, 0.3), 5, 2, epsilon)
