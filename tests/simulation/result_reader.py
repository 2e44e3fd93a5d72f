"""The reader of a simulated app's results: what is committed in its outputs, each record read once."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from simulation.kafka_requests import TopicPartition
from simulation.numbered_app import NAME
from simulation.simulated_topics import SimulatedTopics


class ResultReader:
    """Reads on where it stopped: what was committed stays."""

    def __init__(self, outputs: Sequence[str], topics: SimulatedTopics) -> None:
        self._outputs = outputs
        self._topics = topics
        self._offsets: dict[TopicPartition, int] = defaultdict(int)
        self._found: dict[TopicPartition, list[dict]] = defaultdict(list)

    def read(self) -> Mapping[str, Sequence[Sequence[dict]]]:
        """Return the results in the partitions of each output, in order; none of one that does not exist yet."""
        return {name: self._partitions(f"{NAME}.{name}") for name in self._outputs}

    def _partitions(self, topic: str) -> Sequence[Sequence[dict]]:
        count = len(self._topics.logs_of(topic))
        return [self._read(TopicPartition(topic, number)) for number in range(count)]

    def _read(self, partition: TopicPartition) -> Sequence[dict]:
        read = self._topics.log(partition).read(self._offsets[partition], 1 << 30, read_committed=True)
        self._offsets[partition] = read.next_offset
        self._found[partition] += [json.loads(record.value) for record in read.records if record.value]
        return self._found[partition]
