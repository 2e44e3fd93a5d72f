"""Summaries: what some aggregates keep of the values of a group, by their names (`streamapp_core.expressions`)."""

from streamapp_runtime.summaries.summary import Summary
from streamapp_runtime.summaries.summary_table import GIVEN_BACK, summary_of

__all__ = ["GIVEN_BACK", "Summary", "summary_of"]
