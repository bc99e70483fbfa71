"""Each cell of the documentation's table of combinations is run, and so is each number of its comparison."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reticent.errors import ArgumentError
from reticent.markov import MarkovChain
from reticent.redaction import markov_quilt, optimal_policy, sequential_redaction, three_region

PAGE = Path(__file__).parents[2] / "docs" / "redaction.md"
N, EPSILON = 12, 1.0
USUAL = MarkovChain.binary(0.1, 0.3)

MECHANISMS: dict[str, Callable[..., Any]] = {
    "quilt, published": partial(markov_quilt, variant="published"),
    "quilt, exact": markov_quilt,
    "three-region, published": partial(three_region, variant="published"),
    "three-region, calibrated": three_region,
    "optimal": optimal_policy,
    "sequential": sequential_redaction,
}
SETTINGS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "several secrets": (USUAL, [2, 8], {}),
    "intervals": (USUAL, (4, 6), {}),
    "secret at an end": (USUAL, 11, {}),
    "missing records": (USUAL, 5, {"missing": [7]}),
    "λ < 0": (MarkovChain.binary(0.7, 0.8), 5, {}),
    "more than two states": (MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]]), 5, {}),
    "periodic chain": (MarkovChain.periodic([[[0.9, 0.1], [0.3, 0.7]], [[0.7, 0.3], [0.2, 0.8]]]), 5, {}),
    "list of chains": ([USUAL, MarkovChain.binary(0.12, 0.28)], 5, {}),
}


def tables(text: str) -> list[list[list[str]]]:
    """Every Markdown table of a page, as rows of cells."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return found


def table_of(first: str, second: str) -> list[list[str]]:
    (table,) = [table for table in tables(PAGE.read_text()) if table and table[0][:2] == [first, second]]
    return [table[0], *table[2:]]


def cells() -> list[tuple[str, str, str]]:
    header, *lines = table_of("mechanism", "several secrets")
    return [(line[0], name, cell) for line in lines for name, cell in zip(header[1:], line[1:], strict=True)]


def test_the_table_is_complete() -> None:
    assert {(mechanism, setting) for mechanism, setting, _ in cells()} == {
        (mechanism, setting) for mechanism in MECHANISMS for setting in SETTINGS
    }


@pytest.mark.parametrize(("mechanism", "setting", "said"), cells())
def test_the_documentation_says_what_exists(mechanism: str, setting: str, said: str) -> None:
    chain, private, more = SETTINGS[setting]
    if said == "refused":
        with pytest.raises(ArgumentError, match=r"exist"):
            MECHANISMS[mechanism](chain, N, private, EPSILON, **more)
        return
    assert said == "yes"
    design = MECHANISMS[mechanism](chain, N, private, EPSILON, **more)
    assert 0 < design.utility() < 1
    if "published" not in mechanism:
        assert design.leakage() <= EPSILON + 1e-9


def test_the_documented_comparison_is_what_comes_out() -> None:
    from reticent.experiments.redaction import DESIGNS

    header, *lines = table_of("ε", "quilt, exact")
    chain = MarkovChain.binary(0.01, 0.8)
    for line in lines:
        epsilon = float(line[0])
        for name, cell in zip(header[1:5], line[1:5], strict=True):
            assert DESIGNS[name](chain, 10, epsilon)[0] == pytest.approx(float(cell), abs=6e-5)
        utility, leakage = DESIGNS["three-region, published"](chain, 10, epsilon)
        published = [float(word.strip("()*")) for word in line[5].split()]
        assert [utility, leakage] == pytest.approx(published, abs=6e-5)
