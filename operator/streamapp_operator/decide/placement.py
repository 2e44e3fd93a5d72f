"""Which executor is which processor, and where: the places from which tasks are assigned (design 6).

A processor keeps its executor as long as that lives. One that lost it gets a free one, at best where most of its tasks
have their state. If there is none for a while, the others take the tasks over, until it comes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamapp_core.assignment import ANY_LOCATION
from streamapp_core.deployment.driver_reports import LocalityReport
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel, ProcessorModel
from streamapp_core.plan.plan import Plan
from streamapp_core.spec.processors import Location
from streamapp_core.tasks.natural_order import natural_key
from streamapp_operator.decide.location_ids import location_id
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.resource_views import PodPhase

ExecutorBindings = Mapping[str, ProcessorModel]
"""Processor -> its executor and location."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The bindings as they should be. `missing_since`: since when there are fewer executors than processors."""

    bindings: ExecutorBindings
    missing_since: datetime | None = None
    wake_at: datetime | None = None


def find_live_executors(observed: Observed, epoch: int, location: Location) -> ExecutorBindings:
    """Give the executors of an epoch that run, and where they are, by executor."""
    running = [
        pod
        for pod in observed.pods_of(Role.PROCESSOR, epoch)
        if pod.live and pod.phase is PodPhase.RUNNING and pod.executor is not None
    ]
    return {
        executor: ProcessorModel(location=location_id(pod, location), executor=executor)
        for pod in sorted(running, key=lambda pod: natural_key(pod.executor or ""))
        if (executor := pod.executor) is not None
    }


def place(
    observed: Observed, model: JobModel, executors: ExecutorBindings, wanted: int, patience: timedelta
) -> Placement:
    """Give `wanted` processors their executors; without enough of them, wait, and then go on with those that live."""
    ids = [str(number) for number in range(wanted)]
    missing_since = None
    if len(executors) < wanted:
        missing_since = observed.memory.executors_missing_since or observed.now
        if observed.now < missing_since + patience:
            waiting = {id_: seat for id_, seat in model.processors.items() if id_ in ids}
            bindings = waiting or model.processors
            return Placement(bindings=bindings, missing_since=missing_since, wake_at=missing_since + patience)
    bindings = _seated(model, executors, ids)
    return Placement(bindings=bindings or model.processors, missing_since=missing_since)


def _seated(model: JobModel, executors: ExecutorBindings, ids: Sequence[str]) -> ExecutorBindings:
    kept = {id_: model.processors[id_].executor for id_ in ids if id_ in model.processors}
    bindings = {id_: executors[name] for id_, name in kept.items() if name is not None and name in executors}
    taken = {seat.executor for seat in bindings.values()}
    free = [seat for name, seat in executors.items() if name not in taken]
    homes = _homes(model)
    empty = [id_ for id_ in ids if id_ not in bindings]
    for id_ in [id_ for id_ in empty if id_ in homes]:
        at_home = next((seat for seat in free if seat.location == homes[id_]), None)
        if at_home is not None:
            bindings[id_] = at_home
            free.remove(at_home)
    rest = (id_ for id_ in empty if id_ not in bindings)
    bindings.update(zip(rest, free, strict=False))
    return {id_: bindings[id_] for id_ in ids if id_ in bindings}


def _homes(model: JobModel) -> Mapping[str, str]:
    """Tell where most of the tasks of each processor have their state."""
    found: dict[str, Counter[str]] = {}
    for task in model.tasks.values():
        if task.location is not None:
            found.setdefault(task.processor, Counter())[task.location] += 1
    return {id_: max(sorted(counts), key=counts.__getitem__) for id_, counts in found.items()}


def assign_tasks(plan: Plan, previous: JobModel | None, bindings: ExecutorBindings, now: datetime) -> JobModel:
    """Assign the tasks to the processors in their bindings: the next job model, or the previous one if nothing changes.

    Host affinity is in the assignment: `previous` says where the tasks have their state.
    """
    plain = previous
    if previous is not None:
        at = {id_: ProcessorModel(location=seat.location) for id_, seat in previous.processors.items()}
        plain = previous.model_copy(update={"processors": at})
    locations = {id_: seat.location for id_, seat in bindings.items()}
    built = build_job_model(plan, plain, locations, now=int(now.timestamp() * 1_000))
    model = built.model_copy(update={"processors": dict(bindings)})
    if previous is None:
        return model
    if model.model_copy(update={"version": previous.version}) == previous:
        return previous
    return model.model_copy(update={"version": previous.version + 1})


def unbound_processors(wanted: int) -> ExecutorBindings:
    """Give the bindings of a driver that has no executors yet."""
    return {str(number): ProcessorModel(location=ANY_LOCATION) for number in range(wanted)}


def apply_locality(model: JobModel, report: LocalityReport | None) -> JobModel:
    """Note where the tasks have opened their state, as the driver reports; the version stays."""
    if report is None or report.run_id != model.run_id:
        return model
    reported = {number: location for location, numbers in report.locations.items() for number in numbers}
    tasks = {
        name: task.model_copy(update={"location": reported.get(task.changelog_partition, task.location)})
        for name, task in model.tasks.items()
    }
    return model.model_copy(update={"tasks": tasks})
