"""An app on a real cluster, under the restricted Pod Security level: it stays exact whatever dies or is edited."""

import json
from copy import deepcopy
from functools import partial

import pytest

from support import cluster_apps
from support.waiting import eventually

APP = "numbers"


@pytest.fixture
def app(cluster, namespace, images, operator, kafka):
    app = cluster_apps.Numbered(namespace, images[1], kafka, APP)
    cluster_apps.apply(cluster, app.document)
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=180)
    app.feed(5_000)
    return app


def pod_names(cluster, namespace, role):
    return [pod["metadata"]["name"] for pod in cluster_apps.pods(cluster, namespace, APP, role)]


def kill(cluster, namespace, pod):
    cluster.kubectl("delete", "pod", pod, f"--namespace={namespace}", "--grace-period=0", "--force")


def replaced(cluster, namespace, role, count, former):
    """Tell whether there are so many pods again, none of them the former one, and the app is ready."""
    names = pod_names(cluster, namespace, role)
    ready = cluster_apps.condition(cluster, namespace, APP, "Ready").get("status") == "True"
    return ready and former not in names and len(names) == count


def test_results_are_exact_when_driver_processor_and_operator_are_killed(cluster, namespace, app):
    driver = pod_names(cluster, namespace, "driver")[0]
    processor = pod_names(cluster, namespace, "processor")[0]

    kill(cluster, namespace, processor)
    app.feed(5_000)
    assert eventually(lambda: replaced(cluster, namespace, "processor", 2, processor), 120)
    assert pod_names(cluster, namespace, "driver") == [driver]

    kill(cluster, namespace, driver)
    app.feed(5_000)
    assert eventually(lambda: replaced(cluster, namespace, "driver", 1, driver), 120)

    operator = "--selector=app.kubernetes.io/name=streamapp"
    cluster.kubectl("delete", "pod", operator, f"--namespace={cluster_apps.HOME}", "--grace-period=0", "--force")
    second = pod_names(cluster, namespace, "driver")[0]
    kill(cluster, namespace, second)
    app.feed(5_000)
    assert eventually(lambda: replaced(cluster, namespace, "driver", 1, second), 180)
    app.wait_until_all_came_out()


def test_a_broken_edit_is_refused_and_harms_nothing(cluster, namespace, app):
    driver = cluster_apps.pods(cluster, namespace, APP, "driver")[0]["metadata"]["uid"]
    broken = deepcopy(app.document)
    broken["spec"]["operators"][0]["from"] = "inn"
    broken["spec"]["operators"][1]["partitionBy"]["key"] = "nme"
    cluster_apps.apply(cluster, broken)

    def refused():
        return cluster_apps.condition(cluster, namespace, APP, "Accepted").get("status") == "False"

    assert eventually(refused, 5)
    problems = cluster_apps.status(cluster, namespace, APP)["problems"]
    assert {"UnknownStream"} <= {problem["code"] for problem in problems}
    app.feed(5_000)
    app.wait_until_all_came_out()
    assert cluster_apps.pods(cluster, namespace, APP, "driver")[0]["metadata"]["uid"] == driver

    kill(cluster, namespace, pod_names(cluster, namespace, "driver")[0])
    app.feed(5_000)
    app.wait_until_all_came_out()
    assert refused()


def test_partitions_grow_under_a_running_app(cluster, namespace, app):
    before = cluster_apps.status(cluster, namespace, APP)["driver"]["epoch"]
    for round_, count in enumerate((8, 16), 1):
        app.grow(count)
        app.feed(5_000)
        assert eventually(partial(_reads, cluster, namespace, count), 120)
        cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=120)
        assert cluster_apps.status(cluster, namespace, APP)["driver"]["epoch"] == before + round_
    assert cluster_apps.status(cluster, namespace, APP)["plan"]["tasks"] == 5
    app.wait_until_all_came_out()

    app.grow(17)
    shown = eventually(lambda: _problems(cluster, namespace), 60)
    assert "UnsupportedExpansion" in json.dumps(shown)
    app.feed(1_000, partitions=16)
    app.wait_until_all_came_out()


def _problems(cluster, namespace):
    found = cluster_apps.status(cluster, namespace, APP)
    return [told for told in map(json.dumps, (found.get("problems"), found["conditions"])) if "Unsupported" in told]


def _reads(cluster, namespace, partitions):
    return cluster_apps.status(cluster, namespace, APP)["plan"]["streams"]["in"] == partitions
