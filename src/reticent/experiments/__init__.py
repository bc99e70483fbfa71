"""The papers' experiments, and those that go beyond them: one command each.

An experiment is a function from the data files that it found to an `Outcome`: tidy rows, a chart, and what came out in
words. ``reticent experiment NAME -o FOLDER`` writes these.
"""

from __future__ import annotations

from reticent.experiments.frame import Experiment, Outcome, write
from reticent.experiments.registry import EXPERIMENTS, find

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "find", "write"]
