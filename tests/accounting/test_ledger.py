"""Budgets: amounts, units, overlaps, refusals, requests and the history."""

from __future__ import annotations

import itertools
import math
import pickle
import threading
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.accounting import Budget, Coverage, Event, Ledger
from reticent.accounting.coverage import CoverageBuilder, Geometry
from reticent.accounting.events import Redaction
from reticent.errors import ArgumentError, LedgerError, RefusedError
from reticent.guarantees import NoiselessGuarantee, TemporalGuarantee
from reticent.quantization import LocalQuantization
from reticent.redaction import RedactionPolicy, markov_quilt, sequential_redaction
from reticent.switching import FootruleSwitch, MallowsSwitch, RanSwitch


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def spend(epsilon: Any, dataset: str = "meters", **options: Any) -> Event:
    return Event.of(Budget.temporal(epsilon, 24), dataset=dataset, **options)


def only(ledger: Ledger, dataset: str = "meters", **options: Any) -> Budget:
    (spending,) = ledger.spent(dataset, **options)
    return spending.spent


# --- amounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tenth", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)])
def test_ten_spends_of_a_tenth_fill_a_budget_of_one(ledger: Ledger, tenth: Any) -> None:
    ledger.limit("meters", epsilon=1, window=24)
    for _ in range(10):
        ledger.charge(spend(tenth))
    assert only(ledger).epsilon == 1
    with pytest.raises(RefusedError, match="budget of data set meters would be exceeded"):
        ledger.charge(spend("1e-30"))
    assert only(ledger).epsilon == 1


def test_a_limit_of_one_kind_is_not_passed_by_with_another(ledger: Ledger) -> None:
    ledger.limit("meters", outputs=8)
    with pytest.raises(RefusedError, match="a limit is set for noiseless privacy of these data and none for temporal"):
        ledger.charge(spend("0.1"))
    ledger.limit("meters", epsilon=1, window=24)
    ledger.charge(spend("0.1"))
    ledger.charge(spend("0.1", dataset="others"))


def test_no_spend_is_too_small_to_count(ledger: Ledger) -> None:
    ledger.limit("meters", epsilon="1", window=24)
    ledger.charge(spend(1 - Fraction(1, 10**40)))
    ledger.charge(spend(Fraction(1, 3 * 10**40)))
    assert only(ledger).epsilon == 1 - Fraction(2, 3 * 10**40)
    with pytest.raises(RefusedError):
        ledger.charge(spend("1e-40"))
    assert Ledger(ledger.path).spent("meters") == ledger.spent("meters")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, "NaN", "-1", "much", None, True, Decimal("Infinity")])
def test_amounts_that_are_none_are_refused(ledger: Ledger, bad: Any) -> None:
    with pytest.raises(ArgumentError):
        spend(bad)
    with pytest.raises(ArgumentError):
        ledger.limit("meters", epsilon=bad, window=24) if bad is not None else ledger.limit("meters", window=24)
    assert ledger.history() == ()


def test_limits_of_other_kinds(ledger: Ledger) -> None:
    ledger.limit("meters", bits=3)
    ledger.limit("meters", epsilon=2)
    ledger.limit("meters", epsilon=1, window=24, delta="1e-6")
    assert {str(each.limit) for each in ledger.spent("meters")} == {
        "8 outputs a reading (3 bits)",
        "ε = 2 nats about the secrets",
        "ε = 1 nats, δ = 1e-06 at window 24",
    }
    for options in (
        {"epsilon": 1, "bits": 2},
        {"epsilon": 1, "delta": "0.1"},
        {"window": 3},
        {},
        {"bits": 1, "outputs": 2},
    ):
        with pytest.raises(ArgumentError):
            ledger.limit("meters", **options)


