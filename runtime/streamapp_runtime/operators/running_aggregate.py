"""Running aggregates: each batch emits the new result of every key in it."""

from dataclasses import replace

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Merge
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, event_time_partial
from streamapp_runtime.operators.running_groups import RunningGroups
from streamapp_runtime.rows.row_codec import encode_key
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store

_LATEST = event_time_partial(EVENT_TIME_COLUMN, Merge.MAX)


class Aggregate(RunningGroups):
    """Results per key since its beginning, with the key's latest event time."""

    def __init__(self, engine: SqlEngine, store: Store, aggregation: Aggregation, ttl: int | None = None) -> None:
        """Take the time to live of a key in milliseconds; None: for ever."""
        super().__init__(store, ttl)
        self._by = len(aggregation.by_columns)
        timed = replace(aggregation, partials=(*aggregation.partials, _LATEST))
        self._partials = PartialAggregator(engine, timed)
        self._results = AggregateResults(engine, aggregation)

    def _process(self, rows: pa.Table) -> pa.Table | None:
        partials = self._partials.aggregate(rows)
        keys = [encode_key(partial[: self._by]) for partial in partials]
        return self._results.build(self._states.merge(keys, partials, self._partials.merge_all))
