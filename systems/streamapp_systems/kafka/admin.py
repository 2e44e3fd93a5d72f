"""Metadata of a Kafka cluster; creation, deletion and upkeep of topics; fencing of producers."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NoReturn

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec, TopicDescription

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.client_config import ClientKind, Cluster
from streamapp_systems.kafka.kafka_client import PAUSE, Answer, Key, opening, settle
from streamapp_systems.kafka.kafka_errors import MISSING, TRANSIENT, Trouble
from streamapp_systems.kafka.transactional_client import take_over
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, TransactionOwner

_DAY = 24 * 60 * 60 * 1000
_NEVER = str((1 << 63) - 1)
_ANY_EVENT_TIME = {
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": _NEVER,
    "message.timestamp.before.max.ms": _NEVER,
    "segment.ms": _NEVER,
    "segment.bytes": str(100 << 20),
}
_APPEND_ONLY = {**_ANY_EVENT_TIME, "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_KEYED = {
    **_ANY_EVENT_TIME,
    "cleanup.policy": "compact",
    "delete.retention.ms": str(_DAY),
}
"""Timestamps are event times, perhaps of another year, so nothing may follow from a record's age: neither its deletion
nor a new segment at each jump. All that the guarantees rest on is said: brokers may have other defaults."""

_FENCING_THREADS = 8


class KafkaAdmin:
    """Tells and changes which topics a cluster has. Used by one thread."""

    def __init__(self, cluster: Cluster) -> None:
        """Make the client; nothing is asked yet.

        Raises:
            StreamSystemError: the cluster's settings are wrong.
        """
        self._cluster = cluster
        self._trouble = Trouble(cluster)
        settings: dict[str, Any] = {**cluster.client(ClientKind.ADMIN), "error_cb": self._trouble.noticed}
        with opening(cluster):
            self._client = AdminClient(settings)

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count partitions, as `Admin.partitions` says, with one request for all streams.

        Raises:
            StreamSystemError: the brokers can't be reached or don't tell.
        """
        counts = self._counts(streams, self._deadline())
        return {stream.name: counts[stream.address] for stream in streams if stream.address in counts}

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Make missing topics, as `Admin.create` says, and wait until the brokers know them.

        Others may create the same ones at the same time. Topics keep their records whatever their age; those of
        keyed streams are compacted. They get the brokers' `default.replication.factor`.

        Raises:
            StreamSystemError: a topic has another count, or can't be made.
        """
        deadline = self._deadline()
        found = self._counts(list(counts), deadline)
        self._check_counts(counts, found)
        missing = {stream.address: stream for stream in counts if stream.address not in found}

        def ask(topics: Sequence[str]) -> Mapping[str, Future[None]]:
            new = [
                NewTopic(topic, counts[missing[topic]], -1, config=_KEYED if missing[topic].keyed else _APPEND_ONLY)
                for topic in topics
            ]
            return self._client.create_topics(new, request_timeout=_left(deadline))

        _, errors = self._settle(ask, sorted(missing), deadline)
        for topic, error in errors.items():
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                self._fail(f"topic {topic} can't be created", error)
        self._await(list(missing.values()), deadline, "created", lambda found: found > 0)
        self._check_counts(counts, self._counts(list(counts), deadline))

    def expand(self, stream: StreamDescriptor, count: int) -> None:
        """Give a topic more partitions, as `TransactionalAdmin.expand` says, and wait until the brokers know them.

        Raises:
            StreamSystemError: the topic is missing or has more partitions, or the brokers can't be reached or refuse.
        """
        deadline = self._deadline()
        _, errors = self._settle(
            lambda topics: self._client.create_partitions(
                [NewPartitions(topic, count) for topic in topics], request_timeout=_left(deadline)
            ),
            [stream.address],
            deadline,
        )
        found = self._counts([stream], deadline)
        for topic, error in errors.items():
            if found.get(topic) != count:
                self._fail(f"topic {topic} can't be expanded to {count} partitions", error)
        self._await([stream], deadline, "expanded", lambda found: found >= count)

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Tell ends, as `Admin.end_offsets` says: of what is committed, before the first open transaction.

        Markers of transactions count as records, so that the last offset before an end may hold none.

        Raises:
            StreamSystemError: a broker can't be reached or does not tell.
        """
        return self._offsets(streams, OffsetSpec.latest(), "end")

    def written_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Tell ends, as `TransactionalAdmin.written_offsets` says: the high watermarks.

        Raises:
            StreamSystemError: a broker can't be reached or does not tell.
        """
        return self._offsets(streams, OffsetSpec.latest(), "end", IsolationLevel.READ_UNCOMMITTED)

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Tell, per partition, below which offset all records have been deleted.

        Raises:
            StreamSystemError: a broker can't be reached or does not tell.
        """
        return self._offsets(streams, OffsetSpec.earliest(), "start")

    def delete(self, streams: Sequence[StreamDescriptor]) -> None:
        """Delete topics, as `TransactionalAdmin.delete` says, and wait until they are gone.

        Raises:
            StreamSystemError: a topic can't be deleted.
        """
        deadline = self._deadline()
        topics = sorted({stream.address for stream in streams})
        _, errors = self._settle(
            lambda keys: self._client.delete_topics(list(keys), request_timeout=_left(deadline)), topics, deadline
        )
        for topic, error in errors.items():
            if error.code() not in MISSING:
                self._fail(f"topic {topic} can't be deleted", error)
        self._await(streams, deadline, "deleted", lambda found: found == 0)

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:
        """Tell topics' ids with one request, as `TransactionalAdmin.identities` says.

        Raises:
            StreamSystemError: the brokers can't be reached or don't tell.
        """
        described = self._described(streams, self._deadline())
        return {s.name: str(described[s.address].topic_id) if s.address in described else "" for s in streams}

    def beginning_with(self, prefix: str) -> Sequence[str]:
        """Name the topics whose names begin with a prefix.

        Raises:
            StreamSystemError: the brokers can't be reached.
        """
        try:
            topics = self._client.list_topics(timeout=self._cluster.timeout).topics
        except KafkaException as error:
            self._fail("its topics can't be listed", error.args[0])
        return sorted(topic for topic in topics if topic.startswith(prefix))

    def delete_records(self, streams: Sequence[StreamDescriptor], below: Mapping[Ssp, int]) -> None:
        """Delete records, as `TransactionalAdmin.delete_records` says; topics that are gone have none.

        Raises:
            StreamSystemError: the brokers can't be reached or refuse.
        """
        deadline = self._deadline()
        _, errors = self._settle(
            lambda keys: self._client.delete_records(list(keys), request_timeout=_left(deadline)),
            [at for at in _places(streams, below) if at.offset > 0],
            deadline,
        )
        for at, error in errors.items():
            if error.code() not in MISSING:
                self._fail(f"topic {at.topic}: its consumed records can't be deleted", error)

    def compact(self, stream: StreamDescriptor, *, tombstones_before: int) -> int:  # noqa: ARG002 - brokers do it
        """Do nothing: brokers compact topics by themselves."""
        return 0

    def publish_group_offsets(
        self, group: str, streams: Sequence[StreamDescriptor], positions: Mapping[Ssp, int]
    ) -> None:
        """Commit positions, as `TransactionalAdmin.publish_group_offsets` says; the group has no members.

        Raises:
            StreamSystemError: the brokers can't be reached or refuse.
        """
        deadline, places = self._deadline(), _places(streams, positions)
        group = self._cluster.settings.get("group.id", group)
        answers, errors = self._settle(
            lambda keys: self._client.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(key, places) for key in keys], request_timeout=_left(deadline)
            ),
            [group] if places else [],
            deadline,
        )
        refused = [at.error for answer in answers.values() for at in answer.topic_partitions or () if at.error]
        for error in (*errors.values(), *refused):
            if error.code() not in MISSING:
                self._fail(f"consumer group {group}: its offsets can't be written", error)

    def delete_group(self, group: str) -> None:
        """Delete a consumer group with its offsets, as `TransactionalAdmin.delete_group` says.

        Raises:
            StreamSystemError: the brokers can't be reached or refuse.
        """
        deadline = self._deadline()
        group = self._cluster.settings.get("group.id", group)
        _, errors = self._settle(
            lambda keys: self._client.delete_consumer_groups(list(keys), request_timeout=_left(deadline)),
            [group],
            deadline,
        )
        for error in errors.values():
            if error.code() != KafkaError.GROUP_ID_NOT_FOUND:
                self._fail(f"consumer group {group} can't be deleted", error)

    def fence(self, owners: Sequence[TransactionOwner]) -> None:
        """Initialise these transactional ids: what their producers have not committed is aborted, and stays so.

        Kafka knows no epochs of ours: it shuts out every earlier producer of an id, so only who has made sure that
        its own epoch is the current one may call this.

        Raises:
            StreamSystemError: an id can't be initialised.
        """
        with ThreadPoolExecutor(max_workers=_FENCING_THREADS) as pool:
            for _ in pool.map(partial(take_over, self._cluster), owners):
                continue

    def close(self) -> None:
        """Release the connections."""
        self._client.poll(0)
        del self._client

    def _deadline(self) -> float:
        return time.monotonic() + self._cluster.timeout

    def _settle(
        self,
        ask: Callable[[Sequence[Key]], Mapping[Key, Future[Answer]]],
        keys: Sequence[Key],
        deadline: float,
        passing: frozenset[int] = TRANSIENT,
    ) -> tuple[Mapping[Key, Answer], Mapping[Key, KafkaError]]:
        answers, errors = settle(ask, keys, deadline, passing, hopeless=self._hopeless)
        if answers:
            self._trouble.over()
        return answers, errors

    def _hopeless(self) -> bool:
        self._client.poll(0)
        return self._trouble.hopeless

    def _counts(self, streams: Sequence[StreamDescriptor], deadline: float) -> Mapping[str, int]:
        """Count the partitions of these streams' topics, those that exist, by topic."""
        described = self._described(streams, deadline)
        return {topic: len(description.partitions) for topic, description in described.items()}

    def _described(self, streams: Sequence[StreamDescriptor], deadline: float) -> Mapping[str, TopicDescription]:
        described, errors = self._settle(
            lambda topics: self._describe(topics, deadline), sorted({stream.address for stream in streams}), deadline
        )
        for topic, error in errors.items():
            if error.code() not in MISSING:
                self._fail(f"topic {topic} can't be described", error)
        return described

    def _offsets(
        self,
        streams: Sequence[StreamDescriptor],
        wanted: OffsetSpec,
        name: str,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> Mapping[Ssp, int]:
        deadline = self._deadline()
        counts = self._counts(streams, deadline)
        ssps = {
            TopicPartition(stream.address, partition): Ssp(stream.system, stream.name, partition)
            for stream in streams
            for partition in range(counts.get(stream.address, 0))
        }
        offsets, errors = self._settle(
            lambda keys: self._client.list_offsets(
                dict.fromkeys(keys, wanted),
                isolation_level=isolation,
                request_timeout=_left(deadline),
            ),
            list(ssps),
            deadline,
            TRANSIENT | MISSING,
        )
        for key, error in errors.items():
            self._fail(f"{ssps[key]} (topic {key.topic}): its {name} can't be read", error)
        return {ssps[key]: offset.offset for key, offset in offsets.items()}

    def _describe(self, topics: Sequence[str], deadline: float) -> Mapping[str, Future[TopicDescription]]:
        return self._client.describe_topics(TopicCollection(list(topics)), request_timeout=_left(deadline))

    def _check_counts(self, counts: Mapping[StreamDescriptor, int], found: Mapping[str, int]) -> None:
        for stream, count in counts.items():
            if found.get(stream.address, count) != count:
                raise StreamSystemError(
                    f"stream {stream.name}: topic {stream.address} has {found[stream.address]} partitions in "
                    f"{self._cluster}, not {count}. Correct the number, or delete the topic"
                )

    def _await(
        self, streams: Sequence[StreamDescriptor], deadline: float, done: str, seen: Callable[[int], bool]
    ) -> None:
        """Wait until the brokers tell the right counts of all these topics: they learn them one after the other."""
        topics = {stream.address for stream in streams}
        while True:
            counts = self._counts(streams, deadline)
            odd = sorted(topic for topic in topics if not seen(counts.get(topic, 0)))
            if not odd:
                return
            if time.monotonic() > deadline:
                raise StreamSystemError(
                    f"{self._cluster}: {', '.join(odd)}: {done}, but the brokers don't show it. Try again"
                )
            time.sleep(PAUSE)

    def _fail(self, what: str, error: KafkaError) -> NoReturn:
        self._client.poll(0)
        raise self._trouble.explain(what, error)


def _left(deadline: float) -> float:
    """Seconds until the deadline, as much as a request needs at the least."""
    return max(deadline - time.monotonic(), 0.1)


def _places(streams: Sequence[StreamDescriptor], offsets: Mapping[Ssp, int]) -> list[TopicPartition]:
    topics = {stream.name: stream.address for stream in streams}
    return [TopicPartition(topics[s.stream], s.partition, at) for s, at in offsets.items() if s.stream in topics]
