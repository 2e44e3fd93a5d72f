"""The type of every stream and operator: each operator is a function from the types of its inputs to its own.

The rules are those of docs/planner.md, "Types of streams".
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace as replace_changes

from msgspec.structs import replace

from streamapp_core.expressions import Condition, Select, SelectColumn
from streamapp_core.expressions.columns_used import columns_used
from streamapp_core.expressions.user_functions import FUNCTION_PREFIX
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.group_schemas import WINDOW_COLUMNS
from streamapp_core.plan.row_schemas import Compiled, RowFlow
from streamapp_core.plan.stream_types.stream_partitioning import Hashed, Partitioning, Unhashed, hashed_by
from streamapp_core.plan.stream_types.stream_type import APPEND, Changes, StreamType, Upsert
from streamapp_core.plan.stream_types.upsert_deletions import filter_deletes, moving_columns
from streamapp_core.schema import Schema, TypeKind
from streamapp_core.spec.groups import Keep, TopN
from streamapp_core.spec.job import Grouper
from streamapp_core.spec.operators import Join, JoinType, OperatorKind
from streamapp_core.spec.streams import KeyFormat, StreamChanges, StreamSpec
from streamapp_core.spec.systems import SystemKind

_UNKNOWN = StreamType(partitioning=Unhashed.UNKNOWN, partitioned_by="")


def infer_types(
    graph: Graph, rows: RowFlow, broadcast: frozenset[str], partitions: Mapping[str, int]
) -> Mapping[str, StreamType]:
    """Return the type of every stream and operator.

    Args:
        graph: the operators in the order of the data.
        rows: their columns and expressions.
        broadcast: what is in every task (`broadcast_names`).
        partitions: the partitions of the declared streams that exist.
    """
    types = {name: _declared(graph, name, stream, partitions.get(name)) for name, stream in graph.spec.streams.items()}
    types.update(dict.fromkeys(graph.opaque, _UNKNOWN))
    for name, operator in graph.operators.items():
        inputs = [types.get(input_, _UNKNOWN) for input_ in operator.inputs]
        types[name] = _operator_type(operator, inputs, rows, broadcast)
    if graph.spec.job.grouper is Grouper.ALL:
        everywhere = Unhashed.EVERYWHERE
        return {name: replace(type_, partitioning=everywhere, partitioned_by=name) for name, type_ in types.items()}
    return types


def _declared(graph: Graph, name: str, stream: StreamSpec, partitions: int | None) -> StreamType:
    system = graph.spec.systems.get(stream.system)
    files = system is not None and system.kind.holds_files
    declared = stream.partitioned and system is not None and system.kind is SystemKind.FILE
    alone = partitions == 1 or (files and stream.changes.is_read)
    partitioning: Partitioning = Unhashed.BY_SOURCE
    if stream.broadcast:
        partitioning = Unhashed.EVERYWHERE
    elif stream.key is not None and (not files or declared or alone):
        partitioner: str = stream.partitioner
        if files and not alone:
            partitioner = f"files of {name}"
        elif stream.changes is StreamChanges.DEBEZIUM or stream.key_format is KeyFormat.AVRO:
            partitioner = f"keys of {name}"  # objects, or records of Avro, whose hash is not that of the column
        parts = tuple(frozenset([column.lower()]) for column in stream.key_columns)
        partitioning = Hashed(parts, stream.key_format, partitioner, stream.key_fields)
    undated = name if files and stream.event_time is None else None
    made = StreamType(partitioning=partitioning, partitioned_by=name, undated_by=undated)
    if not stream.changes.is_read or stream.key is None or name in graph.senders:
        return made
    return replace(made, changes=Upsert(tuple(map(str.lower, stream.key_columns)), deletes=True), changed_by=name)


def _operator_type(
    operator: Operator, inputs: Sequence[StreamType], rows: RowFlow, broadcast: frozenset[str]
) -> StreamType:
    rule = _RULES.get(operator.kind)
    made = inputs[0] if rule is None else rule(operator, inputs, rows, broadcast)
    if operator.name in broadcast and not made.everywhere:
        return replace(made, partitioning=Unhashed.EVERYWHERE, partitioned_by=operator.name)
    return made


def _map(operator: Operator, inputs: Sequence[StreamType], rows: RowFlow, _: frozenset[str]) -> StreamType:
    """Follow the key's columns under their new names; what a map computes is another value."""
    compiled, schema = rows.compiled.get(operator.name), rows.schemas.get(operator.inputs[0])
    constants = _constants(operator, compiled, inputs[0])
    first = inputs[0] if constants == inputs[0].constants else replace(inputs[0], constants=constants)
    if not isinstance(first.partitioning, Hashed) and not isinstance(first.changes, Upsert):
        return first
    if not isinstance(compiled, Select) or schema is None:
        return _UNKNOWN
    names: dict[str, str] = {}
    copies: dict[str, set[str]] = {}
    for column in compiled.columns:
        if column.source_column is not None:
            names.setdefault(column.source_column.lower(), column.name.lower())
            copies.setdefault(column.source_column.lower(), set()).add(column.name.lower())
    if isinstance(first.changes, Upsert):
        first = replace(first, changes=_mapped_changes(first.changes, compiled, names, schema))
    if not isinstance(first.partitioning, Hashed):
        return first
    kept = [{name for column in part for name in copies.get(column, ())} for part in first.partitioning.columns]
    return _partitioned(operator, first, first.partitioning.with_columns(kept))


