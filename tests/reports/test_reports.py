"""The report opens anywhere, says what the certificate says, and shows nothing else."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

from reticent import tables
from reticent.certificates import Certificate
from reticent.markov import MarkovChain
from reticent.quantization import Quantizer, VectorQuantization
from reticent.quantization.local import LocalQuantization
from reticent.randomness import seeded_source
from reticent.redaction import RedactionPolicy, markov_quilt, sequential_redaction
from reticent.reports import private_report, public_report, redaction, with_composition
from reticent.reports.drawing import PALETTE
from reticent.reports.words import at_most, share
from reticent.switching import MECHANISMS, MallowsSwitch
from reticent.tables.pipeline import Pair

ODD = "</script><b onclick=x>&amp;'\"{{ 7*7 }}"
VOID = {"meta", "link", "br", "hr", "img", "input"}


def facts(values: tuple[str, ...] = ("value",), rows: int = 100, series: int = 1, longest: int = 100) -> dict[str, Any]:
    columns = {"id": [], "time": "time", "value": list(values), "kept": [], "added": []}
    return {
        "columns": columns,
        "rows": rows,
        "series": series,
        "longest": longest,
        "format": "csv",
        "sha256": "ab" * 32,
    }


def switched(seeded: bool = False, window: int = 6, epsilon: float = 2.0, **released: Any) -> Certificate:
    asked = {"epsilon": epsilon, "delta": 0.0}
    mechanism = MallowsSwitch(window, epsilon, delta=0.0).to_dict()
    return Certificate.issue(
        "switch", {"asked": asked, "mechanism": mechanism, "cuts": None}, facts(**released), seeded
    )


def quantized(*parts: LocalQuantization, **released: Any) -> Certificate:
    mechanism = VectorQuantization(parts or (LocalQuantization(0, 10, bits=3),))
    names = released.pop("values", tuple(f"value {i}" for i in range(len(mechanism.coordinates))))
    parameters = {
        "asked": {"outputs": mechanism.outputs},
        "coordinates": [part.to_dict() for part in mechanism.coordinates],
    }
    return Certificate.issue("quantize", parameters, facts(values=names, **released), False)


def redacted(
    *policies: RedactionPolicy,
    chain: MarkovChain | None = None,
    series: Any = None,
    epsilon: float = 1.0,
    **released: Any,
) -> Certificate:
    chain = chain or MarkovChain.binary(0.1, 0.2, states=("off", ODD))
    if series is None:
        policies = policies or (markov_quilt(chain, 60, (20, 24), 1.0),)
        series = [[i, 2] for i in range(len(policies))]
    mechanisms = []
    for policy in policies:
        body = policy.to_dict()
        body["phase"] = body.pop("chains")[0]["phase"]
        mechanisms.append(body)
    parameters = {
        "asked": {"epsilon": epsilon, "mechanism": "quilt"},
        "quantizer": None,
        "private": ["10/12"],
        "every": {"step": 1_800_000_000, "unit": "us"},
        "model": {"origin": "file", "margin": None, "smoothing": None},
        "chains": [chain.to_dict()],
        "mechanisms": mechanisms,
        "series": series,
    }
    return Certificate.issue("redact", parameters, facts(**released), False)


def changed(certificate: Certificate, **guarantee: Any) -> Certificate:
    body = json.loads(certificate.to_json())
    body["claims"]["guarantee"] |= guarantee
    return Certificate(body)


class Page(HTMLParser):
    """Elements, their nesting, identifiers and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def names(self) -> list[str]:
        return [tag for tag, _ in self.tags]


