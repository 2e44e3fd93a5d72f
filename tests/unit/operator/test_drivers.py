"""The end of drivers: deaths and restarts, stuck pods, and apps that have completed."""

import pytest

from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.operated import BOUNDED, Operated

DISRUPTED = [{"type": "Ready", "status": "False"}, {"type": "DisruptionTarget", "status": "True"}]


class TestDeaths:
    def test_a_driver_that_died_is_restarted_after_longer_and_longer_waits(self, running):
        waits = []
        for _ in range(4):
            epoch = running.record().launch.epoch
            running.pod_is(f"shop-driver-{epoch}", "Failed", exit_code=1)
            died = running.now
            running.reconcile_all()
            assert running.status()["phase"] == "Restarting"
            running.later(minutes=2)
            launch = running.record().launch
            assert launch.epoch == epoch + 1
            waits.append((launch.at - died).total_seconds())
            running.runs()
        for wait, expected in zip(waits, (1, 2, 4, 8), strict=True):
            assert expected * 0.8 <= wait <= expected * 1.2

    def test_a_driver_that_has_ended_does_not_wait_for_the_end_of_its_pod(self, running):
        running.pod_is("shop-driver-1", "Running", exit_code=137)
        running.reconcile_all()
        running.later(seconds=2)
        assert running.pods() == ["shop-driver-1", "shop-driver-2"]

    def test_deaths_in_a_row_are_called_a_crash_loop(self, running):
        for _ in range(3):
            running.pod_is(f"shop-driver-{running.record().launch.epoch}", "Failed", exit_code=7, message="no room")
            running.reconcile_all()
            reason = running.condition("DriverReady")
            running.later(minutes=2)
        assert reason == ("False", "CrashLoop")

    def test_a_healthy_time_makes_the_waits_short_again(self, running):
        for minutes in (0, 11):
            running.later(minutes=minutes)
            running.pod_is(f"shop-driver-{running.record().launch.epoch}", "Failed", exit_code=1)
            running.reconcile_all()
            running.later(minutes=1)
            running.runs()
        assert running.record().launch.attempt == 1

    def test_restarts_can_be_used_up(self):
        operated = Operated()
        operated.apply(restartPolicy={"maxRestarts": 1}).reconcile_all()
        operated.pod_is("shop-driver-1", "Failed", exit_code=1)
        operated.reconcile_all()
        operated.later(minutes=1)
        operated.pod_is("shop-driver-2", "Failed", exit_code=1)
        operated.reconcile_all()
        operated.later(hours=1)
        assert operated.condition("DriverReady") == ("False", "RestartsUsedUp")
        assert operated.status()["phase"] == "Failed"

    def test_a_pod_that_somebody_removed_comes_back(self, running):
        running.gone("shop-driver-1")
        running.reconcile_all()
        running.later(seconds=10)
        assert running.pods() == ["shop-driver-2"]

    def test_a_pod_that_is_evicted_from_a_drained_node_comes_back_at_once(self, running):
        for epoch in range(1, 6):
            running.later(minutes=1)
            running.pod_is(f"shop-driver-{epoch}", "Running", conditions=DISRUPTED)
            running.cluster.delete(Kind.POD, "default", f"shop-driver-{epoch}")
            running.reconcile_all()
            running.gone(f"shop-driver-{epoch}")
            running.reconcile_all()
            assert running.pods() == [f"shop-driver-{epoch + 1}"]
            assert running.record().launch.attempt == 0
            running.runs()

    def test_a_pod_that_its_node_has_no_memory_for_comes_back_at_once(self, running):
        running.later(minutes=1)
        running.pod_is("shop-driver-1", "Failed", exit_code=137, conditions=DISRUPTED, reason="Evicted")
        running.reconcile_all()
        assert "shop-driver-2" in running.pods()
        running.pod_is("shop-driver-2", "Failed", exit_code=137, conditions=DISRUPTED, reason="Evicted")
        running.reconcile_all()
        assert "shop-driver-3" not in running.pods()  # evicted again as soon as it was there
        running.later(seconds=10)
        assert "shop-driver-3" in running.pods()
        running.runs()
        running.pod_is("shop-driver-3", "Failed", exit_code=1)
        assert running.status()["driver"]["deaths"] == 0
        running.reconcile_all()
        assert "shop-driver-4" in running.pods()
        assert running.record().launch.attempt == 1  # a death of its own counts

    def test_the_last_dead_driver_stays_for_its_logs_and_its_executors_go(self, running):
        for _ in range(3):
            running.pod_is(f"shop-driver-{running.record().launch.epoch}", "Failed", exit_code=1)
            running.reconcile_all()
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
        running.reconcile_all()
        assert running.condition("DriverReady") == ("False", "Draining")
        running.later(seconds=60)
        assert "shop-driver-2" in running.pods()


class TestCompletion:
    @pytest.fixture
    def completed(self):
        operated = Operated()
        operated.apply(streams=BOUNDED).reconcile_all()
        operated.runs()
        operated.reports(phase=DriverPhase.COMPLETED)
        operated.reconcile_all()
        operated.pod_is("shop-driver-1", "Succeeded", exit_code=0)
        operated.reconcile_all()
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
        completed.reconcile_all()
        assert completed.record().launch.epoch == 2
        assert completed.condition("Completed")[0] == "False"

    def test_success_without_a_report_is_a_death(self, running):
        running.pod_is("shop-driver-1", "Succeeded", exit_code=0)
        running.reconcile_all()
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
        operated.reconcile_all()
        assert operated.condition("DriverReady") == ("False", reason)
        assert operated.condition("Degraded") == ("True", reason)

    def test_a_pod_that_fits_no_node_says_so(self, operated):
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
        operated.cluster.change(
            Kind.POD, "default", "shop-driver-1", status={"phase": "Pending", "conditions": [scheduled]}
        )
        operated.reconcile_all()
        assert operated.condition("DriverReady") == ("False", "Unschedulable")
