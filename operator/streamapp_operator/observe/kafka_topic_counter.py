"""Partition counts of topics, from Kafka brokers."""

from collections.abc import Mapping, Sequence

from streamapp_core.spec.systems import KafkaSystem
from streamapp_operator.observe.kafka_clusters import ReadSecret, describe_topic, resolve_kafka_cluster
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import StreamSystemError


class KafkaTopicCounter:
    """A `TopicCounter` on Kafka. The client is created by the first request, and again after one that failed."""

    def __init__(self, name: str, system: KafkaSystem, namespace: str, read_secret: ReadSecret) -> None:
        self._name = name
        self._system = system
        self._namespace = namespace
        self._read_secret = read_secret
        self._admin: KafkaAdmin | None = None

    def count(self, topics: Sequence[str]) -> Mapping[str, int]:
        """See `TopicCounter.count`."""
        if self._admin is None:
            cluster = resolve_kafka_cluster(self._name, self._system, self._namespace, self._read_secret)
            self._admin = KafkaAdmin(cluster)
        try:
            return self._admin.partitions([describe_topic(self._name, topic) for topic in topics])
        except StreamSystemError:
            self._admin.close()
            self._admin = None
            raise
