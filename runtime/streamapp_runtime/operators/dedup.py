"""One row of each key: the first that comes, or the one with the latest event time so far."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streamapp_core.spec.groups import Keep
from streamapp_runtime.operators.batch_aggregation import Row
from streamapp_runtime.operators.running_groups import RunningGroups
from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, event_times
from streamapp_runtime.rows.row_codec import encode_key, to_plain_rows
from streamapp_runtime.rows.rows_of_keys import row_of_each_key
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches, with_keys
from streamapp_runtime.state.store import Store


class Dedup(RunningGroups):
    """Emits the first row of each key, or each row that is not older than those of its key before it.

    Of rows with equal event times the last to come stays; one without event time is older than others.
    """

    def __init__(self, store: Store, by: pa.Schema, keep: Keep, ttl: int | None = None) -> None:
        """Take the columns of the key, and its time to live in milliseconds; None: for ever."""
        super().__init__(store, ttl)
        self._by = by
        self._keep = keep
        self._ttl = ttl

    def _process(self, rows: pa.Table) -> pa.Table | None:
        times, missing = event_times(rows)
        times = np.where(missing, BEGINNING, times)
        first = self._keep is Keep.FIRST
        order = np.arange(len(rows)) if first else np.argsort(times, kind="stable")
        positions = np.empty(len(rows), np.int64)
        positions[order] = np.arange(len(rows))
        different, found = row_of_each_key(rows, self._by.names, positions, "min" if first else "max")
        keys = list(map(encode_key, to_plain_rows(different.columns)))
        indices = order[found.to_numpy()]
        states = self._states.get_all(keys)
        if first:
            emitted = [state is None for state in states]
        else:
            emitted = [
                state is None or state[0] <= time for state, time in zip(states, times[indices].tolist(), strict=True)
            ]
        chosen = indices[emitted]
        changed = [key for key, new in zip(keys, emitted, strict=True) if new]
        if not first:
            self._states.put_all(changed, [[time] for time in times[chosen].tolist()])
        elif self._ttl is None:
            self._states.put_all(changed, [[]] * len(changed))
        else:
            _, latest = row_of_each_key(rows, self._by.names, times, "max")
            self._put_times(keys, states, latest.to_pylist())
        return rows.take(pa.array(np.sort(chosen))) if len(chosen) else None

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`: the keys, with the latest event time where it is kept."""
        for keys in in_batches((name, _known_time(state)) for name, state in self._stored()):
            rows = with_keys(keys, self._by, pa.schema([EVENT_TIME_FIELD]))
            yield StoredRows(kind="keys", key=tuple(self._by.names), rows=rows)

    def _put_times(self, keys: Sequence[bytes], states: Sequence[Row | None], latest: Sequence[int]) -> None:
        """Note the latest event time of each key where it has risen."""
        known = zip(keys, states, latest, strict=True)
        risen = {key: [time] for key, state, time in known if state is None or state[0] < time}
        self._states.put_all(list(risen), list(risen.values()))


def _known_time(state: Row) -> list[int | None]:
    time = state[0] if state else None
    return [None if time == BEGINNING else time]
