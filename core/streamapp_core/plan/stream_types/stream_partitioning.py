"""Partitioning: which task has which rows of a stream."""

from enum import Enum

import msgspec

from streamapp_core.spec.streams import KeyFormat, Partitioner


class Hashed(msgspec.Struct, frozen=True):
    """Rows with equal values of a column are in one task; every one of `columns` (lower case) has that value.

    `partitioner` is what chose the partition: rows of two streams meet only if it is the same.
    """

    columns: frozenset[str]
    key_format: KeyFormat = KeyFormat.STRING
    partitioner: str = Partitioner.MURMUR2

    def holds(self, column: str) -> bool:
        """Return whether a column is the key."""
        return column.lower() in self.columns

    def with_columns(self, columns: frozenset[str]) -> "Partitioning":
        """Return the same partitioning under other names of the key; without names nothing is known any more."""
        if columns == self.columns:
            return self
        return Hashed(columns, self.key_format, self.partitioner) if columns else Unhashed.BY_SOURCE

    def __str__(self) -> str:
        return " = ".join(f"`{column}`" for column in sorted(self.columns))


class Unhashed(Enum):
    """Partitioning without a key; `UNKNOWN` for lack of information, from which nothing is concluded."""

    BY_SOURCE = "by source"
    """Each row is in one task, which may be any."""
    EVERYWHERE = "everywhere"
    """Each row is in every task."""
    UNKNOWN = "unknown"


Partitioning = Hashed | Unhashed
