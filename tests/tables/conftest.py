"""Tables are tested without their reports, which have tests of their own and take longer than all the rest."""

from __future__ import annotations

import pytest

from reticent import reports


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has keys and a ledger of its own."""
    monkeypatch.setenv("RETICENT_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture(autouse=True)
def blank_reports(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "with_reports" not in request.keywords:
        monkeypatch.setattr(reports, "public_report", lambda certificate: "<html></html>")
