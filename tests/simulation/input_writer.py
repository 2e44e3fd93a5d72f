"""The writer of a simulated app's input: a transactional producer that repeats what was not committed."""

from collections import Counter
from collections.abc import Collection
from contextlib import closing
from itertools import chain
from random import Random

from simulation.faulty_network import BrokerService, FaultyNetwork
from simulation.kafka_requests import CreateTopic, TopicSettings
from simulation.numbered_app import (
    DELETED,
    FAR_MS,
    HUB,
    KEYS,
    NAME,
    TOMBSTONES_MS,
    AppShape,
    Change,
    Deletion,
    Row,
    Written,
    first_names,
    last_rows,
)
from simulation.simulated_admin import SimulatedAdmin
from simulation.simulated_log import SimulatedLog, describe
from simulation.simulated_process import SimulatedProcess
from simulation.simulated_producer import SimulatedProducer
from simulation.simulated_systems import CLUSTER
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import CommitUnknown, StreamSystemError, TransactionOwner
from support.hashed_keys import partition_of

_PAUSE_SECONDS = 0.5
_END_SECONDS = 3.0
"""How long before the last partitions the first ones get their last rows."""
_DELETION_SECONDS = 5.0
"""When a name is deleted, if one is."""
_CHANGE_SHARE = 0.3
"""How often a name changes as rows are written."""


class InputWriter:
    """Writes the input of an app, each row once, in `seconds` or more."""

    def __init__(
        self,
        shape: AppShape,
        service: BrokerService,
        log: SimulatedLog,
        process: SimulatedProcess,
        seed: int,
        *,
        seconds: float,
    ) -> None:
        self._shape = shape
        self._log = log
        self._service = service
        self._process = process
        self._network = FaultyNetwork(process, service)
        self._random = Random(f"source {seed}")
        self._seconds = seconds

    def create(self) -> None:
        """Create the streams; what fills the table can be read then."""
        if self._shape.embedded:
            self._log.create(self._shape.inputs)
        else:
            if self._shape.aging:
                self._create_compacted("names")
            streams = {describe(name): partitions for name, partitions in self._shape.inputs.items()}
            SimulatedAdmin(self._network, CLUSTER).create(streams)
        if self._shape.table:
            self._write_until_done(first_names(deleted=self._shape.aging))
            while not (self._shape.embedded or self._readable("names")):
                self._network.sleep(_PAUSE_SECONDS)

    def write(self) -> None:
        """Write all rows, a few at a time; a table's names change now and then."""
        rows, random = list(self._shape.records), self._random
        pause = self._seconds / max(len(rows) / 4, 1)
        versions = Counter[str]()
        deletions = [Deletion(key=DELETED)] if self._shape.aging else []
        while rows:
            some = rows[: random.randint(1, 8)]
            names: list[Written] = []
            if self._shape.table and random.random() < _CHANGE_SHARE:
                key = random.choice(KEYS)
                versions[key] += 1
                names.append(Change(key=key, version=versions[key]))
            if self._process.scheduler.now >= _DELETION_SECONDS:
                names += deletions
                deletions = []
            self._write_until_done([*chain.from_iterable(some), *names])
            rows = rows[len(some) :]
            self._network.sleep(random.expovariate(1 / pause))
        self._write_last_rows()

    def _create_compacted(self, stream: str) -> None:
        settings = TopicSettings(compacted=True, delete_retention_ms=TOMBSTONES_MS)
        partitions = self._shape.inputs[stream]
        self._service.handle(CreateTopic(topic=f"{NAME}.{stream}", partitions=partitions, settings=settings))

    def _write_last_rows(self) -> None:
        """Write what ends all windows: some partitions get it earlier than others."""
        self._wait_until(self._seconds - _END_SECONDS)
        count = count_inputs(self._shape, self._service, self._log)
        last = list(last_rows(count))
        if self._shape.aging:
            last.append(Row(key=DELETED, number=0, at=FAR_MS))
        self._random.shuffle(last)
        first = len(last) // 2
        self._write_until_done(last[:first])
        self._wait_until(self._seconds)
        self._write_until_done(last[first:])

    def _wait_until(self, time: float) -> None:
        if self._process.scheduler.now < time:
            self._network.sleep(time - self._process.scheduler.now)

    def _write_until_done(self, records: Collection[Written]) -> None:
        while not self._write_once(records):
            self._network.sleep(_PAUSE_SECONDS)

    def _write_once(self, records: Collection[Written]) -> bool:
        """Write records in one transaction; return whether it was committed."""
        if self._shape.embedded:
            counts = count_inputs(self._shape, self._service, self._log)
            self._log.write(records, counts, self._process.time_of_day())
            self._service.tell()
            return True
        streams, owner = [describe(name) for name in self._shape.inputs], TransactionOwner(id="source", epoch=1)
        try:
            with closing(SimulatedProducer(self._network, CLUSTER, streams, owner)) as producer:
                counts = count_inputs(self._shape, self._service, self._log)
                for record in records:
                    ssp = Ssp(HUB, record.stream, partition_of(record.key, counts[record.stream]))
                    now = self._process.time_of_day()
                    producer.send(ssp, record.value, key=record.key.encode(), timestamp=now)
                while True:
                    try:
                        producer.commit()
                    except CommitUnknown:
                        self._network.sleep(1.0)
                    else:
                        return True
        except StreamSystemError:
            return False

    def _readable(self, stream: str) -> bool:
        """Return whether all that was written to a stream can be read."""
        logs = self._service.broker.topics.logs_of(f"{NAME}.{stream}")
        return all(log.last_stable_offset == log.high_watermark for log in logs)


def count_inputs(shape: AppShape, service: BrokerService, log: SimulatedLog) -> dict[str, int]:
    """Return the number of partitions of each input."""
    if shape.embedded:
        return log.count(shape.inputs)
    found = service.broker.topics.describe(tuple(f"{NAME}.{name}" for name in shape.inputs))
    return {topic.removeprefix(f"{NAME}."): found[topic].partitions for topic in found}
