"""A running app whose spec or streams change."""

from functools import partial

import yaml

from streamapp_core.deployment.app_record import LaunchCause, StopCause
from streamapp_core.deployment.pod_policy import PodPolicy
from streamapp_operator.decide.validation import CachingPlanner, plan_app
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.operated import BROKEN, SENT, SHOP, Operated


class TestExpansion:
    def test_an_accepted_growth_restarts_the_driver_once_with_its_tasks_kept(self, running):
        tasks = {name: task.changelog_partition for name, task in running.model().model.tasks.items()}
        running.counts = {"orders": 8, "totals": 4}
        running.look()
        assert running.record().launch.stop is StopCause.EXPANDED
        assert running.condition("DriverReady") == ("False", "Draining")
        running.gone("shop-driver-1")
        running.reconcile_all()
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
        running.reconcile_all()
        running.later(seconds=10)
        assert running.record().launch.counts["orders"] == 4
        assert sum(len(task.ssps) for task in running.model().model.tasks.values()) == 4

    def test_outputs_may_appear_and_grow(self):
        operated = Operated(counts={"orders": 4})
        streams = yaml.safe_load(SHOP)["streams"]
        operated.apply(streams={**streams, "totals": {"system": "kafka", "partitions": 4}}).reconcile_all()
        operated.runs()
        record = operated.record()
        operated.counts = {"orders": 4, "totals": 12}
        operated.look()
        assert operated.record() == record


class TestEdits:
    def test_a_restart_drains_before_the_next_driver_is_launched(self, running):
        running.apply(job={"commitInterval": "5s"})
        running.reconcile_all()
        assert running.record().launch.stop is StopCause.EDITED
        assert running.pods() == ["shop-driver-1"]
        running.gone("shop-driver-1")
        running.reconcile_all()
        assert running.record().launch.cause is LaunchCause.EDITED
        assert running.pods() == ["shop-driver-2"]
        assert running.status()["observedGeneration"] == 2

    def test_an_edit_without_effect_disturbs_nobody(self, running):
        running.apply(restartPolicy={"backoff": "1s"})
        running.reconcile_all()
        assert running.record().accepted.generation == 2
        assert running.record().launch.stop is None
        assert running.pods() == ["shop-driver-1"]
        assert running.condition("Ready")[0] == "True"

    def test_more_processors_come_without_a_restart(self, running):
        running.apply(processors={"count": 3, "state": {"hostPath": "/var/lib/streamapp"}})
        running.reconcile_all()
        assert running.record().launch.processors == 3
        assert set(running.model().model.processors) == {"0", "1"}
        running.executor(3, "node-c")
        running.reconcile_all()
        model = running.model().model
        assert model.processors["2"].executor == "3"
        assert {task.processor for task in model.tasks.values()} == {"0", "1", "2"}
        assert running.model().epoch == 1
        assert running.pods() == ["shop-driver-1"]

    def test_fewer_processors_hand_their_tasks_over(self, running):
        running.apply(processors={"count": 1, "state": {"hostPath": "/var/lib/streamapp"}})
        running.reconcile_all()
        model = running.model().model
        assert set(model.processors) == {"0"}
        assert {task.processor for task in model.tasks.values()} == {"0"}
        assert running.record().launch.processors == 1

    def test_another_run_id_starts_from_nothing(self, running):
        running.apply(runId="again")
        running.reconcile_all()
        running.gone("shop-driver-1")
        running.reconcile_all()
        launch = running.record().launch
        assert (launch.cause, launch.run_id, launch.epoch) == (LaunchCause.NEW_RUN, "again", 2)
        assert running.model().model.run_id == "again"

    def test_an_edit_of_state_is_refused_within_a_run(self, running):
        aggregate = {"by": ["item"], "select": "max(item) as last"}
        operators = [{**BROKEN[0], "aggregate": aggregate}, SENT]
        running.apply(operators=operators)
        running.reconcile_all()
        assert running.condition("Accepted") == ("False", "RunIdRequired")
        running.apply(operators=operators, runId="again")
        running.reconcile_all()
        assert running.condition("Accepted")[0] == "True"

    def test_another_account_is_bound_instead(self, running):
        policy = PodPolicy(serviceAccounts=("mine",))
        running.planner = CachingPlanner(partial(plan_app, policy=policy))
        running.start()
        running.apply(serviceAccountName="mine")
        running.reconcile_all()
        running.gone("shop-driver-1")
        running.reconcile_all()
        (subject,) = running.cluster.get(Kind.ROLE_BINDING, "default", "shop-driver")["subjects"]
        assert subject["name"] == "mine"
        assert running.cluster.get(Kind.POD, "default", "shop-driver-2")["spec"]["serviceAccountName"] == "mine"


class TestSuspension:
    def test_a_suspended_app_drains_and_stays_down(self, running):
        running.apply(suspend=True)
        running.reconcile_all()
        assert running.record().launch.stop is StopCause.SUSPENDED
        running.gone("shop-driver-1")
        running.reconcile_all()
        running.later(hours=1)
        assert running.pods() == []
        assert running.status()["phase"] == "Suspended"
        assert running.condition("Degraded")[0] == "False"

    def test_a_resumed_app_starts_at_once(self, running):
        running.apply(suspend=True)
        running.reconcile_all()
        running.gone("shop-driver-1")
        running.reconcile_all()
        running.apply()
        running.reconcile_all()
        assert running.pods() == ["shop-driver-2"]
        assert running.record().launch.cause is LaunchCause.RESUMED

    def test_an_app_may_be_suspended_from_the_start(self):
        operated = Operated()
        operated.apply(suspend=True).reconcile_all()
        assert operated.pods() == []
        assert operated.status()["phase"] == "Suspended"
        operated.apply()
        operated.reconcile_all()
        assert operated.record().launch.cause is LaunchCause.FIRST_START

    def test_suspend_is_heard_even_with_a_spec_that_is_refused(self, running):
        running.apply(operators=BROKEN, suspend=True)
        running.reconcile_all()
        assert running.record().launch.stop is StopCause.SUSPENDED
        assert running.condition("Accepted")[0] == "False"
