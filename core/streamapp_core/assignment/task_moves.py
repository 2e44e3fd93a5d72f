"""Reasons for moves: one sentence for each task that is not on its previous processor."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamapp_core.assignment.task_origins import ANY_LOCATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A task that changes its processor; `reason` is for people, in logs and events."""

    task: str
    source: str
    target: str
    reason: str


def explain_moves(
    assigned: Mapping[str, str],
    processors: Mapping[str, str],
    task_locality: Mapping[str, str],
    previous: Mapping[str, str],
) -> Iterator[Move]:
    """Explain the moves of an assignment (task -> id), one by one as they are asked for.

    The other arguments are those of `assign`. Tasks without a previous processor did not move.
    """
    live_locations = {location for location in processors.values() if location != ANY_LOCATION}
    for task, target in assigned.items():
        source = previous.get(task, target)
        if source == target:
            continue
        state_at = task_locality.get(task, ANY_LOCATION)
        reason = (
            f"{_why_it_left(source, processors, state_at, live_locations)}; "
            f"{_where_it_went(processors[target], target, state_at, live_locations)}"
        )
        yield Move(task=task, source=source, target=target, reason=reason)


def _why_it_left(source: str, processors: Mapping[str, str], state_at: str, live_locations: set[str]) -> str:
    if source not in processors:
        return f"processor {source} is gone"
    if state_at in live_locations and processors[source] != state_at:
        return f"processor {source} is not at {state_at}"
    return f"processor {source} has its share of tasks"


def _where_it_went(location: str, target: str, state_at: str, live_locations: set[str]) -> str:
    place = f"placed at {location}" if location != ANY_LOCATION else f"placed on processor {target}"
    if state_at == ANY_LOCATION:
        return place
    if state_at == location:
        return f"{place}, where its state is"
    if state_at not in live_locations:
        return f"no processor is at {state_at}, where its state is; {place}"
    return f"{state_at}, where its state is, has its share of tasks; {place}"