def check(html: str) -> Page:
    """What holds for every report."""
    page = Page(html)
    assert page.open == []
    assert not {"script", "b", "iframe", "object", "img", "link", "foreignobject", "image", "use"} & set(page.names())
    assert not re.search(r"https?:|@import|url\(", html)
    for _, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "xlink:href")}
        assert (attributes.get("href") or "#").startswith("#")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        for name in ("aria-labelledby", "href"):
            assert attributes.get(name) is None or attributes[name].lstrip("#") in ids
    levels = [int(tag[1]) for tag in page.names() if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert [page.names().count(tag) for tag in ("main", "header", "footer", "title")] == [1, 1, 1, 1]
    charts = [attributes for _, attributes in page.tags if attributes.get("role") == "img"]
    assert all(attributes["aria-label"] for attributes in charts)
    pictures = re.findall(r"<svg.*?</svg>", html, flags=re.S)
    assert len(pictures) == 2 * len(charts)
    for picture in pictures:
        ElementTree.fromstring(picture)
        assert "NaN" not in picture
        assert "undefined" not in picture
    assert len(html) < 2_000_000
    return page


def test_a_switch_is_told() -> None:
    certificate = switched()
    page = check(public_report(certificate))
    claims = certificate.claims
    for text in (
        claims["guarantee"]["promise"],
        claims["guarantee"]["limits"],
        *claims["assumptions"],
        "2 nats",
        "ab" * 32,
        "reticent verify OUT.certificate.json OUT",
        f"reticent {certificate.body['library']}",
        certificate.body["digest"],
        "24 nats",  # a run of twelve
    ):
        assert text in page.text
    assert page.names().count("figure") == 2
    assert "PRIVATE" not in page.text


def test_a_quantisation_is_told() -> None:
    parts = LocalQuantization(0, 10, bits=3), LocalQuantization.of(Quantizer([0, 1, 5, 6], symbols=["a", "b", "c"]))
    page = check(public_report(quantized(*parts, values=("one", "two"), longest=7)))
    for text in ("4.58497 bits", "32.0948 bits", "per series of 7 readings", "The cells of one", "The cells of two"):
        assert text in page.text
    assert page.names().count("figure") == 1


def test_a_redaction_is_told() -> None:
    certificate = redacted()
    page = check(public_report(certificate))
    epsilon = certificate.claims["guarantee"]["epsilon"]
    shown = float(re.search(r"([\d.]+) nats\s*ε, the exact leakage", page.text)[1])
    assert epsilon <= shown <= epsilon * (1 + 1e-5)
    assert page.names().count("figure") == 2
    assert "secret (5 records)" in page.text
    assert ODD in page.text


@pytest.mark.parametrize("family", ["switch", "quantize", "redact"])
def test_names_are_text(family: str) -> None:
    certificate = {
        "switch": lambda: switched(values=(ODD,)),
        "quantize": lambda: quantized(
            LocalQuantization(0, 1, bits=1), LocalQuantization(0, 1, bits=1), values=(ODD, "")
        ),
        "redact": lambda: redacted(values=(ODD,)),
    }[family]()
    assert ODD in check(public_report(certificate)).text


def test_names_that_are_no_characters() -> None:
    check(
        public_report(
            quantized(LocalQuantization(0, 1, bits=1), LocalQuantization(0, 1, bits=1), values=("\ud800", "\0"))
        )
    )


def test_a_seed_is_shouted() -> None:
    page = check(public_report(switched(seeded=True)))
    assert "NOT PRIVATE" in page.text
    assert page.text.index("NOT PRIVATE") < page.text.index("What was done")


@pytest.mark.parametrize(("epsilon", "shown"), [("infinity", "∞ nats"), (float("nan"), "not a number nats")])
@pytest.mark.parametrize("make", [switched, redacted])
def test_an_epsilon_that_is_no_number(make: Any, epsilon: Any, shown: str) -> None:
    assert shown in check(public_report(changed(make(), epsilon=epsilon))).text


def test_a_cost_is_never_rounded_down() -> None:
    assert "1.00001 nats" in check(public_report(changed(switched(), epsilon=1.0000000001))).text


def test_the_commonest_geometry_is_drawn() -> None:
    chain = MarkovChain.binary(0.1, 0.2)
    policies = [markov_quilt(chain, 200, [(50, 50 + i), 120], 1.0) for i in range(4)]
    page = check(public_report(redacted(*policies, chain=chain, series=[[0, 2], [2, 3], [None, 7], [0, 0], [2, 1]])))
    assert page.text.count("secret (3 records)") == 4  # two pictures, each twice
    assert "Shown is the first of 2 secrets" in page.text
    assert "Series released whole7" in page.text.replace("\n", "")


def test_no_series_with_a_secret() -> None:
    page = check(public_report(redacted(series=[[None, 3]])))
    assert "every record was released as it is" in page.text
    assert "figure" not in page.names()


def test_probabilities_by_state() -> None:
    chain = MarkovChain.binary(0.1, 0.2)
    r = np.zeros((9, 2))
    r[3:6] = 1
    r[2] = r[6] = (0.5, 1)
    r[1] = r[7] = (0.9, 1)
    policy = RedactionPolicy(chain, r, (4, 4))
    certificate = redacted(policy, chain=chain, epsilon=9.0)
    html = public_report(certificate)
    assert {"state 0", "state 1", "on state 0", "on state 1"} <= set(re.findall(r">([^<>]*state \d)<", html))
    check(html)


@pytest.mark.parametrize("private", [(0, 3), (9, 9), (0, 9)])
def test_a_secret_at_the_ends(private: tuple[int, int]) -> None:
    chain = MarkovChain.binary(0.1, 0.2)
    check(public_report(redacted(markov_quilt(chain, 10, private, 1.0), chain=chain)))


def test_zeros_in_the_chain_and_many_states() -> None:
    size = 6
    steps = np.roll(np.eye(size), 1, axis=1) * 0.5 + np.eye(size) * 0.5
    chain = MarkovChain(steps)
    page = check(public_report(redacted(markov_quilt(chain, 200, 100, 1.0), chain=chain)))
    assert "Where no point is drawn it is infinite." in page.text


def test_a_periodic_chain() -> None:
    steps = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]], [[0.8, 0.2], [0.5, 0.5]]])
    chain = MarkovChain.periodic(steps)
    policy = markov_quilt(chain.shifted(2), 60, 30, 1.0)
    assert "repeats after 3 steps" in check(public_report(redacted(policy, chain=chain))).text


