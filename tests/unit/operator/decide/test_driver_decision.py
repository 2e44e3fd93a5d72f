"""The driver's state, and whether it is launched or stopped."""

from datetime import timedelta

import pytest

from streamapp_core.deployment.app_record import LaunchCause, StopCause
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.edits import EditClass
from streamapp_operator.decide.driver_decision import (
    DriverState,
    classify_edit_since_launch,
    decide_driver,
    have_inputs_expanded,
)
from streamapp_operator.observe.observed_state import AppMemory
from streamapp_operator.observe.resource_views import PodPhase
from support.observed_values import (
    COUNTS,
    EDITED,
    GROWN,
    NOW,
    SECOND,
    active,
    driver,
    launch,
    observe,
    observe_running,
    progress,
    resource,
)

ENDING = driver(deleting_at=NOW)
"""A pod whose grace period ends now."""
FAILED = driver(phase=PodPhase.FAILED, started_at=NOW, finished_at=NOW, exit_code=1)
NEW_RUN = {"run_id": "r2"}
OVERDUE = 20 * SECOND


def decided(spec, *, pods=(), model=True, **fields):
    observed = observe_running(pods=pods, **fields) if model else observe(pods=pods, **fields)
    return decide_driver(observed, spec)


@pytest.mark.parametrize(
    "spec, model, state, cause",
    [
        (active(launch=None), False, DriverState.LAUNCHING, LaunchCause.FIRST_START),
        (active(launch=None), True, DriverState.LAUNCHING, LaunchCause.RECORD_LOST),
        (active(launch=None, suspended=True), False, DriverState.SUSPENDED, None),
        (active(launch=None, suspended=True), True, DriverState.SUSPENDED, None),
    ],
)
def test_an_app_without_a_launch_gets_one_unless_it_is_suspended(spec, model, state, cause):
    decision = decided(spec, model=model)
    assert (decision.state, decision.launch_cause) == (state, cause)


@pytest.mark.parametrize(
    "spec, pod, state, stop",
    [
        (active(), driver(ready=True), DriverState.RUNNING, None),
        (active(), driver(), DriverState.STARTING, None),
        (active(), driver(phase=PodPhase.PENDING), DriverState.STARTING, None),
        (active(suspended=True), driver(ready=True), DriverState.DRAINING, StopCause.SUSPENDED),
        (active(EDITED), driver(ready=True), DriverState.DRAINING, StopCause.EDITED),
        (active(resource(restartPolicy={"backoff": "1s"})), driver(ready=True), DriverState.RUNNING, None),
        (active(counts=GROWN), driver(), DriverState.DRAINING, StopCause.EXPANDED),
        (active(EDITED, counts=GROWN), driver(), DriverState.DRAINING, StopCause.EDITED),
        (active(EDITED, suspended=True), driver(), DriverState.DRAINING, StopCause.SUSPENDED),
        (active(launch=launch(stop=StopCause.EXPANDED)), driver(), DriverState.DRAINING, StopCause.EXPANDED),
    ],
    ids=[
        "ready",
        "not ready",
        "pending",
        "suspended",
        "edited",
        "edited without effect",
        "grown",
        "edited and grown",
        "edited and suspended",
        "stop noted before",
    ],
)
def test_a_live_driver_runs_until_there_is_a_cause_to_stop_it(spec, pod, state, stop):
    decision = decided(spec, pods=(pod,))
    assert (decision.state, decision.stop_cause, decision.launch_cause) == (state, stop, None)


@pytest.mark.parametrize(
    "spec, now, state, cause, wake_at",
    [
        (active(), NOW, DriverState.DRAINING, None, NOW + OVERDUE),
        (active(), NOW + OVERDUE - SECOND, DriverState.DRAINING, None, NOW + OVERDUE),
        (active(), NOW + OVERDUE, DriverState.LAUNCHING, LaunchCause.DRIVER_DIED, None),
        (active(EDITED), NOW + OVERDUE, DriverState.LAUNCHING, LaunchCause.EDITED, None),
        (active(suspended=True), NOW + OVERDUE, DriverState.SUSPENDED, None, None),
    ],
    ids=["in time", "just in time", "overdue", "overdue, edited", "overdue, suspended"],
)
def test_a_terminating_pod_is_waited_for_until_its_node_is_overdue(spec, now, state, cause, wake_at):
    decision = decided(spec, pods=(ENDING,), now=now)
    assert (decision.state, decision.launch_cause, decision.wake_at) == (state, cause, wake_at)


@pytest.mark.parametrize(
    "stop, spec, cause",
    [
        (StopCause.EDITED, active(EDITED, launch=launch(stop=StopCause.EDITED)), LaunchCause.EDITED),
        (StopCause.EXPANDED, active(launch=launch(stop=StopCause.EXPANDED), counts=GROWN), LaunchCause.EXPANDED),
        (StopCause.SUSPENDED, active(launch=launch(stop=StopCause.SUSPENDED)), LaunchCause.RESUMED),
        (StopCause.EDITED, active(launch=launch(stop=StopCause.EDITED), **NEW_RUN), LaunchCause.NEW_RUN),
    ],
)
@pytest.mark.parametrize("pods", [(), (FAILED,)], ids=["pod gone", "pod failed"])
def test_a_driver_that_was_stopped_is_launched_again_at_once(stop, spec, cause, pods):
    decision = decided(spec, pods=pods)
    assert (decision.state, decision.launch_cause, decision.attempt) == (DriverState.LAUNCHING, cause, 0)


