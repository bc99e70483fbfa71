"""What releases cost, and the ledger that remembers it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reticent.accounting.budgets import Budget
    from reticent.accounting.composition import compose, pipeline
    from reticent.accounting.coverage import Coverage
    from reticent.accounting.events import Event
    from reticent.accounting.ledger import Ledger
    from reticent.accounting.lines import Charge

_HOMES = {
    "Budget": "budgets",
    "Charge": "lines",
    "Coverage": "coverage",
    "Event": "events",
    "Ledger": "ledger",
    "compose": "composition",
    "pipeline": "composition",
}

__all__ = ["Budget", "Charge", "Coverage", "Event", "Ledger", "compose", "pipeline"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:  # loaded when first used: the fingerprints alone need none of the mechanisms
        return getattr(import_module(f"reticent.accounting.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'reticent.accounting' has no attribute {name!r}")
