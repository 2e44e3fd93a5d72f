"""The hidden columns of rows on their way through the graph: they come last, and no expression sees them."""

import pyarrow as pa

from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.tombstones import DELETED_FIELD


def hidden_fields(rows: StreamType) -> tuple[pa.Field, ...]:
    """Return the hidden columns that rows of a type have: the event time, and which ones delete if some do."""
    return (EVENT_TIME_FIELD, DELETED_FIELD) if rows.deletes else (EVENT_TIME_FIELD,)
