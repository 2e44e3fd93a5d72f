"""Rows that replace each other with the aggregates of the last rows of their group: a change reaches those behind it.

All rows are kept. A batch reads the order of the groups in which rows change, and the rows whose results change with
those before them.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from streamapp_core.expressions import OverFrames
from streamapp_runtime.operators.frame_results import FrameResults, add_results
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.ordered_groups import OrderedGroups, OrderedRow
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, latest_event_time
from streamapp_runtime.rows.latest_changes import latest_changes
from streamapp_runtime.rows.row_codec import digest, to_arrow_table
from streamapp_runtime.rows.stored_rows import StoredRows
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store

_Groups = Mapping[bytes, Sequence[bytes]]


class UpsertOver(BaseOperator):
    """Each row with the aggregates of itself and those before it in its group, as all rows are now; no row is late.

    A result has the key of its row, and is deleted with it. Of rows that are equal in the order that with the least key
    comes first. What a batch changes has its latest event time.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        frames: OverFrames,
        schema: pa.Schema,
        key: Sequence[str],
        *,
        rows: int,
        deletes: bool,
    ) -> None:
        """Take the columns of the rows, those of the key by which rows replace each other, and how many a frame has.

        Results that `deletes` says may be deleted have the column that marks it.
        """
        self._groups = OrderedGroups(engine, store, frames.ordering, schema, key)
        self._results = FrameResults(engine, frames.aggregation)
        self._key = list(key)
        self._rows = rows
        self._deletes = deletes
        self._timed = schema.append(EVENT_TIME_FIELD)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        added, gone = latest_changes(rows, self._key)
        new = self._groups.place(added)
        left = {key: row for key in map(digest, gone) if (row := self._groups.find(key)) is not None}
        old = left | {key: row for key in new if (row := self._groups.find(key)) is not None}
        groups = {row.group for row in (*old.values(), *new.values())}
        before = {group: self._groups.first(group) for group in groups}
        self._groups.replace(old, new)
        after = {group: self._groups.first(group) for group in groups}
        changed = self._reached(old, before) | self._reached(new, after)
        time = latest_event_time(rows)
        emitted = self._emitted(changed, after, time)
        if not self._deletes:
            return emitted
        marked = [] if emitted is None else [with_deleted_column(emitted, [False] * len(emitted))]
        if left:
            marked.append(with_deleted_column(self._gone(list(left.values()), time), [True] * len(left)))
        return pa.concat_tables(marked) if marked else None

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        return self._groups.stored_rows()

    def _reached(self, rows: Mapping[bytes, OrderedRow], order: _Groups) -> frozenset[bytes]:
        """Return the keys of all rows that have one of these in their frame."""
        of_group: dict[bytes, set[bytes]] = {}
        for key, row in rows.items():
            of_group.setdefault(row.group, set()).add(key)
        return frozenset(
            reached
            for group, keys in of_group.items()
            for place, key in enumerate(order[group])
            if key in keys
            for reached in order[group][place : place + self._rows]
        )

    def _emitted(self, changed: frozenset[bytes], order: _Groups, time: int | None) -> pa.Table | None:
        """Return the results of rows whose frames have changed."""
        taken: list[bytes] = []
        first, end = [], []
        for keys in order.values():
            start, upto = len(taken), 0
            for place, key in enumerate(keys):
                if key in changed:
                    begin = max(place + 1 - self._rows, 0)
                    if begin > upto:
                        start, upto = len(taken), begin
                    taken += keys[upto : place + 1]
                    upto = place + 1
                    end.append(len(taken))
                    first.append(max(len(taken) - self._rows, start))
        if not end:
            return None
        known = to_arrow_table([[*self._groups.get(key).values, time] for key in taken], self._timed)
        ends = np.array(end)
        results = self._results.compute(known, np.array(first), ends)
        return add_results(known.take(pa.array(ends - 1)), results)

    def _gone(self, rows: Sequence[OrderedRow], time: int | None) -> pa.Table:
        """Return the rows that are gone; they have no results."""
        gone = to_arrow_table([[*row.values, time] for row in rows], self._timed)
        return add_results(gone, self._results.nothing(len(rows)))
