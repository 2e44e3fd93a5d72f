"""A chain of row operators as one query over the table `rows`."""

from collections.abc import Sequence

from streamapp_core.expressions import Condition, FlatMap, Select
from streamapp_core.plan.model import PlannedOperator
from streamapp_core.schema import EVENT_TIME_COLUMN


def row_sql(chain: Sequence[PlannedOperator]) -> str:
    """Nest the chain's queries, the first one innermost; the hidden event time is carried through all of them."""
    sql = "rows"
    for operator in chain:
        source = sql if sql == "rows" else f"({sql})"
        compiled = operator.compiled
        if isinstance(compiled, Condition):
            sql = f"SELECT * FROM {source} WHERE {compiled.sql}"
        else:
            assert isinstance(compiled, Select | FlatMap)
            columns = ", ".join(f'{column.sql} AS "{column.name}"' for column in compiled.columns)
            sql = f'SELECT {columns}, "{EVENT_TIME_COLUMN}" FROM {source}'
    return sql
