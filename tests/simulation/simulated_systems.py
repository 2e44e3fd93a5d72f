"""The systems of an app in a simulation: a simulated broker behind a faulty network, and files."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from simulation.direct_systems import DirectSystems
from simulation.faulty_network import FaultyNetwork, News
from simulation.kafka_requests import TopicPartition
from simulation.simulated_log import ProcessLogAdmin, ProcessLogConsumer, ProcessLogProducer, SimulatedLog
from simulation.simulated_process import SimulatedProcess
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import Cluster
from streamapp_systems.protocols import (
    Admin,
    Consumer,
    EndsAnswer,
    FetchedBatch,
    PartOwner,
    Producer,
    StagedOutput,
    StagedPart,
    StreamDescriptor,
    TransactionalAdmin,
    TransactionOwner,
)

CLUSTER = Cluster(name="simulated", bootstrap_servers="simulated:9092", settings={}, timeout=30.0)

_IDLE_SECONDS = 0.25
"""How long an idle consumer waits for news of the broker."""


class SimulatedSystems(DirectSystems):
    """See `Systems`: those that one simulated process opens."""

    def __init__(self, folder: Path, process: SimulatedProcess, network: FaultyNetwork, log: SimulatedLog) -> None:
        super().__init__(folder, network)
        self._log = log
        self._process = process
        self._way = network

    def open_consumer(self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor]) -> Consumer:
        """See `Systems.open_consumer`."""
        if system.log is not None:
            return ProcessLogConsumer(self._log, self._process, streams, self._way)
        consumer = super().open_consumer(name, system, streams)
        topics = {stream.name: stream.address for stream in streams}
        return consumer if system.kafka is None else PrefetchingConsumer(consumer, topics, self._way)

    def open_admin(self, name: str, system: SystemSpec, *, timeout: float = math.inf) -> Admin:
        """See `Systems.open_admin`."""
        if system.log is None:
            return super().open_admin(name, system, timeout=timeout)
        return ProcessLogAdmin(self._log, self._process)

    def open_transactional_admin(self, name: str, system: SystemSpec) -> TransactionalAdmin:
        """See `Systems.open_transactional_admin`."""
        if system.log is None:
            return super().open_transactional_admin(name, system)
        return ProcessLogAdmin(self._log, self._process)

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
        if system.log is None:
            return super().open_producer(name, system, streams, owner, confirm_current=confirm_current)
        return ProcessLogProducer(self._log, self._process, streams, owner, self._way.tell)

    def open_output(
        self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor], owner: PartOwner
    ) -> "ProcessFileOutput":
        """See `Systems.open_output`."""
        return ProcessFileOutput(super().open_output(name, system, streams, owner), self._process)


class PrefetchingConsumer:
    """A consumer that asks again only when the broker may have news, as one does that fetches ahead.

    Without it, most steps of a simulation would be questions without an answer.
    """

    def __init__(self, consumer: Consumer, topics: Mapping[str, str], network: FaultyNetwork) -> None:
        self._consumer = consumer
        self._topics = topics
        self._network = network
        self._partitions: Mapping[Ssp, TopicPartition] = {}
        self._known: dict[Ssp, News] = {}

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """See `Consumer.assign`."""
        self._consumer.assign(starts, ends)
        self._partitions = {ssp: TopicPartition(self._topics[ssp.stream], ssp.partition) for ssp in starts}
        self._known.clear()

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """See `Consumer.poll`."""
        asked = self._with_news(ssps)
        if not asked and timeout > 0:
            self._network.await_news(_IDLE_SECONDS, {self._partitions[ssp] for ssp in ssps})
            asked = self._with_news(ssps)
        if not asked:
            return ()
        before = {ssp: self._network.news(self._partitions[ssp]) for ssp in asked}
        fetched = self._consumer.poll(asked, max_rows, 0.0)
        if sum(len(batch.messages) for batch in fetched) < max_rows // len(asked):  # no share of a partition was full
            self._known |= before
        return fetched

    def ask_ends(self, ssps: Collection[Ssp]) -> EndsAnswer:
        """See `Consumer.ask_ends`."""
        return self._consumer.ask_ends(ssps)

    def close(self) -> None:
        """See `Consumer.close`."""
        self._consumer.close()

    def _with_news(self, ssps: Collection[Ssp]) -> Sequence[Ssp]:
        return [ssp for ssp in sorted(ssps) if self._network.has_news(self._partitions[ssp], self._known.get(ssp))]


class ProcessFileOutput:
    """A file output of a simulated process: a death leaves behind what was not published."""

    def __init__(self, output: StagedOutput, process: SimulatedProcess) -> None:
        self._output = output
        self._process = process
        self.publish_seconds = output.publish_seconds

    def write(self, stream: str, rows: pa.Table) -> None:
        """See `StagedOutput.write`."""
        self._process.raise_if_dead()
        self._output.write(stream, rows)

    def stage(self) -> tuple[StagedPart, ...]:
        """See `StagedOutput.stage`."""
        self._process.step("stage")
        return self._output.stage()

    def full(self, parts: Sequence[StagedPart]) -> Sequence[StagedPart]:
        """See `StagedOutput.full`."""
        return self._output.full(parts)

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """See `StagedOutput.publish`."""
        self._process.step("publish")
        self._output.publish(parts)

    def close(self) -> None:
        """See `StagedOutput.close`."""
        self._process.raise_if_dead()
        self._output.close()
