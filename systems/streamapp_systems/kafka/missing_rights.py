"""The rights that brokers with ACLs have found missing, in words that an administrator can grant them by."""

from collections.abc import Mapping
from types import MappingProxyType

from confluent_kafka import KafkaError

from streamapp_systems.kafka.client_config import Cluster

Needs = Mapping[int, str]
"""The right that a request needs, by the code of the error that brokers answer without it: `Write on topic orders`."""

NO_NEEDS: Needs = MappingProxyType({})

_RESOURCES = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "consumer group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
}


def on_topic(operation: str, *topics: str) -> Needs:
    """Return the need of a right on a topic; on one of several, if it is not known which."""
    named = " or ".join(sorted(topics))
    return {KafkaError.TOPIC_AUTHORIZATION_FAILED: f"{operation} on topic {named}"}


def on_group(operation: str, group: str) -> Needs:
    """Return the need of a right on a consumer group."""
    return {KafkaError.GROUP_AUTHORIZATION_FAILED: f"{operation} on consumer group {group}"}


def on_transactional_id(transactional_id: str) -> Needs:
    """Return the need to write under a transactional id."""
    return {KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: f"Write on transactional id {transactional_id}"}


def missing_right(cluster: Cluster, code: int, needs: Needs) -> str | None:
    """Return who needs which right, and what to do; None if an error is no refusal for want of one."""
    if code not in _RESOURCES:
        return None
    right = needs.get(code, f"a right on the {_RESOURCES[code]}")
    return f"{_principal(cluster)} needs {right}: have it granted (docs/kafka.md, Rights)"


def _principal(cluster: Cluster) -> str:
    """Return the user as brokers name it in ACLs, as far as the client knows."""
    settings = cluster.settings
    if "sasl.username" in settings:
        return f"User:{settings['sasl.username']}"
    certified = any(name.startswith("ssl.certificate") for name in settings)
    return "The user of the client's certificate" if certified else "User:ANONYMOUS"
