"""The best local policy within a budget."""

from reticent.redaction.optimal.policy import optimal_policy

__all__ = ["optimal_policy"]
