"""The contract of a `process` function with `state`: calls for rows, calls for timers (docs/functions.md)."""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.process_function import ProcessFunction
from streamapp_runtime.functions.user_errors import USER_EXCEPTIONS, UserFunctionFailed, describe_error
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD


class KeyedProcessFunction(Protocol):
    """A class of the user's with these methods, instantiated once per task, or a function like `process`."""

    def process(self, rows: pa.Table, state: KeyedState) -> pa.Table | pa.RecordBatch | None:
        """Return the rows for a batch of rows, which are in the order of arrival."""
        ...

    def on_timers(self, timers: pa.Table, state: KeyedState) -> pa.Table | pa.RecordBatch | None:
        """Return the rows for due timers, the earliest first (the key's column and `__event_time`)."""
        ...


class StatefulFunction:
    """One task's copy of a user's function, with the state of the keys in this task."""

    def __init__(self, name: str, made: object, columns: pa.Schema, key: pa.Field, state: KeyedState) -> None:
        """Take what the user wrote, the columns of its results, the key's column, and the state.

        Raises:
            UserFunctionFailed: it is a class that can't be instantiated, or has no method `process`.
        """
        self._key = key
        self._state = state
        process, on_timers = _methods(name, made)
        self._on_rows = ProcessFunction(name, lambda rows: process(rows, state), columns)
        self._on_timers = ProcessFunction(name, lambda timers: on_timers(timers, state), columns) if on_timers else None

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Call the function with rows; only a call that succeeds changes the state.

        Raises:
            UserFunctionFailed: it failed.
        """
        return self._call(self._on_rows, rows)

    def has_due_timers(self, watermark: int) -> bool:
        """Return whether a timer is due."""
        return self._state.earliest_timer <= watermark

    def pop_due_timers(self, watermark: int) -> pa.Table:
        """Remove and return the timers that are due: keys and times, the earliest first."""
        due = list(self._state.pop_timers(watermark))
        keys = pa.array([key for _, key in due], self._key.type)
        return pa.table(
            [keys, pa.array([time for time, _ in due], pa.int64())], pa.schema([self._key, EVENT_TIME_FIELD])
        )

    def fire_timers(self, timers: pa.Table) -> pa.Table | None:
        """Call the function with timers that were due.

        Raises:
            UserFunctionFailed: it failed, or sets timers and has no method for them.
        """
        if self._on_timers is None:
            raise UserFunctionFailed("it sets timers and has no method `on_timers`")
        return self._call(self._on_timers, timers)

    def _call(self, function: ProcessFunction, rows: pa.Table) -> pa.Table | None:
        self._state.begin_call(set(rows.column(self._key.name).to_pylist()))
        result = function(rows)
        self._state.end_call()
        return result


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
