"""State in folders of the nodes: tasks restart where it lies, and are restored elsewhere when its node is lost.

Such folders need a namespace that allows hostPath volumes; somebody has prepared them for the images' user.
"""

import json

import pytest
from tools.cluster.check import Missing

from streamapp_core.deployment.names import HTTP_PORT
from support import cluster_apps
from support.machine import need
from support.waiting import eventually

APP = "numbers"
FOLDER = "/var/lib/streamapp-e2e"
USER = "10001"
TASKS = 20


@pytest.fixture
def nodes(cluster, operator, kafka):
    """Two workers with the folder: one that can be lost, for neither Kafka nor the operator is there, and another."""
    if cluster.engine is None:
        need([Missing(what="a cluster of our own", why="one of its nodes is killed", install="unset KUBECONFIG")])
    workers = {
        node["metadata"]["name"] for node in cluster.get("nodes", "--selector=!node-role.kubernetes.io/control-plane")
    }
    of_kafka = kafka.inside.split(".")[1]
    in_use = {
        pod["spec"].get("nodeName")
        for home in (cluster_apps.HOME, of_kafka)
        for pod in cluster.get("pods", f"--namespace={home}")
    }
    spare = min(workers - in_use)
    pair = spare, min(workers - {spare})
    for node in pair:
        cluster.engine.run("exec", node, "install", "--directory", f"--owner={USER}", FOLDER)
    yield pair
    for node in pair:
        cluster.engine.run("exec", node, "rm", "-rf", FOLDER)


@pytest.fixture
def app(cluster, namespace, images, kafka, nodes):
    """The app of numbered records: its processors on the two nodes, its driver not on the one that can be lost."""
    app = cluster_apps.Numbered(namespace, images[1], kafka, APP)
    spec = app.document["spec"]
    spec["job"]["intermediateStreamPartitions"] = TASKS
    spec["processors"] |= {"state": {"hostPath": FOLDER}, "template": on("In", nodes)}
    spec["driver"] = {"template": on("NotIn", nodes[:1])}
    cluster_apps.apply(cluster, app.document)
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=180)
    app.feed(20_000)
    app.wait_until_all_came_out()
    return app


def on(operator, nodes):
    """A pod's template: only on nodes of these names, or only on others."""
    term = {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [node]} for node in nodes]}
    terms = [{"matchFields": [field]} for field in term["matchFields"]]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"spec": {"affinity": {"nodeAffinity": required}}}


def driver_state(cluster, namespace):
    """Ask the newest driver how its tasks came to their state; empty before it can tell."""
    name = cluster_apps.status(cluster, namespace, APP)["driver"]["pod"]
    page = f"/api/v1/namespaces/{namespace}/pods/{name}:{HTTP_PORT}/proxy/status"
    return (json.loads(cluster.kubectl("get", "--raw", page)) or {}).get("state", {})


def processor_nodes(cluster, namespace):
    return {pod["spec"].get("nodeName") for pod in cluster_apps.pods(cluster, namespace, APP, "processor")}


@pytest.mark.pod_security("privileged")
def test_tasks_restart_at_their_state_and_are_restored_elsewhere_when_its_node_is_lost(cluster, namespace, nodes, app):
    assert processor_nodes(cluster, namespace) == set(nodes)
    driver = cluster_apps.pods(cluster, namespace, APP, "driver")[0]["metadata"]["name"]
    print(driver_state(cluster, namespace))
    cluster.kubectl("delete", "pod", driver, f"--namespace={namespace}", "--grace-period=0", "--force")
    app.feed(1_000)
    app.wait_until_all_came_out()
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=120)
    state = driver_state(cluster, namespace)
    print(
        json.dumps(state), processor_nodes(cluster, namespace), json.dumps(cluster_apps.status(cluster, namespace, APP))
    )
