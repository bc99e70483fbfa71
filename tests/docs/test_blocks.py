"""Every command and every piece of code in the documentation is run, page by page, and what it shows is what comes out.

A page is a sequence of fenced blocks. `sh` and `python` blocks are run in order, in an empty folder that has the public
data beside it (`../shared`); the python blocks of a page share their names. A `text` block that follows
`<!-- output -->` must be what the block before it printed (`...` stands for anything). `json`, `yaml` and `toml` show
the content of a file. `<!-- slow -->` in a page puts it into the slow suite.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shared_data import SHARED

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
RUN, SHOWN = ("sh", "python"), ("text", "json")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.M | re.S)
MARKER = re.compile(r"<!-- (\w+) -->\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, its line in the page, and the marker that stands before it."""

    language: str
    body: str
    line: int
    marker: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, those within lists and notes too."""
    found = []
    for match in FENCE.finditer(text):
        before = MARKER.search(text[: match.start()])
        body = textwrap.dedent(match["body"])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match["language"].split(" ")[0], body, line, before[1] if before else ""))
    return found


def run_sh(body: str, folder: Path, environment: dict[str, str]) -> str:
    """What a shell prints, on both outputs."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", body],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}:\n{body}\n{done.stdout}"
    return done.stdout


def run_python(body: str, names: dict[str, Any], where: str) -> str:
    """What Python prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, where, "exec"), names)
    return printed.getvalue()


def same(shown: str, printed: str) -> bool:
    """Whether the output is as shown: spaces and line ends apart, and `...` for anything."""
    parts = (re.escape(" ".join(part.split())) for part in shown.split("..."))
    return re.fullmatch(" ?.*? ?".join(parts), " ".join(printed.split())) is not None


def pages() -> list[Any]:
    """A test a page; those that say so are slow."""
    return [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=[pytest.mark.slow] if "<!-- slow -->" in page.read_text(encoding="utf-8") else [],
        )
        for page in PAGES
    ]


@pytest.mark.parametrize("page", pages())
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    if "../shared" in text:
        if not SHARED.exists():
            pytest.skip("this page takes public data from a folder shared beside the project")
        (tmp_path / "shared").symlink_to(SHARED)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(text):
        where = f"{page.name}, line {block.line}"
        if block.marker in ("demo", "test"):
            continue  # installs the project: .ci/run runs the one, the slow suite the other
        if block.language == "sh":
            printed = run_sh(block.body, folder, environment)
        elif block.language == "python":
            printed = run_python(block.body, names, where)
        elif block.marker == "output":
            assert printed is not None, f"{where}: nothing was run before this output"
            as_shown = same(block.body, printed)
            assert as_shown, f"{where} shows\n{block.body}\nand what comes out is\n{printed}"
        elif block.language == "json":
            json.loads(block.body)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_are_run_or_say_that_they_are_text(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language in (*RUN, *SHOWN), f"line {block.line}: a block of {block.language or 'no language'}"


def test_a_false_output_is_found() -> None:
    assert same("a 1 ... 3\n", "a  1\n2 3\n")
    assert same("...\na (1.5)...\n", "a (1.5)\n")
    assert not same("a 1 3\n", "a 1 2 3\n")
    assert not same("a 1.5\n", "a 1x5\n")
    assert not same("a ...\n", "b a\n")


@pytest.mark.slow
def test_the_demo_as_the_readme_gives_it(tmp_path: Path) -> None:
    (block,) = (each for each in blocks((ROOT / "README.md").read_text(encoding="utf-8")) if each.marker == "demo")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        copy = tmp_path / "clone" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    assert "All files are in" in run_sh(block.body, tmp_path / "clone", dict(os.environ))
