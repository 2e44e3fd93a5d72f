"""Rows of stored parts that are kept in memory: those that were used last."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import pyarrow as pa

K = TypeVar("K")


class RowCache(Generic[K]):
    """Rows by the name of their part, up to a number of bytes, and one part whatever its size."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rows: OrderedDict[K, pa.Table] = OrderedDict()
        self._bytes = 0

    def get(self, name: K, load: Callable[[], pa.Table]) -> pa.Table:
        """Return the rows of a part, loaded if they are not here."""
        if name not in self._rows:
            self.put(name, load())
        self._rows.move_to_end(name)
        return self._rows[name]

    def put(self, name: K, rows: pa.Table) -> None:
        """Keep the rows of a part that is new here."""
        self._rows[name] = rows
        self._bytes += rows.nbytes
        while self._bytes > self._limit and len(self._rows) > 1:
            self._bytes -= self._rows.popitem(last=False)[1].nbytes

    def drop(self, name: K) -> None:
        """Forget a part."""
        rows = self._rows.pop(name, None)
        self._bytes -= 0 if rows is None else rows.nbytes
