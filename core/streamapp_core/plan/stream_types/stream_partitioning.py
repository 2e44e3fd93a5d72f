"""Partitioning: which task has which rows of a stream."""

from collections.abc import Collection, Iterable, Sequence
from enum import Enum

import msgspec

from streamapp_core.spec.streams import KeyFormat, Partitioner


class Hashed(msgspec.Struct, frozen=True):
    """Rows with equal values of a key are in one task.

    `columns` has for each part of the key, in their order, the columns (lower case) that all have its value. Of several
    parts it is the JSON object with these `fields` that is hashed. `partitioner` is what chose the partition: rows of
    two streams meet only if it is the same, as are the encodings of their keys.
    """

    columns: tuple[frozenset[str], ...]
    key_format: KeyFormat = KeyFormat.STRING
    partitioner: str = Partitioner.MURMUR2
    fields: tuple[str, ...] = ()

    @property
    def encoding(self) -> tuple[object, ...]:
        """The way from the values of a key to a partition."""
        return self.key_format, self.partitioner, self.fields

    def within(self, columns: Iterable[str]) -> bool:
        """Return whether rows with equal values of some columns have one key: each part is among them."""
        names = {column.lower() for column in columns}
        return all(part & names for part in self.columns)

    def places(self, columns: Sequence[str]) -> tuple[frozenset[int], ...]:
        """Return for each part of the key the places of some columns that have its value."""
        return tuple(
            frozenset(place for place, column in enumerate(columns) if column.lower() in part) for part in self.columns
        )

    def with_columns(self, columns: Sequence[Collection[str]]) -> "Partitioning":
        """Return the same partitioning under other names of the parts; if one has none, nothing is known any more."""
        named = tuple(map(frozenset, columns))
        if named == self.columns:
            return self
        if not all(named):
            return Unhashed.BY_SOURCE
        return Hashed(named, self.key_format, self.partitioner, self.fields)

    def __str__(self) -> str:
        return ", ".join(" = ".join(f"`{column}`" for column in sorted(part)) for part in self.columns)


def hashed_by(columns: Sequence[str]) -> Hashed:
    """Return the partitioning that a `partitionBy` by some columns makes."""
    return Hashed(
        tuple(frozenset([column.lower()]) for column in columns), fields=tuple(columns) if len(columns) > 1 else ()
    )


class Unhashed(Enum):
    """Partitioning without a key; `UNKNOWN` for lack of information, from which nothing is concluded."""

    BY_SOURCE = "by source"
    """Each row is in one task, which may be any."""
    EVERYWHERE = "everywhere"
    """Each row is in every task."""
    UNKNOWN = "unknown"


Partitioning = Hashed | Unhashed
