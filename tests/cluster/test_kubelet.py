"""The stand-in for scheduler and kubelets: clients of the API server see what they would see of real ones."""

import time
from collections import Counter

import pytest
from kubernetes import client

from support.kubelet import Fate, Kubelet, named_fate
from support.paper_nodes import HOST_NAME
from support.waiting import eventually

CONTAINERS = [{"name": "main", "image": "image"}]


def pod(name, **spec):
    return {"metadata": {"name": name}, "spec": {"containers": CONTAINERS, **spec}}


@pytest.fixture
def core(api_client):
    return client.CoreV1Api(api_client)


@pytest.fixture
def kubelet(api_client, namespace):
    """The stand-in; a pod's name tells its fate."""
    with Kubelet(api_client, namespace) as kubelet:
        yield kubelet


def in_phase(core, namespace, name, phase):
    def reached():
        found = core.read_namespaced_pod(name, namespace)
        return found if found.status.phase == phase and found.status.container_statuses else None

    return eventually(reached)


@pytest.mark.usefixtures("kubelet")
def test_a_pod_runs_on_a_node(core, namespace):
    core.create_namespaced_pod(namespace, pod("plain"))
    found = in_phase(core, namespace, "plain", "Running")
    assert found.spec.node_name in {"node-a", "node-b", "node-c"}
    assert {c.type: c.status for c in found.status.conditions} == {
        "PodScheduled": "True",
        "Initialized": "True",
        "ContainersReady": "True",
        "Ready": "True",
    }
    (container,) = found.status.container_statuses
    assert container.ready
    assert container.state.running.started_at
    assert found.status.pod_ip


@pytest.mark.usefixtures("kubelet")
@pytest.mark.parametrize(
    "name, reason",
    [
        ("image-pull-back-off", "ImagePullBackOff"),
        ("crash-loop-back-off", "CrashLoopBackOff"),
        ("config-error", "CreateContainerConfigError"),
    ],
)
def test_a_pod_is_stuck_for_a_reason(core, namespace, name, reason):
    core.create_namespaced_pod(namespace, pod(name))
    found = in_phase(core, namespace, name, "Pending")
    assert found.status.container_statuses[0].state.waiting.reason == reason
    assert found.spec.node_name


@pytest.mark.usefixtures("kubelet")
def test_a_pod_that_fits_nowhere_says_so(core, namespace):
    core.create_namespaced_pod(namespace, pod("unschedulable"))

    def reason():
        return [c.reason for c in core.read_namespaced_pod("unschedulable", namespace).status.conditions or []]

    assert eventually(lambda: reason() == ["Unschedulable"])


def test_a_pod_becomes_what_a_test_says(core, kubelet, namespace):
    core.create_namespaced_pod(namespace, pod("unschedulable", restartPolicy="Never"))
    kubelet.become("unschedulable", Fate.RUNNING)
    assert in_phase(core, namespace, "unschedulable", "Running").spec.node_name
    kubelet.become("unschedulable", Fate.FAILED)
    found = in_phase(core, namespace, "unschedulable", "Failed")
    assert found.status.container_statuses[0].state.terminated.exit_code == 1
    assert found.status.container_statuses[0].state.running is None


@pytest.mark.usefixtures("kubelet")
def test_a_deleted_pod_goes(core, namespace):
    core.create_namespaced_pod(namespace, pod("short-lived"))
    in_phase(core, namespace, "short-lived", "Running")
    core.delete_namespaced_pod("short-lived", namespace)
    assert eventually(lambda: not core.list_namespaced_pod(namespace).items)


@pytest.mark.usefixtures("kubelet")
def test_pods_go_where_they_ask_to_and_spread_else(core, namespace):
    wish = {"matchExpressions": [{"key": HOST_NAME, "operator": "In", "values": ["node-c"]}]}
    preferred = [{"weight": 10, "preference": wish}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    core.create_namespaced_pod(namespace, pod("picky", nodeSelector={HOST_NAME: "node-b"}))
    core.create_namespaced_pod(namespace, pod("wishful", affinity=affinity))
    assert in_phase(core, namespace, "picky", "Running").spec.node_name == "node-b"
    assert in_phase(core, namespace, "wishful", "Running").spec.node_name == "node-c"
    core.create_namespaced_pod(namespace, pod("plain"))
    assert in_phase(core, namespace, "plain", "Running").spec.node_name == "node-a"


def test_it_leaves_the_choice_of_nodes_to_a_scheduler(api, api_client, core, namespace):
    nodes = {"left": {"side": "left"}, "right": {"side": "right"}}
    with api.scheduler(), Kubelet(api_client, namespace, nodes, assign=False):
        core.create_namespaced_pod(namespace, pod("picky", nodeSelector={"side": "right"}))
        assert in_phase(core, namespace, "picky", "Running").spec.node_name == "right"


def test_a_pod_that_somebody_else_assigns_meanwhile_runs_where_it_is(api_client, core, namespace):
    def assigned(pod):
        if "nodeName" not in pod["spec"]:
            body = {"metadata": {"name": "hurried"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "node-b"}}
            core.create_namespaced_pod_binding("hurried", namespace, body, _preload_content=False)
        return named_fate(pod)

    with Kubelet(api_client, namespace, fate=assigned):
        core.create_namespaced_pod(namespace, pod("hurried"))
        assert in_phase(core, namespace, "hurried", "Running").spec.node_name == "node-b"


def test_hundreds_of_pods_run_spread_over_the_nodes(api_client, core, namespace, record_property):
    count = 300
    with Kubelet(api_client, namespace):
        start = time.monotonic()
        for number in range(count):
            core.create_namespaced_pod(namespace, pod(f"pod-{number}"))

        def ready():
            found = core.list_namespaced_pod(namespace).items
            return Counter(item.spec.node_name for item in found if item.status.phase == "Running")

        assert eventually(lambda: ready().total() == count, 120, pause=0.5)
        record_property("seconds", time.monotonic() - start)
        assert max(ready().values()) - min(ready().values()) <= 1
