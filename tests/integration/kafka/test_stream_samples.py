"""Samples of topics: the last records that are committed, though the ends of transactions lie between them."""

import json

from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_document
from streamapp_runtime.stream_sample import sample_stream
from streamapp_systems.protocols import SentRecords
from streamapp_systems.registry import local_systems
from support.kafka import ssp_of


def planned(kafka, topic):
    spec = {
        "systems": {"kafka": {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}},
        "defaultSystem": "kafka",
        "streams": {
            "orders": {"system": "kafka", "name": topic, "schema": "a int"},
            "copies": {"system": "kafka", "name": f"{topic}-copies", "partitions": 1},
        },
        "operators": [{"name": "sent", "from": "orders", "sendTo": "copies"}],
    }
    app = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}
    return plan(parse_document(app), {"orders": 1}).plan


def records_that_are_sent_at_once():
    """Give so many records that the client does not keep them until the transaction is aborted."""
    return SentRecords.of(timestamps=None, keys=[None] * 40, values=[b"x" * 900_000] * 40)


def test_the_last_records_are_found_between_the_ends_of_transactions(tmp_path, kafka, topics):
    stream = topics.create("orders")
    with topics.producer(stream) as producer:
        for number in range(12):
            producer.send(ssp_of(stream), json.dumps({"a": number}).encode(), key=b"k", timestamp=1_000 + number)
            producer.commit()
        producer.send_all(ssp_of(stream), records_that_are_sent_at_once())
        producer.abort()
    app, systems = planned(kafka, stream.address), local_systems(tmp_path)
    records = list(sample_stream(app, "orders", systems, rows=3))
    assert [(record.timestamp, record.key, json.loads(record.row)) for record in records] == [
        (1_000 + number, b"k", {"a": number}) for number in (9, 10, 11)
    ]
    (found,) = sample_stream(app, "orders", systems, rows=1, offset=records[1].offset)
    assert found == records[1]
    assert list(sample_stream(app, "orders", systems, rows=3, offset=10_000)) == []
