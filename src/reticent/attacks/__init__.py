"""What an adversary really gains: each attack beside a control, a baseline and the bound that the guarantee implies.

Each attack is a module of its own, loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reticent.attacks.frame import AttackResult, Estimate, Measure, Rate

if TYPE_CHECKING:
    from reticent.attacks.running import AttackReport

__all__ = ["AttackResult", "Estimate", "Measure", "Rate", "run"]


def run(original: Any, released: Any, certificate: Any = None, **options: Any) -> AttackReport:
    """Run the attacks that fit a release, on one's own data: see `reticent.attacks.running.run`."""
    from reticent.attacks import running

    return running.run(original, released, certificate, **options)
