"""Calls of users' functions, with `job.onError` applied to rows they fail on."""

from collections.abc import Callable

import pyarrow as pa

from streamapp_core.spec.job import OnError
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import without_event_time
from streamapp_systems.file.json_writing import json_lines

_SHOWN = 200


class GuardedCall:
    """Calls a function with each batch. A batch it fails on stops the app, or is halved to find the rows to skip."""

    def __init__(
        self, caller: str, function: Callable[[pa.Table], pa.Table | None], on_error: OnError, bad_rows: BadRows
    ) -> None:
        """Wrap a function; `caller` is for messages, `bad_rows` has the place of a batch and records skipped rows."""
        self._caller = caller
        self._function = function
        self._skip = on_error is OnError.SKIP
        self._bad_rows = bad_rows
        self.failed = 0
        """The number of rows that were skipped."""

    def __call__(self, rows: pa.Table) -> pa.Table | None:
        """Call the function.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        results = []
        parts = [rows]
        while parts:
            part = parts.pop()
            try:
                result = self._function(part)
            except UserFunctionFailed as failure:
                parts += self._halves(part, failure)
            else:
                results += [] if result is None else [result]
        return pa.concat_tables(results) if results else None

    def _halves(self, rows: pa.Table, failure: UserFunctionFailed) -> list[pa.Table]:
        """Return the halves of rows that failed, the first half last; none of a single row, which is skipped."""
        if self.skip(rows, failure):
            return []
        return [rows.slice(len(rows) // 2), rows.slice(0, len(rows) // 2)]

    def skip(self, rows: pa.Table, failure: UserFunctionFailed) -> bool:
        """Skip the row of a call that failed; return False if it had several, which are to be called in parts.

        Raises:
            RuntimeFailure: the app does not skip errors.
        """
        if not self._skip:
            raise RuntimeFailure(self._message(failure)) from failure
        if len(rows) > 1:
            return False
        self.failed += 1
        if not self._bad_rows.full:
            self._bad_rows.remember(f"{self._message(failure)}; row {_shown(rows)}")
        return True

    def _message(self, failure: UserFunctionFailed) -> str:
        return f"{self._bad_rows.place}: {self._caller}: {failure}"


def _shown(row: pa.Table) -> str:
    (text,) = json_lines(without_event_time(row))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
