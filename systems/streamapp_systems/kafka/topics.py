"""The topics of a cluster: their creation, growth and deletion."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewPartitions, NewTopic

from streamapp_systems.kafka.admin_requests import AdminRequests, seconds_left
from streamapp_systems.kafka.kafka_errors import MISSING
from streamapp_systems.kafka.missing_rights import on_topic
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

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


def create_topics(requests: AdminRequests, counts: Mapping[StreamDescriptor, int]) -> None:
    """Create missing topics and wait until the brokers know them; see `KafkaAdmin.create`."""
    deadline = requests.deadline()
    found = requests.count(list(counts), deadline)
    _check_counts(requests, counts, found)
    missing = {stream.address: stream for stream in counts if stream.address not in found}

    def ask(topics: Sequence[str]) -> Mapping[str, Future[None]]:
        new = [
            NewTopic(topic, counts[missing[topic]], -1, config=_KEYED if missing[topic].keyed else _APPEND_ONLY)
            for topic in topics
        ]
        return requests.client.create_topics(new, request_timeout=seconds_left(deadline))

    _, errors = requests.request(ask, sorted(missing), deadline)
    for topic, error in errors.items():
        if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            requests.fail(f"topic {topic} can't be created", error, on_topic("Create", topic))
    requests.await_counts(list(missing.values()), deadline, "created", lambda found: found > 0)
    _check_counts(requests, counts, requests.count(list(counts), deadline))


def expand_topic(requests: AdminRequests, stream: StreamDescriptor, count: int) -> None:
    """Add partitions to a topic and wait until the brokers know them; see `KafkaAdmin.expand`."""
    deadline = requests.deadline()
    _, errors = requests.request(
        lambda topics: requests.client.create_partitions(
            [NewPartitions(topic, count) for topic in topics], request_timeout=seconds_left(deadline)
        ),
        [stream.address],
        deadline,
    )
    found = requests.count([stream], deadline)
    for topic, error in errors.items():
        if found.get(topic) != count:
            requests.fail(f"topic {topic} can't be expanded to {count} partitions", error, on_topic("Alter", topic))
    requests.await_counts([stream], deadline, "expanded", lambda found: found >= count)


def delete_topics(requests: AdminRequests, streams: Sequence[StreamDescriptor]) -> None:
    """Delete topics and wait until they are gone; see `KafkaAdmin.delete`."""
    deadline = requests.deadline()
    topics = sorted({stream.address for stream in streams})
    _, errors = requests.request(
        lambda keys: requests.client.delete_topics(list(keys), request_timeout=seconds_left(deadline)),
        topics,
        deadline,
    )
    for topic, error in errors.items():
        if error.code() not in MISSING:
            requests.fail(f"topic {topic} can't be deleted", error, on_topic("Delete", topic))
    requests.await_counts(streams, deadline, "deleted", lambda found: found == 0)


def list_topics(requests: AdminRequests, prefix: str) -> Sequence[str]:
    """Return the topics whose names begin with a prefix, sorted."""
    try:
        topics = requests.client.list_topics(timeout=requests.cluster.timeout).topics
    except KafkaException as error:
        requests.fail("its topics can't be listed", error.args[0])
    return sorted(topic for topic in topics if topic.startswith(prefix))


def _check_counts(requests: AdminRequests, counts: Mapping[StreamDescriptor, int], found: Mapping[str, int]) -> None:
    for stream, count in counts.items():
        if found.get(stream.address, count) != count:
            raise StreamSystemError(
                f"stream {stream.name}: topic {stream.address} has {found[stream.address]} partitions in "
                f"{requests.cluster}, not {count}. Correct the number, or delete the topic"
            )
