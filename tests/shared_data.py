"""Where the vectors and the public data lie: a folder beside the project, or `$RETICENT_SHARED`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("RETICENT_SHARED", Path(__file__).parents[2] / "shared"))


def shared(*parts: str) -> Path:
    """A file or folder beside the project; its absence skips the test and says so."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared/{'/'.join(parts)} is not beside the project")
    return path


def shared_vectors(name: str) -> list[dict[str, Any]]:
    """The right values of `shared/vectors/<name>.json`."""
    return json.loads(shared("vectors", f"{name}.json").read_text())
