"""Operators without state that call users' Python with each batch: `process`, and expressions with scalar functions."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from streamapp_core.spec.job import OnError
from streamapp_runtime.functions.guarded_call import GuardedCall
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.bad_rows import BadRows


class GuardedOperator(BaseOperator):
    """Calls users' functions with each batch, and skips the rows they fail on, if the app wants that."""

    def __init__(
        self, caller: str, function: Callable[[pa.Table], pa.Table | None], on_error: OnError, bad_rows: BadRows
    ) -> None:
        """Take what is called; `caller` is for messages, `bad_rows` has the place of a batch and records skipped rows.

        The function raises `UserFunctionFailed` for a batch that it fails on.
        """
        self._function = GuardedCall(caller, function, on_error, bad_rows)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        return self._function(rows)

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"failed": self._function.failed}
