"""The one place where everything about an app is decided: observe -> decide -> act (docs/operator.md).

Level-based: the actions follow from the state as it is, whatever led to it. The process may crash after any of them;
what it decides when it is back leads to the same end.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamapp_core.deployment.app_record import Launch, StopCause
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.stored_job_model import StoredJobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.problems import Problem
from streamapp_operator.decide.acceptance import (
    Acceptance,
    AcceptanceState,
    ActiveSpec,
    accept,
    is_rolled_back,
    plan_active_spec,
)
from streamapp_operator.decide.actions import Action, EmitEvent, WriteJobModel
from streamapp_operator.decide.deletion import decide_deletion, ensure_finalizer
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState, decide_driver
from streamapp_operator.decide.executor_check import check_executors
from streamapp_operator.decide.job_model_decision import decide_job_model, write_first_job_model
from streamapp_operator.decide.launch import (
    build_launch,
    create_driver,
    delete_driver,
    delete_stale_pods,
    ensure_dependencies,
    ensure_network_policy,
    ensure_service_account,
    replace_launch,
    write_record,
)
from streamapp_operator.decide.upgrades import decide_upgrade
from streamapp_operator.decide.validation import Planner
from streamapp_operator.observe.observed_state import AppMemory, AppNetwork, DriverRole, Observed
from streamapp_operator.observe.resource_views import EVENTS_INTERVAL, AppResource

_RECOVERY_INTERVAL = timedelta(minutes=1)
"""The interval at which the coordinator stream is read for a lost job model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContext:
    """The inputs of every decision besides the app: the planner, and settings of the process."""

    planner: Planner
    driver_role: DriverRole
    executor_timeout: timedelta
    network: AppNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The state that the actions of a decision lead to, for the status.

    `driver_decision` is None as long as nothing was accepted; `plan` too, or if this release refuses the active spec,
    which an earlier one has accepted, because of `outdated`.
    `upgrade_blocked` says why an upgrade that does not come to run is not rolled back.
    """

    acceptance: Acceptance
    driver_decision: DriverDecision | None = None
    model: JobModel | None = None
    plan: Plan | None = None
    outdated: tuple[Problem, ...] = ()
    upgrade_blocked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The actions to take, in this order; when to decide again if nothing happens; what to remember until then.

    `outcome` is None if the status stays as it is: of an app that is being deleted, or whose job model is restored.
    """

    actions: tuple[Action, ...]
    wake_at: datetime | None = None
    memory: AppMemory
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _DriverChanges:
    """The actions that a driver's state calls for, and the active spec and job model that they lead to."""

    actions: tuple[Action, ...]
    active: ActiveSpec
    model: JobModel | None
    memory: AppMemory
    wake_at: datetime | None


def decide(observed: Observed, context: DecisionContext) -> Decision:
    """Decide about an app."""
    if observed.app.deleting:
        deletion = decide_deletion(observed)
        return Decision(actions=deletion.actions, wake_at=deletion.wake_at, memory=observed.memory)
    if observed.recovered_model is not None:
        return Decision(actions=tuple(_restore(observed.app, observed.recovered_model)), memory=observed.memory)
    acceptance = accept(observed, context.planner)
    if acceptance.active is None:
        return Decision(
            actions=tuple(ensure_finalizer(observed.app)),
            wake_at=None if observed.unrecoverable is None else observed.now + _RECOVERY_INTERVAL,
            memory=observed.memory,
            outcome=Outcome(acceptance=acceptance),
        )
    return _reconcile(observed, acceptance, acceptance.active, context)


def _restore(app: AppResource, stored: StoredJobModel) -> Iterator[Action]:
    """Put back a job model that was lost; everything else follows from it."""
    yield WriteJobModel(model=stored.model, epoch=stored.epoch, expected=stored.pointer_version)
    yield EmitEvent(
        name=f"{app.key.name}.restored-{stored.epoch}-{stored.model.version}",
        warning=True,
        reason="JobModelRestored",
        message=f"the job model of run {stored.model.run_id} was lost; it was restored from the coordinator stream",
    )


def _reconcile(observed: Observed, acceptance: Acceptance, active: ActiveSpec, context: DecisionContext) -> Decision:
    """Bring an app to its active spec, or to the last one that ran if it does not come to run."""
    driver = decide_driver(observed, active)
    upgrade = decide_upgrade(observed, active, driver, context.planner)
    active = upgrade.active
    if acceptance.state is AcceptanceState.ACCEPTED and is_rolled_back(observed, active.record):
        acceptance = replace(acceptance, state=AcceptanceState.UPGRADE_ROLLED_BACK)
        driver = decide_driver(observed, active)
    verdict = plan_active_spec(observed, active, context.planner)
    changes = _change_driver(observed, active, verdict.plan, driver, context)
    return Decision(
        actions=(*ensure_finalizer(observed.app), *changes.actions),
        wake_at=_earliest(changes.wake_at, upgrade.wake_at, _next_events(observed)),
        memory=changes.memory,
        outcome=Outcome(
            acceptance=replace(acceptance, active=changes.active),
            driver_decision=driver,
            model=changes.model,
            plan=verdict.plan,
            outdated=verdict.problems,
            upgrade_blocked=upgrade.blocked,
        ),
    )


