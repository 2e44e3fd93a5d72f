"""Columns of a stream that are read: the others need not be decoded."""

from streamapp_core.expressions import Ordering, OverFrames
from streamapp_core.expressions.columns_used import columns_used
from streamapp_core.expressions.select import Condition
from streamapp_core.plan.plan import Plan


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
    read |= {column.lower() for column in planned.key}
    for path in event_time.columns if event_time is not None else ():
        read |= {path.lower(), path.partition(".")[0].lower()}
    return frozenset(name for name in planned.schema.names if name.lower() not in read)


def _columns_read(plan: Plan, name: str) -> frozenset[str] | None:
    """Return the columns of a stream or operator that its readers use, in lower case; None if that is all of them."""
    read: frozenset[str] = frozenset()
    for operator in plan.operators.values():
        if name not in operator.inputs:
            continue
        if operator.compiled is None or isinstance(operator.compiled, Ordering | OverFrames) or operator.kind.joins:
            return None
        behind = _columns_read(plan, operator.name) if isinstance(operator.compiled, Condition) else frozenset[str]()
        if behind is None:
            return None
        read |= behind | columns_used(operator.compiled)
    return read
