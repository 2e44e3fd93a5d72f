"""The errors of Kafka clients, explained in words that name cluster, topic and partition and say what to do."""

import logging
import re
import time

from confluent_kafka import KafkaError

from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.missing_rights import NO_NEEDS, Needs, missing_right
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
TRANSIENT = frozenset(
    {
        KafkaError._DESTROY_BROKER,  # the broker was asked when it left the cluster's list
        KafkaError._NOENT,  # of the leader of a partition, right after a broker came back
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._UNKNOWN_BROKER,
        KafkaError._WAIT_CACHE,
        KafkaError._WAIT_COORD,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.FETCH_SESSION_ID_NOT_FOUND,
        KafkaError.INVALID_FETCH_SESSION_EPOCH,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.LISTENER_NOT_FOUND,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    }
)
"""Errors after which the same request may succeed a moment later."""

_REFUSALS = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})
_CAUSES = _REFUSALS | {KafkaError._RESOLVE}
"""Errors that are the cause of others, of timeouts above all."""

_TRANSACTION_STATE_LOST = frozenset(
    {
        KafkaError.CONCURRENT_TRANSACTIONS,
        KafkaError.INVALID_TXN_STATE,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.TRANSACTION_ABORTABLE,
        KafkaError.UNKNOWN_PRODUCER_ID,
    }
)
"""Errors of brokers that have lost the state of a transaction, by the death of one of them for example."""

_UNAVAILABLE = (
    TRANSIENT
    | _CAUSES
    | {
        KafkaError._INCONSISTENT,
        KafkaError._MSG_TIMED_OUT,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.UNKNOWN,
    }
    | _TRANSACTION_STATE_LOST
)
"""Errors of brokers that are away, refuse, or have lost what was in flight: a new client may reach them again."""

_PERMANENT = (
    FENCING
    | MISSING
    | frozenset(
        {
            KafkaError._INVALID_ARG,
            KafkaError._UNSUPPORTED_FEATURE,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            KafkaError.GROUP_AUTHORIZATION_FAILED,
            KafkaError.INVALID_MSG_SIZE,
            KafkaError.INVALID_RECORD,
            KafkaError.INVALID_REQUEST,
            KafkaError.INVALID_REQUIRED_ACKS,
            KafkaError.INVALID_TIMESTAMP,
            KafkaError.INVALID_TRANSACTION_TIMEOUT,
            KafkaError.MSG_SIZE_TOO_LARGE,
            KafkaError.POLICY_VIOLATION,
            KafkaError.RECORD_LIST_TOO_LARGE,
            KafkaError.SECURITY_DISABLED,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.TOPIC_EXCEPTION,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
            KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            KafkaError.UNSUPPORTED_VERSION,
        }
    )
)
"""Errors that another try meets again, of a transaction too: a person must change something first."""

_NO_ANSWER = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})
"""Errors that say no more than that no answer came: the reason is in the problems the client reported before."""

_LOST_CONNECTION = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})

_STATE = re.compile(r" \(after \d+ms in state (?:[^()]|\(\w*\))*\)")
"""The states of connections and their durations, which the client adds to its errors."""

_REFUSED_SECONDS = 2.0
"""Seconds after which refusals of TLS or the login are permanent: a broker that stops breaks handshakes off."""

