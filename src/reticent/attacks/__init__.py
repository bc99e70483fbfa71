"""What an adversary really gains: each attack beside a control, a baseline and the bound that the guarantee implies.

Each attack is a module of its own, loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reticent.attacks.frame import AttackResult, Estimate, Measure, Rate

if TYPE_CHECKING:
    from reticent.attacks.running import run

__all__ = ["AttackResult", "Estimate", "Measure", "Rate", "run"]


def __getattr__(name: str) -> Any:
    if name == "run":  # which reads tables: loaded when it is used
        from reticent.attacks.running import run

        return run
    raise AttributeError(f"module 'reticent.attacks' has no attribute {name!r}")
