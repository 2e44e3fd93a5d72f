"""The building of operators that keep state: each from its plan, over its store."""

from collections.abc import Callable, Mapping
from typing import Protocol

import pyarrow as pa

from streamapp_core.expressions import Aggregation, Ordering, OverFrames
from streamapp_core.plan.plan import PlannedOperator
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.plan.stream_types.upsert_deletions import moving_columns
from streamapp_core.spec.operators import OperatorKind
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.dedup import Dedup
from streamapp_runtime.operators.dedup_within import DedupWithin
from streamapp_runtime.operators.early_results import EarlyResults
from streamapp_runtime.operators.event_time_sort import EventTimeSort
from streamapp_runtime.operators.moved_keys import MovedKeys
from streamapp_runtime.operators.operator import Operator
from streamapp_runtime.operators.over import Over
from streamapp_runtime.operators.retracting_aggregate import RetractingAggregate
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.operators.session_window import SessionWindow
from streamapp_runtime.operators.top_n import TopN
from streamapp_runtime.operators.upsert_over import UpsertOver
from streamapp_runtime.operators.upsert_top_n import UpsertTopN
from streamapp_runtime.operators.window_top_n import WindowTopN
from streamapp_runtime.rows.stored_rows import HoldsRows
from streamapp_runtime.state.store import Store
from streamapp_runtime.tasks.planned_columns import columns_of, replaced_key
from streamapp_runtime.tasks.stateful_context import StatefulContext
from streamapp_systems.arrow_types import arrow_schema, arrow_type


class StatefulOperator(Operator, HoldsRows, Protocol):
    """An operator that keeps state, which can be read."""


def build_stateful(planned: PlannedOperator, context: StatefulContext) -> StatefulOperator:
    """Build an operator of one of the `STATEFUL_KINDS`."""
    return _BUILDERS[planned.kind](planned, context)


def build_moved_keys(planned: PlannedOperator, open_store: Callable[[str], Store]) -> MovedKeys | None:
    """Build what remembers the places of keys, for a `partitionBy` whose columns may change; else None."""
    assert planned.spec.partition_by is not None
    columns, (schema,) = planned.spec.partition_by.columns, planned.input_schemas
    if not moving_columns(columns, planned.input_types[0].changes):
        return None
    key = replaced_key(planned)
    others = [name for name in columns_of(schema, columns) if name not in key]
    return MovedKeys(open_store(planned.name), arrow_schema(schema), key, others)


def _aggregate(planned: PlannedOperator, context: StatefulContext) -> StatefulOperator:
    engine, store, aggregation = context.engine, context.store, _aggregation(planned)
    if isinstance(planned.input_types[0].changes, Upsert):
        return RetractingAggregate(engine, store, aggregation, replaced_key(planned), inline=context.values_inline)
    return Aggregate(engine, store, aggregation, planned.spec.ttl, inline=context.values_inline)


def _window(planned: PlannedOperator, context: StatefulContext) -> StatefulOperator:
    window = planned.spec.window
    assert window is not None
    engine, store, limit = context.engine, context.store, context.results_at_once
    if window.session is not None:
        return SessionWindow(engine, store, _aggregation(planned), window.session, context.values_inline)
    length = window.tumbling or window.sliding
    assert length is not None
    step = window.every or length
    if window.top_n is None:
        emit, clock = window.emit, context.time_of_day
        early = None if emit is None else EarlyResults(clock, emit.every)
        return AlignedWindow(
            engine,
            store,
            _aggregation(planned),
            length=length,
            step=step,
            limit=limit,
            early=early,
            inline=context.values_inline,
        )
    top, (schema,) = window.top_n, planned.input_schemas
    return WindowTopN(
        engine,
        store,
        _ordering(planned),
        arrow_schema(schema),
        length=length,
        step=step,
        n=top.n,
        ties=top.ties,
        place=top.rank,
        limit=limit,
    )


def _top_n(planned: PlannedOperator, context: StatefulContext) -> StatefulOperator:
    top, (schema,) = planned.spec.top_n, planned.input_schemas
    assert top is not None
    engine, store, ordering = context.engine, context.store, _ordering(planned)
    columns = arrow_schema(schema)
    if not isinstance(planned.input_types[0].changes, Upsert):
        return TopN(engine, store, ordering, columns, n=top.n, place=top.rank, ttl=planned.spec.ttl)
    key, deletes = replaced_key(planned), planned.type.deletes
    return UpsertTopN(engine, store, ordering, columns, key, n=top.n, place=top.rank, deletes=deletes)


def _dedup(planned: PlannedOperator, context: StatefulContext) -> StatefulOperator:
    dedup, store = planned.spec.dedup, context.store
    assert dedup is not None
    by = pa.schema([pa.field(column.name, arrow_type(column.type)) for column in _ordering(planned).by_columns])
    if dedup.within is not None:
        return DedupWithin(store, by, dedup.within)
    return Dedup(store, by, dedup.keep, planned.spec.ttl)


def _over(planned: PlannedOperator, context: StatefulContext) -> StatefulOperator:
    over, (schema,) = planned.spec.over, planned.input_schemas
    assert over is not None
    assert isinstance(planned.compiled, OverFrames)
    engine, store, columns = context.engine, context.store, arrow_schema(schema)
    if over.order_by is not None:
        assert over.rows is not None
        key, deletes = replaced_key(planned), planned.type.deletes
        return UpsertOver(engine, store, planned.compiled, columns, key, rows=over.rows, deletes=deletes)
    limit = context.results_at_once
    return Over(engine, store, planned.compiled, columns, rows=over.rows, reach=over.reach, limit=limit)


def _sorted(_: PlannedOperator, context: StatefulContext) -> StatefulOperator:
    return EventTimeSort(context.store, context.results_at_once)


def _aggregation(planned: PlannedOperator) -> Aggregation:
    assert isinstance(planned.compiled, Aggregation)
    return planned.compiled


def _ordering(planned: PlannedOperator) -> Ordering:
    assert isinstance(planned.compiled, Ordering)
    return planned.compiled


_BUILDERS: Mapping[OperatorKind, Callable[[PlannedOperator, StatefulContext], StatefulOperator]] = {
    OperatorKind.AGGREGATE: _aggregate,
    OperatorKind.TOP_N: _top_n,
    OperatorKind.DEDUP: _dedup,
    OperatorKind.WINDOW: _window,
    OperatorKind.OVER: _over,
    OperatorKind.SORTED: _sorted,
}
STATEFUL_KINDS = _BUILDERS.keys()
"""The kinds of operators with one input that always keep state, and have no function of the user's."""
