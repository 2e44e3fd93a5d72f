"""Summaries: what some aggregates keep of the values of a group, by their names (`streamapp_core.expressions`)."""

from streamapp_runtime.summaries.summary import Summary
from streamapp_runtime.summaries.summary_table import summary_of

__all__ = ["Summary", "summary_of"]
