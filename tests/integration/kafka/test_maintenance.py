"""What the driver does beside the data, on a broker where something is in its way."""

import json
import uuid
from contextlib import closing

import pytest
from confluent_kafka import Consumer

from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import descriptor
from streamapp_runtime.driver.maintenance import Maintenance
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport
from streamapp_systems.kafka import KafkaAdmin
from support.growth import HUB, Growing
from support.kafka import Topics, cluster_at, eventually

SHUFFLED = [{"name": "by-k", "from": "in", "partitionBy": {"key": "k"}}, {"name": "s", "from": "by-k", "sendTo": "out"}]


@pytest.fixture
def planned(tmp_path, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    source = Growing(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}", partitions=1)
    return plan(parse_text(json.dumps(source.document(operators=SHUFFLED))), {"in": 1, "out": 3}).plan


@pytest.fixture
def member(kafka, planned):
    """Another program's consumer has joined the group that shows how far the app is."""
    group = {"group.id": planned.app.name_prefix, "session.timeout.ms": 120_000}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, **group})
    consumer.subscribe([f"{planned.app.metadata.name}.in"])
    eventually(lambda: consumer.poll(0.1) is None and len(consumer.assignment()), 1)
    yield consumer
    consumer.close()


@pytest.mark.usefixtures("member")
def test_consumed_records_are_deleted_though_another_program_holds_the_consumer_group(tmp_path, planned, caplog, kafka):
    cluster, stream, ssp = cluster_at(kafka.bootstrap_servers), descriptor(planned.streams["by-k"]), Ssp(HUB, "by-k", 0)
    with closing(KafkaAdmin(cluster)) as admin:
        admin.create({stream: planned.streams["by-k"].partitions})
        with Topics(cluster, "maintenance").producer(stream) as producer:
            for _ in range(5):
                producer.send(ssp, b"", timestamp=1)
            producer.commit()
        incarnation = Incarnation(processor="0", epoch=1, version=1, number=1)
        report = ProcessorReport(incarnation=incarnation, committed={"by-k": {0: 3}})
        with Maintenance(planned, local_context(tmp_path), lambda: {"0": report}, lambda: ["0"]):
            pass
        eventually(lambda: admin.start_offsets([stream])[ssp], 3)
    assert "its offsets can't be written" in caplog.text
    assert "Another program's consumers have joined this group" in caplog.text
