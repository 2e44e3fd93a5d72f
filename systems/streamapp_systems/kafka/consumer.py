"""Reads assigned partitions of topics: committed records only, up to a bound where one is given."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamapp_core.spec.kafka_client_settings import ClientKind
from streamapp_core.ssp import Ssp
from streamapp_systems.fair_order import FairOrder, share
from streamapp_systems.kafka.admin import KafkaAdmin
from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.end_requests import EndRequests
from streamapp_systems.kafka.kafka_client import ask_until_known, explained_settings
from streamapp_systems.kafka.kafka_errors import MISSING, ClientProblems
from streamapp_systems.kafka.missing_rights import on_topic
from streamapp_systems.kafka.native_records import open_records
from streamapp_systems.kafka.partition_positions import PartitionPosition
from streamapp_systems.kafka.record_source import Received, RecordSource, SourceEvent
from streamapp_systems.protocols import EndsAnswer, FetchedBatch, StreamDescriptor, StreamSystemError

MAXIMUM_BYTES = 8 << 20
"""Bytes of records that one poll takes from the client, about."""

BUFFERED_ROWS = 100_000
BUFFERED_BYTES = 32 << 20
"""Partitions that are not polled are paused when this much of them is buffered. What the client has fetched beyond
that is dropped, and fetched again later."""

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

    def __init__(
        self,
        cluster: Cluster,
        streams: Sequence[StreamDescriptor],
        open_source: Callable[[Client], RecordSource] = open_records,
    ) -> None:
        """Create the client, and the source of its records; nothing is read yet.

        Raises:
            StreamSystemError: the cluster's settings are wrong.
        """
        self._cluster = cluster
        self._streams = {stream.name: stream for stream in streams}
        self._problems = ClientProblems(cluster)
        self._positions: dict[tuple[str | None, int | None], PartitionPosition] = {}
        self._by_ssp: dict[Ssp, PartitionPosition] = {}
        self._order = FairOrder(())
        self._last_news = time.monotonic()
        self._record_bytes = _LARGE
        self._ends: EndRequests | None = None
        self._identities: Mapping[str, str] = {}
        self._recheck_identities = False
        """Whether the client has missed a topic or a partition, for a moment perhaps."""
        with explained_settings(cluster):
            self._client = Client({**cluster.client(ClientKind.CONSUMER), "error_cb": self._note_problem})
        self._source = open_source(self._client)

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read these partitions, as `Consumer.assign` says; a start of 0 is the oldest record that is still there.

        Raises:
            StreamSystemError: a partition does not exist or ends before its start, or the brokers can't be reached.
        """
        first = self._check(starts)
        for ssp, start in starts.items():
            partition = PartitionPosition(ssp=ssp, offset=start, end=ends.get(ssp))
            partition.advance_to(first[ssp])
            partition.paused = partition.complete
            self._by_ssp[ssp] = partition
            self._positions[self._streams[ssp.stream].address, ssp.partition] = partition
        self._order = FairOrder(starts)
        self._source.assign([self._at(partition) for partition in self._by_ssp.values() if not partition.complete])
        self._last_news = time.monotonic()

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """Fetch records, as `Consumer.poll` says, about 8 MB at most.

        Raises:
            StreamSystemError: a partition can't be read, or no broker can be reached.
        """
        deadline = time.monotonic() + timeout
        waiting = self._order.order(ssps)
        if not waiting:
            return ()
        self._resume(waiting)
        while True:
            self._receive(waiting, max_rows)
            if self._recheck_identities:
                self._check_identities()
            fetched = self._drain(waiting, max_rows)
            left = deadline - time.monotonic()
            if not fetched:
                self._check_connection()
            if fetched or left <= 0:
                return fetched
            self._distribute(self._source.wait(min(left, _WAIT)))

    def ask_ends(self, ssps: Collection[Ssp]) -> EndsAnswer:
        """Ask the leaders of partitions for their ends, as `Consumer.ask_ends` says."""
        if self._ends is None:
            self._ends = EndRequests(self._cluster)
        asked = {ssp: self._at(self._by_ssp[ssp]) for ssp in ssps}
        return self._ends.ask(asked, lambda ssp: self._by_ssp[ssp].offset)

    def close(self) -> None:
        """Release the connections and what was fetched."""
        if self._ends is not None:
            self._ends.close()
        self._source.close()
        self._client.close()

    def _check(self, starts: Mapping[Ssp, int]) -> Mapping[Ssp, int]:
        """Compare starts with what the topics hold; returns where each partition's records begin now."""
        unknown = sorted({ssp.stream for ssp in starts} - self._streams.keys())
        if unknown:
            raise StreamSystemError(f"{', '.join(unknown)}: not given when the consumer was opened")
        streams = [self._streams[name] for name in sorted({ssp.stream for ssp in starts})]
        with closing(KafkaAdmin(self._cluster)) as admin:
            first, ends = ask_until_known(
                lambda: (admin.start_offsets(streams), admin.end_offsets(streams)),
                lambda found: all(offsets.keys() >= starts.keys() for offsets in found),
            )
            self._identities = admin.identities(streams)
        for ssp, start in starts.items():
            topic = self._streams[ssp.stream].address
            if ssp not in first or ssp not in ends:
                raise StreamSystemError(
                    f"{ssp}: {self._cluster} has no partition {ssp.partition} of topic {topic}. Create the topic "
                    "first; if it was there before, it was deleted"
                )
            if start and not first[ssp] <= start <= ends[ssp]:
                raise StreamSystemError(
                    f"{ssp}: reading is to go on at offset {start}, but topic {topic} in {self._cluster} holds "
                    f"{first[ssp]} to {ends[ssp]}: its records were deleted before they were read, or lost, or it was "
                    "recreated. Begin a new run"
                )
        return first

    def _at(self, partition: PartitionPosition) -> TopicPartition:
        return TopicPartition(self._streams[partition.ssp.stream].address, partition.ssp.partition, partition.position)

    def _receive(self, waiting: Sequence[Ssp], max_rows: int) -> None:
        """Buffer what the client has fetched, without waiting, until there is enough for one poll."""
        rows = max_rows - sum(self._by_ssp[ssp].buffered_rows for ssp in waiting)
        space = MAXIMUM_BYTES - sum(self._by_ssp[ssp].buffered_bytes for ssp in waiting)
        while rows > 0 and space > 0:
            received = self._source.receive(min(rows, _SLICE, 1 + space // self._record_bytes))
            more = self._distribute(received)
            if not received.count:
                break
            self._record_bytes = max(more // received.count, self._record_bytes // 2, 1)
            rows -= received.count
            space -= more
        self._pause(waiting)

    def _distribute(self, received: Received) -> int:
        """Buffer records by their partitions; returns by how many bytes the buffers grew."""
        for problem in received.problems:
            self._note_problem(problem)
        if not received.count:
            return 0
        more = 0
        for place, run in received.runs:
            partition = self._positions.get(place)
            if partition is not None:
                more -= partition.buffered_bytes
                partition.buffer(run)
                more += partition.buffered_bytes
        self._last_news = time.monotonic()
        self._problems.clear()
        for event in received.events:
            self._handle_event(event)
        return more

    def _handle_event(self, event: SourceEvent) -> None:
        """Handle the end of a partition, or an error.

        Raises:
            StreamSystemError: the partition can't be read.
        """
        partition, error = self._positions.get(event.place), event.error
        if error.code() == KafkaError._PARTITION_EOF:
            if partition is not None:
                partition.advance_to(event.offset or 0)
            return
        topic = event.place[0]
        where = "reading" if partition is None else f"{partition.ssp} (topic {topic}), offset {partition.position}"
        needs = on_topic("Read", *([topic] if topic else [stream.address for stream in self._streams.values()]))
        raise self._problems.explain(where, error, needs)

    def _drain(self, waiting: Sequence[Ssp], max_rows: int) -> Sequence[FetchedBatch]:
        """Return what is buffered of these partitions: a fair share each, and then as much as there is room for."""
        left = max_rows
        allotted = dict.fromkeys(waiting, 0)
        for most in (share(max_rows, len(waiting)), max_rows):
            for ssp in waiting:
                more = min(most - allotted[ssp], self._by_ssp[ssp].buffered_rows - allotted[ssp], left)
                allotted[ssp] += more
                left -= more
        drained = [self._by_ssp[ssp].drain(rows) for ssp, rows in allotted.items()]
        fetched = [batch for batch in drained if batch is not None]
        for batch in fetched:
            self._order.served(batch.ssp)
            if batch.ended:
                self._order.drop(batch.ssp)
        return fetched

    def _pause(self, waiting: Sequence[Ssp]) -> None:
        """Pause what is complete; and all that is not polled, once much of it is buffered."""
        active = [partition for partition in self._by_ssp.values() if not partition.paused]
        pausing = [partition for partition in active if partition.complete]
        others = [self._by_ssp[ssp] for ssp in self._by_ssp.keys() - set(waiting)]
        rows, size = (
            sum(partition.buffered_rows for partition in others),
            sum(partition.buffered_bytes for partition in others),
        )
        if rows > BUFFERED_ROWS or size > BUFFERED_BYTES:
            pausing += [partition for partition in others if not partition.paused and not partition.complete]
        if pausing:
            self._client.pause([self._at(partition) for partition in pausing])
        for partition in pausing:
            partition.paused = True

    def _resume(self, waiting: Sequence[Ssp]) -> None:
        resuming = [partition for ssp in waiting if (partition := self._by_ssp[ssp]).paused and not partition.complete]
        if resuming:
            self._client.resume([self._at(partition) for partition in resuming])
        for partition in resuming:
            partition.paused = False

    def _note_problem(self, error: KafkaError) -> None:
        self._problems.note(error)
        self._recheck_identities = self._recheck_identities or error.code() in MISSING

    def _check_identities(self) -> None:
        """Check that the topics are still those that were assigned: of others, the first records would be missed.

        Raises:
            StreamSystemError: one is gone, or was recreated.
        """
        streams = [self._streams[name] for name in self._identities]
        with closing(KafkaAdmin(self._cluster)) as admin:
            found = admin.identities(streams)
        gone = sorted(s.address for s in streams if found[s.name] != self._identities[s.name])
        if gone:
            raise StreamSystemError(
                f"{self._cluster}: topic {', '.join(gone)} was deleted while it was read, and perhaps recreated: "
                "what was not read yet is lost. Begin a new run"
            )
        self._recheck_identities = False

    def _check_connection(self) -> None:
        """Probe the brokers when they seem gone for too long.

        Raises:
            StreamSystemError: none answers.
        """
        if not self._problems.disconnected or time.monotonic() - self._last_news < self._cluster.timeout:
            return
        try:
            topic = next(iter(self._streams.values())).address
            self._client.list_topics(topic, timeout=min(self._cluster.timeout, _PROBE_SECONDS))
        except KafkaException as error:
            raise self._problems.explain(
                f"no broker was reachable for {self._cluster.timeout:g} s", error.args[0]
            ) from error
        self._last_news = time.monotonic()
        self._problems.clear()
