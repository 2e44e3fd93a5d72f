"""The partitioning of rows, followed through the graph: the key of every stream and operator (docs/planner.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from streamapp_core.expressions import Select
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import KeyFormat, Partitioner


class Spread(Enum):
    """Partitionings without a key: `NONE` arbitrary, `BROADCAST` all rows in every task, `UNKNOWN` not known."""

    NONE = "none"
    BROADCAST = "broadcast"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Keyed:
    """Rows partitioned by the value of a column; every one of `columns` (lower case) has that value."""

    columns: frozenset[str]
    key_format: KeyFormat = KeyFormat.STRING
    partitioner: Partitioner = Partitioner.MURMUR2

    def holds(self, column: str) -> bool:
        """Return whether a column is the key."""
        return column.lower() in self.columns

    def with_columns(self, columns: frozenset[str]) -> "Partitioning":
        """Return the same key under other names; without names there is no key left."""
        return Keyed(columns, self.key_format, self.partitioner) if columns else Spread.NONE

    def __str__(self) -> str:
        return " = ".join(f"`{column}`" for column in sorted(self.columns))


Partitioning = Keyed | Spread


def broadcast_names(graph: Graph) -> frozenset[str]:
    """Find the streams and operators whose rows are in every task, and the tables that only these fill.

    Every processor has all of such a table.
    """
    found = {name for name, stream in graph.spec.streams.items() if stream.broadcast}
    found |= {name for name, table in graph.spec.tables.items() if found.issuperset(table.side_inputs or [""])}
    for name, operator in graph.operators.items():
        if operator.kind is OperatorKind.BROADCAST or _stays_everywhere(operator, found):
            found.add(name)
    filled = {name: [operator.name for operator in graph.fillers[name]] for name in graph.fillers}
    return frozenset(found.union(name for name, fillers in filled.items() if found.issuperset(fillers)))


def _stays_everywhere(operator: Operator, everywhere: set[str]) -> bool:
    """Return whether an operator has the same rows in every task, given the broadcast names before it."""
    if operator.kind is OperatorKind.PARTITION_BY:
        return False
    join_table = operator.spec.join_table
    return everywhere.issuperset(operator.inputs) and (join_table is None or join_table.table in everywhere)


def flow_keys(graph: Graph, rows: RowFlow, broadcast: frozenset[str]) -> Mapping[str, Partitioning]:
    """Return the partitioning of every stream and operator, given the `broadcast` names.

    `filter` and the intermediate streams of `partitionBy` are plain; `map` keeps a key under its new name; `merge`
    has the common key of all inputs; a join has that of its left side; groups keep it if they group by it.
    """
    flow: dict[str, Partitioning] = {}
    for name, stream in graph.spec.streams.items():
        flow[name] = Spread.NONE
        if stream.broadcast:
            flow[name] = Spread.BROADCAST
        elif stream.key is not None:
            flow[name] = Keyed(frozenset([stream.key.lower()]), stream.key_format, stream.partitioner)
    flow.update(dict.fromkeys(graph.opaque, Spread.UNKNOWN))
    for name, operator in graph.operators.items():
        if name in broadcast:
            flow[name] = Spread.BROADCAST
            continue
        inputs = [flow.get(input_, Spread.UNKNOWN) for input_ in operator.inputs]
        flow[name] = _partitioning(operator, inputs, rows, broadcast)
    return flow


def _partitioning(
    operator: Operator, inputs: Sequence[Partitioning], rows: RowFlow, broadcast: frozenset[str]
) -> Partitioning:
    spec, first = operator.spec, inputs[0]
    if spec.partition_by is not None:
        return Keyed(frozenset([spec.partition_by.key.lower()]))
    if spec.join is not None:
        return _joined(inputs, spec.join.columns.left)
    if spec.join_table is not None:
        return first if spec.join_table.table in broadcast else _joined(inputs, spec.join_table.on)
    if operator.kind is OperatorKind.MERGE:
        return _merged(inputs)
    if operator.kind is OperatorKind.PROCESS:
        return Spread.NONE
    return _narrowed(operator, first, rows) if isinstance(first, Keyed) else first


def _joined(inputs: Sequence[Partitioning], left: str) -> Partitioning:
    """Return the left key column, encoded as the sides are; that they have this key is checked at the join."""
    keyed = next((side for side in inputs if isinstance(side, Keyed)), None)
    columns = frozenset([left.lower()])
    return Keyed(columns) if keyed is None else keyed.with_columns(columns)


def _merged(inputs: Sequence[Partitioning]) -> Partitioning:
    if all(side is inputs[0] for side in inputs):
        return inputs[0]
    if Spread.UNKNOWN in inputs:
        return Spread.UNKNOWN
    keyed = [side for side in inputs if isinstance(side, Keyed)]
    encodings = {(side.key_format, side.partitioner) for side in keyed}
    if len(keyed) < len(inputs) or len(encodings) > 1:
        return Spread.NONE
    return keyed[0].with_columns(frozenset.intersection(*(side.columns for side in keyed)))


def _narrowed(operator: Operator, key: Keyed, rows: RowFlow) -> Partitioning:
    """Follow a key through one row operator: it stays where its column does."""
    spec = operator.spec
    if operator.kind in (OperatorKind.MAP, OperatorKind.FLAT_MAP):
        compiled = rows.compiled.get(operator.name)
        if not isinstance(compiled, Select):
            return Spread.UNKNOWN
        kept = (c.name.lower() for c in compiled.columns if c.source_column is not None and key.holds(c.source_column))
        return key.with_columns(frozenset(kept))
    group = spec.window or spec.aggregate
    if group is not None:
        return key.with_columns(key.columns.intersection(column.lower() for column in group.by))
    return key
