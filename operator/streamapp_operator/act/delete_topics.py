"""Deletion of an app's topics. Streams in files and logs are on disks that only the app's pods see."""

from collections.abc import Mapping
from contextlib import closing

from streamapp_core.spec.systems import SystemSpec
from streamapp_operator.observe.kafka_clusters import ReadSecret, describe_topic, resolve_kafka_cluster
from streamapp_systems.kafka import KafkaAdmin


def delete_topics(read_secret: ReadSecret, namespace: str, prefix: str, systems: Mapping[str, SystemSpec]) -> None:
    """Delete all topics whose names begin with a prefix; streams in other systems stay.

    Raises:
        StreamSystemError: brokers can't be reached, or refuse.
    """
    for name, system in systems.items():
        if system.kafka is not None:
            cluster = resolve_kafka_cluster(name, system.kafka, namespace, read_secret)
            with closing(KafkaAdmin(cluster)) as admin:
                admin.delete([describe_topic(name, topic) for topic in admin.beginning_with(prefix)])
