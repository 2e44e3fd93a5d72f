"""What the Kafka client's errors mean, in words that name cluster, topic and partition and say what to do."""

import logging

from confluent_kafka import KafkaError

from streamapp_systems.kafka.config import Cluster
from streamapp_systems.protocols import StreamSystemError, Unavailable

_LOGGER = logging.getLogger("streamapp.kafka")

FENCING = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.TRANSACTION_COORDINATOR_FENCED,
    }
)
MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
PASSING = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    }
)
"""Errors after which the same request may succeed a moment later."""

_AWAY = PASSING | {
    KafkaError._MSG_TIMED_OUT,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}
"""Errors that say of the brokers that they are away: a new client may find them again."""

_UNREACHABLE = (
    "Check that its brokers run, that bootstrapServers is right (and the addresses the brokers advertise), and "
    "security.protocol"
)
_LOGIN = "Check auth (secret, mechanism), security.protocol and the certificates"
_RIGHTS = "Give this user the rights it needs (docs/kafka.md)"
_ADVICE = {
    **dict.fromkeys(PASSING, _UNREACHABLE),
    **dict.fromkeys(MISSING, "Create the topic, or correct the stream's name; if it was there before, it was deleted"),
    KafkaError._RESOLVE: _UNREACHABLE,
    KafkaError._AUTHENTICATION: _LOGIN,
    KafkaError.SASL_AUTHENTICATION_FAILED: _LOGIN,
    KafkaError.UNSUPPORTED_SASL_MECHANISM: _LOGIN,
    KafkaError._SSL: _LOGIN,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: _RIGHTS,
    KafkaError.GROUP_AUTHORIZATION_FAILED: _RIGHTS,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: _RIGHTS,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _RIGHTS,
    KafkaError.MSG_SIZE_TOO_LARGE: (
        "Raise the topic's max.message.bytes, and message.max.bytes in spec.systems.*.kafka.config"
    ),
    KafkaError._AUTO_OFFSET_RESET: (
        "The records there were deleted before they were read (retention, or the topic was made anew): begin a new run"
    ),
    KafkaError.OFFSET_OUT_OF_RANGE: (
        "The records there were deleted before they were read (retention, or the topic was made anew): begin a new run"
    ),
    KafkaError.INVALID_REPLICATION_FACTOR: "Start more brokers, or lower their default.replication.factor",
    KafkaError.TOPIC_EXCEPTION: "Kafka does not allow this name for a topic",
    KafkaError.POLICY_VIOLATION: "The brokers' policy refuses this: create the topic by other means, or ask its owners",
    KafkaError.INVALID_RECORD: "The topic is compacted, and the record has no key",
    KafkaError.INVALID_TIMESTAMP: "Raise the topic's message.timestamp.before.max.ms and .after.max.ms",
}
_LASTING = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE})


class Trouble:
    """What a client has told in passing since it last worked: the cause behind its timeouts."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._causes: dict[int, str] = {}
        self.disconnected = False

    def noticed(self, error: KafkaError) -> None:
        """Remember an error; the client calls this from its polls."""
        if error.code() not in self._causes:
            _LOGGER.warning("%s: %s (%s)", self._cluster, error.str(), error.name())
        self._causes[error.code()] = error.str()
        self.disconnected = self.disconnected or error.code() == KafkaError._ALL_BROKERS_DOWN

    def over(self) -> None:
        """Forget all: the client has just worked."""
        self._causes.clear()
        self.disconnected = False

    def explain(self, what: str, error: KafkaError) -> StreamSystemError:
        """Make an error of what the client says about `what`, with the cause it told before, if any."""
        codes = [error.code(), *self._causes]
        code = next((code for code in codes if code in _LASTING), error.code())
        causes = [text for known, text in self._causes.items() if known != KafkaError._ALL_BROKERS_DOWN]
        reason = "; ".join(dict.fromkeys([error.str(), *causes]))
        advice = _ADVICE.get(code, "See the message above")
        kind = Unavailable if code in _AWAY else StreamSystemError
        return kind(f"{self._cluster}: {what}: {reason} ({error.name()}). {advice}")
