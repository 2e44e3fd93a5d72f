"""Origins of tasks: their location and previous processor, as far as these are live."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ANY_LOCATION = "any"
"""The location of processors about which nothing is known. It matches no location, not even itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The tasks whose state is at one location (None: at none that is live), by their live previous processor."""

    location: str | None
    tasks: Mapping[str | None, Sequence[str]]

    @property
    def size(self) -> int:
        """The number of tasks."""
        return sum(map(len, self.tasks.values()))


def origins(
    tasks: Sequence[str], live: Mapping[str, str], task_locality: Mapping[str, str], previous: Mapping[str, str]
) -> list[Origin]:
    """Group tasks by location and previous processor.

    Args:
        tasks: in the order they keep within their groups.
        live: id -> location of the processors, in the order that the groups get.
        task_locality: task -> location.
        previous: task -> id.
    """
    locations = [*dict.fromkeys(location for location in live.values() if location != ANY_LOCATION), None]
    groups: dict[str | None, dict[str | None, list[str]]] = {location: {} for location in locations}
    for task in tasks:
        location = task_locality.get(task)
        before = previous.get(task)
        group = groups[location if location in groups else None]
        group.setdefault(before if before in live else None, []).append(task)
    return [Origin(location=location, tasks=group) for location, group in groups.items() if group]
