"""A chain of row operators as one query over the table `rows`."""

from collections.abc import Sequence

from streamapp_core.expressions import Condition, Select, filter_sql, nested, select_sql, table
from streamapp_core.plan.plan import PlannedOperator
from streamapp_core.schema import EVENT_TIME_COLUMN


def row_sql(chain: Sequence[PlannedOperator]) -> str:
    """Nest the chain's queries, the first one innermost; the hidden event time is carried through all of them."""
    query = ""
    source = table("rows")
    for operator in chain:
        if isinstance(operator.compiled, Condition):
            query = filter_sql(operator.compiled, source)
        else:
            assert isinstance(operator.compiled, Select)
            query = select_sql(operator.compiled.columns, source, (EVENT_TIME_COLUMN,))
        source = nested(query)
    return query
