"""Whole lives of apps: the operator on a cluster in memory, with a clock that tests turn."""

import pytest

from streamapp_core.deployment.app_record import LaunchCause
from streamapp_operator.act.actor import NameTakenError
from streamapp_operator.observe.observed_state import DriverRole
from streamapp_systems.kubernetes.kubernetes_api import Kind, RequestRefusedError
from support.operated import BROKEN, Operated


def kinds(operated):
    return sorted(kind.kind for kind, _, _ in operated.cluster.objects if kind is not Kind.EVENT)


def test_an_app_gets_a_driver_and_what_it_needs(operated):
    assert kinds(operated) == [
        *["ConfigMap"] * 3,
        "NetworkPolicy",
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
    running.reconcile_all()
    assert running.writes() == before


def test_a_refused_spec_harms_nothing(running):
    record, pods = running.record(), running.pods()
    running.apply(operators=BROKEN)
    running.reconcile_all()
    assert running.condition("Accepted") == ("False", "UnknownColumn")
    assert running.condition("Ready") == ("True", "Running")
    assert running.condition("Degraded") == ("True", "UnknownColumn")
    (problem,) = [p for p in running.status()["problems"] if p["code"] == "UnknownColumn"]
    assert problem["path"] == "spec.operators[0].aggregate.select"
    assert running.status()["observedGeneration"] == 2
    assert running.condition("Stalled") == ("True", "UnknownColumn")
    generations = {entry["type"]: entry["observedGeneration"] for entry in running.status()["conditions"]}
    assert (generations["Ready"], generations["Accepted"]) == (1, 2)  # who waits for Ready goes on waiting
    assert (running.record(), running.pods()) == (record, pods)


def test_the_last_accepted_spec_is_restarted_while_another_is_refused(running):
    running.apply(operators=BROKEN)
    running.reconcile_all()
    running.pod_is("shop-driver-1", "Failed", exit_code=1)
    running.reconcile_all()
    running.later(seconds=10)
    assert "shop-driver-2" in running.pods()
    assert running.record().launch.app == running.record().accepted.app
    assert running.condition("Accepted")[0] == "False"


def test_a_spec_that_was_never_acceptable_makes_nothing(operated):
    other = Operated()
    other.apply(operators=BROKEN).reconcile_all()
    assert kinds(other) == ["StreamApp"]
    assert other.status()["phase"] == "Refused"
    assert other.condition("Ready")[0] == "False"


def test_an_app_waits_for_the_systems_without_harm():
    operated = Operated()
    operated.broker_error = "Kafka kafka (kafka:9092): nobody answers"
    operated.apply().reconcile_all()
    assert operated.condition("Accepted") == ("Unknown", "SystemUnavailable")
    operated.broker_error = None
    operated.look()
    assert operated.pods() == ["shop-driver-1"]


def test_brokers_that_are_gone_do_not_stop_a_running_app(running):
    running.broker_error = "Kafka kafka (kafka:9092): nobody answers"
    running.look()
    assert running.condition("Ready")[0] == "True"
    assert running.condition("Degraded") == ("True", "SystemUnavailable")


def test_what_somebody_removed_is_made_again(running):
    for kind, name in (
        (Kind.SERVICE, "shop-driver"),
        (Kind.SERVICE_ACCOUNT, "shop-driver"),
        (Kind.ROLE_BINDING, "shop-driver"),
    ):
        running.cluster.remove(kind, "default", name)
        running.reconcile_all()
        assert running.cluster.get(kind, "default", name)


def test_another_role_of_drivers_is_bound_instead(running):
    """As when a release that watched all namespaces is to watch some only."""
    binding = running.cluster.get(Kind.ROLE_BINDING, "default", "shop-driver")
    running.driver_role = DriverRole(kind="Role", name="streamapp-driver")
    running.start()
    running.reconcile_all()
    bound = running.cluster.get(Kind.ROLE_BINDING, "default", "shop-driver")
    assert bound["roleRef"]["kind"] == "Role"
    assert bound["subjects"] == binding["subjects"]
    assert running.pods() == ["shop-driver-1"]


def test_events_tell_what_happened_once(running):
    running.apply(operators=BROKEN)
    running.reconcile_all()
    running.look()
    events = running.cluster.list(Kind.EVENT, "default")
    told = [(event["type"], event["reason"]) for event in events]
    assert told.count(("Warning", "UnknownColumn")) == 1
    assert ("Normal", "Running") in told


def test_times_of_conditions_are_stable(running):
    before = {entry["type"]: entry["lastTransitionTime"] for entry in running.status()["conditions"]}
    running.later(minutes=5)
    running.apply(operators=BROKEN)
    running.reconcile_all()
    after = {entry["type"]: entry["lastTransitionTime"] for entry in running.status()["conditions"]}
    assert {kind for kind in after if after[kind] != before[kind]} == {"Accepted", "Degraded", "Stalled"}


class TestRefusals:
    @pytest.fixture
    def forbidden(self):
        """A cluster whose admission refuses pods, until a test says otherwise."""
        operated = Operated()
        operated.cluster.refused_pods = "violates PodSecurity"
        operated.apply()
        for _ in range(2):  # again when the watch has told of what was written
            with pytest.raises(RequestRefusedError):
                operated.reconcile_all()
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
        with pytest.raises(NameTakenError, match="Service shop-driver exists and does not belong to this app"):
            operated.apply().reconcile_all()
        assert operated.condition("Degraded") == ("True", "Refused")
