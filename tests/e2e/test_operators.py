"""The operator's own ways into a cluster: its webhook through a Service, and a second one that takes over."""

import json
from copy import deepcopy

import pytest
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.errors import ClusterError

from support import cluster_apps
from support.chart import Chart
from support.cluster_apps import eventually
from support.shop_resources import SPEC

RELEASE = "other"
OPERATOR = f"{RELEASE}-streamapp-operator"


@pytest.fixture
def chart(cluster):
    return Chart(kube_binaries(default_cache()), cluster.environment)


@pytest.fixture
def install(cluster, chart, namespace, images):
    """A function that installs a release for one namespace; it goes with the test."""
    repository, _, tag = images[0].rpartition(":")

    def install(**values):
        image = {"repository": repository, "tag": tag}
        chart.install(RELEASE, namespace, {"image": image, "watch": {"namespaces": [namespace]}, **values})
        cluster.kubectl("rollout", "status", f"deployment/{OPERATOR}", f"--namespace={namespace}", "--timeout=110s")

    yield install
    chart.uninstall(RELEASE, namespace)


def test_a_dry_run_shows_the_problems_that_the_operator_finds(cluster, chart, namespace, install):
    install(webhook={"enabled": True})
    broken = deepcopy(SPEC)
    broken["operators"][0]["aggregate"]["by"] = ["itme"]
    metadata = {"name": "tried", "namespace": namespace}
    app = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": metadata, "spec": broken}

    def refusal():
        try:
            return cluster.kubectl("apply", "--dry-run=server", "--filename=-", text=json.dumps(app)) and None
        except ClusterError as error:
            return str(error)

    assert "spec.operators[0].aggregate.by: UnknownColumn: " in eventually(refusal, 60)
    assert "Phase:          Succeeded" in chart.test(RELEASE, namespace)


def test_a_second_operator_takes_over(cluster, namespace, install):
    install(replicas=2)

    def holder():
        return cluster.get("lease", OPERATOR, f"--namespace={namespace}")["spec"]["holderIdentity"]

    pods = {pod["metadata"]["name"]: pod for pod in cluster.get("pods", f"--namespace={namespace}")}
    first = holder()
    assert len(pods) == 2
    assert first in pods
    cluster_apps.kill(cluster, namespace, first)
    assert eventually(lambda: holder() not in ("", first), 60)
