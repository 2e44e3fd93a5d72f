"""How rows that fill a table become its keys and columns."""

from streamapp_core.plan.model import PlannedTable


def fill_sql(table: PlannedTable) -> str:
    """Write the query over `rows` that gives the table's key, then its columns in the order of its schema."""
    assert table.key is not None
    key = f'{table.key.columns[0].sql} AS "__key"'
    if table.value is None:
        columns = [f'"{name}"' for name in table.schema.names]
    else:
        columns = [f'{column.sql} AS "{column.name}"' for column in table.value.columns]
    return f"SELECT {', '.join([key, *columns])} FROM rows"
