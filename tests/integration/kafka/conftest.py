"""Every test has topics of its own."""

import pytest

from support.kafka import Topics, cluster_at


@pytest.fixture
def cluster(kafka):
    return cluster_at(kafka.bootstrap_servers)


@pytest.fixture
def topics(cluster, request):
    return Topics(cluster, request.node.name)
