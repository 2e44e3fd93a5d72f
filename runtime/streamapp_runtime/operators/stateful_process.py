"""The `process` operator with state: the user's Python with values and timers per key."""

from collections.abc import Mapping

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.spec.job import OnError
from streamapp_runtime.functions.guarded_call import GuardedCall
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.bad_rows import BadRows


class StatefulProcess(BaseOperator):
    """Calls a function with each batch, and with its timers when the watermark has reached them."""

    def __init__(self, name: str, function: StatefulFunction, on_error: OnError, bad_rows: BadRows) -> None:
        """Take the operator's name for messages; `bad_rows` has the place of a batch and records skipped rows."""
        self._function = function
        caller = f"operator `{name}`"
        self._process = GuardedCall(caller, function.process, on_error, bad_rows)
        self._fire = GuardedCall(f"{caller}, timers", function.fire_timers, on_error, bad_rows)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        return self._process(rows)

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Fire the timers that are due, and those that they set.

        At the end of all inputs every timer is due; timers that are set then are not: one that sets itself again would
        fire forever.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        results = []
        while self._function.has_due_timers(watermark):
            result = self._fire(self._function.pop_due_timers(watermark))
            results += [] if result is None else [result]
            if watermark == END_OF_TIME:
                break
        return pa.concat_tables(results) if results else None

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"failed": self._process.failed + self._fire.failed}
