"""Aggregates: exact sums, public rosters, and never more outputs than certified."""

from __future__ import annotations

import itertools
import json
import statistics
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from quantization_twin import cell

from reticent.errors import ArgumentError, InputError, RefusedError
from reticent.quantization import AggregateQuantization, LinearQuantizer, PublicationRule, Roster
from reticent.quantization.fixed_point import FixedPoint
from reticent.quantization.plans import Geometry, Plan, most_outputs

FOUR = Roster(4)


def mean_of_four(**options: Any) -> AggregateQuantization:
    return AggregateQuantization("mean", None, 0, 10, resolution="0.001", **{"bits": 1, **options})


# --- the theorem, in floats and exactly ------------------------------------------------------------------------------


def test_floats_break_the_theorem_and_exact_sums_do_not() -> None:
    """The design's example: mean of 1.1, 8.2, 0.7 and x over [0, 10]; four cells, of which two may be reached."""
    x = np.arange(0, 10_001) / 1000
    edges = np.array([2.5, 5, 7.5])
    floats = np.searchsorted(edges, (1.1 + 8.2 + 0.7 + x) / 4, side="right")
    assert len(set(floats.tolist())) == 3
    aggregate = mean_of_four()
    values = np.column_stack([np.full(x.size, 1.1), np.full(x.size, 8.2), np.full(x.size, 0.7), x]).ravel()
    codes = aggregate.encode(values, [FOUR] * x.size, np.repeat(np.arange(x.size), 4))
    assert aggregate.plan(FOUR).quantizer.levels == 4
    assert len(set(codes.tolist())) == 2


def test_erratum_9_levels() -> None:
    plan = mean_of_four().plan(FOUR)
    assert (plan.quantizer.levels, plan.outputs) == (4, 2)


@pytest.mark.parametrize(("query", "bits"), [("mean", 1), ("mean", 2), ("sum", "1.6"), ("max", 2), ("min", 2)])
def test_a_million_decimal_inputs_never_reach_more_than_certified(query: str, bits: Any) -> None:
    aggregate = AggregateQuantization(query, None, 0, 10, bits, resolution="0.1")
    others = np.random.default_rng(3).integers(0, 101, size=(9901, 3))
    others[:50] = np.random.default_rng(4).integers(0, 3, size=(50, 3)) * 50  # sums at and beside the edges
    units = np.concatenate([np.repeat(others, 101, axis=0), np.tile(np.arange(101), 9901)[:, None]], axis=1)
    assert len(units) >= 10**6
    codes = aggregate.encode(units.ravel() / 10, [FOUR] * len(units), np.repeat(np.arange(len(units)), 4))
    reached = max(len(set(row)) for row in codes.reshape(9901, 101).tolist())
    assert reached == aggregate.plan(FOUR).outputs <= aggregate.outputs


def brute(aggregate: AggregateQuantization, roster: Roster, domain: list[Any]) -> int:
    """The most distinct releases as one individual takes every value, whatever the others have."""
    worst = 0
    people = np.repeat(np.arange(roster.individuals), roster.most_rows)[: roster.rows]
    mine = int((people == 0).sum())
    own = list(itertools.product(domain, repeat=mine))
    for others in itertools.product(domain, repeat=roster.rows - mine):
        values = [value for choice in own for value in (*choice, *others)]
        groups = np.repeat(np.arange(len(own)), roster.rows)
        codes = aggregate.encode(values, [roster] * len(own), groups, np.tile(people, len(own)))
        worst = max(worst, len(set(codes.tolist())))
    return worst


@given(st.data())
@settings(max_examples=60)
def test_certified_outputs_are_those_that_enumeration_finds(data: st.DataObject) -> None:
    low = data.draw(st.integers(0, 3))
    high = low + data.draw(st.integers(1, 4))
    query = data.draw(st.sampled_from(["mean", "sum", "min", "max", "count"]))
    roster = Roster(*data.draw(st.sampled_from([(1, None), (2, None), (3, None), (2, 3, 2), (2, 4, 2)])))
    rule = data.draw(st.sampled_from([None, "2/60", "(1,70)", "10%"]))
    private = query == "count" or data.draw(st.booleans())
    assume(not (rule == "2/60" and roster.individuals < 2))
    ends = () if query == "count" else (low, high)
    aggregate = AggregateQuantization(
        query,
        None,
        *(ends or (None, None)),
        outputs=data.draw(st.integers(2, 6)),
        resolution=None if query == "count" else 1,
        rule=rule,
        participation="private" if private else "public",
    )
    domain = [*range(low, high + 1), *([None] if private else [])]
    reached = brute(aggregate, roster, domain)
    certified = aggregate.plan(roster).outputs
    assert reached <= certified <= aggregate.outputs
    if not private and rule is None:
        assert reached == certified


