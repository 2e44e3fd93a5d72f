"""Buffers of rows to be written to a stream, over tasks and batches: the cost of a write is paid once for many."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class RowBuffer:
    """The rows to be written to one stream, in the order of arrival."""

    def __init__(self) -> None:
        self._batches: list[pa.Table] = []
        self.count = 0

    def fits(self, rows: pa.Table) -> bool:
        """Return whether rows have the columns of those in the buffer."""
        return not self._batches or self._batches[0].schema.equals(rows.schema)

    def add(self, rows: pa.Table) -> None:
        """Add rows to the buffer."""
        self._batches.append(rows)
        self.count += len(rows)

    def drain(self) -> pa.Table:
        """Return all rows and empty the buffer."""
        rows = pa.concat_tables(self._batches).combine_chunks()
        self._batches, self.count = [], 0
        return rows


def sort_by_partition(rows: pa.Table, partitions: npt.NDArray[np.int64]) -> tuple[pa.Table, list[tuple[int, slice]]]:
    """Sort rows by the partition of each, keeping their order within it; return them and each partition's slice."""
    if np.any(partitions[1:] < partitions[:-1]):
        order = np.argsort(partitions, kind="stable")
        rows, partitions = rows.take(pa.array(order)), partitions[order]
    bounds = np.flatnonzero(np.diff(partitions, prepend=-1, append=-1)).tolist()
    return rows, [(int(partitions[start]), slice(start, end)) for start, end in pairwise(bounds)]
