"""A producer of simulated brokers: what `KafkaProducer` is of real ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from confluent_kafka import KafkaError

from simulation.kafka_requests import (
    AddPartitionsToTxn,
    DescribeTopics,
    EndTxn,
    KafkaRecord,
    Network,
    Produce,
    RequestError,
    TopicPartition,
)
from simulation.simulated_kafka_client import COORDINATOR_TRANSIENT, PRODUCE_TRANSIENT, SimulatedClient
from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.client_config import RESEND_SECONDS, TRANSACTION_SECONDS, Cluster
from streamapp_systems.protocols import (
    CommitUnknown,
    SentRecords,
    StreamDescriptor,
    StreamSystemError,
    TransactionOwner,
    Unavailable,
)

_LINGERING = 1_000
"""Records of a partition that wait for more before they go out."""

_MESSAGE_BYTES = 1_000_000
"""Bytes of a batch, and of a message unless the cluster's settings allow more: librdkafka's default."""

_RESEND_PAUSE = 0.8
"""Seconds after which a client asks again to end a transaction."""

_UNKNOWN = COORDINATOR_TRANSIENT | {KafkaError._TIMED_OUT}
"""Errors of a commit after which it may have happened."""


class SimulatedProducer:
    """See `Producer`, and `KafkaProducer` for what differs from other systems."""

    def __init__(
        self,
        network: Network,
        cluster: Cluster,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        confirm_current: Callable[[], object] = lambda: None,
    ) -> None:
        """Take over the owner's transactional id; `confirm_current` raises if the owner is not the current one.

        Raises:
            StreamSystemError: the brokers don't answer, or refuse.
        """
        self._client = SimulatedClient(network, cluster)
        self._streams = {stream.name: stream for stream in streams}
        self._owner = owner
        self._largest = int(cluster.settings.get("message.max.bytes", _MESSAGE_BYTES))
        self._counts: dict[str, int] = {}
        self._pending: dict[Ssp, list[KafkaRecord]] = {}
        self._next_offsets: dict[Ssp, int] = {}
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._opened = False
        """Whether the coordinator may know of the transaction."""
        self._failure: StreamSystemError | None = None
        self._committing = False
        self._confirm_current = confirm_current
        self._ending_since: int | None = None
        self._connection: int | None = None
        self._perhaps_ended_twice = False
        """Whether a request to end a transaction may still be on its way; see `TransactionClient`."""
        self._identity = self._client.initialise(owner)

    def prepare(self) -> None:
        """Take over the id again where the last request to end a transaction may be on its way still."""
        if self._perhaps_ended_twice and not self._pending:
            self._take_over_again()

    def was_away(self) -> bool:
        """Return whether the broker was gone since this was asked last; the first time, that is not known."""
        before, self._connection = self._connection, self._client.network.connection()
        return before != self._connection

    def send(self, ssp: Ssp, value: bytes | None, *, key: bytes | None = None, timestamp: int) -> None:
        """Add one record, as `Producer.send` says."""
        self.send_all(ssp, SentRecords.of(timestamps=[timestamp], keys=[key], values=[value]))

    def send_all(self, ssp: Ssp, records: SentRecords) -> None:
        """Add records, as `Producer.send_all` says; many go out while the transaction is open.

        Raises:
            Fenced: a later producer has the id.
            StreamSystemError: the partition does not exist, or the brokers don't take the records.
        """
        self._check_open()
        if not len(records):
            return
        self._check_partition(ssp)
        self.prepare()
        pending = self._pending.setdefault(ssp, [])
        pending += (KafkaRecord(max(time, 1), *rest) for time, *rest in records.rows(self._client.network.now()))
        if len(pending) > _LINGERING:
            self._flush()

    def commit(self) -> Mapping[Ssp, int]:
        """Commit, as `Producer.commit` says.

        Raises:
            Fenced: a later producer has the id, or the transaction took too long.
            CommitUnknown: no answer came; commit again or exit.
            StreamSystemError: nothing was written; abort.
        """
        if not self._pending and not self._next_offsets:
            return {}
        if not self._committing:
            self._check_open()
            self._flush()
            self._committing = True
        try:
            self._end(commit=True)
        except RequestError as error:
            if error.code in _UNKNOWN:
                what = f"producer {self._owner.id}: whether the transaction was committed is not known"
                raise CommitUnknown(str(self._client.explain(what, error))) from error
            self._committing = False
            self._failure = self._explain("the transaction failed and can't be committed, only aborted", error)
            raise self._failure from error
        next_offsets = {ssp: self._next_offsets[ssp] for ssp in sorted(self._next_offsets)}
        self._forget()
        return next_offsets

    def abort(self) -> None:
        """Abort the open transaction, as `KafkaProducer.abort` does: what is on its way arrives first.

        Raises:
            CommitUnknown: it is perhaps committed already.
            Fenced: a later producer has the id.
            StreamSystemError: the brokers don't answer.
        """
        if self._committing:
            raise CommitUnknown(f"producer {self._owner.id}: a commit without an answer can't be aborted: exit")
        if self._failure is None and self._pending:
            with suppress(StreamSystemError):
                self._flush()
        if self._opened:
            try:
                self._end(commit=False)
            except RequestError as error:
                raise self._explain("the transaction can't be aborted", error) from error
        self._forget()

    def close(self) -> None:
        """Abort what is open, unless it is perhaps committed."""
        if not isinstance(self._failure, Unavailable):
            with suppress(StreamSystemError):
                self.abort()
        self._forget()

    def _check_open(self) -> None:
        if self._committing:
            raise CommitUnknown(f"producer {self._owner.id}: commit again before anything else, or exit")
        if self._failure is not None:
            raise self._failure

    def _take_over_again(self) -> None:
        """Go on with a later epoch, which no late request to end a transaction has."""
        identity = self._client.initialise(self._owner)
        self._confirm_current()
        self._identity, self._sequences = identity, {}
        self._perhaps_ended_twice = False

    def _check_partition(self, ssp: Ssp) -> None:
        stream = self._streams.get(ssp.stream)
        if stream is None:
            known = ", ".join(sorted(self._streams)) or "none"
            raise StreamSystemError(
                f"{ssp}: this stream was not given when the producer was opened; there were {known}"
            )
        if ssp.partition >= self._counts.get(stream.name, 0):
            self._count_partitions()
        if ssp.partition >= self._counts.get(stream.name, 0):
            raise StreamSystemError(
                f"{ssp}: {self._client.cluster} has no partition {ssp.partition} of topic {stream.address}. Create "
                "the topic first; if it was there before, it was deleted"
            )

    def _count_partitions(self) -> None:
        topics = tuple(sorted({stream.address for stream in self._streams.values()}))
        try:
            found = self._client.ask(DescribeTopics(topics=topics), self._client.deadline())
        except RequestError as error:
            raise self._explain("topics can't be described", error) from error
        self._counts = {s.name: found[s.address].partitions for s in self._streams.values() if s.address in found}

    def _flush(self) -> None:
        """Hand what is pending to the brokers; a record that they don't take fails the transaction."""
        deadline = self._client.deadline(TRANSACTION_SECONDS)
        try:
            self._add_partitions(deadline)
            for ssp in list(self._pending):
                for records in self._batches(self._pending[ssp]):
                    self._next_offsets[ssp] = self._produce(self._at(ssp), records, deadline) + len(records)
                del self._pending[ssp]
        except RequestError as error:
            self._failure = self._explain("records can't be sent", error)
            raise self._failure from error

    def _add_partitions(self, deadline: int) -> None:
        new = {self._at(ssp) for ssp in self._pending} - self._added
        if new:
            self._opened = True
            request = AddPartitionsToTxn(
                transactional_id=self._owner.id, producer=self._identity, partitions=tuple(sorted(new))
            )
            self._client.ask(request, deadline, COORDINATOR_TRANSIENT)
            self._added |= new

    def _produce(self, partition: TopicPartition, records: tuple[KafkaRecord, ...], deadline: int) -> int:
        sequence = self._sequences.get(partition, 0)
        request = Produce(
            transactional_id=self._owner.id,
            producer=self._identity,
            partition=partition,
            sequence=sequence,
            records=records,
        )
        offset = self._client.ask(request, deadline, PRODUCE_TRANSIENT)
        self._sequences[partition] = sequence + len(records)
        return offset

    def _batches(self, records: Sequence[KafkaRecord]) -> Iterator[tuple[KafkaRecord, ...]]:
        """Yield records in batches that brokers take.

        Raises:
            RequestError: a record is larger than the client's settings allow.
        """
        batch: list[KafkaRecord] = []
        size = 0
        for record in records:
            bytes_ = len(record.key or b"") + len(record.value or b"")
            if bytes_ > self._largest:
                raise RequestError(KafkaError.MSG_SIZE_TOO_LARGE)
            if batch and size + bytes_ > _MESSAGE_BYTES:
                yield tuple(batch)
                batch, size = [], 0
            batch.append(record)
            size += bytes_
        yield tuple(batch)

    def _end(self, *, commit: bool) -> None:
        """End the transaction; an answer that comes before the client would ask again is that of its only request."""
        now = self._client.network.now
        if self._ending_since is None:
            self._ending_since = now()
        request = EndTxn(transactional_id=self._owner.id, producer=self._identity, commit=commit)
        self._client.ask(request, self._client.deadline(), COORDINATOR_TRANSIENT, pause=_RESEND_PAUSE)
        self._perhaps_ended_twice |= now() - self._ending_since >= 1000 * RESEND_SECONDS
        self._ending_since = None

    def _at(self, ssp: Ssp) -> TopicPartition:
        return TopicPartition(self._streams[ssp.stream].address, ssp.partition)

    def _explain(self, what: str, error: RequestError) -> StreamSystemError:
        return self._client.explain_producer(self._owner, what, error)

    def _forget(self) -> None:
        self._pending, self._next_offsets, self._added = {}, {}, set()
        self._committing = self._opened = False
