"""The first rows of each group so far: a batch emits the rows whose place has changed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Ordering
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.batch_aggregation import Row
from streamapp_runtime.operators.group_states import CACHED_ROWS
from streamapp_runtime.operators.row_ranking import PLACE, RankedGroup, RowRanking, with_place
from streamapp_runtime.operators.running_groups import RunningGroups
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.row_codec import to_arrow_table
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store


class TopN(RunningGroups):
    """Rows with a place among the first n of their group; a later row with the same place replaces an earlier one.

    What a batch changes has the latest event time of those of its rows that were the first in it. With a `ttl`, a group
    may have been forgotten: its first rows, when it starts again, come with deletions of the places it has not filled.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        ordering: Ordering,
        schema: pa.Schema,
        *,
        n: int,
        place: str | None,
        ttl: int | None = None,
    ) -> None:
        """Take the columns of the rows, how many of a group are kept, and the column to add for their place."""
        super().__init__(store, ttl, CACHED_ROWS // n)
        self._ranking = RowRanking(engine, ordering, schema.append(EVENT_TIME_FIELD), n=n)
        self._n = n
        self._place = place
        self._ttl = ttl

    def _process(self, rows: pa.Table) -> pa.Table | None:
        first = self._ranking.first(rows)
        keys = list(dict.fromkeys(self._ranking.group_keys(first)))
        states = self._states.get_all(keys)
        if self._ttl is None:
            ranked = self._ranking.rank(first, states)
            changed = {key: group for key, group in ranked.items() if group.changed}
            self._states.put_all(list(changed), [group.rows for group in changed.values()])
            return self._emit(changed.values())
        known = {key: state for key, state in zip(keys, states, strict=True) if state is not None}
        ranked = self._ranking.rank(first, [state[:-1] for state in known.values()])
        self._put_with_times(ranked, known, self._ranking.latest(rows))
        emitted = self._emit(ranked.values())
        if self._n == 1:
            return emitted
        gone = [row for key, group in ranked.items() if key not in known for row in self._unfilled(group)]
        deletions = with_place(to_arrow_table(gone, self._ranking.schema), self._place)
        marked = [] if emitted is None else [with_deleted_column(emitted, [False] * len(emitted))]
        return pa.concat_tables([*marked, with_deleted_column(deletions, [True] * len(gone))])

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        for states in in_batches(state for _, state in self._stored()):
            ranked = [row for state in states for row in (state if self._ttl is None else state[:-1])]
            rows = with_place(to_arrow_table(ranked, self._ranking.schema), self._place)
            yield StoredRows(kind="first rows", key=tuple(self._ranking.by), rows=rows)

    def _put_with_times(
        self, ranked: Mapping[bytes, RankedGroup], known: Mapping[bytes, Row], latest: Mapping[bytes, int]
    ) -> None:
        """Keep the rows of groups, and behind them the latest event time of the group."""
        times = {key: max(time, known[key][-1] if key in known else time) for key, time in latest.items()}
        risen = [key for key, group in ranked.items() if group.changed or times[key] > known[key][-1]]
        self._states.put_all(risen, [[*ranked[key].rows, times[key]] for key in risen])

    def _emit(self, groups: Iterable[RankedGroup]) -> pa.Table | None:
        changed = [row for group in groups for row in group.changed]
        return with_place(to_arrow_table(changed, self._ranking.schema), self._place) if changed else None

    def _unfilled(self, group: RankedGroup) -> Iterator[list[Any]]:
        """Return a row for each place that a group has not filled: with its columns, all others null."""
        kept = [*self._ranking.by, EVENT_TIME_COLUMN]
        row = [
            value if name in kept else None
            for name, value in zip(self._ranking.schema.names, group.rows[0], strict=True)
        ]
        place = self._ranking.schema.get_field_index(PLACE)
        for number in range(len(group.rows) + 1, self._n + 1):
            yield [*row[:place], number, *row[place + 1 :]]
