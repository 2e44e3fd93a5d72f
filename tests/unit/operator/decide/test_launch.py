"""The launch of a driver, and the objects around its pod."""

import pytest

from streamapp_core.deployment.app_record import LaunchCause
from streamapp_operator.decide.actions import ActionKind, WriteRecord
from streamapp_operator.decide.launch import (
    build_launch,
    create_driver,
    delete_driver,
    delete_stale_pods,
    ensure_dependencies,
    ensure_service_account,
    replace_launch,
    write_record,
)
from streamapp_operator.observe.observed_state import DriverBinding, DriverRole
from streamapp_operator.observe.resource_views import PodPhase
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.observed_values import (
    EDITED,
    LAUNCH,
    NOW,
    active,
    bound_model,
    cleanup,
    driver,
    executor,
    launch,
    locality,
    observe,
    observe_running,
    record,
    resource,
    stored,
)

ROLE = DriverRole(kind="ClusterRole", name="streamapp-driver")
BOUND = DriverBinding(account="shop-driver", role=ROLE)
ACCOUNT = (Kind.SERVICE_ACCOUNT, "shop-driver")
SERVICE = (Kind.SERVICE, "shop-driver")
NODES = bound_model(node0="node-a", node1="node-b")
OTHER_ACCOUNT = resource(serviceAccountName="mine")


def kinds(actions):
    return [action.action_kind for action in actions]


class TestBuildLaunch:
    @pytest.mark.parametrize(
        "observed, spec, epoch",
        [
            (observe(), active(launch=None), 1),
            (observe_running(), active(), 2),
            (observe_running(), active(launch=launch(5)), 6),
            (observe_running(model=stored(epoch=7)), active(), 8),
            (observe_running(pods=(driver(9),)), active(), 10),
            (observe_running(app=resource(status={"driver": {"epoch": 11}})), active(), 12),
            (observe(model=stored(epoch=3)), active(launch=None), 4),
        ],
        ids=["first", "after the first", "the record's", "the job model's", "a pod's", "the status'", "record lost"],
    )
    def test_its_epoch_is_higher_than_any_that_anybody_knows_of(self, observed, spec, epoch):
        assert build_launch(observed, spec, LaunchCause.EDITED, 0).epoch == epoch

    def test_it_is_of_the_accepted_spec(self):
        spec = active(EDITED, counts={"orders": 8})
        found = build_launch(observe_running(), spec, LaunchCause.EDITED, 3)
        assert (found.app, found.run_id, found.counts) == (spec.accepted.app, "r1", {"orders": 8})
        assert (found.processors, found.cause, found.attempt, found.at) == (2, LaunchCause.EDITED, 3, NOW)
        assert found.stop is None

    @pytest.mark.parametrize("run_id, preferred", [("r1", True), ("r2", False)], ids=["the same run", "another run"])
    def test_executors_prefer_the_nodes_with_the_state_of_the_run(self, run_id, preferred):
        observed = observe_running(model=stored(NODES), locality=locality(NODES))
        template = build_launch(observed, active(run_id=run_id), LaunchCause.EDITED, 0).executor_template
        assert ("affinity" in template["spec"]) == preferred

    def test_a_record_keeps_the_texts_that_its_launch_and_its_spec_name(self):
        spec = active(EDITED)
        launched = replace_launch(spec, build_launch(observe_running(), spec, LaunchCause.EDITED, 0))
        assert set(spec.record.apps) == {spec.accepted.app, LAUNCH.app}
        assert set(launched.record.apps) == {spec.accepted.app}


class TestObjects:
    @pytest.mark.parametrize(
        "app, present, expected",
        [
            (resource(), frozenset(), [ActionKind.CREATE_SERVICE_ACCOUNT]),
            (resource(), frozenset({ACCOUNT}), []),
            (OTHER_ACCOUNT, frozenset(), []),
        ],
        ids=["missing", "there", "the user's own"],
    )
    def test_a_missing_service_account_is_created(self, app, present, expected):
        assert kinds(ensure_service_account(observe(app=app, present=present), active(app))) == expected

    @pytest.mark.parametrize(
        "app, binding, present, expected",
        [
            (resource(), None, frozenset(), [ActionKind.CREATE_ROLE_BINDING, ActionKind.CREATE_SERVICE]),
            (resource(), BOUND, frozenset({SERVICE}), []),
            (resource(), BOUND, frozenset(), [ActionKind.CREATE_SERVICE]),
            (resource(), None, frozenset({SERVICE}), [ActionKind.CREATE_ROLE_BINDING]),
            (OTHER_ACCOUNT, BOUND, frozenset({SERVICE}), [ActionKind.CREATE_ROLE_BINDING]),
            (
                resource(),
                DriverBinding(account="shop-driver", role=DriverRole(kind="Role", name="streamapp-driver")),
                frozenset({SERVICE}),
                [ActionKind.CREATE_ROLE_BINDING],
            ),
        ],
        ids=["nothing", "all", "no service", "no binding", "of another account", "of another role"],
    )
    def test_a_missing_or_different_binding_and_a_missing_service_are_created(self, app, binding, present, expected):
        observed = observe(app=app, driver_binding=binding, present=present)
        assert kinds(ensure_dependencies(observed, active(app), ROLE)) == expected

    def test_the_driver_has_its_epoch_in_its_name(self):
        action = create_driver(observe(), active(), 4)
        assert (action.action_kind, action.kind) == (ActionKind.CREATE_DRIVER, Kind.POD)
        assert action.body["metadata"]["name"] == "shop-driver-4"

    def test_a_record_is_written_only_if_it_differs(self):
        observed = observe_running()
        assert list(write_record(observed, observed.record)) == []
        changed = record(EDITED)
        assert list(write_record(observed, changed)) == [WriteRecord(record=changed, expected=3)]


class TestPods:
    @pytest.mark.parametrize(
        "pod, expected",
        [
            (driver(2), ["shop-driver-2"]),
            (driver(2, phase=PodPhase.PENDING), ["shop-driver-2"]),
            (driver(2, deleting_at=NOW), []),
            (driver(2, phase=PodPhase.FAILED), []),
            (driver(1), []),
            (executor(1, epoch=2), []),
        ],
        ids=["running", "pending", "being deleted", "failed", "of another epoch", "an executor"],
    )
    def test_a_stopped_driver_is_deleted_once(self, pod, expected):
        assert [action.name for action in delete_driver(observe(pods=(pod,)), 2)] == expected

    @pytest.mark.parametrize(
        "pods, expected",
        [
            ((driver(3), executor(1, epoch=3)), []),
            ((driver(2), driver(3)), ["shop-driver-2"]),
            ((driver(2, phase=PodPhase.FAILED), driver(3)), []),
            ((driver(1, phase=PodPhase.FAILED), driver(2, phase=PodPhase.SUCCEEDED)), ["shop-driver-1"]),
            ((executor(1, epoch=2), executor(2, epoch=2, phase=PodPhase.FAILED)), ["shop-2-exec-1", "shop-2-exec-2"]),
            ((executor(1, epoch=2, deleting_at=NOW),), []),
            ((cleanup("shop-cleanup-1"),), []),
        ],
        ids=[
            "none",
            "a live driver",
            "the last dead driver",
            "an earlier dead driver",
            "executors",
            "being deleted",
            "a cleanup",
        ],
    )
    def test_pods_of_earlier_epochs_go_except_the_last_dead_driver(self, pods, expected):
        assert [action.name for action in delete_stale_pods(observe(pods=pods), 3)] == expected
