"""Groupers: the assignment of partitions to tasks (docs/expansion.md).

The *plain* task of a partition depends on nothing but the grouper and the partition. An app that keeps state has
*fixed* tasks: a partition of a known stream goes to the task that owned the partition it grew from, so that a key
never leaves its task.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from streamapp_core.problems import ProblemCode
from streamapp_core.spec.job import Grouper
from streamapp_core.ssp import Ssp
from streamapp_core.tasks.expansion import MODULO, CheckedAlgorithm, ExpansionRefusedError
from streamapp_core.tasks.natural_order import natural_key
from streamapp_core.tasks.task_grouping import (
    NO_HISTORY,
    ExpansionError,
    GroupedStream,
    Grouping,
    PreviousGrouping,
)

_ONLY_TASK = "Partition 0"
"""The task of an app that reads broadcast streams only."""


def group_partitions(
    grouper: Grouper,
    streams: Mapping[str, GroupedStream],
    *,
    stateful: bool,
    processors: Iterable[str] = (),
    algorithm: CheckedAlgorithm = MODULO,
    previous: PreviousGrouping = NO_HISTORY,
) -> Grouping:
    """Assign all partitions of all streams to tasks.

    Tasks come in the order of their first SSP. Broadcast streams go to every task and create none,
    except one task where there is nothing else. The order of the
    streams means nothing.

    Args:
        grouper: the rule for partitions without history.
        streams: the current streams.
        stateful: the app keeps state, so tasks are fixed. Otherwise tasks follow the partitions.
        processors: the ids that get a task each under the grouper `all`.
        algorithm: checks the growth of streams with history, if tasks are fixed.
        previous: of the same run id.

    Raises:
        ExpansionError: a stream has fewer partitions than before, or has grown as the algorithm does not accept.
    """
    ordered = dict(sorted(streams.items(), key=lambda item: natural_key(f"{item[1].system}, {item[0]}, ")))
    owned = {name: stream for name, stream in ordered.items() if not stream.broadcast}
    broadcast = _ssps({name: stream for name, stream in ordered.items() if stream.broadcast})
    _refuse_shrunk(owned, previous)
    if grouper is Grouper.ALL:
        everything = (*_ssps(owned), *broadcast)
        tasks = {f"Task-{id_}": everything for id_ in sorted(set(processors), key=natural_key)}
    else:
        owners = _plain_owners(grouper, owned)
        if stateful:
            owners |= _fixed_owners(owned, algorithm, previous)
        tasks = _tasks(owned, owners, broadcast)
    return Grouping(tasks=tasks, changelog=_changelog(tasks, previous))


def plain_task(grouper: Grouper, ssp: Ssp) -> str:
    """Return the task of a partition without history, under a grouper that gives each partition one."""
    if grouper is Grouper.STREAM_PARTITION:
        return f"SystemStreamPartition [{ssp.system}, {ssp.stream}, {ssp.partition}]"
    return f"Partition {ssp.partition}"


def _ssps(streams: Mapping[str, GroupedStream]) -> list[Ssp]:
    return [
        Ssp(stream.system, name, partition)
        for name, stream in streams.items()
        for partition in range(stream.partitions)
    ]


def _refuse_shrunk(owned: Mapping[str, GroupedStream], previous: PreviousGrouping) -> None:
    for name, stream in owned.items():
        history = previous.streams.get(name)
        if history is not None and stream.partitions < history.partitions:
            raise ExpansionError(
                ProblemCode.PARTITION_COUNT_SHRUNK,
                name,
                f"stream {name} has {stream.partitions} partitions and had {history.partitions}: the rows of the "
                f"others are lost. Set it back to {history.partitions}, or start a new run with another runId",
            )


def _plain_owners(grouper: Grouper, owned: Mapping[str, GroupedStream]) -> dict[str, Sequence[str]]:
    return {
        name: [plain_task(grouper, Ssp(stream.system, name, partition)) for partition in range(stream.partitions)]
        for name, stream in owned.items()
    }


def _fixed_owners(
    owned: Mapping[str, GroupedStream], algorithm: CheckedAlgorithm, previous: PreviousGrouping
) -> dict[str, Sequence[str]]:
    """Return the owners of the partitions of streams with history."""
    fixed: dict[str, Sequence[str]] = {}
    for name, before in _previous_owners(owned, previous).items():
        history, partitions = previous.streams[name], owned[name].partitions
        grew_from: Sequence[int] = range(partitions)
        if partitions != history.partitions:
            grew_from = _initial_partitions(name, partitions, history.initial, algorithm)
        try:
            fixed[name] = [before[partition] for partition in grew_from]
        except KeyError as missing:
            raise ValueError(
                f"the previous job model has {history.partitions} partitions of stream {name}, but no task owns "
                f"partition {missing}: it is damaged. Restore it, or start a new run with another runId"
            ) from missing
    return fixed


def _previous_owners(owned: Mapping[str, GroupedStream], previous: PreviousGrouping) -> dict[str, dict[int, str]]:
    """Return the previous owner of each partition. A stream that was broadcast had no owners: it counts as new."""
    known: dict[str, dict[int, str]] = {name: {} for name in owned if name in previous.streams}
    for task, ssps in previous.tasks.items():
        for _, stream, partition in ssps:
            if stream in known and known[stream].setdefault(partition, task) != task:
                del known[stream]
    return known


def _initial_partitions(name: str, current: int, initial: int, algorithm: CheckedAlgorithm) -> Sequence[int]:
    try:
        return algorithm.initial_partitions(current, initial)
    except ExpansionRefusedError as refused:
        raise ExpansionError(
            ProblemCode.UNSUPPORTED_EXPANSION,
            name,
            f"stream {name}: {refused}. Let it grow to a number that is accepted, set job.expansionAlgorithm to one "
            "that accepts this, or start a new run with another runId",
        ) from refused


def _tasks(
    owned: Mapping[str, GroupedStream], owners: Mapping[str, Sequence[str]], broadcast: Sequence[Ssp]
) -> dict[str, tuple[Ssp, ...]]:
    if broadcast and not owned:
        return {_ONLY_TASK: tuple(broadcast)}
    members: defaultdict[str, list[Ssp]] = defaultdict(list)
    tasks = (task for name in owned for task in owners[name])
    for task, ssp in zip(tasks, _ssps(owned), strict=True):
        members[task].append(ssp)
    return {task: (*ssps, *broadcast) for task, ssps in members.items()}


def _changelog(tasks: Iterable[str], previous: PreviousGrouping) -> dict[str, int]:
    """Keep the numbers of known tasks; give new ones the next numbers, in natural order of names."""
    known = previous.changelog
    new = [task for task in tasks if task not in known]
    if previous.tasks:  # else they are plain tasks, which come in natural order
        new.sort(key=natural_key)
    numbers = {task: known[task] for task in tasks if task in known}
    numbers.update(zip(new, count(max(known.values(), default=-1) + 1), strict=False))
    return numbers
