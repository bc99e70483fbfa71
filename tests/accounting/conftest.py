"""A curator's folder of its own for every test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def curator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "curator"
    monkeypatch.setenv("RETICENT_HOME", str(home))
    return home
