"""Expansion algorithms: the initial partition of a key, from its partition in the expanded stream (docs/expansion.md).

A stateful app keeps its tasks when a stream gets more partitions. An algorithm maps each current partition to the
initial partition that held the same keys.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

DEFAULT_ALGORITHM = "modulo"


@runtime_checkable
class ExpansionAlgorithm(Protocol):
    """The way in which producers spread the keys of a stream over more partitions."""

    def accepts(self, current_count: int, initial_count: int) -> bool:
        """Return whether a stream that began with `initial_count` partitions may have `current_count` now."""
        ...

    def get_partition_before_expansion(self, current_partition: int, current_count: int, initial_count: int) -> int:
        """Return the initial partition that had the keys which are in `current_partition` now.

        Called with accepted counts only. For a partition below `initial_count` the answer must be the partition itself.
        """
        ...


class Modulo:
    """The algorithm for keys spread by hash modulo the number of partitions: it accepts any multiple."""

    def accepts(self, current_count: int, initial_count: int) -> bool:
        """Accept multiples of the initial count."""
        return current_count % initial_count == 0

    def get_partition_before_expansion(self, current_partition: int, current_count: int, initial_count: int) -> int:  # noqa: ARG002
        """Return `current_partition % initial_count`."""
        return current_partition % initial_count


class ExpansionRefusedError(ValueError):
    """An expansion algorithm does not accept a growth, or its answers would move keys between tasks."""


class CheckedAlgorithm:
    """An expansion algorithm under its name, whose answers are checked before anybody uses them."""

    def __init__(self, name: str, algorithm: ExpansionAlgorithm) -> None:
        self.name = name
        self._algorithm = algorithm

    def initial_partitions(self, current_count: int, initial_count: int) -> Sequence[int]:
        """Return the initial partition of each current partition.

        Raises:
            ExpansionRefusedError: the growth is not accepted, or an answer is out of range, or an initial partition is
                not mapped to itself.
        """
        if not (0 < initial_count <= current_count and self._algorithm.accepts(current_count, initial_count)):
            raise ExpansionRefusedError(
                f"the expansion algorithm {self.name!r} does not accept a growth "
                f"from {initial_count} to {current_count} partitions"
            )
        before = self._algorithm.get_partition_before_expansion
        mapping = [before(partition, current_count, initial_count) for partition in range(current_count)]
        for partition, initial in enumerate(mapping):
            right = initial == partition if partition < initial_count else 0 <= initial < initial_count
            if not right:
                expected = str(partition) if partition < initial_count else f"one of 0 to {initial_count - 1}"
                raise ExpansionRefusedError(
                    f"the expansion algorithm {self.name!r} is wrong: it maps partition {partition} of "
                    f"{current_count} to partition {initial} of {initial_count}; right is only {expected}"
                )
        return mapping


MODULO = CheckedAlgorithm(DEFAULT_ALGORITHM, Modulo())

AlgorithmLookup = Callable[[str], CheckedAlgorithm]
"""Returns the expansion algorithm of a name; raises LookupError or TypeError, with the reason for users, otherwise."""


def built_in_algorithm(name: str) -> CheckedAlgorithm:
    """Return the expansion algorithm of a name, out of those that need no other package.

    Raises:
        LookupError: no such algorithm has that name.
    """
    if name != DEFAULT_ALGORITHM:
        raise LookupError(f"no expansion algorithm {name!r} is built in (there is: {DEFAULT_ALGORITHM})")
    return MODULO
