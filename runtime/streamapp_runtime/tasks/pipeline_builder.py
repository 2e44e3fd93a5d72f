"""The building of a task's pipeline: each planned operator, or chain of row operators, becomes a running one."""

from collections.abc import Callable, Mapping, Sequence

from streamapp_core.expressions import Select
from streamapp_core.expressions.user_functions import FUNCTION_PREFIX
from streamapp_core.plan.null_keys import has_null_group, null_key_column
from streamapp_core.plan.plan import PlannedOperator
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.groups import WindowTime
from streamapp_core.spec.operators import OperatorKind, ProcessOrder
from streamapp_core.spec.streams import StreamChanges
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.process_function import ProcessFunction
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.final_rows import FinalRows
from streamapp_runtime.operators.flat_map import FlatMap
from streamapp_runtime.operators.guarded_operator import GuardedOperator
from streamapp_runtime.operators.join_table import JoinTable
from streamapp_runtime.operators.null_key_guard import NullKeyGuard
from streamapp_runtime.operators.operator import InputPort, Operator, TaskOperator
from streamapp_runtime.operators.ordered_process import OrderedProcess
from streamapp_runtime.operators.outputs import Broadcast, NotWritten, PartitionBy, SendToFile, SendToStream
from streamapp_runtime.operators.processing_time import ProcessingTime
from streamapp_runtime.operators.row_operators import CallingQuery, Merge, PlainSelect, SqlOperator
from streamapp_runtime.operators.send_to_table import SendToTable
from streamapp_runtime.operators.stateful_process import StatefulProcess
from streamapp_runtime.rows.hidden_columns import hidden_fields
from streamapp_runtime.rows.projection import plain_projection
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_runtime.tasks.join_builder import build_join
from streamapp_runtime.tasks.pipeline import Node, Pipeline
from streamapp_runtime.tasks.planned_columns import columns_of, replaced_key
from streamapp_runtime.tasks.query_chains import ROW_KINDS, chain_sql, row_operator_chains
from streamapp_runtime.tasks.stateful_context import StatefulContext
from streamapp_runtime.tasks.stateful_operators import STATEFUL_KINDS, build_moved_keys, build_stateful
from streamapp_runtime.tasks.task_context import TaskContext
from streamapp_runtime.writing.record_check import RecordCheck
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import RecordLimits


def build_pipeline(context: TaskContext) -> Pipeline:
    """Build the operators of one task and wire them."""
    nodes = []
    for chain in row_operator_chains(context.processor.plan.operators):
        inputs, last = chain[0].inputs, chain[-1]
        step: TaskOperator
        max_output_delay, clock = 0, None
        if last.kind is OperatorKind.JOIN:
            step = join = build_join(last, _stateful(last, context))
            ports: tuple[InputPort, ...] = (join.process_left, join.process_right)
            max_output_delay = join.max_output_delay
        else:
            step = operator = _operator(chain, context)
            clock = _clock(last, context)
            port = operator.process if clock is None else clock.stamp(operator.process)
            ports = (_guarded(last, port, context),) * len(inputs)
        nodes.append(
            Node(
                name=last.name,
                operator=step,
                inputs=inputs,
                ports=ports,
                streams=last.streams,
                max_output_delay=max_output_delay,
                divide=step.divide if isinstance(step, FlatMap) else None,
                clock=clock,
                emit_early=step.emit_early if isinstance(step, AlignedWindow) and step.emits_early else None,
            )
        )
    return Pipeline(nodes)


def _operator(chain: Sequence[PlannedOperator], context: TaskContext) -> Operator:
    planned = chain[-1]
    if planned.kind is OperatorKind.FLAT_MAP:
        return _flat_map(chain, context)
    if planned.kind in ROW_KINDS:
        return _row_operator(chain, context)
    if planned.kind in _WRITES and _is_written_elsewhere(planned, context):
        return NotWritten()
    if planned.kind in STATEFUL_KINDS:
        return build_stateful(planned, _stateful(planned, context))
    return _BUILDERS[planned.kind](planned, context)


def _stateful(planned: PlannedOperator, context: TaskContext) -> StatefulContext:
    processor = context.processor
    return StatefulContext(
        store=context.state.logged_store(planned.name),
        engine=processor.engine,
        time_of_day=processor.time_of_day,
        results_at_once=processor.results_at_once,
        values_inline=processor.values_inline,
    )


