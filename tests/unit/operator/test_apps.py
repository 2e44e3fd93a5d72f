"""Whole lives of apps: the operator on a cluster in memory, with a clock that tests turn."""

import pytest
import yaml

from streamapp_core.deployment.record import LaunchCause, StopCause
from streamapp_core.deployment.reports import PROGRESS, DriverPhase
from streamapp_core.metadata.store import VersionConflict
from streamapp_operator.act import NameTakenError
from streamapp_systems.kubernetes.api import Kind, RequestRefusedError
from support.operated import SHOP, Operated

SENT = {"name": "sent", "from": "per-item", "sendTo": "totals"}
BROKEN = [{"name": "per-item", "from": "orders", "aggregate": {"by": ["item"], "select": "sum(amout) as amount"}}, SENT]
BOUNDED = {"orders": {**yaml.safe_load(SHOP)["streams"]["orders"], "bounded": True}, "totals": {"system": "kafka"}}


@pytest.fixture
def operated():
    operated = Operated()
    operated.apply().settle()
    return operated


@pytest.fixture
def running(operated):
    return operated.runs()


def kinds(operated):
    return sorted(kind.kind for kind, _, _ in operated.cluster.objects if kind is not Kind.EVENT)


def test_an_app_gets_a_driver_and_what_it_needs(operated):
    assert kinds(operated) == [
        *["ConfigMap"] * 3,
        "Pod",
        "RoleBinding",
        "Service",
        "ServiceAccount",
        "StreamApp",
    ]
    assert operated.pods() == ["shop-driver-1"]
    launch = operated.record().launch
    assert (launch.epoch, launch.run_id, launch.counts) == (1, "run1", {"orders": 4, "totals": 4})
    assert launch.cause is LaunchCause.FIRST_START
    stored = operated.model()
    assert (stored.epoch, stored.model.version, set(stored.model.processors)) == (1, 1, {"0", "1"})
    assert all(processor.executor is None for processor in stored.model.processors.values())


def test_a_running_app_is_ready(running):
    assert running.status()["phase"] == "Running"
    assert running.condition("Ready") == ("True", "Running")
    assert running.status()["processors"] == {"ready": 2}
    assert {p.executor for p in running.model().model.processors.values()} == {"1", "2"}


def test_nothing_is_written_at_rest(running):
    before = running.writes()
    running.look()
    running.later(minutes=10)
    running.start()
    running.settle()
    assert running.writes() == before


def test_a_refused_spec_harms_nothing(running):
    record, pods = running.record(), running.pods()
    running.apply(operators=BROKEN)
    running.settle()
    assert running.condition("Accepted") == ("False", "UnknownColumn")
    assert running.condition("Ready") == ("True", "Running")
    assert running.condition("Degraded") == ("True", "UnknownColumn")
    (problem,) = [p for p in running.status()["problems"] if p["code"] == "UnknownColumn"]
    assert problem["path"] == "spec.operators[0].aggregate.select"
    assert running.status()["observedGeneration"] == 2
    assert (running.record(), running.pods()) == (record, pods)


def test_the_last_accepted_spec_is_restarted_while_another_is_refused(running):
    running.apply(operators=BROKEN)
    running.settle()
    running.pod_is("shop-driver-1", "Failed", exit_code=1)
    running.settle()
    running.later(seconds=10)
    assert "shop-driver-2" in running.pods()
    assert running.record().launch.app == running.record().accepted.app
    assert running.condition("Accepted")[0] == "False"


def test_a_spec_that_was_never_acceptable_makes_nothing(operated):
    other = Operated()
    other.apply(operators=BROKEN).settle()
    assert kinds(other) == ["StreamApp"]
    assert other.status()["phase"] == "Refused"
    assert other.condition("Ready")[0] == "False"


