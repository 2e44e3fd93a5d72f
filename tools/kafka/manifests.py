"""The manifests of a Kafka node in a cluster, for an image of one's own."""

from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "deploy" / "kafka" / "kafka.yaml"
NODE_PORT = 30092


def kafka_manifests(image: str | None = None, *, node_port: int = NODE_PORT) -> list[dict[str, Any]]:
    """Return the documents of `deploy/kafka` for an image, or for the published one.

    Two Kafka nodes of one cluster must differ in `node_port`, where programs outside of the cluster reach them.
    """
    text = FILE.read_text().replace(str(NODE_PORT), str(node_port))
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(text))
    if image:
        (broker,) = (document for document in documents if document["kind"] == "StatefulSet")
        broker["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return documents


def published_image() -> str:
    """Return the name of Kafka's published image."""
    (broker,) = (document for document in kafka_manifests() if document["kind"] == "StatefulSet")
    return str(broker["spec"]["template"]["spec"]["containers"][0]["image"])
