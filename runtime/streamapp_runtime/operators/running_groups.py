"""Groups whose results go on for ever: their state, and when a group is forgotten."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.batch_aggregation import Row
from streamapp_runtime.operators.expiring_states import ExpiringStates
from streamapp_runtime.operators.group_states import CACHED_ROWS, GroupStates
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.timely_rows import TimelyRows
from streamapp_runtime.rows.row_codec import FIRST_KEY
from streamapp_runtime.state.store import Store


class RunningGroups(BaseOperator, ABC):
    """Groups that are kept for ever, where no row is late, or until the watermark is `ttl` after their last row.

    With a `ttl`, rows that are older than the watermark by more than it, or have no event time, are dropped and
    counted. A group that is forgotten emits nothing; a later row of it starts it again.
    """

    def __init__(self, store: Store, ttl: int | None, cached: int = CACHED_ROWS) -> None:
        """Take the time to live in milliseconds, and about how many rows to keep in memory between commits."""
        self._timely = None if ttl is None else TimelyRows(ttl)
        self._expiring = None if ttl is None else ExpiringStates(store, ttl, cached, on_end=self._end)
        self._states: GroupStates = self._expiring or GroupStates(store, cached)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        usable = rows if self._timely is None else self._timely.filter(rows)
        return self._process(usable) if len(usable) else None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Forget the groups that end at this watermark."""
        if self._timely is not None and self._expiring is not None and watermark != END_OF_TIME:
            self._timely.advance(watermark)
            self._expiring.expire(self._timely.earliest)
        return None

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        if self._timely is not None and self._expiring is not None:
            self._timely.advance(watermark)
            self._expiring.resume(self._timely.earliest)

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {} if self._timely is None else self._timely.counters()

    def _stored(self) -> Iterator[tuple[bytes, Row]]:
        """Iterate over the encoded groups in the store and their states."""
        return self._states.stored(FIRST_KEY)

    def _end(self, row: Row) -> None:
        """Note that a group ends, which has this state."""

    @abstractmethod
    def _process(self, rows: pa.Table) -> pa.Table | None:
        """Process rows that are in time; the rows of states end in the last event time of their group with a `ttl`."""
