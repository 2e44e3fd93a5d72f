"""The guard of a group against rows without a key, in a task where no such row belongs."""

from collections.abc import Callable

import pyarrow as pa

from streamapp_runtime.operators.operator import InputPort


class NullKeyGuard:
    """An input port that counts the rows without a key before the operator takes them."""

    def __init__(self, port: InputPort, column: str, found: Callable[[int], object]) -> None:
        """Take the port of the operator; `found` is told how many such rows a batch has, and may refuse them."""
        self._port = port
        self._column = column
        self._found = found

    def __call__(self, rows: pa.Table) -> pa.Table | None:
        """See `InputPort`.

        Raises:
            ClaimBroken: such rows are refused.
        """
        count = rows.column(self._column).null_count
        if count:
            self._found(count)
        return self._port(rows)
