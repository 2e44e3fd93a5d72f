"""Reads assigned partitions of topics: committed records only, up to a bound where one is given."""

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from itertools import groupby

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Record

from streamapp_core.ssp import Ssp
from streamapp_systems.fair_turns import Turns, share
from streamapp_systems.kafka.admin import KafkaAdmin
from streamapp_systems.kafka.client_config import ClientKind, Cluster
from streamapp_systems.kafka.kafka_client import opening
from streamapp_systems.kafka.kafka_errors import MISSING, Trouble
from streamapp_systems.kafka.partition_positions import Reading
from streamapp_systems.protocols import FetchedBatch, StreamDescriptor, StreamSystemError

MAXIMUM_BYTES = 8 << 20
"""Bytes of records that one poll takes from the client, about."""

HELD_ROWS = 100_000
HELD_BYTES = 32 << 20
"""What is not asked for is paused when this much of it is held back. What the client has fetched of it beyond that is
dropped, and fetched again later."""

_SLICE = 10_000
_LARGE = 1 << 20
"""Bytes of a record, as long as none has been seen: the client is asked for as many records as there is space for."""

_PROBE_SECONDS = 5.0
_WAIT = 0.5
"""Seconds: the longest wait without a look at the brokers' state."""


class KafkaConsumer:
    """Reads assigned partitions. Used by one thread.

    Partitions that are polled at times only are fetched in the background up to a bound. When no broker has been
    reachable for as long as the cluster may be silent, polls fail.
    """

    def __init__(self, cluster: Cluster, streams: Sequence[StreamDescriptor]) -> None:
        """Make the client; nothing is read yet.

        Raises:
            StreamSystemError: the cluster's settings are wrong.
        """
        self._cluster = cluster
        self._streams = {stream.name: stream for stream in streams}
        self._trouble = Trouble(cluster)
        self._readings: dict[tuple[str | None, int | None], Reading] = {}
        self._by_ssp: dict[Ssp, Reading] = {}
        self._turns = Turns(())
        self._last_news = time.monotonic()
        self._record_bytes = _LARGE
        self._identities: Mapping[str, str] = {}
        self._doubtful = False
        """Whether the client has missed a topic or a partition, for a moment perhaps."""
        with opening(cluster):
            self._client = Client({**cluster.client(ClientKind.CONSUMER), "error_cb": self._noticed})

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read these partitions, as `Consumer.assign` says; a start of 0 is the oldest record that is still there.

        Raises:
            StreamSystemError: a partition does not exist or ends before its start, or the brokers can't be reached.
        """
        first = self._check(starts)
        for ssp, start in starts.items():
            reading = Reading(ssp=ssp, offset=start, end=ends.get(ssp))
            reading.reached(first[ssp])
            reading.paused = reading.complete
            self._by_ssp[ssp] = reading
            self._readings[self._streams[ssp.stream].address, ssp.partition] = reading
        self._turns = Turns(starts)
        self._client.assign([self._at(reading) for reading in self._by_ssp.values() if not reading.complete])
        self._last_news = time.monotonic()

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """Bring records, as `Consumer.poll` says, about 8 MB at most.

        Raises:
            StreamSystemError: a partition can't be read, or no broker can be reached.
        """
        deadline = time.monotonic() + timeout
        waiting = self._turns.order(ssps)
        if not waiting:
            return ()
        self._resume(waiting)
        while True:
            self._receive(waiting, max_rows)
            if self._doubtful:
                self._check_identities()
            fetched = self._give(waiting, max_rows)
            left = deadline - time.monotonic()
            if not fetched:
                self._check_connection()
            if fetched or left <= 0:
                return fetched
            record = self._client.poll(min(left, _WAIT))
            if record is not None:
                self._sort([record])

    def close(self) -> None:
        """Release the connections and what was fetched."""
        self._client.close()

    def _check(self, starts: Mapping[Ssp, int]) -> Mapping[Ssp, int]:
        """Compare starts with what the topics hold; returns where each partition's records begin now."""
        unknown = sorted({ssp.stream for ssp in starts} - self._streams.keys())
        if unknown:
            raise StreamSystemError(f"{', '.join(unknown)}: not given when the consumer was opened")
        streams = [self._streams[name] for name in sorted({ssp.stream for ssp in starts})]
        with closing(KafkaAdmin(self._cluster)) as admin:
            first, ends = admin.start_offsets(streams), admin.end_offsets(streams)
            self._identities = admin.identities(streams)
        for ssp, start in starts.items():
            topic = self._streams[ssp.stream].address
            if ssp not in ends:
                raise StreamSystemError(
                    f"{ssp}: {self._cluster} has no partition {ssp.partition} of topic {topic}. Create the topic "
                    "first; if it was there before, it was deleted"
                )
            if start and not first[ssp] <= start <= ends[ssp]:
                raise StreamSystemError(
                    f"{ssp}: reading is to go on at offset {start}, but topic {topic} in {self._cluster} holds "
                    f"{first[ssp]} to {ends[ssp]}: its records were deleted before they were read, or lost, or it was "
                    "made anew. Begin a new run"
                )
        return first

    def _at(self, reading: Reading) -> TopicPartition:
        return TopicPartition(self._streams[reading.ssp.stream].address, reading.ssp.partition, reading.position)

    def _receive(self, waiting: Sequence[Ssp], max_rows: int) -> None:
        """Take what the client has fetched, without waiting, until there is enough for one poll."""
        rows = max_rows - sum(len(self._by_ssp[ssp].held) for ssp in waiting)
        space = MAXIMUM_BYTES - sum(self._by_ssp[ssp].held_bytes for ssp in waiting)
        while rows > 0 and space > 0:
            records = self._client.consume(min(rows, _SLICE, 1 + space // self._record_bytes), 0)
            if not records:
                break
            more = self._sort(records)
            self._record_bytes = max(more // len(records), self._record_bytes // 2, 1)
            rows -= len(records)
            space -= more
        self._hold_back(waiting)

    def _sort(self, records: Sequence[Record]) -> int:
        """Give records to the readings of their partitions; returns how many bytes are held more."""
        told: list[Record] = []
        more = start = 0
        for place, run in groupby(zip(map(Record.topic, records), map(Record.partition, records), strict=True)):
            here = records[start : start + len(list(run))]
            start += len(here)
            if any(map(Record.error, here)):
                told += [record for record in here if record.error() is not None]
                here = [record for record in here if record.error() is None]
            reading = self._readings.get(place)
            if reading is not None:
                more -= reading.held_bytes
                reading.take(here)
                more += reading.held_bytes
        self._last_news = time.monotonic()
        self._trouble.over()
        for record in told:
            self._note(record)
        return more

    def _note(self, record: Record) -> None:
        """Take what came in place of a record: the end of a partition, or an error.

        Raises:
            StreamSystemError: the partition can't be read.
        """
        place, error = _place(record), record.error()
        reading = self._readings.get(place)
        if error is None or (error.code() == KafkaError._PARTITION_EOF and reading is None):
            return
        if error.code() == KafkaError._PARTITION_EOF and reading is not None:
            reading.reached(record.offset() or 0)
            return
        where = "reading" if reading is None else f"{reading.ssp} (topic {place[0]}), offset {reading.position}"
        raise self._trouble.explain(where, error)

    def _give(self, waiting: Sequence[Ssp], max_rows: int) -> Sequence[FetchedBatch]:
        """Give out what is held of these partitions: a fair share each, and then what room is left."""
        left = max_rows
        allotted = dict.fromkeys(waiting, 0)
        for most in (share(max_rows, len(waiting)), max_rows):
            for ssp in waiting:
                more = min(most - allotted[ssp], len(self._by_ssp[ssp].held) - allotted[ssp], left)
                allotted[ssp] += more
                left -= more
        given = [self._by_ssp[ssp].give(rows) for ssp, rows in allotted.items()]
        fetched = [part for part in given if part is not None]
        for part in fetched:
            self._turns.served(part.ssp)
            if part.ended:
                self._turns.drop(part.ssp)
        return fetched

    def _hold_back(self, waiting: Sequence[Ssp]) -> None:
        """Pause what is complete; and all that is not asked for, once much of it is held."""
        active = [reading for reading in self._by_ssp.values() if not reading.paused]
        pausing = [reading for reading in active if reading.complete]
        others = [self._by_ssp[ssp] for ssp in self._by_ssp.keys() - set(waiting)]
        rows, held = sum(len(reading.held) for reading in others), sum(reading.held_bytes for reading in others)
        if rows > HELD_ROWS or held > HELD_BYTES:
            pausing += [reading for reading in others if not reading.paused and not reading.complete]
        if pausing:
            self._client.pause([self._at(reading) for reading in pausing])
        for reading in pausing:
            reading.paused = True

    def _resume(self, waiting: Sequence[Ssp]) -> None:
        resuming = [reading for ssp in waiting if (reading := self._by_ssp[ssp]).paused and not reading.complete]
        if resuming:
            self._client.resume([self._at(reading) for reading in resuming])
        for reading in resuming:
            reading.paused = False

    def _noticed(self, error: KafkaError) -> None:
        self._trouble.noticed(error)
        self._doubtful = self._doubtful or error.code() in MISSING

    def _check_identities(self) -> None:
        """Make sure that the topics are still those that were assigned: of others, the first records would be lost.

        Raises:
            StreamSystemError: one is gone, or was made anew.
        """
        streams = [self._streams[name] for name in self._identities]
        with closing(KafkaAdmin(self._cluster)) as admin:
            found = admin.identities(streams)
        gone = sorted(s.address for s in streams if found[s.name] != self._identities[s.name])
        if gone:
            raise StreamSystemError(
                f"{self._cluster}: topic {', '.join(gone)} was deleted while it was read, and perhaps made anew: "
                "what was not read yet is lost. Begin a new run"
            )
        self._doubtful = False

    def _check_connection(self) -> None:
        """Ask the brokers for a sign of life when they seem gone for too long.

        Raises:
            StreamSystemError: there is none.
        """
        if not self._trouble.disconnected or time.monotonic() - self._last_news < self._cluster.timeout:
            return
        try:
            topic = next(iter(self._streams.values())).address
            self._client.list_topics(topic, timeout=min(self._cluster.timeout, _PROBE_SECONDS))
        except KafkaException as error:
            raise self._trouble.explain(
                f"no broker was reachable for {self._cluster.timeout:g} s", error.args[0]
            ) from error
        self._last_news = time.monotonic()
        self._trouble.over()


def _place(record: Record) -> tuple[str | None, int | None]:
    return record.topic(), record.partition()
