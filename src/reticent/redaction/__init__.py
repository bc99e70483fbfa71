"""Withhold records: influence, exact leakage, and the policies that keep their promise."""

from reticent.redaction.markov_quilt import markov_quilt
from reticent.redaction.policy import RecordPolicy, RedactionPolicy
from reticent.redaction.release import redact_batch

__all__ = ["RecordPolicy", "RedactionPolicy", "markov_quilt", "redact_batch"]
