"""Parents: the older partitions that may hold earlier messages of a partition's keys (design, section 5, "Order")."""

from collections.abc import Sequence


def parents(partition: int, initial_partitions: Sequence[int]) -> tuple[int, ...]:
    """Return all smaller partitions that began as the same one, in ascending order.

    No history is needed: whatever counts the stream had in between, a key of `partition` can only have been in these.

    Args:
        partition: a partition of now.
        initial_partitions: the initial partition of each partition of now (`CheckedAlgorithm.initial_partitions`).
    """
    initial = initial_partitions[partition]
    return tuple(older for older in range(partition) if initial_partitions[older] == initial)
