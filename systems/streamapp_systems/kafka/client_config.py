"""Settings of the Kafka clients: which of the user's are passed on, and which are ours.

Settings have librdkafka's names. Those that carry the guarantees (isolation, transactions, offsets, partitioning,
bounded memory) are not the user's to set.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamapp_core.spec.systems import KafkaAuth, KafkaSystem
from streamapp_systems.kafka.credentials import LocalSecrets, SecretReader, read_credentials
from streamapp_systems.protocols import StreamSystemError, TransactionOwner

TIMEOUT_VARIABLE = "STREAMAPP_KAFKA_TIMEOUT"
"""Environment variable: the seconds brokers may be silent for."""

DEFAULT_TIMEOUT = 30.0
"""Longer than a restart of a broker takes."""

TRANSACTION_SECONDS = 15
"""Seconds without a request from a producer after which the broker aborts its transaction."""

_RESEND_MILLISECONDS = 1_000
RESEND_SECONDS = 0.75
"""Seconds before which a producer sends no request a second time: the client waits for 80 % of its backoff at least."""

_GROUP = "streamapp"
"""Consumers are assigned by hand and commit nothing, but the client requires a group."""


class ClientKind(StrEnum):
    """The clients that settings are for."""

    ADMIN = "admin"
    CONSUMER = "consumer"
    PRODUCER = "producer"


_ANY = frozenset(ClientKind)
_CONSUMER = frozenset({ClientKind.CONSUMER})
_PRODUCER = frozenset({ClientKind.PRODUCER})

_ALLOWED: Mapping[str, frozenset[ClientKind]] = {
    "api.version.request.timeout.ms": _ANY,
    "broker.address.family": _ANY,
    "broker.address.ttl": _ANY,
    "client.dns.lookup": _ANY,
    "client.id": _ANY,
    "client.rack": _CONSUMER,
    "connections.max.idle.ms": _ANY,
    "debug": _ANY,
    "log_level": _ANY,
    "message.max.bytes": _ANY,
    "metadata.max.age.ms": _ANY,
    "receive.message.max.bytes": _ANY,
    "reconnect.backoff.max.ms": _ANY,
    "reconnect.backoff.ms": _ANY,
    "security.protocol": _ANY,
    "socket.connection.setup.timeout.ms": _ANY,
    "socket.keepalive.enable": _ANY,
    "socket.nagle.disable": _ANY,
    "socket.receive.buffer.bytes": _ANY,
    "socket.send.buffer.bytes": _ANY,
    "socket.timeout.ms": _ANY,
    "enable.ssl.certificate.verification": _ANY,
    "ssl.ca.location": _ANY,
    "ssl.ca.pem": _ANY,
    "ssl.certificate.location": _ANY,
    "ssl.certificate.pem": _ANY,
    "ssl.cipher.suites": _ANY,
    "ssl.crl.location": _ANY,
    "ssl.curves.list": _ANY,
    "ssl.endpoint.identification.algorithm": _ANY,
    "ssl.key.location": _ANY,
    "ssl.sigalgs.list": _ANY,
    "topic.metadata.refresh.interval.ms": _ANY,
    "check.crcs": _CONSUMER,
    "fetch.error.backoff.ms": _CONSUMER,
    "fetch.max.bytes": _CONSUMER,
    "fetch.min.bytes": _CONSUMER,
    "fetch.queue.backoff.ms": _CONSUMER,
    "fetch.wait.max.ms": _CONSUMER,
    "group.id": _CONSUMER,
    "max.partition.fetch.bytes": _CONSUMER,
    "queued.max.messages.kbytes": _CONSUMER,
    "queued.min.messages": _CONSUMER,
    "batch.size": _PRODUCER,
    "compression.level": _PRODUCER,
    "compression.type": _PRODUCER,
    "linger.ms": _PRODUCER,
    "request.timeout.ms": _PRODUCER,
}
_SECRETS = ("password", "secret", "sasl.username", "ssl.key.pem")

_DEFAULT = {"log_level": "2", "reconnect.backoff.max.ms": "1000"}
"""The client writes its log to standard error; what matters of it comes as errors too, and those are logged by us."""

_DEFAULTS: Mapping[ClientKind, Mapping[str, str]] = {
    ClientKind.ADMIN: _DEFAULT,
    ClientKind.CONSUMER: {
        **_DEFAULT,
        "fetch.max.bytes": "4194304",
        "fetch.queue.backoff.ms": "50",
        "fetch.wait.max.ms": "10",
        "group.id": _GROUP,
        "max.partition.fetch.bytes": "262144",
        "queued.max.messages.kbytes": "16384",
        "queued.min.messages": "100000",
    },
    ClientKind.PRODUCER: {**_DEFAULT, "compression.type": "lz4"},
}
_COMMON = {"topic.metadata.propagation.max.ms": "5000"}
_OURS: Mapping[ClientKind, Mapping[str, str]] = {
    ClientKind.ADMIN: _COMMON,
    ClientKind.CONSUMER: {
        **_COMMON,
        "allow.auto.create.topics": "false",
        "auto.offset.reset": "error",
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "enable.partition.eof": "true",
        "isolation.level": "read_committed",
        "max.poll.interval.ms": "86400000",
    },
    ClientKind.PRODUCER: {
        **_COMMON,
        "enable.idempotence": "true",
        "queue.buffering.max.kbytes": "262144",
        "queue.buffering.max.messages": "1000000",
        "retry.backoff.max.ms": str(_RESEND_MILLISECONDS),
        "retry.backoff.ms": str(_RESEND_MILLISECONDS),
        "transaction.timeout.ms": str(TRANSACTION_SECONDS * 1000),
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A Kafka cluster as the clients need it; `settings` may hold a password, so they are never shown.

    When its brokers have been silent for `timeout` seconds, that is an error.
    """

    name: str
    bootstrap_servers: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = DEFAULT_TIMEOUT

    def __str__(self) -> str:
        return f"Kafka {self.name} ({self.bootstrap_servers})"

    def client(self, kind: ClientKind, owner: TransactionOwner | None = None) -> dict[str, str]:
        """Return all settings of a client of this kind; a producer writes for `owner`."""
        users = {key: value for key, value in self.settings.items() if kind in _ALLOWED.get(key, _ANY)}
        transactional = {} if owner is None else {"transactional.id": owner.id}
        return {
            **_DEFAULTS[kind],
            **users,
            **_OURS[kind],
            **transactional,
            "bootstrap.servers": self.bootstrap_servers,
        }


