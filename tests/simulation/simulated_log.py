"""The embedded log of a simulated app: the real one, whose processes die between and within its transactions.

A loss of power leaves any sectors of the transaction that was being written, and of those that SQLite has not synced.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from simulation.faulty_network import FaultyNetwork
from simulation.numbered_app import HUB, LOG_FILE, NAME, Written
from simulation.simulated_log_connection import DisturbedConnection, Image, LogImages
from simulation.simulated_process import SimulatedProcess
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import (
    EndsAnswer,
    FetchedBatch,
    SentRecords,
    StreamDescriptor,
    TransactionOwner,
)
from support.hashed_keys import partition_of

_SECTOR, _HEADER = 512, 32
_IDLE_SECONDS = 0.25


class SimulatedLog:
    """The file of the log, as those see it who are not simulated."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_FILE
        self._journal = self.path.with_name(f"{LOG_FILE}-wal")
        self.images = LogImages(self.path, self._journal)
        self._opened: list[Any] = []
        self._admin: LogAdmin | None = None
        self._source: LogProducer | None = None
        """What writes the inputs, once it has begun."""
        self._results: dict[str, LogResults] = {}

    @property
    def is_used(self) -> bool:
        """Whether the app has its streams here."""
        return bool(self._opened)

    def create(self, inputs: Mapping[str, int]) -> None:
        """Create the inputs."""
        self._open().create({describe(name): count for name, count in inputs.items()})

    def keep(self, opened: Any) -> None:
        """Keep what a process has opened: the kernel closes it, and SQLite gets no chance to tidy up."""
        self._opened.append(opened)

    def close(self) -> None:
        """Close all that processes had open."""
        for opened in self._opened:
            opened.close()
        self._opened.clear()
        self._admin = self._source = None
        self._results.clear()

    def count(self, streams: Collection[str]) -> dict[str, int]:
        """Return the numbers of partitions of streams, those that exist."""
        return dict(self._open().partitions([describe(name) for name in streams]))

    def expand(self, stream: str, count: int) -> None:
        """Give a stream more partitions."""
        self._open().expand(describe(stream), count)

    def write(self, records: Collection[Written], counts: Mapping[str, int], now: int) -> None:
        """Write records in one transaction."""
        if self._source is None:
            streams = [describe(name) for name in counts]
            self._source = self.open_producer(streams, TransactionOwner(id="source", epoch=1), None)
            self.keep(self._source)
        for record in records:
            ssp = Ssp(HUB, record.stream, partition_of(record.key, counts[record.stream]))
            self._source.send(ssp, record.value, key=record.key.encode(), timestamp=now)
        self._source.commit()

    def read(self, stream: str) -> Sequence[Sequence[dict]]:
        """Return the results in the partitions of a stream: each record is read once, until the power is lost."""
        if stream not in self._results:
            count = self.count([stream]).get(stream, 0)
            if not count:
                return []
            self._results[stream] = LogResults(self.path, stream, count)
            self.keep(self._results[stream])
        return self._results[stream].read()

    def forget_results(self) -> None:
        """Let all results be read once more."""
        self._results.clear()

    def lose_power(self, chance: Random) -> None:
        """Leave what was synced, and any sectors of the transaction that was being written."""
        before, after = self.images.around_power_loss()
        self.close()
        database, journal = _torn(before, after, chance)
        self.path.write_bytes(database)
        if journal:
            self._journal.write_bytes(journal)
        self._open()

    def _open(self) -> LogAdmin:
        """Return the admin of those who are not simulated; while it is open, no end of a process tidies up the file."""
        if self._admin is None:
            self._admin = LogAdmin(self.path)
            self.keep(self._admin)
        return self._admin

    def open_producer(
        self, streams: Sequence[StreamDescriptor], owner: TransactionOwner, process: SimulatedProcess | None
    ) -> LogProducer:
        """Open a producer whose commits are disturbed as those of a process; None: of nobody."""
        producer = LogProducer(self.path, streams, owner)
        disturbed: Any = DisturbedConnection(producer._connection, self.images, process)
        producer._connection = disturbed
        return producer


class LogResults:
    """The results in a stream of a log, read on where the last reading stopped."""

    def __init__(self, path: Path, stream: str, count: int) -> None:
        self._ssps = [Ssp(HUB, stream, number) for number in range(count)]
        self._found: dict[Ssp, list[dict]] = {ssp: [] for ssp in self._ssps}
        self._consumer = LogConsumer(path, [describe(stream)])
        self._consumer.assign(dict.fromkeys(self._ssps, 0), {})

    def read(self) -> Sequence[Sequence[dict]]:
        """Return the results of each partition."""
        while batches := self._consumer.poll(self._ssps, 1 << 30, 0.0):
            for batch in batches:
                self._found[batch.ssp] += [json.loads(message.value) for message in batch.messages if message.value]
        return [self._found[ssp] for ssp in self._ssps]

    def close(self) -> None:
        """Release the file."""
        self._consumer.close()


def _torn(before: Image, after: Image, chance: Random) -> Image:
    """Mix two images of the database and its journal, as they were before and after transactions were written.

    SQLite syncs the journal before it writes the database, and a new head of the journal before what follows it.
    Without a journal it writes the database at once.
    """
    kept = chance.choice([0.0, 0.5, 1.0])
    if not after[1]:
        return _mixed(before[0], after[0], 0, kept, chance), b""
    if before[0] != after[0] or kept == 1.0:
        return chance.choice([before, after])
    return before[0], _mixed(before[1], after[1], _HEADER, kept, chance)


def _mixed(old: bytes, new: bytes, first: int, kept: float, chance: Random) -> bytes:
    """Return the old bytes with a share of the sectors from `first` on, and all before, as in the new ones."""
    image = bytearray(new[:first] + old[first:].ljust(max(len(new), len(old)) - first, b"\0"))
    for at in range(first, len(new), _SECTOR):
        if chance.random() < kept:
            image[at : at + _SECTOR] = new[at : at + _SECTOR]
    return bytes(image)


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
    """A producer of a log in a simulated process: it may die in a transaction, and before it knows of its end."""

    def __init__(
        self,
        log: SimulatedLog,
        process: SimulatedProcess,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        tell: Callable[[], None],
    ) -> None:
        self._process = process
        self._tell = tell
        process.step("InitProducerId")
        self._producer = log.open_producer(streams, owner, process)
        log.keep(self._producer)
        process.step("InitProducerId, answer")

    def prepare(self) -> None:
        """See `Producer.prepare`."""

    def was_away(self) -> bool:
        """See `Producer.was_away`."""
        return self._producer.was_away()

    def send(self, ssp: Ssp, value: bytes | None, *, key: bytes | None = None, timestamp: int) -> None:
        """See `Producer.send`."""
        self._producer.send(ssp, value, key=key, timestamp=timestamp)

    def send_all(self, ssp: Ssp, records: SentRecords) -> None:
        """See `Producer.send_all`; the time of day is that of the process."""
        times = records.timestamps
        times = np.full(len(records), self._process.time_of_day()) if times is None else times
        self._producer.send_all(ssp, SentRecords(timestamps=times, keys=records.keys, values=records.values))

    def commit(self) -> Mapping[Ssp, int]:
        """See `Producer.commit`."""
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