def test_a_design_of_another_kind_is_drawn_without_its_probabilities() -> None:
    body = json.loads(redacted().to_json())
    (design,) = body["parameters"]["mechanisms"]
    design["mechanism"] = "another"
    del design["probabilities"]
    assert check(public_report(Certificate(body))).names().count("figure") == 1


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_switch(name: str) -> None:
    kind = MECHANISMS[name]
    switch = kind(window=4, log_ratio=1.0) if name == "sta" else kind(window=4, epsilon=2.0)
    parameters = {"asked": {"epsilon": 99.0, "delta": 0.999}, "mechanism": switch.to_dict(), "cuts": None}
    page = check(public_report(Certificate.issue("switch", parameters, facts(), False)))
    assert page.names().count("figure") == 2
    assert switch.describe() in page.text


def test_a_window_of_one_and_a_long_one() -> None:
    check(public_report(switched(window=1)))
    assert "steps." in check(public_report(switched(window=3000, epsilon=2.0))).text


def test_many_cells_and_extreme_ranges() -> None:
    parts = [
        LocalQuantization(0, 1, outputs=2**10),
        LocalQuantization(0, 1, outputs=300, symbols="interval"),
        LocalQuantization("1e9", "1000000000.000001", bits=2),
        LocalQuantization("-1e300", "1e300", bits=5, outside="clip"),
        LocalQuantization(0, 5, outputs=5, missing="output"),
    ]
    page = check(public_report(quantized(*parts)))
    assert "Drawn are 4 of 5 columns." in page.text
    assert "1000000000.00000025" in page.text
    assert "1,024" in page.text
    assert "moved to the end cell" in page.text


