"""Figures 2, 3 and 4 of the three-region paper: the numbers of the errata and of the optima."""

from __future__ import annotations

import math
from typing import Any

import pytest

from reticent.experiments import redaction


def by(rows: Any, *keys: str) -> dict[tuple[Any, ...], Any]:
    return {tuple(row[key] for key in keys): row for row in rows}


def test_fig2_regions_and_the_counterexample_to_convexity() -> None:
    outcome = redaction.influence()
    rows = by(outcome.rows, "alpha", "distance", "value")
    assert rows[0.25, 1, 0]["influence"] == pytest.approx(math.log(3 / 2), abs=1e-12)
    assert rows[0.25, 1, 1]["influence"] == pytest.approx(math.log(2), abs=1e-12)
    steep = [max(rows[0.6612, d, value]["influence"] for value in (0, 1)) for d in (1, 2, 3, 4)]
    assert steep == pytest.approx([3.753, 1.022, 0.7505, 0.421], abs=6e-4)
    assert steep[1] - steep[2] < steep[2] - steep[3]  # a convex function falls ever more slowly
    assert "LMSSSS" in outcome.findings


@pytest.mark.parametrize(("epsilon", "printed", "true"), [(1.0, 12, 9), (0.25, 16, 15)])
def test_the_printed_distance_is_larger_than_needed(epsilon: float, printed: int, true: int) -> None:
    from reticent.redaction import binary_delta_star

    assert redaction.printed_delta_star(0.02, 0.2, epsilon) == printed
    assert binary_delta_star(0.02, 0.2, epsilon) == true


BUDGETS = (0.25, 0.5, 1.0, 1.5, 2.0)


@pytest.fixture(scope="module")
def fig3() -> dict[tuple[Any, ...], Any]:
    return by(redaction.utility(budgets=BUDGETS).rows, "mechanism", "epsilon")


@pytest.mark.parametrize(
    ("mechanism", "least"),
    [
        ("optimal local", (0.6890, 0.7383, 0.7957, 0.8337, 0.8618)),
        ("sequential", (0.8819, 0.8861, 0.8919, 0.8955, 0.8977)),
    ],
)
def test_fig3_optima(fig3: Any, mechanism: str, least: tuple[float, ...]) -> None:
    for epsilon, floor in zip(BUDGETS, least, strict=True):
        assert fig3[mechanism, epsilon]["utility"] >= floor


def test_fig3_published_breaks_its_promise_and_nothing_else_does(fig3: Any) -> None:
    published = [fig3["three-region, published", epsilon]["leakage"] for epsilon in BUDGETS]
    assert published == pytest.approx([0.21309, 0.65455, 0.89451, 2.29532, 2.50967], abs=1e-5)
    for (name, epsilon), row in fig3.items():
        if name != "three-region, published" and not math.isnan(row["leakage"]):
            assert row["leakage"] <= epsilon + 1e-9


def test_fig3_order_of_the_mechanisms(fig3: Any) -> None:
    order = ("quilt, exact", "three-region, calibrated", "optimal local", "sequential")
    for epsilon in BUDGETS:
        utilities = [fig3[name, epsilon]["utility"] for name in order]
        assert utilities == sorted(utilities)
        assert fig3["DIM-UB, corrected", epsilon]["utility"] >= utilities[0] - 1e-12


def test_fig4_published_leaks_and_the_others_do_not() -> None:
    outcome = redaction.probabilities()
    leakage = {row["mechanism"]: row["leakage"] for row in outcome.rows}
    assert leakage.pop("three-region, published") == pytest.approx(1.2770, abs=1e-4)
    assert max(leakage.values()) <= 1 + 1e-9
    rows = by(outcome.rows, "mechanism", "record", "value")
    published = [rows["three-region, published", t, 0]["withheld"] for t in range(10)]
    assert published == pytest.approx([1, 1, *[math.exp(-1 / 7)] * 7, 0], abs=1e-12)
    assert all(rows["three-region, published", t, 1]["withheld"] == 1 for t in range(9))
