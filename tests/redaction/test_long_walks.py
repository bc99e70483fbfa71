"""A sequential redaction of a long series: what is cut off changes nothing, and costs nothing."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterable
from functools import reduce
from operator import add

import numpy as np
import pytest
from redaction_twin import random_chain

import reticent as rt
from reticent.errors import ArgumentError
from reticent.redaction import SequentialRedaction, sequential_redaction
from reticent.redaction.sequential import design, kernels, plan, walks
from reticent.redaction.sequential.walks import LEFT, RIGHT, Walk, setting, stride

ORDINARY = rt.MarkovChain([[0.9, 0.1], [0.2, 0.8]])
Rows = list[list[float]]


def step_of(chain: rt.MarkovChain, direction: int, t: int) -> np.ndarray:
    """The law of the next record in a direction, from record t."""
    return chain.step(t) if direction == RIGHT else chain.back(t - 1)


def added(terms: Iterable[float]) -> float:
    """One after the other: `sum` rounds otherwise from Python 3.12 on."""
    return reduce(add, terms, 0.0)


def moved(rows: Rows, step: np.ndarray) -> Rows:
    return [[added(row[u] * float(step[u, v]) for u in range(len(row))) for v in range(len(row))] for row in rows]


def unit(size: int) -> Rows:
    return [[float(x == v) for v in range(size)] for x in range(size)]


def slow_chain(rng: np.random.Generator, moves: float) -> rt.MarkovChain:
    """A periodic chain that stays where it is but for a share `moves` of its steps."""
    steps = rng.dirichlet(np.full(size := int(rng.integers(2, 4)), 0.5), size=(int(rng.integers(1, 4)), size))
    mixed = moves * (0.01 / size + 0.99 * steps) + (1 - moves) * np.eye(size)
    return rt.MarkovChain.periodic(mixed / mixed.sum(axis=2, keepdims=True), phase=int(rng.integers(3)))


def share_of(part: float, whole: float) -> float:
    if whole <= 0 or part >= whole:
        return float(whole > 0)
    return math.floor(part / whole * 2.0**64) / 2.0**64


def greedy(chain: rt.MarkovChain, direction: int, present: list[bool], epsilon: float) -> list[Rows]:
    """The greedy law at ε > 0 from the secret to the end of the series, record by record."""
    size = chain.size
    rows = unit(size)
    out = [[[0.0] * size for _ in range(size)]]
    going = True
    for distance in range(1, len(present)):
        rows = moved(rows, step_of(chain, direction, direction * (distance - 1)))
        table = [[0.0] * size for _ in range(size)]
        if present[distance] and going:
            for v in range(size):
                low = min(row[v] * share_of(row[v], row[v]) for row in rows)
                shares = [share_of(min(row[v], math.exp(epsilon) * low), row[v]) for row in rows]
                if low > 0 and min(shares) >= 2.0**-20:
                    for x in range(size):
                        table[x][v] = shares[x]
                        rows[x][v] *= 1.0 - shares[x]
            going = any(added(row) >= 2.0**-50 for row in rows)
        out.append(table)
    return out


@pytest.mark.parametrize("seed", range(60))
def test_the_greedy_law_ends_where_nothing_more_would_be_released(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = slow_chain(rng, float(rng.choice([1.0, 0.3, 0.05])))
    present = np.concatenate([[False], rng.uniform(size=250) > rng.choice([0.0, 0.3])])
    epsilon, direction = float(rng.choice([0.05, 0.5, 2.0])), int(rng.choice([LEFT, RIGHT]))
    free = np.full((present.size, chain.size, chain.size), np.inf)
    release, _, _, _ = kernels.carry(*setting(chain, 0, direction), present, free, epsilon)
    assert np.array_equal(release, greedy(chain, direction, present.tolist(), epsilon))


def ratios(chain: rt.MarkovChain, walk: Walk, epsilon: float = 0.0) -> np.ndarray:
    """Largest log-ratios of what a walk shows, record by record to the very end: every event, in plain Python."""
    size = chain.size
    rows, events = unit(size), []
    for distance in range(1, walk.count + 1):
        rows = moved(rows, step_of(chain, walk.direction, walk.start + walk.direction * (distance - 1)))
        if distance < len(walk.release):
            for v in range(size):
                events.append([rows[x][v] * walk.release[distance, x, v] for x in range(size)])
                for x in range(size):
                    rows[x][v] *= 1.0 - walk.release[distance, x, v]
    if walk.joined:
        rows = moved(rows, step_of(chain, walk.direction, walk.start + walk.direction * walk.count))
        events += [[rows[x][v] for x in range(size)] for v in range(size)]
    else:
        events.append([added(row) for row in rows])
    best = np.zeros((size, size))
    for event in events:
        for x in range(size):
            for y in range(size):
                if x != y and event[x] > 0:
                    best[x, y] = max(best[x, y], math.log(event[x] / event[y]) if event[y] > 0 else math.inf)
    return best


@pytest.mark.parametrize("seed", range(40))
def test_what_a_long_walk_shows_is_bounded_to_the_very_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the chain has forgotten nothing when the table ends, and with laws that no design would choose."""
    monkeypatch.setattr(walks, "FAR", int(1 + seed % 5))
    monkeypatch.setattr(walks, "FEW", 4)
    rng = np.random.default_rng(seed)
    chain = slow_chain(rng, (1.0, 0.3, 0.03)[seed % 3])
    count, direction = int(rng.integers(1, 60)), int(rng.choice([LEFT, RIGHT]))
    table = np.floor(rng.uniform(size=(int(rng.integers(1, min(count, 12) + 1)), chain.size, chain.size)) * 256) / 256
    table[0] = 0
    for joined in (False, True):
        walk = Walk(150, direction, count, joined, table, np.arange(count + 1) > 0)
        claimed, true = walk.seen(chain, (150, 150)), ratios(chain, walk)
        assert (claimed >= true).all()
        assert claimed == pytest.approx(true, abs=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_taken_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, int(rng.integers(2, 4)), period=int(rng.integers(1, 5)))
    direction, count, start = int(rng.choice([LEFT, RIGHT])), int(rng.integers(0, 400)), int(rng.integers(50))
    rows = unit(chain.size)
    for i in range(count):
        rows = moved(rows, step_of(chain, direction, start + direction * i))
    assert stride(chain, direction, start, count) == pytest.approx(np.array(rows), rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_a_cut_walk_knows_how_far_the_next_one_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, direction = slow_chain(rng, 0.1), int(rng.choice([LEFT, RIGHT]))
    present, near = np.arange(120) > 0, int(rng.integers(10, 119))
    places = np.array([3, 7])
    whole = design.Ahead(chain, direction, present, 0, 0, True)
    cut = design.Ahead(chain, direction, present[: near + 1], 119 - near, 119 - near, True)
    assert cut.hops(places) == pytest.approx(whole.hops(places), rel=1e-12)
    assert np.array_equal(cut.onward, whole.onward[: near + 1])


def test_what_cannot_be_told_from_zero_is_refused() -> None:
    chain = rt.MarkovChain((1 - 1e-60) * np.eye(4) + 1e-60 * np.roll(np.eye(4), 1, axis=1))
    for count in (5, 100_000):
        with pytest.raises(ArgumentError, match="too small"):
            stride(chain, RIGHT, 0, count)


def designed(chain: rt.MarkovChain, n: int, at_first: int, patch: pytest.MonkeyPatch, **asked: object) -> object:
    """A design whose horizon is looked for from `at_first` records on."""
    patch.setattr(plan, "AT_FIRST", at_first)
    plan._designed.cache_clear()
    try:
        return sequential_redaction(chain, n, **asked)  # type: ignore[arg-type]
    finally:
        plan._designed.cache_clear()


@pytest.mark.parametrize("seed", range(12))
def test_a_design_is_that_of_the_whole_series(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    size = 2 if seed % 3 else 3
    chain = random_chain(rng, size, period=int(rng.integers(1, 3)))
    n = int(rng.integers(150, 500))
    secrets = np.sort(rng.choice(n, size=int(rng.integers(1, 3)), replace=False)).tolist()
    gone = np.flatnonzero(rng.uniform(size=n) < rng.choice([0.0, 0.3]))
    asked = {
        "private": secrets,
        "epsilon": float(rng.choice([0.0, 0.2, 1.0])),
        "missing": np.setdiff1d(gone, secrets),
        "reach": None if seed % 4 else 120,
    }
    whole = designed(chain, n, 1 << 12, monkeypatch, **asked)
    cut = designed(chain, n, 16, monkeypatch, **asked)
    assert [len(walk.release) for walk in cut.walks] == [len(walk.release) for walk in whole.walks]
    for one, other in zip(cut.walks, whole.walks, strict=True):
        assert one.release == pytest.approx(other.release, abs=1e-9)
        assert (one.seen(chain, (one.start, one.start)) >= ratios(chain, one)).all()
    assert cut.utility() == pytest.approx(whole.utility(), abs=1e-10)
    codes = chain.sample(n, rt.seeded_source(seed)).astype(object)
    codes[asked["missing"]] = None
    released = [each.release(codes, rt.seeded_source(1)).mask for each in (cut, whole)]
    assert np.array_equal(*released)


@pytest.mark.parametrize(
    ("private", "epsilon"),
    [(0, 1.0), (1_500_000, 1.0), (1_500_000, 0.0), ([(700_000, 700_010), 2_999_999], 0.7)],
)
def test_a_series_of_millions_costs_what_its_secrets_do(private: object, epsilon: float) -> None:
    n = 3_000_000
    plan._designed.cache_clear()
    design.best_walk.cache_clear()
    tracemalloc.start()
    try:
        found = sequential_redaction(ORDINARY, n, private, epsilon)  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * n, "a few masks of the series, and no table of it"
    assert found.leakage() <= epsilon + 1e-9
    assert found.utility() > 1 - 400 / n
    assert all(len(walk.release) < 200 for walk in found.walks)
    text = found.to_json()
    assert len(text) < 60_000
    again = SequentialRedaction.from_json(text)
    assert again.leakages == found.leakages
    assert again.utility() == found.utility()


def test_where_nothing_can_be_released_no_table_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design, "HOPELESS", 1 << 10)
    found = sequential_redaction(rt.MarkovChain([[0.0, 1.0], [1.0, 0.0]]), 1_000_000, 500_000, 1.0)
    assert [len(walk.release) for walk in found.walks] == [1, 1]
    assert found.utility() == 0
    assert found.leakage() < 1e-12


def test_a_long_gap_of_missing_records_is_walked_through() -> None:
    n, slow = 60_000, rt.MarkovChain.binary(1e-4, 1e-4)
    found = sequential_redaction(slow, n, 0, 0.5, np.arange(1, 30_000))
    assert found.utility() > 0.49
    assert found.leakage() <= 0.5
    none = sequential_redaction(slow, n, 0, 0.5, np.arange(1, n))
    assert none.utility() == 0
    assert none.missing == tuple(range(1, n))


def test_either_side_has_its_own_horizon() -> None:
    """Of a reversible chain both sides are designed alike, but other records may be missing: all, on one side."""
    n = 10_001
    none_left = sequential_redaction(ORDINARY, n, 5_000, 1.0, np.arange(5_000))
    none_right = sequential_redaction(ORDINARY, n, 5_000, 1.0, np.arange(5_001, n))
    assert none_left.utility() == pytest.approx(none_right.utility(), abs=1e-12)
    assert none_left.utility() > 0.499


def test_two_secrets_far_apart_need_no_budget() -> None:
    """Perfect privacy: rounding over the 1e7 steps between them would by itself exceed what is tolerated."""
    found = sequential_redaction(ORDINARY, 10_000_000, [10, 9_999_980], 0.0)
    assert len(found.walks) == 4
    assert found.leakage() < 1e-9
    assert found.utility() > 1 - 100 / 10_000_000
