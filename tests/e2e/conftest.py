"""One cluster for the run, a namespace for each test, and what explains a failure kept in a folder."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.cluster.cached import default_cache, locked
from tools.cluster.check import missing
from tools.cluster.cluster import Cluster
from tools.cluster.errors import ClusterError
from tools.cluster.kafka import deploy_kafka
from tools.cluster.lifecycle import down, given, up
from tools.cluster.namespaces import make_namespace, remove_namespace, save_namespace, test_namespaces

from support import cluster_apps, cluster_leftovers
from support.machine import need

NAME = "streamapp-e2e"
SAVED = Path(__file__).parents[2] / "build" / "e2e"
SECONDS = 1_800
"""The longest a test may take, whose first one makes the cluster."""
KAFKA_PORT = 30292
"""Of the Kafka for all tests; the default one is for the quickstart, as its page says."""


def pytest_configure(config):
    config.addinivalue_line("markers", "pod_security(level): of the test's namespace, if not restricted")


def pytest_itemcollected(item):
    if not item.get_closest_marker("timeout"):
        item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The cluster that $KUBECONFIG names, else one of our own, whose leftovers of an aborted run go first."""
    shutil.rmtree(SAVED, ignore_errors=True)
    cache = default_cache()
    if os.environ.get("KUBECONFIG"):
        yield from _given(cache)
        return
    need(missing())
    with locked(cache, NAME):
        down(cache, NAME)
        before = cluster_leftovers.traces(cache)
        try:
            yield up(cache, NAME)
        finally:
            down(cache, NAME)
        assert cluster_leftovers.left_by(cache, NAME, before) == []


def _given(cache):
    cluster = given(cache, Path(os.environ["KUBECONFIG"]))
    for name in test_namespaces(cluster):
        remove_namespace(cluster, name, wait=True)
    yield cluster


@pytest.fixture(scope="session")
def built_images(cluster, tmp_path_factory):
    """StreamApp's images in an archive; none for a cluster that is not ours."""
    from tools.images.build import build_images

    if cluster.engine is None:
        return None
    baked = cluster.engine.own_store is not None
    return build_images(default_cache(), tmp_path_factory.mktemp("images"), baked=baked)


@pytest.fixture(scope="session")
def images(cluster, built_images):
    """The names of StreamApp's images, on every node. A cluster that is not ours must have them already."""
    from tools.images.base import KAFKA, OPERATOR, RUNTIME

    if built_images is None:
        return (OPERATOR, RUNTIME, KAFKA)
    cluster.load_image(built_images.archive)
    return built_images.names


@pytest.fixture(scope="session")
def operator(cluster, images):
    """The Kubernetes operator, installed from the chart."""
    cluster_apps.install_operator(cluster, images[0])


@pytest.fixture(scope="session")
def kafka(cluster, images):
    """Kafka in the cluster, for all tests; their topics have names of their own."""
    name = make_namespace(cluster, "kafka for all tests", "restricted")
    yield deploy_kafka(cluster, name, images[2], node_port=KAFKA_PORT)
    remove_namespace(cluster, name)


@pytest.fixture
def namespace(request, cluster) -> Iterator[str]:
    """A fresh namespace; it is removed without waiting for its end."""
    marker = request.node.get_closest_marker("pod_security")
    name = make_namespace(cluster, request.node.name, marker.args[0] if marker else "restricted")
    yield name
    remove_namespace(cluster, name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Save what explains a failure while the test's pods still run."""
    report = yield
    cluster = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and cluster is not None and report.when != "teardown":
        report.sections.append(("Kubernetes", _save(cluster, item.name)))
    return report


def _save(cluster, test):
    folder = SAVED / test
    try:
        for name in (cluster_apps.HOME, *test_namespaces(cluster)):
            save_namespace(cluster, name, folder / name)
    except ClusterError as error:
        return f"logs and events could not be saved: {error}"
    return f"logs, events and StreamApps are in {folder}"