def _change_driver(
    observed: Observed, active: ActiveSpec, plan: Plan | None, driver: DriverDecision, context: DecisionContext
) -> _DriverChanges:
    """Launch or stop the driver, or keep it running, as decided; else write only the record of the active spec."""
    launch = active.record.launch
    unchanged = _DriverChanges(
        actions=tuple(write_record(observed, active.record)),
        active=active,
        model=None if observed.model is None else observed.model.model,
        memory=AppMemory(
            driver_missing_since=driver.missing_since,
            refused_epoch=observed.memory.refused_epoch,
            refusal=observed.memory.refusal,
            disrupted_epoch=driver.disrupted_epoch,
        ),
        wake_at=driver.wake_at,
    )
    can_launch = plan is not None or observed.model is not None
    if driver.launch_cause is not None and can_launch:
        if launch is None or not driver.reuse_epoch:
            launch = build_launch(observed, active, driver.launch_cause, driver.attempt)
        return _launch(unchanged, observed, launch, plan, context)
    if launch is not None and driver.stop_cause is not None:
        return _stop(unchanged, observed, launch, driver.stop_cause)
    if launch is not None and driver.state in (DriverState.STARTING, DriverState.RUNNING):
        return _keep_running(unchanged, observed, launch, plan, context)
    return unchanged


def _launch(
    unchanged: _DriverChanges, observed: Observed, launch: Launch, plan: Plan | None, context: DecisionContext
) -> _DriverChanges:
    """Launch a driver: first the record with its epoch, then its pod, then the job model that lets it begin.

    A crash after the record leaves an epoch that no pod has, and none ever will: as its job model is missing, the
    next decision takes a higher one. After a crash before the job model, it is written while the driver starts.
    """
    active = replace_launch(unchanged.active, launch)
    first = write_first_job_model(observed, launch, plan)
    return replace(
        unchanged,
        actions=(
            *ensure_service_account(observed, active),
            *ensure_network_policy(observed, context.network),
            *write_record(observed, active.record),
            create_driver(observed, active, launch.epoch),
            *first,
            *ensure_dependencies(observed, active, context.driver_role),
            *delete_stale_pods(observed, launch.epoch),
        ),
        active=active,
        model=_resulting_job_model(first, unchanged.model),
    )


def _stop(unchanged: _DriverChanges, observed: Observed, launch: Launch, cause: StopCause) -> _DriverChanges:
    """Stop a driver gracefully; the record says why before its pod is deleted."""
    stopped = launch if launch.stop is not None else launch.model_copy(update={"stop": cause})
    active = replace_launch(unchanged.active, stopped)
    actions = (*write_record(observed, active.record), *delete_driver(observed, launch.epoch))
    return replace(unchanged, actions=actions, active=active)


def _keep_running(
    unchanged: _DriverChanges, observed: Observed, launch: Launch, plan: Plan | None, context: DecisionContext
) -> _DriverChanges:
    """Keep what a driver needs in place, rescale it, and bind its processors to its executors."""
    rescaled = launch.model_copy(update={"processors": unchanged.active.app.spec.processors.count})
    active = replace_launch(unchanged.active, rescaled)
    job_model = decide_job_model(observed, active, rescaled, plan, context.executor_timeout)
    check = check_executors(observed, active, rescaled)
    return replace(
        unchanged,
        actions=(
            *ensure_service_account(observed, active),
            *ensure_network_policy(observed, context.network),
            *ensure_dependencies(observed, active, context.driver_role),
            *write_record(observed, active.record),
            *job_model.actions,
            *delete_stale_pods(observed, launch.epoch),
            *check.actions,
        ),
        active=active,
        model=_resulting_job_model(job_model.actions, unchanged.model),
        memory=replace(
            unchanged.memory,
            executors_missing_since=job_model.missing_since,
            placement_inputs=job_model.placement_inputs,
        ),
        wake_at=_earliest(job_model.wake_at, unchanged.wake_at, check.wake_at),
    )


def _next_events(observed: Observed) -> datetime | None:
    """Return when the events of pods are read again whose containers are not created, if there are any."""
    waiting = any(pod.waiting and pod.deleting_at is None for pod in observed.pods)
    return observed.now + EVENTS_INTERVAL if waiting else None


def _earliest(*times: datetime | None) -> datetime | None:
    return min((time for time in times if time is not None), default=None)


def _resulting_job_model(actions: tuple[WriteJobModel, ...], model: JobModel | None) -> JobModel | None:
    """Return the job model that actions write, or the one that stays."""
    return actions[-1].model if actions else model