def test_a_suspended_app_stays_down():
    decision = decided(active(suspended=True, launch=launch(stop=StopCause.SUSPENDED)))
    assert (decision.state, decision.launch_cause, decision.wake_at) == (DriverState.SUSPENDED, None, None)


class TestDeaths:
    def test_a_driver_that_failed_is_restarted_after_its_backoff(self):
        waiting = decided(active(), pods=(FAILED,))
        assert waiting.state is DriverState.BACKING_OFF
        assert (waiting.launch_cause, waiting.attempt, waiting.wake_at) == (None, 1, waiting.death.restart_at)
        assert NOW < waiting.wake_at < NOW + 10 * SECOND
        due = decided(active(), pods=(FAILED,), now=waiting.wake_at)
        assert (due.state, due.launch_cause) == (DriverState.LAUNCHING, LaunchCause.DRIVER_DIED)
        assert due.attempt == 1

    def test_the_backoff_of_a_pod_that_is_gone_begins_when_that_was_noticed(self):
        memory = AppMemory(driver_missing_since=NOW - timedelta(minutes=1))
        spec = active(launch=launch(attempt=1))
        assert decided(spec).state is DriverState.BACKING_OFF
        assert decided(spec).missing_since == NOW
        assert decided(spec, memory=memory).launch_cause is LaunchCause.DRIVER_DIED

    def test_a_driver_whose_restarts_are_used_up_has_failed(self):
        spec = active(resource(restartPolicy={"maxRestarts": 0}), launched=resource())
        decision = decided(spec, pods=(FAILED,), now=NOW + timedelta(days=1))
        assert (decision.state, decision.launch_cause, decision.wake_at) == (DriverState.FAILED, None, None)

    def test_success_without_a_report_is_a_death(self):
        pod = driver(phase=PodPhase.SUCCEEDED, started_at=NOW, finished_at=NOW, exit_code=0)
        assert decided(active(), pods=(pod,)).state is DriverState.BACKING_OFF


class TestUnfinishedLaunches:
    """The epoch was advanced; the job model of it, which is written after the pod, is not there."""

    LAUNCH = launch(2, cause=LaunchCause.EDITED, attempt=4)

    def test_a_launch_without_a_pod_and_a_job_model_is_begun_again(self):
        decision = decided(active(launch=self.LAUNCH))
        assert (decision.state, decision.launch_cause) == (DriverState.LAUNCHING, LaunchCause.EDITED)
        assert (decision.attempt, decision.reuse_epoch) == (4, False)

    def test_its_epoch_is_used_again_if_the_api_server_refused_its_pod(self):
        assert decided(active(launch=self.LAUNCH), memory=AppMemory(refused_epoch=2)).reuse_epoch
        assert not decided(active(launch=self.LAUNCH), memory=AppMemory(refused_epoch=1)).reuse_epoch

    def test_with_a_pod_it_is_finished(self):
        decision = decided(active(launch=self.LAUNCH), pods=(driver(2),))
        assert (decision.state, decision.launch_cause) == (DriverState.STARTING, None)


class TestCompletion:
    DONE = progress(DriverPhase.COMPLETED)

    @pytest.mark.parametrize("pods", [(), (driver(ready=True),), (FAILED,)], ids=["gone", "live", "failed"])
    def test_an_app_whose_driver_reports_so_has_completed(self, pods):
        decision = decided(active(), pods=pods, progress=self.DONE)
        assert (decision.state, decision.stop_cause) == (DriverState.COMPLETED, None)

    def test_growth_does_not_start_it(self):
        assert decided(active(counts=GROWN), progress=self.DONE).state is DriverState.COMPLETED

    @pytest.mark.parametrize(
        "spec, report",
        [
            (active(**NEW_RUN), DONE),
            (active(launch=launch(2)), DONE),
            (active(), progress(DriverPhase.DRAINED)),
            (active(), progress(DriverPhase.COMPLETED, run_id="r0")),
        ],
        ids=["another run is wanted", "an earlier epoch's", "drained", "another run's"],
    )
    def test_other_reports_do_not_complete_it(self, spec, report):
        assert decided(spec, pods=(FAILED,), progress=report).state is not DriverState.COMPLETED


@pytest.mark.parametrize(
    "edit, expected",
    [
        (active(), EditClass.NONE),
        (active(launch=None), EditClass.NONE),
        (active(resource(restartPolicy={"backoff": "1s"})), EditClass.NONE),
        (active(EDITED), EditClass.RESTART),
        (active(resource(runId="r2")), EditClass.NEW_RUN),
        (active(resource(processors={"count": 3, "state": {"hostPath": "/var/lib/streamapp"}})), EditClass.RESCALE),
    ],
    ids=["the same", "not launched", "without effect", "restart", "new run", "rescale"],
)
def test_edits_since_the_launch_have_the_class_of_the_hardest(edit, expected):
    assert classify_edit_since_launch(edit) is expected


@pytest.mark.parametrize(
    "launched, accepted, expected",
    [(COUNTS, COUNTS, False), (COUNTS, GROWN, True), (COUNTS, {**COUNTS, "totals": 8}, False)],
    ids=["the same", "an input", "an output"],
)
def test_only_inputs_expand(launched, accepted, expected):
    spec = active(launch=launch(counts=launched), counts=accepted)
    assert have_inputs_expanded(observe_running(), spec) is expected
