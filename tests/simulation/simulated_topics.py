"""The topics of a simulated broker: their creation, growth and deletion, and the logs of their partitions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError

from simulation.kafka_requests import CreatePartitions, CreateTopic, RequestError, TopicDescription, TopicPartition
from simulation.simulated_partition_log import PartitionLog

_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


@dataclass(slots=True)
class _Topic:
    id: str
    logs: list[PartitionLog]


class SimulatedTopics:
    """The topics there are. Each gets an id that none had before."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}
        self._created = 0

    def create(self, request: CreateTopic) -> None:
        """Create a topic.

        Raises:
            RequestError: its name is not allowed, or taken.
        """
        if not _NAME.fullmatch(request.topic):
            raise RequestError(KafkaError.TOPIC_EXCEPTION)
        if request.topic in self._topics:
            raise RequestError(KafkaError.TOPIC_ALREADY_EXISTS)
        if request.partitions < 1:
            raise RequestError(KafkaError.INVALID_PARTITIONS)
        self._created += 1
        logs = [PartitionLog(request.settings) for _ in range(request.partitions)]
        self._topics[request.topic] = _Topic(f"topic-id-{self._created}", logs)

    def expand(self, request: CreatePartitions) -> None:
        """Add empty partitions.

        Raises:
            RequestError: the topic is missing, or has as many already.
        """
        logs = self._topic(request.topic).logs
        if request.partitions <= len(logs):
            raise RequestError(KafkaError.INVALID_PARTITIONS)
        logs.extend(PartitionLog(logs[0].settings) for _ in range(len(logs), request.partitions))

    def delete(self, topic: str) -> None:
        """Delete a topic.

        Raises:
            RequestError: there is none.
        """
        self._topic(topic)
        del self._topics[topic]

    def describe(self, topics: Sequence[str] | None) -> Mapping[str, TopicDescription]:
        """Describe these topics, or all; those that don't exist are left out."""
        return {
            name: TopicDescription(id=topic.id, partitions=len(topic.logs), settings=topic.logs[0].settings)
            for name, topic in self._topics.items()
            if topics is None or name in topics
        }

    def log(self, partition: TopicPartition) -> PartitionLog:
        """Return the log of a partition.

        Raises:
            RequestError: there is none.
        """
        log = self.find(partition)
        if log is None:
            raise RequestError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        return log

    def find(self, partition: TopicPartition) -> PartitionLog | None:
        """Return the log of a partition, if there is one."""
        logs = self.logs_of(partition.topic)
        return logs[partition.partition] if partition.partition < len(logs) else None

    def logs_of(self, topic: str) -> Sequence[PartitionLog]:
        """Return the logs of a topic by partition; none if it does not exist."""
        found = self._topics.get(topic)
        return [] if found is None else found.logs

    def logs(self) -> Iterator[PartitionLog]:
        """Yield all logs."""
        for topic in self._topics.values():
            yield from topic.logs

    def _topic(self, topic: str) -> _Topic:
        if topic not in self._topics:
            raise RequestError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        return self._topics[topic]
