"""Rows of several keys and the timers among them: which rows of a key come before its next timer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_runtime.functions.keyed_state import Timer, TimerWrites
from streamapp_runtime.functions.stateful_function import plain_keys
from streamapp_runtime.operators.pending_rows import SortedRows
from streamapp_runtime.rows.record_keys import key_objects
from streamapp_runtime.rows.row_codec import encode_key
from streamapp_systems.floating_keys import unify_floats

Indices = npt.NDArray[np.intp]
_NEVER = np.iinfo(np.int64).max


class TimedRows:
    """Rows in the order of event time that are to be given to a function, and the timers that are due with them."""

    def __init__(self, rows: SortedRows | None, key: Sequence[str], timers: Sequence[Timer], before: int) -> None:
        """Take the rows, the columns of their key, and the earliest timers; from the time `before` on none is due."""
        self._before = before
        self._sorted = rows
        keys: list[bytes] = []
        self._rows, self._times, self._codes = None, np.empty(0, np.int64), np.empty(0, np.int32)
        if rows is not None:
            self._rows, self._times = rows.rows, rows.times
            self._codes, distinct = _distinct_keys(self._rows, key)
            keys = [encode_key([value]) for value in distinct]
        self._code_of = {name: code for code, name in enumerate(keys)}
        self._next_timer = np.full(len(keys), _NEVER)
        self._timers: dict[bytes, dict[int, Timer]] = {}
        self._left = np.ones(len(self._times), np.bool_)
        for timer in timers:
            self._add(timer)

    def eligible(self, limit: int) -> Indices:
        """Return the first rows, at most `limit`, that come before the next timer of their key."""
        return np.flatnonzero(self._left & (self._times <= self._next_timer[self._codes]))[:limit]

    def take(self, indices: Indices) -> pa.Table:
        """Return rows as the function gets them."""
        assert self._rows is not None
        return self._rows.take(pa.array(indices))

    def before_timers(self, indices: Indices, timers_set: Mapping[bytes, int]) -> Indices:
        """Return which rows may be in one call that has set these timers (the earliest of each key).

        The first row of a key may: a timer is set with a row or after it. Later ones may up to the timer.
        """
        earliest = np.full(len(self._next_timer), _NEVER)
        for key, time in timers_set.items():
            earliest[self._code_of[key]] = time
        codes = self._codes[indices]
        later = self._times[indices] > earliest[codes]
        if later.any():
            _, first = np.unique(codes, return_index=True)
            later[first] = False
        return indices[~later]

    def mark_given(self, indices: Indices) -> None:
        """Note that the function was given rows, or that they were skipped."""
        self._left[indices] = False

    def due_timers(self, limit: int) -> list[Timer]:
        """Return the next timer of every key, at most `limit`, the earliest first."""
        due = [timers[min(timers)] for timers in self._timers.values()]
        return sorted(due, key=lambda timer: (timer.time, timer.key))[:limit]

    def apply(self, writes: TimerWrites) -> None:
        """Take the timers that a call has set and deleted."""
        for timer in writes.set:
            if timer.time < self._before:
                self._add(timer)
        for key, time in writes.deleted:
            self.remove(key, time)

    def remove(self, key: bytes, time: int) -> None:
        """Remove a timer that fires, or was deleted."""
        timers = self._timers.get(key)
        if timers is not None and timers.pop(time, None) is not None:
            if not timers:
                del self._timers[key]
            self._note_next(key)

    def remaining(self) -> SortedRows | None:
        """Return the rows that the function was not given yet."""
        return self._sorted.filter(self._left) if self._sorted is not None and self._left.any() else None

    def _add(self, timer: Timer) -> None:
        self._timers.setdefault(timer.key, {})[timer.time] = timer
        self._note_next(timer.key)

    def _note_next(self, key: bytes) -> None:
        code = self._code_of.get(key)
        if code is not None:
            self._next_timer[code] = min(self._timers.get(key, {_NEVER: None}))


def _distinct_keys(rows: pa.Table, columns: Sequence[str]) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """Return the different keys of rows, and for each row the place of its key."""
    found = [unify_floats(rows.column(name)) for name in columns]
    column = found[0] if len(found) == 1 else key_objects(found, columns)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    codes: npt.NDArray[np.int32] = encoded.indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    return codes, plain_keys(pa.table(found, list(columns)).take(pa.array(first)), columns)