def _constants(operator: Operator, compiled: Compiled | None, before: StreamType) -> frozenset[str]:
    """Return the columns of a map that are literals or constants of its input; a generator has several values."""
    if operator.kind is not OperatorKind.MAP or not isinstance(compiled, Select):
        return frozenset()
    known = before.constants
    return frozenset(
        column.name.lower()
        for column in compiled.columns
        if (_is_literal(column) if column.source_column is None else column.source_column.lower() in known)
    )


def _is_literal(column: SelectColumn) -> bool:
    """Return whether a column reads no other; names stand in quotes, so most need not be parsed."""
    return '"' not in column.sql and _follows(column, frozenset())


def _mapped_changes(changes: Upsert, select: Select, names: Mapping[str, str], schema: Schema) -> Changes:
    """Return how rows change behind a select list that gives columns these names; without the key nobody knows."""
    if not set(changes.columns) <= names.keys():
        return APPEND
    exact = {column.name.lower() for column in schema.columns if not column.type.nested} & changes.fixed
    exact -= {column.name.lower() for column in schema.columns if column.type.kind in (TypeKind.FLOAT, TypeKind.DOUBLE)}
    determined = (column.name.lower() for column in select.columns if _follows(column, exact))
    by = tuple(names[column] for column in changes.columns)
    return replace_changes(changes, columns=by, determined=frozenset(determined).difference(by))


def _follows(column: SelectColumn, fixed: AbstractSet[str]) -> bool:
    """Return whether a column has one value wherever these columns have the same; users' functions promise nothing.

    Floating keys are not among them: zeros of both signs are one key, and not one value.
    """
    return FUNCTION_PREFIX not in column.sql and columns_used(Select((column,))) <= fixed


def _merge(operator: Operator, inputs: Sequence[StreamType], _: RowFlow, __: frozenset[str]) -> StreamType:
    """Keep the key that all inputs have in common."""
    undated = next((input_.undated_by for input_ in inputs if input_.undated_by is not None), None)
    merged = inputs[0]
    if merged.changes is not APPEND or merged.undated_by != undated or merged.constants:
        merged = replace(merged, changes=APPEND, changed_by=None, undated_by=undated, constants=frozenset())
    partitionings = [type_.partitioning for type_ in inputs]
    if all(partitioning is partitionings[0] for partitioning in partitionings):
        return merged
    if Unhashed.UNKNOWN in partitionings:
        return _UNKNOWN
    hashed = [partitioning for partitioning in partitionings if isinstance(partitioning, Hashed)]
    encodings = {(partitioning.encoding, len(partitioning.columns)) for partitioning in hashed}
    if len(hashed) < len(inputs) or len(encodings) > 1:
        return _partitioned(operator, merged, Unhashed.BY_SOURCE)
    common = [frozenset.intersection(*parts) for parts in zip(*(side.columns for side in hashed), strict=True)]
    return _partitioned(operator, merged, hashed[0].with_columns(common))


def _join(operator: Operator, inputs: Sequence[StreamType], _: RowFlow, __: frozenset[str]) -> StreamType:
    """Keep the left key; next to a side that is everywhere, rows stay where they are, whatever they are hashed by."""
    assert operator.spec.join is not None
    on = operator.spec.join.columns
    partitioning = _by_left_key(inputs, on)
    if inputs[0].everywhere != inputs[1].everywhere:
        place = 1 if inputs[0].everywhere else 0
        own = inputs[place].partitioning
        if not isinstance(own, Hashed):
            partitioning = own
        elif not own.within(on[place]):
            partitioning = own if place == 0 else _under_left_names(own, on)
    undated = None if any(side.undated_by is None for side in inputs) else inputs[0].undated_by
    changes = _joined_changes(operator.spec.join, inputs)
    changed_by = None if changes is APPEND else operator.name
    return StreamType(
        partitioning=partitioning,
        changes=changes,
        partitioned_by=operator.name,
        changed_by=changed_by,
        undated_by=undated,
    )


