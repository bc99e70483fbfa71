"""The reference has every public name, and every figure of the documentation is made by a command."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import reticent as rt
from reticent.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROOMS = (
    "accounting",
    "advice",
    "attacks",
    "datasets",
    "information",
    "quantization",
    "redaction",
    "reports",
    "spark",
    "switching",
    "tables",
)


def entries() -> list[str]:
    """What the pages of the reference document."""
    pages = (page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    return [name for page in pages for name in re.findall(r"^::: (\S+)$", page, re.M)]


def found(name: str) -> object:
    room, _, own = name.rpartition(".")
    return getattr(import_module(room), own)


def test_every_public_name_is_in_the_reference() -> None:
    named = entries()
    assert len(named) == len(set(named))
    here = {id(found(name)) for name in named}
    for name in rt.__all__:
        if name == "__version__" or name in ("attacks", "datasets", "information", "tables"):
            continue
        assert id(getattr(rt, name)) in here, f"reticent.{name} is in no page of the reference"
    for room in ROOMS:
        for name in import_module(f"reticent.{room}").__all__:
            full = f"reticent.{room}.{name}"
            assert full in named or id(found(full)) in here, f"{full} is in no page of the reference"


@pytest.mark.parametrize("name", entries())
def test_every_entry_exists_and_has_a_docstring(name: str) -> None:
    thing = found(name)
    if callable(thing) and getattr(thing, "__module__", "").startswith("reticent"):
        assert (thing.__doc__ or "").strip(), f"{name} has no docstring"


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1]
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert pages == set(re.findall(r"(\S+\.md)\s*$", nav, re.M))


def made() -> dict[str, str]:
    """Each figure with the command that makes it, from tools/make_figures.py."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_figures.py", "--list"], capture_output=True, text=True, check=True
    )
    return dict(line.split("\t") for line in done.stdout.splitlines())


def test_every_figure_is_made_by_a_command_of_the_repository() -> None:
    listed = made()
    there = {f"figures/{path.name}" for path in (DOCS / "figures").iterdir()}
    assert there == set(listed)
    experiments = {each.name for each in EXPERIMENTS}
    for figure, command in listed.items():
        if command.startswith("reticent experiment "):
            assert command.split()[2] in experiments, figure
        else:
            assert (ROOT / command.split()[1]).is_file(), figure


def test_every_image_of_a_page_is_there() -> None:
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md"]:
        for image in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / image).is_file(), f"{page.name}: {image}"
