"""Decisions about the job model: the first one of an epoch, and the next one when executors or processors change."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamapp_core.deployment.app_record import Launch
from streamapp_core.plan.plan import Plan
from streamapp_operator.decide.acceptance import ActiveSpec
from streamapp_operator.decide.actions import WriteJobModel
from streamapp_operator.decide.location_ids import find_location
from streamapp_operator.decide.placement import find_live_executors, place
from streamapp_operator.decide.task_assignment import apply_locality, assign_tasks, build_unbound_processors
from streamapp_operator.observe.observed_state import Observed, PlacementInputs


@dataclass(frozen=True, slots=True, kw_only=True)
class JobModelDecision:
    """The job model to write, if the active one is to change, and what the next decision needs.

    `missing_since`: since when there are fewer executors than processors. `placement_inputs`: those of a placement
    that changed nothing; while they are equal, the job model stays.
    """

    actions: tuple[WriteJobModel, ...] = ()
    missing_since: datetime | None = None
    placement_inputs: PlacementInputs | None = None
    wake_at: datetime | None = None


def decide_job_model(
    observed: Observed, active: ActiveSpec, launch: Launch, plan: Plan | None, timeout: timedelta
) -> JobModelDecision:
    """Decide whether a driver that runs gets another job model."""
    stored = observed.model
    if stored is None or stored.epoch < launch.epoch:
        return JobModelDecision(actions=write_first_job_model(observed, launch, plan))
    if plan is None:
        return JobModelDecision()
    model = apply_locality(stored.model, observed.locality)
    placement = place(
        model,
        find_live_executors(observed, launch.epoch, find_location(active.app.spec.processors)),
        launch.processors,
        now=observed.now,
        missing_since=observed.memory.executors_missing_since,
        timeout=timeout,
    )
    decision = JobModelDecision(missing_since=placement.missing_since, wake_at=placement.wake_at)
    inputs = PlacementInputs(plan=plan, model=stored.model, locality=observed.locality, bindings=placement.bindings)
    if inputs != observed.memory.placement_inputs:
        assigned = assign_tasks(plan, model, placement.bindings, observed.now)
        if assigned.version != stored.model.version:
            write = WriteJobModel(model=assigned, epoch=launch.epoch, expected=stored.pointer_version)
            return replace(decision, actions=(write,))
    return replace(decision, placement_inputs=inputs)


def write_first_job_model(observed: Observed, launch: Launch, plan: Plan | None) -> tuple[WriteJobModel, ...]:
    """Write the job model that an epoch begins with, in which no processor has an executor.

    Without a plan it is the previous one, if that is of the same run; else there is none.
    """
    previous = None if observed.model is None else apply_locality(observed.model.model, observed.locality)
    if plan is not None:
        model = assign_tasks(plan, previous, build_unbound_processors(launch.processors), observed.now)
    elif previous is not None and previous.run_id == launch.run_id:
        model = previous
    else:
        return ()
    return (WriteJobModel(model=model, epoch=launch.epoch, expected=observed.pointer_version),)