def _joined_changes(join: Join, inputs: Sequence[StreamType]) -> Changes:
    """Return how the pairs of a join change: those of rows that replace each other are told apart by both keys.

    A column that is joined by is not needed where the other side's row determines it. If only one side is everywhere it
    is: the pairs that a row had and those that it has now may be in different tasks, which go their own ways.
    """
    left, right = (side.changes for side in inputs)
    if not isinstance(left, Upsert) or not isinstance(right, Upsert) or join.within is not None or join.as_of:
        return APPEND
    on_left, on_right = ([column.lower() for column in side] for side in join.columns)
    of_left, of_right = left.columns, right.columns
    if inputs[0].everywhere == inputs[1].everywhere:
        if set(on_right).isdisjoint(of_right):
            of_left = tuple(column for column in of_left if column not in on_left)
        else:  # not of both sides: each would be told apart by the other one only
            of_right = tuple(column for column in of_right if column not in on_right)
    if join.type is JoinType.LEFT:  # each left row has one result, whose right columns may always change
        return Upsert(left.columns, deletes=left.deletes, determined=left.determined)
    renamed = dict(zip(on_right, on_left, strict=True))
    key = tuple(dict.fromkeys([*of_left, *(renamed.get(column, column) for column in of_right)]))
    if not left.fixed.issuperset(on_left) or not right.fixed.issuperset(on_right):
        return Upsert(key, deletes=True)
    fixed = left.fixed.union(renamed.get(column, column) for column in right.fixed)
    return Upsert(key, deletes=left.deletes or right.deletes, determined=fixed.difference(key))


def _join_table(operator: Operator, inputs: Sequence[StreamType], _: RowFlow, broadcast: frozenset[str]) -> StreamType:
    assert operator.spec.join_table is not None
    if operator.spec.join_table.table in broadcast:
        return inputs[0]
    return _partitioned(operator, inputs[0], _by_left_key(inputs, (operator.spec.join_table.columns,)))


def _by_left_key(inputs: Sequence[StreamType], on: Sequence[Sequence[str]]) -> Partitioning:
    """Return the left key columns as partitioning, encoded as the sides are; that they have them is a requirement."""
    for type_, columns in zip(inputs, on, strict=True):
        if isinstance(type_.partitioning, Hashed):
            if not type_.partitioning.within(columns):
                break
            parts = [{on[0][place].lower() for place in places} for places in type_.partitioning.places(columns)]
            return type_.partitioning.with_columns(parts)
    return hashed_by(on[0])


def _under_left_names(hashed: Hashed, on: Sequence[Sequence[str]]) -> Partitioning:
    """Return the partitioning of the right side where its key columns have the names of the left ones."""
    renamed = {right.lower(): left.lower() for left, right in zip(*on, strict=True)}
    return hashed.with_columns([{renamed.get(column, column) for column in part} for part in hashed.columns])


def _group(operator: Operator, inputs: Sequence[StreamType], _: RowFlow, __: frozenset[str]) -> StreamType:
    """Keep the key if the group has it; results of a group that may still change replace earlier ones."""
    made, spec = inputs[0], operator.spec
    by = {column.lower() for column in spec.group_columns}
    emits_rows = spec.top_n or spec.dedup or (spec.window and spec.window.top_n)
    replaced = _replaced_by(operator, made)
    if not emits_rows and not made.constants <= by:
        made = replace(made, constants=made.constants & by)
    if replaced is not None:
        deletes = isinstance(made.changes, Upsert) and _group_deletes(operator, made.changes)
        starts_again = spec.top_n is not None and spec.top_n.n > 1 and spec.ttl is not None
        made = replace(made, changes=Upsert(replaced, deletes=deletes or starts_again), changed_by=operator.name)
        if spec.window is not None:
            made = replace(made, undated_by=None)
    elif spec.window is not None:
        made = replace(made, changes=APPEND, changed_by=None, undated_by=None)
    if emits_rows or not isinstance(made.partitioning, Hashed):
        return made
    return _partitioned(
        operator, made, made.partitioning.with_columns([part & by for part in made.partitioning.columns])
    )


