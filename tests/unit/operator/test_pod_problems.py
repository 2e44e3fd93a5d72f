"""Why pods do not start: what their status, their events and the API server say, and what to do about it."""

import pytest

from streamapp_operator.observe.pod_problems import explain_refusal, find_event_problem, find_pod_problem
from streamapp_systems.kubernetes.kubernetes_api import Kind, RequestRefusedError, ServerUnavailableError
from support.operated import Operated

NO_SECRET = 'MountVolume.SetUp failed for volume "login" : secret "kafka-login" not found'
QUOTA = 'pods "shop" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'


def pod(role="driver", **status):
    labels = {"streamapp.dev/role": role, "streamapp.dev/app": "shop"}
    return {"metadata": {"name": "shop-pod", "labels": labels}, "status": {"phase": "Pending", **status}}


def waits(reason, message):
    return {"containerStatuses": [{"name": "main", "state": {"waiting": {"reason": reason, "message": message}}}]}


def unschedulable(message):
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"conditions": [condition]}


@pytest.mark.parametrize(
    "item, reason, message",
    [
        (
            pod(**waits("ErrImagePull", "not found")),
            "ImagePullFailed",
            "pod shop-pod, container main: not found. Make the image available, or correct spec.image or "
            "spec.imagePullSecrets",
        ),
        (
            pod("processor", **waits("CreateContainerConfigError", 'configmap "rates" not found')),
            "ConfigError",
            'pod shop-pod, container main: configmap "rates" not found. Create what is missing, or correct '
            "spec.processors.template",
        ),
        (
            pod(**waits("CrashLoopBackOff", "back-off 10s")),
            "CrashLoop",
            "pod shop-pod, container main: back-off 10s. Its log says why: kubectl logs shop-pod -c main --previous",
        ),
        (
            pod(**unschedulable("0/3 nodes are available: 3 Insufficient memory.")),
            "Unschedulable",
            "pod shop-pod: 0/3 nodes are available: 3 Insufficient memory. Add nodes or room, or correct "
            "spec.driver.cores, spec.driver.memory or spec.driver.template",
        ),
    ],
)
def test_a_pod_that_does_not_start_says_why_and_what_to_do(item, reason, message):
    found = find_pod_problem(item)
    assert (found.reason, found.message) == (reason, message)


def event(reason, at="2025-01-01T00:00:05Z", version=1, *, warning=True, message=NO_SECRET, **times):
    return {
        "metadata": {"resourceVersion": str(version), "creationTimestamp": "2025-01-01T00:00:00Z"},
        "type": "Warning" if warning else "Normal",
        "reason": reason,
        "message": message,
        **(times or {"lastTimestamp": at}),
    }


SCHEDULED = event("Scheduled", warning=False, eventTime="2025-01-01T00:00:04.999999Z", lastTimestamp=None)


@pytest.mark.parametrize(
    "events, reason",
    [
        ([], None),
        ([SCHEDULED], None),
        ([SCHEDULED, event("FailedMount")], "FailedMount"),
        ([event("FailedAttachVolume")], "FailedAttachVolume"),
        ([event("FailedCreatePodSandBox", message="no network")], "FailedCreatePodSandBox"),
        ([event("FailedMount"), event("Pulling", "2025-01-01T00:00:09Z", warning=False)], None),
        ([event("Pulling", version=12, warning=False), event("FailedMount", version=9)], None),
        ([event("Unhealthy")], None),
    ],
    ids=["none", "scheduled", "mount", "attach", "sandbox", "mounted since", "mounted in this second", "another"],
)
def test_the_newest_event_of_a_pod_says_why_its_containers_are_not_created(events, reason):
    found = find_event_problem(pod(), events)
    assert (found and found.reason) == reason


def test_a_refusal_says_what_to_do():
    assert explain_refusal(QUOTA) == (
        f"{QUOTA}. Raise the ResourceQuota, or lower cores and memory of spec.driver and spec.processors. "
        "The operator tries again by itself"
    )
    assert "LimitRange, Pod Security, webhook" in explain_refusal("violates PodSecurity")


