"""Chains of neighbouring row operators, each one query: a query costs about a millisecond whatever its size."""

from collections import Counter
from collections.abc import Mapping, Sequence

from streamapp_core.expressions import Condition, Select, deletions_sql, filter_sql, lists_sql, nested, table
from streamapp_core.plan.plan import PlannedOperator
from streamapp_core.plan.stream_types.upsert_deletions import filter_deletes
from streamapp_core.spec.operators import OperatorKind
from streamapp_runtime.rows.hidden_columns import hidden_fields
from streamapp_runtime.rows.tombstones import DELETED_COLUMN

_CONTINUED = frozenset({OperatorKind.FILTER, OperatorKind.MAP})
ROW_KINDS = _CONTINUED | {OperatorKind.FLAT_MAP}


def row_operator_chains(operators: Mapping[str, PlannedOperator]) -> list[tuple[PlannedOperator, ...]]:
    """Group operators, in their order: a row operator joins the chain it reads from if it is its only reader.

    A chain is known by its last operator's name and reads what its first reads; all others are alone. A flat map ends
    its chain: the rows that it makes come in several batches.
    """
    readers = Counter(name for operator in operators.values() for name in operator.inputs)
    grouped: dict[str, list[PlannedOperator]] = {}
    for operator in operators.values():
        source = operator.inputs[0]
        previous = grouped.get(source)
        if operator.kind in ROW_KINDS and previous and previous[-1].kind in _CONTINUED and readers[source] == 1:
            grouped[operator.name] = [*grouped.pop(source), operator]
        else:
            grouped[operator.name] = [operator]
    return [tuple(chain) for chain in grouped.values()]


def chain_sql(chain: Sequence[PlannedOperator]) -> str:
    """Return one query that nests those of a chain, the first innermost; it carries the hidden columns through.

    That of a flat map leaves the lists of its generator as they are.
    """
    query = ""
    source = table("rows")
    for operator in chain:
        (rows,) = operator.input_types
        if isinstance(operator.compiled, Select):
            query = lists_sql(operator.compiled.columns, source, [field.name for field in hidden_fields(rows)])
        else:
            assert isinstance(operator.compiled, Condition)
            if filter_deletes(operator.compiled, rows.changes):
                query = deletions_sql(operator.compiled, source, DELETED_COLUMN, marked=rows.deletes)
            else:
                query = filter_sql(operator.compiled, source)
        source = nested(query)
    return query
