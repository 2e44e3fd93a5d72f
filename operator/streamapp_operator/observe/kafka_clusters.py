"""The Kafka clusters that apps name, as the operator's own clients need them."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from streamapp_core.spec.systems import KafkaSystem
from streamapp_operator.observe.file_settings import list_file_settings
from streamapp_systems.kafka import Cluster, cluster_of
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.secret_reader import SecretItems

_REQUEST_TIMEOUT = 10.0
"""Seconds that brokers may stay silent. The request is sent again, so nothing is lost."""
_LARGEST_ANSWER = str(16 * 1024 * 1024)
_NOT_PASSED_ON = frozenset(
    {
        "debug",
        "fetch.max.bytes",
        "log_level",
        "max.partition.fetch.bytes",
        "message.max.bytes",
        "queued.max.messages.kbytes",
        "queued.min.messages",
    }
)
"""Settings for an app's own pods: they fill the operator's log, or its memory."""

ReadSecret = Callable[[str, str], Mapping[str, bytes]]
"""Reads a secret: namespace, name -> its items; empty if it does not exist."""


def resolve_kafka_cluster(name: str, system: KafkaSystem, namespace: str, read_secret: ReadSecret) -> Cluster:
    """Return a Kafka cluster as the operator's clients need it, with the credentials that the app names.

    Raises:
        StreamSystemError: settings are wrong or name files, or a secret does not exist, or has no text.
    """
    for problem in list_file_settings(name, system):
        raise StreamSystemError(f"{problem.path}: {problem.message}")
    items = {} if system.auth is None else read_secret(namespace, system.auth.secret_name)
    cluster = cluster_of(name, system, SecretItems(namespace=namespace, items=items), _REQUEST_TIMEOUT)
    settings = {key: value for key, value in cluster.settings.items() if key not in _NOT_PASSED_ON}
    return replace(cluster, settings={**settings, "receive.message.max.bytes": _LARGEST_ANSWER})
