"""An app on a real cluster, under the restricted Pod Security level: it stays exact whatever dies or is edited."""

import json
import os
import time
from copy import deepcopy
from functools import partial

import pytest

from support import cluster_apps
from support.cluster_apps import eventually

APP = "numbers"
UNDISTURBED_SECONDS = float(os.environ.get("STREAMAPP_UNDISTURBED_SECONDS", "5"))
TRIES = 3
"""So often the operator may show that it is in time: the machine may be busy at one of them."""


@pytest.fixture
def app(cluster, namespace, images, operator, kafka):
    app = cluster_apps.Numbered(namespace, images[1], kafka, APP)
    app.document["spec"]["spark"] = {"ui": {}}
    cluster_apps.apply(cluster, app.document)
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=180)
    app.feed(5_000)
    return app


JOBS = """
import json, os, socket, urllib.request

def read(path):
    with urllib.request.urlopen("http://127.0.0.1:4040/api/v1/applications" + path) as response:
        return json.load(response)

(application,) = read("")
others = socket.socket().connect_ex((os.environ["STREAMAPP_POD_IP"], 4040)) == 0
print(json.dumps([others, [job["description"] for job in read("/" + application["id"] + "/jobs")]]))
"""


def pod_names(cluster, namespace, role):
    return [pod["metadata"]["name"] for pod in cluster_apps.pods(cluster, namespace, APP, role)]


def replaced(cluster, namespace, role, count, former):
    """Tell whether there are so many pods again, none of them the former one, and the app is ready."""
    names = pod_names(cluster, namespace, role)
    ready = cluster_apps.condition(cluster, namespace, APP, "Ready").get("status") == "True"
    return ready and former not in names and len(names) == count


def test_results_are_exact_when_processor_driver_and_operator_die_and_all_documents_are_lost(cluster, namespace, app):
    driver = pod_names(cluster, namespace, "driver")[0]
    for role, count in (("processor", 2), ("driver", 1)):
        victim = pod_names(cluster, namespace, role)[0]
        cluster_apps.kill(cluster, namespace, victim)
        cluster_apps.kill_operator(cluster)
        app.feed(5_000)
        assert eventually(partial(replaced, cluster, namespace, role, count, victim), 180)
        assert (driver in pod_names(cluster, namespace, "driver")) == (role == "processor")
    app.wait_until_all_came_out()

    driver = pod_names(cluster, namespace, "driver")[0]
    documents = f"--selector=streamapp.dev/app={APP}"
    cluster.kubectl("delete", "configmap", f"--namespace={namespace}", documents, "--ignore-not-found")
    app.feed(5_000)
    assert eventually(partial(replaced, cluster, namespace, "driver", 1, driver), 120)
    app.wait_until_all_came_out()


def test_a_broken_edit_harms_nothing_and_good_ones_scale_suspend_resume_and_delete(cluster, namespace, app):
    driver = cluster_apps.pods(cluster, namespace, APP, "driver")[0]["metadata"]
    broken = deepcopy(app.document)
    broken["spec"]["operators"][0]["from"] = "inn"
    broken["spec"]["operators"][1]["partitionBy"]["key"] = "nme"

    def refused():
        return cluster_apps.condition(cluster, namespace, APP, "Accepted").get("status") == "False"

    def seconds_to_refuse():
        cluster_apps.apply(cluster, app.document)
        assert eventually(lambda: not refused(), 60)
        began = time.monotonic()
        cluster_apps.apply(cluster, broken)
        assert eventually(refused, 60)
        return time.monotonic() - began

    assert any(seconds_to_refuse() < 5 for _ in range(TRIES))
    problems = cluster_apps.status(cluster, namespace, APP)["problems"]
    assert {"UnknownStream"} <= {problem["code"] for problem in problems}
    until = time.monotonic() + UNDISTURBED_SECONDS
    while time.monotonic() < until:
        app.feed(5_000)
        app.wait_until_all_came_out()
    assert cluster_apps.pods(cluster, namespace, APP, "driver")[0]["metadata"]["uid"] == driver["uid"]

    cluster_apps.kill(cluster, namespace, driver["name"])
    app.feed(5_000)
    app.wait_until_all_came_out()
    assert refused()

    cluster_apps.apply(cluster, app.document)
    cluster.kubectl("scale", f"streamapp/{APP}", "--replicas=1", f"--namespace={namespace}")
    assert eventually(lambda: cluster_apps.status(cluster, namespace, APP)["processors"] == {"ready": 1}, 120)
    assert eventually(lambda: not refused(), 60)
    cluster_apps.edit(cluster, namespace, APP, suspend=True)
    app.feed(5_000)
    assert eventually(lambda: cluster_apps.status(cluster, namespace, APP)["phase"] == "Suspended", 120)
    assert eventually(lambda: pod_names(cluster, namespace, "driver") == [], 60)
    cluster_apps.edit(cluster, namespace, APP, suspend=False, processors={"count": 2}, deletionPolicy="Delete")
    app.wait_until_all_came_out()

    assert app.topics()
    cluster.kubectl("delete", "streamapp", APP, f"--namespace={namespace}", "--timeout=120s", timeout=130)
    assert eventually(lambda: not app.topics(), 60)


