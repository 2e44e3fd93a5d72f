"""Kafka: streams are topics, and transactions are the broker's own."""

from streamapp_systems.kafka.admin import KafkaAdmin
from streamapp_systems.kafka.client_config import Cluster, cluster_of, local_cluster, local_schema_registry
from streamapp_systems.kafka.consumer import KafkaConsumer
from streamapp_systems.kafka.producer import KafkaProducer
from streamapp_systems.kafka.schema_registry import AVRO, PROTOBUF, RegisteredSchema, SchemaRegistryClient

__all__ = [
    "AVRO",
    "PROTOBUF",
    "Cluster",
    "KafkaAdmin",
    "KafkaConsumer",
    "KafkaProducer",
    "RegisteredSchema",
    "SchemaRegistryClient",
    "cluster_of",
    "local_cluster",
    "local_schema_registry",
]