def test_an_app_waits_for_the_systems_without_harm():
    operated = Operated()
    operated.trouble = "Kafka kafka (kafka:9092): nobody answers"
    operated.apply().settle()
    assert operated.condition("Accepted") == ("Unknown", "SystemUnavailable")
    operated.trouble = None
    operated.look()
    assert operated.pods() == ["shop-driver-1"]


def test_brokers_that_are_gone_do_not_stop_a_running_app(running):
    running.trouble = "Kafka kafka (kafka:9092): nobody answers"
    running.look()
    assert running.condition("Ready")[0] == "True"
    assert running.condition("Degraded") == ("True", "SystemUnavailable")


class TestExpansion:
    def test_an_accepted_growth_restarts_the_driver_once_with_its_tasks_kept(self, running):
        tasks = {name: task.changelog_partition for name, task in running.model().model.tasks.items()}
        running.counts = {"orders": 8, "totals": 4}
        running.look()
        assert running.record().launch.stop is StopCause.EXPANDED
        assert running.condition("DriverReady") == ("False", "Draining")
        running.gone("shop-driver-1")
        running.settle()
        assert running.pods() == ["shop-driver-2"]
        launch = running.record().launch
        assert (launch.cause, launch.attempt, launch.counts["orders"]) == (LaunchCause.EXPANDED, 0, 8)
        model = running.model().model
        assert {name: task.changelog_partition for name, task in model.tasks.items()} == tasks
        assert sum(len(task.ssps) for task in model.tasks.values()) == 8
        running.runs()
        before = running.writes()
        running.look()
        assert running.writes() == before

    def test_a_refused_growth_shows_and_harms_nothing(self, running):
        record = running.record()
        running.counts = {"orders": 6, "totals": 4}
        running.look()
        assert running.condition("Accepted") == ("True", "Accepted")
        assert running.condition("Planned") == ("False", "UnsupportedExpansion")
        assert running.condition("Ready")[0] == "True"
        assert running.status()["problems"][0]["code"] == "UnsupportedExpansion"
        assert running.record() == record
        running.counts = {"orders": 8, "totals": 4}
        running.look()
        assert running.condition("Planned")[0] == "True"

    def test_a_driver_that_dies_meanwhile_comes_back_on_the_old_counts(self, running):
        running.counts = {"orders": 6, "totals": 4}
        running.look()
        running.pod_is("shop-driver-1", "Failed", exit_code=1)
        running.settle()
        running.later(seconds=10)
        assert running.record().launch.counts["orders"] == 4
        assert sum(len(task.ssps) for task in running.model().model.tasks.values()) == 4

    def test_outputs_may_appear_and_grow(self):
        operated = Operated(counts={"orders": 4})
        streams = yaml.safe_load(SHOP)["streams"]
        operated.apply(streams={**streams, "totals": {"system": "kafka", "partitions": 4}}).settle()
        operated.runs()
        record = operated.record()
        operated.counts = {"orders": 4, "totals": 12}
        operated.look()
        assert operated.record() == record


