"""The settings of Kafka clients that an app may have, by their names in librdkafka."""

from collections.abc import Mapping
from enum import StrEnum


class ClientKind(StrEnum):
    """The clients that settings are for."""

    ADMIN = "admin"
    CONSUMER = "consumer"
    PRODUCER = "producer"


_ANY = frozenset(ClientKind)
_CONSUMER = frozenset({ClientKind.CONSUMER})
_PRODUCER = frozenset({ClientKind.PRODUCER})

CLIENTS_OF_SETTING: Mapping[str, frozenset[ClientKind]] = {
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
    "metadata.max.age.ms": _CONSUMER | _PRODUCER,
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
    "topic.metadata.refresh.interval.ms": _CONSUMER | _PRODUCER,
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
FILE_SETTINGS: Mapping[str, str] = {
    "ssl.ca.location": "`ssl.ca.pem`, or as the item `ca.crt` of the secret that `auth` names",
    "ssl.certificate.location": "`ssl.certificate.pem`, or as the item `tls.crt` of the secret that `auth` names",
    "ssl.crl.location": "nothing at all, and leave it out: lists of revoked certificates are files only",
    "ssl.key.location": "the item `tls.key` of the secret that `auth` names",
}
"""The settings that name files, and where their text may be instead."""

_SECRETS = ("password", "secret", "sasl.username", "ssl.key.pem")

_GUARANTEES = frozenset(
    {
        "acks",
        "allow.auto.create.topics",
        "auto.offset.reset",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.idempotence",
        "enable.partition.eof",
        "isolation.level",
        "max.poll.interval.ms",
        "partitioner",
        "queue.buffering.max.kbytes",
        "queue.buffering.max.messages",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "topic.metadata.propagation.max.ms",
        "transaction.timeout.ms",
        "transactional.id",
    }
)
"""Isolation, transactions, offsets, partitioning and bounded memory are not the user's to set."""


def check_setting(name: str) -> str:
    """Return the name of a setting that is passed on.

    Raises:
        ValueError: it is not; the message says what to do.
    """
    if any(part in name for part in _SECRETS):
        raise ValueError(f"{name}: secrets don't belong here; name one as spec.systems.*.kafka.auth.secretName")
    if name == "bootstrap.servers":
        raise ValueError(f"{name}: this is spec.systems.*.kafka.bootstrapServers")
    if name in _GUARANTEES:
        raise ValueError(f"{name}: the guarantees rest on this setting; leave it out")
    if name not in CLIENTS_OF_SETTING:
        raise ValueError(f"{name}: not among the settings that are passed on; leave it out")
    return name