def test_counting_thresholds_equals_trying_every_window() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        last = int(rng.integers(1, 40))
        inner = sorted(rng.integers(-5, last + 5, size=int(rng.integers(0, 12))).tolist())
        reach = int(rng.integers(0, last + 1))
        codes = [sum(value >= t for t in inner) for value in range(last + 1)]
        tried = max(len(set(codes[s : s + reach + 1])) for s in range(last - reach + 1))
        assert most_outputs(inner, 0, last, reach) == tried


def test_a_plan_over_its_budget_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.quantization.plans.levels_for", lambda *_, **__: 8)  # the paper's rule
    with pytest.raises(RefusedError, match="3, more than the budget of 2"):
        Plan.make(Geometry(0, 40_000, 10_000, Fraction(1, 4000)), 2, 0, None, "midpoint")


# --- queries against plain fractions ---------------------------------------------------------------------------------


@given(st.data(), st.sampled_from(["mean", "sum", "min", "max"]), st.sampled_from([np.float64, np.float32, object]))
def test_queries_match_plain_fractions(data: st.DataObject, query: str, kind: Any) -> None:
    low = data.draw(st.decimals(-5, 5, places=1))
    high = low + data.draw(st.decimals("0.1", 10, places=1))
    aggregate = AggregateQuantization(
        query, None, low, high, outputs=data.draw(st.integers(2, 9)), resolution="0.1", participation="private"
    )
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    tenths = st.integers(int(low * 10), int(high * 10))
    values, groups, expected = [], [], []
    for g, size in enumerate(sizes):
        drawn = data.draw(st.lists(st.none() | tenths, min_size=size, max_size=size))
        there = [Fraction(value, 10) for value in drawn if value is not None]
        values += [None if value is None else Decimal(value) / 10 for value in drawn]
        groups += [g] * size
        total = sum(there, Fraction(0))
        truth = {
            "mean": total / size,
            "sum": total,
            "min": min(there, default=None),
            "max": max(there, default=None),
        }[query]
        edges = list(aggregate.plan(Roster(size)).quantizer.edges)
        expected.append(-1 if truth is None else cell(truth, edges))
    array = np.array(values, dtype=object)
    if kind is not object:
        array = np.array([np.nan if value is None else float(value) for value in values]).astype(kind)
    shuffled = np.random.default_rng(0).permutation(len(values))
    codes = aggregate.encode(array[shuffled], [Roster(size) for size in sizes], np.array(groups)[shuffled])
    assert codes.tolist() == expected


@given(st.data())
def test_one_reading_gets_the_cell_of_the_library(data: st.DataObject) -> None:
    """A group of one: the aggregate is the reading itself, on and beside the edges too."""
    low = data.draw(st.decimals(-5, 5, places=2))
    high = low + data.draw(st.decimals("0.05", 10, places=2))
    levels = data.draw(st.integers(1, 4))
    mean = AggregateQuantization("mean", None, low, high, outputs=levels, resolution="0.01")
    values = np.arange(int(low * 100), int(high * 100) + 1) / 100
    expected = LinearQuantizer(low, high, levels).encode(values).tolist()
    for array in (values, values.astype(np.float32)):
        assert mean.encode(array, [Roster(1)] * values.size, np.arange(values.size)).tolist() == expected


def test_counts_are_of_individuals_and_exact() -> None:
    count = AggregateQuantization("count", bits=1)
    values, people = [1.0, np.nan, 3.0, 4.0, np.nan], [0, 0, 0, 1, 2]
    roster = Roster(3, rows=9, most_rows=3)
    assert count.release(values, roster, individuals=people).tolist() == [2.0]
    assert count.plan(roster).outputs == 2
    assert count.release([], [roster, roster], []).tolist() == [0.0, 0.0]
    hidden = AggregateQuantization("count", outputs=3, rule=PublicationRule(at_least=2))
    assert hidden.release([1, None, 1, 1], [Roster(2)] * 2, [0, 0, 1, 1]).tolist()[1] == 2.0
    assert np.isnan(hidden.release([1, None], Roster(2))[0])


