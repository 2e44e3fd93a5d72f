"""Parents: the older partitions that may hold earlier messages of a partition's keys (docs/expansion.md)."""

from collections.abc import Sequence


def parents(partition: int, initial_partitions: Sequence[int]) -> tuple[int, ...]:
    """Return all smaller partitions with the same initial partition, in ascending order.

    No history is needed: whatever counts the stream had in between, a key of `partition` can only have been in these.

    Args:
        partition: a current partition.
        initial_partitions: the initial partition of each current partition (`CheckedAlgorithm.initial_partitions`).
    """
    initial = initial_partitions[partition]
    return tuple(older for older in range(partition) if initial_partitions[older] == initial)
