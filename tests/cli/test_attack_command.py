"""reticent attack: the attacks that fit, a private report, and one sentence for whatever does not fit."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reticent as rt
from reticent import cli, reports, tables
from reticent.certificates import Certificate
from reticent.randomness import seeded_source

HOURS = 240
FILE = "in.csv"


def panel(series: int = 4) -> pd.DataFrame:
    """Homes with a load that goes up and down, and a heater that is mostly off."""
    rng = np.random.default_rng(5)
    chain = rt.MarkovChain.binary(0.1, 0.3)
    times = pd.date_range("2024-01-01", periods=HOURS, freq="h")
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "home": f"home {k}",
                    "ts": times,
                    "kwh": np.round(2.5 + 2 * np.sin(np.arange(HOURS) / 7 + k) + rng.uniform(0, 0.4, HOURS), 3),
                    "outside": np.round(10 * np.sin(np.arange(HOURS) / 7 + k), 2),
                    "where": "north" if k else "south",
                    "state": chain.sample(HOURS, seeded_source(k)),
                }
            )
            for k in range(series)
        ]
    )


class Run:
    """Runs the command in this process, as its entry point does."""

    def __init__(self, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capsys = patch, capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.patch.setattr(sys, "argv", ["reticent", "attack", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = self.capsys.readouterr()
        return int(ended.value.code or 0), out, err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reports, "public_report", lambda certificate: "<html></html>")
    panel().to_csv(FILE, index=False)
    return Run(monkeypatch, capsys)


COMMON: dict[str, Any] = {"time": "ts", "id": "home"}


def redacted(mechanism: str = "optimal", out: str = "out.csv", **options: Any) -> None:
    model = rt.MarkovChain.binary(0.1, 0.3)
    options = {"private": "2024-01-05 00:00/2024-01-05 02:00", "epsilon": 1.0, "model": model, **options}
    tables.redact(FILE, value="state", mechanism=mechanism, output=out, source=seeded_source(1), **options, **COMMON)


def switched(out: str = "out.csv", **options: Any) -> None:
    options = {"window": 4, "epsilon": 2.0, **options}
    tables.switch(FILE, value="kwh", output=out, source=seeded_source(1), **options, **COMMON)


def quantized(out: str = "out.csv") -> None:
    tables.quantize(FILE, value=["kwh", "outside"], low=[0, -10], high=[5, 10], bits=4, output=out, **COMMON)


def aggregated(out: str = "out.csv") -> None:
    what: dict[str, Any] = {"query": "mean", "low": 0, "high": 5, "resolution": "0.001", "bits": 3}
    tables.aggregate(FILE, value="kwh", output=out, **what, **COMMON)


def results(run: Run, *arguments: str) -> list[dict[str, Any]]:
    code, out, err = run(FILE, "out.csv", "--runs", "400", "--seed", "1", "--json", "--overwrite", *arguments)
    assert code == 0, err
    body = json.loads(out)
    assert Path(body["report"]).exists()
    return body["results"]


def test_a_page_that_could_not_be_written_is_refused_before_the_work(run: Run) -> None:
    code, _, err = run(FILE, "out.csv", "-o", "nowhere/page.html")
    assert code == 2
    assert "there is no folder nowhere" in err


@pytest.mark.parametrize("mechanism", ["optimal", "sequential"])
def test_a_redaction_is_reconstructed_and_linked(run: Run, mechanism: str) -> None:
    redacted(mechanism)
    rows = results(run)
    gains = [row for row in rows if row["measure"].startswith("largest ln")]
    assert {row["attack"] for row in rows} == {"reconstruction", "linkage of releases"}
    assert {row["adversary"] for row in rows} == {"knows the chain", "estimates the chain"}
    for row in gains:
        if row["bound"] is not None:
            assert row["protected"] <= row["bound"]
        if row["on"] == "this release":
            assert row["protected_trials"] == 4
    unbounded = [row for row in gains if row.get("releases") == 2 and row["bound"] is None]
    assert len(unbounded) == (mechanism == "sequential")


def test_what_is_hidden_is_read_from_the_original(run: Run) -> None:
    """All that the report of the release itself counts, by hand."""
    redacted()
    row = next(
        row
        for row in results(run)
        if row["measure"].startswith("share of hidden") and row["adversary"] == "knows the chain"
    )
    hidden = panel().query("'2024-01-05 00:00' <= ts <= '2024-01-05 02:00'").state
    assert row["on"] == "this release"
    assert row["baseline"] == pytest.approx((hidden == 0).mean())


def test_a_switch_is_realigned_and_its_neighbours_are_told_apart(run: Run) -> None:
    switched(keep="outside")
    rows = results(run, "--side", "outside")
    shares = {row["adversary"]: row for row in rows if row["attack"] == "realignment" and "share" in row["measure"]}
    before, after = panel().kwh.to_numpy(), pd.read_csv("out.csv").kwh.to_numpy()
    assert shares["smoothness"]["baseline"] == pytest.approx((before == after).mean())
    assert set(shares) == {"smoothness", "correlated series"}
    assert all(row["control"] == 1.0 for row in shares.values())
    games = [row for row in rows if row["measure"] == "advantage"]
    assert [row["distance"] for row in games] == [1, 3, 3, 3]
    assert all(row["protected_low"] <= row["bound"] < 0.77 for row in games)


def test_a_quantisation_is_undone_as_far_as_its_cells_allow(run: Run) -> None:
    quantized()
    rows = results(run)
    kwh = next(row for row in rows if row["attack"] == "recovery of values" and row["column"] == "kwh")
    midpoints = pd.read_csv("out.csv").kwh.to_numpy()
    assert kwh["protected"] == pytest.approx(np.abs(panel().kwh.to_numpy() - midpoints).mean())
    unique = next(row for row in rows if row["attack"] == "unique series")
    assert (unique["protected"], unique["control"], unique["baseline"]) == (1.0, 1.0, 0.25)
    records = next(row for row in rows if row["attack"] == "unique records")
    assert records["protected"] < 0.05 < records["control"]


def test_an_aggregate_is_played_for_membership(run: Run) -> None:
    aggregated()
    rows = results(run, "--id", "home")
    assert {row["attack"] for row in rows} == {
        "membership by correlation",
        "membership by mean squared error",
        "membership by common peaks",
    }
    assert all((row["n"], row["bits"]) == (2, 3.0) for row in rows)
    assert {row["levels"] for row in rows} == {14}  # half the range meets ⌈14/2⌉ + 1 = 8 cells, the outputs promised
    code, _, err = run(FILE, "out.csv", "--overwrite")
    assert code == 2
    assert "id: name what tells the individuals" in err


def test_cells_whose_range_was_read_off_the_data_promise_nothing(run: Run) -> None:
    tables.quantize(FILE, value="kwh", range_from_data=True, bits=3, output="out.csv", ledger=False, **COMMON)
    code, _, err = run(FILE, "out.csv")
    assert code == 2
    assert "nothing is promised of this release" in err


def test_the_report_is_private_and_the_output_says_so(run: Run) -> None:
    switched()
    code, out, err = run(FILE, "out.csv", "--runs", "50")
    page = Path("out.csv.attacks.private.html")
    assert code == 0
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text()
    assert "PRIVATE" in text
    assert "What an adversary gains" in text
    assert "<script" not in text
    assert "must not leave the house" in err
    assert "which of two neighbours: advantage" in out
    assert "No result lies above what the promise allows" in out
    assert {path.name for path in Path().iterdir()} == {
        FILE,
        "out.csv",
        "out.csv.certificate.json",
        "out.csv.report.html",
        page.name,
    }


def test_a_report_is_replaced_only_on_request(run: Run) -> None:
    switched()
    Path("mine.html").write_text("kept")
    code, _, err = run(FILE, "out.csv", "-o", "mine.html")
    assert code == 2
    assert "output: mine.html exists" in err
    assert Path("mine.html").read_text() == "kept"
    assert run(FILE, "out.csv", "-o", "mine.html", "--overwrite", "--runs", "50")[0] == 0
    assert "What an adversary gains" in Path("mine.html").read_text()
    for name in (FILE, "out.csv", "out.csv.certificate.json"):
        code, _, err = run(FILE, "out.csv", "-o", name, "--overwrite", "--certificate", "out.csv.certificate.json")
        assert code == 2
        assert "one of the inputs" in err


def test_another_file_is_not_the_release(run: Run) -> None:
    switched()
    Path("other.csv").write_text(Path("out.csv").read_text() + "\n")
    code, _, err = run(FILE, "other.csv", "--certificate", "out.csv.certificate.json")
    assert code == 1
    assert "other.csv is not the file of this certificate (its SHA-256 differs)" in err
    assert not Path("other.csv.attacks.private.html").exists()


def test_a_release_without_its_certificate_is_not_attacked(run: Run) -> None:
    switched()
    Path("out.csv.certificate.json").rename("elsewhere.json")
    code, _, err = run(FILE, "out.csv")
    assert code == 1
    assert "out.csv.certificate.json cannot be read" in err
    assert run(FILE, "out.csv", "--certificate", "elsewhere.json", "--runs", "50")[0] == 0


def test_another_original_is_noticed(run: Run) -> None:
    switched()
    frame = panel()
    for name, other, what in [
        ("renamed.csv", frame.rename(columns={"kwh": "load"}), "column kwh is not in the input"),
        ("shorter.csv", frame.iloc[:-1], "its series and times are not those"),
        ("fewer.csv", frame[frame.home != "home 3"], "more series"),
        ("later.csv", frame.assign(ts=frame.ts + pd.Timedelta("1h")), "its series and times are not those"),
        ("others.csv", frame.assign(home=frame.home + "!"), "its series and times are not those"),
    ]:
        other.to_csv(name, index=False)
        code, _, err = run(name, "out.csv", "--runs", "50")
        assert code in (1, 2), name
        assert what in err, (name, err)
        assert not Path("out.csv.attacks.private.html").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--side", "home"], "side: column home tells series or times apart"),
        (["--side", "where"], "side: column where holds no numbers"),
        (["--side", "nothing"], "column nothing is not in the input"),
        (["--id", "home"], "id: the certificate names the columns"),
        (["--runs", "0"], "runs: must be a positive number"),
        (["-o", "."], "is a folder"),
    ],
)
def test_options_that_do_not_fit_are_told_in_a_sentence(run: Run, arguments: list[str], what: str) -> None:
    switched()
    code, _, err = run(FILE, "out.csv", *arguments)
    assert code == 2
    assert what in err
    assert err.count("\n") == 1


def test_a_redaction_has_no_side(run: Run) -> None:
    redacted()
    code, _, err = run(FILE, "out.csv", "--side", "kwh")
    assert code == 2
    assert "side: only a switch" in err


def test_frames_are_attacked_from_python() -> None:
    frame = panel(2)
    release = tables.switch(
        frame, window=4, epsilon=2.0, time="ts", value="kwh", id="home", source=seeded_source(1), ledger=False
    )
    steps: list[tuple[str, int, int]] = []
    report = rt.attacks.run(
        frame, release.table, release.certificate, runs=50, progress=lambda *step: steps.append(step)
    )
    assert report.results[0].protected.trials == 2
    assert len(report.rows()) == len(report.results)
    assert steps[-1] == ("done", len(steps) - 1, len(steps) - 1)
    with pytest.raises(rt.errors.ArgumentError if hasattr(rt, "errors") else ValueError, match="certificate"):
        rt.attacks.run(frame, release.table)


def test_a_chain_that_does_not_fit_is_said_to_be_one_of_two_reasons(run: Run) -> None:
    """The page and the command name what lies above a bound."""
    from dataclasses import replace

    from reticent.attacks.frame import Rate
    from reticent.attacks.reconstruction.trials import mean_share
    from reticent.attacks.running import AttackReport
    from reticent.reports.attacks import ABOVE, AT, BELOW, attacks_page, outcome, verdict

    redacted()
    certificate = Certificate.read("out.csv.certificate.json")
    report = rt.attacks.run(FILE, "out.csv", runs=200, source=seeded_source(1))
    assert {verdict(each) for each in report.results if each.bound is not None} <= {AT, BELOW}
    leaky = replace(report.results[0], protected=Rate(990, 1000), bound=0.8)
    assert verdict(leaky) == ABOVE
    assert verdict(replace(leaky, protected=Rate(82, 100))) == AT
    assert verdict(replace(leaky, protected=mean_share(1.0, 1))) == AT  # one secret alone may be guessed by luck
    page = attacks_page(AttackReport(certificate, (leaky,), ("A note.",)))
    assert "1 of 1 results lie above what the promise allows" in page
    assert "A note." in page
    assert "the promise does not hold" in outcome([leaky])
