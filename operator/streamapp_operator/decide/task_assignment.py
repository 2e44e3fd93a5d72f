"""Tasks assigned to bound processors: from a plan and bindings to a job model (docs/host-affinity.md)."""

from datetime import datetime

from streamapp_core.assignment import ANY_LOCATION
from streamapp_core.deployment.driver_reports import LocalityReport
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel, ProcessorModel, TaskModel
from streamapp_core.plan.plan import Plan
from streamapp_operator.decide.placement import ExecutorBindings


def assign_tasks(plan: Plan, previous: JobModel | None, bindings: ExecutorBindings, now: datetime) -> JobModel:
    """Assign the tasks to bound processors: the next job model, or the previous one if nothing changes.

    `previous` says where the tasks have their state; the assignment keeps them there as far as it can.
    """
    unbound = previous
    if previous is not None:
        at = {id_: ProcessorModel(location=processor.location) for id_, processor in previous.processors.items()}
        unbound = previous.model_copy(update={"processors": at})
    locations = {id_: binding.location for id_, binding in bindings.items()}
    built = build_job_model(plan, unbound, locations, now=int(now.timestamp() * 1_000))
    model = built.model_copy(update={"processors": dict(bindings)})
    if previous is None:
        return model
    if model.model_copy(update={"version": previous.version}) == previous:
        return previous
    return model.model_copy(update={"version": previous.version + 1})


def build_unbound_processors(wanted: int) -> ExecutorBindings:
    """Return the processors of a driver that has no executors yet."""
    return {str(number): ProcessorModel(location=ANY_LOCATION) for number in range(wanted)}


def apply_locality(model: JobModel, report: LocalityReport | None) -> JobModel:
    """Set the tasks' locations to those where the driver reports that they opened their state; the version stays.

    The location that a task leaves is its former one.
    """
    if report is None or report.run_id != model.run_id:
        return model
    reported = {number: location for location, numbers in report.locations.items() for number in numbers}
    tasks = {name: _locate(task, reported.get(task.changelog_partition)) for name, task in model.tasks.items()}
    return model.model_copy(update={"tasks": tasks})


def _locate(task: TaskModel, location: str | None) -> TaskModel:
    if location is None or location == task.location:
        return task
    return task.model_copy(update={"location": location, "former_location": task.location})