class TestVolumesThatCannotBeMounted:
    @pytest.fixture
    def stuck(self):
        operated = Operated()
        operated.apply().reconcile_all()
        spec = operated.cluster.get(Kind.POD, "default", "shop-driver-1")["spec"]
        operated.cluster.change(
            Kind.POD, "default", "shop-driver-1", spec={**spec, "nodeName": "node-a"}, status={"phase": "Pending"}
        )
        operated.reconcile_all()
        return operated

    def tell(self, operated, reason="FailedMount"):
        uid = operated.cluster.get(Kind.POD, "default", "shop-driver-1")["metadata"]["uid"]
        body = {
            "metadata": {"name": f"shop-driver-1.{reason}", "namespace": "default"},
            "involvedObject": {"uid": uid},
            "type": "Warning" if reason == "FailedMount" else "Normal",
            "reason": reason,
            "message": NO_SECRET,
            "lastTimestamp": operated.time(),
        }
        operated.cluster.create(Kind.EVENT, body)

    def test_they_are_told_within_15_seconds_and_once(self, stuck):
        self.tell(stuck)
        stuck.later(seconds=14)
        for condition, status in (("DriverReady", "False"), ("Ready", "False"), ("Degraded", "True")):
            assert stuck.condition(condition) == (status, "FailedMount")
        assert 'secret "kafka-login" not found. Create what is missing' in str(stuck.status()["conditions"])
        stuck.later(minutes=5)
        events = stuck.cluster.list(Kind.EVENT, "default", fields="involvedObject.kind=StreamApp")
        assert [event["reason"] for event in events].count("FailedMount") == 1

    def test_they_are_forgotten_when_the_node_goes_on(self, stuck):
        self.tell(stuck)
        stuck.later(seconds=14)
        self.tell(stuck, "Pulling")
        stuck.later(seconds=6)
        assert stuck.condition("DriverReady") == ("False", "Starting")

    def test_who_may_not_read_events_is_told_what_else_is_known(self, stuck, monkeypatch):
        listed = stuck.cluster.list

        def refused(kind, namespace, selector="", *, fields=""):
            if kind is Kind.EVENT:
                raise ServerUnavailableError("not now")
            return listed(kind, namespace, selector, fields=fields)

        monkeypatch.setattr(stuck.cluster, "list", refused)
        stuck.later(seconds=14)
        assert stuck.condition("DriverReady") == ("False", "Starting")


class TestExecutorsThatAreRefused:
    @pytest.fixture
    def refused(self):
        operated = Operated()
        operated.apply().reconcile_all()
        operated.pod_is("shop-driver-1", "Running", ready=False)
        operated.reconcile_all()
        operated.cluster.refused_pods = QUOTA
        with pytest.raises(RequestRefusedError):
            operated.later(seconds=11)
        return operated

    def test_it_is_told_although_only_spark_creates_them(self, refused):
        for condition, status in (("ProcessorsReady", "False"), ("Ready", "False"), ("Degraded", "True")):
            assert refused.condition(condition) == (status, "Refused")
        (ready,) = [entry for entry in refused.status()["conditions"] if entry["type"] == "ProcessorsReady"]
        assert ready["message"].startswith(f"0 of 2 processors run; executors are refused: {QUOTA}. Raise")

    def test_it_is_over_when_they_are_admitted(self, refused):
        refused.cluster.refused_pods = None
        refused.look()
        assert refused.condition("Degraded") == ("False", "AsExpected")
        refused.runs()
        assert refused.condition("Ready") == ("True", "Running")

    def test_a_webhook_that_cannot_be_asked_is_no_refusal(self, refused):
        refused.cluster.refused_pods = 'admission webhook "sidecars.example.com" does not support dry run'
        refused.look()
        assert refused.condition("Degraded") == ("False", "AsExpected")
