"""Kafka in the cluster: reached from pods and from this machine, and what it holds outlives its pod."""

import json

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tools.cluster.kafka import deploy_kafka

NODE_PORT = 30192
ASK = """
import os
from confluent_kafka.admin import AdminClient
print(*sorted(AdminClient({"bootstrap.servers": os.environ["KAFKA"]}).list_topics(timeout=30).topics))
"""


@pytest.fixture
def kafka(cluster, namespace, images):
    return deploy_kafka(cluster, namespace, images[2], node_port=NODE_PORT)


def topics_seen_by_a_pod(cluster, namespace, image, kafka):
    container = {
        "name": "ask",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["python", "-c", ASK],
        "env": [{"name": "KAFKA", "value": kafka.inside}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    pod = {"containers": [container], "restartPolicy": "Never"}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ask"}, "spec": pod}
    here = f"--namespace={namespace}"
    cluster.kubectl("create", here, "--filename=-", text=json.dumps(document))
    cluster.kubectl("wait", here, "pod/ask", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=300s", timeout=310)
    return cluster.kubectl("logs", here, "ask").split()


def read_all(kafka, topic, count):
    settings = {"bootstrap.servers": kafka.outside, "group.id": "test", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    try:
        consumer.subscribe([topic])
        return [message.value() for message in consumer.consume(count, timeout=240)]
    finally:
        consumer.close()


def test_kafka_is_reached_from_everywhere_and_keeps_what_it_holds(cluster, namespace, images, kafka):
    admin = AdminClient({"bootstrap.servers": kafka.outside})
    admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(timeout=60)
    producer = Producer({"bootstrap.servers": kafka.outside})
    for number in range(10):
        producer.produce("kept", str(number))
    assert producer.flush(60) == 0
    assert "kept" in topics_seen_by_a_pod(cluster, namespace, images[1], kafka)

    here = f"--namespace={namespace}"
    cluster.kubectl("delete", here, "pod/kafka-0")
    again = deploy_kafka(cluster, namespace, images[2], node_port=NODE_PORT)
    assert read_all(again, "kept", 10) == [str(number).encode() for number in range(10)]