def test_a_million_cells_are_no_burden() -> None:
    body = json.loads(quantized(LocalQuantization(0, 1, outputs=16)).to_json())
    (coordinate,) = body["parameters"]["coordinates"]
    coordinate["quantizer"]["levels"] = coordinate["outputs"] = 2**20
    coordinate["narrowest"] = coordinate["widest"] = f"1/{2**20}"
    body["claims"]["cells"][0]["levels"] = 2**20
    before = time.process_time()
    page = check(public_report(Certificate(body)))
    assert time.process_time() - before < 2
    assert "1,048,576" in page.text
    assert "figure" not in page.names()


def test_quick_and_small_for_many_records() -> None:
    chain = MarkovChain.binary(0.1, 0.2)
    n = 10**8
    design = {
        "mechanism": "redaction_policy",
        "n": n,
        "epsilon": 1.0,
        "private": [[i, i + 10**6] for i in range(10**6, n - 10**6, 4 * 10**6)],
        "missing": [],
        "probabilities": [[10**6 - 9, 10**6 - 1, [1.0, 1.0]], [2 * 10**6 + 1, 2 * 10**6 + 9, [1.0, 1.0]]],
        "phase": 0,
    }
    body = json.loads(redacted(chain=chain).to_json())
    body["parameters"] |= {"mechanisms": [design], "series": [[0, 1]]}
    big = {"rows": n, "longest": n}
    for certificate in (Certificate(body), switched(**big), quantized(**big)):
        before = time.process_time()
        check(public_report(certificate))
        assert time.process_time() - before < 5


def test_a_function_of_the_certificate_alone() -> None:
    for certificate in (switched(), quantized(), redacted()):
        again = Certificate.parse(certificate.to_json())
        assert public_report(certificate) == public_report(again)


def test_aggregates_are_told(tmp_path: Path) -> None:
    homes = [(street, f"{street}{i}") for street, size in (("a", 5), ("b", 5), ("c", 6)) for i in range(size)]
    lines = [f"{street},{home},{t},{(t * 37) % 900 / 100}\n" for street, home in homes for t in range(20)]
    (tmp_path / "in.csv").write_text("".join(["street,home,t,kwh\n", *lines]))
    out = tmp_path / "out.csv"
    options: dict[str, Any] = {"id": "home", "time": "t", "value": "kwh", "over": "street", "per": "10", "output": out}
    tables.aggregate(
        tmp_path / "in.csv", query="mean", low=0, high=10, outputs=3, resolution="0.01", private_report=True, **options
    )
    page = check((tmp_path / "out.csv.report.html").read_text())
    for text in ("3 groups", "the mean of kwh", "1.58497 bits", "groups of 5", "5 to 6"):
        assert text in page.text
    assert page.names().count("figure") == 1
    assert "No series was kept" in check((tmp_path / "out.csv.PRIVATE.report.html").read_text()).text


def test_the_input_does_not_show(tmp_path: Path) -> None:
    canary, dropped = "57.3141", "Zugvogel"
    rows = (f"{i},{canary if i == 150 else i % 7},{'yes' if i % 9 < 4 else 'no'},{dropped}\n" for i in range(300))
    source = tmp_path / "kanari.csv"
    source.write_text("".join(["t,v,w,note\n", *rows]))
    out = tmp_path / "out.csv"
    tables.quantize(source, time="t", value="v", low=0, high=64, bits=3, output=out, private_report=True)
    public = (tmp_path / "out.csv.report.html").read_text()
    private = (tmp_path / "out.csv.PRIVATE.report.html").read_text()
    for word in (canary, dropped, "kanari", str(tmp_path)):
        assert word not in public
    assert canary in check(private).text  # the test can fail
    chain = MarkovChain.binary(0.1, 0.2, states=("no", "yes"))
    out = tmp_path / "two.csv"
    tables.redact(source, time="t", value="w", private="100/103", epsilon=1.0, model=chain, output=out, dataset="w")
    public = check((tmp_path / "two.csv.report.html").read_text()).text
    for word in (canary, dropped, "kanari", str(tmp_path)):
        assert word not in public


