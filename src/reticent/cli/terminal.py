"""What is shown to people: text that comes from files is never obeyed by the terminal."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import typer

_KEPT = ("\n", "\t")


def say(text: str, err: bool = False) -> None:
    """Print text as it reads: characters that would steer a terminal, or reorder what it shows, are replaced."""
    typer.echo("".join(mark if _shows(mark) else "\N{REPLACEMENT CHARACTER}" for mark in text), err=err)


def say_json(value: Any) -> None:
    """Print JSON; within its texts the same characters are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    typer.echo("".join(mark if _shows(mark) else json.dumps(mark)[1:-1] for mark in text))


def one_line(text: str) -> str:
    """Without line ends, and with a space for whatever steers a terminal."""
    return "".join(mark if _shows(mark) and mark not in _KEPT else " " for mark in text)


def _shows(mark: str) -> bool:
    return mark.isprintable() or mark in _KEPT or unicodedata.category(mark) == "Zs"