def _clock(planned: PlannedOperator, context: TaskContext) -> ProcessingTime | None:
    """Return the clock of a window by processing time; sessions are looked at ten times while one lasts."""
    window = planned.spec.window
    if window is None or window.time is WindowTime.EVENT:
        return None
    step = window.every or window.tumbling or max((window.session or 0) // 10, 1)
    return ProcessingTime(context.processor.time_of_day, step)


def _guarded(planned: PlannedOperator, port: InputPort, context: TaskContext) -> InputPort:
    """Guard a group against rows without a key, if they are grouped in another task."""
    processor = context.processor
    column = null_key_column(processor.plan, planned)
    if column is None or has_null_group(processor.plan, planned, processor.tasks[context.name].ssps):
        return port
    return NullKeyGuard(port, column, lambda rows: processor.note_null_keys(planned, context.name, column, rows))


def _is_written_elsewhere(planned: PlannedOperator, context: TaskContext) -> bool:
    """Return whether every task has the rows that come to an operator, and another task writes them for all."""
    plan, (source,) = context.processor.plan, planned.inputs
    rows = plan.operators[source].type if source in plan.operators else plan.streams[source].type
    return rows.everywhere and context.name != context.processor.broadcast_writer


def _flat_map(chain: Sequence[PlannedOperator], context: TaskContext) -> FlatMap:
    planned, processor = chain[-1], context.processor
    assert isinstance(planned.compiled, Select)
    return FlatMap(
        planned.name,
        _query(chain, context),
        planned.compiled.columns,
        processor.engine,
        on_error=processor.plan.app.spec.job.on_error,
        bad_rows=context.bad_rows,
    )


def _row_operator(chain: Sequence[PlannedOperator], context: TaskContext) -> Operator:
    compiled = chain[0].compiled
    if len(chain) == 1 and isinstance(compiled, Select):
        hidden = hidden_fields(chain[0].input_types[0])
        plain = plain_projection(compiled.columns, after=[field.name for field in hidden])
        if plain is not None:
            return PlainSelect(plain)
    return _query(chain, context)


def _query(chain: Sequence[PlannedOperator], context: TaskContext) -> Operator:
    processor, sql = context.processor, chain_sql(chain)
    query = SqlOperator(processor.engine, sql)
    if FUNCTION_PREFIX not in sql:
        return query
    caller = " or ".join(f"`{operator.name}`" for operator in chain if FUNCTION_PREFIX in chain_sql([operator]))
    return GuardedOperator(
        f"operator {caller}",
        CallingQuery(query, processor.scalar_functions),
        processor.plan.app.spec.job.on_error,
        context.bad_rows,
    )


def _merge(planned: PlannedOperator, _: TaskContext) -> Operator:
    return Merge([*planned.schema.names, EVENT_TIME_COLUMN])


def _partition_by(planned: PlannedOperator, context: TaskContext) -> Operator:
    assert planned.spec.partition_by is not None
    written = None if context.processor.plan.streams[planned.name].consumers else context.written
    columns = planned.spec.partition_by.columns
    moved = build_moved_keys(planned, context.state.logged_store)
    record_key = RecordKey(columns, columns if len(columns) > 1 else ())
    return PartitionBy(context.processor.writers.intermediate, planned.name, record_key, written, moved)


def _broadcast(planned: PlannedOperator, context: TaskContext) -> Operator:
    return Broadcast(context.processor.writers.intermediate, planned.name)


def _join_table(planned: PlannedOperator, context: TaskContext) -> Operator:
    join = planned.spec.join_table
    assert join is not None
    added = planned.schema.names[len(planned.input_schemas[0].names) :]
    columns = columns_of(planned.input_schemas[0], join.columns)
    return JoinTable(context.tables[join.table], columns, added, join.type)


def _process(planned: PlannedOperator, context: TaskContext) -> Operator:
    process, on_error = planned.spec.process, context.processor.plan.app.spec.job.on_error
    assert process is not None
    made, columns = context.processor.functions[planned.name], arrow_schema(planned.schema)
    if process.state is None:
        function = ProcessFunction(process.function, made, columns)
        return GuardedOperator(f"operator `{planned.name}`", function, on_error, context.bad_rows)
    (source,) = planned.input_schemas
    key = [arrow_schema(source).field(name) for name in columns_of(source, process.state.columns)]
    store = context.state.logged_store(planned.name)
    try:
        stateful = StatefulFunction(process.function, made, columns, key, KeyedState(store))
    except UserFunctionFailed as failure:
        raise RuntimeFailure(f"operator `{planned.name}`: {failure}") from failure
    if planned.order is ProcessOrder.EVENT_TIME:
        return OrderedProcess(planned.name, stateful, store, on_error, context.bad_rows)
    return StatefulProcess(planned.name, stateful, on_error, context.bad_rows)


def _send_to_table(planned: PlannedOperator, context: TaskContext) -> Operator:
    table = planned.spec.send_to_table
    assert table is not None
    return SendToTable(context.tables[table])


def _send_to(planned: PlannedOperator, context: TaskContext) -> Operator:
    name, processor = planned.spec.send_to, context.processor
    assert name is not None
    stream, writers = processor.plan.streams[name], processor.writers
    changes = StreamChanges.APPEND if stream.spec is None else stream.spec.changes
    history = changes is StreamChanges.LOG
    if stream.system in writers.files:
        output = SendToFile(writers.files[stream.system], name, context.written, history=history)
        if changes is not StreamChanges.FINAL:
            return output
        store, columns = context.state.logged_store(planned.name), arrow_schema(planned.schema)
        return FinalRows(store, columns, replaced_key(planned), output.process, processor.results_at_once)
    number = processor.tasks[context.name].changelog_partition
    check = RecordCheck(
        stream,
        writers.limits.get(name, RecordLimits()),
        on_error=processor.plan.app.spec.job.on_error,
        bad_rows=context.bad_rows,
        time_of_day=processor.time_of_day,
    )
    return SendToStream(writers.outputs, stream, check, spread=number, written=context.written, history=history)


_WRITES = frozenset({OperatorKind.PARTITION_BY, OperatorKind.BROADCAST, OperatorKind.SEND_TO})

_BUILDERS: Mapping[OperatorKind, Callable[[PlannedOperator, TaskContext], Operator]] = {
    OperatorKind.MERGE: _merge,
    OperatorKind.PARTITION_BY: _partition_by,
    OperatorKind.BROADCAST: _broadcast,
    OperatorKind.JOIN_TABLE: _join_table,
    OperatorKind.PROCESS: _process,
    OperatorKind.SEND_TO_TABLE: _send_to_table,
    OperatorKind.SEND_TO: _send_to,
}