def test_edits_whose_driver_does_not_start_are_told_and_rolled_back(cluster, namespace, app):
    mount = {"name": "driver", "volumeMounts": [{"name": "gone", "mountPath": "/gone"}]}
    volume = {"name": "gone", "secret": {"secretName": "gone"}}
    template = {"spec": {"containers": [mount], "volumes": [volume]}}
    shown = partial(cluster_apps.condition, cluster, namespace, APP)
    for reason, edit in (
        ("ImagePullFailed", {"image": "localhost/streamapp/gone:1"}),
        ("FailedMount", {"driver": {"template": template}}),
    ):
        cluster_apps.apply(cluster, app.document)
        assert eventually(lambda: shown("Accepted").get("status") == shown("Ready").get("status") == "True", 180)
        cluster_apps.edit(cluster, namespace, APP, upgrade={"deadline": "30s"}, **edit)
        assert eventually(lambda reason=reason: shown("DriverReady").get("reason") == reason, 120)
        assert eventually(lambda: shown("Accepted").get("reason") == "UpgradeRolledBack", 60)
        app.feed(5_000)
        app.wait_until_all_came_out()
        assert eventually(lambda: shown("Ready").get("status") == "True", 60)


def test_partitions_grow_under_a_running_app(cluster, namespace, app):
    before = _epoch(cluster, namespace)
    for round_, count in enumerate((8, 16), 1):
        app.grow(count)
        app.feed(5_000)
        assert eventually(partial(_reads, cluster, namespace, count), 120)
        assert eventually(lambda epoch=before + round_: _epoch(cluster, namespace) >= epoch, 120)
        cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=120)
        app.wait_until_all_came_out()
        assert _epoch(cluster, namespace) == before + round_
    assert cluster_apps.status(cluster, namespace, APP)["plan"]["tasks"] == 5
    app.wait_until_all_came_out()

    app.grow(17)
    shown = eventually(lambda: _problems(cluster, namespace), 60)
    assert "UnsupportedExpansion" in json.dumps(shown)
    app.feed(1_000, partitions=16)
    app.wait_until_all_came_out()


def _epoch(cluster, namespace):
    return cluster_apps.status(cluster, namespace, APP)["driver"]["epoch"]


def _problems(cluster, namespace):
    found = cluster_apps.status(cluster, namespace, APP)
    return [told for told in map(json.dumps, (found.get("problems"), found["conditions"])) if "Unsupported" in told]


def _reads(cluster, namespace, partitions):
    return cluster_apps.status(cluster, namespace, APP)["plan"]["streams"]["in"] == partitions


def test_spark_shows_the_processors_of_a_driver_in_its_pod_alone(cluster, namespace, app):
    (driver,) = pod_names(cluster, namespace, "driver")
    told = cluster.kubectl(
        "exec", f"--namespace={namespace}", driver, "--container=driver", "--", "python3", "-c", JOBS
    )
    seen_by_others, jobs = json.loads(told.splitlines()[-1])
    assert not seen_by_others
    assert {f"processor {number}" for number in range(2)} == {job.partition(" (")[0] for job in jobs}
    assert all(": Partition " in job for job in jobs)