# --- the private report ----------------------------------------------------------------------------------------------


def times(n: int) -> pa.Array:
    return pa.array(np.arange(n) * 60_000_000, pa.timestamp("us"))


def pair(before: Any, after: Any, clock: pa.Array | None = None) -> Pair:
    original, released = pa.chunked_array([before]), pa.chunked_array([after])
    clock = times(len(original)) if clock is None else clock
    return Pair(
        pa.table({"time": clock, "value": original, "extra": clock}), pa.table({"time": clock, "value": released})
    )


def test_numbers_compared() -> None:
    values = pa.array([1.0, 2.0, None, 4.0, 5.0, float("nan"), 7.0, float("inf")])
    page = check(private_report(switched(), [pair(values, values[::-1])], (("delimiter", ODD),)))
    assert page.names().count("figure") == 4
    for text in ("must not leave the house", ODD, "Standard deviation", "Median", "Infinite"):
        assert text in page.text
    row = re.search(r"Missing or withheld\s*(\d)\s*(\d)", page.text)
    assert row.groups() == ("2", "2")
    assert page.text.index("must not leave the house") < page.text.index("What was done")


def test_words_compared() -> None:
    before = pa.array([ODD, "on", "on", "off", None, "off"])
    after = pa.array([ODD, None, None, "off", None, "off"])
    page = check(private_report(redacted(), [pair(before, after.dictionary_encode())], ()))
    assert "Withheld: 2 of 6 (33.3333 %). Altered among the others: 0." in page.text
    assert f"Share of {ODD}" in page.text


def test_numbers_against_texts() -> None:
    values = np.linspace(0, 9.99, 50)
    symbols = LocalQuantization(0, 10, bits=2, symbols="interval").release(values)
    page = check(private_report(quantized(values=("value",)), [pair(pa.array(values), pa.array(symbols.tolist()))], ()))
    assert page.names().count("figure") == 2  # the cells; side by side, and nothing to lay over it
    assert "50 of 50" in page.text


def test_error_of_a_quantisation() -> None:
    page = check(
        private_report(quantized(values=("value",)), [pair(pa.array([1.0, 2.0, 3.0]), pa.array([1.5, 1.5, 3.0]))], ())
    )
    assert "Error: 0.333333 on average, 0.5 at most." in page.text


@pytest.mark.parametrize("seeded", [False, True])
def test_the_warning_prints_on_every_page(seeded: bool) -> None:
    html = private_report(switched(seeded=seeded), [], ())
    check(html)
    assert re.search(r"@media print.*\.marks \{ display: table-header-group;", html, flags=re.S)
    assert ("NOT PRIVATE" in html) is seeded


@pytest.mark.parametrize(
    "clock",
    [
        pa.array(range(3)),
        pa.array([0, 1, 2], pa.date32()),
        pa.array([0, 10**9, 2 * 10**9], pa.timestamp("ns", "Europe/Paris")),
    ],
)
def test_clocks(clock: pa.Array) -> None:
    check(private_report(switched(), [pair(pa.array([1, 2, None]), pa.array([None, 1, 2]), clock)], ()))


def test_one_row_and_nothing_but_gaps() -> None:
    for values in (
        pa.array([None], pa.float64()),
        pa.array([None], pa.string()),
        pa.array([True]),
        pa.array([], pa.int64()),
    ):
        check(private_report(switched(), [pair(values, values)], ()))


def test_long_series_and_many_columns() -> None:
    n, names = 5000, tuple(f"c{i}" for i in range(9))
    noise = np.random.default_rng(1).normal(size=(9, n))
    table = pa.table(
        {"time": times(n), "id": pa.array(["a"] * n), **dict(zip(names, map(pa.array, noise), strict=True))}
    )
    certificate = switched(values=names)
    certificate.body["released"]["columns"]["id"] = ["id"]
    before = time.process_time()
    page = check(private_report(certificate, [Pair(table, table)] * 5, ()))
    assert time.process_time() - before < 10
    assert "5 further columns are not shown." in page.text
    assert page.text.count("The first 1,000 rows.") == 3


