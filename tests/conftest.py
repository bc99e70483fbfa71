"""How hypothesis runs, and what a skip means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("reticent", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("reticent")


@pytest.fixture(autouse=True)
def curator(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the curator's keys and ledger of its own for every test."""
    home = tmp_path_factory.mktemp("curator", numbered=True)
    monkeypatch.setenv("RETICENT_HOME", str(home))
    return home


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Where everything is installed (RETICENT_NO_SKIPS), a skip is a failure."""
    report = yield
    if report.skipped and os.environ.get("RETICENT_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr}"
    return report
