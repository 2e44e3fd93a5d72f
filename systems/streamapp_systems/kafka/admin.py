"""The admin of a Kafka cluster: topics, their offsets, and the fencing of producers."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import OffsetSpec

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import topic_limits, topic_offsets, topics
from streamapp_systems.kafka.admin_requests import AdminRequests
from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.transactional_client import fence_producers
from streamapp_systems.protocols import RecordLimits, StreamDescriptor, TransactionOwner

_FENCING_THREADS = 8


class KafkaAdmin:
    """See `TransactionalAdmin`. Used by one thread.

    Every method raises StreamSystemError where the brokers can't be reached, or refuse.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Create the client; nothing is requested yet.

        Raises:
            StreamSystemError: the cluster's settings are wrong.
        """
        self._cluster = cluster
        self._requests = AdminRequests(cluster)

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count partitions, as `Admin.partitions` says, with one request for all streams."""
        counts = self._requests.count(streams, self._requests.deadline())
        return {stream.name: counts[stream.address] for stream in streams if stream.address in counts}

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Create missing topics, as `Admin.create` says, and wait until the brokers know them.

        Others may create the same ones at the same time. Topics keep their records whatever their age; those of
        keyed streams are compacted. They get the brokers' `default.replication.factor`.

        Raises:
            StreamSystemError: a topic has another count, or can't be created.
        """
        topics.create_topics(self._requests, counts)

    def expand(self, stream: StreamDescriptor, count: int) -> None:
        """Add partitions to a topic, as `TransactionalAdmin.expand` says, and wait until the brokers know them.

        Raises:
            StreamSystemError: the topic is missing or has more partitions, or the brokers can't be reached or refuse.
        """
        topics.expand_topic(self._requests, stream, count)

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return ends, as `Admin.end_offsets` says: of what is committed, before the first open transaction.

        Markers of transactions count as records, so that the last offset before an end may hold none.
        """
        return topic_offsets.read_offsets(self._requests, streams, OffsetSpec.latest(), "end")

    def written_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return ends, as `TransactionalAdmin.written_offsets` says: the high watermarks."""
        uncommitted = IsolationLevel.READ_UNCOMMITTED
        return topic_offsets.read_offsets(self._requests, streams, OffsetSpec.latest(), "end", uncommitted)

    def offsets_for_times(self, streams: Sequence[StreamDescriptor], milliseconds: int) -> Mapping[Ssp, int]:
        """Return offsets by the records' timestamps, as `TransactionalAdmin.offsets_for_times` says."""
        found = topic_offsets.read_offsets(
            self._requests,
            streams,
            OffsetSpec.for_timestamp(milliseconds),
            "offset for a time",
            lowest=topic_offsets.NOT_FOUND,
        )
        ends = self.end_offsets(streams)
        return {ssp: ends.get(ssp, 0) if at == topic_offsets.NOT_FOUND else at for ssp, at in found.items()}

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return, per partition, the offset below which all records have been deleted."""
        return topic_offsets.read_offsets(self._requests, streams, OffsetSpec.earliest(), "start")

    def record_limits(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, RecordLimits]:
        """Return the limits that topics have for times and keys, as `TransactionalAdmin.record_limits` says."""
        return topic_limits.read_record_limits(self._requests, streams)

    def count_records(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Return the offsets between the starts and ends of topics; markers and compacted records count, too."""
        starts, counts = self.start_offsets(streams), {stream.name: 0 for stream in streams}
        for ssp, end in self.end_offsets(streams).items():
            counts[ssp.stream] += end - starts.get(ssp, end)
        return counts

    def delete(self, streams: Sequence[StreamDescriptor]) -> None:
        """Delete topics, as `TransactionalAdmin.delete` says, and wait until they are gone."""
        topics.delete_topics(self._requests, streams)

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:
        """Return topics' ids with one request, as `TransactionalAdmin.identities` says."""
        described = self._requests.describe_expected(streams, self._requests.deadline())
        return {s.name: str(described[s.address].topic_id) if s.address in described else "" for s in streams}

    def beginning_with(self, prefix: str) -> Sequence[str]:
        """Return the topics whose names begin with a prefix, sorted."""
        return topics.list_topics(self._requests, prefix)

    def delete_records(self, streams: Sequence[StreamDescriptor], below: Mapping[Ssp, int]) -> None:
        """Delete records, as `TransactionalAdmin.delete_records` says; topics that are gone have none."""
        topic_offsets.delete_records(self._requests, streams, below)

    def compact(self, stream: StreamDescriptor, *, tombstones_before: int) -> int:  # noqa: ARG002 - brokers do it
        """Do nothing: brokers compact topics by themselves."""
        return 0

    def publish_group_offsets(
        self, group: str, streams: Sequence[StreamDescriptor], positions: Mapping[Ssp, int]
    ) -> None:
        """Commit positions, as `TransactionalAdmin.publish_group_offsets` says; the group has no members."""
        topic_offsets.commit_group_offsets(self._requests, self._group(group), streams, positions)

    def delete_group(self, group: str) -> None:
        """Delete a consumer group with its offsets, as `TransactionalAdmin.delete_group` says."""
        topic_offsets.delete_group(self._requests, self._group(group))

    def fence(self, owners: Sequence[TransactionOwner]) -> None:
        """Initialise these transactional ids: what their producers have not committed is aborted, and stays so.

        Kafka does not know our epochs: it fences every earlier producer of an id, so a caller must have made sure
        that its own epoch is the current one.

        Raises:
            StreamSystemError: an id can't be initialised.
        """
        with ThreadPoolExecutor(max_workers=_FENCING_THREADS) as pool:
            for _ in pool.map(partial(fence_producers, self._cluster), owners):
                continue

    def close(self) -> None:
        """Release the connections."""
        self._requests.close()

    def _group(self, name: str) -> str:
        """Return the name of a consumer group, unless the user has given it another one."""
        return self._cluster.settings.get("group.id", name)
