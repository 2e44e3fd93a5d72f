"""Decisions about the driver: when it is launched, stopped, restarted, and when it has completed."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from streamapp_core.deployment.app_record import AppRecord, AppVersion, Launch, LaunchCause, StopCause
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.edits import EditClass
from streamapp_operator.decide.acceptance import ActiveSpec, inputs_differ
from streamapp_operator.decide.restarts import DriverDeath, assess_death, assess_disruption
from streamapp_operator.decide.validation import RESTARTING_EDITS, classify_texts
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.resource_views import Pod

_NODE_TIMEOUT = timedelta(seconds=20)
"""A pod that is there so long after its grace period is on a node that does not answer: it is not waited for, as a
higher epoch fences whatever it still does."""

_LAUNCH_AFTER_STOP = {
    StopCause.SUSPENDED: LaunchCause.RESUMED,
    StopCause.EDITED: LaunchCause.EDITED,
    StopCause.EXPANDED: LaunchCause.EXPANDED,
    StopCause.UNKNOWN: LaunchCause.UNKNOWN,
}


class DriverState(StrEnum):
    """The states of a driver."""

    SUSPENDED = "Suspended"
    LAUNCHING = "Launching"
    STARTING = "Starting"
    RUNNING = "Running"
    DRAINING = "Draining"
    BACKING_OFF = "BackingOff"
    FAILED = "Failed"
    COMPLETED = "Completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverDecision:
    """The driver's state, and what to do: launch one because of `launch_cause`, or stop it because of `stop_cause`.

    `reuse_epoch`: the epoch was advanced already, and no pod can have run in it.
    `attempt` is the number of deaths in a row; `missing_since` when its pod was first seen to be missing or dead;
    `wake_at` when to decide again if nothing happens. Kubernetes ended the pod of `disrupted_epoch`.
    """

    state: DriverState
    pod: Pod | None = None
    launch_cause: LaunchCause | None = None
    attempt: int = 0
    reuse_epoch: bool = False
    stop_cause: StopCause | None = None
    death: DriverDeath | None = None
    wake_at: datetime | None = None
    missing_since: datetime | None = None
    disrupted_epoch: int | None = None


def decide_driver(observed: Observed, active: ActiveSpec) -> DriverDecision:
    """Decide about the driver of an app that has an active spec."""
    launch = active.record.launch
    if launch is None:
        return _decide_first_launch(observed, active)
    pod = next(iter(observed.pods_of(Role.DRIVER, launch.epoch)), None)
    decision = _decide_launched(observed, active, launch, pod)
    return replace(decision, disrupted_epoch=launch.epoch) if _was_disrupted(observed, launch, pod) else decision


def _decide_launched(observed: Observed, active: ActiveSpec, launch: Launch, pod: Pod | None) -> DriverDecision:
    if _has_completed(observed, active, launch):
        return DriverDecision(state=DriverState.COMPLETED, pod=pod)
    stop_cause = launch.stop or _find_stop_cause(observed, active)
    if pod is not None and not pod.finished:
        return _decide_live(pod, stop_cause, observed.now, suspended=active.suspended)
    if active.suspended:
        return DriverDecision(state=DriverState.SUSPENDED, pod=pod)
    return _decide_ended(observed, active, launch, pod, stop_cause)


def classify_edit_since_launch(active: ActiveSpec) -> EditClass:
    """Return what the edits since the driver's launch do to it."""
    launch = active.record.launch
    if launch is None or launch.app == active.accepted.app:
        return EditClass.NONE
    return classify_edit(active.record, launch, active.accepted)


def classify_edit(record: AppRecord, before: AppVersion, after: AppVersion) -> EditClass:
    """Return what the edits between two versions of an app do to a driver of the earlier one."""
    return classify_texts(record.text(before), record.text(after), before.run_id)


def have_inputs_expanded(observed: Observed, active: ActiveSpec) -> bool:
    """Return whether streams that the launched driver reads were accepted with other partition counts since."""
    launch = active.record.launch
    return launch is not None and inputs_differ(observed, launch.counts, active.accepted.counts)


def _decide_first_launch(observed: Observed, active: ActiveSpec) -> DriverDecision:
    if active.suspended:
        return DriverDecision(state=DriverState.SUSPENDED)
    cause = LaunchCause.FIRST_START if observed.model is None else LaunchCause.RECORD_LOST
    return DriverDecision(state=DriverState.LAUNCHING, launch_cause=cause)


