"""The page of errata shows what the library computes, and a number that differs stops the build."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def errata() -> ModuleType:
    spec = importlib.util.spec_from_file_location("errata", ROOT / "tools" / "errata.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_number_is_what_the_library_computes(errata: ModuleType) -> None:
    page = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    fields = errata.FIELD.findall(page)
    assert len(fields) > 40
    text = errata.filled(page)
    assert "{{" not in text
    assert all(f"| {number}" in text for number in range(1, 15)), "an erratum has no line"
    used = {name for name in errata.FUNCTIONS if any(name + "(" in expression for expression, _ in fields)}
    assert used == set(errata.FUNCTIONS), "a function that no number comes from"


@pytest.mark.parametrize(
    "page",
    [
        "{{ true_leakage(0.01, 0.8, 10, 0.5) = 0.5000 }}",
        "{{ switch_q() = 0.06 }}{{ switch_q() = 0.07 }}",
        "{{ switch_q() }}",
        "{{ open('x') = 1 }}",
    ],
)
def test_a_number_that_differs_stops_the_build(errata: ModuleType, page: str) -> None:
    with pytest.raises(ValueError, match=r"shown|form|function"):
        errata.filled(page)
