"""Reads topics as any consumer does that wants committed records only."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from confluent_kafka import Consumer, KafkaError, TopicPartition

T = TypeVar("T")
_MOST = 20_000


class TopicReader(Generic[T]):
    """Reads topics from their beginnings; what it has read is in `found`. Partitions that come later are not read."""

    def __init__(self, brokers: str, partitions: dict[str, int], take: Callable[[str, int, int, bytes], T]) -> None:
        """Take the topics with their counts of partitions, and how to make something of a message.

        That is given the topic, the partition, the offset and the value.
        """
        self._take = take
        self.found: list[T] = []
        self.counts: Counter[str] = Counter()
        """How many messages of each topic were read."""
        self._next: dict[tuple[str, int], int] = {
            (topic, partition): 0 for topic, count in partitions.items() for partition in range(count)
        }
        self._ended: set[tuple[str, int]] = set()
        self._consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": "soak",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": 1000,
                "log_level": 2,
            }
        )
        self._consumer.assign([TopicPartition(*place, 0) for place in self._next])

    def read(self, seconds: float = 0.5) -> Sequence[T]:
        """Read what comes in a while; return that.

        Raises:
            RuntimeError: records that were not read yet are gone.
        """
        before = len(self.found)
        for message in self._consumer.consume(_MOST, seconds):
            place = message.topic(), message.partition()
            error = message.error()
            if error is None:
                self._keep(place, message.offset(), message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ended.add(place)
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                raise RuntimeError(f"{place}: {error}")
        return self.found[before:]

    def at_end(self) -> bool:
        """Read on; return whether every partition has been read to where it ends for the time being."""
        self._ended.clear()
        self._consumer.assign([TopicPartition(*place, offset) for place, offset in self._next.items()])
        return not self.read(5.0) and self._ended == self._next.keys()

    def close(self) -> None:
        """Release the consumer."""
        self._consumer.close()

    def _keep(self, place: tuple[str, int], offset: int, value: bytes) -> None:
        if offset >= self._next[place]:
            self._next[place] = offset + 1
            self.counts[place[0]] += 1
            self.found.append(self._take(*place, offset, value))
