"""The plan of a run: the systems are asked for their streams, the spec is planned; nothing is created yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import Problem
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.app_streams import count_partitions
from streamapp_runtime.asked_systems import explain_missing_streams, find_problems_without_counts
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.functions.function_loader import python_path
from streamapp_runtime.system_problems import find_system_problems
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import Systems


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that can start: its plan, its job model, and `counts`, the partitions of external streams.

    `refused` says why a run that continues does not follow a change of its streams: it reads what it read before.
    """

    plan: Plan
    model: JobModel
    counts: Mapping[str, int]
    refused: tuple[Problem, ...] = ()


def plan_new_run(parsed: ParsedApp, systems: Systems, run_id: str, location: str) -> PlannedRun:
    """Plan a new run on this machine. `location` is where its state is kept.

    Raises:
        PlanRefused: the spec has problems; if a system can't be asked, too, its error is the cause.
        RuntimeFailure: a file of `pyFiles` is missing.
        StreamSystemError: a system can't be asked.
    """
    try:
        counts = {} if parsed.app is None else count_partitions(parsed.app, systems)
    except StreamSystemError as error:
        if problems := find_problems_without_counts(parsed):
            raise PlanRefused(problems) from error
        raise
    plan = _plan(parsed, systems, counts, run_id, None)
    processors = {str(number): location for number in range(plan.app.spec.processors.count)}
    return PlannedRun(plan=plan, model=build_job_model(plan, None, processors), counts=counts)


def replan_run(parsed: ParsedApp, systems: Systems, previous: JobModel, now: int) -> PlannedRun:
    """Plan a run that continues, with the partitions that its streams have now. The new job model is not active yet.

    A growth that the planner accepts is in the plan and the job model; a change that it refuses is in `refused`, and
    plan and job model are the previous ones. `now` is the time of day (ms since 1970).

    Raises:
        PlanRefused, RuntimeFailure, StreamSystemError: as `plan_new_run`, for reasons other than the
            change of the streams.
    """
    return _replan(parsed, systems, _count_streams(parsed, systems, previous), previous, now)


def follow_streams(parsed: ParsedApp, systems: Systems, current: PlannedRun, now: int) -> PlannedRun:
    """Return the run that is `current` if its streams are as it was planned for, else a new plan: see `replan_run`.

    Raises: see `replan_run`.
    """
    found = _count_streams(parsed, systems, current.model)
    if found == current.counts and not current.refused:
        return current
    return _replan(parsed, systems, found, current.model, now)


def _count_streams(parsed: ParsedApp, systems: Systems, previous: JobModel) -> dict[str, int]:
    return {} if parsed.app is None else _without_late(parsed.app, count_partitions(parsed.app, systems), previous)


def _replan(parsed: ParsedApp, systems: Systems, found: dict[str, int], previous: JobModel, now: int) -> PlannedRun:
    refused: tuple[Problem, ...] = ()
    counts = found
    try:
        plan = _plan(parsed, systems, found, previous.run_id, previous)
    except PlanRefused as refusal:
        counts = {
            name: previous.streams[name].partitions if name in previous.streams else found[name] for name in found
        }
        if counts == found:
            raise
        plan, refused = _plan(parsed, systems, counts, previous.run_id, previous), refusal.problems
    processors = {id_: processor.location for id_, processor in previous.processors.items()}
    model = build_job_model(plan, previous, processors, now=now)
    return PlannedRun(plan=plan, model=model, counts=counts, refused=refused)


def _without_late(app: StreamApp, found: Mapping[str, int], previous: JobModel) -> dict[str, int]:
    """Leave out partitions that a bounded stream got after its end was taken: they hold nothing of it."""
    bounded = {name for name, stream in app.spec.streams.items() if _is_bounded(app, stream)} & previous.streams.keys()
    return {
        name: min(count, previous.streams[name].partitions) if name in bounded else count
        for name, count in found.items()
    }


def _is_bounded(app: StreamApp, stream: StreamSpec) -> bool:
    return stream.bounded or app.spec.systems[stream.system].kind is SystemKind.FILE


def _plan(
    parsed: ParsedApp, systems: Systems, counts: Mapping[str, int], run_id: str, previous: JobModel | None
) -> Plan:
    result = make_plan(parsed, counts, previous, run_id=run_id, algorithms=installed_algorithm)
    if result.plan is None:
        raise PlanRefused(explain_missing_streams(result.problems, parsed.app, systems))
    problems = find_system_problems(result.plan, systems)
    if problems:
        raise PlanRefused(problems)
    python_path(result.plan.app.spec.py_files, systems.folder)
    return result.plan
