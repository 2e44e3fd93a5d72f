"""A plan becomes the operators of one task."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.expressions import Aggregation, Select
from streamapp_core.plan.plan import Plan, PlannedOperator
from streamapp_core.schema import EVENT_TIME_COLUMN, Schema
from streamapp_core.spec.operators import OperatorKind
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.process_function import Function, UserFunction
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.functions.user_errors import FunctionFailed
from streamapp_runtime.operators.join import IntervalJoin
from streamapp_runtime.operators.join_table import JoinTable
from streamapp_runtime.operators.operator import Operator, Port, Step
from streamapp_runtime.operators.outputs import Broadcast, PartitionBy, SendToFile, SendToStream
from streamapp_runtime.operators.row_operators import Merge, PlainSelect, SqlOperator
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.operators.send_to_table import SendToTable
from streamapp_runtime.operators.session_window import SessionWindow
from streamapp_runtime.operators.stateful_process import ProcessWithState
from streamapp_runtime.operators.stateless_process import Process
from streamapp_runtime.operators.window import AlignedWindow
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.projection import projection
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.tables.lookup_table import Table
from streamapp_runtime.tasks.pipeline import Node, Pipeline
from streamapp_runtime.tasks.query_chains import ROW_KINDS, chains, row_sql
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import FileOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext:
    """What the operators of a task work with: tables and file outputs by name, functions by operator.

    `written` counts the rows of each output; `number` is the task's number in the run.
    """

    number: int
    engine: SqlEngine
    writer: IntermediateWriter
    output_writer: OutputWriter
    tables: Mapping[str, Table]
    outputs: Mapping[str, FileOutput]
    written: Counter[str]
    state: TaskState
    functions: Mapping[str, UserFunction]
    bad_rows: BadRows


def build_pipeline(plan: Plan, surroundings: OperatorContext) -> Pipeline:
    """Make the operators of one task and wire them."""
    nodes = []
    for chain in chains(plan.operators):
        inputs, last = chain[0].inputs, chain[-1]
        step: Step
        behind = 0
        if last.kind is OperatorKind.JOIN:
            step = join = _join(last, surroundings)
            ports: tuple[Port, ...] = (join.process_left, join.process_right)
            behind = join.behind
        else:
            step = operator = _operator(plan, chain, surroundings)
            ports = (operator.process,) * len(inputs)
        nodes.append(
            Node(name=last.name, operator=step, inputs=inputs, ports=ports, streams=last.streams, behind=behind)
        )
    return Pipeline(nodes)


def _operator(plan: Plan, chain: Sequence[PlannedOperator], around: OperatorContext) -> Operator:
    planned = chain[-1]
    if planned.kind in ROW_KINDS:
        return _row_operator(chain, around.engine)
    return _BUILDERS[planned.kind](plan, planned, around)


def _row_operator(chain: Sequence[PlannedOperator], engine: SqlEngine) -> Operator:
    compiled = chain[0].compiled
    if len(chain) == 1 and isinstance(compiled, Select):
        plain = projection(compiled.columns, after=[EVENT_TIME_COLUMN])
        if plain is not None:
            return PlainSelect(plain)
    return SqlOperator(engine, row_sql(chain))


def _join(planned: PlannedOperator, around: OperatorContext) -> IntervalJoin:
    join = planned.spec.join
    assert join is not None
    left, right = planned.input_schemas
    return IntervalJoin(
        around.state.logged_store(planned.name),
        keys=(_column(left, join.columns.left), _column(right, join.columns.right)),
        schemas=(arrow_schema(left), arrow_schema(right)),
        kind=join.type,
        within=join.within,
    )


def _merge(_: Plan, planned: PlannedOperator, __: OperatorContext) -> Operator:
    return Merge([*planned.schema.names, EVENT_TIME_COLUMN])


def _partition_by(plan: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    assert planned.spec.partition_by is not None
    written = None if plan.streams[planned.name].consumers else around.written
    return PartitionBy(around.writer, planned.name, planned.spec.partition_by.key, written)


def _broadcast(_: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    return Broadcast(around.writer, planned.name)


def _join_table(_: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    join = planned.spec.join_table
    assert join is not None
    added = planned.schema.names[len(planned.input_schemas[0].names) :]
    return JoinTable(around.tables[join.table], join.on, added, join.type)


def _aggregate(_: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    return Aggregate(around.engine, around.state.logged_store(planned.name), _aggregation(planned))


def _window(_: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    window = planned.spec.window
    assert window is not None
    store = around.state.logged_store(planned.name)
    if window.session is not None:
        return SessionWindow(around.engine, store, _aggregation(planned), window.session)
    length = window.tumbling or window.sliding
    assert length is not None
    return AlignedWindow(around.engine, store, _aggregation(planned), length=length, step=window.every or length)


def _process(plan: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    process, on_error = planned.spec.process, plan.app.spec.job.on_error
    assert process is not None
    made, columns = around.functions[planned.name], arrow_schema(planned.schema)
    if process.state is None:
        return Process(planned.name, Function(process.function, made, columns), on_error, around.bad_rows)
    (source,) = planned.input_schemas
    key = arrow_schema(source).field(_column(source, process.state.key))
    state = KeyedState(around.state.logged_store(planned.name))
    try:
        function = StatefulFunction(process.function, made, columns, key, state)
    except FunctionFailed as failure:
        raise RuntimeFailure(f"operator `{planned.name}`: {failure}") from failure
    return ProcessWithState(planned.name, function, on_error, around.bad_rows)


def _send_to_table(_: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    table = planned.spec.send_to_table
    assert table is not None
    return SendToTable(around.tables[table])


def _send_to(plan: Plan, planned: PlannedOperator, around: OperatorContext) -> Operator:
    name = planned.spec.send_to
    assert name is not None
    if name in around.outputs:
        return SendToFile(around.outputs[name], name, around.written)
    return SendToStream(around.output_writer, plan.streams[name], spread=around.number, written=around.written)


def _column(schema: Schema, name: str) -> str:
    column = schema.get(name)
    assert column is not None
    return column.name


def _aggregation(planned: PlannedOperator) -> Aggregation:
    assert isinstance(planned.compiled, Aggregation)
    return planned.compiled


_BUILDERS: Mapping[OperatorKind, Callable[[Plan, PlannedOperator, OperatorContext], Operator]] = {
    OperatorKind.MERGE: _merge,
    OperatorKind.PARTITION_BY: _partition_by,
    OperatorKind.BROADCAST: _broadcast,
    OperatorKind.JOIN_TABLE: _join_table,
    OperatorKind.AGGREGATE: _aggregate,
    OperatorKind.WINDOW: _window,
    OperatorKind.PROCESS: _process,
    OperatorKind.SEND_TO_TABLE: _send_to_table,
    OperatorKind.SEND_TO: _send_to,
}
