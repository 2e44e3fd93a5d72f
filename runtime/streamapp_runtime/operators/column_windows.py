"""State of groups in windows as columns: as `ColumnStates`, under keys that begin with the windows' ends."""

import ctypes
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamapp_core.expressions import Aggregation
from streamapp_runtime.operators.column_states import ColumnStates, NotColumnarError, are_columnar
from streamapp_runtime.operators.window_assignment import WINDOW_END
from streamapp_runtime.state.entry_columns import Entries, entry_columns
from streamapp_runtime.state.store import Store
from streamapp_systems.arrow_types import arrow_type
from streamapp_systems.native.binary_columns import leading_numbers
from streamapp_systems.native.key_groups import Numbers
from streamapp_systems.native.library import native_library
from streamapp_systems.native.row_columns import decode_rows

_SIGN = np.uint64(1 << 63)


class ColumnWindows(ColumnStates):
    """The partial results of groups in windows, until these close; see `GroupStates`."""

    prefix_bytes, more_values = 8, 1

    def __init__(self, library: ctypes.CDLL, store: Store, aggregation: Aggregation) -> None:
        """Take an aggregation that can be columns; see `column_windows`."""
        super().__init__(library, store, len(aggregation.by_columns), aggregation.partials)
        by = [pa.field(column.name, arrow_type(column.type)) for column in aggregation.by_columns]
        partials = [pa.field(partial.name, arrow_type(partial.type)) for partial in aggregation.partials]
        self._schema = pa.schema([*by, WINDOW_END, *partials])
        self._due: list[Entries] = []
        """Groups whose windows have ended, in the order of their keys."""
        self._scanned_below = self._end = b""

    def merge_windows(self, by: Sequence[pa.Array], ends: pa.Array, partials: Sequence[pa.Array]) -> None:
        """Merge partial results into those of their groups, in windows that end at these times.

        Raises:
            NotColumnarError: nothing was merged.
        """
        times = ends.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64) ^ _SIGN
        self.merge(by, partials, times.astype(">u8").view(np.uint8).reshape(-1, self.prefix_bytes))

    @property
    def has_pending_results(self) -> bool:
        """See `GroupStates.has_pending_results`."""
        return bool(self._due) or self._scanned_below < self._end

    def pop_below(self, end: bytes, limit: int) -> pa.Table:
        """Remove at most `limit` groups below `end`; return the columns of their rows in the order of their keys.

        `end` only rises, and nothing is merged into keys below it any more.

        Raises:
            NotColumnarError: nothing was removed.
        """
        self._end = end
        if not self._due and self._scanned_below < end:
            self._write(self._changed_below(end))
            self._due = [*entry_columns(self._store.scan(end=end))]
            self._scanned_below = end
        taken, left = _divided(self._due, limit)
        rows = [decode_rows(self._library, entries.values, self._schema) for entries in taken]
        decoded = [some for some in rows if some is not None]
        if len(decoded) < len(rows):
            raise NotColumnarError
        for entries in taken:
            self._store.put_columns(entries.keys, pa.nulls(len(entries.keys), pa.binary()))
        self._due = left
        return pa.concat_tables([self._schema.empty_table(), *decoded])

    def _changed_below(self, end: bytes) -> Numbers:
        limit = np.uint64(int.from_bytes(end, "big"))
        parts = self._parts(self._changed_numbers())
        below = [part[leading_numbers(self._groups.keys(part)) < limit] for part in parts]
        return np.concatenate([np.empty(0, np.int64), *below])

    def _more_columns(self, keys: pa.BinaryArray) -> list[pa.Array]:
        return [pa.array((leading_numbers(keys) ^ _SIGN).view(np.int64))]


def column_windows(store: Store, aggregation: Aggregation) -> ColumnWindows | None:
    """Return the windows of an aggregation; None without the native library, and if they are more than columns."""
    library = native_library().functions
    return None if library is None or not are_columnar(aggregation) else ColumnWindows(library, store, aggregation)


def _divided(entries: Sequence[Entries], limit: int) -> tuple[list[Entries], list[Entries]]:
    """Return the first entries, so many, and the others."""
    first: list[Entries] = []
    left: list[Entries] = []
    for keys, values in entries:
        if limit:
            first.append(Entries(keys[:limit], values[:limit]))
        if len(keys) > limit:
            left.append(Entries(keys[limit:], values[limit:]))
        limit = max(limit - len(keys), 0)
    return first, left
