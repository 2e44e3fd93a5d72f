"""Final results of aggregates, computed from rows of partial results: by SQL where they are more than plain columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import FOLDS, Aggregation, Merge, Partial, SelectColumn, result_sql, table
from streamapp_core.schema import BIGINT, EVENT_TIME_COLUMN
from streamapp_runtime.operators.compound_partials import COMPOUND_MERGES, result_values
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.projection import plain_projection
from streamapp_runtime.rows.row_codec import to_arrow_table
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_type
from streamapp_systems.floating_keys import unify_floats

_EVENT_TIME = SelectColumn(
    name=EVENT_TIME_COLUMN, type=BIGINT, sql=f'"{EVENT_TIME_COLUMN}"', source_column=EVENT_TIME_COLUMN
)


class AggregateResults:
    """Computes the operator's output rows from partial results.

    Its input are rows of plain values: the columns of `by`, `also_by`, the partial aggregates, and the event time.
    """

    def __init__(self, engine: SqlEngine, aggregation: Aggregation, also_by: Sequence[pa.Field] = ()) -> None:
        """Emit the columns of `by`, then `also_by` as they are, then the select list and the event time."""
        self._engine = engine
        columns: list[SelectColumn | Partial] = [*aggregation.by_columns, *aggregation.partials]
        fields = [pa.field(column.name, _type(column)) for column in columns]
        by = len(aggregation.by_columns)
        first = by + len(also_by)
        self._compound = [(at, p) for at, p in enumerate(aggregation.partials, first) if p.merge in COMPOUND_MERGES]
        self._schema = pa.schema([*fields[:by], *also_by, *fields[by:], EVENT_TIME_FIELD])
        timed = replace(aggregation, columns=(*aggregation.columns, _EVENT_TIME))
        names = [field.name for field in also_by]
        self._plain = plain_projection(
            timed.columns, before=[*(column.name for column in aggregation.by_columns), *names]
        )
        self._sql = result_sql(timed, table("states"), names)

    def build(self, states: Sequence[Sequence[Any]]) -> pa.Table | None:
        """Compute the results of these rows, in their order; None if there are none."""
        if not states:
            return None
        return self._results(to_arrow_table(self._values(states), self._schema))

    def build_columns(self, states: Sequence[pa.Array]) -> pa.Table:
        """Compute the results of such rows, given as columns, none of which is of what takes more than a value."""
        fields = zip(states, self._schema, strict=True)
        columns = [
            unify_floats(column if column.type == field.type else column.cast(field.type)) for column, field in fields
        ]
        return self._results(pa.Table.from_arrays(columns, schema=self._schema))

    def _results(self, rows: pa.Table) -> pa.Table:
        return self._engine.query(self._sql, states=rows) if self._plain is None else self._plain.apply(rows)

    def _values(self, states: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        if not self._compound:
            return states
        columns = list(zip(*states, strict=True))
        for at, partial in self._compound:
            columns[at] = tuple(result_values(partial, columns[at]))
        return list(zip(*columns, strict=True))


def _type(column: SelectColumn | Partial) -> pa.DataType:
    values = arrow_type(column.type)
    if not isinstance(column, Partial):
        return values
    if column.merge is Merge.COUNTS:
        entry = [pa.field("value", values), pa.field("count", pa.int64()), pa.field("upto", pa.int64())]
        return pa.list_(pa.struct(entry))
    listed = column.merge in (FOLDS | {Merge.COLLECT}) - {Merge.CHECKED_SUM, Merge.SUMMARY}
    return pa.list_(values) if listed else values
