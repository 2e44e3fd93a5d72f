"""The embedded log of a simulated app: the real one, whose processes die between its transactions.

SQLite writes a transaction without a pause, so nobody dies in the middle of one, but for a loss of power: it leaves any
sectors of the transaction that was being written. What SQLite had synced before stays.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from simulation.faulty_network import FaultyNetwork
from simulation.numbered_app import HUB, LOG_FILE, NAME, Written
from simulation.simulated_process import SimulatedProcess
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.log.log_database import connect
from streamapp_systems.protocols import (
    EndsAnswer,
    FetchedBatch,
    SentRecords,
    StreamDescriptor,
    StreamSystemError,
    TransactionOwner,
)
from support.hashed_keys import partition_of

_SECTOR, _HEADER = 512, 32
_IDLE_SECONDS = 0.25


class SimulatedLog:
    """The file of the log, as those see it who are not simulated."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_FILE
        self.committing: list[LogProducer] = []
        """Those that are about to commit."""
        self.at_commit: Callable[[], object] | None = None
        """What is to happen while the next transaction of the app is written."""
        self._opened: list[Any] = []

    @property
    def is_used(self) -> bool:
        """Whether the app has its streams here."""
        return bool(self._opened)

    def create(self, inputs: Mapping[str, int]) -> None:
        """Create the inputs."""
        self._opened.append(connect(self.path))  # while it is open, the end of a process leaves the file as it is
        admin = LogAdmin(self.path)
        admin.create({describe(name): count for name, count in inputs.items()})
        admin.close()

    def keep(self, opened: Any) -> None:
        """Keep what a process has opened: the kernel closes it, and SQLite gets no chance to tidy up."""
        self._opened.append(opened)

    def close(self) -> None:
        """Close all that processes had open."""
        for opened in self._opened:
            opened.close()
        self._opened.clear()

    def count(self, streams: Collection[str]) -> dict[str, int]:
        """Return the numbers of partitions of streams, those that exist."""
        admin = LogAdmin(self.path)
        counts = admin.partitions([describe(name) for name in streams])
        admin.close()
        return dict(counts)

    def expand(self, stream: str, count: int) -> None:
        """Give a stream more partitions."""
        admin = LogAdmin(self.path)
        admin.expand(describe(stream), count)
        admin.close()

    def write(self, records: Collection[Written], counts: Mapping[str, int], now: int) -> None:
        """Write records in one transaction."""
        streams = [describe(name) for name in counts]
        producer = LogProducer(self.path, streams, TransactionOwner(id="source", epoch=1))
        for record in records:
            ssp = Ssp(HUB, record.stream, partition_of(record.key, counts[record.stream]))
            producer.send(ssp, record.value, key=record.key.encode(), timestamp=now)
        producer.commit()
        producer.close()

    def read(self, stream: str) -> Sequence[Sequence[dict]]:
        """Return the results in the partitions of a stream."""
        count = self.count([stream]).get(stream, 0)
        if not count:
            return []
        consumer = LogConsumer(self.path, [describe(stream)])
        ssps = [Ssp(HUB, stream, number) for number in range(count)]
        found: dict[Ssp, list[dict]] = {ssp: [] for ssp in ssps}
        consumer.assign(dict.fromkeys(ssps, 0), {})
        while batches := consumer.poll(ssps, 1 << 30, 0.0):
            for batch in batches:
                found[batch.ssp] += [json.loads(message.value) for message in batch.messages if message.value]
        consumer.close()
        return [found[ssp] for ssp in ssps]

    def lose_power(self, chance: Random) -> None:
        """Leave what was synced, and any sectors of the transaction that was being written."""
        before = self._image()
        for producer in self.committing[:1]:
            try:
                producer.commit()
            except StreamSystemError:
                continue
        after = self._image()
        self.close()
        database, journal = _torn(before, after, chance)
        self.path.write_bytes(database)
        self._journal.write_bytes(journal)
        self._opened.append(connect(self.path))

    def _image(self) -> tuple[bytes, bytes]:
        return self.path.read_bytes(), self._journal.read_bytes()

    @property
    def _journal(self) -> Path:
        return self.path.with_name(f"{LOG_FILE}-wal")