class TestEdits:
    def test_a_restart_drains_before_the_next_driver_is_launched(self, running):
        running.apply(job={"commitInterval": "5s"})
        running.settle()
        assert running.record().launch.stop is StopCause.EDITED
        assert running.pods() == ["shop-driver-1"]
        running.gone("shop-driver-1")
        running.settle()
        assert running.record().launch.cause is LaunchCause.EDITED
        assert running.pods() == ["shop-driver-2"]
        assert running.status()["observedGeneration"] == 2

    def test_an_edit_without_effect_disturbs_nobody(self, running):
        running.apply(restartPolicy={"backoff": "1s"})
        running.settle()
        assert running.record().accepted.generation == 2
        assert running.record().launch.stop is None
        assert running.pods() == ["shop-driver-1"]
        assert running.condition("Ready")[0] == "True"

    def test_more_processors_come_without_a_restart(self, running):
        running.apply(processors={"count": 3, "state": {"hostPath": "/var/lib/streamapp"}})
        running.settle()
        assert running.record().launch.processors == 3
        assert set(running.model().model.processors) == {"0", "1"}
        running.executor(3, "node-c")
        running.settle()
        model = running.model().model
        assert model.processors["2"].executor == "3"
        assert {task.processor for task in model.tasks.values()} == {"0", "1", "2"}
        assert running.model().epoch == 1
        assert running.pods() == ["shop-driver-1"]

    def test_fewer_processors_hand_their_tasks_over(self, running):
        running.apply(processors={"count": 1, "state": {"hostPath": "/var/lib/streamapp"}})
        running.settle()
        model = running.model().model
        assert set(model.processors) == {"0"}
        assert {task.processor for task in model.tasks.values()} == {"0"}
        assert running.record().launch.processors == 1

    def test_another_run_id_starts_from_nothing(self, running):
        running.apply(runId="again")
        running.settle()
        running.gone("shop-driver-1")
        running.settle()
        launch = running.record().launch
        assert (launch.cause, launch.run_id, launch.epoch) == (LaunchCause.NEW_RUN, "again", 2)
        assert running.model().model.run_id == "again"

    def test_an_edit_of_state_is_refused_within_a_run(self, running):
        aggregate = {"by": ["item"], "select": "max(item) as last"}
        operators = [{**BROKEN[0], "aggregate": aggregate}, SENT]
        running.apply(operators=operators)
        running.settle()
        assert running.condition("Accepted") == ("False", "RunIdRequired")
        running.apply(operators=operators, runId="again")
        running.settle()
        assert running.condition("Accepted")[0] == "True"

    def test_another_account_is_bound_instead(self, running):
        running.apply(serviceAccountName="mine")
        running.settle()
        running.gone("shop-driver-1")
        running.settle()
        (subject,) = running.cluster.get(Kind.ROLE_BINDING, "default", "shop-driver")["subjects"]
        assert subject["name"] == "mine"
        assert running.cluster.get(Kind.POD, "default", "shop-driver-2")["spec"]["serviceAccountName"] == "mine"


class TestSuspension:
    def test_a_suspended_app_drains_and_stays_down(self, running):
        running.apply(suspend=True)
        running.settle()
        assert running.record().launch.stop is StopCause.SUSPENDED
        running.gone("shop-driver-1")
        running.settle()
        running.later(hours=1)
        assert running.pods() == []
        assert running.status()["phase"] == "Suspended"
        assert running.condition("Degraded")[0] == "False"

    def test_a_resumed_app_starts_at_once(self, running):
        running.apply(suspend=True)
        running.settle()
        running.gone("shop-driver-1")
        running.settle()
        running.apply()
        running.settle()
        assert running.pods() == ["shop-driver-2"]
        assert running.record().launch.cause is LaunchCause.RESUMED

    def test_an_app_may_be_suspended_from_the_start(self):
        operated = Operated()
        operated.apply(suspend=True).settle()
        assert operated.pods() == []
        assert operated.status()["phase"] == "Suspended"
        operated.apply()
        operated.settle()
        assert operated.record().launch.cause is LaunchCause.FIRST_START

    def test_suspend_is_heard_even_with_a_spec_that_is_refused(self, running):
        running.apply(operators=BROKEN, suspend=True)
        running.settle()
        assert running.record().launch.stop is StopCause.SUSPENDED
        assert running.condition("Accepted")[0] == "False"


