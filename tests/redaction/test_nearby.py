"""Designs on the stretch around the secrets are those on the whole series, and what is kept of them says all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import ArgumentError
from reticent.redaction import RedactionPolicy, markov_quilt, optimal_policy, three_region
from reticent.redaction.leakage import local_leakage
from reticent.redaction.markov_quilt import exact
from reticent.redaction.nearby import around
from reticent.redaction.optimal.policy import best
from reticent.redaction.three_region import rules

LAZY = rt.MarkovChain.binary(0.1, 0.3)
THREE = rt.MarkovChain([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]])
DAILY = rt.MarkovChain.periodic(
    [[[1 - a, a], [b, 1 - b]] for a, b in [(0.2, 0.3), (0.4, 0.1), (0.3, 0.35), (0.15, 0.25), (0.5, 0.2)]], phase=3
)
CHAINS = {"lazy": (LAZY,), "three": (THREE,), "daily": (DAILY,), "listed": (LAZY, rt.MarkovChain.binary(0.15, 0.25))}
DESIGNS: dict[str, tuple[Callable[..., RedactionPolicy], list[Callable[..., np.ndarray]]]] = {
    "quilt": (markov_quilt, [exact]),
    "three-region": (three_region, [rules, exact]),
    "optimal": (optimal_policy, [best]),
}
PLACES = {
    "middle": ([101], []),
    "interval": ([(90, 96)], []),
    "several": ([70, (80, 82), 110], []),
    "first": ([0], []),
    "near the end": ([195], []),
    "missing": ([101], [*range(98, 101), 103, 104, 150, *range(180, 200)]),
    "missing at the border": ([(100, 101), 120], [*range(30, 80), *range(135, 190)]),
}


def cases() -> list[object]:
    """All of them; where the optimal policy takes seconds only one by default."""
    long = [("three", "optimal", place) for place in PLACES if place != "middle"]
    long += [(name, "optimal", place) for name in ("lazy", "daily", "listed") for place in ("several", "interval")]
    each = [(name, design, place) for name in CHAINS for design in DESIGNS for place in PLACES]
    return [pytest.param(*one, marks=[pytest.mark.slow] if one in long else []) for one in each]


@pytest.mark.parametrize(("name", "design", "place"), cases())
def test_a_design_is_that_of_the_whole_series(name: str, design: str, place: str) -> None:
    chains, (secrets, missing) = CHAINS[name], PLACES[place]
    n = 2000 if name == "lazy" else 200
    intervals = tuple(each if isinstance(each, tuple) else (each, each) for each in secrets)
    if name == "lazy" and place == "near the end":
        intervals = ((1995, 1995),)
    made, wholes = DESIGNS[design]
    for epsilon in (0.4, 1.5):
        found = made(chains, n, list(intervals), epsilon, missing=missing)
        arrays = [whole(chains, n, intervals, epsilon, tuple(missing)) for whole in wholes]
        twins = [RedactionPolicy(chains, r, list(intervals), missing, epsilon) for r in arrays]
        twin = min(twins, key=lambda each: each.withheld)
        assert np.array_equal(found.probabilities, twin.probabilities)
        assert found == twin
        assert found.utility() == twin.utility()
        full = [max(local_leakage(chain, found.probabilities, each) for chain in chains) for each in intervals]
        assert found.leakages == tuple(full)  # bit by bit: what is compared with ε is of the policy that runs
        assert max(full) <= epsilon
        series = chains[0].sample(n, rt.seeded_source(3))
        one, other = (policy.release(series, rt.seeded_source(4)) for policy in (found, twin))
        assert np.array_equal(one.mask, other.mask)
        assert RedactionPolicy.from_dict(found.to_dict()) == found


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 24), st.sampled_from([LAZY, DAILY, THREE]))
def test_what_is_kept_says_all(data: st.DataObject, n: int, chain: rt.MarkovChain) -> None:
    row = st.lists(st.sampled_from([0.0, 0.0, 0.3, 1.0]), min_size=chain.size, max_size=chain.size)
    sure = st.just([0.0] * chain.size)
    r = np.array([data.draw(st.one_of(sure, sure, row)) for _ in range(n)])
    secret = data.draw(st.integers(0, n - 1))
    missing = data.draw(st.sets(st.integers(0, n - 1)))
    r[secret] = 1.0
    policy = RedactionPolicy(chain, r, secret, sorted(missing))
    r[list(missing)] = 1.0
    assert np.array_equal(policy.probabilities, np.where(r == 0.3, policy.probabilities, r))
    assert np.abs(policy.probabilities - r).max() < 1e-15
    r = policy.probabilities
    assert policy.leakages == (local_leakage(chain, r, (secret, secret)),)
    laws = chain.laws[(chain.phase + np.arange(n)) % chain.period]
    assert policy.utility() == pytest.approx(((1 - r) * laws).sum() / n, abs=1e-12)
    assert np.array_equal(policy.certain, (r == 1).all(axis=1))
    assert np.array_equal(policy.touched, (r > 0).any(axis=1))
    assert policy.word_count == ((r > 0) & (r < 1)).any(axis=1).sum()
    low, high = policy.low, policy.low + len(policy.near)
    beyond = np.ones(n, dtype=bool)
    beyond[low:high] = False
    assert set(np.flatnonzero(beyond & (r > 0).any(axis=1))) <= missing
    assert RedactionPolicy.from_dict(policy.to_dict()) == policy
    codes = chain.sample(n, rt.seeded_source(data.draw(st.integers(0, 99))))
    mask = policy.release(codes, rt.seeded_source(5)).mask
    chance = r[np.arange(n), codes]
    assert mask[chance == 1].all()
    assert not mask[chance == 0].any()


def test_a_design_that_releases_nothing_near_is_asked_for_more() -> None:
    asked = []

    def design(chains, n, secrets, epsilon, missing):  # type: ignore[no-untyped-def]
        asked.append(n)
        r = np.ones((n, 2))
        if n > 2000:
            r[:5], r[-5:] = 0.0, 0.0
        return r

    found = around((LAZY,), 100_000, ((50_000, 50_000),), 1.0, (), design)
    assert len(asked) > 1
    assert asked[-1] > 2000
    assert len(found.near) == asked[-1] - 8
    assert found.leakage() == local_leakage(LAZY, found.probabilities, (50_000, 50_000))


def test_around_refuses_a_stretch_without_its_secrets() -> None:
    with pytest.raises(ArgumentError, match="inside a secret"):
        RedactionPolicy.around(LAZY, 100, 40, np.zeros((20, 2)), [10])
    with pytest.raises(ArgumentError, match="shape"):
        RedactionPolicy.around(LAZY, 100, 90, np.ones((20, 2)), [95])
