"""A headless Chromium without a network, and the pages that it is to open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's browser, driven by Playwright (which downloads none)."""
    path = os.environ.get("RETICENT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra dev)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    path = os.environ.get("RETICENT_AXE")
    if not path:
        pytest.skip("RETICENT_AXE does not name axe.min.js (npm pack axe-core)")
    return Path(path).read_text(encoding="utf-8")
