"""Rows that are in every task, and joins that find their partner in whichever task they are."""

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.spec.operators import OperatorKind


def broadcast_names(graph: Graph) -> frozenset[str]:
    """Return the streams and operators whose rows are in every task, and the tables that only these fill.

    Every processor has all of such a table.
    """
    found = {name for name, stream in graph.spec.streams.items() if stream.broadcast}
    found |= {name for name, table in graph.spec.tables.items() if found.issuperset(table.side_inputs or [""])}
    filled = {name: {operator.name for operator in graph.fillers[name]} for name in graph.fillers}
    before = -1
    while len(found) > before:  # a table that operators fill is known after them, and perhaps after its readers
        before = len(found)
        for name, operator in graph.operators.items():
            if operator.kind is OperatorKind.BROADCAST or _stays_everywhere(operator, found):
                found.add(name)
        found |= {name for name, fillers in filled.items() if fillers <= found}
    return frozenset(found)


def meets_everywhere(operator: Operator, broadcast: frozenset[str]) -> bool:
    """Return whether a join has one of its sides in every task: rows of the other one meet it wherever they are."""
    if operator.spec.join_table is not None:
        return operator.spec.join_table.table in broadcast
    return operator.spec.join is not None and not broadcast.isdisjoint(operator.inputs)


def _stays_everywhere(operator: Operator, everywhere: set[str]) -> bool:
    if operator.kind is OperatorKind.PARTITION_BY:
        return False
    join_table = operator.spec.join_table
    return everywhere.issuperset(operator.inputs) and (join_table is None or join_table.table in everywhere)
