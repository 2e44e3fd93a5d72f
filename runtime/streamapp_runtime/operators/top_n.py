"""The first rows of each group so far: a batch emits the rows whose place has changed."""

import pyarrow as pa

from streamapp_core.expressions import Ordering
from streamapp_runtime.operators.group_states import CACHED_ROWS, GroupStates
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.row_ranking import RowRanking, with_place
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.row_codec import to_arrow_table
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store


class TopN(BaseOperator):
    """Rows with a place among the first n of their group; a later row with the same place replaces an earlier one.

    No row is late. What a batch changes has the latest event time of those of its rows that were the first in it.
    """

    def __init__(
        self, engine: SqlEngine, store: Store, ordering: Ordering, schema: pa.Schema, *, n: int, place: str | None
    ) -> None:
        """Take the columns of the rows, how many of a group are kept, and the column to add for their place."""
        self._ranking = RowRanking(engine, ordering, schema.append(EVENT_TIME_FIELD), n=n)
        self._states = GroupStates(store, CACHED_ROWS // n)
        self._place = place

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        first = self._ranking.first(rows)
        keys = list(dict.fromkeys(self._ranking.group_keys(first)))
        ranked = self._ranking.rank(first, self._states.get_all(keys))
        groups = {key: group for key, group in ranked.items() if group.changed}
        if not groups:
            return None
        self._states.put_all(list(groups), [group.rows for group in groups.values()])
        changed = to_arrow_table([row for group in groups.values() for row in group.changed], self._ranking.schema)
        return with_place(changed, self._place)

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()
