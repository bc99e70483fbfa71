"""The paper's mechanisms as printed: what they say, and what is true (errata 1, 2, 5, 6, 12, 14)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from redaction_twin import enumerated_leakage, local_law, random_chain

import reticent as rt
from reticent.errors import RefusedError
from reticent.redaction import (
    RedactionPolicy,
    data_independent_bound,
    delta_star,
    markov_quilt,
    published_quilt_utility,
    published_utility,
    redact_batch,
    regions,
    three_region,
    three_region_gain,
)
from shared_data import shared_vectors


def binary(alpha, beta):
    return rt.MarkovChain.binary(alpha, beta)


def test_published_three_region_is_that_of_the_vectors():
    for vector in shared_vectors("three_region_published"):
        chain, n, epsilon = binary(vector["alpha"], vector["beta"]), vector["n"], vector["epsilon"]
        policy = three_region(chain, n, vector["private"], epsilon, "published")
        assert policy.utility() == pytest.approx(vector["utility"], abs=1e-12)
        assert published_utility(chain, n, vector["private"], epsilon) == pytest.approx(vector["utility"], abs=1e-12)
        assert policy.leakage() == pytest.approx(vector["exact_leakage"], abs=1e-9)


@pytest.mark.parametrize(
    ("alpha", "beta", "n", "epsilon", "leak"),
    [
        (0.01, 0.8, 10, 0.5, 0.6545),
        (0.01, 0.8, 10, 1.5, 2.295),
        (0.01, 0.8, 10, 2.0, 2.5097),
        (0.02, 0.2, 50, 1.0, 1.2770),
        (0.01, 0.1, 100, 2.0, 2.7292),
    ],
)
def test_erratum_1_published_three_region_is_not_private(alpha, beta, n, epsilon, leak):
    policy = three_region(binary(alpha, beta), n, 0, epsilon, "published")
    assert policy.leakage() == pytest.approx(leak, abs=5e-4)
    assert policy.leakage() > epsilon
    assert policy.guarantee.epsilon == policy.leakage()
    source = rt.seeded_source(0)
    before = source.state()
    with pytest.raises(RefusedError, match="leaks"):
        policy.release(np.zeros(n, dtype=int), source)
    with pytest.raises(RefusedError, match="leaks"):
        redact_batch([policy], np.zeros(1, int), np.zeros(n, int), np.array([0, n]), source, ["a"])
    with pytest.raises(RefusedError, match="leaks"):
        RedactionPolicy.from_json(policy.to_json()).release(np.zeros(n, dtype=int), source)
    assert source.state() == before


def test_erratum_1_by_hand():
    policy = three_region(binary(0.01, 0.8), 3, 0, 1.5, "published")
    # output (⊥, ⊥, 1): .041785 from X = 1, .0042087 from X = 0
    r = policy.probabilities[1]
    from_one = 0.8 * r[0] * 0.01 + 0.2 * r[1] * 0.2
    from_zero = 0.99 * r[0] * 0.01 + 0.01 * r[1] * 0.2
    assert (from_one, from_zero) == pytest.approx((0.041785, 0.0042087), rel=1e-4)
    assert policy.leakage() == pytest.approx(math.log(from_one / from_zero), abs=1e-12)


def test_erratum_1_no_individual_is_handed_a_part_of_what_breaks_its_promise():
    with pytest.raises(RefusedError, match=r"leaks 2\.29"):
        three_region(binary(0.01, 0.8), 10, 0, 1.5, "published").for_record(3)


def test_published_releases_where_it_keeps_its_promise():
    policy = three_region(binary(0.25, 0.5), 10, 0, 0.5, "published")
    assert policy.leakage() <= 0.5
    assert policy.release(np.zeros(10, dtype=int)).mask[0]


def test_errata_1_and_2_example_1():
    chain = binary(0.25, 0.5)
    published = three_region(chain, 2, 0, 0.5, "published")
    assert published.probabilities[1].tolist() == pytest.approx([0.607, 1.0], abs=5e-4)
    sound = three_region(chain, 2, 0, 0.5)
    assert sound.probabilities[1].tolist() == pytest.approx([0.1192, 1.0], abs=5e-5)
    assert sound.utility() == pytest.approx(0.293, abs=1e-3)  # Pr(X = 0) is β/(α+β): not .15
    assert 0.5 - 1e-9 < sound.leakage() <= 0.5


def test_erratum_5_thresholds_at_half_and_the_larger_value_always_withheld():
    chain, n, epsilon = binary(0.02, 0.2), 61, 1.0
    policy = three_region(chain, n, 30, epsilon, "published")
    middle = [t for t, letter in enumerate(regions(chain, n, 30, epsilon / 2)) if letter == "M"]
    partial = np.flatnonzero(((policy.probabilities > 0) & (policy.probabilities < 1)).any(axis=1))
    assert partial.tolist() == middle
    assert (policy.probabilities[middle, 1] == 1).all()
    assert policy.probabilities[middle, 0] == pytest.approx(math.exp(-epsilon / len(middle)))
    assert middle != [t for t, letter in enumerate(regions(chain, n, 30, epsilon)) if letter == "M"]


def test_published_regions_swap_values_where_alpha_is_larger():
    one = three_region(binary(0.2, 0.02), 20, 0, 1.0, "published")
    two = three_region(binary(0.02, 0.2), 20, 0, 1.0, "published")
    assert one.probabilities[:, ::-1].tolist() == two.probabilities.tolist()
    assert published_utility(binary(0.2, 0.02), 20, 0, 1.0) == pytest.approx(one.utility())


def test_erratum_6_a_radius_of_delta_star_less_one_suffices():
    chain, n, epsilon = binary(0.02, 0.2), 101, 1.0
    published, exact = (markov_quilt(chain, n, 50, epsilon, variant) for variant in ("published", "exact"))
    radius = delta_star(chain, epsilon / 2, n)
    assert (1 - published.probabilities[:, 0]).sum() == n - 1 - 2 * radius
    r = np.zeros((n, 2))
    r[50 - int(radius) + 1 : 50 + int(radius)] = 1
    narrower = RedactionPolicy(chain, r, 50)
    assert narrower.leakage() <= epsilon
    assert exact.utility() >= narrower.utility()
    assert narrower.utility() == pytest.approx(published.utility() + 2 / n)


@pytest.mark.parametrize("private", range(12))
def test_published_quilt_is_sound_mirrored_and_below_its_bounds(private):
    n = 12
    for alpha, beta in ((0.2, 0.3), (0.02, 0.5), (0.7, 0.8), (0.3, 0.3)):
        chain = binary(alpha, beta)
        for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
            policy = markov_quilt(chain, n, private, epsilon, "published")
            assert policy.leakage() <= epsilon
            twin = markov_quilt(chain, n, n - 1 - private, epsilon, "published")
            assert policy.probabilities[::-1].tolist() == twin.probabilities.tolist()
            assert policy.utility() <= markov_quilt(chain, n, private, epsilon).utility()
            if alpha + beta < 1 and policy.probabilities[[0, -1]].sum() == 0:  # two-sided
                assert policy.utility() == pytest.approx(published_quilt_utility(chain, n, private, epsilon))


def test_erratum_12_the_printed_bound_is_exceeded_the_corrected_one_is_not():
    chain = binary(0.25, 0.25)
    window = markov_quilt(chain, 6, 2, 1.7)
    assert data_independent_bound(chain, 6, 2, 1.7, "published") == pytest.approx(3 / 6)
    assert window.utility() == pytest.approx(4 / 6)
    assert data_independent_bound(chain, 6, 2, 1.7) == pytest.approx(4 / 6)
    rng = np.random.default_rng(12)
    exceeded = 0
    for _ in range(1500):
        alpha, beta = np.sort(rng.uniform(0.01, 0.99, 2))
        n = int(rng.integers(3, 15))
        private, epsilon = int(rng.integers(n)), float(rng.uniform(0.05, 3))
        chain = binary(alpha, beta)
        best = markov_quilt(chain, n, private, epsilon).utility()
        assert best <= data_independent_bound(chain, n, private, epsilon) + 1e-12
        exceeded += best > data_independent_bound(chain, n, private, epsilon, "published") + 1e-12
    assert exceeded > 20


def test_erratum_14_the_second_factor_of_the_gain_goes_to_one():
    alpha, beta, n = 0.01, 0.8, 10
    limit = 3 / (n * (1 + alpha / beta))
    assert three_region_gain(alpha, beta, n, 60.0, 3) == pytest.approx(limit, rel=1e-6)
    assert three_region_gain(alpha, beta, n, 1e-9, 3) == pytest.approx(0, abs=1e-9)
    assert three_region_gain(alpha, beta, n, 1.0, 0) == 0
    for epsilon in (0.25, 1.0, 2.0):  # it is the distance between ν_3R and the one-sided bound
        chain = binary(alpha, beta)
        middle = regions(chain, n, 0, epsilon).count("M")
        gain = published_utility(chain, n, 0, epsilon) - (1 - delta_star(chain, epsilon, n) / n)
        assert gain == pytest.approx(three_region_gain(alpha, beta, n, epsilon, middle))


@pytest.mark.parametrize("design", [markov_quilt, three_region])
@pytest.mark.parametrize(
    "setting",
    [
        (rt.MarkovChain([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]), 5, 0),
        (rt.MarkovChain.periodic([[[0.5, 0.5], [0.4, 0.6]], [[0.3, 0.7], [0.6, 0.4]]]), 5, 0),
        (rt.MarkovChain.binary(0.2, 0.3), 5, [0, 3]),
        (rt.MarkovChain.binary(0.2, 0.3), 5, (1, 2)),
        ([rt.MarkovChain.binary(0.2, 0.3), rt.MarkovChain.binary(0.2, 0.4)], 5, 0),
    ],
)
def test_published_mechanisms_exist_for_one_setting_only(design, setting):
    with pytest.raises(ValueError, match="two states"):
        design(*setting, 1.0, variant="published")
    with pytest.raises(ValueError, match="variant"):
        design(*setting, 1.0, variant="best")


@pytest.mark.parametrize("seed", range(25))
def test_calibrated_is_sound_by_enumeration_and_no_worse_than_the_window(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    n = int(rng.integers(2, 7 if size == 2 else 6))
    chains = [random_chain(rng, size, period=int(rng.integers(1, 3))) for _ in range(1 + seed % 2)]
    secrets = [(0, 0), (n - 1, n - 1)] if seed % 5 == 0 else [(n // 2, n // 2)]
    missing = [1] if n > 3 and seed % 3 == 0 and secrets[0][0] != 1 else []
    epsilon = float(rng.choice([0.0, 0.3, 1.0, 2.0]))
    policy = three_region(chains, n, secrets, epsilon, missing=missing)
    assert policy.leakage() <= epsilon
    assert policy.utility() >= markov_quilt(chains, n, secrets, epsilon, missing=missing).utility() - 1e-12
    law = local_law(policy.probabilities)
    for chain in chains:
        for secret in secrets:
            assert enumerated_leakage(chain, n, secret, law) <= epsilon + 1e-12


def test_calibrated_never_releases_less_for_a_larger_epsilon():
    """Also where one more value comes within the budget, which would cost the others more than it gives."""
    for chain, private in ((binary(0.01, 0.8), 0), (binary(0.1, 0.3), 3)):
        gained = [three_region(chain, 10, private, epsilon).utility() for epsilon in np.arange(0.05, 2.5, 0.05)]
        assert (np.diff(gained) >= -1e-12).all()