def test_delta_has_its_own_limit(ledger: Ledger) -> None:
    ledger.limit("meters", epsilon=10, window=24, delta="2e-6")
    for _ in range(2):
        ledger.charge(Event.of(TemporalGuarantee(0.1, 1e-6, 24), dataset="meters"))
    with pytest.raises(RefusedError):
        ledger.charge(Event.of(TemporalGuarantee(0.1, 1e-6, 24), dataset="meters"))
    assert only(ledger).delta == Fraction(2, 10**6)


# --- units -----------------------------------------------------------------------------------------------------------


def test_windows_24_and_25_are_charged_to_a_budget_at_24(ledger: Ledger) -> None:
    ledger.limit("meters", epsilon=4, window=24)
    one, other = FootruleSwitch(24, 2.0), FootruleSwitch(25, 2.0)
    for switch in (one, other):
        ledger.charge(Event.of(switch, dataset="meters", series=["a"]))
    exact = Fraction(repr(one.epsilon_at(24))) + Fraction(repr(other.epsilon_at(24)))
    assert only(ledger).epsilon == exact
    assert 3.9 < exact < 4
    with pytest.raises(RefusedError):
        ledger.charge(Event.of(MallowsSwitch(24, 0.5), dataset="meters", series=["a"]))
    with pytest.raises(RefusedError, match="says nothing at window 24"):
        ledger.charge(Event.of(TemporalGuarantee(0.01, 0.0, 23), dataset="meters", series=["b"]))


def test_quantisers_are_charged_by_their_common_refinement(ledger: Ledger) -> None:
    ledger.limit("meters", outputs=14)
    eight, seven = LocalQuantization(0, 1, outputs=8), LocalQuantization(0, 1, outputs=7)
    for mechanism in (eight, eight, seven, eight):
        ledger.charge(Event.of(mechanism, dataset="meters", columns=["kwh"], series=["a"]))
    assert only(ledger).outputs == 14
    with pytest.raises(RefusedError, match="28 outputs"):  # 14 new edges
        ledger.charge(Event.of(LocalQuantization(0, 1, outputs=15), dataset="meters", columns=["kwh"], series=["a"]))
    with pytest.raises(RefusedError, match="28 outputs"):  # another column of the same records multiplies
        ledger.charge(Event.of(LocalQuantization(0, 1, outputs=2), dataset="meters", columns=["kvar"], series=["a"]))


def test_readings_are_charged_where_they_overlap(ledger: Ledger) -> None:
    ledger.limit("meters", outputs=8)
    bits = NoiselessGuarantee(4)
    january, february, both = (0, 30), (31, 59), (15, 45)
    ledger.charge(Event.of(bits, dataset="meters", series=["a"], stretch=january))
    ledger.charge(Event.of(bits, dataset="meters", series=["a"], stretch=february))
    assert only(ledger).outputs == 4
    with pytest.raises(RefusedError, match="16 outputs"):
        ledger.charge(Event.of(bits, dataset="meters", series=["a"], stretch=both))
    ledger.charge(Event.of(NoiselessGuarantee(2), dataset="meters", series=["a"], stretch=both))
    assert only(ledger).outputs == 8
    with pytest.raises(RefusedError):
        ledger.charge(Event.of(NoiselessGuarantee(2), dataset="meters", series=["a"], stretch=(45, 45)))
    ledger.charge(Event.of(NoiselessGuarantee(2), dataset="meters", series=["a"], stretch=(46, 46)))


# --- redactions ------------------------------------------------------------------------------------------------------

CHAIN = rt.MarkovChain([[0.99, 0.01], [0.8, 0.2]])


def redaction(*policies: Any, start: int = 0, step: int = 1, **options: Any) -> Event:
    n = policies[0].n
    coverage = Coverage.of(options.pop("series", ["a"]), Geometry(start, start + (n - 1) * step, n, 7, 0))
    return Event.of(Redaction(policies, step), dataset="meters", coverage=coverage)