def _replaced_by(operator: Operator, before: StreamType) -> tuple[str, ...] | None:
    """Return the columns whose equal values replace each other in the results of a group; None: results stay.

    Next to a place, columns with the same value in all rows tell nothing apart.
    """
    spec = operator.spec
    by = tuple(column.lower() for column in spec.group_columns)
    if spec.top_n is not None:
        if isinstance(before.changes, Upsert) and _ranks_by_key(spec.top_n):
            return before.changes.columns
        if spec.top_n.rank is None:
            return by
        return (*(column for column in by if column not in before.constants), spec.top_n.rank.lower())
    if spec.window is not None and spec.window.emit is not None:
        return (*by, *(column.name for column in WINDOW_COLUMNS))
    replaced = spec.aggregate is not None or (spec.dedup is not None and spec.dedup.keep is Keep.LAST)
    return by if replaced else None


def _group_deletes(operator: Operator, changes: Upsert) -> bool:
    """Return whether results of a group of such rows may be deleted: a group may lose rows, or a place its row."""
    top = operator.spec.top_n
    if top is None:
        return True
    leaves = not {column.lower() for column in top.by} <= changes.fixed
    return changes.deletes or leaves or _ranks_by_key(top)


def _ranks_by_key(top: TopN) -> bool:
    """Return whether the first rows of a group are told apart by the key that they had, and not by their places."""
    return top.rank is None and top.n > 1


def _partition_by(operator: Operator, inputs: Sequence[StreamType], rows: RowFlow, _: frozenset[str]) -> StreamType:
    """Regroup rows; one whose newest value goes elsewhere is deleted where it was.

    The deletion and the new value go different ways, and either may be read first. So they are not of one key: behind
    it, the columns that may change are a part of the key.
    """
    assert operator.spec.partition_by is not None
    first, key = inputs[0], operator.spec.partition_by.columns
    schema = rows.schemas.get(operator.name)
    if schema is not None and not all(schema.get(column) for column in key):
        return _partitioned(operator, first, Unhashed.UNKNOWN)  # a problem of its own, and no reason for others
    moving = moving_columns(key, first.changes)
    if isinstance(first.changes, Upsert) and moving:
        first = replace(first, changes=Upsert((*first.changes.columns, *moving), deletes=True))
    return _partitioned(operator, first, hashed_by(key))


def _filter(operator: Operator, inputs: Sequence[StreamType], rows: RowFlow, _: frozenset[str]) -> StreamType:
    """Keep everything; a newest value that does not pass deletes its key, unless the condition is on the key alone."""
    first, condition = inputs[0], rows.compiled.get(operator.name)
    deletes = isinstance(condition, Condition) and filter_deletes(condition, first.changes)
    return _deleting(first) if deletes else first


def _deleting(type_: StreamType) -> StreamType:
    """Return the type of changes of which some delete their key."""
    assert isinstance(type_.changes, Upsert)
    return replace(type_, changes=replace_changes(type_.changes, deletes=True))


def _process(operator: Operator, inputs: Sequence[StreamType], _: RowFlow, __: frozenset[str]) -> StreamType:
    """Know nothing of what a function does to keys."""
    undated = inputs[0].undated_by
    return StreamType(partitioning=Unhashed.BY_SOURCE, partitioned_by=operator.name, undated_by=undated)


def _partitioned(operator: Operator, type_: StreamType, partitioning: Partitioning) -> StreamType:
    if partitioning == type_.partitioning and operator.kind is not OperatorKind.PARTITION_BY:
        return type_
    return replace(type_, partitioning=partitioning, partitioned_by=operator.name)


_Rule = Callable[[Operator, Sequence[StreamType], RowFlow, frozenset[str]], StreamType]
_RULES: Mapping[OperatorKind, _Rule] = {
    OperatorKind.FILTER: _filter,
    OperatorKind.MAP: _map,
    OperatorKind.FLAT_MAP: _map,
    OperatorKind.MERGE: _merge,
    OperatorKind.PARTITION_BY: _partition_by,
    OperatorKind.JOIN: _join,
    OperatorKind.JOIN_TABLE: _join_table,
    OperatorKind.AGGREGATE: _group,
    OperatorKind.TOP_N: _group,
    OperatorKind.DEDUP: _group,
    OperatorKind.WINDOW: _group,
    OperatorKind.PROCESS: _process,
}
"""Operators that are not here emit rows of the type that they take."""
