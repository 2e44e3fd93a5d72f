"""The bindings of processors to executors, from which tasks are assigned (docs/host-affinity.md).

A processor keeps its executor while that lives. One that lost it returns to an executor where most of its tasks have
their state, or gets any free one. If there is none until a timeout, the other processors take its tasks over.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.job_model.job_model import JobModel, ProcessorModel
from streamapp_core.spec.processors import Location
from streamapp_core.tasks.natural_order import natural_key
from streamapp_operator.decide.location_ids import find_location_id
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.resource_views import PodPhase

ExecutorBindings = Mapping[str, ProcessorModel]
"""Processor -> its executor and that one's location."""
LiveExecutors = Mapping[str, ProcessorModel]
"""Executor -> the value that binds a processor to it; in natural order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The bindings to use now. `missing_since`: since when there are fewer executors than processors."""

    bindings: ExecutorBindings
    missing_since: datetime | None = None
    wake_at: datetime | None = None


def find_live_executors(observed: Observed, epoch: int, location: Location) -> LiveExecutors:
    """Return the executors of an epoch that run, with their locations."""
    running = {
        pod.executor: pod
        for pod in observed.pods_of(Role.PROCESSOR, epoch)
        if pod.active and pod.phase is PodPhase.RUNNING and pod.executor is not None
    }
    return {
        executor: ProcessorModel(location=find_location_id(running[executor], location), executor=executor)
        for executor in sorted(running, key=natural_key)
    }


def place(
    model: JobModel,
    executors: LiveExecutors,
    wanted: int,
    *,
    now: datetime,
    missing_since: datetime | None,
    timeout: timedelta,
) -> Placement:
    """Bind `wanted` processors to executors.

    With too few executors nothing moves until the timeout; then the other processors take over the tasks of those
    without one. As long as none runs there are no others, and the timeout has not begun.

    Args:
        model: the active job model, with the newest locations of its tasks.
        executors: the executors that run.
        wanted: the number of processors.
        now: the time of day.
        missing_since: since when there have been too few executors, if there were at the last placement.
        timeout: how long tasks wait for a lost executor's successor.
    """
    processors = [str(number) for number in range(wanted)]
    if len(executors) >= wanted:
        return Placement(bindings=bind(model, executors, processors))
    unmoved = {id_: binding for id_, binding in model.processors.items() if id_ in processors} or model.processors
    if not executors:
        return Placement(bindings=unmoved)
    since = missing_since or now
    if now < since + timeout:
        return Placement(bindings=unmoved, missing_since=since, wake_at=since + timeout)
    return Placement(bindings=bind(model, executors, processors) or model.processors, missing_since=since)


def bind(model: JobModel, executors: LiveExecutors, processors: Sequence[str]) -> ExecutorBindings:
    """Bind processors to executors, one each; without enough executors the last processors get none."""
    kept = keep_live(model.processors, executors, processors)
    returned = return_home(kept, executors, processors, find_homes(model))
    filled = fill(returned, executors, processors)
    return {id_: filled[id_] for id_ in processors if id_ in filled}


def keep_live(previous: ExecutorBindings, executors: LiveExecutors, processors: Sequence[str]) -> ExecutorBindings:
    """Keep the binding of every processor whose executor lives."""
    bound = {id_: previous[id_].executor for id_ in processors if id_ in previous}
    return {
        id_: executors[executor] for id_, executor in bound.items() if executor is not None and executor in executors
    }


def return_home(
    bindings: ExecutorBindings, executors: LiveExecutors, processors: Sequence[str], homes: Mapping[str, str]
) -> ExecutorBindings:
    """Bind processors without an executor to free ones at their homes, as far as there are any."""
    free = _find_free(bindings, executors)
    returned: dict[str, ProcessorModel] = {}
    for id_ in processors:
        if id_ not in bindings and id_ in homes:
            at_home = next((executor for executor in free if executor.location == homes[id_]), None)
            if at_home is not None:
                returned[id_] = at_home
                free.remove(at_home)
    return {**bindings, **returned}


def fill(bindings: ExecutorBindings, executors: LiveExecutors, processors: Sequence[str]) -> ExecutorBindings:
    """Bind processors without an executor to the free ones, in order."""
    unbound = [id_ for id_ in processors if id_ not in bindings]
    return {**bindings, **dict(zip(unbound, _find_free(bindings, executors), strict=False))}


def find_homes(model: JobModel) -> Mapping[str, str]:
    """Return for each processor the location where most of its tasks have their state, if they have any."""
    counts: dict[str, Counter[str]] = {}
    for task in model.tasks.values():
        if task.location is not None:
            counts.setdefault(task.processor, Counter())[task.location] += 1
    return {id_: max(sorted(locations), key=locations.__getitem__) for id_, locations in counts.items()}


def _find_free(bindings: ExecutorBindings, executors: LiveExecutors) -> list[ProcessorModel]:
    taken = {binding.executor for binding in bindings.values()}
    return [binding for executor, binding in executors.items() if executor not in taken]
