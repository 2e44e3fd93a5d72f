"""The Kafka clusters that apps name, with the credentials in their Secrets."""

from collections.abc import Callable, Mapping

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import KafkaSystem
from streamapp_systems.kafka import Cluster, SecretItems, cluster_of
from streamapp_systems.protocols import StreamDescriptor

_REQUEST_TIMEOUT = 10.0
"""Seconds that brokers may stay silent. The request is sent again, so nothing is lost."""
ReadSecret = Callable[[str, str], Mapping[str, str]]
"""Reads a secret: namespace, name -> its items as text; empty if it does not exist."""


def resolve_kafka_cluster(name: str, system: KafkaSystem, namespace: str, read_secret: ReadSecret) -> Cluster:
    """Return a Kafka cluster as its clients need it, with the credentials that the app names.

    Raises:
        StreamSystemError: settings are wrong, or a secret does not exist.
    """
    items = {} if system.auth is None else read_secret(namespace, system.auth.secret_name)
    return cluster_of(name, system, SecretItems(namespace=namespace, items=items), _REQUEST_TIMEOUT)


def describe_topic(system: str, topic: str) -> StreamDescriptor:
    """Return the descriptor of a topic whose records are not read: its format does not matter."""
    return StreamDescriptor(name=topic, system=system, address=topic, format=StreamFormat.JSON)
