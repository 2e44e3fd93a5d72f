"""One row of each key for ever: the first that comes, or the one with the latest event time so far."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamapp_core.spec.groups import Keep
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.event_time_column import event_times
from streamapp_runtime.rows.row_codec import encode_key, to_plain_rows
from streamapp_runtime.rows.rows_of_keys import row_of_each_key
from streamapp_runtime.state.store import Store


class Dedup(BaseOperator):
    """Emits the first row of each key, or each row that is not older than those of its key before it.

    No row is late. Of rows with equal event times the last to come stays; one without event time is older than others.
    """

    def __init__(self, store: Store, by: Sequence[str], keep: Keep) -> None:
        self._by = list(by)
        self._keep = keep
        self._states = GroupStates(store)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        times, missing = event_times(rows)
        times = np.where(missing, BEGINNING, times)
        first = self._keep is Keep.FIRST
        order = np.arange(len(rows)) if first else np.argsort(times, kind="stable")
        positions = np.empty(len(rows), np.int64)
        positions[order] = np.arange(len(rows))
        different, found = row_of_each_key(rows, self._by, positions, "min" if first else "max")
        keys = list(map(encode_key, to_plain_rows(different.columns)))
        indices = order[found.to_numpy()]
        states = self._states.get_all(keys)
        if first:
            emitted = [state is None for state in states]
        else:
            emitted = [
                state is None or state[0] <= time for state, time in zip(states, times[indices].tolist(), strict=True)
            ]
        if not any(emitted):
            return None
        chosen = indices[emitted]
        changed = [key for key, new in zip(keys, emitted, strict=True) if new]
        self._states.put_all(changed, [[]] * len(changed) if first else [[time] for time in times[chosen].tolist()])
        return rows.take(pa.array(np.sort(chosen)))

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()
