"""Running aggregates: each batch emits the new result of every key in it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Merge
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, Row, event_time_partial
from streamapp_runtime.operators.distinct_entries import INLINE, DistinctEntries, Stored
from streamapp_runtime.operators.running_groups import RunningGroups
from streamapp_runtime.rows.row_codec import encode_key
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
        inline: int = INLINE,
    ) -> None:
        """Take the time to live of a key in milliseconds (None: for ever).

        More than `inline` distinct values of a key are entries of their own.
        """
        super().__init__(store, ttl)
        self._by = len(aggregation.by_columns)
        timed = replace(aggregation, partials=(*aggregation.partials, _LATEST))
        self._partials = PartialAggregator(engine, timed)
        self._results = AggregateResults(engine, aggregation)
        self._distinct = DistinctEntries(store, counted=False)
        self._inline = inline
        partials = enumerate(aggregation.partials, self._by)
        self._unions = [place for place, partial in partials if partial.merge is Merge.UNION]

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """See `RunningGroups.advance_watermark`."""
        super().advance_watermark(watermark)
        if self._unions:
            self._distinct.delete_ended()
        return None

    def _process(self, rows: pa.Table) -> pa.Table | None:
        partials = self._partials.aggregate(rows)
        keys = [encode_key(partial[: self._by]) for partial in partials]
        merge = self._merge_all if self._unions else self._partials.merge_all
        return self._results.build(self._states.merge(keys, partials, merge))

    def _end(self, row: Row) -> None:
        for place in self._unions:
            self._distinct.end(row[place])

    def _merge_all(self, states: Sequence[Row | None], partials: Sequence[Row]) -> list[Row]:
        """Merge partial results; where distinct values are many, they are entries."""
        stored: dict[tuple[int, int], Stored] = {}
        for place in self._unions:
            for number, state in enumerate(states):
                if state is not None and isinstance(state[place], dict):
                    stored[number, place] = self._distinct.add(state[place], partials[number][place] or ())
        rows = self._partials.merge_all(states, _replaced(partials, dict.fromkeys(stored)) if stored else partials)
        for place in self._unions:
            large = (number for number, row in enumerate(rows) if row[place] and len(row[place]) > self._inline)
            stored |= {(number, place): self._distinct.store(rows[number][place]) for number in large}
        return _replaced(rows, stored) if stored else rows


def _replaced(rows: Sequence[Row], values: Mapping[tuple[int, int], Any]) -> list[Row]:
    """Return rows with some values replaced, which are given by the number of their row and their place in it."""
    replaced = list(rows)
    for (number, place), value in values.items():
        replaced[number] = [*replaced[number][:place], value, *replaced[number][place + 1 :]]
    return replaced
