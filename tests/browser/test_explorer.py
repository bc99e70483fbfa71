"""The explorer shows the library's numbers, is used by keyboard too, and its commands do what they say."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser_kit import LAPTOP, PHONE, charts, opened, overflow, violations
from playwright.sync_api import expect

from reticent.information import estimation_error_bound
from reticent.markov import MarkovChain
from reticent.quantization import AggregateQuantization, LocalQuantization, Roster
from reticent.reports.explorer import Input, explorer
from reticent.reports.explorer import numbers as library
from reticent.tables.models import Model

FAMILIES = ("redact", "switch", "quantize", "aggregate")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without an input."""
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer(), encoding="utf-8")
    return path


def choose(tab: Any, family: str, way: str | None = None, **stops: int) -> None:
    """Turn to a family, move its sliders, and choose a mechanism."""
    tab.check(f"input[name=family][value={family}]", force=True)
    for key, stop in stops.items():
        tab.eval_on_selector(
            f"#{family}-{key}",
            "(input, stop) => { input.value = stop; input.dispatchEvent(new Event('input', {bubbles: true})); }",
            stop,
        )
    if way is not None:
        tab.check(f"input[name={family}-way][value={way}]")


def row(tab: Any, family: str, way: str) -> dict[str, str] | str:
    """What the table shows of a mechanism."""
    cells = tab.eval_on_selector_all(
        f"#{family}-rows [data-way={way}] td",
        "cells => cells.map(cell => [cell.dataset.column || '', cell.textContent])",
    )
    return cells[0][1] if len(cells) == 1 else dict(cells)


def command(tab: Any, family: str) -> str:
    return tab.text_content(f"#{family}-command")


def data(page: Path) -> dict[str, Any]:
    text = page.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.S)[1])
    return found


def numeral(text: str) -> float:
    return float(text.removesuffix(" %").replace(",", ""))


def same(shown: str, value: Any, up: bool = True) -> None:
    """Six digits of a number; of a cost, never below it."""
    if value in (None, "infinity", math.inf):
        assert shown in ("the whole series", "∞")
        return
    assert numeral(shown) == pytest.approx(value, rel=1.1e-5, abs=1e-9)
    assert not up or numeral(shown) >= value * (1 - 2e-9)  # ten digits ship


# --- drawn, quiet, accessible ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_drawn_and_accessible(chromium: Any, axe: str, page: Path, scheme: str) -> None:
    with opened(chromium, page, scheme=scheme, bypass_csp=True) as tab:
        for family in FAMILIES:
            choose(tab, family)
            (chart,) = charts(tab)
            assert chart["width"] > 500
            assert chart["inside"] == chart["marks"] > 20
            assert violations(tab, axe) == []


def test_it_runs_under_its_own_policy_and_fits_a_phone(chromium: Any, page: Path) -> None:
    assert len(page.read_bytes()) < 2_000_000
    with opened(chromium, page, width=PHONE) as tab:
        for family in FAMILIES:
            choose(tab, family)
            assert overflow(tab) <= 0
            (chart,) = charts(tab)
            assert 200 < chart["width"] <= PHONE


def test_by_keyboard(chromium: Any, page: Path) -> None:
    with opened(chromium, page, width=LAPTOP) as tab:
        tab.keyboard.press("Tab")
        tab.keyboard.press("ArrowRight")
        assert tab.is_visible("#switch")
        assert not tab.is_visible("#redact")
        order = []
        for _ in range(6):
            tab.keyboard.press("Tab")
            order.append(tab.evaluate("(at => at.id || at.name || at.className)(document.activeElement)"))
            assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert order[:2] == ["switch-window", "switch-epsilon"]
        assert order[2:4] == ["scroll", "switch-way"]
        assert order[5] == "switch-copy"
        before = row(tab, "switch", "footrule")
        tab.focus("#switch-epsilon")
        tab.keyboard.press("ArrowRight")
        assert row(tab, "switch", "footrule") != before
        assert tab.get_attribute("#switch-epsilon", "aria-valuetext") == "3 nats"
        assert tab.text_content("#switch-epsilon-shown") == "3 nats"
        tab.focus("input[name=switch-way]:checked")
        tab.keyboard.press("ArrowDown")
        assert "--mechanism mallows" in command(tab, "switch")
        tab.focus("#switch-copy")
        tab.keyboard.press("Enter")
        expect(tab.locator("#switch-copied")).not_to_be_empty()


