"""Metadata of a Kafka cluster; creation and deletion of topics; fencing of producers."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NoReturn

from confluent_kafka import IsolationLevel, KafkaError, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec, TopicDescription

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.client import PATIENCE, PAUSE, opening, settle
from streamapp_systems.kafka.config import ClientKind, Cluster
from streamapp_systems.kafka.errors import MISSING, PASSING, Trouble
from streamapp_systems.kafka.transactions import take_over
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, Transactional

_DAY = 24 * 60 * 60 * 1000
_NEVER = str((1 << 63) - 1)
_ANY_EVENT_TIME = {
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": _NEVER,
    "segment.ms": _NEVER,
}
_APPEND_ONLY = {**_ANY_EVENT_TIME, "cleanup.policy": "delete", "retention.ms": "-1"}
_KEYED = {
    **_ANY_EVENT_TIME,
    "cleanup.policy": "compact",
    "delete.retention.ms": str(_DAY),
    "segment.bytes": str(100 << 20),
}
"""Timestamps are event times, perhaps of another year, so nothing may follow from a record's age: neither its deletion
nor a new segment at each jump."""

_FENCING_THREADS = 8


class KafkaAdmin:
    """Tells and changes which topics a cluster has. Used by one thread.

    `patience` is how many seconds a call waits for brokers that don't answer.
    """

    def __init__(self, cluster: Cluster, *, patience: float = PATIENCE) -> None:
        """Make the client; nothing is asked yet.

        Raises:
            StreamSystemError: the cluster's settings are wrong.
        """
        self._cluster = cluster
        self._patience = patience
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

        _, errors = settle(ask, sorted(missing), deadline)
        for topic, error in errors.items():
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                self._fail(f"topic {topic} can't be created", error)
        self._await(list(missing.values()), deadline, exist=True)
        self._check_counts(counts, self._counts(list(counts), deadline))

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Tell ends, as `Admin.end_offsets` says: of what is committed, before the first open transaction.

        Markers of transactions count as records, so that the last offset before an end may hold none.

        Raises:
            StreamSystemError: a broker can't be reached or does not tell.
        """
        return self._offsets(streams, OffsetSpec.latest(), "end")

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
        _, errors = settle(
            lambda keys: self._client.delete_topics(list(keys), request_timeout=_left(deadline)), topics, deadline
        )
        for topic, error in errors.items():
            if error.code() not in MISSING:
                self._fail(f"topic {topic} can't be deleted", error)
        self._await(streams, deadline, exist=False)

    def fence(self, owners: Sequence[Transactional]) -> None:
        """Initialise these transactional ids: what their producers have not committed is aborted, and stays so.

        Kafka knows no epochs of ours: it shuts out every earlier producer of an id, so only who has made sure that
        its own epoch is the current one may call this.

        Raises:
            StreamSystemError: an id can't be initialised.
        """
        with ThreadPoolExecutor(max_workers=_FENCING_THREADS) as pool:
            for _ in pool.map(partial(take_over, self._cluster, patience=self._patience), owners):
                continue

    def close(self) -> None:
        """Release the connections."""
        self._client.poll(0)
        del self._client

    def _deadline(self) -> float:
        return time.monotonic() + self._patience

    def _counts(self, streams: Sequence[StreamDescriptor], deadline: float) -> Mapping[str, int]:
        """Count the partitions of these streams' topics, those that exist, by topic."""
        described, errors = settle(
            lambda topics: self._describe(topics, deadline), sorted({stream.address for stream in streams}), deadline
        )
        for topic, error in errors.items():
            if error.code() not in MISSING:
                self._fail(f"topic {topic} can't be described", error)
        return {topic: len(description.partitions) for topic, description in described.items()}

    def _offsets(self, streams: Sequence[StreamDescriptor], wanted: OffsetSpec, name: str) -> Mapping[Ssp, int]:
        deadline = self._deadline()
        counts = self._counts(streams, deadline)
        ssps = {
            TopicPartition(stream.address, partition): Ssp(stream.system, stream.name, partition)
            for stream in streams
            for partition in range(counts.get(stream.address, 0))
        }
        offsets, errors = settle(
            lambda keys: self._client.list_offsets(
                dict.fromkeys(keys, wanted),
                isolation_level=IsolationLevel.READ_COMMITTED,
                request_timeout=_left(deadline),
            ),
            list(ssps),
            deadline,
            PASSING | MISSING,
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

    def _await(self, streams: Sequence[StreamDescriptor], deadline: float, *, exist: bool) -> None:
        """Wait until the brokers tell of all these topics, or of none: they learn it one after the other."""
        topics = {stream.address for stream in streams}
        while True:
            known = self._counts(streams, deadline).keys()
            odd = topics - known if exist else topics & known
            if not odd:
                return
            if time.monotonic() > deadline:
                wanted = (
                    "created, but the brokers don't show them" if exist else "deleted, but the brokers still show them"
                )
                raise StreamSystemError(f"{self._cluster}: {', '.join(sorted(odd))}: {wanted}. Try again")
            time.sleep(PAUSE)

    def _fail(self, what: str, error: KafkaError) -> NoReturn:
        self._client.poll(0)
        raise self._trouble.explain(what, error)


def _left(deadline: float) -> float:
    """Seconds until the deadline, as much as a request needs at the least."""
    return max(deadline - time.monotonic(), 0.1)
