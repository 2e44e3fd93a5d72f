"""Every test has topics of its own."""

import pytest

from support.kafka import SOURCES, RealClients, Topics, cluster_at


@pytest.fixture
def cluster(kafka):
    return cluster_at(kafka.bootstrap_servers)


@pytest.fixture
def topics(cluster, request):
    return Topics(cluster, request.node.name)


@pytest.fixture(params=SOURCES)
def topics_of_each_source(cluster, request):
    """Topics whose consumers read by the native library, and by the client's objects."""
    return Topics(cluster, request.node.name, RealClients(cluster, request.param))
