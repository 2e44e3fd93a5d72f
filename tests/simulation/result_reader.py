"""The reader of a simulated app's results: what is committed in its outputs, each record read once."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from simulation.kafka_requests import TopicPartition
from simulation.numbered_app import NAME
from simulation.simulated_topics import SimulatedTopics


class ResultReader:
    """Reads on where it stopped: nothing that was committed may change."""

    def __init__(self, outputs: Sequence[str], topics: SimulatedTopics) -> None:
        self._outputs = outputs
        self._topics = topics
        self._offsets: dict[TopicPartition, int] = defaultdict(int)
        self._found: dict[TopicPartition, list[dict]] = defaultdict(list)

    def read(self) -> Mapping[str, Sequence[Sequence[dict]]]:
        """Return the results in the partitions of each output, in order."""
        return {name: [self._read(partition) for partition in self._partitions(name)] for name in self._outputs}

    def _partitions(self, output: str) -> Sequence[TopicPartition]:
        topic = f"{NAME}.{output}"
        described = self._topics.describe((topic,)).get(topic)
        return () if described is None else [TopicPartition(topic, number) for number in range(described.partitions)]

    def _read(self, partition: TopicPartition) -> Sequence[dict]:
        read = self._topics.log(partition).read(self._offsets[partition], 1 << 30, read_committed=True)
        self._offsets[partition] = read.next_offset
        found = self._found[partition]
        found += [json.loads(record.value) for record in read.records if record.value]
        return found
