"""The columns of rows, followed through the graph, and every expression compiled on the way (docs/expressions.md).

After a broken declaration or a refused expression the columns are unknown, and not checked: one mistake gives one
problem.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from streamapp_core.expressions import (
    Condition,
    Select,
    UserFunctions,
    check_aggregate,
    check_condition,
    check_flat_map,
    check_select,
)
from streamapp_core.expressions.type_rules import common_number
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.declared_functions import read_functions
from streamapp_core.plan.group_schemas import GROUP_KINDS, Group, GroupFlow
from streamapp_core.plan.joined_columns import difference, keys_match, lacking, repeated, without
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.plan.required_columns import require_columns
from streamapp_core.plan.table_rows import TableRows, read_tables
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import Column, DataType, Schema
from streamapp_core.spec.operators import Join, JoinTable, JoinType, PartitionBy, Process

Compiled = Condition | Select | Group
C = TypeVar("C", Condition, Select)

_IN_TABLES = "compute it in a `map`, and fill the table by `sendToTable`, or use an `extractor`"
_IN_JOINS = "compute it in a `map` before the join, if it reads one side only"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFlow:
    """The columns that every stream and operator emits (None: not known), expressions and tables by name; functions."""

    schemas: Mapping[str, Schema | None]
    compiled: Mapping[str, Compiled]
    tables: Mapping[str, TableRows]
    functions: UserFunctions


def flow_rows(graph: Graph, streams: Mapping[str, Schema | None], collector: ProblemCollector) -> RowFlow:
    """Follow the columns from the streams through all operators; problems go to `collector`.

    Args:
        graph: the operators in the order of the data.
        streams: the schema of each declared stream (`plan.declared_streams`).
        collector: collects the problems of columns, types and expressions.
    """
    flow = RowFollower(graph, streams, collector)
    for operator in graph.operators.values():
        flow.follow(operator)
    return RowFlow(schemas=flow.schemas, compiled=flow.compiled, tables=flow.tables, functions=flow.functions)


def stream_schemas(graph: Graph, rows: RowFlow, stream: str) -> list[Schema]:
    """Return the schemas, as far as they are known, of what is sent to a stream; if nothing is, its own."""
    sent = [rows.schemas.get(sender.inputs[0]) for sender in graph.senders.get(stream, ())]
    return [schema for schema in sent or [rows.schemas.get(stream)] if schema is not None]


class RowFollower:
    """The schemas and expressions of the operators passed so far."""

    def __init__(self, graph: Graph, streams: Mapping[str, Schema | None], collector: ProblemCollector) -> None:
        """Begin with the streams and tables of a graph, whose operators are to be followed in the order of the data."""
        self.collector = collector
        self.schemas: dict[str, Schema | None] = {**streams, **dict.fromkeys(graph.opaque)}
        self.functions = read_functions(graph.spec.functions, graph.spec.job.time_zone, graph.opaque, collector)
        self.tables = read_tables(graph, self.schemas, replace(self.functions, instead=_IN_TABLES), collector)
        self.compiled: dict[str, Compiled] = {}
        self.groups = GroupFlow(collector, self.functions, self.compiled)
        self.compared: dict[str, tuple[DataType, ...]] = {}

    def follow(self, operator: Operator, collector: ProblemCollector | None = None) -> Schema | None:
        """Check one operator and return its columns; its problems go to `collector`, if there is one of its own."""
        if collector is not None:
            self.collector = collector
            self.groups = GroupFlow(collector, self.functions, self.compiled)
        self.schemas[operator.name] = schema = self._follow(operator)
        return schema

    def check_expression(self, operator: Operator, text: str, schema: Schema, collector: ProblemCollector) -> None:
        """Check one item of the list of an operator, or its condition, by itself; problems go to `collector`."""
        path = operator.path_parts(operator.kind)
        if operator.spec.filter is not None:
            collector.compile(check_condition, path, text, schema, self.functions)
        elif operator.spec.map is not None:
            collector.compile(check_select, path, text, schema, self.functions)
        elif operator.spec.flat_map is None and operator.kind in GROUP_KINDS:
            group = operator.spec.window or operator.spec.aggregate or operator.spec.over
            if group is not None and group.select is not None:
                collector.compile(check_aggregate, path, text, group.by, schema, self.functions)

    def _follow(self, operator: Operator) -> Schema | None:
        inputs = [self.schemas.get(name) for name in operator.inputs]
        first = inputs[0]
        spec = operator.spec
        if spec.process is not None:
            return self._process(operator, spec.process, first)
        if spec.merge is not None:
            return self._merge(operator, inputs)
        return None if first is None else self._follow_known(operator, first)

    def _follow_known(self, operator: Operator, first: Schema) -> Schema | None:
        spec = operator.spec
        if spec.join is not None:
            return self._join(operator, spec.join, first, self.schemas.get(spec.join.with_))
        if spec.join_table is not None:
            return self._join_table(operator, spec.join_table, first)
        if spec.partition_by is not None:
            return self._partition_by(operator, spec.partition_by, first)
        if operator.kind in GROUP_KINDS:
            return self.groups.follow(operator, first)
        return self._row_by_row(operator, first)

    def _row_by_row(self, operator: Operator, schema: Schema) -> Schema | None:
        spec = operator.spec
        if spec.filter is not None:
            self._compile(operator, check_condition, spec.filter, schema)
            return schema
        if spec.map is not None:
            select = self._compile(operator, check_select, spec.map, schema)
            return None if select is None else select.schema
        if spec.flat_map is not None:
            flat_map = self._compile(operator, check_flat_map, spec.flat_map, schema)
            return None if flat_map is None else flat_map.schema
        if spec.send_to_table is not None:
            self._send_to_table(operator, spec.send_to_table, schema)
        return schema

    def _compile(self, operator: Operator, check: Callable[..., C], text: str, schema: Schema) -> C | None:
        compiled = self.collector.compile(check, operator.path_parts(operator.kind), text, schema, self.functions)
        if compiled is not None:
            self.compiled[operator.name] = compiled
        return compiled

    def _process(self, operator: Operator, process: Process, schema: Schema | None) -> Schema | None:
        if process.state is not None and schema is not None:
            require_columns(self.collector, operator, process.state.columns, schema, "process", "state", "key")
        return self.collector.parse(operator.path("process", "schema"), process.output_schema)

    def _merge(self, operator: Operator, schemas: Sequence[Schema | None]) -> Schema | None:
        first = schemas[0]
        for position, schema in enumerate(schemas):
            if first is None or schema is None:
                return None
            differs = difference(schema, first)
            if differs is not None:
                self.collector.add(
                    operator.input_path(position),
                    ProblemCode.TYPE_MISMATCH,
                    f"`{operator.inputs[position]}` can't be merged with `{operator.inputs[0]}`: {differs}; make them "
                    "alike with a map",
                )
        return first

    def _partition_by(self, operator: Operator, partition_by: PartitionBy, schema: Schema) -> Schema:
        require_columns(self.collector, operator, partition_by.columns, schema, "partitionBy", "key")
        return schema

    def _join(self, operator: Operator, join: Join, left: Schema, right: Schema | None) -> Schema | None:
        of_left, of_right = join.columns
        known = require_columns(self.collector, operator, of_left, left, "join", "on")
        if right is None or not (
            require_columns(self.collector, operator, of_right, right, "join", "on", side=1) and known
        ):
            return None
        for one, other in zip(of_left, of_right, strict=True):
            left_key, right_key = left.get(one), right.get(other)
            if left_key is not None and right_key is not None and not keys_match(left_key.type, right_key.type):
                self.collector.add(
                    operator.path("join", "on"),
                    ProblemCode.TYPE_MISMATCH,
                    f"`{one}` of `{operator.inputs[0]}` is {left_key.type} and `{other}` of "
                    f"`{operator.inputs[1]}` is {right_key.type}: rows with such keys never meet; cast one in a map",
                )
            elif left_key is not None and right_key is not None and not _holds_key(join.type, left_key, right_key):
                self.collector.add(
                    operator.path("join", "on"),
                    ProblemCode.TYPE_MISMATCH,
                    f"a right row without a partner has its key in `{one}`, which is {left_key.type} and does not hold "
                    f"every {right_key.type}: cast `{one}` to {right_key.type} in a map before `{operator.name}`",
                )
        if operator.inputs[0] == operator.inputs[1]:  # a problem of its own
            return None
        joined = self._both(operator, left, without(right, of_right), operator.inputs[1], "join")
        if joined is not None and join.condition is not None:
            functions = replace(self.functions, instead=_IN_JOINS)
            path = operator.path_parts("join", "condition")
            condition = self.collector.compile(check_condition, path, join.condition, joined, functions)
            if condition is not None:
                self.compiled[operator.name] = condition
        return joined

    def _join_table(self, operator: Operator, join: JoinTable, schema: Schema) -> Schema | None:
        known = require_columns(self.collector, operator, join.columns, schema, "joinTable", "on")
        table = self.tables.get(join.table)
        if table is None or table.stored is None or not known:
            return None
        columns = [column for column in map(schema.get, join.columns) if column is not None]
        parts = len(table.key) or table.extracted
        if parts and parts != len(columns):
            self.collector.add(
                operator.path("joinTable", "on"),
                ProblemCode.TYPE_MISMATCH,
                f"`on` has {len(columns)} column{'s' * (len(columns) > 1)}, and the key of table `{join.table}` has "
                f"{int(parts)}: name a column for each part of the key, in their order",
            )
            return None
        self._check_table_key(operator, join, columns, table)
        return self._both(operator, schema, without(table.stored, table.key_columns or ()), join.table, "joinTable")

    def _check_table_key(
        self, operator: Operator, join: JoinTable, columns: Sequence[Column], table: TableRows
    ) -> None:
        """Compare types; the keys that an extractor makes are of the type that the first join compares them with."""
        types = table.key_types or self.compared.setdefault(join.table, tuple(column.type for column in columns))
        for column, key_type in zip(columns, types, strict=True):
            if not keys_match(column.type, key_type):
                key = "the key" if len(types) == 1 else f"part {types.index(key_type) + 1} of the key"
                self.collector.add(
                    operator.path("joinTable", "on"),
                    ProblemCode.TYPE_MISMATCH,
                    f"`{column.name}` of `{operator.inputs[0]}` is {column.type} and {key} of table `{join.table}` is "
                    f"{key_type}{'' if table.key else ' in another join'}: such keys never meet; cast one in a map",
                )

    def _both(self, operator: Operator, left: Schema, right: Sequence[Column], other: str, kind: str) -> Schema | None:
        columns = (*left.columns, *right)
        twice = repeated(columns)
        if twice is None:
            return Schema(columns)
        self.collector.add(
            operator.path(kind),
            ProblemCode.TYPE_MISMATCH,
            f"`{operator.inputs[0]}` and `{other}` both have a column `{twice.name}`; rename one with a map",
        )
        return None

    def _send_to_table(self, operator: Operator, name: str, schema: Schema) -> None:
        table = self.tables.get(name)
        if table is None or table.filling is None or table.extracted:
            return
        lacks = lacking(schema, table.filling)
        if lacks is not None:
            self.collector.add(
                operator.path("sendToTable"),
                ProblemCode.TYPE_MISMATCH,
                f"the rows of `{operator.inputs[0]}` do not fit to the schema of table `{name}`: {lacks}",
            )


def _holds_key(type_: JoinType, left: Column, right: Column) -> bool:
    """Return whether the left key column holds the key of each row that it may have."""
    if type_ in (JoinType.INNER, JoinType.LEFT) or left.type == right.type:
        return True
    return common_number(left.type, right.type) == left.type
