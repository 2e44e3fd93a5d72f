"""Aggregates as operators compute them: batch by batch, partial results merged per group."""

import pyarrow as pa

from streamapp_runtime.operators.aggregate_results import AggregateResults
from streamapp_runtime.operators.batch_aggregation import PartialAggregator
from streamapp_runtime.rows.event_time_column import add_event_time, without_event_time
from streamapp_runtime.rows.row_codec import encode_key


def computed(engine, aggregation, batches, event_times=()):
    """Compute the results of every group of these batches, in the order in which the groups first came."""
    partials, results = PartialAggregator(engine, aggregation), AggregateResults(engine, aggregation)
    by, states = len(aggregation.by_columns), {}
    for batch in batches:
        added = {encode_key(row[:by]): row for row in partials.aggregate(add_event_time(batch, event_times))}
        merged = partials.merge_all([states.get(key) for key in added], list(added.values()))
        states.update(zip(added, merged, strict=True))
    return without_event_time(results.build([[*state, None] for state in states.values()]))


def split(rows: pa.Table, size):
    """Cut rows into batches."""
    return [rows.slice(at, size) for at in range(0, len(rows), size)]
