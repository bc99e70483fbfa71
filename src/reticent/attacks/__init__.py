"""What an adversary really gains: each attack beside a control, a baseline and the bound that the guarantee implies.

Each attack is a module of its own, loaded when it is used.
"""

from __future__ import annotations

from reticent.attacks.frame import AttackResult, Estimate, Measure, Rate

__all__ = ["AttackResult", "Estimate", "Measure", "Rate"]
