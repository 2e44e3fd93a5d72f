"""Whole decisions: which actions in which order, when to decide again, what to remember."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamapp_core.deployment.app_record import LaunchCause, StopCause
from streamapp_operator.decide.actions import ActionKind
from streamapp_operator.decide.deletion import FINALIZER
from streamapp_operator.decide.driver_decision import DriverState
from streamapp_operator.decide.reconciliation import DecisionContext, decide
from streamapp_operator.observe.observed_state import AppMemory, AppNetwork, DriverBinding, DriverRole, StreamCounts
from streamapp_operator.observe.resource_views import PodPhase
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.observed_values import (
    EDITED,
    NOW,
    REFUSED,
    SECOND,
    bound_model,
    driver,
    executor,
    launch,
    observe,
    observe_running,
    record,
    resource,
    stored,
)
from support.operated import PLANNER

ROLE = DriverRole(kind="ClusterRole", name="streamapp-driver")
NETWORK = AppNetwork(isolated=False)
CONTEXT = DecisionContext(planner=PLANNER, driver_role=ROLE, executor_timeout=timedelta(seconds=30), network=NETWORK)
PRESENT = {
    "driver_binding": DriverBinding(account="shop-driver", role=ROLE),
    "present": frozenset({(Kind.SERVICE, "shop-driver"), (Kind.SERVICE_ACCOUNT, "shop-driver")}),
}
"""The objects around a driver."""
FAILED = driver(phase=PodPhase.FAILED, started_at=NOW, finished_at=NOW, exit_code=1)
STOPPED = record(EDITED, launch(stop=StopCause.EDITED))
MODEL = bound_model(node0="node-a", node1="node-b")
EXECUTORS = (executor(1, "node-a"), executor(2, "node-b"))
MORE = resource(generation=2, processors={"count": 3, "state": {"hostPath": "/var/lib/streamapp"}})
KINDS = ActionKind


@pytest.mark.parametrize(
    "observed, expected",
    [
        (
            observe(),
            [
                KINDS.CREATE_SERVICE_ACCOUNT,
                KINDS.WRITE_RECORD,
                KINDS.CREATE_DRIVER,
                KINDS.WRITE_JOB_MODEL,
                KINDS.CREATE_ROLE_BINDING,
                KINDS.CREATE_SERVICE,
            ],
        ),
        (
            observe(app=resource(deletionPolicy="Delete"), **PRESENT),
            [KINDS.ADD_FINALIZER, KINDS.WRITE_RECORD, KINDS.CREATE_DRIVER, KINDS.WRITE_JOB_MODEL],
        ),
        (observe_running(**PRESENT), []),
        (
            observe_running(),
            [KINDS.CREATE_SERVICE_ACCOUNT, KINDS.CREATE_ROLE_BINDING, KINDS.CREATE_SERVICE],
        ),
        (observe_running(pods=(driver(), *EXECUTORS), **PRESENT), [KINDS.WRITE_JOB_MODEL]),
        (observe_running(pods=(driver(), executor(9, epoch=0)), **PRESENT), [KINDS.DELETE_POD]),
        (observe_running(app=MORE, **PRESENT), [KINDS.WRITE_RECORD]),
        (observe_running(app=EDITED, **PRESENT), [KINDS.WRITE_RECORD, KINDS.DELETE_POD]),
        (observe_running(app=EDITED, record=STOPPED, **PRESENT), [KINDS.DELETE_POD]),
        (observe_running(app=EDITED, record=STOPPED, pods=(driver(deleting_at=NOW),), **PRESENT), []),
        (
            observe_running(app=EDITED, record=STOPPED, pods=(), **PRESENT),
            [KINDS.WRITE_RECORD, KINDS.CREATE_DRIVER, KINDS.WRITE_JOB_MODEL],
        ),
        (observe_running(app=REFUSED, **PRESENT), []),
        (observe_running(app=resource(suspend=True), **PRESENT), [KINDS.WRITE_RECORD, KINDS.DELETE_POD]),
        (observe_running(pods=(FAILED,), **PRESENT), []),
        (
            observe_running(pods=(FAILED, *EXECUTORS), now=NOW + 10 * SECOND, **PRESENT),
            [
                KINDS.WRITE_RECORD,
                KINDS.CREATE_DRIVER,
                KINDS.WRITE_JOB_MODEL,
                KINDS.DELETE_POD,
                KINDS.DELETE_POD,
            ],
        ),
        (
            observe_running(record=record(launch=launch(2)), pods=(driver(2),), **PRESENT),
            [KINDS.WRITE_JOB_MODEL],
        ),
        (observe(counts=StreamCounts()), []),
        (observe(unrecoverable="gone"), []),
        (observe(recovered_model=stored()), [KINDS.WRITE_JOB_MODEL, KINDS.EMIT_EVENT]),
        (
            observe(app=resource(deletionPolicy="Delete", deleting=True, finalizers=[FINALIZER])),
            [KINDS.DELETE_STREAMS, KINDS.REMOVE_FINALIZER],
        ),
    ],
    ids=[
        "first launch",
        "first launch with a finalizer",
        "at rest",
        "objects missing",
        "executors have come up",
        "a pod of an earlier epoch",
        "rescaled",
        "edited",
        "edited, and the stop is recorded",
        "draining",
        "drained",
        "edit refused",
        "suspended",
        "driver dead",
        "driver dead, after the backoff",
        "driver launched without its job model",
        "waiting for partition counts",
        "job model lost",
        "job model recovered",
        "deleted",
    ],
)
def test_actions_come_in_the_order_in_which_a_crash_between_them_does_no_harm(observed, expected):
    assert [action.action_kind for action in decide(observed, CONTEXT).actions] == expected


@pytest.mark.parametrize(
    "observed, wake_at",
    [
        (observe_running(pods=(driver(), EXECUTORS[0]), **PRESENT), NOW + 30 * SECOND),
        (observe_running(pods=(driver(), *EXECUTORS), **PRESENT), None),
        (observe_running(pods=(driver(deleting_at=NOW),), **PRESENT), NOW + 20 * SECOND),
        (observe_running(app=EDITED, **PRESENT), None),
        (observe(unrecoverable="gone"), NOW + 60 * SECOND),
        (observe(counts=StreamCounts()), None),
    ],
    ids=["executors missing", "all there", "pod ends", "edited", "job model lost", "waiting for partition counts"],
)
def test_it_is_decided_again_when_time_alone_may_change_the_decision(observed, wake_at):
    assert decide(observed, CONTEXT).wake_at == wake_at


class TestMemory:
    def test_what_is_missing_is_remembered_from_when_it_was_first_seen(self):
        since = NOW - SECOND
        memory = AppMemory(driver_missing_since=since, executors_missing_since=since, refused_epoch=4)
        gone = decide(observe_running(pods=(), memory=memory, **PRESENT), CONTEXT).memory
        assert gone == AppMemory(driver_missing_since=since, refused_epoch=4)
        one = decide(observe_running(pods=(driver(), EXECUTORS[0]), memory=memory, **PRESENT), CONTEXT).memory
        assert (one.driver_missing_since, one.executors_missing_since, one.refused_epoch) == (None, since, 4)
        none = decide(observe_running(memory=memory, **PRESENT), CONTEXT).memory
        assert (none.driver_missing_since, none.executors_missing_since, none.refused_epoch) == (None, None, 4)

    def test_a_placement_that_changes_nothing_is_remembered(self):
        observed = observe_running(pods=(driver(), *EXECUTORS), model=stored(MODEL), **PRESENT)
        memory = decide(observed, CONTEXT).memory
        assert memory.placement_inputs.model == MODEL
        again = decide(replace(observed, memory=memory), CONTEXT)
        assert (again.actions, again.memory) == ((), memory)

    def test_one_that_changes_something_is_not(self):
        assert decide(observe_running(pods=(driver(), *EXECUTORS), **PRESENT), CONTEXT).memory == AppMemory()


class TestOutcome:
    """The outcome is the state after all actions."""

    def test_of_a_launch_it_has_the_new_epoch_and_job_model(self):
        outcome = decide(observe(), CONTEXT).outcome
        assert outcome.acceptance.active.record.launch.epoch == 1
        assert (outcome.driver_decision.state, outcome.model.version) == (DriverState.LAUNCHING, 1)
        assert outcome.plan is not None

    def test_of_a_stop_it_has_the_cause(self):
        outcome = decide(observe_running(app=EDITED), CONTEXT).outcome
        assert outcome.acceptance.active.record.launch.stop is StopCause.EDITED

    def test_of_new_executors_it_has_the_next_job_model(self):
        outcome = decide(observe_running(pods=(driver(), *EXECUTORS)), CONTEXT).outcome
        assert outcome.model.processors == MODEL.processors

    def test_of_a_rescale_it_has_the_number_of_processors(self):
        outcome = decide(observe_running(app=MORE), CONTEXT).outcome
        assert outcome.acceptance.active.record.launch.processors == 3

    @pytest.mark.parametrize(
        "observed",
        [observe(app=resource(deleting=True)), observe(recovered_model=stored())],
        ids=["deleted", "job model recovered"],
    )
    def test_there_is_none_where_the_status_stays(self, observed):
        assert decide(observed, CONTEXT).outcome is None


def test_an_epoch_whose_pod_was_refused_is_launched_again_as_it_is():
    refused = record(launch=launch(2, attempt=1))
    observed = observe_running(record=refused, pods=(), memory=AppMemory(refused_epoch=2), **PRESENT)
    decision = decide(observed, CONTEXT)
    assert [action.action_kind for action in decision.actions] == [KINDS.CREATE_DRIVER, KINDS.WRITE_JOB_MODEL]
    assert decision.actions[0].body["metadata"]["name"] == "shop-driver-2"


def test_a_spec_that_this_release_refuses_is_not_launched_without_a_job_model():
    observed = observe(app=REFUSED, record=record(REFUSED, None), counts=StreamCounts())
    decision = decide(observed, CONTEXT)
    assert decision.actions == ()
    assert decision.outcome.driver_decision.launch_cause is LaunchCause.FIRST_START


def test_deciding_after_every_action_is_carried_out_leads_to_nothing_more():
    outcome = decide(observe(), CONTEXT).outcome
    launched = outcome.acceptance.active.record
    observed = observe(record=launched, model=stored(outcome.model), pods=(driver(1),), **PRESENT)
    assert decide(observed, CONTEXT).actions == ()