def test_redactions_are_charged_by_the_product_policy(ledger: Ledger) -> None:
    one = RedactionPolicy(CHAIN, [[1, 1], [0.6, 1], [0.4, 1]], 0)
    other = RedactionPolicy(CHAIN, [[1, 1], [1, 1], [0, 0]], 0)
    joint = one.composed(other).leakage()
    assert joint > max(one.leakage(), other.leakage())
    ledger.limit("meters", epsilon=joint)
    ledger.charge(redaction(one))
    assert float(only(ledger).epsilon) == pytest.approx(one.leakage())
    ledger.charge(redaction(other))
    assert float(only(ledger).epsilon) == pytest.approx(joint, rel=1e-12)
    tight = Ledger(ledger.path.with_name("tight.sqlite"))
    tight.limit("meters", epsilon=joint * 0.999)
    tight.charge(redaction(one))
    with pytest.raises(RefusedError):
        tight.charge(redaction(other))


def test_other_stretches_of_a_chain_are_joined_where_they_lie(ledger: Ledger) -> None:
    """Records 0–9 with a secret at 4, then 5–14 with one at 12: the leakage of the product over 0–14."""
    chain = rt.MarkovChain.binary(0.1, 0.3)
    one, other = markov_quilt(chain, 10, 4, 1.0), markov_quilt(chain, 10, 7, 1.0)
    ledger.charge(redaction(one))
    whole = np.ones((15, 2))
    whole[:10] *= one.probabilities
    whole[5:] *= other.probabilities
    if (whole[[4, 12]] < 1).any():
        with pytest.raises(RefusedError, match="would show a record"):
            ledger.charge(redaction(other, start=5))
    else:
        ledger.charge(redaction(other, start=5))
        truth = RedactionPolicy(chain, whole, [4, 12]).leakage()
        assert float(only(ledger).epsilon) == pytest.approx(truth, rel=1e-9)


def test_what_was_released_cannot_be_hidden(ledger: Ledger) -> None:
    chain = rt.MarkovChain.binary(0.1, 0.3)
    ledger.charge(redaction(markov_quilt(chain, 20, 4, 1.0)))
    with pytest.raises(RefusedError, match="would show a record that one of them withholds"):
        ledger.charge(redaction(markov_quilt(chain, 20, 15, 1.0)))
    quilt = markov_quilt(chain, 20, 4, 1.0)
    whole = Coverage.of(["b"], Geometry(0, 19, 20, 7, -1))
    ledger.charge(Event.of(Redaction((quilt,)), dataset="meters", coverage=whole))
    with pytest.raises(RefusedError, match="would show a record"):
        ledger.charge(redaction(quilt, series=["b"]))


def test_grids_and_alphabets_must_agree(ledger: Ledger) -> None:
    chain, three = rt.MarkovChain.binary(0.1, 0.3), rt.MarkovChain(np.full((3, 3), 1 / 3))
    ledger.charge(redaction(markov_quilt(chain, 20, 4, 1.0), step=10))
    with pytest.raises(RefusedError, match="one grid of times"):
        ledger.charge(redaction(markov_quilt(chain, 20, 4, 1.0), step=10, start=5))
    with pytest.raises(RefusedError, match="different states"):
        ledger.charge(redaction(markov_quilt(three, 20, 4, 1.0), step=10))


def test_a_sequential_redaction_is_answered_again_and_joined_by_nothing(ledger: Ledger) -> None:
    chain = rt.MarkovChain.binary(0.1, 0.3)
    event = redaction(sequential_redaction(chain, 8, 3, 0.5))
    first = ledger.charge(event, released="ab" * 32)
    again = ledger.charge(event, released="cd" * 32)
    assert (first.answered, again.answered, again.released) == (False, True, "ab" * 32)
    assert len(ledger.history()) == 1
    for other in (sequential_redaction(chain, 8, 3, 0.6), markov_quilt(chain, 8, 3, 2.0)):
        with pytest.raises(RefusedError, match="drawn once"):
            ledger.charge(redaction(other))
    ledger.charge(redaction(markov_quilt(chain, 8, 3, 2.0), series=["b"]))
    with pytest.raises(RefusedError, match="drawn once"):
        ledger.charge(redaction(sequential_redaction(chain, 8, 3, 0.5), series=["b"]))