class TestDeaths:
    def test_a_driver_that_died_is_restarted_after_longer_and_longer_waits(self, running):
        waits = []
        for _ in range(4):
            epoch = running.record().launch.epoch
            running.pod_is(f"shop-driver-{epoch}", "Failed", exit_code=1)
            died = running.now
            running.settle()
            assert running.status()["phase"] == "Restarting"
            running.later(minutes=2)
            launch = running.record().launch
            assert launch.epoch == epoch + 1
            waits.append((launch.at - died).total_seconds())
            running.runs()
        for wait, expected in zip(waits, (5, 10, 20, 40), strict=True):
            assert expected * 0.8 <= wait <= expected * 1.2

    def test_deaths_in_a_row_are_called_a_crash_loop(self, running):
        for _ in range(3):
            running.pod_is(f"shop-driver-{running.record().launch.epoch}", "Failed", exit_code=7, message="no room")
            running.settle()
            reason = running.condition("DriverReady")
            running.later(minutes=2)
        assert reason == ("False", "CrashLoop")

    def test_a_healthy_time_makes_the_waits_short_again(self, running):
        for minutes in (0, 11):
            running.later(minutes=minutes)
            running.pod_is(f"shop-driver-{running.record().launch.epoch}", "Failed", exit_code=1)
            running.settle()
            running.later(minutes=1)
            running.runs()
        assert running.record().launch.attempt == 1

    def test_restarts_can_be_used_up(self):
        operated = Operated()
        operated.apply(restartPolicy={"maxRestarts": 1}).settle()
        operated.pod_is("shop-driver-1", "Failed", exit_code=1)
        operated.settle()
        operated.later(minutes=1)
        operated.pod_is("shop-driver-2", "Failed", exit_code=1)
        operated.settle()
        operated.later(hours=1)
        assert operated.condition("DriverReady") == ("False", "RestartsUsedUp")
        assert operated.status()["phase"] == "Failed"

    def test_a_pod_that_somebody_removed_comes_back(self, running):
        running.gone("shop-driver-1")
        running.settle()
        running.later(seconds=10)
        assert running.pods() == ["shop-driver-2"]

    def test_the_last_dead_driver_stays_for_its_logs_and_its_executors_go(self, running):
        for _ in range(3):
            running.pod_is(f"shop-driver-{running.record().launch.epoch}", "Failed", exit_code=1)
            running.settle()
            running.later(minutes=2)
            for pod in running.pods("processor"):
                if running.cluster.get(Kind.POD, "default", pod)["metadata"].get("deletionTimestamp"):
                    running.gone(pod)
            for pod in running.pods():
                if running.cluster.get(Kind.POD, "default", pod)["metadata"].get("deletionTimestamp"):
                    running.gone(pod)
            running.runs()
        assert running.pods() == ["shop-driver-3", "shop-driver-4"]
        assert [pod.split("-")[1] for pod in running.pods("processor")] == ["4", "4"]

    def test_a_driver_on_a_lost_node_is_not_waited_for(self, running):
        running.cluster.delete(Kind.POD, "default", "shop-driver-1")
        running.settle()
        assert running.condition("DriverReady") == ("False", "Draining")
        running.later(seconds=60)
        assert "shop-driver-2" in running.pods()


class TestCompletion:
    @pytest.fixture
    def completed(self):
        operated = Operated()
        operated.apply(streams=BOUNDED).settle()
        operated.runs()
        operated.reports(phase=DriverPhase.COMPLETED)
        operated.settle()
        operated.pod_is("shop-driver-1", "Succeeded", exit_code=0)
        operated.settle()
        return operated

    def test_a_bounded_app_completes(self, completed):
        assert completed.status()["phase"] == "Completed"
        assert completed.condition("Completed") == ("True", "Completed")
        assert completed.condition("Ready") == ("True", "Completed")
        completed.later(hours=1)
        assert completed.pods() == ["shop-driver-1"]

    def test_a_completed_app_is_not_started_by_growth(self, completed):
        completed.counts = {"orders": 8, "totals": 4}
        completed.look()
        assert completed.status()["phase"] == "Completed"

    def test_a_new_run_starts_a_completed_app_again(self, completed):
        completed.apply(streams=BOUNDED, runId="again")
        completed.settle()
        assert completed.record().launch.epoch == 2
        assert completed.condition("Completed")[0] == "False"

    def test_success_without_a_report_is_a_death(self, running):
        running.pod_is("shop-driver-1", "Succeeded", exit_code=0)
        running.settle()
        assert running.status()["phase"] == "Restarting"


