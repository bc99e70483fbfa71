"""What `import reticent` loads, and that every public name can be had."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import reticent

HEAVY = ("duckdb", "pyarrow", "numba", "altair", "rich", "scipy", "pandas", "polars", "jinja2")


def _loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "code",
    [
        "import reticent",
        "import reticent as rt; [getattr(rt, name) for name in rt.__all__]",
        "import reticent.cli",
    ],
)
def test_heavy_libraries_load_when_they_are_used(code: str) -> None:
    assert not _loaded_by(code) & set(HEAVY)


def test_import_alone_does_not_even_load_numpy() -> None:
    assert "numpy" not in _loaded_by("import reticent")


def test_every_public_name_can_be_had() -> None:
    for name in reticent.__all__:
        assert getattr(reticent, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = reticent.nonsense


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(reticent.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen | {"__version__"} == set(reticent.__all__)