def test_a_bare_epsilon_of_a_redaction_cannot_be_joined(ledger: Ledger) -> None:
    ledger.charge(Event.of(Budget.pufferfish(1), dataset="meters"))
    with pytest.raises(RefusedError, match="do not add"):
        ledger.charge(Event.of(Budget.pufferfish(1), dataset="meters"))


# --- kinds and pipelines ---------------------------------------------------------------------------------------------


def test_two_kinds_on_the_same_data_are_refused(ledger: Ledger) -> None:
    quantiser, switch = LocalQuantization(0, 1, bits=2), FootruleSwitch(4, 1.0)
    ledger.charge(Event.of(quantiser, dataset="meters", series=["a"]))
    with pytest.raises(RefusedError, match=r"a quantisation .* and a switch .* shows the order of the values"):
        ledger.charge(Event.of(switch, dataset="meters", series=["a", "b"]))
    ledger.charge(Event.of(switch, dataset="meters", series=["b"]))
    ledger.charge(Event.of(switch, dataset="other", series=["a"]))


def test_quantise_then_switch_is_one_event(ledger: Ledger) -> None:
    quantiser, switch = LocalQuantization(0, 1, bits=2), FootruleSwitch(4, 1.0)
    ledger.limit("meters", epsilon=2, window=4)
    ledger.limit("meters", bits=2)
    both = Event.of(quantiser, switch, dataset="meters", series=["a"])
    assert both.claims == {"noiseless", "temporal"}
    ledger.charge(both)
    ledger.charge(both)
    temporal, noiseless = ledger.spent("meters")
    assert (temporal.spent.epsilon, noiseless.spent.outputs) == (2 * Fraction(repr(switch.guarantee.epsilon)), 4)
    with pytest.raises(RefusedError):
        ledger.charge(both)
    for alone in (quantiser, switch):
        with pytest.raises(RefusedError, match="pipeline"):
            ledger.charge(Event.of(alone, dataset="meters", series=["a"]))
    with pytest.raises(RefusedError, match="no joint claim"):
        Event.of(switch, quantiser)


# --- data ------------------------------------------------------------------------------------------------------------


def panel(ids: list[Any], times: np.ndarray, seed: int = 0) -> Coverage:
    builder = CoverageBuilder()
    order = np.random.default_rng(seed).permutation(len(ids))
    half = len(ids) // 2
    for part in (order[:half], order[half:]):
        names = [ids[i] for i in part]
        builder.add(names, np.tile(times, len(names)), np.arange(len(names) + 1) * times.size)
    return builder.finish()


def test_the_same_rows_in_another_order_are_the_same_data() -> None:
    times = np.arange(10)
    one, other = panel(["a", "b", "c", "d"], times, 1), panel(["a", "b", "c", "d"], times, 2)
    assert one.digest == other.digest
    assert one.digest != panel(["a", "b", "c", "e"], times).digest
    assert one.digest != panel(["a", "b", "c", "d"], times + 1).digest
    assert panel([1, 2], times).digest == panel(["1", "2"], times).digest == panel(["01", "2"], times).digest
    assert panel([1, 2], times).digest == panel(["1.0", "2.0"], times).digest == panel([1.0, 2.0], times).digest
    assert panel(["1.5", "2"], times).digest != panel(["1", "2"], times).digest


def test_stretches_meet_where_a_series_has_both() -> None:
    geometries = [Geometry(0, 4), Geometry(4, 9), Geometry(5, 9)]
    for one, other in itertools.product(geometries, repeat=2):
        here, there = (Coverage.of(names, each) for names, each in ((["a", "b"], one), (["b", "c"], other)))
        meet = any(one.first <= tick <= one.last and other.first <= tick <= other.last for tick in range(10))
        assert here.meets(there) == there.meets(here) == meet
        assert here.meets(Coverage.everything(other)) == Coverage.everything(other).meets(here) == meet
        assert not here.meets(Coverage.of(["c"], one))


