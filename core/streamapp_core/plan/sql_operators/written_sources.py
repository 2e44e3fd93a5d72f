"""Streams, operators and tables that a query reads: their columns, and which of these are the event time."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from streamapp_core.expressions import ExpressionError
from streamapp_core.expressions.parsing import output_name, parse_items, struct_of_star
from streamapp_core.graph.graph import Graph
from streamapp_core.near_names import did_you_mean
from streamapp_core.plan.row_schemas import RowFollower
from streamapp_core.plan.sql_operators.relations import Path, Relation, relation_of
from streamapp_core.plan.table_rows import TableRows
from streamapp_core.schema import Schema
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import EventTime

_KEEPS_ROWS = frozenset(
    {
        OperatorKind.FILTER,
        OperatorKind.PARTITION_BY,
        OperatorKind.BROADCAST,
        OperatorKind.DEDUP,
        OperatorKind.TOP_N,
        OperatorKind.SORTED,
    }
)
Origins = dict[str, Path]


class WrittenSources:
    """The streams, operators and tables that queries may read, as far as their columns are known."""

    def __init__(self, graph: Graph, follower: RowFollower, broadcast: frozenset[str]) -> None:
        """Read a graph of the operators as they are written; `broadcast` is what every task has."""
        self._graph = graph
        self._follower = follower
        self._made: dict[str, Relation] = {}
        self.broadcast = broadcast

    def remember(self, name: str, relation: Relation) -> None:
        """Keep what an operator in SQL emits."""
        self._made[name] = relation

    def is_table(self, name: str) -> bool:
        """Return whether a name is that of a table."""
        return name in self._graph.spec.tables

    def table(self, name: str) -> TableRows | None:
        """Return the rows of a table."""
        return self._follower.tables.get(name)

    def relation(self, name: str) -> Relation | None:
        """Return the rows of a stream or operator; None if it is none whose columns are known."""
        if name in self._made:
            return self._made[name]
        schema = self._follower.schemas.get(name)
        if schema is None:
            return None
        timing, origins = self._times(name, schema)
        return replace(relation_of(name, schema, timing, origins), key=self._key(name))

    def unknown(self, name: str) -> str:
        """Return the message that there is no such stream or operator."""
        known = [*self._graph.spec.streams, *self._graph.operators, *self._graph.spec.tables]
        return f"`{name}` is neither a stream nor an operator nor a table{did_you_mean(name, known)}"

    def _key(self, name: str) -> tuple[str, ...] | None:
        """Return the key by which rows of a stream of changes replace each other, also behind a filter."""
        stream = self._graph.spec.streams.get(name)
        if stream is not None:
            return stream.key_columns if stream.changes.is_read and stream.key is not None else None
        operator = self._graph.operators.get(name)
        filters = operator is not None and operator.kind is OperatorKind.FILTER
        return self._key(operator.inputs[0]) if operator is not None and filters else None

    def _times(self, name: str, schema: Schema) -> tuple[EventTime | None, Origins]:
        """Return the event time of the stream that rows come from, and where their columns stand in it."""
        stream = self._graph.spec.streams.get(name)
        if stream is not None:
            return stream.event_time, {column.name.lower(): (column.name.lower(),) for column in schema.columns}
        operator = self._graph.operators.get(name)
        before = None if operator is None or not operator.inputs else self._follower.schemas.get(operator.inputs[0])
        if operator is None or before is None:
            return None, {}
        if operator.inputs[0] in self._made:
            return None, {}
        if operator.kind in _KEEPS_ROWS or operator.kind in (OperatorKind.JOIN_TABLE, OperatorKind.OVER):
            return self._times(operator.inputs[0], before)
        listed = operator.spec.map or operator.spec.flat_map
        if listed is None:
            return None, {}
        timing, origins = self._times(operator.inputs[0], before)
        return timing, _mapped(listed, before, origins)


def _mapped(text: str, before: Schema, origins: Mapping[str, Path]) -> Origins:
    """Return where the columns of a select list stand in a stream, given those that it reads."""
    try:
        items = parse_items(text)
    except ExpressionError:
        return {}
    found: Origins = {}
    for item in items:
        name, node = output_name(item)
        struct = struct_of_star(item)
        if isinstance(item, exp.Star) and not any(item.args.values()):
            found |= origins
        elif isinstance(struct, exp.Column):
            path = _origin(struct, origins)
            column = before.find(".".join(part.name for part in struct.parts))
            if path is not None and column is not None:
                found |= {one.name.lower(): (*path, one.name.lower()) for one in column.type.fields}
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and name is not None:
            path = _origin(node, origins)
            if path is not None:
                found[name.lower()] = path
    return found


def _origin(column: exp.Column, origins: Mapping[str, Path]) -> Path | None:
    first, *fields = (part.name.lower() for part in column.parts)
    origin = origins.get(first)
    return None if origin is None else (*origin, *fields)