def _decide_live(pod: Pod, stop_cause: StopCause | None, now: datetime, *, suspended: bool) -> DriverDecision:
    if pod.deleting_at is not None:
        return _decide_terminating(pod, pod.deleting_at + _NODE_TIMEOUT, stop_cause, now, suspended=suspended)
    if stop_cause is not None:
        return DriverDecision(state=DriverState.DRAINING, pod=pod, stop_cause=stop_cause)
    return DriverDecision(state=DriverState.RUNNING if pod.ready else DriverState.STARTING, pod=pod)


def _decide_terminating(
    pod: Pod, deadline: datetime, stop_cause: StopCause | None, now: datetime, *, suspended: bool
) -> DriverDecision:
    """Wait until the deadline for a pod that is being deleted."""
    if now < deadline:
        return DriverDecision(state=DriverState.DRAINING, pod=pod, wake_at=deadline)
    if suspended:
        return DriverDecision(state=DriverState.SUSPENDED, pod=pod)
    cause = LaunchCause.DRIVER_DIED if stop_cause is None else _LAUNCH_AFTER_STOP[stop_cause]
    return DriverDecision(state=DriverState.LAUNCHING, pod=pod, launch_cause=cause)


def _decide_ended(
    observed: Observed, active: ActiveSpec, launch: Launch, pod: Pod | None, stop_cause: StopCause | None
) -> DriverDecision:
    if stop_cause is not None:
        new_run = launch.run_id != active.accepted.run_id
        cause = LaunchCause.NEW_RUN if new_run else _LAUNCH_AFTER_STOP[stop_cause]
        return DriverDecision(state=DriverState.LAUNCHING, pod=pod, launch_cause=cause)
    if pod is None and not _was_launched(observed, launch):
        return _decide_unfinished_launch(observed, launch)
    return _decide_restart(observed, active, launch, pod)


def _decide_unfinished_launch(observed: Observed, launch: Launch) -> DriverDecision:
    """Launch again after a crash between advancing the epoch and writing the epoch's job model."""
    return DriverDecision(
        state=DriverState.LAUNCHING,
        launch_cause=launch.cause,
        attempt=launch.attempt,
        reuse_epoch=observed.memory.refused_epoch == launch.epoch,
    )


def _decide_restart(observed: Observed, active: ActiveSpec, launch: Launch, pod: Pod | None) -> DriverDecision:
    """Restart a driver that died after a backoff, and one that Kubernetes ended at once."""
    missing_since = observed.memory.driver_missing_since or observed.now
    policy = active.app.spec.restart_policy
    if _was_disrupted(observed, launch, pod):
        death = assess_disruption(launch, pod, missing_since, policy)
    else:
        death = assess_death(launch, pod, missing_since, policy, observed.app.uid)
    state, cause = DriverState.BACKING_OFF, None
    if death.restart_at is None:
        state = DriverState.FAILED
    elif observed.now >= death.restart_at:
        state, cause = DriverState.LAUNCHING, LaunchCause.DRIVER_DIED
    return DriverDecision(
        state=state,
        pod=pod,
        launch_cause=cause,
        attempt=death.attempt,
        death=death,
        wake_at=death.restart_at,
        missing_since=missing_since,
    )


def _has_completed(observed: Observed, active: ActiveSpec, launch: Launch) -> bool:
    report = observed.progress
    return (
        report is not None
        and report.phase is DriverPhase.COMPLETED
        and (report.run_id, report.epoch) == (launch.run_id, launch.epoch)
        and launch.run_id == active.accepted.run_id
    )


def _find_stop_cause(observed: Observed, active: ActiveSpec) -> StopCause | None:
    if active.suspended:
        return StopCause.SUSPENDED
    if classify_edit_since_launch(active) in RESTARTING_EDITS:
        return StopCause.EDITED
    return StopCause.EXPANDED if have_inputs_expanded(observed, active) else None


def _was_disrupted(observed: Observed, launch: Launch, pod: Pod | None) -> bool:
    """Return whether Kubernetes ended the pod of a launch, which may be gone by now."""
    return observed.memory.disrupted_epoch == launch.epoch or (pod is not None and pod.disrupted)


def _was_launched(observed: Observed, launch: Launch) -> bool:
    """Return whether the pod of this epoch was ever created: the epoch's job model is written right after it."""
    return observed.model is not None and observed.model.epoch >= launch.epoch
