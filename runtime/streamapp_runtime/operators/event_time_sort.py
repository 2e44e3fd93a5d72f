"""Rows in the order of their event times, once no earlier one is expected (docs/windows-and-joins.md)."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.pending_rows import PendingRows
from streamapp_runtime.operators.timely_rows import TimelyRows
from streamapp_runtime.operators.window_bounds import EMITTED_AT_ONCE
from streamapp_runtime.rows.stored_rows import StoredRows
from streamapp_runtime.state.store import Store


class EventTimeSort(BaseOperator):
    """Keeps rows until the watermark has passed them, and emits them by event time; of equal times as they came.

    A row older than the watermark is late, one without event time has no place in the order: both are dropped and
    counted.
    """

    def __init__(self, store: Store, limit: int | None = None) -> None:
        """Emit at most `limit` rows at once."""
        self._pending = PendingRows(store)
        self._timely = TimelyRows()
        self._limit = EMITTED_AT_ONCE if limit is None else limit
        self._unfinished = False

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        usable = self._timely.filter(rows)
        if len(usable):
            self._pending.add(usable)
        return None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Emit the rows before the watermark."""
        self._timely.advance(watermark)
        until = watermark if watermark == END_OF_TIME else watermark - 1
        taken = self._pending.take(until, self._limit)
        self._unfinished = taken is not None and len(taken) == self._limit
        return None if taken is None else taken.rows

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        return (StoredRows(kind="rows that wait", key=(), rows=rows) for rows in self._pending.stored())

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        self._timely.advance(watermark)

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return self._unfinished

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._pending.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return self._timely.counters()
