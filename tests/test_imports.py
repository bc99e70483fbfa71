"""What `import reticent` loads, and that every public name can be had."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import reticent

COMMAND = "import sys; sys.argv[1:] = {!r}; from reticent.cli import command\ntry: command()\nexcept SystemExit: pass\n"
HEAVY = ("duckdb", "pyarrow", "numba", "vl_convert", "rich", "scipy", "pandas", "polars", "jinja2")


def _loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def _loaded_by_command(words: list[str]) -> set[str]:
    code = COMMAND.format(words) + "print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.rpartition("LOADED")[2].split()}


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


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["switch", "--help"], ["ledger", "--help"], ["experiment"]]
)
def test_what_only_tells_loads_no_numbers(words: list[str]) -> None:
    assert not _loaded_by_command(words) & ({*HEAVY, "numpy"} - {"rich"})  # which tells it


def test_a_switch_loads_no_other_family_of_methods_and_no_frames(tmp_path: Path) -> None:
    rows = "".join(f"{i % 3},2024-01-{1 + i // 3:02},{i % 7}\n" for i in range(60))
    (tmp_path / "in.csv").write_text(f"meter,day,kwh\n{rows}")
    files = [str(tmp_path / "in.csv"), "--id", "meter", "--time", "day", "-o", str(tmp_path / "out.csv")]
    loaded = _loaded_by_command(
        ["switch", *files, "--value", "kwh", "--window", "4", "--epsilon", "2", "--no-ledger", "--quiet"]
    )
    assert {"duckdb", "numba", "vl_convert"} <= loaded
    assert not loaded & {"pandas", "polars", "altair", "jsonschema", "narwhals", "rich", "matplotlib"}


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