def test_an_individual_with_several_rows_counts_with_its_share() -> None:
    daily = mean_of_four(bits=2)
    even, uneven = Roster(4, rows=8, most_rows=2), Roster(4, rows=8, most_rows=5)
    assert daily.plan(even).quantizer.levels == 12
    assert daily.plan(uneven).quantizer.levels == 4
    people = [0, 0, 1, 1, 2, 2, 3, 3]
    assert daily.encode(np.full(8, 5.0), even, individuals=people).tolist() == [6]
    with pytest.raises(InputError, match="1 of 1 groups"):
        daily.encode(np.full(8, 5.0), even, individuals=[0, 0, 0, 1, 2, 2, 3, 3])


def test_private_participation() -> None:
    total = AggregateQuantization("sum", None, -2, 10, outputs=3, resolution=1, participation="private")
    assert total.plan(Roster(1)).quantizer.low == -2
    lifted = AggregateQuantization("sum", None, 5, 10, outputs=3, resolution=1, participation="private")
    geometry = lifted.geometry(FOUR)
    assert (geometry.first, geometry.last, geometry.reach) == (0, 40, 10)  # max(|5|, |10|, 5)
    least = AggregateQuantization("min", None, 5, 10, outputs=3, resolution=1, participation="private")
    assert np.isnan(least.release([None, np.nan], Roster(2))[0])
    assert (least.withheld_outputs, least.plan(FOUR).quantizer.levels) == (1, 2)
    assert mean_of_four(participation="private").encode([], FOUR).tolist() == [0]


def test_a_function_with_a_stated_sensitivity() -> None:
    def median(values: list[Fraction]) -> Fraction:
        return Fraction(statistics.median(values))

    aggregate = AggregateQuantization(median, 10, 0, 10, bits=2)
    values = np.array([1.1, 0.3, 9.9, 7.5, 7.5], dtype=np.float32)
    assert aggregate.encode(values, [Roster(3), Roster(2)], [0, 0, 0, 1, 1]).tolist() == [0, 3]
    assert aggregate.release(values[:3], Roster(3)).tolist() == [1.25]
    filled = AggregateQuantization(median, 10, 0, 10, bits=2, fill=5)
    assert filled.encode([None, None, 9], Roster(3)).tolist() == [2]
    partial = AggregateQuantization(median, 10, 0, 10, bits=2, participation="private")
    assert partial.encode([None, None, 9], Roster(3)).tolist() == [2]
    assert partial.encode([None], Roster(3)).tolist() == [-1]
    with pytest.raises(ArgumentError, match="returned float"):
        AggregateQuantization(lambda v: float(v[0]), 10, 0, 10, bits=2).encode([1], Roster(1))
    with pytest.raises(InputError, match="1 of 2 are infinite"):
        aggregate.encode([1.0, np.inf], Roster(2))
    with pytest.raises(InputError, match="1 of 1 lie outside"):
        AggregateQuantization(sum, 10, 0, 10, bits=2).encode([6, 7], Roster(2))


def test_missing_readings_of_a_public_roster() -> None:
    with pytest.raises(InputError, match="1 of 4 are missing"):
        mean_of_four().encode([1, 2, None, 4], FOUR)
    assert mean_of_four(fill=0).encode([10, 10, None, None], FOUR).tolist() == [2]
    with pytest.raises(InputError, match="lack rows"):
        mean_of_four(fill=0).encode([10, 10], FOUR)
    with pytest.raises(InputError, match="more rows"):
        mean_of_four().encode([1, 2, 3, 4, 5], FOUR)


