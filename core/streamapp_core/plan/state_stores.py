"""The state of an app: whether it keeps any, and the shape of each store (docs/edits.md)."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

from streamapp_core.expressions import Aggregation, Merge, Ordering, OverFrames, SelectColumn
from streamapp_core.expressions.columns_used import columns_used
from streamapp_core.graph.graph import Graph, Operator, written_name
from streamapp_core.plan.previous_run import PartitionKey
from streamapp_core.plan.row_schemas import Compiled, RowFlow
from streamapp_core.plan.stream_types.check_event_time import process_order
from streamapp_core.plan.stream_types.stream_partitioning import Hashed, Partitioning
from streamapp_core.plan.stream_types.stream_type import StreamType, Upsert
from streamapp_core.plan.table_rows import TableRows
from streamapp_core.spec.groups import Window
from streamapp_core.spec.operators import OperatorKind, OperatorSpec
from streamapp_core.spec.streams import StreamChanges
from streamapp_core.spec.tables import TableSpec

_KEEP_STATE = (
    OperatorKind.JOIN,
    OperatorKind.JOIN_TABLE,
    OperatorKind.SEND_TO_TABLE,
    OperatorKind.AGGREGATE,
    OperatorKind.TOP_N,
    OperatorKind.DEDUP,
    OperatorKind.OVER,
    OperatorKind.WINDOW,
    OperatorKind.SORTED,
)


def keeps_state(graph: Graph) -> bool:
    """Return whether an app keeps state: then its tasks are fixed for a run.

    An app that reads changes has the order of each key to keep, which tasks of their own for new partitions would not.
    """
    return any(_stateful(graph)) or any(
        stream.changes.is_read and name in graph.readers for name, stream in graph.spec.streams.items()
    )


def _stateful(graph: Graph) -> Iterator[Operator]:
    yield from graph.of_kinds(*_KEEP_STATE)
    for operator in graph.of_kinds(OperatorKind.PROCESS):
        if operator.spec.process is not None and operator.spec.process.state is not None:
            yield operator
    for operator in graph.of_kinds(OperatorKind.SEND_TO):
        output = graph.spec.streams.get(operator.spec.send_to or "")
        if output is not None and output.changes is StreamChanges.FINAL:
            yield operator


def partition_keys(graph: Graph) -> Mapping[str, PartitionKey]:
    """Return the key of every intermediate stream; None: every task has all of it."""
    return {
        operator.name: None if operator.spec.partition_by is None else operator.spec.partition_by.key
        for operator in graph.regrouped
    }


def store_shapes(graph: Graph, rows: RowFlow, types: Mapping[str, StreamType]) -> Mapping[str, str]:
    """Hash the shape of every store: all that would make stored state wrong if it changed within a run.

    An operator's store has its name, a table's that of the table. Stores whose columns are not known are left out.
    """
    shapes: dict[str, object] = {}
    for operator in _stateful(graph):
        columns = [rows.schemas.get(input_) for input_ in operator.inputs]
        if None in columns:
            continue
        written = operator.kind is OperatorKind.SEND_TO
        state = _replacing(types[operator.inputs[0]]) if written else _state(operator, rows, types)
        if state is not None:
            partitioned = [_key(types[input_].partitioning) for input_ in operator.inputs]
            ends = [] if operator.spec.ttl is None else ["ttl"]  # how long may change, since each entry has its time
            shapes[operator.name] = [operator.kind, [str(schema) for schema in columns], partitioned, state, *ends]
            if operator.in_sql:
                shapes[operator.name] = [shapes[operator.name], list(_steps_before(graph, operator))]
    for operator in graph.of_kinds(OperatorKind.PARTITION_BY):  # where keys have been is remembered (moved keys)
        changes, schema = types[operator.name].changes, rows.schemas.get(operator.name)
        if isinstance(changes, Upsert) and changes.deletes and schema is not None:
            shapes[operator.name] = [operator.kind, str(schema), _replacing(types[operator.name])]
    for name, table in graph.spec.tables.items():
        shapes[name] = _table_shape(table, rows.tables[name])
    return {name: _hash(shape) for name, shape in shapes.items()}


def _steps_before(graph: Graph, operator: Operator) -> Iterator[object]:
    """Return the steps of the same query that bring rows to one of them: what it holds is more than its name says."""
    for name in operator.inputs:
        step = graph.operators.get(name)
        if step is None or not step.in_sql or written_name(name) != written_name(operator.name):
            yield name
        else:
            yield [_step_state(step.spec), *_steps_before(graph, step)]


def _step_state(spec: OperatorSpec) -> object:
    """Return what a step does to its rows; how long its own state lives is not a part of it."""
    fields = spec.model_dump(mode="json", exclude={"name", "from_"})
    for field in fields.values():
        if isinstance(field, dict) and "ttl" in field:
            field["ttl"] = None
    if spec.join is not None and spec.join.condition is None:
        del fields["join"]["condition"]
    return fields


def _state(operator: Operator, rows: RowFlow, types: Mapping[str, StreamType]) -> object:
    spec = operator.spec
    if spec.sorted is not None:
        return []
    if spec.join is not None:
        without = {"with_", "ttl"} if spec.join.condition else {"with_", "ttl", "condition"}
        join = spec.join.model_dump(mode="json", exclude=without)
        replaced = [_replacing(types[name]) for name in operator.inputs]
        return [join, replaced] if isinstance(types[operator.name].changes, Upsert) else join
    if spec.process is not None and spec.process.state is not None:
        order = process_order(operator, types)  # functions in event-time order store rows that wait
        return [spec.process.model_dump(mode="json", exclude={"output_schema", "order"}), order]
    return _group_state(spec, rows.compiled.get(operator.name), types[operator.inputs[0]])


def _replacing(type_: StreamType) -> str:
    """Describe how rows replace earlier ones: those of others, with equal keys, would stay, or be replaced by them."""
    return f"{type_.changes} of {type_.changed_by}" if isinstance(type_.changes, Upsert) else str(type_.changes)


def _group_state(spec: OperatorSpec, group: Compiled | None, type_: StreamType) -> object:
    replaced = [_replacing(type_)] if isinstance(type_.changes, Upsert) else []
    if isinstance(group, Aggregation):
        unions = spec.aggregate is not None and any(partial.merge is Merge.UNION for partial in group.partials)
        entries = ["entries"] if unions else []  # distinct values, if they are many
        return [_lengths(spec.window), _names(group.by_columns), [repr(p) for p in group.partials], *replaced, *entries]
    if isinstance(group, OverFrames):
        over = None if spec.over is None else spec.over.model_dump(mode="json", include={"rows", "range_", "order_by"})
        results = [repr(p) for p in group.aggregation.partials] if replaced else []  # those of other rows stay
        return [over, _names(group.aggregation.by_columns), sorted(columns_used(group.aggregation)), *replaced, results]
    if isinstance(group, Ordering):
        ranking = spec.top_n or spec.dedup or (spec.window and spec.window.top_n)
        options = (
            None if ranking is None else ranking.model_dump(mode="json", exclude={"order_by", "by", "rank", "ttl"})
        )
        terms = [str(term) for term in group.terms]
        return [_lengths(spec.window), _names(group.by_columns), terms, options, *replaced]
    return None


def _lengths(window: Window | None) -> object:
    fields = {"tumbling", "sliding", "every", "session", "time"}
    return None if window is None else window.model_dump(mode="json", include=fields)


def _names(columns: Iterable[SelectColumn]) -> list[str]:
    return [column.name.lower() for column in columns]


def _table_shape(table: TableSpec, rows: TableRows) -> object:
    key = None if not rows.key else [(column.sql, str(column.type)) for column in rows.key]
    value = None if rows.value is None else [(column.sql, str(column.type)) for column in rows.value.columns]
    extractor = None if table.extractor is None else table.extractor.function
    return [key, value, extractor, str(rows.stored)]


def _key(key: Partitioning) -> object:
    if isinstance(key, Hashed):
        if not key.fields:
            return [sorted(key.columns[0]), key.key_format, key.partitioner]
        return [[sorted(part) for part in key.columns], key.fields, key.key_format, key.partitioner]
    return key.value


def _hash(shape: object) -> str:
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]
