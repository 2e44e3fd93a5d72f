"""Expansion algorithms: where a key of today's partition was when the stream was younger (design, section 5; SEP-5).

A stateful app keeps its tasks when a stream gets more partitions. An algorithm names, for each partition of now, the
partition of the beginning that held the same keys.
"""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, runtime_checkable

ENTRY_POINT_GROUP = "streamapp.expansion"
DEFAULT_ALGORITHM = "modulo"


@runtime_checkable
class ExpansionAlgorithm(Protocol):
    """How the producers of a stream spread keys over more partitions. Installed as an entry point, or given."""

    def accepts(self, current_count: int, initial_count: int) -> bool:
        """Tell whether a stream that began with `initial_count` partitions may have `current_count` now."""
        ...

    def get_partition_before_expansion(self, current_partition: int, current_count: int, initial_count: int) -> int:
        """Return the initial partition that had the keys which are in `current_partition` now.

        It is asked for accepted counts only. A partition below `initial_count` must be its own.
        """
        ...


class Modulo:
    """Keys are spread by hash modulo the number of partitions: any multiple is fine."""

    def accepts(self, current_count: int, initial_count: int) -> bool:
        """Accept multiples of the initial count."""
        return current_count % initial_count == 0

    def get_partition_before_expansion(self, current_partition: int, current_count: int, initial_count: int) -> int:  # noqa: ARG002
        """Return `current_partition % initial_count`."""
        return current_partition % initial_count


class ExpansionRefusedError(ValueError):
    """An expansion algorithm does not accept a growth, or gives answers that would move keys between tasks."""


class CheckedAlgorithm:
    """An expansion algorithm under its name, whose answers are checked before anybody uses them."""

    def __init__(self, name: str, algorithm: ExpansionAlgorithm) -> None:
        self.name = name
        self._algorithm = algorithm

    def initial_partitions(self, current_count: int, initial_count: int) -> Sequence[int]:
        """Return the initial partition of each partition of now.

        Raises:
            ExpansionRefusedError: the growth is not accepted, or an answer is out of range, or a partition of the
                beginning is not its own.
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
                    f"the expansion algorithm {self.name!r} is wrong: it says that partition {partition} of "
                    f"{current_count} was partition {initial} of {initial_count}, and it can only be {expected}"
                )
        return mapping


MODULO = CheckedAlgorithm(DEFAULT_ALGORITHM, Modulo())


def load_algorithm(name: str) -> CheckedAlgorithm:
    """Return the installed expansion algorithm of that name (entry points of the group `streamapp.expansion`).

    Raises:
        LookupError: no algorithm has that name; the text lists those there are.
        TypeError: the entry point is not an expansion algorithm.
    """
    if name == DEFAULT_ALGORITHM:
        return MODULO
    installed = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in installed:
        names = ", ".join(sorted({DEFAULT_ALGORITHM, *installed}))
        raise LookupError(
            f"no expansion algorithm {name!r} is installed (there are: {names}); install the package that has it "
            f"as an entry point of the group {ENTRY_POINT_GROUP!r}"
        )
    return _loaded(installed[name])


def _loaded(point: EntryPoint) -> CheckedAlgorithm:
    loaded = point.load()
    algorithm = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(algorithm, ExpansionAlgorithm):
        raise TypeError(
            f"the entry point {point.name} = {point.value} is not an expansion algorithm: it needs the methods "
            "accepts(current_count, initial_count) and "
            "get_partition_before_expansion(current_partition, current_count, initial_count)"
        )
    return CheckedAlgorithm(point.name, algorithm)