def test_coverages_survive_their_bytes() -> None:
    for coverage in (panel(list(range(100)), np.arange(7)), Coverage.everything(), Coverage.of(["a"], Geometry(3, 9))):
        back = Coverage.from_bytes(coverage.to_bytes(), coverage.digest)
        assert back.geometries == coverage.geometries
        assert np.array_equal(back.series, coverage.series)
        assert np.array_equal(back.which, coverage.which)
    with pytest.raises(LedgerError):
        Coverage.from_bytes(coverage.to_bytes(), "0" * 64)


def test_a_series_is_charged_once_for_each_release_whatever_the_panel(ledger: Ledger) -> None:
    """Against a plain dictionary, over random panels of switches and all series at once."""
    rng = np.random.default_rng(5)
    names = [f"meter {i}" for i in range(12)]
    truth = dict.fromkeys(names, Fraction(0))
    later = Fraction(0)
    for _ in range(60):
        amount = Fraction(int(rng.integers(1, 100)), 1000)
        if rng.random() < 0.15:
            ledger.charge(spend(amount))
            truth = {name: total + amount for name, total in truth.items()}
            later += amount
        else:
            chosen = [names[i] for i in rng.choice(12, size=rng.integers(1, 6), replace=False)]
            charge = ledger.charge(spend(amount, series=chosen))
            assert charge.again == sum(truth[name] > 0 for name in chosen)
            truth |= {name: truth[name] + amount for name in chosen}
        assert only(ledger).epsilon == max(truth.values())
    reopened = Ledger(ledger.path)
    assert reopened.spent() == ledger.spent()
    for name in names:
        charge = reopened.charge(spend(0, series=[name]))
        assert charge.spent[0].spent.epsilon == truth[name]
    assert reopened.charge(spend(0, series=["a new one"])).spent[0].spent.epsilon == later


def test_other_stretches_of_a_series_cannot_be_switched_unless_cut(ledger: Ledger) -> None:
    switch = FootruleSwitch(4, 1.0)

    def month(first: int, last: int, **options: Any) -> Event:
        return Event.of(switch, dataset="meters", series=["a"], stretch=(first, last), **options)

    ledger.charge(month(0, 30))
    for stretch in ((31, 59), (0, 59), (0, 29)):
        with pytest.raises(RefusedError, match="which stretch a value came from"):
            ledger.charge(month(*stretch))
    ledger.charge(month(0, 30))
    cut = Ledger(ledger.path.with_name("cut.sqlite"))
    cut.limit("meters", epsilon=2, window=4)
    for stretch in ((0, 30), (31, 59), (0, 30), (60, 90)):
        cut.charge(month(*stretch, cuts=True))
    epsilon = Fraction(repr(switch.guarantee.epsilon))
    assert only(cut).epsilon == 2 * epsilon
    with pytest.raises(RefusedError, match="exceeded"):
        cut.charge(month(0, 30, cuts=True))
    for stretch in ((20, 40), (0, 29), (0, 90)):  # parts of a piece, or several
        with pytest.raises(RefusedError, match="which stretch"):
            cut.charge(month(*stretch, cuts=True))
    with pytest.raises(RefusedError, match="which stretch"):
        cut.charge(month(91, 99))


@pytest.mark.parametrize("size", [100_000])
def test_a_large_panel_is_charged_fast_and_kept_small(ledger: Ledger, size: int) -> None:
    ids = np.arange(size).tolist()
    builder = CoverageBuilder()
    builder.add(ids, np.tile(np.arange(4), size), np.arange(size + 1) * 4)
    coverage = builder.finish()
    start = time.perf_counter()
    for _ in range(5):
        ledger.charge(Event.of(RanSwitch(4, 0.5), dataset="meters", coverage=coverage))
    assert (time.perf_counter() - start) / 5 < 1.0
    assert ledger.path.stat().st_size < 1.3e6
    start = time.perf_counter()
    assert only(Ledger(ledger.path)).epsilon == Fraction("2.5")
    assert time.perf_counter() - start < 2.0


