"""Tables are tested without their reports, which have tests of their own and take longer than all the rest."""

from __future__ import annotations

import pytest

from reticent import reports


@pytest.fixture(autouse=True)
def blank_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "public_report", lambda certificate: "<html></html>")
