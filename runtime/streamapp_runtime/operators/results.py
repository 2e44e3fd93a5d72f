"""Final results of aggregates: made of rows of partial state by SQL."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Aggregation
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.rows.codec import arrow_columns
from streamapp_runtime.rows.event_time import EVENT_TIME_FIELD
from streamapp_runtime.sql.arrow_types import arrow_type
from streamapp_runtime.sql.engine import SqlEngine


class Results:
    """How rows of partial state (group, partial results, event time) become rows of the operator's output."""

    def __init__(self, engine: SqlEngine, aggregation: Aggregation, extra: Sequence[pa.Field]) -> None:
        """Give out the columns of `by`, then `extra` columns of the group as they are, then the select list."""
        self._engine = engine
        self._schema = pa.schema(
            [
                *(pa.field(column.name, arrow_type(column.type)) for column in aggregation.by_columns),
                *extra,
                *(pa.field(partial.name, arrow_type(partial.type)) for partial in aggregation.partials),
                EVENT_TIME_FIELD,
            ]
        )
        kept = [f'"{column.name}"' for column in aggregation.by_columns] + [f'"{field.name}"' for field in extra]
        selected = [f'{column.sql} AS "{column.name}"' for column in aggregation.columns]
        self._sql = f'SELECT {", ".join([*kept, *selected])}, "{EVENT_TIME_COLUMN}" FROM states'

    def of_states(self, states: Sequence[Sequence[Any]]) -> pa.Table | None:
        """Compute the results of these rows of state, in their order; None if there are none."""
        if not states:
            return None
        return self._engine.query(self._sql, states=arrow_columns(states, self._schema))
