"""Columns of a stream that are read: the others need not be decoded."""

import sqlglot
from sqlglot import exp

from streamapp_core.expressions.aggregate_select import Aggregation
from streamapp_core.expressions.select import Condition, Select
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.row_schemas import Compiled


def unread_columns(plan: Plan, stream: str) -> frozenset[str]:
    """Return the columns of an input that no operator, table, key or event time uses.

    An operator without an expression uses all columns, as do tables; a filter, those that its readers use as well.
    """
    planned = plan.streams[stream]
    if planned.schema is None or any(stream in table.spec.side_inputs for table in plan.tables.values()):
        return frozenset()
    read = _columns_read(plan, stream)
    if read is None:
        return frozenset()
    event_time = planned.spec.event_time if planned.spec is not None else None
    read |= {name.lower() for name in (planned.key, event_time and event_time.column) if name}
    return frozenset(name for name in planned.schema.names if name.lower() not in read)


def _columns_read(plan: Plan, name: str) -> frozenset[str] | None:
    """Return the columns of a stream or operator that its readers use, in lower case; None if that is all of them."""
    read: frozenset[str] = frozenset()
    for operator in plan.operators.values():
        if name not in operator.inputs:
            continue
        behind = _columns_read(plan, operator.name) if isinstance(operator.compiled, Condition) else frozenset[str]()
        if operator.compiled is None or behind is None:
            return None
        read |= behind | columns_used(operator.compiled)
    return read


def columns_used(compiled: Compiled) -> frozenset[str]:
    """Return the columns that an expression uses, in lower case."""
    match compiled:
        case Condition():
            texts = [compiled.sql]
        case Select():
            texts = [column.sql for column in compiled.columns]
        case Aggregation():
            texts = [by.sql for by in compiled.by_columns] + [partial.sql for partial in compiled.partials]
    parsed = (sqlglot.parse_one(text, read="duckdb") for text in texts)
    return frozenset(column.name.lower() for text in parsed for column in text.find_all(exp.Column))