def test_the_private_report_of_a_seeded_release(tmp_path: Path) -> None:
    frame = pa.table({"t": times(40), "v": pa.array(range(40))})
    path = tmp_path / "in.parquet"
    import pyarrow.parquet as pq

    pq.write_table(frame, path)
    tables.switch(
        path,
        time="t",
        value="v",
        window=4,
        epsilon=1.0,
        source=seeded_source(1),
        output=tmp_path / "o.csv",
        private_report=True,
    )
    assert "NOT PRIVATE" in check((tmp_path / "o.csv.PRIVATE.report.html").read_text()).text


# --- colours ---------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_told_from_both_pages() -> None:
    style = (Path(tables.__file__).parents[1] / "reports" / "templates" / "style.css").read_text()
    themes = [
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    assert len(themes) == 2
    for theme in themes:
        for ground in (theme["paper"], theme["wash"]):
            assert all(contrast(theme[ink], ground) >= 4.5 for ink in ("ink", "quiet", "link"))
        assert contrast(theme["alarm-ink"], theme["alarm"]) >= 4.5
        assert all(contrast(colour, theme["paper"]) >= 3 for colour in PALETTE)


# --- composition -----------------------------------------------------------------------------------------------------


def test_what_was_released_before_is_told_to_the_curator_alone(tmp_path: Path) -> None:
    frame = pa.table({"t": times(40), "v": pa.array(range(40))})
    for name in ("one", "two"):
        options: dict[str, Any] = {"output": tmp_path / f"{name}.csv", "private_report": True}
        tables.switch(frame, time="t", value="v", window=4, epsilon=1.0, ledger=tmp_path / "ledger.db", **options)
    public = check((tmp_path / "two.csv.report.html").read_text()).text
    private = check((tmp_path / "two.csv.PRIVATE.report.html").read_text()).text
    said = "1 of these series had been released before"
    assert said in private
    assert "after 2 releases" in private
    assert said not in public
    assert "after 2 releases" not in public
    assert "can itself be private" in public
    assert "reticent attack ORIGINAL OUT" in private
    first = check((tmp_path / "one.csv.PRIVATE.report.html").read_text()).text
    assert said not in first


def test_without_a_ledger_nothing_is_known_of_other_releases() -> None:
    page = private_report(switched(values=(ODD, "<!-- composition so far -->")), [], ())
    filled = with_composition(page, ())
    assert "No ledger was asked" in check(filled).text
    assert ODD in check(with_composition(page, (ODD,))).text
    assert "<!-- composition so far -->" in check(filled).text  # a name that reads like the mark stays a name


def test_a_sequential_redaction_is_drawn_as_it_is_expected_to_go() -> None:
    chain = MarkovChain.binary(0.3, 0.4)
    mechanism = sequential_redaction(chain, 50, (24, 25), 1.0)
    page = check(public_report(redacted(mechanism, chain=chain)))
    assert page.names().count("figure") == 2
    assert "until one is released" in page.text
    design = mechanism.to_dict()
    sides = [redaction._walk(design, chain, side, 24) for side in (-1, 1)]
    assert 2 + sum(side.sum() for side in sides) == pytest.approx(50 * (1 - mechanism.utility()), abs=1e-9)
    assert all((np.diff(side[:, 0]) <= 0).all() for side in sides)


def test_a_number_that_is_short_is_not_rounded_at_all() -> None:
    assert [at_most(value) for value in (0.1, 0.3, 46.0, 1e-6, 2.0)] == ["0.1", "0.3", "46", "1e-06", "2"]
    assert at_most(0.1 + 1e-12) == "0.100001"
    assert [share(value) for value in (0.953, 0.1, 1.0)] == ["95.3 %", "10 %", "100 %"]
    assert share(0.95299999) == "95.2999 %"
