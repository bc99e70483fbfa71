"""No release exceeds its guarantee: random chains, secrets and budgets, by enumeration. And the net has no hole: with a
kernel broken on purpose it is caught."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redaction_twin import enumerated_leakage, local_law, random_chain, random_policy, sequential_law

import reticent as rt
from reticent.redaction import (
    RedactionPolicy,
    kernels,
    markov_quilt,
    optimal_policy,
    sequential_redaction,
    three_region,
)

DESIGNS = {
    "quilt": markov_quilt,
    "three-region": three_region,
    "optimal": optimal_policy,
    "sequential": sequential_redaction,
}


@st.composite
def settings_of_a_release(draw):
    size = draw(st.integers(2, 4))
    n = draw(st.integers(2, {2: 7, 3: 5, 4: 4}[size]))
    seed = draw(st.integers(0, 2**32 - 1))
    chain = random_chain(np.random.default_rng(seed), size, draw(st.integers(1, 3)), draw(st.booleans()) and size > 2)
    hidden = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    places = [t for t in range(n) if hidden[t]][:2] or [0]
    secrets = [(t, t) for t in places]
    if draw(st.booleans()) and places[-1] < n - 1:
        secrets[-1] = (places[-1], places[-1] + 1)
    free = [t for t in range(n) if not any(a <= t <= b for a, b in secrets)]
    missing = [t for t in free if draw(st.integers(0, 9)) == 0]
    epsilon = draw(st.sampled_from([0.0, 0.05, 0.3, 0.8, 1.5, 3.0]))
    return chain, n, secrets, epsilon, missing


def true_leakage(mechanism, chain, n, secrets):
    law = local_law(mechanism.probabilities) if isinstance(mechanism, RedactionPolicy) else sequential_law(mechanism)
    return max(enumerated_leakage(chain, n, secret, law) for secret in secrets)


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=40)
@given(setting=settings_of_a_release())
def test_no_release_exceeds_its_guarantee(name, setting):
    chain, n, secrets, epsilon, missing = setting
    mechanism = DESIGNS[name](chain, n, secrets, epsilon, missing=missing)
    true = true_leakage(mechanism, chain, n, secrets)
    assert true <= mechanism.guarantee.epsilon + 1e-11
    assert mechanism.guarantee.epsilon <= epsilon + (1e-9 if name == "sequential" else 0)


def broken(what: str):
    """The walk away from a secret with one line of it forgotten, as an error in it might be."""

    def walk(steps, origin, r, start, direction, count, live):
        size = steps.shape[1]
        best, rows, t = np.zeros((size, size)), np.eye(size), start
        for _ in range(count):
            step = steps[(origin + min(t, t + direction)) % len(steps)]
            t += direction
            rows = rows @ (np.linalg.matrix_power(step, 2) if what == "a step too far" else step)
            events = [rows[:, v] for v in range(size) if r[t, v] < 1]
            rows = rows * ((r[t].max() > 0) if what == "the run of redactions is forgotten" else r[t])
            for event in events:
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratios = np.log(event[:, None] / event[None, :])
                best = np.fmax(best, np.where(event[:, None] > 0, ratios, 0))
            if not rows.any():
                return best
        if what != "the last event is forgotten":
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.log(rows.sum(axis=1)[:, None] / rows.sum(axis=1)[None, :])
            best = np.fmax(best, np.where(rows.sum(axis=1)[:, None] > 0, ratios, 0))
        return best

    return walk


@pytest.mark.parametrize(
    "what", ["the run of redactions is forgotten", "a step too far", "the last event is forgotten", "nothing"]
)
def test_a_broken_kernel_is_caught(monkeypatch, what):
    monkeypatch.setattr(kernels, "walk", broken(what))
    caught = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        chain = random_chain(rng, 2)
        n = 2 + seed % 3
        policy = RedactionPolicy(chain, random_policy(rng, n, 2, [(0, 0)]), 0)
        caught += true_leakage(policy, chain, n, [(0, 0)]) > policy.guarantee.epsilon + 1e-11
    assert (caught > 0) == (what != "nothing")


def test_coarsened_values_are_redacted_as_states():
    """Real values through declared edges: the states are what the chain models, and what is released."""
    edges = np.array([0.5, 2.0])
    watts = np.array([0.1, 0.2, 0.7, 3.5, 2.2, 0.4, 0.3, 0.1])
    names = ("idle", "low", "high")
    states = np.array(names)[np.searchsorted(edges, watts, side="right")]
    chain = rt.MarkovChain([[0.8, 0.15, 0.05], [0.3, 0.5, 0.2], [0.1, 0.4, 0.5]], names)
    out = optimal_policy(chain, 8, 3, 1.0).release(states, rt.seeded_source(0))
    assert out.mask[3]
    shown = ~out.mask
    assert (out.data[shown] == states[shown]).all()
    assert set(out.data[out.mask]) <= {""}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.5, 0.5], [0.5, 0.5]], 5, 2, 1.0), "chain"),
        ((rt.MarkovChain.binary(0.2, 0.3), 0, 0, 1.0), "n:"),
        ((rt.MarkovChain.binary(0.2, 0.3), 5.0, 2, 1.0), "n:"),
        ((rt.MarkovChain.binary(0.2, 0.3), 5, 5, 1.0), "private"),
        ((rt.MarkovChain.binary(0.2, 0.3), 5, [(1, 3), 2], 1.0), "overlap"),
        ((rt.MarkovChain.binary(0.2, 0.3), 5, 2, -0.1), "epsilon"),
        ((rt.MarkovChain.binary(0.2, 0.3), 5, 2, float("nan")), "epsilon"),
        ((rt.MarkovChain.binary(0.2, 0.3), 5, 2, float("inf")), "epsilon"),
    ],
)
def test_bad_arguments_are_refused_by_every_design(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        DESIGNS[name](*arguments)
