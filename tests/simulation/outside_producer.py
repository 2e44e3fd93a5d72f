"""Producers that are no part of the app: their transactions in its inputs are aborted, or hang until they time out.

Nothing of them may be seen. While one is open, what others have committed behind it can't be read.
"""

from collections.abc import Mapping
from contextlib import suppress
from random import Random

from simulation.faulty_network import BrokerService, FaultyNetwork
from simulation.kafka_requests import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    KafkaRecord,
    Produce,
    RequestError,
    TopicPartition,
)
from simulation.numbered_app import FAR_MS, KEYS, NAME, AppShape, Change, Echo, Row, Written
from simulation.simulated_kafka_client import COORDINATOR_TRANSIENT, PRODUCE_TRANSIENT, SimulatedClient
from simulation.simulated_process import SimulatedProcess
from simulation.simulated_systems import CLUSTER

_MOST = 4
_HANGING_SHARE = 0.7
_SHORTEST_MS, _LONGEST_MS, _BEYOND_IDLE_MS = 2_000, 15_000, 15_000
"""How long a transaction may take until the broker aborts it; where partitions become idle, longer than that."""
_WRONG: Mapping[str, Written] = {
    record.stream: record
    for record in (
        Row(key=KEYS[0], number=-1, at=FAR_MS),
        Echo(key=KEYS[0], number=-1, at=FAR_MS),
        Change(key=KEYS[0], version=-1),
    )
}
"""A record for each stream that makes results wrong wherever it is read: no row has its number, and it ends windows."""


class OutsideProducer:
    """Opens transactions in the inputs of an app, one after another; commits none."""

    def __init__(self, shape: AppShape, service: BrokerService, process: SimulatedProcess, random: Random) -> None:
        self._longer_ms = _BEYOND_IDLE_MS if shape.idle else 0
        self._process = process
        self._network = FaultyNetwork(process, service)
        self._client = SimulatedClient(self._network, CLUSTER)
        self._random = random

    def run(self, counts: Mapping[str, int], seconds: float) -> None:
        """Write to streams with so many partitions, within about so many seconds."""
        partitions = [(name, number) for name in sorted(counts) for number in range(counts[name])]
        for number in range(self._random.randint(1, _MOST)):
            chosen = self._random.sample(partitions, self._random.randint(1, len(partitions)))
            with suppress(RequestError):
                self._open({TopicPartition(f"{NAME}.{name}", at): _WRONG[name] for name, at in chosen}, number)
            self._network.sleep(self._random.expovariate(_MOST / seconds))

    def _open(self, records: Mapping[TopicPartition, Written], number: int) -> None:
        """Write a record to each partition, under an id of its own; abort, or go away.

        Raises:
            RequestError: the broker does not answer, or refuses.
        """
        id_, until = f"outside-{number}", self._client.deadline()
        timeout = self._longer_ms + self._random.randint(_SHORTEST_MS, _LONGEST_MS)
        opening = InitProducerId(transactional_id=id_, timeout_ms=timeout)
        identity = self._client.ask(opening, until, COORDINATOR_TRANSIENT)
        adding = AddPartitionsToTxn(transactional_id=id_, producer=identity, partitions=tuple(records))
        self._client.ask(adding, until, COORDINATOR_TRANSIENT)
        for partition, record in records.items():
            sent = KafkaRecord(self._process.time_of_day(), record.key.encode(), record.value)
            producing = Produce(
                transactional_id=id_, producer=identity, partition=partition, sequence=0, records=(sent,)
            )
            self._client.ask(producing, until, PRODUCE_TRANSIENT)
        hangs = self._random.random() < _HANGING_SHARE
        self._process.scheduler.note(f"{id_} {'hangs' if hangs else 'aborts'} in {sorted(records)}")
        if not hangs:
            self._client.ask(EndTxn(transactional_id=id_, producer=identity, commit=False), until)
