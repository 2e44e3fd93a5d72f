"""Running aggregates: each batch emits the new result of every key in it."""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Merge
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, Row, event_time_partial
from streamapp_runtime.operators.column_states import NotColumnarError, column_states
from streamapp_runtime.operators.merged_partials import MergedPartials
from streamapp_runtime.operators.running_groups import RunningGroups
from streamapp_runtime.rows.row_codec import encode_key
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store

_LATEST = event_time_partial(EVENT_TIME_COLUMN, Merge.MAX)


class Aggregate(RunningGroups):
    """Results per key since its beginning, with the key's latest event time."""

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        aggregation: Aggregation,
        ttl: int | None = None,
        *,
        inline: int | None = None,
    ) -> None:
        """Take the time to live of a key in milliseconds (None: for ever).

        More than `inline` distinct values of a key are entries of their own.
        """
        super().__init__(store, ttl)
        self._by = len(aggregation.by_columns)
        self._names = tuple(column.name for column in aggregation.by_columns)
        timed = replace(aggregation, partials=(*aggregation.partials, _LATEST))
        self._partials = PartialAggregator(engine, timed)
        self._results = AggregateResults(engine, aggregation)
        self._merged = MergedPartials(store, self._partials, aggregation, self._by, inline, lists=False)
        self._columns = column_states(store, timed) if ttl is None else None
        """The groups, as long as they can be kept as columns."""

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """See `RunningGroups.advance_watermark`."""
        super().advance_watermark(watermark)
        self._merged.delete_ended()
        return None

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        for states in in_batches(row for _, row in self._stored()):
            rows = self._results.build(states)
            yield StoredRows(kind="groups", key=self._names, rows=rows)

    def flush(self) -> None:
        """See `Operator.flush`."""
        if self._columns is not None:
            self._columns.flush()
        super().flush()

    def _process(self, rows: pa.Table) -> pa.Table | None:
        grouped = self._partials.group(rows)
        if self._columns is not None:
            columns = [column.combine_chunks() for column in grouped.columns]
            by, added = columns[: self._by], columns[self._by :]
            try:
                return self._results.build_columns([*by, *self._columns.merge(by, added)])
            except NotColumnarError:
                self._columns.flush()
                self._columns = None
        partials = self._partials.plain_rows(grouped)
        keys = [encode_key(partial[: self._by]) for partial in partials]
        return self._results.build(self._states.merge(keys, partials, self._merged.merge_all))

    def _end(self, row: Row) -> None:
        self._merged.end(row)
