"""Offsets in topics: where partitions begin and end, the deletion of consumed records, and those of consumer groups."""

from collections.abc import Mapping, Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.admin_requests import AdminRequests, seconds_left
from streamapp_systems.kafka.kafka_client import NO_ANSWER
from streamapp_systems.kafka.kafka_errors import MISSING, TRANSIENT
from streamapp_systems.kafka.missing_rights import on_group, on_topic
from streamapp_systems.protocols import StreamDescriptor

NOT_FOUND = -1
"""What brokers answer for a time that is later than those of all records."""
_ATTEMPTS = 3
"""A request waits for so small a part of the timeout: a leader that has died answers none, and the next one does."""


def read_offsets(
    requests: AdminRequests,
    streams: Sequence[StreamDescriptor],
    wanted: OffsetSpec,
    name: str,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    *,
    lowest: int = 0,
) -> Mapping[Ssp, int]:
    """Return one kind of offset of all partitions of these streams; `name` is that kind in messages.

    An answer below `lowest` is none, and is asked for again.
    """
    deadline = requests.deadline()
    topics = requests.describe_expected(streams, deadline)
    ssps = {
        TopicPartition(stream.address, partition): Ssp(stream.system, stream.name, partition)
        for stream in streams
        if stream.address in topics
        for partition in range(len(topics[stream.address].partitions))
    }
    attempt = requests.cluster.timeout / _ATTEMPTS
    offsets, errors = requests.request(
        lambda keys: requests.client.list_offsets(
            dict.fromkeys(keys, wanted), isolation_level=isolation, request_timeout=min(attempt, seconds_left(deadline))
        ),
        list(ssps),
        deadline,
        TRANSIENT | MISSING,
        error_in=lambda found: None if found.offset >= lowest else NO_ANSWER,  # below 0 where none came in time
    )
    for key, error in errors.items():
        requests.fail(
            f"{ssps[key]} (topic {key.topic}): its {name} can't be read", error, on_topic("Describe", key.topic)
        )
    return {ssps[key]: offset.offset for key, offset in offsets.items()}


def delete_records(requests: AdminRequests, streams: Sequence[StreamDescriptor], below: Mapping[Ssp, int]) -> None:
    """Delete the records below these offsets; see `KafkaAdmin.delete_records`."""
    deadline = requests.deadline()
    _, errors = requests.request(
        lambda keys: requests.client.delete_records(list(keys), request_timeout=seconds_left(deadline)),
        [at for at in _positions(streams, below) if at.offset > 0],
        deadline,
    )
    for at, error in errors.items():
        if error.code() not in MISSING:
            requests.fail(f"topic {at.topic}: its records can't be deleted", error, on_topic("Delete", at.topic))


def commit_group_offsets(
    requests: AdminRequests, group: str, streams: Sequence[StreamDescriptor], positions: Mapping[Ssp, int]
) -> None:
    """Commit positions for a consumer group; see `KafkaAdmin.publish_group_offsets`."""
    deadline, places = requests.deadline(), _positions(streams, positions)
    _, errors = requests.request(
        lambda keys: requests.client.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(key, places) for key in keys], request_timeout=seconds_left(deadline)
        ),
        [group] if places else [],
        deadline,
        error_in=lambda answer: next(filter(_is_refusal, (at.error for at in answer.topic_partitions or ())), None),
    )
    for error in errors.values():
        if error.code() not in MISSING:
            needs = {**on_group("Read", group), **on_topic("Read", *{place.topic for place in places})}
            requests.fail(f"consumer group {group}: its offsets can't be written", error, needs)


def delete_group(requests: AdminRequests, group: str) -> None:
    """Delete a consumer group with its offsets; see `KafkaAdmin.delete_group`."""
    deadline = requests.deadline()
    _, errors = requests.request(
        lambda keys: requests.client.delete_consumer_groups(list(keys), request_timeout=seconds_left(deadline)),
        [group],
        deadline,
    )
    for error in errors.values():
        if error.code() != KafkaError.GROUP_ID_NOT_FOUND:
            requests.fail(f"consumer group {group} can't be deleted", error, on_group("Delete", group))


def _is_refusal(error: KafkaError | None) -> bool:
    return error is not None and error.code() not in MISSING


def _positions(streams: Sequence[StreamDescriptor], offsets: Mapping[Ssp, int]) -> list[TopicPartition]:
    topics = {stream.name: stream.address for stream in streams}
    return [TopicPartition(topics[s.stream], s.partition, at) for s, at in offsets.items() if s.stream in topics]
