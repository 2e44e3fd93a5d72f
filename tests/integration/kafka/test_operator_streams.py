"""The Kubernetes operator on a real broker: topics are counted and deleted, coordinator streams read."""

import json
import uuid
from contextlib import closing

import pytest

from streamapp_core.spec.parse import parse_document
from streamapp_core.spec.systems import KafkaSystem, SystemSpec
from streamapp_operator.act.delete_topics import delete_topics
from streamapp_operator.observe.broker_processes import BrokerProcesses
from streamapp_operator.observe.broker_requests import CountPartitions
from streamapp_operator.observe.brokers import Brokers
from streamapp_operator.observe.document_recovery import JobModelBackup
from streamapp_operator.observe.resource_views import parse_app_resource
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.clock import system_clock
from streamapp_systems.coordinator_stream import DriverRecord
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.registry import local_systems
from support import job_models, numbered


def no_secret(namespace, name):
    return {}


@pytest.fixture
def system(kafka):
    return KafkaSystem(bootstrapServers=kafka.bootstrap_servers)


@pytest.fixture(scope="module")
def processes():
    return BrokerProcesses()


def test_topics_are_counted_and_missing_ones_are_absent(processes, cluster, topics):
    there = topics.create("there", 3)
    request = CountPartitions(cluster=cluster, topics=(there.address, topics.stream("gone").address))
    assert processes.ask("default", request).counts == {there.address: 3}


def test_the_topics_that_an_app_has_made_go_and_no_others(processes, system, topics, cluster):
    made = [topics.create(f"shop.{name}", 1) for name in ("r1.by", "r2.by", "r2._changelog")]
    kept = [topics.create(name, 1) for name in ("shop", "shop-2.r1.by", "orders")]
    delete_topics(processes.ask, no_secret, "default", f"{topics.prefix}.shop.", {"kafka": SystemSpec(kafka=system)})
    with closing(KafkaAdmin(cluster)) as admin:
        assert set(admin.partitions([*made, *kept])) == {stream.name for stream in kept}


def test_what_the_newest_driver_announced_is_read(processes, kafka, tmp_path):
    document = numbered.app({"kafka": {"bootstrapServers": kafka.bootstrap_servers}}, f"app-{uuid.uuid4().hex[:8]}")
    metadata = {"namespace": "default", "uid": "u1", "generation": 1, "resourceVersion": "1"}
    document["metadata"] |= metadata
    resource = parse_app_resource(document)
    brokers = Brokers(processes.ask, no_secret, lambda key: None, debounce=10.0)
    assert brokers.read_job_model_backup(resource) is None
    app = parse_document(json.loads(resource.text)).app
    coordinator = Coordinator(app, numbered.HUB, local_systems(tmp_path))
    for epoch in (1, 2):
        model = job_models.example(version=epoch)
        coordinator.announce(DriverRecord(epoch=epoch, run_id=model.run_id, made={}), model, system_clock())
    assert brokers.read_job_model_backup(resource) == JobModelBackup(model=model, epoch=2)
