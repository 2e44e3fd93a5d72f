"""Upgrades whose drivers do not come to run, and the way back to the last spec that ran (docs/operator.md).

The way back is the edit back: the planner judges it as it would judge a user's, by the job model as it is by now.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamapp_core.deployment.app_record import AcceptedSpec, AppRecord, FailedUpgrade, Launch
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_operator.decide.acceptance import ActiveSpec
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState, classify_edit
from streamapp_operator.decide.restarts import CRASH_LOOP
from streamapp_operator.decide.validation import RESTARTING_EDITS, Planner, PlanRequest, parse_accepted_app
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.pod_problems import PASSING
from streamapp_operator.observe.resource_views import PodPhase

_STUCK_TIMEOUT = timedelta(minutes=1)
"""A pod that Kubernetes can't start for so long has failed, unless that may pass by itself."""
_NOT_RUNNING = (DriverState.LAUNCHING, DriverState.STARTING, DriverState.BACKING_OFF, DriverState.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeDecision:
    """The active spec: with a note that it has come to run, or the last one that did, or just as it was.

    `blocked` says why an upgrade that does not come to run is not rolled back; `wake_at` when to decide again.
    """

    active: ActiveSpec
    blocked: str | None = None
    wake_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """The time at which an upgrade has failed, and why."""

    at: datetime
    reason: str


def decide_upgrade(observed: Observed, active: ActiveSpec, driver: DriverDecision, planner: Planner) -> UpgradeDecision:
    """Decide whether the active spec has come to run, or is rolled back."""
    record = active.record
    if driver.state is DriverState.RUNNING and record.ready != record.accepted:
        noted = record.model_copy(update={"ready": record.accepted})
        return UpgradeDecision(active=_with_record(active, noted, record.accepted))
    unchanged = UpgradeDecision(active=active)
    launch, ready = record.launch, record.ready
    if launch is None or ready is None or driver.state not in _NOT_RUNNING or not _is_upgrade(active, launch, ready):
        return unchanged
    failures = _failures(observed, active, driver, launch)
    failure = min(failures, key=lambda failure: failure.at, default=None)
    if failure is None:
        return unchanged
    if observed.now < failure.at:
        return replace(unchanged, wake_at=failure.at)
    what = f"generation {record.accepted.generation} does not come to run: {failure.reason}"
    back = _previous(record.accepted, ready)
    blocked = _find_blocker(observed, active, launch, back, planner)
    if blocked is not None:
        advice = "Correct the spec: the next edit is tried at once"
        return replace(unchanged, blocked=f"{what}. It is not rolled back, as {blocked}. {advice}")
    failed = FailedUpgrade(app=record.accepted.app, defaults=record.accepted.defaults, reason=what)
    return UpgradeDecision(active=_with_record(active, record.model_copy(update={"failed_upgrade": failed}), back))


def _with_record(active: ActiveSpec, record: AppRecord, accepted: AcceptedSpec) -> ActiveSpec:
    kept = record.with_versions(accepted=accepted, launch=record.launch, texts={})
    return replace(active, record=kept, app=parse_accepted_app(kept.text(accepted)))


def _previous(accepted: AcceptedSpec, ready: AcceptedSpec) -> AcceptedSpec:
    """Return the spec to go back to, with the newest known partition counts of its streams."""
    newer = {name: count for name, count in accepted.counts.items() if name in ready.counts}
    return ready.model_copy(update={"counts": {**ready.counts, **newer}})


def _is_upgrade(active: ActiveSpec, launch: Launch, ready: AcceptedSpec) -> bool:
    """Return whether the driver was launched with a spec that took the place of one that ran."""
    record = active.record
    launched = launch.app == record.accepted.app and launch.stop is None
    if not launched or ready.app == launch.app or not active.app.spec.upgrade.roll_back:
        return False
    readable = read_app(record.text(ready)).app is not None
    return readable and classify_edit(record, ready, record.accepted) in RESTARTING_EDITS


def _failures(observed: Observed, active: ActiveSpec, driver: DriverDecision, launch: Launch) -> Iterator[_Failure]:
    began = launch.first_at or launch.at
    deadline, death = active.app.spec.upgrade.deadline, driver.death
    not_ready = "its driver is not ready" if death is None else death.message
    if not _may_restore(observed, launch):
        yield _Failure(
            at=began + timedelta(milliseconds=deadline),
            reason=f"{not_ready} after {deadline // 1_000} s (upgrade.deadline)",
        )
    if death is not None and (driver.state is DriverState.FAILED or death.attempt >= CRASH_LOOP):
        yield _Failure(at=death.at, reason=f"{death.message}, {death.attempt} times in a row")
    for pod in observed.pods:
        problem = pod.problem if pod.epoch == launch.epoch and pod.active else None
        if problem is not None and problem.reason not in PASSING:
            yield _Failure(at=pod.created_at + _STUCK_TIMEOUT, reason=problem.message)
    if driver.reuse_epoch:
        yield _Failure(at=began + _STUCK_TIMEOUT, reason=observed.memory.refusal or "its pod is refused")


def _may_restore(observed: Observed, launch: Launch) -> bool:
    """Return whether driver and executors run: tasks may restore their state, and a driver dies if they fail."""
    pods = [pod for pod in observed.pods if pod.epoch == launch.epoch and pod.active and pod.phase is PodPhase.RUNNING]
    executors = sum(pod.role == Role.PROCESSOR for pod in pods)
    return executors >= launch.processors and any(pod.role == Role.DRIVER for pod in pods)


def _find_blocker(
    observed: Observed, active: ActiveSpec, launch: Launch, back: AcceptedSpec, planner: Planner
) -> str | None:
    """Return what a return to an earlier spec would break; None if the run continues with it."""
    record = active.record
    if back.run_id != launch.run_id:
        return f"run {launch.run_id} has begun and run {back.run_id} is over"
    opened = observed.locality
    first = launch.first_epoch or launch.epoch
    image = parse_accepted_app(record.text(back)).spec.image
    if opened is not None and opened.epoch >= first and image != active.app.spec.image:
        return f"tasks have opened their state with image {active.app.spec.image}, and {image} may not read it"
    request = PlanRequest(
        text=record.text(back),
        counts=back.counts,
        previous=record.text(record.accepted),
        model=None if observed.model is None else observed.model.model,
        run_id=back.run_id,
        new=False,
    )
    verdict = planner(request)
    if verdict.plan is not None:
        return None
    problem = verdict.problems[0]
    return f"generation {back.generation} does not fit the run any more ({problem.path}: {problem.message})"
