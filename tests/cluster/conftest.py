"""A real API server for the whole run, with the CustomResourceDefinition; each test has a namespace of its own."""

import itertools
import re

import pytest
from hypothesis import settings
from kubernetes import client, config
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.check import missing_for_light
from tools.cluster.errors import ClusterError
from tools.cluster.light import LightCluster

from streamapp_operator.observe.resource_views import parse_app_resource
from streamapp_systems.kubernetes.kubernetes_api import Kind
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore
from support.api_server import Planner
from support.chart import Chart
from support.machine import need
from support.operator_process import HOME, access_manifests
from support.shop_resources import Shop
from support.waiting import eventually

# The same examples in every run, and no clock: the machine may be busy.
settings.register_profile("cluster", derandomize=True, database=None, deadline=None)
settings.load_profile("cluster")

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def api():
    """An API server with the CustomResourceDefinition, as `kubectl apply` brings it in."""
    need(missing_for_light())
    with LightCluster(kube_binaries(default_cache()), users={"somebody": ()}) as api:
        api.cluster.kubectl("apply", "--filename", "charts/streamapp/crds")
        assert eventually(lambda: served(api.cluster) and explained(api.cluster))
        yield api


def served(cluster):
    """Return whether somebody may list apps, as far as the API server knows by now.

    It learns of a new kind, and of a new right, some time after it has stored them.
    """
    try:
        cluster.get("streamapps", "--all-namespaces")
    except ClusterError:
        return False
    return True


def explained(cluster):
    """Return whether the API server has published the fields of apps, which it does last."""
    try:
        return cluster.kubectl("explain", "streamapp")
    except ClusterError:
        return False


@pytest.fixture(scope="session")
def controllers(api):
    """Kubernetes' own controllers, garbage collection among them."""
    api.start_controllers()


@pytest.fixture(scope="session")
def kubectl(api):
    return api.cluster.kubectl


@pytest.fixture(scope="session")
def get(api):
    return api.cluster.get


@pytest.fixture(scope="session")
def api_client(api):
    with config.new_client_from_config(str(api.cluster.kubeconfig)) as api_client:
        yield api_client


@pytest.fixture
def namespace(api_client, request):
    """A namespace that no other test knows; it goes with the API server."""
    words = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:40].strip("-")
    name = f"{words}-{next(_numbers)}"
    client.CoreV1Api(api_client).create_namespace({"metadata": {"name": name}})
    return name


@pytest.fixture(scope="session")
def judge(api_client):
    client.CoreV1Api(api_client).create_namespace({"metadata": {"name": "judged"}})
    return Planner(api_client, "judged")


@pytest.fixture(scope="session")
def operator_kubeconfig(api):
    """The Kubernetes operator's account, with the rights it needs."""
    api.cluster.kubectl("apply", "--filename", "-", text=access_manifests())
    operator = api.seen_by_service_account(HOME, "operator")
    assert eventually(lambda: served(operator))
    return operator.kubeconfig


@pytest.fixture
def shop(api_client):
    return Shop(api_client)


@pytest.fixture
def core(api_client):
    return client.CoreV1Api(api_client)


@pytest.fixture
def documents_of(api):
    """A function that returns the documents of an app, as its driver reads and writes them."""
    kubernetes = KubernetesClient(kubeconfig=api.cluster.kubeconfig)

    def documents_of(namespace, app):
        found = kubernetes.get(Kind.APP, namespace, app)
        return ConfigMapMetadataStore(kubernetes, namespace, app, owners=[parse_app_resource(found).owner])

    yield documents_of
    kubernetes.close()


@pytest.fixture(scope="session")
def chart():
    """The chart as Helm renders it; no API server is asked."""
    need(missing_for_light())
    return Chart(kube_binaries(default_cache()))


@pytest.fixture(scope="session")
def as_it_is(chart):
    """The objects that the chart makes of its own values."""
    return chart.render()
