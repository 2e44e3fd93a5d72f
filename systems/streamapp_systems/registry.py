"""Opens systems by their kind: the one place that knows which kinds there are.

Relative paths of systems resolve from `base`, the folder of the app's YAML file. `name` is the system's name in the
spec.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streamapp_core.spec.systems import SystemSpec
from streamapp_systems.file import FileAdmin, FileConsumer, FileOutput
from streamapp_systems.kafka import Cluster, KafkaAdmin, KafkaConsumer, KafkaProducer, local_cluster
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import (
    Admin,
    Consumer,
    Producer,
    StagedOutput,
    StreamDescriptor,
    StreamSystemError,
    TransactionalAdmin,
    TransactionOwner,
)


def open_admin(name: str, system: SystemSpec, base: Path, *, timeout: float = math.inf) -> Admin:
    """Open a system's metadata; a log that does not exist holds nothing until it is written to.

    Brokers may be silent for `timeout` seconds at the most.

    Raises:
        StreamSystemError: the system can't be opened.
    """
    if system.file is not None:
        return FileAdmin(base / system.file.path)
    if (cluster := _cluster(name, system)) is not None:
        return KafkaAdmin(replace(cluster, timeout=min(cluster.timeout, timeout)))
    return open_transactional_admin(name, system, base)


def open_transactional_admin(name: str, system: SystemSpec, base: Path) -> TransactionalAdmin:
    """Open the metadata of a system that holds intermediate streams and changelogs.

    Raises:
        StreamSystemError: the system can't be opened, or is not transactional.
    """
    if (cluster := _cluster(name, system)) is not None:
        return KafkaAdmin(cluster)
    return LogAdmin(_log_path(name, system, base))


def open_consumer(name: str, system: SystemSpec, base: Path, streams: Sequence[StreamDescriptor]) -> Consumer:
    """Open a reader of these streams of a system.

    Raises:
        StreamSystemError: the system can't be opened.
    """
    if system.file is not None:
        return FileConsumer(base / system.file.path, streams)
    if (cluster := _cluster(name, system)) is not None:
        return KafkaConsumer(cluster, streams)
    return LogConsumer(_log_path(name, system, base), streams)


def open_producer(
    name: str, system: SystemSpec, base: Path, streams: Sequence[StreamDescriptor], owner: TransactionOwner
) -> Producer:
    """Open a writer of these streams of a transactional system; it takes over the owner's id.

    Kafka lets the last one have it, whatever its epoch: make sure afterwards that yours is the current one.

    Raises:
        Fenced: a later epoch has the id (log).
        StreamSystemError: the system can't be opened, or is not transactional (see `open_output`).
    """
    if (cluster := _cluster(name, system)) is not None:
        return KafkaProducer(cluster, streams, owner)
    return LogProducer(_log_path(name, system, base), streams, owner)


def open_output(
    name: str, system: SystemSpec, base: Path, streams: Sequence[StreamDescriptor], writer: str
) -> StagedOutput:
    """Open a writer of file outputs; `writer` is as in `FileOutput`.

    Raises:
        StreamSystemError: the system has no files.
    """
    if system.file is None:
        raise StreamSystemError(f"system {name} is {system.kind}: it is written by a producer, not as files")
    return FileOutput(base / system.file.path, streams, writer)


def _cluster(name: str, system: SystemSpec) -> Cluster | None:
    return None if system.kafka is None else local_cluster(name, system.kafka, os.environ)


def _log_path(name: str, system: SystemSpec, base: Path) -> Path:
    if system.log is not None:
        return base / system.log.path
    raise StreamSystemError(f"system {name} holds files: they have no transactions, so they are written as outputs")
