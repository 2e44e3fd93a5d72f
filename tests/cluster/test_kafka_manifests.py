"""The API server takes Kafka's manifests, and its pod where only restricted pods may run."""

import json

from tools.kafka.manifests import kafka_manifests

IMAGE = "localhost/any-kafka:dev"


def test_the_manifests_are_right_to_the_last_field(kubectl, namespace):
    arguments = ("--namespace", namespace, "--dry-run=server", "--validate=strict", "--filename=-")
    documents = {"apiVersion": "v1", "kind": "List", "items": kafka_manifests(IMAGE)}
    made = kubectl("apply", *arguments, text=json.dumps(documents)).splitlines()
    assert len(made) == len(documents["items"])


def test_the_pod_is_a_restricted_one(kubectl, namespace):
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    (broker,) = (document for document in kafka_manifests(IMAGE) if document["kind"] == "StatefulSet")
    template = broker["spec"]["template"]
    claimed = [claim["metadata"]["name"] for claim in broker["spec"]["volumeClaimTemplates"]]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claimed]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kafka"},
        "spec": {**template["spec"], "volumes": template["spec"]["volumes"] + volumes},
    }
    arguments = ("--namespace", namespace, "--dry-run=server", "--validate=strict", "--filename=-")
    assert "created" in kubectl("create", *arguments, text=json.dumps(pod))


def test_the_image_is_the_one_asked_for():
    assert IMAGE in json.dumps(kafka_manifests(IMAGE))
    assert IMAGE not in json.dumps(kafka_manifests())
