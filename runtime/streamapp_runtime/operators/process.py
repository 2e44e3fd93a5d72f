"""User's Python over batches of rows, nothing kept."""

from collections.abc import Mapping

import pyarrow as pa

from streamapp_core.spec.job import OnError
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.functions.failures import FunctionFailed
from streamapp_runtime.functions.function import Function
from streamapp_runtime.operators.protocol import TimelessOperator
from streamapp_runtime.rows.event_time import without_event_time
from streamapp_runtime.tasks.bad_rows import BadRows
from streamapp_systems.file.json_format import json_lines

_SHOWN = 200


class Process(TimelessOperator):
    """Calls a function with each batch. A batch it fails on stops the app, or is halved to find the rows to skip."""

    def __init__(self, name: str, function: Function, on_error: OnError, bad_rows: BadRows) -> None:
        """Take the operator's name for messages; `bad_rows` knows where a batch comes from, and takes skipped rows."""
        self._name = name
        self._function = function
        self._skip = on_error is OnError.SKIP
        self._bad_rows = bad_rows
        self._failed = 0

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`.

        Raises:
            RuntimeFailure: the function failed, and the app does not skip errors.
        """
        results = []
        pieces = [rows]
        while pieces:
            piece = pieces.pop()
            try:
                result = self._function(piece)
            except FunctionFailed as failure:
                pieces += self._halves(piece, failure)
            else:
                results += [] if result is None else [result]
        return pa.concat_tables(results) if results else None

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {"failed": self._failed}

    def _halves(self, rows: pa.Table, failure: FunctionFailed) -> list[pa.Table]:
        """Divide rows that failed, the first half last, or leave out a single one."""
        if not self._skip:
            raise RuntimeFailure(self._told(failure)) from failure
        if len(rows) > 1:
            return [rows.slice(len(rows) // 2), rows.slice(0, len(rows) // 2)]
        self._failed += 1
        if not self._bad_rows.full:
            self._bad_rows.remember(f"{self._told(failure)}; row {_shown(rows)}")
        return []

    def _told(self, failure: FunctionFailed) -> str:
        return f"{self._bad_rows.place}: operator `{self._name}`: {failure}"


def _shown(row: pa.Table) -> str:
    (text,) = json_lines(without_event_time(row))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