# --- fixed point -----------------------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from(["0.001", "0.1", "0.25", "1", "5", "1/3", "0.0000001"]))
def test_units_are_exact_on_every_type(data: st.DataObject, resolution: str) -> None:
    grid = FixedPoint(-5000, 5000, resolution, outside="clip", off_grid="round")
    drawn = data.draw(st.lists(st.floats(-6000, 6000) | st.decimals(-6000, 6000, places=3).map(float), max_size=8))
    for kind in (np.float64, np.float32, np.int16, np.float16):
        with np.errstate(over="ignore"):
            array = np.array(drawn).astype(kind)
        array = array[np.isfinite(array)]
        exact = [min(max(Fraction(Decimal(str(value))), Fraction(-5000)), Fraction(5000)) for value in array]
        expected = [int((value / grid.resolution + Fraction(1, 2)) // 1) for value in exact]
        assert grid.units(array)[0].tolist() == expected
        assert grid.units([Decimal(str(value)) for value in array])[0].tolist() == expected


def test_long_floats_are_their_shortest_decimals() -> None:
    """Past 15 digits a multiple can round to a float whose shortest decimal is another multiple."""
    grid = FixedPoint(0, 10**13, "0.0001")
    values = np.random.default_rng(0).integers(8 * 10**12, 10**13, 200) + np.linspace(0, 1, 200)
    expected = [int(Fraction(Decimal(repr(value))) / grid.resolution) for value in values.tolist()]
    assert grid.units(values)[0].tolist() == expected


def test_readings_off_the_grid_or_outside_are_counted_never_shown() -> None:
    grid = FixedPoint(0, 10, "0.1")
    assert grid.units(np.array([0.3, np.nan, 10], dtype=np.float32))[0].tolist() == [3, 0, 100]
    assert grid.units([0.3, None])[1].tolist() == [True, False]
    with pytest.raises(InputError, match=r"1 of 3 are no multiples of the resolution 0\.1;"):
        grid.units([0.3, 0.0001220703125, 1])
    with pytest.raises(InputError, match="2 of 3 lie outside"):
        grid.units([0.3, np.inf, -0.5])
    assert FixedPoint(0, 10, "0.1", outside="clip").units([np.inf, -np.inf, 99])[0].tolist() == [100, 0, 100]
    assert FixedPoint("0.5", "1.5", "0.5", outside="clip").units(np.array([0, 1, 7]))[0].tolist() == [1, 2, 3]
    big = FixedPoint(0, 2**60, 1)
    assert big.units(np.array([2**53 + 1, 2**60], dtype=np.uint64))[0].tolist() == [2**53 + 1, 2**60]
    assert big.units([2**53 + 1, 0.5 * 2**53])[0].tolist() == [2**53 + 1, 2**52]


# --- rules -----------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), min_size=1, max_size=5),
    st.integers(1, 4),
    st.fractions(1, 100, max_denominator=8),
    st.sampled_from([1, 2**55]),
)
def test_rules_against_plain_python(groups: list[list[int]], largest: int, percent: Fraction, unit: int) -> None:
    groups = [[value * unit for value in group] for group in groups]
    bound = max(map(sum, groups))
    contributions = np.array([value for group in groups for value in group], dtype=np.int64)
    offsets = np.cumsum([0, *map(len, groups)])
    dominance = PublicationRule(dominance=(largest, percent)).withheld(contributions, offsets, bound)
    remainder = PublicationRule(p_percent=percent).withheld(contributions, offsets, bound)
    for group, dominated, exposed in zip(groups, dominance, remainder, strict=True):
        ranked = sorted(group, reverse=True)
        assert dominated == (sum(ranked[:largest]) * 100 > percent * sum(group))
        assert exposed == (sum(ranked[2:]) * 100 < percent * ranked[0])


def test_presets() -> None:
    assert PublicationRule.parse("15/15") == PublicationRule(15, (1, 15))
    assert PublicationRule.parse(" 4 / 80 ") == PublicationRule(4, (1, 80))
    assert PublicationRule.parse("100/10") == PublicationRule(100, (1, 10))
    assert PublicationRule.parse("(2, 85)") == PublicationRule(dominance=(2, 85))
    assert PublicationRule.parse("12.5 %") == PublicationRule(p_percent=Decimal("12.5"))
    assert "fewer than 15" in PublicationRule.parse("15/15").describe()
    for bad in ("15", "15/150", "0/15", "x", "(0,50)", "0%"):
        with pytest.raises(ArgumentError):
            PublicationRule.parse(bad)


def test_being_withheld_is_one_of_the_outputs() -> None:
    ruled = AggregateQuantization("sum", None, 0, 10, bits=2, resolution="0.1", rule="3/50")
    assert ruled.withheld_outputs == 1
    assert ruled.plan(Roster(3)).quantizer.levels == 6  # three outputs are left: ⌊2 · 30 / 10⌋
    assert ruled.plan(Roster(3)).outputs == 4
    values = [3, 3, 3, 9, 1, 1, 5, 5, 0]
    released = ruled.release(values, [Roster(3)] * 3, np.repeat([0, 1, 2], 3))
    assert np.isnan(released).tolist() == [False, True, False]  # half of the total is not more than half
    with pytest.raises(ArgumentError, match="1 of 2 groups have fewer than 3"):
        ruled.encode([1, 2], [Roster(3), Roster(2)], [1, 1])


# --- parameters ------------------------------------------------------------------------------------------------------


def test_round_trip_and_words() -> None:
    aggregate = AggregateQuantization(
        "mean", None, 0, "6.7", bits=3, resolution="0.1", rule="15/15", participation="private", symbols="interval"
    )
    again = AggregateQuantization.from_dict(json.loads(json.dumps(aggregate.to_dict())))
    assert again == aggregate
    assert "15 individuals take part" in aggregate.describe()
    assert aggregate.for_series(48).bits == 3 * 48
    assert not aggregate.guarantee.local
    with pytest.raises(ArgumentError, match="function is not stored"):
        AggregateQuantization.from_dict(AggregateQuantization(sum, 1, 0, 10, bits=1).to_dict())


def test_labels() -> None:
    aggregate = mean_of_four(symbols="interval", participation="private")
    assert aggregate.release([2.5] * 4, FOUR).tolist() == ["[2.5, 5)"]


@pytest.mark.parametrize(
    "bad",
    [
        lambda: AggregateQuantization("median", None, 0, 10, bits=1, resolution=1),
        lambda: AggregateQuantization(7, 1, 0, 10, bits=1),  # type: ignore[arg-type]
        lambda: AggregateQuantization(sum, None, 0, 10, bits=1),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1),
        lambda: AggregateQuantization("mean", None, bits=1, resolution=1),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=3),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=0),
        lambda: AggregateQuantization("mean", None, 0, 10, resolution=1),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=1, fill=11),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=1, fill="0.5"),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=1, fill=1, participation="private"),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=1, outside="missing"),  # type: ignore[arg-type]
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=1, off_grid="no"),  # type: ignore[arg-type]
        lambda: AggregateQuantization("mean", None, 0, 10, bits=1, resolution=1, participation="no"),  # type: ignore[arg-type]
        lambda: AggregateQuantization("mean", None, -1, 10, bits=1, resolution=1, rule="15/15"),
        lambda: AggregateQuantization("mean", None, 0, 10, bits=0, resolution=1, rule="15/15"),
        lambda: AggregateQuantization("count", bits=1, participation="public"),
        lambda: AggregateQuantization(sum, 1, 0, 10, bits=1, outside="missing"),  # type: ignore[arg-type]
        lambda: AggregateQuantization(sum, 1, 0, 10, bits=1, symbols="mean"),
        lambda: AggregateQuantization("mean", 2, 0, 10, bits=1, resolution=1).plan(FOUR),
        lambda: AggregateQuantization("sum", None, 0, 2**61, bits=1, resolution=1).plan(FOUR),
        lambda: mean_of_four().encode([1, 2, 3, 4], FOUR, groups=[0, 0, 0, 1]),
        lambda: mean_of_four().encode([1, 2, 3, 4], FOUR, groups=[0, 0, 0]),
        lambda: mean_of_four().encode([1, 2, 3, 4], [FOUR, FOUR]),
        lambda: mean_of_four().encode([1, 2, 3, 4], FOUR, individuals=[0, 0, 0]),
        lambda: Roster(0),
        lambda: Roster(2, rows=5, most_rows=2),
        lambda: Roster(2, rows=1),
        lambda: PublicationRule(at_least=0),
    ],
)
def test_bad_input_is_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^\w+(, \w+)?: "):
        bad()


def test_a_stated_sensitivity_may_be_larger() -> None:
    stated = AggregateQuantization("mean", 5, 0, 10, bits=1, resolution=1)
    assert stated.plan(FOUR).quantizer.levels == 2
    assert stated.plan(Roster(100)).quantizer.levels == 2


@pytest.mark.parametrize("query", ["max", "mean"])
def test_shares_of_a_total_beyond_machine_integers(query: str) -> None:
    """A thousand equal contributions of 10^15 units: none has more than 15 % of their total."""
    mechanism = AggregateQuantization(query, low=0, high=10**15, outputs=3, resolution=1, rule="1/15")
    equal = np.full(1000, 10**15)
    assert mechanism.encode(equal, Roster(1000))[0] >= 0
    assert mechanism.encode(np.where(np.arange(1000) < 6, equal, 0), Roster(1000))[0] == -1
    with pytest.raises(ArgumentError, match="too many units"):
        mechanism.encode(np.full(10_000, 10**15), Roster(10_000))