def test_what_the_chart_says(chromium: Any, page: Path) -> None:
    with opened(chromium, page) as tab:
        choose(tab, "switch", "ran", window=6, epsilon=5)
        said = tab.get_attribute("#switch-chart svg", "aria-label")
        for name, way in (("Footrule", "footrule"), ("RanSwitch", "ran")):
            shown = row(tab, "switch", way)
            assert f"{name} {shown['moved']}" in said
            assert tab.eval_on_selector_all(f"#switch-chart g[data-way={way}] .mark.now", "marks => marks.length") == 1
        assert row(tab, "switch", "ran")["moved"] in tab.text_content("#switch-sentence")


# --- the numbers -----------------------------------------------------------------------------------------------------


def check_redact(shown: dict[str, str] | str, way: str, values: dict[str, str]) -> None:
    chain = MarkovChain.binary(float(values["alpha"]), float(values["beta"]))
    fresh = library.redaction(way, chain, library.RECORDS, int(values["length"]), float(values["epsilon"]))
    if isinstance(fresh, str) or isinstance(shown, str):
        assert shown == fresh
        return
    leakage, withheld = fresh
    same(shown["leakage"], leakage)
    same(shown["withheld"], withheld)
    same(shown["released"], 100 * (1 - withheld / library.RECORDS), up=False)
    if way != "published":
        assert leakage <= float(values["epsilon"]) + 1e-9


def check_switch(shown: dict[str, str] | str, way: str, values: dict[str, str]) -> None:
    fresh = library.switching(way, int(values["window"]), float(values["epsilon"]))
    if isinstance(fresh, str) or isinstance(shown, str):
        assert shown == fresh
        return
    epsilon, delta, statistical, mean, ninety, ahead = fresh
    same(shown["exact"], epsilon)
    same(shown["delta"], delta)
    same(shown["moved"], mean)
    assert (numeral(shown["ninety"]), shown["kind"] == "a statistical bound") == (ninety, statistical)
    assert shown["waits"] == ("the whole series" if ahead is None else f"{ahead:,} records")


def check_quantize(shown: dict[str, str] | str, way: str, values: dict[str, str]) -> None:
    outputs = int(values["outputs"])
    local = LocalQuantization(0, 10, outputs=outputs, missing=way)
    assert isinstance(shown, dict)
    same(shown["bits"], local.guarantee.bits)
    assert numeral(shown["levels"]) == local.quantizer.levels
    same(shown["width"], 10 / local.quantizer.levels)
    same(shown["error"], 5 / local.quantizer.levels)
    same(shown["guess"], estimation_error_bound(0.1, 10, outputs=local.quantizer.levels) ** 0.5, up=False)
    same(shown["series"], local.for_series(1000).bits)


def check_aggregate(shown: dict[str, str] | str, way: str, values: dict[str, str]) -> None:
    given = {} if way == "count" else {"low": 0, "high": 10, "resolution": "0.01"}
    mechanism = AggregateQuantization(way, outputs=int(values["outputs"]), **given)
    people = int(values["individuals"])
    cells = mechanism.plan(Roster(people, people, 1)).quantizer
    assert isinstance(shown, dict)
    same(shown["bits"], mechanism.guarantee.bits)
    assert numeral(shown["levels"]) == cells.levels
    same(shown["width"], float(cells.widest))
    same(shown["part"], 100 * float(cells.widest / (cells.high - cells.low)), up=False)


CHECKS = {"redact": check_redact, "switch": check_switch, "quantize": check_quantize, "aggregate": check_aggregate}


