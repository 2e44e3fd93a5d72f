"""Deletion of an app's topics. Streams in files and logs are on disks that only the app's pods see."""

from collections.abc import Mapping

from streamapp_core.spec.systems import SystemSpec
from streamapp_operator.observe.broker_requests import AskBrokers, DeleteTopics
from streamapp_operator.observe.kafka_clusters import ReadSecret, resolve_kafka_cluster


def delete_topics(
    ask: AskBrokers, read_secret: ReadSecret, namespace: str, prefix: str, systems: Mapping[str, SystemSpec]
) -> None:
    """Delete all topics whose names begin with a prefix; streams in other systems stay.

    Raises:
        StreamSystemError: brokers can't be reached, or refuse.
    """
    for name, system in systems.items():
        if system.kafka is not None:
            cluster = resolve_kafka_cluster(name, system.kafka, namespace, read_secret)
            ask(namespace, DeleteTopics(cluster=cluster, prefix=prefix))
