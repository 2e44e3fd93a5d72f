"""The rows that the stores of operators and tables hold, read from a copy of their state."""

from collections.abc import Callable, Iterator

import pyarrow as pa

from streamapp_core.plan.plan import PlannedOperator, PlannedTable
from streamapp_core.spec.operators import OperatorKind, ProcessOrder
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.stateful_function import key_columns
from streamapp_runtime.operators.final_rows import FinalRows
from streamapp_runtime.operators.pending_rows import PendingRows
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.row_codec import decode_key
from streamapp_runtime.rows.stored_rows import HoldsRows, StoredRows, in_batches
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store
from streamapp_runtime.tables.lookup_table import stored_table_rows
from streamapp_runtime.tasks.join_builder import build_join
from streamapp_runtime.tasks.planned_columns import columns_of, replaced_key
from streamapp_runtime.tasks.stateful_context import StatefulContext
from streamapp_runtime.tasks.stateful_operators import STATEFUL_KINDS, build_moved_keys, build_stateful
from streamapp_systems.arrow_types import arrow_schema, arrow_type


def stored_rows(
    planned: PlannedOperator, store: Store, engine: SqlEngine, time_of_day: Callable[[], int], watermark: int | None
) -> Iterator[StoredRows]:
    """Return the rows in the store of an operator, some at a time; nothing is written to it.

    `watermark` is the one that the operator had reached: what has ended before it is not there any more.
    """
    if planned.kind is OperatorKind.PROCESS:
        return _of_function(planned, store)
    if planned.kind is OperatorKind.PARTITION_BY:
        moved = build_moved_keys(planned, lambda _: store)
        return iter(()) if moved is None else moved.stored_rows()
    if planned.kind is OperatorKind.SEND_TO:
        return FinalRows(store, arrow_schema(planned.schema), replaced_key(planned), lambda rows: rows).stored_rows()
    context = StatefulContext(store=store, engine=engine, time_of_day=time_of_day)
    operator: HoldsRows = (build_stateful if planned.kind in STATEFUL_KINDS else build_join)(planned, context)
    if watermark is not None:
        operator.resume(watermark)
    return operator.stored_rows()


def table_rows(planned: PlannedTable, store: Store) -> Iterator[StoredRows]:
    """Return the rows in the store of a table, some at a time, behind their keys."""
    columns = arrow_schema(planned.schema)
    key_type = arrow_type(planned.key_types[0]) if len(planned.key_types) == 1 else pa.string()
    name = "key"
    while name in {column.lower() for column in columns.names}:
        name = f"table_{name}"
    return stored_table_rows(store, pa.field(name, key_type), columns)


def _of_function(planned: PlannedOperator, store: Store) -> Iterator[StoredRows]:
    """Return the values and timers of a function, then the rows that wait for their turn."""
    process, (source,) = planned.spec.process, planned.input_schemas
    assert process is not None
    assert process.state is not None
    key = [arrow_schema(source).field(name) for name in columns_of(source, process.state.columns)]
    names, nothing = tuple(field.name for field in key), None if len(key) == 1 else (None,) * len(key)
    state = KeyedState(store)
    for entries in in_batches(state.stored_values()):
        keys = [nothing if (found := decode_key(name)) is None else found[0] for name, _ in entries]
        rows = pa.table(key_columns(keys, key), pa.schema(key))
        yield StoredRows(kind="values", key=names, rows=rows, values=[value for _, value in entries])
    for timers in in_batches(state.stored_timers()):
        times = pa.array([time for time, _ in timers], pa.int64())
        columns = [*key_columns([found for _, found in timers], key), times]
        yield StoredRows(kind="timers", key=names, rows=pa.table(columns, pa.schema([*key, EVENT_TIME_FIELD])))
    if planned.order is ProcessOrder.EVENT_TIME:
        for rows in PendingRows(store).stored():
            yield StoredRows(kind="rows that wait", key=names, rows=rows)