class TestStuckPods:
    @pytest.mark.parametrize(
        "waiting, reason",
        [
            ("ImagePullBackOff", "ImagePullFailed"),
            ("CreateContainerConfigError", "ConfigError"),
            ("CrashLoopBackOff", "CrashLoop"),
        ],
    )
    def test_a_stuck_driver_says_why(self, operated, waiting, reason):
        operated.stuck("shop-driver-1", waiting)
        operated.settle()
        assert operated.condition("DriverReady") == ("False", reason)
        assert operated.condition("Degraded") == ("True", reason)

    def test_a_pod_that_fits_no_node_says_so(self, operated):
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
        operated.cluster.change(
            Kind.POD, "default", "shop-driver-1", status={"phase": "Pending", "conditions": [scheduled]}
        )
        operated.settle()
        assert operated.condition("DriverReady") == ("False", "Unschedulable")


class TestDocumentsLost:
    @pytest.mark.parametrize("document", ["record", "job-model"])
    def test_what_is_lost_stays_lost(self, running, document):
        running.cluster.remove(Kind.CONFIG_MAP, "default", f"shop.{document}")
        running.gone("shop-driver-1")
        for _ in range(3):
            running.settle()
            running.look()
            running.start()
        running.later(hours=1)
        assert running.condition("Planned") == ("False", "JobModelLost")
        assert running.pods() == []

    def test_a_lost_record_is_not_made_up(self, running):
        running.cluster.remove(Kind.CONFIG_MAP, "default", "shop.record")
        before = running.cluster.writes["create", Kind.POD]
        running.settle()
        assert running.condition("Planned") == ("False", "JobModelLost")
        running.gone("shop-driver-1")
        running.settle()
        running.later(hours=1)
        assert running.cluster.writes["create", Kind.POD] == before

    def test_a_new_run_is_the_way_out(self, running):
        running.cluster.remove(Kind.CONFIG_MAP, "default", "shop.record")
        running.cluster.remove(Kind.CONFIG_MAP, "default", "shop.job-model")
        running.gone("shop-driver-1")
        running.settle()
        running.apply(runId="again")
        running.settle()
        assert running.record().launch.run_id == "again"

    def test_lost_progress_and_locality_are_reported_anew(self, running):
        running.cluster.remove(Kind.CONFIG_MAP, "default", "shop.locality")
        running.store().put(PROGRESS, b"not json")
        running.settle()
        assert running.pods() == ["shop-driver-1"]
        running.reports()
        running.settle()
        assert running.condition("Ready")[0] == "True"


class TestDeletion:
    def test_by_default_everything_goes_with_its_owner_and_nobody_is_waited_for(self, running):
        assert "finalizers" not in running.app()["metadata"]
        running.delete()
        running.settle()
        assert running.deleted_streams == []
        left = {key for key in running.cluster.objects if key[0] is not Kind.EVENT}
        assert left == set()

    def test_policy_delete_drains_then_removes_state_and_streams(self):
        operated = Operated()
        operated.apply(deletionPolicy="Delete").settle()
        operated.runs()
        operated.delete()
        operated.settle()
        assert operated.deleted_streams == []
        for pod in (*operated.pods(), *operated.pods("processor")):
            operated.gone(pod)
        operated.settle()
        cleanups = operated.pods("cleanup")
        nodes = {operated.cluster.get(Kind.POD, "default", pod)["spec"]["nodeName"] for pod in cleanups}
        assert nodes == {"node-a", "node-b"}
        for pod in cleanups:
            operated.pod_is(pod, "Succeeded", exit_code=0)
        operated.settle()
        assert operated.deleted_streams == ["default.shop."]
        assert operated.app() is None

    def test_a_node_that_does_not_answer_does_not_keep_an_app(self):
        operated = Operated()
        operated.apply(deletionPolicy="Delete").settle()
        operated.runs()
        operated.delete()
        operated.settle()
        for pod in (*operated.pods(), *operated.pods("processor")):
            operated.gone(pod)
        operated.settle()
        operated.later(minutes=3)
        assert operated.app() is None

    def test_the_policy_can_be_changed_back(self):
        operated = Operated()
        operated.apply(deletionPolicy="Delete").settle()
        assert operated.app()["metadata"]["finalizers"] == ["streamapp.dev/cleanup"]
        operated.apply()
        operated.settle()
        assert operated.app()["metadata"]["finalizers"] == []


