"""Take the pictures of pages that the documentation shows, in the system's Chromium, driven by Playwright.

pip install '.[dev]' && python tools/make_pictures.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from reticent import datasets, tables
from reticent.randomness import secure_source
from reticent.reports.explorer import explorer

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def pages(folder: Path) -> dict[str, tuple[Path, int]]:
    """Each picture: its page, and the height in pixels that it shows."""
    page = folder / "explorer.html"
    page.write_text(explorer(), encoding="utf-8")
    out = folder / "temperature.csv"
    tables.switch(
        datasets.path("weather"),
        time="date",
        value="temp_max",
        window=7,
        epsilon=2.0,
        output=out,
        source=secure_source(),
        ledger=False,
    )
    return {"explorer": (page, 1480), "report": (out.with_name(f"{out.name}.report.html"), 1500)}


def main() -> None:
    """Write docs/figures/*.png."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for name, (page, height) in pages(Path(folder)).items():
            tab = chromium.new_page(viewport={"width": 1100, "height": height}, color_scheme="light")
            tab.goto(page.as_uri())
            tab.screenshot(path=FIGURES / f"{name}.png")
            print(FIGURES / f"{name}.png")
        chromium.close()


if __name__ == "__main__":
    main()
