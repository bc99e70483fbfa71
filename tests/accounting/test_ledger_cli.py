"""The ledger, signatures and requests on the command line, as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from reticent.cli import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    monkeypatch.chdir(tmp_path)
    rows = (f"m{m},2024-01-{1 + t // 24:02d} {t % 24:02d}:00,{(m + t) % 10}\n" for m in range(3) for t in range(30))
    (tmp_path / "in.csv").write_text("meter,ts,kwh\n" + "".join(rows))
    return Runner(monkeypatch, capsys)


class Runner:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        """Everything that was printed."""
        self._monkeypatch.setattr(sys, "argv", ["reticent", *words])
        with pytest.raises(SystemExit) as end:
            main()
        printed = self._capsys.readouterr()
        assert (end.value.code or 0) == code, printed.err
        return printed.out + printed.err

    def switch(self, out: str, *words: str, window: str = "4", code: int = 0) -> str:
        columns = ("--id", "meter", "--time", "ts", "--value", "kwh")
        amounts = ("--window", window, "--epsilon", "1")
        return self("switch", "in.csv", *columns, *amounts, "-o", out, *words, code=code)

    def quantize(self, out: str, *words: str, code: int = 0) -> str:
        columns = ("--id", "meter", "--time", "ts", "--value", "kwh")
        return self(
            "quantize", "in.csv", *columns, "--low", "0", "--high", "10", "--bits", "2", "-o", out, *words, code=code
        )


def test_the_ledger_is_on_by_default_and_notices_a_second_release(run: Runner) -> None:
    assert "ledger:      ε = 1 nats at window 4 after 1 release (no limit)" in run.switch("a.csv")
    again = run.switch("b.csv")
    assert "3 of these series had been released before" in again
    assert "ε = 2 nats at window 4 after 2 releases (no limit)" in again
    refused = run.quantize("c.csv", code=1)
    assert "the quantised copy shows the order of the values" in refused
    assert "--dataset" in refused
    assert not Path("c.csv").exists()
    run.quantize("c.csv", "--no-ledger")
    run.quantize("d.csv", "--dataset", "something else")


def test_limits_are_kept(run: Runner) -> None:
    ledger = ("--ledger", "spent.sqlite")
    assert "limit ε = 1.5 nats at window 4" in run("ledger", "limit", "--epsilon", "1.5", "--window", "4", *ledger)
    run.switch("a.csv", *ledger)
    assert "would be exceeded" in run.switch("b.csv", *ledger, window="5", code=1)
    assert not Path("b.csv").exists()
    shown = json.loads(run("ledger", "show", "--json", *ledger))
    assert shown[0]["limit"] == {"kind": "temporal", "epsilon": "1.5", "delta": "0", "window": 4}
    assert shown[0]["series"] == 3
    assert "3 series" in run("ledger", "show", *ledger)
    assert "switch (footrule" in run("ledger", "history", *ledger)
    run("ledger", "reset", "--reason", "consent anew", *ledger)
    run.switch("b.csv", *ledger)
    assert "consent anew" in run("ledger", "history", *ledger)
    run("ledger", "export", "-o", "audit.json", *ledger)
    assert [each["entry"] for each in json.loads(Path("audit.json").read_text())] == [
        "ledger",
        "limit",
        "charge",
        "reset",
        "charge",
    ]


def test_releases_made_elsewhere_can_be_charged(run: Runner) -> None:
    ledger = ("--ledger", "spent.sqlite", "--dataset", "meters")
    run("ledger", "charge", "--epsilon", "0.1", "--window", "4", "--request", "job", *ledger)
    assert "charged before" in run("ledger", "charge", "--epsilon", "0.1", "--window", "4", "--request", "job", *ledger)
    run.switch("a.csv", "--no-ledger")
    charged = run("ledger", "charge", "--certificate", "a.csv.certificate.json", *ledger)
    assert "ε = 1.1 nats at window 4 after 2 releases" in charged
    run("ledger", "charge", "--epsilon", "-1", "--window", "4", *ledger, code=2)
    run("ledger", "charge", *ledger, code=2)
    assert "there is no other.sqlite" in run("ledger", "show", "--ledger", "other.sqlite", code=1)


def test_certificates_of_two_columns_are_no_repetition(run: Runner) -> None:
    for column in ("kwh", "other"):
        Path("in.csv").write_text(Path("in.csv").read_text().replace("kwh", column))
        columns = ("--id", "meter", "--time", "ts", "--value", column, "--low", "0", "--high", "10", "--bits", "2")
        run("quantize", "in.csv", *columns, "-o", f"{column}.csv", "--no-ledger")
    charge = ("ledger", "charge", "--ledger", "spent.sqlite", "--certificate")
    assert "4 outputs" in run(*charge, "kwh.csv.certificate.json")
    assert "4 outputs" in run(*charge, "kwh.csv.certificate.json")
    assert "16 outputs" in run(*charge, "other.csv.certificate.json")


def test_a_request_gives_the_same_file(run: Runner) -> None:
    run.switch("a.csv", "--request", "r")
    assert "answered before" in run.switch("b.csv", "--request", "r")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert "name of its own" in run.switch("c.csv", "--request", "r", window="5", code=1)


def test_quantise_then_switch(run: Runner) -> None:
    run.quantize("in2.csv", "--internal")
    Path("in2.csv").replace("in.csv")
    out = run.switch("out.csv")
    assert "4 outputs a reading (2 bits) after 1 release" in out
    assert "ε = 1 nats at window 4 after 1 release" in out


def test_signed_certificates(run: Runner) -> None:
    run("key", "new", "mine")
    run("key", "new", "other")
    run.switch("a.csv", "--sign", "mine")
    files = ("verify", "a.csv.certificate.json", "a.csv")
    assert "verdict:       signed by " in run(*files, "--key", "mine.pub")
    assert "verdict:       consistent" in run(*files)
    assert "authentic" not in run(*files)
    assert "it is by the key" in run(*files, "--key", "other.pub", code=1)
    run.switch("b.csv", "--no-ledger")
    assert "nobody has signed" in run("verify", "b.csv.certificate.json", "--key", "mine.pub", code=1)
    run("key", "new", "mine", code=2)


def test_a_ledger_that_is_lost_is_replaced_by_an_explicit_act_only(run: Runner) -> None:
    ledger = ("--ledger", "spent.sqlite")
    run.switch("a.csv", *ledger)
    Path("spent.sqlite").unlink()
    assert "missing" in run.switch("b.csv", *ledger, code=1)
    assert not Path("b.csv").exists()
    run("ledger", "reset", "--lost", "--reason", "the disk broke", *ledger)
    run.switch("b.csv", *ledger)
    assert "lost: the disk broke" in run("ledger", "history", *ledger)
    run("ledger", "reset", "--lost", "--reason", "again", *ledger, code=2)
