"""Cells: the same number in the same cell on every path, and how many cells an individual meets."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quantization_twin import around, as_fraction, cell, clipped

from reticent.errors import ArgumentError, InputError
from reticent.quantization import LinearQuantizer, Quantizer, levels_for
from reticent.quantization.exact import allowed_outputs, exact, text
from shared_data import shared_vectors

decimals = st.decimals(min_value=-1000, max_value=1000, places=3, allow_nan=False)


@st.composite
def quantizers(draw: st.DrawFn, outside: str = "clip") -> Quantizer:
    if draw(st.booleans()):
        low, width = draw(decimals), draw(st.decimals(min_value="0.001", max_value=1000, places=3))
        return LinearQuantizer(low, low + width, draw(st.integers(1, 40)), outside=outside)
    edges = draw(st.lists(decimals, min_size=2, max_size=12, unique=True))
    return Quantizer(sorted(edges), outside=outside)


# --- the same number, the same cell ----------------------------------------------------------------------------------


@given(st.data(), quantizers())
@settings(max_examples=300)
def test_every_type_finds_the_cell_of_the_number(data: st.DataObject, quantizer: Quantizer) -> None:
    edges = list(quantizer.edges)
    edge = data.draw(st.sampled_from(edges))
    other = data.draw(st.floats(-1100, 1100, width=32))
    for kind in (np.float64, np.float32, np.float16):
        with np.errstate(over="ignore"):
            values = np.array([*around(kind(float(edge)), 3), kind(other)])
        values = values[np.isfinite(values)]
        expected = [clipped(as_fraction(value), edges) for value in values]
        assert quantizer.encode(values).tolist() == expected
        assert quantizer.encode(list(values)).tolist() == expected
        assert quantizer.encode(np.ma.masked_array(values, False)).tolist() == expected
        assert quantizer.encode([Decimal(str(value)) for value in values]).tolist() == expected
        assert quantizer.encode([as_fraction(value) for value in values]).tolist() == expected
    near = [int(edge) - 1, int(edge), int(edge) + 1]
    expected = [clipped(Fraction(value), edges) for value in near]
    for integer in (np.int16, np.int32, np.int64):
        assert quantizer.encode(np.array(near, dtype=integer)).tolist() == expected
    small = np.arange(-128, 128).astype(np.int8)
    assert quantizer.encode(small).tolist() == [clipped(Fraction(int(v)), edges) for v in small]
    assert quantizer.encode(small.view(np.uint8)).tolist() == [
        clipped(Fraction(int(v)), edges) for v in small.view(np.uint8)
    ]


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_extreme_floats(a: float, b: float, x: float) -> None:
    edges = sorted({as_fraction(a), as_fraction(b), Fraction(0)})
    if len(edges) < 2:
        return
    quantizer = Quantizer(edges, symbols=[str(i) for i in range(len(edges) - 1)], outside="clip")
    values = np.array([x, a, b, *around(np.float64(a), 1), *around(np.float64(b), 1), 5e-324, -5e-324, 1.7e308])
    values = values[np.isfinite(values)]
    assert quantizer.encode(values).tolist() == [clipped(as_fraction(value), edges) for value in values]


@pytest.mark.parametrize("edges", [[0, 1], [-(2**63), 2**63], [0, 2**64], [2**63 - 2, 2**63 - 1, 2**63, 2**64]])
def test_integers_are_exact_to_the_ends_of_their_types(edges: list[int]) -> None:
    quantizer = Quantizer(edges, symbols=[f"s{i}" for i in range(len(edges) - 1)], outside="clip")
    exact_edges = [Fraction(edge) for edge in edges]
    for kind in (np.int64, np.uint64, np.int8, np.uint8):
        info = np.iinfo(kind)
        values = [int(info.min), int(info.min) + 1, 1, int(info.max) - 1, int(info.max)]
        expected = [clipped(Fraction(value), exact_edges) for value in values]
        assert quantizer.encode(np.array(values, dtype=kind)).tolist() == expected
        assert quantizer.encode(values).tolist() == expected


def test_large_integers_do_not_become_floats() -> None:
    quantizer = Quantizer([2**53, 2**53 + 1, 2**53 + 2], symbols=["even", "odd"])
    assert quantizer.encode(np.array([2**53, 2**53 + 1])).tolist() == [0, 1]
    assert quantizer.encode([2**53 + 1, 2**53 + 0.0, None]).tolist() == [1, 0, -1]


# --- messy inputs (cases 13 to 17) -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float64, np.float32, str])
def test_case_13_the_edge_as_written(kind: Any) -> None:
    values = [6.7, 3.0] if kind is str else np.array([6.7, 3.0], dtype=kind)
    assert LinearQuantizer(kind(3.0), kind(6.7), 3).encode(values).tolist() == [2, 0]
    tenths = [0.3, 0.6, 0.7, 1.0] if kind is str else np.array([0.3, 0.6, 0.7, 1.0], dtype=kind)
    assert LinearQuantizer(0, 1, 10).encode(tenths).tolist() == [3, 6, 7, 9]


def test_case_14_missing_and_infinite() -> None:
    values = np.array([0, np.nan, 0.5, np.inf, -np.inf])
    with pytest.raises(InputError, match="2 of 5"):
        LinearQuantizer(0, 1, 2).encode(values)
    assert LinearQuantizer(0, 1, 2, outside="clip").encode(values).tolist() == [0, -1, 1, 1, 0]
    assert LinearQuantizer(0, 1, 2, outside="missing").encode(values).tolist() == [0, -1, 1, -1, -1]
    assert LinearQuantizer(0, 1, 2, outside="clip").encode(values.astype(object)).tolist() == [0, -1, 1, 1, 0]
    gone = LinearQuantizer(0, 1, 2).quantize(np.full(3, np.nan, dtype=np.float32))
    assert np.isnan(gone).all()
    assert LinearQuantizer(0, 1, 2).quantize([]).tolist() == LinearQuantizer(0, 1, 2).decode([]).tolist() == []


def test_the_closed_end_is_exact_for_decimals() -> None:
    quantizer = LinearQuantizer(0, 1, 2, outside="missing")
    assert quantizer.encode([Decimal("1"), Decimal("1." + "0" * 30 + "1"), Decimal("1.05")]).tolist() == [1, -1, -1]


def test_the_error_never_shows_a_value() -> None:
    with pytest.raises(InputError) as error:
        LinearQuantizer(0, 1, 2).encode([0.5, 77.125])
    assert "77" not in str(error.value)


def test_every_kind_of_gap_is_missing() -> None:
    gaps = [None, np.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"), 0.5]
    assert LinearQuantizer(0, 1, 2).encode(np.array(gaps, dtype=object)).tolist() == [-1] * 7 + [1]
    assert LinearQuantizer(0, 1, 2).encode(np.ma.masked_array([0.5, 9.0], [False, True])).tolist() == [1, -1]
    tenths = np.ma.masked_array(np.array([0.3, 9.0], dtype=np.float32), [False, True])
    assert LinearQuantizer(0, 1, 10).encode(tenths).tolist() == [3, -1]
    assert LinearQuantizer(0, 9, 2).encode(np.ma.masked_array([5, 99], [False, True])).tolist() == [1, -1]
    assert LinearQuantizer(0, 9, 2).encode(pd.Series([5, None], dtype="Int64")).tolist() == [1, -1]


def test_case_15_small_integers_do_not_wrap() -> None:
    quantizer = LinearQuantizer(np.int8(-128), np.int8(127), 255)
    assert quantizer.high - quantizer.low == 255
    assert quantizer.encode(np.array([-128, -127, 127], dtype=np.int8)).tolist() == [0, 1, 254]
    with pytest.raises(ArgumentError, match="increase"):
        Quantizer(np.array([1, 3, 1], dtype=np.uint8))


def test_case_16_the_sign_of_zero_is_not_released() -> None:
    quantizer = LinearQuantizer(-1, 1, 2, symbols="left")
    released = quantizer.quantize(np.array([0.0, -0.0, 1.0]))
    assert released.tolist() == [0.0, 0.0, 0.0]
    assert not np.signbit(released).any()
    assert LinearQuantizer(0, 1, 2).encode([-0.0, Decimal("-0.0")]).tolist() == [0, 0]


def test_case_17_degenerate_ranges() -> None:
    with pytest.raises(ArgumentError, match="empty"):
        LinearQuantizer(5, 5, 3)
    assert LinearQuantizer(-1, 1, 3).encode([-1, 1]).tolist() == [0, 2]
    assert LinearQuantizer(2**53, 2**53 + 8, 1).encode([2**53]).tolist() == [0]
    with pytest.raises(ArgumentError, match="distinct"):
        LinearQuantizer(2**53, 2**53 + 1, 4)
    assert LinearQuantizer(2**53, 2**53 + 1, 4, symbols="interval").levels == 4


@pytest.mark.parametrize(
    "bad",
    [
        lambda: LinearQuantizer(0, float("inf"), 3),
        lambda: LinearQuantizer(float("nan"), 1, 3),
        lambda: LinearQuantizer(1, 0, 3),
        lambda: LinearQuantizer(0, 1, 0),
        lambda: LinearQuantizer(0, 1, True),
        lambda: LinearQuantizer(0, 1, 2.0),  # type: ignore[arg-type]
        lambda: LinearQuantizer("zero", 1, 2),
        lambda: LinearQuantizer("1/0", 1, 2),
        lambda: LinearQuantizer(0, Decimal("1e999999999"), 2),
        lambda: LinearQuantizer(0, "1e-999999999", 2),
        lambda: LinearQuantizer(0, 10**400, 2),
        lambda: LinearQuantizer(True, 2, 2),
        lambda: LinearQuantizer(0, 1, 2, symbols=["a", "a"]),
        lambda: LinearQuantizer(0, 1, 2, symbols=["a"]),
        lambda: LinearQuantizer(0, 1, 2, symbols="mean"),
        lambda: LinearQuantizer(0, 1, 2, outside="drop"),  # type: ignore[arg-type]
        lambda: LinearQuantizer(0, 1, 2, missing="drop"),  # type: ignore[arg-type]
        lambda: Quantizer([0]),
        lambda: Quantizer([0, 0, 1]),
        lambda: LinearQuantizer(0, 1, 2).cells_met(-1),
        lambda: LinearQuantizer(0, 1, 2).encode(["a"]),
        lambda: LinearQuantizer(0, 1, 2).encode(np.array(["a"])),
        lambda: LinearQuantizer(0, 1, 2).encode(np.array([1j])),
        lambda: LinearQuantizer(0, 1, 2).encode(np.array(["2020-01-01"], dtype="M8[D]")),
        lambda: LinearQuantizer(0, 1, 2).decode([2]),
        lambda: LinearQuantizer(0, 1, 2).decode([-2]),
        lambda: LinearQuantizer(0, 1, 2).decode([0.0]),
        lambda: levels_for(1, 0, 10),
        lambda: levels_for(1, 0, 10, bits=1, outputs=2),
        lambda: levels_for(1, 0, 10, bits=-1),
        lambda: levels_for(1, 0, 10, bits=float("nan")),
        lambda: levels_for(1, 0, 10, outputs=0),
        lambda: levels_for(1, 0, 10, outputs=2.5),  # type: ignore[arg-type]
        lambda: levels_for(0, 0, 10, bits=1),
        lambda: levels_for(-1, 0, 10, bits=1),
    ],
)
def test_bad_input_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"^\w+(, \w+)?: "):
        bad()


# --- symbols ---------------------------------------------------------------------------------------------------------


def test_symbols() -> None:
    quantizer = LinearQuantizer(0, "0.3", 3)
    assert quantizer.symbols == (0.05, 0.15, 0.25)  # the nearest floats to the exact midpoints
    assert LinearQuantizer(0, "0.3", 3, symbols="left").symbols == (0.0, 0.1, 0.2)
    labels = LinearQuantizer(0, 1, 3, symbols="interval")
    assert labels.symbols == ("[0, 1/3)", "[1/3, 2/3)", "[2/3, 1]")
    assert labels.quantize([0.5, None]).tolist() == ["[1/3, 2/3)", None]
    assert quantizer.quantize(np.array([[0.1, np.nan]])).shape == (1, 2)
    assert LinearQuantizer(0, 1, 2, symbols=["low", "high"]).quantize([0.2, 1]).tolist() == ["low", "high"]
    assert LinearQuantizer(0, 1, 2, symbols=[10, Decimal("20.5")]).quantize([0, 1]).tolist() == [
        10,
        20.5,
    ]


@given(quantizers())
def test_coarsening_twice_is_coarsening_once(quantizer: Quantizer) -> None:
    released = quantizer.decode(np.arange(-1, quantizer.levels))
    again = quantizer.quantize(released)
    assert np.array_equal(released, again, equal_nan=True)


@given(quantizers())
def test_parameters_survive_json(quantizer: Quantizer) -> None:
    again = Quantizer.from_dict(json.loads(json.dumps(quantizer.to_dict())))
    assert again == quantizer
    assert type(again) is type(quantizer)


def test_the_wire_format_is_small() -> None:
    assert LinearQuantizer(3.0, 6.7, 2**15, symbols="left").to_dict() == {
        "kind": "linear",
        "low": "3",
        "high": "6.7",
        "levels": 2**15,
        "symbols": "left",
        "outside": "error",
        "missing": "public",
    }


# --- exact numbers and budgets ---------------------------------------------------------------------------------------


@given(st.fractions(max_denominator=10**6))
def test_text_reads_back(value: Fraction) -> None:
    assert exact(text(value), "x") == value


def test_a_float_is_its_shortest_decimal() -> None:
    written = [6.7, np.float32(6.7), np.float16(6.7), "6.7", Decimal("6.70"), Fraction(67, 10), "67/10"]
    assert {exact(value, "x") for value in written} == {Fraction(67, 10)}


def test_budgets() -> None:
    assert [allowed_outputs(bits, None) for bits in (0, 1, 3, "3.0", 20, 1000)] == [1, 2, 8, 8, 2**20, 2**1000]
    assert allowed_outputs(2.5, None) == 5
    assert allowed_outputs(Fraction(1, 2), None) == 1
    assert allowed_outputs("2.3", None) == 4
    assert allowed_outputs(None, np.int64(5)) == 5
    with pytest.raises(ArgumentError, match="outputs=5"):
        allowed_outputs(float(np.log2(5)), None)  # ⌊2**log2(5)⌋ is 4 in floats
    with pytest.raises(ArgumentError, match="exactly one"):
        allowed_outputs(None, None)


@given(st.integers(1, 300))
def test_bits_are_floored_exactly_or_refused(tenths: int) -> None:
    try:
        outputs = allowed_outputs(Fraction(tenths, 10), None)
    except ArgumentError:
        pytest.fail("a tenth of a bit is far from every integer")
    assert outputs**10 <= 2**tenths < (outputs + 1) ** 10


# --- cells met -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", shared_vectors("quantizer_cells"))
def test_vectors(vector: dict[str, Any]) -> None:
    quantizer, length = LinearQuantizer(0, 1, vector["levels"]), Fraction(*vector["length"])
    assert quantizer.cells_met(length) == vector["most_cells"]
    assert Quantizer(quantizer.edges).cells_met(length) == vector["most_cells"]


def most_cells(edges: list[Fraction], length: Fraction) -> int:
    """By trying every interval that starts or ends at an edge, or a hair beside it."""
    hair = min([b - a for a, b in pairwise(edges)] + [length or Fraction(1)]) / 1000
    starts = {e + shift for e in edges for shift in (-hair, Fraction(0), hair)}
    starts |= {e - length for e in starts}
    best = 1
    for start in starts:
        if edges[0] <= start and start + length <= edges[-1]:
            best = max(best, cell(start + length, edges) - cell(start, edges) + 1)
    return best


@given(quantizers(), st.fractions(0, 1, max_denominator=64))
def test_cells_met_is_attained_and_never_passed(quantizer: Quantizer, share: Fraction) -> None:
    length = share * (quantizer.high - quantizer.low)
    expected = most_cells(list(quantizer.edges), length)
    assert quantizer.cells_met(length) == expected
    assert Quantizer(quantizer.edges).cells_met(length) == expected


def test_erratum_9_the_papers_rule_is_one_cell_short() -> None:
    """Mean of four readings in [0, 10], ε = 1: the paper allows 8 levels, and three outputs are reached."""
    paper = LinearQuantizer(0, 10, int(2 * 10 / Fraction(10, 4)))
    assert paper.levels == 8
    rng = np.random.default_rng(1)
    reached = 0
    for _ in range(200):
        others = Fraction(int(rng.integers(0, 3001)), 100)
        means = [(others + Fraction(x, 100)) / 4 for x in range(0, 1001, 5)]
        reached = max(reached, len(set(paper.encode(means).tolist())))
    assert reached == 3
    assert levels_for("2.5", 0, 10, bits=1) == 4
    assert LinearQuantizer(0, 10, 4).cells_met("2.5") == 2


@given(st.fractions("0.01", 20, max_denominator=100), st.integers(1, 20))
def test_levels_for_is_the_largest_that_is_sound(sensitivity: Fraction, outputs: int) -> None:
    levels = levels_for(sensitivity, 0, 10, outputs=outputs)
    met = lambda q: min(q, -(-sensitivity * q // 10) + 1)  # noqa: E731
    assert met(levels) <= outputs
    assert all(met(q) > outputs for q in range(levels + 1, levels + 50))


# --- refinement ------------------------------------------------------------------------------------------------------


def test_the_design_s_refinements() -> None:
    eight, seven = LinearQuantizer(0, 1, 8), LinearQuantizer(0, 1, 7)
    assert eight.refine(eight).outputs == 8
    assert eight.refine(seven).outputs == 14


@given(quantizers(), quantizers())
def test_the_refinement_counts_the_joint_outputs(a: Quantizer, b: Quantizer) -> None:
    both = a.refine(b)
    points = sorted({*a.edges, *b.edges})
    points = [points[0] - 1, *points, *((x + y) / 2 for x, y in pairwise(points)), points[-1] + 1]
    joint = set(zip(a.encode(points).tolist(), b.encode(points).tolist(), strict=True))
    assert both.outputs == len(joint)
    triples = zip(both.encode(points).tolist(), a.encode(points).tolist(), b.encode(points).tolist(), strict=True)
    assert len(set(triples)) == len(joint)


def test_refinement_respects_the_policies() -> None:
    a, b = LinearQuantizer(0, 2, 2), LinearQuantizer(1, 3, 4)
    assert a.refine(b).edges == (1, Fraction(3, 2), 2)
    with pytest.raises(ArgumentError, match="overlap"):
        a.refine(LinearQuantizer(5, 6, 2))
    with pytest.raises(ArgumentError, match="outside policy"):
        a.refine(LinearQuantizer(0, 2, 2, outside="clip"))
    gone = LinearQuantizer(0, 2, 2, outside="missing")
    assert gone.refine(gone).outputs == gone.outputs == 3
    with pytest.raises(ArgumentError, match="range"):
        gone.refine(LinearQuantizer(0, 3, 2, outside="missing"))
    assert a.refine(LinearQuantizer(0, 2, 2, missing="output")).outputs == 3
