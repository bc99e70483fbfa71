"""Names and texts inside SQL."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def quoted_list(names: Iterable[str]) -> str:
    """Identifiers, separated by commas."""
    return ", ".join(quoted(name) for name in names)


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"
