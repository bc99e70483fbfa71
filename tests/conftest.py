"""What all tests share: where the vectors and the public data lie, and how hypothesis runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

SHARED = Path(os.environ.get("RETICENT_SHARED", Path(__file__).parents[2] / "shared"))

settings.register_profile("reticent", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("reticent")


def shared(*parts: str) -> Path:
    """A file or folder beside the project; its absence skips the test and says so."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared/{'/'.join(parts)} is not beside the project")
    return path


def shared_vectors(name: str) -> list[dict[str, Any]]:
    """The right values of `shared/vectors/<name>.json`."""
    return json.loads(shared("vectors", f"{name}.json").read_text())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Where everything is installed (RETICENT_NO_SKIPS), a skip is a failure."""
    report = yield
    if report.skipped and os.environ.get("RETICENT_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr}"
    return report
