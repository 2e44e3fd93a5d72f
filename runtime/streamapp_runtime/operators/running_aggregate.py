"""Running aggregates: each batch emits the new result of every key in it."""

from dataclasses import replace

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Merge
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, event_time_partial
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.row_codec import encode_key
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store

_LATEST = event_time_partial(EVENT_TIME_COLUMN, Merge.MAX)


class Aggregate(BaseOperator):
    """Results per key since the beginning, with the key's latest event time. No row is late."""

    def __init__(self, engine: SqlEngine, store: Store, aggregation: Aggregation) -> None:
        self._by = len(aggregation.by_columns)
        timed = replace(aggregation, partials=(*aggregation.partials, _LATEST))
        self._partials = PartialAggregator(engine, timed)
        self._results = AggregateResults(engine, aggregation)
        self._states = GroupStates(store)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        partials = self._partials.aggregate(rows)
        keys = [encode_key(partial[: self._by]) for partial in partials]
        return self._results.build(self._states.merge(keys, partials, self._partials.merge_all))

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()
