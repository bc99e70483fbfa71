"""A short fuzz run; the long one is ``python tests/fuzz/run.py --inputs 100000``, or ``pytest -m slow tests/fuzz``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fuzz import fuzz_campaign, fuzz_cases
from fuzz.fuzz_cases import Case
from fuzz.fuzz_grammar import Table
from fuzz.fuzz_oracle import check_quantized, check_redacted, check_switched
from reticent import reports
from reticent.errors import InputError


@pytest.fixture(autouse=True)
def report_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "public_report", reports.public_report)  # the campaign replaces it


def test_a_short_run_finds_nothing(tmp_path: Path) -> None:
    campaign = fuzz_campaign.Campaign(tmp_path / "run")
    campaign.run(inputs=150, salt=77)
    told = campaign.summary()
    assert told["findings"] == 0, campaign.findings[:3]
    assert campaign.inputs >= 150
    assert campaign.valid >= campaign.inputs / 3
    accepted = sum(count for (_, outcome), count in campaign.counts.items() if outcome == fuzz_cases.ACCEPTED)
    assert accepted >= campaign.valid


@pytest.mark.slow
def test_a_longer_run_finds_nothing(tmp_path: Path) -> None:
    campaign = fuzz_campaign.Campaign(tmp_path / "run")
    campaign.run(inputs=10_000, salt=78)
    assert campaign.summary()["findings"] == 0, campaign.findings[:3]


# --- a run must be able to fail --------------------------------------------------------------------------------------


@pytest.fixture
def campaign(tmp_path: Path) -> fuzz_campaign.Campaign:
    return fuzz_campaign.Campaign(tmp_path / "run")


def raising(error: BaseException) -> Any:
    def run(inputs: Path, outputs: Path) -> None:
        raise error

    return run


def outcome(campaign: fuzz_campaign.Campaign, valid: bool, run: Any) -> tuple[str, int]:
    campaign.attempt(Case("table switch", valid, run))
    ((_, what),) = campaign.counts
    return what, len(campaign.findings)


def test_a_refusal_is_no_finding_unless_the_input_was_valid(campaign: fuzz_campaign.Campaign) -> None:
    assert outcome(campaign, False, raising(InputError("no"))) == ("refused", 0)
    assert outcome(campaign, True, raising(InputError("no"))) == ("refused", 1)


@pytest.mark.parametrize(
    "error", [KeyError("x"), OSError("x"), UnicodeDecodeError("utf-8", b"", 0, 1, "x"), MemoryError()]
)
def test_another_error_is_a_finding(campaign: fuzz_campaign.Campaign, error: Exception) -> None:
    assert outcome(campaign, False, raising(error)) == ("traceback", 1)


def test_a_sentence_of_two_lines_is_a_finding(campaign: fuzz_campaign.Campaign) -> None:
    assert outcome(campaign, False, raising(InputError("one\ntwo"))) == ("refused", 1)


def test_what_takes_too_long_is_a_finding(campaign: fuzz_campaign.Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_campaign, "LIMIT", 0.1)

    def run(inputs: Path, outputs: Path) -> None:
        while True:
            pass

    assert outcome(campaign, False, run) == ("hang", 1)


@pytest.mark.parametrize("left", [["out.csv"], ["out.csv", "out.csv.certificate.json"], [".out.csv.staged"]])
def test_what_is_left_behind_is_a_finding(campaign: fuzz_campaign.Campaign, left: list[str]) -> None:
    def run(inputs: Path, outputs: Path) -> None:
        for name in left:
            (outputs / name).write_text("x")
        raise InputError("no")

    assert outcome(campaign, False, run) == ("partial", 1)


# --- so must the oracle ----------------------------------------------------------------------------------------------

ROWS = (("a", 0, 1, "k"), ("a", 1, 2, "k"), ("a", 2, 3, "k"))
TABLE = Table(ROWS, ("id",), "ts", "v", ("k",), "whole", 1, "number", pa.table({}))


def test_the_oracle_of_switches() -> None:
    right = [("a", 0, 2, "k"), ("a", 1, 1, "k"), ("a", 2, 3, "k")]
    check_switched(TABLE, right, 2, True)
    wrong = [
        [("a", 0, 2, "k"), ("a", 1, 2, "k"), ("a", 2, 3, "k")],  # a value twice
        [("a", 0, 2, "x"), ("a", 1, 1, "k"), ("a", 2, 3, "k")],  # a kept column changed
        [("a", 0, 3, "k"), ("a", 1, 1, "k"), ("a", 2, 2, "k")],  # two steps early
        right[:2],
        right[::-1],
    ]
    for rows in wrong:
        with pytest.raises(AssertionError):
            check_switched(TABLE, rows, 2, True)


def test_the_oracle_of_cells() -> None:
    cells = [("a", 0, 1, "k"), ("a", 1, 2, "k"), ("a", 2, 2, "k")]
    check_quantized(TABLE, cells, Fraction(1), Fraction(3), 2, "error", "left")
    for at in range(3):
        rows = list(cells)
        rows[at] = (*rows[at][:2], None, "k")
        with pytest.raises(AssertionError):
            check_quantized(TABLE, rows, Fraction(1), Fraction(3), 2, "error", "left")


def test_the_oracle_of_redactions() -> None:
    right = [("a", 0, 1, False, "k"), ("a", 1, None, True, "k"), ("a", 2, 3, False, "k")]
    check_redacted(TABLE, right, (1, 1))
    wrong = [
        [right[0], ("a", 1, 2, True, "k"), right[2]],
        [right[0], ("a", 1, None, False, "k"), right[2]],
        [right[0], ("a", 1, 2, False, "k"), right[2]],
        [("a", 0, 2, False, "k"), *right[1:]],
        right[:2],
    ]
    for rows in wrong:
        with pytest.raises(AssertionError):
            check_redacted(TABLE, rows, (1, 1))
    with pytest.raises(AssertionError):
        check_redacted(TABLE, right, (7, 7))  # a series without a secret is whole