def _torn(before: tuple[bytes, bytes], after: tuple[bytes, bytes], chance: Random) -> tuple[bytes, bytes]:
    """Mix two images of the database and its journal, as they were before and after a transaction.

    SQLite syncs the journal before it writes the database, and a new head of the journal before what follows it.
    """
    kept = chance.choice([0.0, 0.5, 1.0])
    if before[0] != after[0] or kept == 1.0:
        return chance.choice([before, after])
    old, new = before[1], after[1]
    image = bytearray(new[:_HEADER] + old[_HEADER:].ljust(max(len(new), len(old)) - _HEADER, b"\0"))
    for at in range(_HEADER, len(new), _SECTOR):
        if chance.random() < kept:
            image[at : at + _SECTOR] = new[at : at + _SECTOR]
    return before[0], bytes(image)


def describe(name: str) -> StreamDescriptor:
    """Return a stream of the log that holds JSON."""
    return StreamDescriptor(name=name, system=HUB, address=f"{NAME}.{name}", format=StreamFormat.JSON)


class ProcessLogAdmin:
    """The admin of a log in a simulated process: each call is a step."""

    def __init__(self, log: SimulatedLog, process: SimulatedProcess) -> None:
        self._process = process
        self._admin = LogAdmin(log.path)
        log.keep(self._admin)

    def close(self) -> None:
        """Do nothing: see `SimulatedLog.keep`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method of the admin."""

        def ask(*arguments: Any, **options: Any) -> Any:
            self._process.step(f"ListOffsets, {name}")
            return getattr(self._admin, name)(*arguments, **options)

        return ask


class ProcessLogConsumer:
    """A consumer of a log in a simulated process: it waits in simulated time."""

    def __init__(
        self,
        log: SimulatedLog,
        process: SimulatedProcess,
        streams: Sequence[StreamDescriptor],
        network: FaultyNetwork,
    ) -> None:
        self._process = process
        self._network = network
        self._consumer = LogConsumer(log.path, streams)
        log.keep(self._consumer)

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """See `Consumer.assign`."""
        self._process.step("ListOffsets")
        self._consumer.assign(starts, ends)

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """See `Consumer.poll`."""
        self._process.raise_if_dead()
        fetched = self._consumer.poll(ssps, max_rows, 0.0)
        if not fetched and timeout > 0:
            self._network.await_news(_IDLE_SECONDS)
            fetched = self._consumer.poll(ssps, max_rows, 0.0)
        if fetched:
            self._process.step("Fetch")
        return fetched

    def ask_ends(self, ssps: Collection[Ssp]) -> EndsAnswer:
        """See `Consumer.ask_ends`."""
        return self._consumer.ask_ends(ssps)

    def close(self) -> None:
        """Do nothing: see `SimulatedLog.keep`."""


class ProcessLogProducer:
    """A producer of a log in a simulated process: it may die before a transaction, and before it knows of its end."""

    def __init__(
        self,
        log: SimulatedLog,
        process: SimulatedProcess,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        tell: Callable[[], None],
    ) -> None:
        self._log = log
        self._process = process
        self._tell = tell
        process.step("InitProducerId")
        self._producer = LogProducer(log.path, streams, owner)
        log.keep(self._producer)
        process.step("InitProducerId, answer")

    def prepare(self) -> None:
        """See `Producer.prepare`."""

    def send(self, ssp: Ssp, value: bytes | None, *, key: bytes | None = None, timestamp: int) -> None:
        """See `Producer.send`."""
        self._producer.send(ssp, value, key=key, timestamp=timestamp)

    def send_all(self, ssp: Ssp, records: SentRecords) -> None:
        """See `Producer.send_all`; the time of day is that of the process."""
        times = records.timestamps
        times = [self._process.time_of_day()] * len(records) if times is None else times
        self._producer.send_all(ssp, SentRecords(timestamps=times, keys=records.keys, values=records.values))

    def commit(self) -> Mapping[Ssp, int]:
        """See `Producer.commit`."""
        self._log.committing.append(self._producer)
        try:
            if (meet := self._log.at_commit) is not None:
                self._log.at_commit = None
                meet()
            self._process.step("EndTxn")
        finally:
            self._log.committing.remove(self._producer)
        next_offsets = self._producer.commit()
        self._tell()
        self._process.step("EndTxn, answer")
        return next_offsets

    def abort(self) -> None:
        """See `Producer.abort`."""
        self._producer.abort()

    def close(self) -> None:
        """Abort; see `SimulatedLog.keep`."""
        self._producer.abort()
