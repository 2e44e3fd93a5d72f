"""The type of the rows on one edge of the graph: how they change, where they are, in which order they come."""

from dataclasses import dataclass
from enum import Enum

import msgspec

from streamapp_core.plan.stream_types.stream_partitioning import Hashed, Partitioning, Unhashed


@dataclass(frozen=True, slots=True)
class Upsert:
    """Each row is the newest value of its key: it takes the place of earlier rows with equal `columns` (lower case).

    If it `deletes`, rows have a hidden column that marks those which only delete their key. The values of `determined`
    columns follow from the key, so that they are the same in all rows of it, also in those that delete it.
    """

    columns: tuple[str, ...]
    deletes: bool = False
    determined: frozenset[str] = frozenset()

    @property
    def fixed(self) -> frozenset[str]:
        """The columns that never change with a newer row of a key."""
        return self.determined.union(self.columns)

    def __str__(self) -> str:
        return f"upsert({', '.join(self.columns)})"


class Append(Enum):
    """Each row is an event of its own, and stays."""

    APPEND = "append"

    def __str__(self) -> str:
        return self.value


APPEND = Append.APPEND
Changes = Upsert | Append


class StreamType(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about the rows of a stream or of what an operator emits.

    `partitioned_by` and `changed_by` name the stream or operator that gave the rows this partitioning and made them
    changes; `undated_by` names the stream because of which rows have no event time (None: they have one). `constants`
    are columns (lower case) that have the same value in all rows.
    """

    partitioning: Partitioning
    changes: Changes = APPEND
    partitioned_by: str
    changed_by: str | None = None
    undated_by: str | None = None
    constants: frozenset[str] = frozenset()

    @property
    def everywhere(self) -> bool:
        """Whether each row is in every task (multiplicity `each task`), not in one only (`once`)."""
        return self.partitioning is Unhashed.EVERYWHERE

    @property
    def deletes(self) -> bool:
        """Whether some rows delete their key."""
        return isinstance(self.changes, Upsert) and self.changes.deletes

    @property
    def unknown(self) -> bool:
        """Whether nothing can be concluded, since something before was refused."""
        return self.partitioning is Unhashed.UNKNOWN

    def document(self) -> dict[str, object]:
        """Return the type as `streamapp plan --output json` prints it."""
        key = self.partitioning if isinstance(self.partitioning, Hashed) else None
        return {
            "changes": str(self.changes),
            **({"deletions": True} if self.deletes else {}),
            "partitioning": str(self),
            "multiplicity": "each task" if self.everywhere else "once",
            "eventTime": self.undated_by is None,
            **({} if key is None else {"keyFormat": key.key_format.value, "partitioner": str(key.partitioner)}),
            **({} if key is None or not key.fields else {"keyFields": list(key.fields)}),
        }

    def __str__(self) -> str:
        if isinstance(self.partitioning, Hashed):
            return f"hashed({', '.join(' = '.join(sorted(part)) for part in self.partitioning.columns)})"
        return str(self.partitioning.value)