def test_the_numbers_at_50_random_settings(chromium: Any, page: Path) -> None:
    draw = random.Random(8)
    families = {each["key"]: each for each in data(page)["families"]}
    with opened(chromium, page) as tab:
        for _ in range(50):
            family = families[draw.choice(("redact", "redact", "switch", "quantize", "aggregate"))]
            way = draw.choice([each["key"] for each in family["ways"]])
            stops = {slider["key"]: draw.randrange(len(slider["texts"])) for slider in family["sliders"]}
            if way == "sta":
                stops["window"] %= 4  # beyond it, its δ is simulated
            choose(tab, family["key"], way, **stops)
            values = {slider["key"]: slider["values"][stops[slider["key"]]] for slider in family["sliders"]}
            for slider in family["sliders"]:
                assert (
                    tab.text_content(f"#{family['key']}-{slider['key']}-shown") == slider["texts"][stops[slider["key"]]]
                )
            CHECKS[family["key"]](row(tab, family["key"], way), way, values)


def test_the_tables_that_ship_are_whole() -> None:
    shipped = library.shipped()
    assert len(shipped["redaction"]) == len(list(library.redaction_settings()))
    assert len(shipped["switching"]) == len(list(library.switching_settings()))


@pytest.mark.slow
def test_the_tables_that_ship_are_those_of_the_library() -> None:
    draw = random.Random(4)
    shipped = library.shipped()
    for name, settings, compute in (
        ("redaction", list(library.redaction_settings()), library.redaction),
        ("switching", list(library.switching_settings()), library.switching),
    ):
        for i in draw.sample(range(len(settings)), 200 if name == "redaction" else 40):
            fresh: Any = compute(*settings[i])
            kept: Any = shipped[name][i]
            assert len(kept) == len(fresh), settings[i]
            for here, there in zip(kept, fresh, strict=True):
                assert here == (pytest.approx(there, rel=1e-8) if isinstance(there, float) else there), settings[i]


def test_a_chain_of_ones_own(chromium: Any, tmp_path: Path) -> None:
    chain = MarkovChain.binary(0.3, 0.4, states=("off", "<b>on"))
    path = tmp_path / "own.html"
    given = Input("my data.csv", ("--time", "t", "--value", "it's"), records=60, model=Model(chain), low=-5, high="7.5")
    path.write_text(explorer(given), encoding="utf-8")
    with opened(chromium, path) as tab:
        choose(tab, "redact", "optimal", length=2, epsilon=5)
        fresh = library.redaction("optimal", chain, 60, 12, 2.0)
        shown = row(tab, "redact", "optimal")
        same(shown["leakage"], fresh[0])
        same(shown["withheld"], fresh[1])
        assert "alpha" not in tab.inner_html("#redact .sliders")
        assert command(tab, "redact") == (
            "reticent redact 'my data.csv' --time t --value 'it'\"'\"'s' --private START/END --model model.json "
            "--epsilon 2 --mechanism optimal -o released.csv"
        )
        choose(tab, "quantize", "public", outputs=5)
        assert "--low -5 --high 7.5 --outputs 8" in command(tab, "quantize")
        same(row(tab, "quantize", "public")["width"], 12.5 / 8)


# --- the commands ----------------------------------------------------------------------------------------------------


