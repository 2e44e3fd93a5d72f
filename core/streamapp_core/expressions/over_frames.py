"""Aggregates over frames: for each row the rows of its group that come before it in an order, and the row itself."""

from dataclasses import dataclass

from streamapp_core.expressions.aggregate_select import Aggregation
from streamapp_core.expressions.ordering import Ordering


@dataclass(frozen=True, slots=True, kw_only=True)
class OverFrames:
    """The aggregates of each frame, and the order of rows; one without terms is that of event time."""

    aggregation: Aggregation
    ordering: Ordering