def cluster_of(name: str, system: KafkaSystem, secrets: SecretReader, timeout: float = DEFAULT_TIMEOUT) -> Cluster:
    """Check a system's settings and add the credentials that its `auth` names, read now.

    Raises:
        StreamSystemError: settings that are refused (all of them), or a secret that is not there.
    """
    refused = [why for key in sorted(system.config) if (why := _refusal(key))]
    if refused:
        raise StreamSystemError(f"spec.systems.{name}.kafka.config:\n" + "\n".join(f"  {line}" for line in refused))
    settings = dict(system.config)
    if system.auth is not None:
        settings = {"security.protocol": "SASL_SSL", **settings, **_login(name, system.auth, secrets)}
    return Cluster(name=name, bootstrap_servers=system.bootstrap_servers, settings=settings, timeout=timeout)


def local_cluster(name: str, system: KafkaSystem, environment: Mapping[str, str]) -> Cluster:
    """Return a cluster as a process with this environment reaches it: with its secrets, and its timeout.

    Raises:
        StreamSystemError: as `cluster_of`; or the timeout is no number of seconds.
    """
    return cluster_of(name, system, LocalSecrets(environment), _timeout(environment.get(TIMEOUT_VARIABLE, "")))


def _timeout(text: str) -> float:
    if not text:
        return DEFAULT_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise StreamSystemError(f"{TIMEOUT_VARIABLE}: a number of seconds above 0 is needed, not {text!r}")
    return seconds


def _refusal(key: str) -> str | None:
    if any(part in key for part in _SECRETS):
        return f"{key}: secrets don't belong here; name one as spec.systems.*.kafka.auth.secretName"
    if key == "bootstrap.servers":
        return f"{key}: this is spec.systems.*.kafka.bootstrapServers"
    if any(key in ours for ours in _OURS.values()) or key in {"transactional.id", "acks", "partitioner"}:
        return f"{key}: the guarantees rest on this setting; leave it out"
    if key not in _ALLOWED:
        return f"{key}: not among the settings that are passed on; leave it out"
    return None


def _login(name: str, auth: KafkaAuth, secrets: SecretReader) -> Mapping[str, str]:
    credentials = read_credentials(name, auth, secrets)
    return {
        "sasl.mechanism": auth.mechanism,
        "sasl.username": credentials.username,
        "sasl.password": credentials.password,
    }
