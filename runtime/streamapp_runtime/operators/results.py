"""Final results of aggregates: made of rows of partial results by SQL."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Partial, SelectColumn, result_sql, table
from streamapp_core.schema import BIGINT, EVENT_TIME_COLUMN
from streamapp_runtime.rows.codec import arrow_columns
from streamapp_runtime.rows.event_time import EVENT_TIME_FIELD
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_systems.arrow_types import arrow_type

_EVENT_TIME = SelectColumn(name=EVENT_TIME_COLUMN, type=BIGINT, sql=f'"{EVENT_TIME_COLUMN}"', source_column=None)


class Results:
    """How partial results become rows of the operator's output.

    Its input are rows of plain values: the columns of `by`, `also_by`, the partial aggregates, and the event time.
    """

    def __init__(self, engine: SqlEngine, aggregation: Aggregation, also_by: Sequence[pa.Field] = ()) -> None:
        """Give out the columns of `by`, then `also_by` as they are, then the select list and the event time."""
        self._engine = engine
        columns: list[SelectColumn | Partial] = [*aggregation.by_columns, *aggregation.partials]
        fields = [pa.field(column.name, arrow_type(column.type)) for column in columns]
        by = len(aggregation.by_columns)
        self._schema = pa.schema([*fields[:by], *also_by, *fields[by:], EVENT_TIME_FIELD])
        timed = replace(aggregation, columns=(*aggregation.columns, _EVENT_TIME))
        self._sql = result_sql(timed, table("states"), [field.name for field in also_by])

    def of_states(self, states: Sequence[Sequence[Any]]) -> pa.Table | None:
        """Compute the results of these rows, in their order; None if there are none."""
        if not states:
            return None
        return self._engine.query(self._sql, states=arrow_columns(states, self._schema))