_UNREACHABLE = (
    "Check that its brokers run, that bootstrapServers is right (and the addresses the brokers advertise), and "
    "security.protocol"
)
_SILENT = f"{_UNREACHABLE}: connections end without a word, as they do where brokers want TLS or a login"
_LOGIN = "Check auth (the username and the password in its secret, the mechanism) and security.protocol"
_TLS = (
    "Check the certificates: ssl.ca.pem (on one machine also the file ssl.ca.location) must have the authority that "
    "signed the brokers', and theirs the names in bootstrapServers"
)
_ADVICE = {
    **dict.fromkeys(TRANSIENT, _UNREACHABLE),
    **dict.fromkeys(
        _TRANSACTION_STATE_LOST, "The brokers have lost the state of the transaction: its work is done again"
    ),
    **dict.fromkeys(MISSING, "Create the topic, or correct the stream's name; if it was there before, it was deleted"),
    KafkaError._INCONSISTENT: (
        "Records waited for the brokers longer than a transaction lasts: it is aborted, and its work is done again"
    ),
    KafkaError._RESOLVE: _UNREACHABLE,
    KafkaError._AUTHENTICATION: _LOGIN,
    KafkaError.SASL_AUTHENTICATION_FAILED: _LOGIN,
    KafkaError.UNSUPPORTED_SASL_MECHANISM: _LOGIN,
    KafkaError._SSL: _TLS,
    KafkaError.MSG_SIZE_TOO_LARGE: (
        "Raise the topic's max.message.bytes, and message.max.bytes in spec.systems.*.kafka.config"
    ),
    KafkaError._AUTO_OFFSET_RESET: (
        "The records there were deleted before they were read (retention, or the topic was recreated): begin a new run"
    ),
    KafkaError.OFFSET_OUT_OF_RANGE: (
        "The records there were deleted before they were read (retention, or the topic was recreated): begin a new run"
    ),
    KafkaError.UNKNOWN_MEMBER_ID: (
        "Another program's consumers have joined this group: give theirs another name, or this one, with group.id in "
        "spec.systems.*.kafka.config"
    ),
    KafkaError.INVALID_REPLICATION_FACTOR: "Start more brokers, or lower their default.replication.factor",
    KafkaError.TOPIC_EXCEPTION: "Kafka does not allow this name for a topic",
    KafkaError.POLICY_VIOLATION: "The brokers' policy refuses this: create the topic by other means, or ask its owners",
    KafkaError.INVALID_RECORD: "The topic is compacted, and the record has no key",
    KafkaError.INVALID_TIMESTAMP: (
        "A record's time is further from the brokers' than the topic allows: raise its message.timestamp.before.max.ms "
        "and .after.max.ms, or set spec.streams.*.recordTime to processingTime"
    ),
}


class ClientProblems:
    """The problems a client has reported since it last worked: the causes of its timeouts."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._causes: dict[int, str] = {}
        self._refused_at: float | None = None
        self._worked = False
        self.disconnected = False
        self.lost_connection = False
        """Whether a broker could not be reached since this was set to False."""

    @property
    def permanent(self) -> bool:
        """Whether the brokers have been refusing TLS or the login for some time: waiting will not help."""
        since = self._refused_at
        return self.disconnected and since is not None and time.monotonic() - since > _REFUSED_SECONDS

    def note(self, error: KafkaError) -> None:
        """Remember a problem; the client calls this from its polls."""
        if error.code() not in self._causes and error.code() != KafkaError._ALL_BROKERS_DOWN:
            _LOGGER.warning("%s: %s", self._cluster, _text(error))
        self._causes[error.code()] = _text(error)
        if error.code() in _REFUSALS and self._refused_at is None:
            self._refused_at = time.monotonic()
        self.disconnected = self.disconnected or error.code() == KafkaError._ALL_BROKERS_DOWN
        self.lost_connection = self.lost_connection or error.code() in _LOST_CONNECTION

    def clear(self) -> None:
        """Forget all problems: the client has just worked."""
        self._causes.clear()
        self._refused_at = None
        self._worked = True
        self.disconnected = False

    def explain(self, what: str, error: KafkaError, needs: Needs = NO_NEEDS) -> StreamSystemError:
        """Return the error to raise about `what`, with the cause that the client reported before, if any.

        `needs` are the rights without which brokers refuse it.
        """
        kind = Unavailable if _passes(error) else StreamSystemError
        for code in _CAUSES & self._causes.keys() if kind is Unavailable else ():
            return kind(f"{self._cluster}: {what}: {self._causes[code]}. {_ADVICE[code]}")
        causes = [text for known, text in self._causes.items() if known != KafkaError._ALL_BROKERS_DOWN]
        if causes and error.code() in _NO_ANSWER:
            return kind(f"{self._cluster}: {what}: {'; '.join(dict.fromkeys(causes))}. {_UNREACHABLE}")
        reason = "; ".join(dict.fromkeys([_text(error), *causes]))
        silent = error.code() in TRANSIENT and self.disconnected and not causes and not self._worked
        known = missing_right(self._cluster, error.code(), needs) or _ADVICE.get(error.code(), "See the message above")
        advice = _SILENT if silent else known
        return kind(f"{self._cluster}: {what}: {reason} ({error.name()}). {advice}")


def _passes(error: KafkaError) -> bool:
    """Return whether another try may succeed: of what can be aborted, it may unless it is known that it can't."""
    if error.code() in _PERMANENT:
        return False
    return error.code() in _UNAVAILABLE or error.retriable() or error.txn_requires_abort()


def _text(error: KafkaError) -> str:
    return _STATE.sub("", error.str())