def run(text: str, folder: Path, **words: str) -> dict[str, Any]:
    """Run a command line of the page as a person would; the certificate of what it released."""
    before, verb, text = text.rpartition("reticent ")  # what precedes it makes the model, and has an END of its own
    for word, value in {"TIME": "time", "VALUE": "value", "INPUT": "data.csv", **words}.items():
        text = re.sub(rf"\b{word}\b", value, text)
    text = f"{before}{verb}{text}"
    (folder / "bin").mkdir(exist_ok=True)
    shim = folder / "bin" / "reticent"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from reticent.cli import main; main()" "$@"\n')
    shim.chmod(0o755)
    environment = {**os.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}", "RETICENT_HOME": str(folder / "home")}
    done = subprocess.run(
        ["bash", "-ec", text], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (text, done.stderr)
    certificate: dict[str, Any] = json.loads((folder / "released.csv.certificate.json").read_text(encoding="utf-8"))
    return certificate


def certified(tab: Any, folder: Path, family: str, way: str, values: dict[str, str]) -> None:
    """The certificate says what the page says."""
    shown = row(tab, family, way)
    assert isinstance(shown, dict)
    if family == "redact":
        length = int(values["length"])
        first, last = library.middle(library.RECORDS, length)
        lines = (f"{i},{i % 3 % 2}\n" for i in range(library.RECORDS))
        (folder / "data.csv").write_text("".join(["time,value\n", *lines]))
        claims = run(command(tab, family), folder, START=str(first), END=str(last))["claims"]
        same(shown["leakage"], claims["guarantee"]["epsilon"])
        same(shown["released"], 100 * claims["utility"]["expected_released_fraction"], up=False)
    elif family == "switch":
        (folder / "data.csv").write_text("".join(["time,value\n", *(f"{i},{i}\n" for i in range(300))]))
        claims = run(command(tab, family), folder)["claims"]
        same(shown["exact"], claims["guarantee"]["epsilon"])
        same(shown["delta"], claims["guarantee"]["delta"])
        same(shown["moved"], claims["utility"]["mean_displacement_steps"])
        assert claims["guarantee"]["window"] == int(values["window"])
    elif family == "quantize":
        (folder / "data.csv").write_text("".join(["time,value\n", *(f"{i},{i % 11}\n" for i in range(50))]))
        claims = run(command(tab, family), folder)["claims"]
        same(shown["bits"], claims["guarantee"]["bits"])
        assert claims["cells"][0]["levels"] == numeral(shown["levels"])
    else:
        people = int(values["individuals"])
        lines = (f"{who},{t},{(who + t) % 10}\n" for who in range(people) for t in range(4))
        (folder / "data.csv").write_text("".join(["id,time,value\n", *lines]))
        claims = run(command(tab, family), folder, ID="id", START="0", END="4")["claims"]
        same(shown["bits"], claims["guarantee"]["bits"])
        assert claims["cells"][0]["levels"] == numeral(shown["levels"])
        same(shown["width"], claims["cells"][0]["widest"])


CHOSEN = (
    ("redact", "sequential", {"alpha": 3, "beta": 4, "length": 3, "epsilon": 3}),
    ("redact", "optimal", {"alpha": 1, "beta": 4, "length": 0, "epsilon": 5}),
    ("switch", "footrule", {"window": 4, "epsilon": 5}),
    ("switch", "ran", {"window": 6, "epsilon": 6}),
    ("quantize", "output", {"outputs": 5}),
    ("aggregate", "mean", {"individuals": 3, "outputs": 2}),
)


@pytest.mark.parametrize(("family", "way", "stops"), CHOSEN, ids=[f"{family}-{way}" for family, way, _ in CHOSEN])
def test_the_command_does_what_it_says(
    chromium: Any, page: Path, tmp_path: Path, family: str, way: str, stops: dict[str, int]
) -> None:
    sliders = {each["key"]: each["sliders"] for each in data(page)["families"]}[family]
    with opened(chromium, page) as tab:
        choose(tab, family, way, **stops)
        certified(tab, tmp_path, family, way, {each["key"]: each["values"][stops[each["key"]]] for each in sliders})


@pytest.mark.slow
def test_every_mechanism_by_its_command_at_random(chromium: Any, page: Path, tmp_path: Path) -> None:
    draw = random.Random(15)
    with opened(chromium, page) as tab:
        for family in data(page)["families"]:
            for way in family["ways"]:
                for turn in range(2):
                    stops = {each["key"]: draw.randrange(len(each["texts"])) for each in family["sliders"]}
                    if way["key"] == "sta":
                        stops["window"] %= 4
                    choose(tab, family["key"], way["key"], **stops)
                    if isinstance(row(tab, family["key"], way["key"]), str) or not way["command"]:
                        assert command(tab, family["key"]) == "# none"
                        assert tab.is_disabled(f"#{family['key']}-copy")
                        continue
                    folder = tmp_path / f"{family['key']}-{way['key']}-{turn}"
                    folder.mkdir()
                    values = {each["key"]: each["values"][stops[each["key"]]] for each in family["sliders"]}
                    certified(tab, folder, family["key"], way["key"], values)


def test_the_published_mechanism_has_no_command(chromium: Any, page: Path) -> None:
    with opened(chromium, page) as tab:
        choose(tab, "redact", "published", alpha=1, beta=4, length=0, epsilon=3)
        assert numeral(row(tab, "redact", "published")["leakage"]) > 1.2  # where ε = 1 was asked for
        assert command(tab, "redact") == "# none"
        assert tab.is_disabled("#redact-copy")
