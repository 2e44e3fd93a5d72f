"""Fills a table of the task with rows from the graph."""

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.tables.lookup_table import LookupTable


class SendToTable(BaseOperator):
    """Replaces the row of each key by the new one; joins see it from the next batch on."""

    def __init__(self, table: LookupTable) -> None:
        self._table = table
        self._not_used: Counter[str] = Counter()

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        self._not_used += Counter(self._table.fill(rows))
        return None

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return self._not_used
