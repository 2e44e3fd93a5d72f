"""The systems of an app whose processes and threads are real: Kafka clusters are simulated, files and logs are real."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from simulation.kafka_requests import Network
from simulation.simulated_admin import SimulatedAdmin
from simulation.simulated_consumer import SimulatedConsumer
from simulation.simulated_producer import SimulatedProducer
from streamapp_core.spec.systems import SystemSpec
from streamapp_systems.delta import DeltaVacuum
from streamapp_systems.kafka import Cluster
from streamapp_systems.objects import Place
from streamapp_systems.postgresql import StagedRows
from streamapp_systems.protocols import (
    Admin,
    Consumer,
    PartOwner,
    Producer,
    StagedOutput,
    StreamDescriptor,
    TransactionalAdmin,
    TransactionOwner,
)
from streamapp_systems.registry import LocalSystems
from streamapp_systems.tables import FileJoiner, WrittenTable


class DirectSystems:
    """See `Systems`. Every Kafka cluster is what lies behind the network, whatever its address."""

    def __init__(self, folder: Path, network: Network) -> None:
        """Open nothing yet; `folder` is what relative paths of the spec resolve from."""
        self.folder = folder
        self._network = network
        self._local = LocalSystems(folder=folder, environment={})

    def place(self, system: SystemSpec) -> Place:
        """See `Systems.place`."""
        return self._local.place(system)

    def open_admin(self, name: str, system: SystemSpec, *, timeout: float = math.inf) -> Admin:
        """See `Systems.open_admin`."""
        if system.kafka is None:
            return self._local.open_admin(name, system, timeout=timeout)
        cluster = _cluster(name, system)
        return SimulatedAdmin(self._network, replace(cluster, timeout=min(cluster.timeout, timeout)))

    def open_transactional_admin(self, name: str, system: SystemSpec) -> TransactionalAdmin:
        """See `Systems.open_transactional_admin`."""
        if system.kafka is None:
            return self._local.open_transactional_admin(name, system)
        return SimulatedAdmin(self._network, _cluster(name, system))

    def open_consumer(self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor]) -> Consumer:
        """See `Systems.open_consumer`."""
        if system.kafka is None:
            return self._local.open_consumer(name, system, streams)
        return SimulatedConsumer(self._network, _cluster(name, system), streams)

    def open_producer(
        self,
        name: str,
        system: SystemSpec,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        *,
        confirm_current: Callable[[], object] = lambda: None,
    ) -> Producer:
        """See `Systems.open_producer`."""
        if system.kafka is None:
            return self._local.open_producer(name, system, streams, owner, confirm_current=confirm_current)
        return SimulatedProducer(self._network, _cluster(name, system), streams, owner, confirm_current)

    def open_output(
        self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor], owner: PartOwner
    ) -> StagedOutput:
        """See `Systems.open_output`."""
        return self._local.open_output(name, system, streams, owner)

    def column_mismatches(self, system: SystemSpec, table: StreamDescriptor) -> list[str]:
        """See `Systems.column_mismatches`."""
        return self._local.column_mismatches(system, table)

    def latest_version(self, system: SystemSpec, stream: StreamDescriptor) -> str:
        """See `Systems.latest_version`."""
        return self._local.latest_version(system, stream)

    def open_written_table(self, system: SystemSpec, stream: StreamDescriptor, app: str) -> WrittenTable:
        """See `Systems.open_written_table`."""
        return self._local.open_written_table(system, stream, app)

    def open_file_joiner(self, system: SystemSpec, table: StreamDescriptor) -> FileJoiner:
        """See `Systems.open_file_joiner`."""
        return self._local.open_file_joiner(system, table)

    def open_vacuum(self, system: SystemSpec, table: StreamDescriptor) -> DeltaVacuum:
        """See `Systems.open_vacuum`."""
        return self._local.open_vacuum(system, table)

    def open_staged_rows(self, system: SystemSpec, app: str) -> StagedRows:
        """See `Systems.open_staged_rows`."""
        return self._local.open_staged_rows(system, app)


def _cluster(name: str, system: SystemSpec) -> Cluster:
    assert system.kafka is not None
    return Cluster(name=name, bootstrap_servers=system.kafka.bootstrap_servers, settings=dict(system.kafka.config))
