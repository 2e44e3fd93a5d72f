"""The first rows of tumbling and sliding event-time windows, emitted once at the windows' end."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.expressions import Ordering
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.group_states import CACHED_ROWS, GroupStates
from streamapp_runtime.operators.row_ranking import PLACE, RowRanking, with_place
from streamapp_runtime.operators.window_assignment import WINDOW_END, WindowAssignment
from streamapp_runtime.operators.window_bounds import BOUNDS, EMITTED_AT_ONCE, end_key
from streamapp_runtime.operators.windowed_groups import WindowedGroups
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.row_codec import to_arrow_table
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store


class WindowTopN(WindowedGroups):
    """The first rows of each group and window."""

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        ordering: Ordering,
        schema: pa.Schema,
        *,
        length: int,
        step: int,
        n: int,
        ties: bool,
        place: str | None,
        limit: int | None = None,
    ) -> None:
        """Take the columns of the rows, and the windows' length and the step between two of them in milliseconds.

        `n` rows are kept, with `ties` also those that are equal to the last of them. The groups of about `limit` rows
        are emitted at once.
        """
        super().__init__(GroupStates(store, CACHED_ROWS // n), WindowAssignment(length, step))
        columns = schema.append(EVENT_TIME_FIELD).append(WINDOW_END)
        self._ranking = RowRanking(engine, ordering, columns, n=n, ties=ties, also_by=[WINDOW_END.name])
        self._names = tuple(column.name for column in ordering.by_columns)
        self._place = place
        self._groups_at_once = max((EMITTED_AT_ONCE if limit is None else limit) // n, 1)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Add rows to their windows."""
        assigned = self._windows.assign(rows)
        if assigned is None:
            return None
        first = self._ranking.first(assigned)
        ends = dict(zip(self._ranking.group_keys(first), first.column(WINDOW_END.name).to_pylist(), strict=True))
        keys = {group: end_key(end) + group for group, end in ends.items()}
        ranked = self._ranking.rank(first, self._states.get_all(keys.values()))
        groups = {keys[key]: group.rows for key, group in ranked.items() if group.changed}
        self._states.put_all(list(groups), list(groups.values()))
        return None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Close the windows that end at or before the watermark: emit their first rows, delete their state."""
        rows = [row for state in self._close(watermark, self._groups_at_once) for row in state]
        return self._with_bounds(to_arrow_table(rows, self._ranking.schema))

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        for states in in_batches(state for _, state in self._states.stored()):
            rows = self._with_bounds(to_arrow_table([row for state in states for row in state], self._ranking.schema))
            yield StoredRows(kind="first rows of open windows", key=self._names, rows=rows)

    def _with_bounds(self, ranked: pa.Table) -> pa.Table | None:
        """Replace the end by both bounds, and the event time by the last moment of the window."""
        if not len(ranked):
            return None
        end = ranked.column(WINDOW_END.name)
        bounds = [pc.subtract(end, self._windows.length), end]
        rows = ranked.drop_columns([WINDOW_END.name, EVENT_TIME_COLUMN, PLACE])
        for field, bound in zip(BOUNDS, bounds, strict=True):
            rows = rows.append_column(field, bound.cast(pa.timestamp("ms", tz="UTC")).cast(field.type))
        rows = rows.append_column(EVENT_TIME_FIELD, pc.subtract(end, 1)).append_column(PLACE, ranked.column(PLACE))
        return with_place(rows, self._place)
