"""Fills a table of the task with rows from the graph."""

import pyarrow as pa

from streamapp_runtime.operators.protocol import TimelessOperator
from streamapp_runtime.tables.table import Table


class SendToTable(TimelessOperator):
    """Puts each row in the place of the one that had its key; joins see it from the next batch on."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        self._table.fill(rows)
        return None