def test_what_somebody_removed_is_made_again(running):
    for kind, name in (
        (Kind.SERVICE, "shop-driver"),
        (Kind.SERVICE_ACCOUNT, "shop-driver"),
        (Kind.ROLE_BINDING, "shop-driver"),
    ):
        running.cluster.remove(kind, "default", name)
        running.settle()
        assert running.cluster.get(kind, "default", name)


def test_events_tell_what_happened_once(running):
    running.apply(operators=BROKEN)
    running.settle()
    running.look()
    events = running.cluster.list(Kind.EVENT, "default")
    told = [(event["type"], event["reason"]) for event in events]
    assert told.count(("Warning", "UnknownColumn")) == 1
    assert ("Normal", "Running") in told


def test_times_of_conditions_are_stable(running):
    before = {entry["type"]: entry["lastTransitionTime"] for entry in running.status()["conditions"]}
    running.later(minutes=5)
    running.apply(operators=BROKEN)
    running.settle()
    after = {entry["type"]: entry["lastTransitionTime"] for entry in running.status()["conditions"]}
    assert {kind for kind in after if after[kind] != before[kind]} == {"Accepted", "Degraded"}


class TestRefusals:
    @pytest.fixture
    def forbidden(self):
        """A cluster whose admission refuses pods, until a test says otherwise."""
        operated = Operated()
        operated.cluster.refused_pods = "violates PodSecurity"
        operated.apply()
        for _ in range(2):  # again when the watch has told of what was written
            with pytest.raises(RequestRefusedError):
                operated.settle()
        assert not operated.due
        return operated

    def test_a_pod_that_the_api_server_refuses_shows_why(self, forbidden):
        assert forbidden.condition("DriverReady") == ("False", "Refused")
        assert forbidden.condition("Degraded") == ("True", "Refused")

    def test_trying_again_costs_no_epochs_and_no_writes(self, forbidden):
        before = forbidden.writes()
        for _ in range(3):
            with pytest.raises(RequestRefusedError):
                forbidden.look()
        assert forbidden.writes() == before
        forbidden.cluster.refused_pods = None
        forbidden.look()
        assert forbidden.pods() == ["shop-driver-1"]
        assert forbidden.condition("Degraded")[0] == "False"

    def test_what_is_not_ours_is_not_touched(self):
        operated = Operated()
        metadata = {"name": "shop-driver", "namespace": "default"}
        operated.cluster.create(Kind.SERVICE, {"metadata": metadata, "spec": {}})
        with pytest.raises(NameTakenError, match="Service shop-driver is not of this app"):
            operated.apply().settle()
        assert operated.condition("Degraded") == ("True", "Refused")


def test_what_an_earlier_app_of_the_same_name_left_is_not_taken_over(running):
    record = running.cluster.get(Kind.CONFIG_MAP, "default", "shop.record")
    old = {**record, "metadata": {**record["metadata"], "ownerReferences": [{"uid": "earlier"}]}}
    running.delete()
    running.cluster.create(Kind.CONFIG_MAP, old)
    running.apply()
    with pytest.raises(VersionConflict):
        running.settle()
    running.cluster.remove(Kind.CONFIG_MAP, "default", "shop.record")
    running.look()
    assert running.record().launch.epoch == 1
