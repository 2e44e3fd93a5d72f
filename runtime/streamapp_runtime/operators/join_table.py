"""Stream-table joins: rows enriched by the row of a table as it is now."""

from collections.abc import Sequence

import pyarrow as pa

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.operators import TableJoinType
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.record_keys import joined_keys
from streamapp_runtime.tables.lookup_table import LookupTable


class JoinTable(BaseOperator):
    """Looks each row's key up; later changes of the table emit nothing."""

    def __init__(
        self, table: LookupTable, key: Sequence[str], columns: Sequence[str], join_type: TableJoinType
    ) -> None:
        """Take the stream's columns that are compared with the table's key, and the table's columns to add."""
        self._table = table
        self._key = key
        self._columns = list(columns)
        self._inner = join_type is TableJoinType.INNER

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        columns, found = self._table.lookup(joined_keys([rows.column(name) for name in self._key]))
        position = rows.schema.get_field_index(EVENT_TIME_COLUMN)
        for offset, name in enumerate(self._columns):
            rows = rows.add_column(position + offset, name, columns.column(name))
        if self._inner:
            rows = rows.filter(found)
        return rows if len(rows) else None
