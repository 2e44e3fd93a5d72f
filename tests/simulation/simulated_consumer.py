"""A consumer of simulated brokers: what `KafkaConsumer` is of real ones."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError

from simulation.kafka_requests import Fetch, FetchedRecords, Network, NoAnswer, RequestError, TopicPartition
from simulation.simulated_admin import SimulatedAdmin
from simulation.simulated_kafka_client import SimulatedClient
from streamapp_core.ssp import Ssp
from streamapp_systems.fair_order import FairOrder, share
from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.kafka_errors import MISSING, TRANSIENT
from streamapp_systems.protocols import (
    FetchedBatch,
    KnownEnds,
    Message,
    MessageTuple,
    StreamDescriptor,
    StreamSystemError,
)

_PAUSE = 0.05
"""Seconds between two looks at partitions that had nothing."""


@dataclass(slots=True, kw_only=True)
class _Position:
    offset: int
    end: int | None


class SimulatedConsumer:
    """See `Consumer`, and `KafkaConsumer` for what differs from other systems."""

    def __init__(self, network: Network, cluster: Cluster, streams: Sequence[StreamDescriptor]) -> None:
        """Ask for nothing yet."""
        self._client = SimulatedClient(network, cluster)
        self._streams = {stream.name: stream for stream in streams}
        self._positions: dict[Ssp, _Position] = {}
        self._order = FairOrder(())
        self._identities: Mapping[str, str] = {}
        self._last_news = network.now()

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """Read these partitions, as `Consumer.assign` says; a start of 0 is the oldest record that is still there.

        Raises:
            StreamSystemError: a partition does not exist or ends before its start, or no broker answers.
        """
        first = self._check(starts)
        self._positions = {
            ssp: _Position(offset=max(start, first[ssp]), end=ends.get(ssp)) for ssp, start in starts.items()
        }
        self._order = FairOrder(starts)
        self._last_news = self._client.network.now()

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """Fetch records, as `Consumer.poll` says.

        Raises:
            StreamSystemError: a partition can't be read, or no broker has answered for the cluster's timeout.
        """
        network = self._client.network
        deadline = network.now() + round(1000 * timeout)
        while waiting := self._order.order(ssps):
            fetched = self._fetch(waiting, max_rows)
            left = deadline - network.now()
            if fetched or left <= 0:
                return fetched
            network.sleep(min(left / 1000, _PAUSE))
        return ()

    def ask_ends(self, ssps: Collection[Ssp]) -> KnownEnds:
        """Ask for the ends and wait for the answer, as `Consumer.ask_ends` says."""
        streams = [self._streams[name] for name in sorted({ssp.stream for ssp in ssps})]
        try:
            ends = SimulatedAdmin(self._client.network, self._client.cluster).written_offsets(streams)
        except StreamSystemError:
            return KnownEnds({})
        return KnownEnds({ssp: self._positions[ssp].offset >= ends[ssp] for ssp in ssps})

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _check(self, starts: Mapping[Ssp, int]) -> Mapping[Ssp, int]:
        unknown = sorted({ssp.stream for ssp in starts} - self._streams.keys())
        if unknown:
            raise StreamSystemError(f"{', '.join(unknown)}: not given when the consumer was opened")
        streams = [self._streams[name] for name in sorted({ssp.stream for ssp in starts})]
        admin = SimulatedAdmin(self._client.network, self._client.cluster)
        first, ends = admin.start_offsets(streams), admin.end_offsets(streams)
        self._identities = admin.identities(streams)
        for ssp, start in starts.items():
            topic = self._streams[ssp.stream].address
            if ssp not in ends or ssp not in first:
                raise StreamSystemError(
                    f"{ssp}: {self._client.cluster} has no partition {ssp.partition} of topic {topic}. Create the "
                    "topic first; if it was there before, it was deleted"
                )
            if start and not first[ssp] <= start <= ends[ssp]:
                raise StreamSystemError(
                    f"{ssp}: reading is to go on at offset {start}, but topic {topic} in {self._client.cluster} holds "
                    f"{first[ssp]} to {ends[ssp]}: its records were deleted before they were read, or lost, or it was "
                    "recreated. Begin a new run"
                )
        return first

    def _fetch(self, waiting: Sequence[Ssp], max_rows: int) -> Sequence[FetchedBatch]:
        batches: list[FetchedBatch] = []
        left = max_rows
        for ssp in waiting:
            position = self._positions[ssp]
            found = self._read(ssp, position, min(left, share(max_rows, len(waiting))))
            batch = _batch_of(ssp, position, found)
            if batch.next_offset == batch.offset and not batch.ended:
                continue
            position.offset = batch.next_offset
            batches.append(batch)
            self._order.served(ssp)
            if batch.ended:
                self._order.drop(ssp)
            left -= len(batch.messages)
            if left <= 0:
                break
        return batches

    def _read(self, ssp: Ssp, position: _Position, rows: int) -> FetchedRecords:
        nothing = FetchedRecords(records=(), next_offset=position.offset)
        if position.end is not None and position.offset >= position.end:
            return nothing
        at = TopicPartition(self._streams[ssp.stream].address, ssp.partition)
        try:
            found = self._client.network.call(Fetch(partition=at, offset=position.offset, maximum_records=rows))
        except NoAnswer:
            self._check_connection(RequestError(KafkaError._TIMED_OUT))
            return nothing
        except RequestError as error:
            if error.code in MISSING:
                self._check_identities()
            elif error.code in TRANSIENT:
                self._check_connection(error)
            else:
                code = KafkaError._AUTO_OFFSET_RESET if error.code == KafkaError.OFFSET_OUT_OF_RANGE else error.code
                where = f"{ssp} (topic {at.topic}), offset {position.offset}"
                raise self._client.explain(where, RequestError(code)) from error
            return nothing
        self._last_news = self._client.network.now()
        return found

    def _check_connection(self, error: RequestError) -> None:
        """Fail once nothing has come for the cluster's timeout."""
        if self._client.network.now() - self._last_news >= 1000 * self._client.cluster.timeout:
            raise self._client.explain(f"no broker was reachable for {self._client.cluster.timeout:g} s", error)

    def _check_identities(self) -> None:
        """Check that the topics are still those that were assigned.

        Raises:
            StreamSystemError: one is gone, or was recreated.
        """
        admin = SimulatedAdmin(self._client.network, self._client.cluster)
        streams = [self._streams[name] for name in self._identities]
        found = admin.identities(streams)
        gone = sorted(s.address for s in streams if found[s.name] != self._identities[s.name])
        if gone:
            raise StreamSystemError(
                f"{self._client.cluster}: topic {', '.join(gone)} was deleted while it was read, and perhaps "
                "recreated: what was not read yet is lost. Begin a new run"
            )


def _batch_of(ssp: Ssp, position: _Position, found: FetchedRecords) -> FetchedBatch:
    """Return what was fetched below the partition's end."""
    end, next_offset = position.end, found.next_offset
    if end is not None:
        next_offset = max(min(next_offset, end), position.offset)
    messages = MessageTuple(Message(*record) for record in found.records if end is None or record.offset < end)
    return FetchedBatch(
        ssp=ssp,
        offset=position.offset,
        next_offset=next_offset,
        messages=messages,
        ended=end is not None and next_offset >= end,
    )
