"""Joins of rows with the version that was valid at their time (docs/windows-and-joins.md)."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions.typed_sql import quoted
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.expiring_states import ExpiringStates
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.joined_rows import LEFT, RIGHT, JoinedRows, join_keys, stored_sides
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.pending_rows import PendingRows, SortedRows
from streamapp_runtime.operators.sorted_run import RowIndices
from streamapp_runtime.operators.timely_rows import TimelyRows
from streamapp_runtime.operators.window_bounds import EMITTED_AT_ONCE
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, event_times
from streamapp_runtime.rows.row_codec import encode_key, to_arrow_table, to_plain_rows
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.prefixed_store import PrefixedStore
from streamapp_runtime.state.store import Store

_WAITING, _VERSIONS = (b"l", b"r"), b"v"


class AsOfJoin(BaseOperator):
    """Pairs each left row with the last right one of its key that is not later, once the watermark has passed it.

    Of right rows of one time that with the greatest columns counts, from left to right. The store has the rows of both
    sides that wait, and the last version of each key that the watermark has passed. A row older than the watermark is
    late, one without event time has no place in the order: both are dropped and counted.
    """

    def __init__(
        self,
        engine: SqlEngine,
        store: Store,
        *,
        keys: tuple[Sequence[str], Sequence[str]],
        schemas: tuple[pa.Schema, pa.Schema],
        keeps_unmatched: bool,
        within: int | None,
        limit: int | None = None,
    ) -> None:
        """Take the columns to join on, and all columns, of the left and the right side.

        A version counts for `within` milliseconds (None: until the next one). About `limit` rows are emitted at once.
        """
        self._engine = engine
        self._keys = keys
        self._waiting = tuple(PendingRows(PrefixedStore(store, prefix)) for prefix in _WAITING)
        versions = PrefixedStore(store, _VERSIONS)
        self._within = within
        self._expiring = None if within is None else ExpiringStates(versions, within)
        self._states = self._expiring or GroupStates(versions)
        self._joined = JoinedRows(keys, schemas)
        self._keeps_unmatched = keeps_unmatched
        self._schema = schemas[RIGHT].append(EVENT_TIME_FIELD)
        order = ", ".join(map(quoted, [EVENT_TIME_COLUMN, *schemas[RIGHT].names]))
        self._order_sql = f"SELECT * FROM rows ORDER BY {order}"
        self._timely = TimelyRows()
        self._limit = EMITTED_AT_ONCE if limit is None else limit
        self._unfinished = False
        self.max_output_delay = 0
        """The most by which an emitted row may be older than the watermark."""

    def process_left(self, rows: pa.Table) -> pa.Table | None:
        """Keep a batch of the left stream until the watermark has passed it."""
        self._wait(rows, LEFT)
        return None

    def process_right(self, rows: pa.Table) -> pa.Table | None:
        """Keep a batch of versions until the watermark has passed them."""
        self._wait(rows, RIGHT)
        return None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Emit the left rows before the watermark; forget the versions that are too old for those to come."""
        self._timely.advance(watermark)
        until = watermark if watermark == END_OF_TIME else watermark - 1
        emitted = self._release(until)
        if self._expiring is not None and not self._unfinished and watermark != END_OF_TIME:
            self._expiring.expire(self._oldest(watermark))
        return emitted

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        self._timely.advance(watermark)
        waits = self._waiting[LEFT].earliest
        if self._expiring is not None:
            self._expiring.resume(self._oldest(watermark if waits is None else min(waits, watermark)))

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return self._unfinished

    def flush(self) -> None:
        """See `Operator.flush`."""
        for waiting in self._waiting:
            waiting.flush()
        self._states.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return self._timely.counters()

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        yield from stored_sides(self._keys, [waiting.stored() for waiting in self._waiting])
        for versions in in_batches(row[:-1] for _, row in self._states.stored()):
            rows = to_arrow_table(versions, self._schema)
            yield StoredRows(kind="last versions", key=tuple(self._keys[RIGHT]), rows=rows)

    def _oldest(self, time: int) -> int:
        """Return the earliest time of a version that counts for rows of a time."""
        return time - (self._within or 0)

    def _wait(self, rows: pa.Table, side: int) -> None:
        usable = self._timely.filter(rows)
        keys = join_keys(usable, self._keys[side])
        if keys.null_count and (side == RIGHT or not self._keeps_unmatched):
            usable = usable.filter(keys.is_valid())
        if len(usable):
            self._waiting[side].add(usable)

    def _release(self, until: int) -> pa.Table | None:
        """Emit the first left rows up to a time; before them, take the versions that are earlier than all of them."""
        left, right = self._waiting
        first = left.earliest
        earlier = right.take(until if first is None else min(first, until), self._limit)
        self._unfinished = earlier is not None and len(earlier) == self._limit
        if self._unfinished or first is None:
            # Versions of one time are ordered together.
            rest = None if earlier is None else right.take(int(earlier.times[-1]), sys.maxsize)
            self._join(None, _all_rows(earlier, rest))
            return None
        taken = left.take(until, self._limit)
        self._unfinished = taken is not None and len(taken) == self._limit
        later = right.take(int(taken.times[-1]) if taken is not None and self._unfinished else until, sys.maxsize)
        return self._join(None if taken is None else taken.rows, _all_rows(earlier, later))

    def _join(self, rows: pa.Table | None, added: pa.Table | None) -> pa.Table | None:
        """Return left rows with their versions; keep the last version of each key."""
        if rows is None and added is None:
            return None
        new = self._schema.empty_table() if added is None else self._engine.query(self._order_sql, rows=added)
        new = new.select(self._schema.names).cast(self._schema)
        of_rows = [] if rows is None else self._encoded(rows, LEFT)
        of_new = self._encoded(new, RIGHT)
        numbers = {key: number for number, key in enumerate(dict.fromkeys([*of_rows, *of_new]))}
        known = self._states.get_all(numbers)
        places = [number for number, state in enumerate(known) if state is not None]
        before = to_arrow_table([state[:-1] for state in known if state is not None], self._schema)
        versions = pa.concat_tables([before, new])
        of_version = np.array([*places, *(numbers[key] for key in of_new)], np.int64)
        order = np.argsort(of_version, kind="stable")
        emitted = None
        if rows is not None:
            emitted = self._paired(rows, np.array([numbers[key] for key in of_rows]), versions, of_version, order)
        self._keep(new, of_new)
        return emitted

    def _paired(
        self, rows: pa.Table, of_row: RowIndices, versions: pa.Table, of_version: RowIndices, order: RowIndices
    ) -> pa.Table | None:
        """Pair rows with the last version of their key up to their time; `order` sorts versions by key, then time."""
        times, stamps = event_times(rows)[0], event_times(versions)[0][order]
        every = np.unique(np.concatenate([times, stamps]))
        ranks = of_version[order] * len(every) + np.searchsorted(every, stamps)
        found = np.searchsorted(ranks, of_row * len(every) + np.searchsorted(every, times), "right") - 1
        valid = found >= 0
        valid[valid] = of_version[order][found[valid]] == of_row[valid]
        valid &= join_keys(rows, self._keys[LEFT]).is_valid().to_numpy()
        if self._within is not None:
            valid[valid] = stamps[found[valid]] >= times[valid] - self._within
        matched = versions.take(pa.array(order[found[valid]]))
        parts = [(np.flatnonzero(valid), self._joined.pair(rows.filter(pa.array(valid)), matched))]
        if self._keeps_unmatched:
            parts.append((np.flatnonzero(~valid), self._joined.left_alone(rows.filter(pa.array(~valid)))))
        joined = pa.concat_tables(part for _, part in parts)
        in_order = np.argsort(np.concatenate([places for places, _ in parts]))
        return joined.take(pa.array(in_order)) if len(joined) else None

    def _encoded(self, rows: pa.Table, side: int) -> list[bytes]:
        return [encode_key(values) for values in to_plain_rows(rows.select(list(self._keys[side])).columns)]

    def _keep(self, new: pa.Table, of_new: Sequence[bytes]) -> None:
        """Keep the last of the new versions of each key, and behind it its time."""
        last = {key: place for place, key in enumerate(of_new)}
        if not last:
            return
        rows: list[tuple[Any, ...]] = to_plain_rows(
            new.take(pa.array(list(last.values()))).columns, range(len(self._schema))
        )
        self._states.put_all(list(last), [[*row, row[-1]] for row in rows])


def _all_rows(*parts: SortedRows | None) -> pa.Table | None:
    found = [part.rows for part in parts if part is not None]
    return pa.concat_tables(found) if found else None
