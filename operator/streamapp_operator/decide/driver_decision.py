"""The life of the driver: when it is launched, stopped, launched again, and when it is done."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from streamapp_core.deployment.app_record import Launch, LaunchCause, StopCause
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.edits import EditClass
from streamapp_operator.decide.acceptance import ActiveSpec, expanded, launched_edit
from streamapp_operator.decide.restarts import Death, death
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.resource_views import Pod

_OVERDUE = timedelta(seconds=20)
"""A pod that is still there so long after its time to end is on a node that does not answer: it is not waited for, as
a higher epoch fences whatever it still does."""

_RESTARTING = (EditClass.RESTART, EditClass.RESTORE, EditClass.NEW_RUN)
_AFTER = {
    StopCause.SUSPENDED: LaunchCause.RESUMED,
    StopCause.EDITED: LaunchCause.EDITED,
    StopCause.EXPANDED: LaunchCause.EXPANDED,
}


class DriverState(StrEnum):
    """Where the driver is in its life."""

    SUSPENDED = "Suspended"
    LAUNCHING = "Launching"
    STARTING = "Starting"
    RUNNING = "Running"
    DRAINING = "Draining"
    BACKING_OFF = "BackingOff"
    GIVEN_UP = "GivenUp"
    COMPLETED = "Completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverDecision:
    """The driver's state and what is to be done: launch one because of `launch`, or stop the one that lives.

    `same_epoch`: the epoch was advanced already, and nobody can have run in it.
    `attempt` is the number of deaths in a row; `wake_at` when to look again if nothing happens.
    """

    state: DriverState
    pod: Pod | None = None
    launch: LaunchCause | None = None
    attempt: int = 0
    same_epoch: bool = False
    stop: StopCause | None = None
    death: Death | None = None
    wake_at: datetime | None = None
    missing_since: datetime | None = None


def drive(observed: Observed, in_force: ActiveSpec) -> DriverDecision:
    """Decide about the driver of an app that has a spec in force."""
    launch = in_force.record.launch
    if launch is None:
        if in_force.suspended:
            return DriverDecision(state=DriverState.SUSPENDED)
        cause = LaunchCause.FIRST_START if observed.model is None else LaunchCause.RECORD_LOST
        return DriverDecision(state=DriverState.LAUNCHING, launch=cause)
    pod = next(iter(observed.pods_of(Role.DRIVER, launch.epoch)), None)
    if _completed(observed, in_force, launch):
        return DriverDecision(state=DriverState.COMPLETED, pod=pod)
    stop = launch.stop or _reason_to_stop(observed, in_force)
    if pod is not None and not pod.finished:
        return _alive(pod, stop, observed.now, suspended=in_force.suspended)
    if in_force.suspended:
        return DriverDecision(state=DriverState.SUSPENDED, pod=pod)
    return _ended(observed, in_force, launch, pod, stop)


def _ended(
    observed: Observed, in_force: ActiveSpec, launch: Launch, pod: Pod | None, stop: StopCause | None
) -> DriverDecision:
    if stop is not None:
        new_run = launch.run_id != in_force.accepted.run_id
        cause = LaunchCause.NEW_RUN if new_run else _AFTER[stop]
        return DriverDecision(state=DriverState.LAUNCHING, pod=pod, launch=cause)
    if pod is None and not _was_launched(observed, launch):
        refused = observed.memory.refused_epoch == launch.epoch
        return DriverDecision(
            state=DriverState.LAUNCHING, launch=launch.cause, attempt=launch.attempt, same_epoch=refused
        )
    return _dead(observed, in_force, launch, pod)


def _alive(pod: Pod, stop: StopCause | None, now: datetime, *, suspended: bool) -> DriverDecision:
    if pod.deleting_at is not None:
        overdue = pod.deleting_at + _OVERDUE
        if now < overdue:
            return DriverDecision(state=DriverState.DRAINING, pod=pod, wake_at=overdue)
        if suspended:
            return DriverDecision(state=DriverState.SUSPENDED, pod=pod)
        cause = LaunchCause.DRIVER_DIED if stop is None else _AFTER[stop]
        return DriverDecision(state=DriverState.LAUNCHING, pod=pod, launch=cause)
    if stop is not None:
        return DriverDecision(state=DriverState.DRAINING, pod=pod, stop=stop)
    return DriverDecision(state=DriverState.RUNNING if pod.ready else DriverState.STARTING, pod=pod)


def _dead(observed: Observed, in_force: ActiveSpec, launch: Launch, pod: Pod | None) -> DriverDecision:
    missing_since = observed.memory.driver_missing_since or observed.now
    policy = in_force.app.spec.restart_policy
    ended = death(launch, pod, missing_since, policy, observed.app.uid)
    state, cause = DriverState.BACKING_OFF, None
    if ended.again_at is None:
        state = DriverState.GIVEN_UP
    elif observed.now >= ended.again_at:
        state, cause = DriverState.LAUNCHING, LaunchCause.DRIVER_DIED
    return DriverDecision(
        state=state,
        pod=pod,
        launch=cause,
        attempt=ended.attempt,
        death=ended,
        wake_at=ended.again_at,
        missing_since=missing_since,
    )


def _completed(observed: Observed, in_force: ActiveSpec, launch: Launch) -> bool:
    report = observed.progress
    return (
        report is not None
        and report.phase is DriverPhase.COMPLETED
        and (report.run_id, report.epoch) == (launch.run_id, launch.epoch)
        and launch.run_id == in_force.accepted.run_id
    )


def _reason_to_stop(observed: Observed, in_force: ActiveSpec) -> StopCause | None:
    if in_force.suspended:
        return StopCause.SUSPENDED
    if launched_edit(in_force) in _RESTARTING:
        return StopCause.EDITED
    return StopCause.EXPANDED if expanded(observed, in_force) else None


def _was_launched(observed: Observed, launch: Launch) -> bool:
    """Tell whether the pod of this epoch has ever been made: its job model is written right after it."""
    return observed.model is not None and observed.model.epoch >= launch.epoch
