"""Rows on their way to a stream, gathered over tasks and batches: what each batch would cost is then paid once."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class RowBuffer:
    """The rows that wait for one stream, in the order they came."""

    def __init__(self) -> None:
        self._batches: list[pa.Table] = []
        self.count = 0

    def fits(self, rows: pa.Table) -> bool:
        """Whether rows have the columns of those that wait."""
        return not self._batches or self._batches[0].schema.equals(rows.schema)

    def add(self, rows: pa.Table) -> None:
        """Let rows wait."""
        self._batches.append(rows)
        self.count += len(rows)

    def drain(self) -> pa.Table:
        """Give all rows; none wait any more."""
        rows = pa.concat_tables(self._batches).combine_chunks()
        self._batches, self.count = [], 0
        return rows


def sort_by_partition(rows: pa.Table, partitions: npt.NDArray[np.int64]) -> tuple[pa.Table, list[tuple[int, slice]]]:
    """Sort rows by the partition of each, keeping their order within it; tell where which partition's rows are."""
    if np.any(partitions[1:] < partitions[:-1]):
        order = np.argsort(partitions, kind="stable")
        rows, partitions = rows.take(pa.array(order)), partitions[order]
    bounds = np.flatnonzero(np.diff(partitions, prepend=-1, append=-1)).tolist()
    return rows, [(int(partitions[start]), slice(start, end)) for start, end in pairwise(bounds)]
