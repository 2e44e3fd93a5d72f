"""The `process` operator without state: the user's Python over batches of rows."""

from collections.abc import Mapping

import pyarrow as pa

from streamapp_core.spec.job import OnError
from streamapp_runtime.functions.guarded_call import GuardedCall
from streamapp_runtime.functions.process_function import ProcessFunction
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.bad_rows import BadRows


class StatelessProcess(BaseOperator):
    """Calls a function with each batch."""

    def __init__(self, name: str, function: ProcessFunction, on_error: OnError, bad_rows: BadRows) -> None:
        """Take the operator's name for messages; `bad_rows` has the place of a batch and records skipped rows."""
        self._function = GuardedCall(f"operator `{name}`", function, on_error, bad_rows)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        return self._function(rows)

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"failed": self._function.failed}
