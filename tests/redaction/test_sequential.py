"""The sequential redaction: optimal, sound, drawn once."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from redaction_twin import enumerated_leakage, enumerated_utility, random_chain, sequential_law
from scipy import stats

import reticent as rt
from reticent.errors import RefusedError
from reticent.redaction import RedactionPolicy, SequentialRedaction, markov_quilt, redact_batch, sequential_redaction
from reticent.redaction.leakage import TOLERANCE
from reticent.redaction.sequential import kernels
from shared_data import shared_vectors

binary = rt.MarkovChain.binary


def test_utility_is_that_of_the_vectors():
    for vector in shared_vectors("sequential_redaction_optimum"):
        found = sequential_redaction(binary(vector["alpha"], vector["beta"]), vector["n"], 0, vector["epsilon"])
        assert found.utility() >= vector["utility"] - 1e-6
        assert found.leakage() <= vector["epsilon"] + 1e-12


@pytest.mark.parametrize(
    ("epsilon", "utility"), [(0.25, 0.8819), (0.5, 0.8861), (1.0, 0.892), (1.5, 0.8955), (2.0, 0.8977)]
)
def test_figure_3_setting(epsilon, utility):
    assert sequential_redaction(binary(0.01, 0.8), 10, 0, epsilon).utility() >= utility - 5e-5


@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.02, 0.2), (0.3, 0.6), (0.6, 0.9), (1e-4, 1e-4), (1e-4, 1e-2), (0.45, 0.5)]
)
@pytest.mark.parametrize("n", [2, 50, 1001])
def test_perfect_privacy_equals_the_closed_form(alpha, beta, n):
    found = sequential_redaction(binary(alpha, beta), n, 0, 0.0)
    decay = abs(1 - alpha - beta)
    assert found.utility() == pytest.approx(1 - (1 + sum(decay**t for t in range(1, n))) / n, abs=1e-12)
    assert found.leakage() < 2e-11
    assert all((walk.release >= 0).all() for walk in found.walks)


def test_perfect_privacy_has_a_constant_price():
    decay = 1 - 0.05 - 0.1
    withheld = 2001 * (1 - sequential_redaction(binary(0.05, 0.1), 2001, 1000, 0.0).utility())
    assert withheld == pytest.approx(1 + 2 * decay / (1 - decay), abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_one_secret_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    n = int(rng.integers(2, 8 if size == 2 else 6))
    chain = random_chain(rng, size, period=int(rng.integers(1, 3)), zeros=size == 3 and seed % 4 == 0)
    first = int(rng.integers(n))
    last = min(n - 1, first + int(rng.integers(0, 2)))
    missing = [t for t in range(n) if not first <= t <= last and rng.uniform() < 0.2]
    epsilon = float(rng.choice([0.0, 0.2, 0.7, 1.5]))
    found = sequential_redaction(chain, n, (first, last), epsilon, missing)
    law = sequential_law(found)
    assert found.leakage() == pytest.approx(enumerated_leakage(chain, n, (first, last), law), abs=1e-11)
    assert found.leakage() <= epsilon + 1e-11
    assert found.utility() == pytest.approx(enumerated_utility(chain, n, law), abs=1e-12)
    assert found.utility() >= markov_quilt(chain, n, (first, last), epsilon, missing=missing).utility() - 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_several_secrets_never_leak_more_by_enumeration(seed):
    rng = np.random.default_rng(1000 + seed)
    size = 2 if seed % 3 else 3
    n = 8 if size == 2 else 6
    chain = random_chain(rng, size, period=int(rng.integers(1, 3)))
    places = np.sort(rng.choice(n, size=int(rng.integers(2, 4)), replace=False)).tolist()
    secrets = [(t, t) for t in places]
    epsilon = float(rng.choice([0.0, 0.3, 1.0, 2.0, 3.0]))
    found = sequential_redaction(chain, n, secrets, epsilon)
    law = sequential_law(found)
    for secret, claimed in zip(secrets, found.leakages, strict=True):
        true = enumerated_leakage(chain, n, secret, law)
        assert true <= claimed + 1e-11
        assert true <= epsilon + 1e-9
    assert found.utility() == pytest.approx(enumerated_utility(chain, n, law), abs=1e-12)


def test_what_passes_through_a_redacted_gap_counts():
    # α=β=.1, n=5, secrets 1 and 3: ε = 1 spent on each outer side leaks 1.61, not 1
    chain = binary(0.1, 0.1)
    left = sequential_redaction(chain, 2, 1, 1.0).walks[0]
    right = sequential_redaction(chain, 2, 0, 1.0).walks[1]
    walks = [
        type(left)(1, -1, 1, False, left.release, left.present),
        type(right)(3, 1, 1, False, right.release, right.present),
    ]
    careless = SequentialRedaction(chain, 5, [1, 3], walks)
    assert careless.leakage() == pytest.approx(1.61, abs=5e-3)
    law = sequential_law(careless)
    assert careless.leakage() == pytest.approx(
        max(enumerated_leakage(chain, 5, (t, t), law) for t in (1, 3)), abs=1e-11
    )
    found = sequential_redaction(chain, 5, [1, 3], 1.0)
    assert found.leakage() <= 1.0


def test_drawn_twice_it_leaks_without_bound():
    chain, n = binary(0.2, 0.3), 4
    found = sequential_redaction(chain, n, 0, 0.0)
    once = sequential_law(found)

    def twice(values):
        return {a + b: p * q for a, p in once(values).items() for b, q in once(values).items()}

    assert enumerated_leakage(chain, n, (0, 0), once) < 1e-12
    assert enumerated_leakage(chain, n, (0, 0), twice) == math.inf
    with pytest.raises(RefusedError, match="once"):
        found.composed(found)
    with pytest.raises(RefusedError, match="once"):
        RedactionPolicy(chain, np.ones((n, 2)), 0).composed(found)
    with pytest.raises(RefusedError, match="whole series"):
        found.for_record(2)


def test_one_chain_only():
    with pytest.raises(ValueError, match="one chain"):
        sequential_redaction([binary(0.1, 0.2), binary(0.1, 0.3)], 5, 2, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [1e-4, 1e-3, 0.02, 0.5, 0.97])
@pytest.mark.parametrize("beta", [1e-4, 0.01, 0.3, 0.95])
def test_sound_for_slow_and_alternating_chains_and_long_sides(alpha, beta):
    for n, epsilon in ((41, 0.01), (201, 0.5), (1001, 1.0)):
        found = sequential_redaction(binary(alpha, beta), n, n // 3, epsilon)
        assert found.leakage() <= epsilon + 1e-11
        assert all(((walk.release >= 0) & (walk.release <= 1)).all() for walk in found.walks)
        assert found.utility() >= sequential_redaction(binary(alpha, beta), n, n // 3, 0.0).utility() - 1e-7


def test_many_secrets_in_a_long_series():
    chain = binary(0.02, 0.2)
    secrets = [100, (140, 150), 152, 5_000, 30_000]
    found = sequential_redaction(chain, 40_000, secrets, 0.5)
    assert max(found.leakages) <= 0.5 + TOLERANCE
    assert len(found.walks) == 8  # 152 is in one cluster with the interval before it
    assert found.utility() > markov_quilt(chain, 40_000, secrets, 0.5).utility()
    assert len(found.to_json()) < 200_000


def test_at_a_positive_budget_holding_back_can_beat_the_greedy_law():
    """The greedy law, whose last event needs no repair here, withholds 4.534 records of this walk with the secret."""
    utility = sequential_redaction(rt.MarkovChain.binary(0.01, 0.05), 7, 0, 1.0).utility()
    assert 7 * (1 - utility) == pytest.approx(4.5113708, abs=1e-6)


def test_a_solver_without_tolerance_for_pure_epsilon_is_repaired():
    # the raw programme ends with masses of -1e-11 or 0 against 1e-12; what is released never does
    found = sequential_redaction(binary(0.02, 0.2), 60, 0, 1.0)
    assert math.isfinite(found.leakage())
    assert found.leakage() <= 1.0


@pytest.mark.parametrize("secrets", [[0], [5], [(3, 5)], [2, 8]])
def test_round_trip_is_exact(secrets):
    found = sequential_redaction(binary(0.02, 0.2), 12, secrets, 0.7, [1, 10])
    again = SequentialRedaction.from_json(found.to_json())
    assert again == found
    assert again.leakages == found.leakages
    assert again.utility() == found.utility()
    assert json.loads(found.to_json())["mechanism"] == "sequential_redaction"
    with pytest.raises(ValueError, match="mechanism"):
        SequentialRedaction.from_dict({"mechanism": "redaction_policy"})
    assert "once" in found.describe()


def test_a_boundless_budget_releases_all_but_the_secret():
    found = sequential_redaction(binary(0.2, 0.3), 8, 3, 1e308)
    assert found.utility() == pytest.approx(7 / 8, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_a_secret_of_one_possible_value_needs_nothing_hidden(epsilon):
    for chain in (
        rt.MarkovChain([[1.0, 0.0], [0.2, 0.8]]),
        rt.MarkovChain.periodic([[[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [1.0, 0.0]]]),  # at every other instant
    ):
        found = sequential_redaction(chain, 7, 2, epsilon)
        assert found.leakage() == 0
        assert found.utility() == pytest.approx(6 / 7, abs=1e-12)
        assert enumerated_leakage(chain, 7, (2, 2), sequential_law(found)) == 0


def test_walks_that_cross_are_refused():
    walks = sequential_redaction(binary(0.02, 0.2), 12, 5, 0.7).walks
    with pytest.raises(ValueError, match="walk"):
        SequentialRedaction(binary(0.02, 0.2), 12, [5, 7], walks)


def test_above_what_was_asked_nothing_is_released():
    walks = sequential_redaction(binary(0.02, 0.2), 12, 5, 0.7).walks
    claimed = SequentialRedaction(binary(0.02, 0.2), 12, 5, walks, (), 0.5)
    with pytest.raises(RefusedError, match="leaks"):
        claimed.release([0] * 12)


def test_batch_equals_release_missing_secrets_included():
    rng = np.random.default_rng(8)
    chain = random_chain(rng, 3)
    mechanisms = [sequential_redaction(chain, 9, [2, 6], 0.8, [0]), markov_quilt(chain, 9, 4, 1.0)]
    which = rng.integers(0, 2, size=60)
    codes = rng.integers(0, 3, size=(60, 9))
    codes[which == 0, 0] = -1
    codes[::4, 2] = np.where(which[::4] == 0, -1, codes[::4, 2])
    source = rt.seeded_source(3)
    mask = redact_batch(mechanisms, which, codes.ravel(), 9 * np.arange(61), source, range(60)).reshape(60, 9)
    for i in range(60):
        states = [None if v < 0 else int(v) for v in codes[i]]
        assert mechanisms[which[i]].release(states, source.spawn(i)).mask.tolist() == mask[i].tolist()
        assert mask[i, [2, 6] if which[i] == 0 else [4]].all()


def test_a_missing_record_on_a_walk_must_be_declared():
    found = sequential_redaction(binary(0.2, 0.3), 6, 2, 0.5)
    with pytest.raises(ValueError, match="not declared missing"):
        found.release([0, 0, 0, 0, None, 0])
    assert found.release([0, 0, None, 0, 0, 0]).mask[2]


def patterns(mask: np.ndarray, n: int) -> np.ndarray:
    return mask.reshape(-1, n) @ (1 << np.arange(n))


def test_frequencies_are_those_of_the_law():
    chain, n, m = binary(0.2, 0.3), 6, 100_000
    found = sequential_redaction(chain, n, 2, 0.4)
    values = (1, 0, 0, 1, 1, 0)
    mask = redact_batch(
        [found], np.zeros(m, int), np.tile(values, m), n * np.arange(m + 1), rt.seeded_source(1), range(m)
    )
    expected = {
        sum(1 << t for t in range(n) if seen[t] < 0): m * p for seen, p in sequential_law(found)(values).items()
    }
    seen = dict(zip(*np.unique(patterns(mask, n), return_counts=True), strict=True))
    assert set(seen) <= set(expected)
    kept = [key for key, count in expected.items() if count > 5]
    counts = np.array([seen.get(key, 0) for key in kept], dtype=float)
    wanted = np.array([expected[key] for key in kept])
    assert stats.chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue > 1e-3


def test_a_missing_secret_shows_as_any_other():
    """Over series drawn from the chain, the law of the release does not depend on whether the secret was there."""
    chain, n, m = binary(0.3, 0.4), 4, 60_000
    found = sequential_redaction(chain, n, 1, 0.3)
    rng = np.random.default_rng(4)
    codes = np.empty((2 * m, n), dtype=np.int64)
    codes[:, 0] = rng.uniform(size=2 * m) < chain.stationary[1]
    for t in range(1, n):
        codes[:, t] = rng.uniform(size=2 * m) < chain.transition[codes[:, t - 1], 1]
    codes[m:, 1] = -1
    mask = redact_batch(
        [found], np.zeros(2 * m, int), codes.ravel(), n * np.arange(2 * m + 1), rt.seeded_source(1), range(2 * m)
    ).reshape(-1, n)
    shown = np.where(mask, 2, codes) @ (3 ** np.arange(n))
    table = [np.bincount(part, minlength=3**n) for part in (shown[:m], shown[m:])]
    used = np.sum(table, axis=0) > 10
    assert stats.chi2_contingency(np.array(table)[:, used]).pvalue > 1e-3


def test_the_carried_law_is_that_of_the_release_probabilities():
    found = sequential_redaction(binary(0.1, 0.3), 30, 0, 0.5)
    walk = found.walks[1]
    chain = found.chain
    first = kernels.first_release(chain.transitions, 0, 0, 1, np.array([True, True]), walk.release)
    open_ = np.eye(2)
    for distance in range(1, len(walk.release)):
        here = open_ @ chain.transition
        assert first[distance] == pytest.approx(here * walk.release[distance], abs=1e-15)
        assert (first[distance] <= math.exp(0.5) * first[distance][::-1] + 1e-15).all()
        open_ = here - first[distance]
        assert (open_ >= -1e-15).all()


def _altered(change):
    found = sequential_redaction(binary(0.2, 0.3), 12, [3, 8], 1.5)
    assert len(found.walks) == 4
    data = found.to_dict()
    data["walks"] = [{**walk, "starts": [start]} for walk in data["walks"] for start in walk["starts"]]
    data["walks"].sort(key=lambda walk: (walk["starts"], walk["direction"]))
    change(data["walks"])
    return data


def _set(at, **fields):
    return lambda walks: walks[at].update(fields)


@pytest.mark.parametrize(
    "change",
    [
        lambda walks: walks.pop(2),  # what the walk from 3 to the right releases tells of 8
        lambda walks: walks.pop(),
        lambda walks: walks.clear(),
        _set(1, joined=False),
        _set(2, joined=False),
        _set(0, starts=[4]),
        _set(0, release=[[1, 1, [[1.5, 0], [0, 0]]]]),
        _set(0, release=[[1, 1, [[-0.5, 0], [0, 0]]]]),
        _set(0, release=[[1, 1, [[math.nan, 0], [0, 0]]]]),
        _set(0, release=[[1, 1, [[1.5 * 2.0**-64, 0], [2.0**-64, 0]]]]),
        _set(0, release=[[1, 9, [[0.5, 0.5], [0.5, 0.5]]]]),
        _set(0, release=[[0, 1, [[0.5, 0.5], [0.5, 0.5]]]]),
    ],
)
def test_walks_whose_leakage_would_be_understated_are_refused(change):
    assert SequentialRedaction.from_dict(_altered(lambda walks: None)).leakage() <= 1.5
    with pytest.raises(ValueError, match="walks"):
        SequentialRedaction.from_dict(_altered(change))


@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, 1e-4])
def test_a_little_leakage_is_no_worse_than_none(epsilon: float) -> None:
    """The programme's tolerances are felt where ε is hardly more than 0; then perfect privacy is the better law."""
    chain = rt.MarkovChain.binary(0.02, 0.2)
    none, little = (rt.sequential_redaction(chain, 2000, 1000, each) for each in (0.0, epsilon))
    assert little.utility() >= none.utility() - 1e-9
    assert little.leakage() <= epsilon
