"""A test bench for users' functions: one operator, on rows and watermarks of the test (docs/functions.md).

Errors are those of a running app: `RuntimeFailure`, with the function and what was wrong.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.schema import parse_schema
from streamapp_core.spec.job import OnError
from streamapp_core.spec.operators import ProcessOrder
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.process_function import ProcessFunction, UserFunction
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.operators.guarded_operator import GuardedOperator
from streamapp_runtime.operators.operator import Operator
from streamapp_runtime.operators.ordered_process import OrderedProcess
from streamapp_runtime.operators.stateful_process import StatefulProcess
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.arrow_types import arrow_schema

__all__ = ["FunctionBench"]

_NAME = "tested"


class FunctionBench:
    """A `process` operator around a function, in one task."""

    def __init__(
        self,
        function: UserFunction,
        *,
        schema: str,
        key: str | Sequence[str] | None = None,
        order: str = ProcessOrder.EVENT_TIME,
        skip_errors: bool = False,
    ) -> None:
        """Take the function (or class) and its output columns as in YAML; with `key`, its columns, it has state.

        Then `order` is that of its rows and timers: `eventTime` or `arrival`.
        """
        self._user_function = function
        self._columns = arrow_schema(parse_schema(schema))
        self._key = (key,) if isinstance(key, str) else tuple(key or ())
        self._order = ProcessOrder(order)
        self._on_error = OnError.SKIP if skip_errors else OnError.FAIL
        self._environment = MemoryEnvironment()
        self._watermark: int | None = None
        self._operator: Operator | None = None
        self._key_fields: list[pa.Field] = []

    def rows(self, schema: str, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]] | None:
        """Process a batch of rows, each with its event time (milliseconds) last; return the results likewise.

        In event-time order only rows before the watermark, and those without event time, have results at once.
        """
        columns = pa.schema([*arrow_schema(parse_schema(schema)), EVENT_TIME_FIELD])
        values = zip(*rows, strict=True)
        batch = pa.Table.from_arrays(
            [pa.array(v, f.type) for v, f in zip(values, columns, strict=True)], schema=columns
        )
        if self._operator is None:
            self._key_fields = [columns.field(name) for name in self._key]
            self._operator = self._open()
        return _plain(self._operator.process(batch))

    def watermark(self, time: int) -> list[tuple[Any, ...]] | None:
        """Advance the watermark to a time (milliseconds); return what rows that waited for it and timers emit."""
        if self._operator is None or (self._watermark is not None and time <= self._watermark):
            return None
        self._watermark = time
        results = [self._operator.advance_watermark(time)]
        while self._operator.has_pending_results:
            results.append(self._operator.advance_watermark(time))
        emitted = [result for result in results if result is not None]
        return _plain(pa.concat_tables(emitted) if emitted else None)

    def end(self) -> list[tuple[Any, ...]] | None:
        """End all inputs; return what the last rows and timers emit."""
        return self.watermark(END_OF_TIME)

    def restart(self) -> None:
        """Commit, and continue with a new instance of the function."""
        if self._operator is not None:
            self._operator.flush()
            self._environment.commit()
            self._operator = self._open()

    def failed(self) -> int:
        """Return how many rows were skipped since the last restart."""
        return 0 if self._operator is None else self._operator.counters()["failed"]

    def _open(self) -> Operator:
        name = getattr(self._user_function, "__qualname__", repr(self._user_function))
        bad_rows = BadRows()
        bad_rows.place = "test"
        if not self._key_fields:
            process = ProcessFunction(name, self._user_function, self._columns)
            return GuardedOperator(f"operator `{_NAME}`", process, self._on_error, bad_rows)
        store = self._environment.store(_NAME)
        function = StatefulFunction(name, self._user_function, self._columns, self._key_fields, KeyedState(store))
        if self._order is ProcessOrder.EVENT_TIME:
            return OrderedProcess(_NAME, function, store, self._on_error, bad_rows)
        return StatefulProcess(_NAME, function, self._on_error, bad_rows)


def _plain(table: pa.Table | None) -> list[tuple[Any, ...]] | None:
    return None if table is None else [tuple(row.values()) for row in table.to_pylist()]
