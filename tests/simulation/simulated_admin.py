"""The admin of simulated brokers: what `KafkaAdmin` is of real ones."""

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError

from simulation.kafka_requests import (
    CommitGroupOffsets,
    CreatePartitions,
    CreateTopic,
    DeleteGroup,
    DeleteRecords,
    DeleteTopic,
    DescribeTopics,
    ListOffsets,
    Network,
    OffsetKind,
    RequestError,
    TopicDescription,
    TopicPartition,
    TopicSettings,
)
from simulation.simulated_kafka_client import PAUSE, SimulatedClient
from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.kafka_errors import MISSING
from streamapp_systems.protocols import RecordLimits, StreamDescriptor, StreamSystemError, TransactionOwner


class SimulatedAdmin:
    """See `TransactionalAdmin`, and `KafkaAdmin` for what differs from other systems."""

    def __init__(self, network: Network, cluster: Cluster) -> None:
        """Ask for nothing yet."""
        self._client = SimulatedClient(network, cluster)

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count partitions, as `Admin.partitions` says."""
        found = self._describe(streams)
        return {stream.name: found[stream.address].partitions for stream in streams if stream.address in found}

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Create missing topics, as `Admin.create` says.

        Raises:
            StreamSystemError: a topic has another count, or can't be created.
        """
        streams = list(counts)
        self._check_counts(counts, self._describe(streams))
        missing = {s.address: s for s in streams if s.address not in self._describe(streams)}
        for topic in sorted(missing):
            settings = TopicSettings(compacted=missing[topic].keyed, timestamps_after_ms=None)
            request = CreateTopic(topic=topic, partitions=counts[missing[topic]], settings=settings)
            try:
                self._client.ask(request, self._client.deadline())
            except RequestError as error:
                if error.code != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise self._client.explain(f"topic {topic} can't be created", error) from error
        self._await_counts(list(missing.values()), "created", lambda found: found > 0)
        self._check_counts(counts, self._describe(streams))

    def expand(self, stream: StreamDescriptor, count: int) -> None:
        """Add partitions to a topic, as `TransactionalAdmin.expand` says.

        Raises:
            StreamSystemError: the topic is missing or has more partitions, or no broker answers.
        """
        try:
            request = CreatePartitions(topic=stream.address, partitions=count)
            self._client.ask(request, self._client.deadline())
        except RequestError as error:
            if self.partitions([stream]).get(stream.name) != count:
                what = f"topic {stream.address} can't be expanded to {count} partitions"
                raise self._client.explain(what, error) from error
        self._await_counts([stream], "expanded", lambda found: found >= count)

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return, per partition, the offset below which all records have been deleted."""
        return self._offsets(streams, OffsetKind.EARLIEST, "start")

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return ends, as `KafkaAdmin.end_offsets` says: last stable offsets."""
        return self._offsets(streams, OffsetKind.LATEST, "end")

    def offsets_for_times(self, streams: Sequence[StreamDescriptor], milliseconds: int) -> Mapping[Ssp, int]:
        """Return offsets by the records' timestamps, as `TransactionalAdmin.offsets_for_times` says."""
        return self._offsets(streams, OffsetKind.LATEST, "offset for a time", timestamp=milliseconds)

    def written_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return ends, as `TransactionalAdmin.written_offsets` says: the high watermarks."""
        return self._offsets(streams, OffsetKind.LATEST, "end", read_committed=False)

    def record_limits(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, RecordLimits]:
        """Return the limits that topics have for times and keys, as `TransactionalAdmin.record_limits` says."""
        settings = {topic: found.settings for topic, found in self._describe(streams).items()}
        return {
            stream.name: RecordLimits(after=known.timestamps_after_ms, needs_key=known.compacted)
            for stream in streams
            if (known := settings.get(stream.address)) is not None
        }

    def count_records(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Return the offsets between the starts and ends of topics."""
        starts, counts = self.start_offsets(streams), {stream.name: 0 for stream in streams}
        for ssp, end in self.end_offsets(streams).items():
            counts[ssp.stream] += end - starts.get(ssp, end)
        return counts

    def delete(self, streams: Sequence[StreamDescriptor]) -> None:
        """Delete topics, as `TransactionalAdmin.delete` says."""
        for topic in sorted({stream.address for stream in streams}):
            try:
                self._client.ask(DeleteTopic(topic=topic), self._client.deadline())
            except RequestError as error:
                if error.code not in MISSING:
                    raise self._client.explain(f"topic {topic} can't be deleted", error) from error
        self._await_counts(streams, "deleted", lambda found: found == 0)

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:
        """Return topics' ids, as `TransactionalAdmin.identities` says."""
        described = self._describe(streams)
        return {s.name: described[s.address].id if s.address in described else "" for s in streams}

    def beginning_with(self, prefix: str) -> Sequence[str]:
        """Return the topics whose names begin with a prefix, sorted."""
        try:
            found = self._client.ask(DescribeTopics(), self._client.deadline())
        except RequestError as error:
            raise self._client.explain("its topics can't be listed", error) from error
        return sorted(topic for topic in found if topic.startswith(prefix))

    def delete_records(self, streams: Sequence[StreamDescriptor], below: Mapping[Ssp, int]) -> None:
        """Delete records, as `TransactionalAdmin.delete_records` says; topics that are gone have none."""
        for partition, offset in _positions(streams, below).items():
            if offset > 0:
                try:
                    self._client.ask(DeleteRecords(partition=partition, offset=offset), self._client.deadline())
                except RequestError as error:
                    if error.code not in MISSING:
                        what = f"topic {partition.topic}: its records can't be deleted"
                        raise self._client.explain(what, error) from error

    def compact(self, stream: StreamDescriptor, *, tombstones_before: int) -> int:
        """Do nothing: brokers compact topics by themselves."""
        return 0

    def publish_group_offsets(
        self, group: str, streams: Sequence[StreamDescriptor], positions: Mapping[Ssp, int]
    ) -> None:
        """Commit positions, as `TransactionalAdmin.publish_group_offsets` says."""
        offsets = _positions(streams, positions)
        if not offsets:
            return
        try:
            self._client.ask(CommitGroupOffsets(group=group, offsets=offsets), self._client.deadline())
        except RequestError as error:
            if error.code not in MISSING:
                raise self._client.explain(f"consumer group {group}: its offsets can't be written", error) from error

    def delete_group(self, group: str) -> None:
        """Delete a consumer group with its offsets, as `TransactionalAdmin.delete_group` says."""
        try:
            self._client.ask(DeleteGroup(group=group), self._client.deadline())
        except RequestError as error:
            if error.code != KafkaError.GROUP_ID_NOT_FOUND:
                raise self._client.explain(f"consumer group {group} can't be deleted", error) from error

    def fence(self, owners: Sequence[TransactionOwner]) -> None:
        """Initialise these transactional ids, one after the other, as `KafkaAdmin.fence` says."""
        for owner in owners:
            self._client.initialise(owner)

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _describe(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, TopicDescription]:
        topics = tuple(sorted({stream.address for stream in streams}))
        try:
            return self._client.ask(DescribeTopics(topics=topics), self._client.deadline())
        except RequestError as error:
            raise self._client.explain(f"topic {', '.join(topics)} can't be described", error) from error

    def _offsets(
        self,
        streams: Sequence[StreamDescriptor],
        kind: OffsetKind,
        name: str,
        *,
        read_committed: bool = True,
        timestamp: int | None = None,
    ) -> Mapping[Ssp, int]:
        topics = tuple(sorted({stream.address for stream in streams}))
        try:
            request = ListOffsets(topics=topics, kind=kind, read_committed=read_committed, timestamp=timestamp)
            found = self._client.ask(request, self._client.deadline())
        except RequestError as error:
            raise self._client.explain(f"topic {', '.join(topics)}: its {name} can't be read", error) from error
        return {
            Ssp(stream.system, stream.name, at.partition): offset
            for stream in streams
            for at, offset in found.items()
            if at.topic == stream.address
        }

    def _await_counts(self, streams: Sequence[StreamDescriptor], done: str, expected: Callable[[int], bool]) -> None:
        deadline = self._client.deadline()
        while odd := self._odd_counts(streams, expected):
            if self._client.network.now() > deadline:
                raise StreamSystemError(
                    f"{self._client.cluster}: {', '.join(odd)}: {done}, but the brokers don't show it. Try again"
                )
            self._client.network.sleep(PAUSE)

    def _odd_counts(self, streams: Sequence[StreamDescriptor], expected: Callable[[int], bool]) -> list[str]:
        found = self._describe(streams)
        counts = {s.address: found[s.address].partitions if s.address in found else 0 for s in streams}
        return sorted(topic for topic, count in counts.items() if not expected(count))

    def _check_counts(self, counts: Mapping[StreamDescriptor, int], found: Mapping[str, TopicDescription]) -> None:
        for stream, count in counts.items():
            here = found[stream.address].partitions if stream.address in found else count
            if here != count:
                raise StreamSystemError(
                    f"stream {stream.name}: topic {stream.address} has {here} partitions in {self._client.cluster}, "
                    f"not {count}. Correct the number, or delete the topic"
                )


def _positions(streams: Sequence[StreamDescriptor], offsets: Mapping[Ssp, int]) -> dict[TopicPartition, int]:
    topics = {stream.name: stream.address for stream in streams}
    return {TopicPartition(topics[s.stream], s.partition): at for s, at in offsets.items() if s.stream in topics}
