"""Settings of the Kafka clients: defaults, what the user sets, and what the guarantees rest on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from streamapp_core.spec.kafka_client_settings import CLIENTS_OF_SETTING, ClientKind
from streamapp_core.spec.systems import KafkaAuth, KafkaSystem, SchemaRegistry
from streamapp_systems.kafka.credentials import read_certificates, read_credentials
from streamapp_systems.kafka.schema_registry import SchemaRegistryClient, open_schema_registry
from streamapp_systems.protocols import StreamSystemError, TransactionOwner
from streamapp_systems.secret_reader import LocalSecrets, SecretReader

TIMEOUT_VARIABLE = "STREAMAPP_KAFKA_TIMEOUT"
"""Environment variable: the seconds brokers may be silent for."""

DEFAULT_TIMEOUT = 30.0
"""Longer than a restart of a broker takes."""

TRANSACTION_SECONDS = 15
"""Seconds from the begin of a transaction after which the broker aborts it."""

_RESEND_MILLISECONDS = 1_000
RESEND_SECONDS = 0.75
"""Seconds before which a producer sends no request a second time: the client waits for 80 % of its backoff at least."""

PROPAGATION_SECONDS = 5
"""Seconds in which every broker that answers learns of a new topic or partition."""

_GROUP = "streamapp"
"""Consumers are assigned by hand and commit nothing, but the client requires a group."""


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
    ClientKind.PRODUCER: {
        **_DEFAULT,
        "compression.type": "lz4",
        # Records go out while others are made; what is handed over at once is a request of each partition still.
        "linger.ms": "0.5",
    },
}
_COMMON = {"topic.metadata.propagation.max.ms": str(PROPAGATION_SECONDS * 1000)}
_OURS: Mapping[ClientKind, Mapping[str, str]] = {
    ClientKind.ADMIN: {
        **_COMMON,
        # The client asks the leaders and the controller it knows, and no refusal or silence makes it look for others.
        "metadata.max.age.ms": "1000",
        "topic.metadata.refresh.interval.ms": "2000",
    },
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
        users = {
            key: value
            for key, value in self.settings.items()
            if kind in CLIENTS_OF_SETTING.get(key, frozenset(ClientKind))
        }
        transactional = {} if owner is None else {"transactional.id": owner.id}
        return {
            **_DEFAULTS[kind],
            **users,
            **_OURS[kind],
            **transactional,
            "bootstrap.servers": self.bootstrap_servers,
        }


def cluster_of(name: str, system: KafkaSystem, secrets: SecretReader, timeout: float = DEFAULT_TIMEOUT) -> Cluster:
    """Return a cluster with its system's settings and the credentials that its `auth` names, read now.

    Raises:
        StreamSystemError: a secret is not there, or has no text.
    """
    settings = dict(system.config)
    if system.auth is not None:
        certificates = read_certificates(name, system.auth, secrets)
        settings = {
            "security.protocol": "SSL" if system.auth.mechanism is None else "SASL_SSL",
            **{key: text for key, text in certificates.items() if key.replace(".pem", ".location") not in settings},
            **settings,
            **_login(name, system.auth, secrets),
        }
    return Cluster(name=name, bootstrap_servers=system.bootstrap_servers, settings=settings, timeout=timeout)


def local_cluster(name: str, system: KafkaSystem, environment: Mapping[str, str]) -> Cluster:
    """Return a cluster as a process with this environment reaches it: with its secrets, and its timeout.

    Raises:
        StreamSystemError: as `cluster_of`; or the timeout is no number of seconds.
    """
    return cluster_of(name, system, LocalSecrets(environment), _timeout(environment.get(TIMEOUT_VARIABLE, "")))


def local_schema_registry(
    name: str, registry: SchemaRegistry, environment: Mapping[str, str], timeout: float = math.inf
) -> SchemaRegistryClient:
    """Return a client of a system's registry as a process with this environment reaches it.

    Raises:
        StreamSystemError: as `open_schema_registry` and `local_cluster`.
    """
    longest = min(_timeout(environment.get(TIMEOUT_VARIABLE, "")), timeout)
    return open_schema_registry(name, registry, LocalSecrets(environment), longest)


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


def _login(name: str, auth: KafkaAuth, secrets: SecretReader) -> Mapping[str, str]:
    if auth.mechanism is None:
        return {}
    credentials = read_credentials(name, auth, secrets)
    return {
        "sasl.mechanism": auth.mechanism,
        "sasl.username": credentials.username,
        "sasl.password": credentials.password,
    }
