"""The reports open from disk without a network, are drawn, and can be read by everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from browser_kit import PHONE, charts, opened, overflow, violations

from reticent import tables
from reticent.markov import MarkovChain

REPORTS = {"sequential": 2, "optimal": 2, "switch": 2, "quantize": 1, "aggregate": 1}  # charts of the public one
DRAWN = {"sequential": 2, "optimal": 2, "switch": 2, "quantize": 2, "aggregate": 0}  # further ones, for each series


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A release by each verb, with both its reports."""
    folder = tmp_path_factory.mktemp("reports")
    n = 96
    chain = MarkovChain.binary(0.1, 0.2)
    rng = np.random.default_rng(7)
    rows: dict[str, list[Any]] = {"id": [], "t": [], "on": [], "kwh": []}
    for name in ("a", "b"):
        rows["id"] += [name] * n
        rows["t"] += list(range(n))
        rows["on"] += rng.integers(0, 2, n).tolist()
        rows["kwh"] += np.round(rng.uniform(0, 10, n), 2).tolist()
    data: Any = pa.table({**rows, "t": pa.array(np.array(rows["t"]) * 1_800_000_000, pa.timestamp("us"))})
    common: dict[str, Any] = {"id": "id", "time": "t", "private_report": True, "ledger": folder / "ledger.db"}
    secret = {"value": "on", "private": "1970-01-02/1970-01-02 02:00", "epsilon": 1.0, "model": chain}
    cells = {"value": "kwh", "low": 0, "high": 10, "outputs": 5}

    def place(name: str) -> dict[str, Any]:  # the ledger refuses to join kinds, so each is of data of its own
        return {**common, "dataset": name, "output": folder / f"{name}.csv"}

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETICENT_HOME", str(folder / "home"))
        for mechanism in ("sequential", "optimal"):
            tables.redact(data, **secret, mechanism=mechanism, **place(mechanism))
        tables.switch(data, value="kwh", window=6, epsilon=2.0, **place("switch"))
        tables.quantize(data, **cells, **place("quantize"))
        tables.aggregate(data, query="mean", resolution="0.01", **cells, **place("aggregate"))
    return folder


def name_of(which: str, private: bool) -> str:
    return f"{which}.csv.{'PRIVATE.' if private else ''}report.html"


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("which", REPORTS)
def test_a_report_is_drawn_and_accessible(chromium: Any, axe: str, folder: Path, which: str, private: bool) -> None:
    page = folder / name_of(which, private)
    expected = REPORTS[which] + (2 * DRAWN[which] if private else 0)
    for scheme in ("light", "dark"):
        with opened(chromium, page, scheme=scheme, bypass_csp=True) as tab:  # which axe needs; the next test keeps it
            drawn = charts(tab)
            assert len(drawn) == expected
            assert all(each["width"] > 300 and each["height"] > 50 for each in drawn)
            assert all(each["inside"] == each["marks"] > 5 for each in drawn)
            assert violations(tab, axe) == []


@pytest.mark.parametrize("which", REPORTS)
def test_a_report_fits_a_phone(chromium: Any, folder: Path, which: str) -> None:
    with opened(chromium, folder / name_of(which, True), width=PHONE) as tab:
        assert overflow(tab) <= 0
        assert all(each["width"] <= PHONE for each in charts(tab))


def test_a_report_prints_on_light_paper(chromium: Any, folder: Path) -> None:
    with opened(chromium, folder / name_of("switch", False), scheme="dark") as tab:
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        tab.emulate_media(media="print")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert tab.pdf(format="A4").startswith(b"%PDF")
