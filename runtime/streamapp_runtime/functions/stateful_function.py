"""The contract of a `process` function with `state`: calls for rows, calls for timers (docs/functions.md)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from streamapp_runtime.functions.keyed_state import KeyedState, Timer, TimerWrites
from streamapp_runtime.functions.process_function import ProcessFunction
from streamapp_runtime.functions.user_errors import USER_EXCEPTIONS, UserFunctionFailed, describe_error
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD


class KeyedProcessFunction(Protocol):
    """A class of the user's with these methods, instantiated once per task, or a function like `process`."""

    def process(self, rows: pa.Table, state: KeyedState) -> pa.Table | pa.RecordBatch | None:
        """Return the rows for a batch of rows, which are in the order that `order` says."""
        ...

    def on_timers(self, timers: pa.Table, state: KeyedState) -> pa.Table | pa.RecordBatch | None:
        """Return the rows for due timers, the earliest first (the columns of the key and `__event_time`)."""
        ...


class StatefulFunction:
    """One task's copy of a user's function, with the state of the keys in this task."""

    def __init__(self, name: str, made: object, columns: pa.Schema, key: Sequence[pa.Field], state: KeyedState) -> None:
        """Take what the user wrote, the columns of its results, those of the key, and the state.

        Raises:
            UserFunctionFailed: it is a class that can't be instantiated, or has no method `process`.
        """
        self._key = key
        self._state = state
        process, on_timers = _methods(name, made)
        self._on_rows = ProcessFunction(name, lambda rows: process(rows, state), columns)
        self._on_timers = ProcessFunction(name, lambda timers: on_timers(timers, state), columns) if on_timers else None

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the key."""
        return tuple(field.name for field in self._key)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Call the function with rows; only a call that succeeds changes the state.

        Raises:
            UserFunctionFailed: it failed.
        """
        return self._call(self._on_rows, rows)

    def attempt(self, rows: pa.Table) -> pa.Table | None:
        """Call the function with rows, and hold its writes for `keep`; the next call drops what was not kept.

        Raises:
            UserFunctionFailed: it failed.
        """
        return self._attempt(self._on_rows, rows)

    @property
    def timers_set(self) -> Mapping[bytes, int]:
        """The earliest timer that the last attempt has set for each key (as bytes), deleted ones included."""
        return self._state.timers_set

    def keep(self) -> TimerWrites:
        """Keep the writes of the last attempt."""
        return self._state.end_call()

    def first_timers(self, before: int, limit: int) -> list[Timer]:
        """Return at most `limit` timers before a time, the earliest first."""
        return self._state.first_timers(before, limit)

    def remove_timers(self, timers: Sequence[Timer]) -> pa.Table:
        """Remove timers, and return them as the function gets them."""
        for timer in timers:
            self._state.remove_timer(timer)
        return self._timer_table([(timer.time, timer.plain_key) for timer in timers])

    def has_due_timers(self, watermark: int) -> bool:
        """Return whether a timer is due."""
        return self._state.earliest_timer <= watermark

    def pop_due_timers(self, watermark: int) -> pa.Table:
        """Remove and return the timers that are due: keys and times, the earliest first."""
        return self._timer_table(list(self._state.pop_timers(watermark)))

    def _timer_table(self, due: Sequence[tuple[int, Any]]) -> pa.Table:
        keys = key_columns([key for _, key in due], self._key)
        times = pa.array([time for time, _ in due], pa.int64())
        return pa.table([*keys, times], pa.schema([*self._key, EVENT_TIME_FIELD]))

    def fire_timers(self, timers: pa.Table) -> pa.Table | None:
        """Call the function with timers that were due.

        Raises:
            UserFunctionFailed: it failed, or sets timers and has no method for them.
        """
        result, _ = self.call_timers(timers)
        return result

    def call_timers(self, timers: pa.Table, *, last: bool = False) -> tuple[pa.Table | None, TimerWrites]:
        """Call the function with timers that were due; after the `last` ones, it sets none.

        Raises:
            UserFunctionFailed: it failed, or sets timers and has no method for them.
        """
        if self._on_timers is None:
            raise UserFunctionFailed("it sets timers and has no method `on_timers`")
        result = self._attempt(self._on_timers, timers)
        return result, self._state.end_call(keep_timers=not last)

    def _call(self, function: ProcessFunction, rows: pa.Table) -> pa.Table | None:
        result = self._attempt(function, rows)
        self._state.end_call()
        return result

    def _attempt(self, function: ProcessFunction, rows: pa.Table) -> pa.Table | None:
        self._state.begin_call(set(plain_keys(rows, self.key)))
        return function(rows)


def plain_keys(rows: pa.Table, columns: Sequence[str]) -> list[Any]:
    """Return the keys of rows as functions have them: values of a column, or tuples of those of several."""
    values: list[list[Any]] = [rows.column(name).to_pylist() for name in columns]
    return values[0] if len(values) == 1 else list(zip(*values, strict=True))


def key_columns(keys: Sequence[Any], fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Return the keys of values or timers, as the state has them, as the columns of the key."""
    several = len(fields) > 1
    return [
        _key_array([key[place] if several else key for key in keys], field.type) for place, field in enumerate(fields)
    ]


def _key_array(keys: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the keys of timers as a column; the state keeps decimals and dates as texts."""
    if pa.types.is_decimal(kind) or pa.types.is_date(kind):
        return pa.array(keys, pa.string()).cast(kind)
    return pa.array(keys, kind)


_Method = Callable[[pa.Table, KeyedState], Any]


def _methods(name: str, made: object) -> tuple[_Method, _Method | None]:
    """Return the methods to call with rows, and with timers if there is one."""
    if isinstance(made, type):
        try:
            made = made()
        except USER_EXCEPTIONS as error:
            raise UserFunctionFailed(
                f"class {name} can't be instantiated: {describe_error(error, called_from=1)}"
            ) from error
    process = getattr(made, "process", made)
    if not callable(process):
        raise UserFunctionFailed(f"{name} has no method `process`")
    return process, getattr(made, "on_timers", None)
