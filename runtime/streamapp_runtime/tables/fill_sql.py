"""How rows that fill a table become its keys and columns."""

from dataclasses import replace

from streamapp_core.expressions import select_sql, table
from streamapp_core.plan.plan import PlannedTable


def fill_sql(planned: PlannedTable) -> str:
    """Write the query over `rows` that gives the table's key, then its columns in the order of its schema."""
    assert planned.key is not None
    key = replace(planned.key.columns[0], name="__key")
    if planned.value is None:
        return select_sql([key], table("rows"), planned.schema.names)
    return select_sql([key, *planned.value.columns], table("rows"))
