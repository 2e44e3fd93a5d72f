"""State in folders of the nodes: tasks restart where it lies, and are restored elsewhere when its node is lost.

Such folders need a namespace that allows hostPath volumes; somebody has prepared them for the images' user.
"""

import json
from functools import partial

import pytest
from tools.cluster.check import Missing

from streamapp_core.deployment.driver_reports import LOCALITY
from streamapp_core.deployment.kubernetes_names import HTTP_PORT, document_name
from support import cluster_apps
from support.cluster_apps import eventually
from support.machine import need

APP = "numbers"
FOLDER = "/var/lib/streamapp/e2e"
USER = "10001"
TASKS = 20


@pytest.fixture
def nodes(cluster, operator, kafka):
    """Two workers with the folder; the first can be lost: neither Kafka nor the operator is there."""
    if cluster.engine is None:
        need([Missing(what="a cluster of our own", why="one of its nodes is killed", install="unset KUBECONFIG")])
    expendable = cluster_apps.expendable_node(cluster)
    pair = expendable, min(cluster_apps.workers(cluster) - {expendable})
    for node in pair:
        cluster.engine.run("exec", node, "install", "--directory", f"--owner={USER}", FOLDER)
    yield pair
    for node in pair:
        cluster.engine.run("exec", node, "rm", "-rf", FOLDER)


@pytest.fixture
def app(cluster, namespace, images, kafka, nodes):
    """The app of numbered records, a processor on each of the two nodes, the driver on neither."""
    app = cluster_apps.Numbered(namespace, images[1], kafka, APP)
    spec = app.document["spec"]
    spec["job"]["intermediateStreamPartitions"] = TASKS
    spec["processors"] |= {"state": {"hostPath": FOLDER}, "template": placed([[at("In", node)] for node in nodes])}
    spec["driver"] = {"template": placed([[at("NotIn", node) for node in nodes]])}
    cluster_apps.apply(cluster, app.document)
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=180)
    app.feed(20_000)
    app.wait_until_all_came_out()
    return app


def at(operator, node):
    return {"key": "metadata.name", "operator": operator, "values": [node]}


def placed(alternatives):
    """A template of pods that run where one of the alternatives holds."""
    terms = {"nodeSelectorTerms": [{"matchFields": fields} for fields in alternatives]}
    return {"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}}


def processor_nodes(cluster, namespace):
    found = cluster_apps.pods(cluster, namespace, APP, "processor")
    return {pod["spec"].get("nodeName") for pod in found if pod["status"]["phase"] == "Running"}


def ready_driver(cluster, namespace, former=None):
    """Name the driver whose processors run all their tasks, if there is one, and it is not the former one."""
    for pod in cluster_apps.pods(cluster, namespace, APP, "driver"):
        name, containers = pod["metadata"]["name"], pod["status"].get("containerStatuses", ())
        if name != former and any(container["ready"] for container in containers):
            return name
    return None


def restored(cluster, namespace, driver):
    """Ask a driver how its tasks came to their state."""
    page = f"/api/v1/namespaces/{namespace}/pods/{driver}:{HTTP_PORT}/proxy/status"
    return json.loads(cluster.kubectl("get", "--raw", page))["state"]


def processors(cluster, namespace):
    found = cluster_apps.pods(cluster, namespace, APP, "processor")
    return {pod["metadata"]["name"] for pod in found if pod["status"]["phase"] == "Running"}


def processor_of_first_task(cluster, namespace):
    """Name the newest pod where the first task has its state."""
    found = cluster.get("configmap", f"--namespace={namespace}", document_name(APP, LOCALITY))
    locations = json.loads(found["data"]["value"])["locations"]
    (node,) = (location for location, numbers in locations.items() if 0 in numbers)
    here = [
        pod["metadata"]
        for pod in cluster_apps.pods(cluster, namespace, APP, "processor")
        if pod["spec"].get("nodeName") == node
    ]
    return max(here, key=lambda pod: pod["creationTimestamp"])["name"]


def kept(cluster, namespace, driver, records):
    """Tell whether 95 % of the tasks opened the state they found, and read no more than so many records besides."""
    state = restored(cluster, namespace, driver)
    return state["kept"] >= 0.95 * TASKS and state["records"] < records and state["left"] == 0


def opened(cluster, namespace, driver):
    """Return whether 95 % of the tasks have opened their state, be it kept or rebuilt."""
    state = restored(cluster, namespace, driver)
    return state["kept"] + state["rebuilt"] >= 0.95 * TASKS


@pytest.mark.pod_security("privileged")
def test_tasks_restart_at_their_state_and_are_restored_elsewhere_when_its_node_is_lost(cluster, namespace, nodes, app):
    """With each death the operator dies, too, so that it is in the middle of what it does about it."""
    lost, left = nodes
    assert processor_nodes(cluster, namespace) == {lost, left}
    few = 0.05 * app.fed
    former = ready_driver(cluster, namespace)
    cluster_apps.kill(cluster, namespace, former)
    cluster_apps.kill_operator(cluster)
    driver = eventually(partial(ready_driver, cluster, namespace, former), 180)
    assert eventually(partial(kept, cluster, namespace, driver, few), 60), restored(cluster, namespace, driver)

    # However long the next executor takes: tasks that the other processor takes over meanwhile return to their state.
    victim = processor_of_first_task(cluster, namespace)
    cluster_apps.kill(cluster, namespace, victim)
    cluster_apps.kill_operator(cluster)
    app.feed(1_000)
    assert eventually(lambda: len(processors(cluster, namespace) - {victim}) == 2, 180)
    app.wait_until_all_came_out()
    assert eventually(lambda: ready_driver(cluster, namespace) == driver, 60)
    assert eventually(partial(kept, cluster, namespace, driver, few), 60), restored(cluster, namespace, driver)

    cluster.kill_node(lost)
    cluster_apps.kill_operator(cluster)
    try:
        app.feed(1_000)
        app.wait_until_all_came_out()
        assert eventually(partial(opened, cluster, namespace, driver), 60), restored(cluster, namespace, driver)
        # Of tasks that were on the other node for a while, when processors died, older stores lie there: they are kept.
        assert restored(cluster, namespace, driver)["kept"] >= 0.4 * TASKS
    finally:
        cluster.start_node(lost)
