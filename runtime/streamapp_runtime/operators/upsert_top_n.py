"""The first rows of groups of rows that replace each other: where a row changes or goes, others move up or down.

All rows are kept, since each may become one of the first. A batch reads the first of a group before and after its
changes, so a change costs as much as n rows and one search, however many there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from streamapp_core.expressions import Ordering
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.ordered_groups import OrderedGroups, OrderedRow
from streamapp_runtime.operators.row_ranking import PLACE, with_place
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, latest_event_time
from streamapp_runtime.rows.latest_changes import latest_changes
from streamapp_runtime.rows.row_codec import digest, to_arrow_table
from streamapp_runtime.rows.stored_rows import StoredRows
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store


class _Result(NamedTuple):
    """A result: by the digest of its group, and its place there; or by the digest of its row's key, and 0."""

    digest: bytes
    place: int


class UpsertTopN(BaseOperator):
    """Rows with a place among the first n of their group, as all rows are now; no row is late.

    A result is told apart by its group and place, or by the row's own key, and deleted where there is none any more. Of
    rows that are equal in the order that with the least key is the first. What a batch changes has its latest event
    time.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        ordering: Ordering,
        schema: pa.Schema,
        key: Sequence[str],
        *,
        n: int,
        place: str | None,
        deletes: bool,
    ) -> None:
        """Take the columns of the rows, and those of the key by which rows replace each other.

        Without `place`, a column to add, several rows of a group are told apart by that key. Results that `deletes`
        says may be deleted have the column that marks it.
        """
        self._groups = OrderedGroups(engine, store, ordering, schema, key)
        self._key = list(key)
        self._n = n
        self._place = place
        self._deletes = deletes
        self._by_key = place is None and n > 1
        self._ranked = pa.schema([*schema, EVENT_TIME_FIELD, pa.field(PLACE, pa.int64())])

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        added, gone = latest_changes(rows, self._key)
        new = self._groups.place(added)
        changed = [*map(digest, gone), *new]
        old = {key: row for key in changed if (row := self._groups.find(key)) is not None}
        groups = {row.group: row for row in (*old.values(), *new.values())}
        before = self._first_rows(groups)
        self._groups.replace(old, new)
        after = self._first_rows(groups)
        time = latest_event_time(rows)
        deleted = []
        for one, key in before.items():
            if one not in after:
                row = (old.get(key) or self._groups.get(key)) if self._by_key else groups[one.digest]
                deleted.append([*self._gone(row), time, one.place])
        known = frozenset(changed)
        emitted = [
            [*(new.get(key) or self._groups.get(key)).values, time, one.place]
            for one, key in after.items()
            if before.get(one) != key or key in known
        ]
        return self._built(deleted, emitted)

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        return self._groups.stored_rows()

    def _first_rows(self, groups: Iterable[bytes]) -> dict[_Result, bytes]:
        """Return the keys of the first rows of groups, by what tells their results apart."""
        return {
            _Result(key if self._by_key else group, 0 if self._by_key else place): key
            for group in groups
            for place, key in enumerate(self._groups.first(group, self._n), 1)
        }

    def _gone(self, row: OrderedRow) -> Sequence[Any]:
        """Return the values of a deletion: of a place only the group's columns, which it had whoever was there."""
        if self._by_key:
            return row.values
        return [value if place in self._groups.by else None for place, value in enumerate(row.values)]

    def _built(self, deleted: list[list[Any]], emitted: list[list[Any]]) -> pa.Table | None:
        if not deleted and not emitted:
            return None
        rows = with_place(to_arrow_table([*deleted, *emitted], self._ranked), self._place)
        assert self._deletes or not deleted
        flags = [*([True] * len(deleted)), *([False] * len(emitted))]
        return with_deleted_column(rows, flags) if self._deletes else rows
