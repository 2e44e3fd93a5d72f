"""Brokers that a tenant names, and that are none: each request ends with an error, and nothing of it stays."""

import multiprocessing

import pytest

from streamapp_core.spec.streams import StreamFormat
from streamapp_operator.observe.broker_processes import BrokerProcesses
from streamapp_operator.observe.broker_requests import CountPartitions, DeleteTopics, ReadBackup
from streamapp_systems.kafka import Cluster
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError
from support.hostile_brokers import BEHAVIOURS, HostileBroker

STREAM = StreamDescriptor(name="c", system="k", address="c", format=StreamFormat.JSON)
REQUESTS = {
    "count": lambda cluster: CountPartitions(cluster=cluster, topics=("t",)),
    "backup": lambda cluster: ReadBackup(cluster=cluster, stream=STREAM),
    "delete": lambda cluster: DeleteTopics(cluster=cluster, prefix="demo.shop."),
}


@pytest.fixture(scope="module")
def processes():
    return BrokerProcesses()


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("request_name", REQUESTS)
def test_brokers_that_are_none_are_an_error_of_one_request(processes, behaviour, request_name):
    settings = {"receive.message.max.bytes": str(2**31 - 1)}
    with HostileBroker(behaviour) as broker:
        cluster = Cluster(name="k", bootstrap_servers=broker.address, settings=settings, timeout=2.0)
        with pytest.raises(StreamSystemError, match=rf"Kafka k \({broker.address}\): .*Check"):
            processes.ask("hostile", REQUESTS[request_name](cluster))
    assert multiprocessing.active_children() == []


def test_a_file_that_never_ends_is_an_error_too(processes):
    settings = {"security.protocol": "ssl", "ssl.ca.location": "/dev/zero"}
    cluster = Cluster(name="k", bootstrap_servers="127.0.0.1:1", settings=settings, timeout=2.0)
    with pytest.raises(StreamSystemError, match=r"Kafka k \(127\.0\.0\.1:1\): .*config"):
        processes.ask("hostile", CountPartitions(cluster=cluster, topics=("t",)))