# --- requests, resets, history ---------------------------------------------------------------------------------------


def test_a_request_is_charged_once(ledger: Ledger) -> None:
    ledger.limit("meters", epsilon="0.1", window=24)
    first = ledger.charge(spend(0.1), request="job 7", released="aa" * 32)
    again = ledger.charge(spend(0.1), request="job 7", released="bb" * 32)
    assert not first.answered
    assert again.answered
    assert again.released == "aa" * 32
    assert again.number == first.number
    assert ledger.answer("job 7") == again
    assert ledger.answer("job 8") is None
    with pytest.raises(RefusedError, match="name of its own"):
        ledger.charge(spend(0.2), request="job 7")
    with pytest.raises(RefusedError, match="name of its own"):
        ledger.answer("job 7", job="something else")


def test_a_reset_is_explicit_and_stays_in_the_history(ledger: Ledger) -> None:
    ledger.limit("meters", epsilon="0.1", window=24)
    ledger.charge(spend(0.1))
    with pytest.raises(ArgumentError, match="reason"):
        ledger.reset("meters", reason=" ")
    ledger.reset("meters", reason="consent was given anew")
    assert only(ledger).epsilon == 0
    ledger.charge(spend(0.1))
    assert [entry.entry for entry in ledger.history("meters")] == ["limit", "charge", "reset", "charge"]
    assert "consent was given anew" in ledger.history()[2].text
    assert ledger.history("other") == ()
    assert [entry.number for entry in ledger.history(last=2)] == [3, 4]


def test_reading_changes_nothing(ledger: Ledger) -> None:
    ledger.charge(spend(0.1))
    before = ledger.path.read_bytes()
    for _ in range(3):
        other = Ledger(ledger.path)
        other.spent()
        other.history()
        other.export()
        other.close()
    assert ledger.path.read_bytes() == before
    assert sorted(path.name for path in ledger.path.parent.iterdir()) == ["ledger.sqlite"]


def test_no_key_no_draw_and_no_name_of_a_series_is_stored(ledger: Ledger, curator: Path) -> None:
    ledger.charge(Event.of(FootruleSwitch(4, 1.0), dataset="meters", series=["Mrs Smith"]))
    stored = ledger.path.read_bytes()
    assert b"Smith" not in stored
    assert (curator / "fingerprint.key").read_bytes() not in stored
    assert "Smith" not in str(ledger.export())
    assert (curator / "fingerprint.key").stat().st_mode & 0o077 == 0


def test_two_openings_see_each_other(ledger: Ledger) -> None:
    other = Ledger(ledger.path)
    ledger.limit("meters", epsilon=1, window=24)
    ledger.charge(spend(0.6))
    with pytest.raises(RefusedError):
        other.charge(spend(0.6))
    other.charge(spend(0.4))
    assert only(ledger).epsilon == 1


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    ledger.limit("meters", epsilon=1, window=24)
    done: list[bool] = []

    def work() -> None:
        try:
            ledger.charge(spend(0.1))
        except RefusedError:
            return
        done.append(True)

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 10
    assert only(ledger).epsilon == 1


def test_guarantees_and_budgets_are_plain_values() -> None:
    budget = Budget.temporal("0.1", 24, "1e-9")
    assert Budget.from_dict(budget.to_dict()) == budget == pickle.loads(pickle.dumps(budget))
    assert Budget.of(TemporalGuarantee(math.inf, 0.0, 3)).epsilon == math.inf
    assert Budget.from_dict(Budget.of(NoiselessGuarantee(3**200)).to_dict()).outputs == 3**200
