"""Appends records to topics in Kafka's transactions."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import NoReturn

from confluent_kafka import KafkaError, KafkaException, Message

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.admin import KafkaAdmin
from streamapp_systems.kafka.client_config import Cluster
from streamapp_systems.kafka.kafka_client import ask_until_known
from streamapp_systems.kafka.record_sending import OnDelivery, send_records
from streamapp_systems.kafka.transactional_client import TransactionClient
from streamapp_systems.protocols import (
    CommitUnknown,
    SentRecords,
    StreamDescriptor,
    StreamSystemError,
    TransactionOwner,
    Unavailable,
)

MAXIMUM_BYTES = 32 << 20
"""Bytes that may wait for the brokers; more makes `send` wait."""

_OVERHEAD = 100
"""Bytes that a record takes beside its key and value, about."""

_BATCH = 5_000
"""Records that are handed to the client at once; a twentieth of what it holds, if they are of a usual size."""


class KafkaProducer:
    """Writes transactions under one transactional id. Used by one thread.

    Opening it fences all earlier producers of the id, whatever their epoch: Kafka lets the last one win. So who
    opens one must make sure, *afterwards*, that its epoch is still the current one. A transaction that is not ended
    within 15 s of its begin is aborted by the brokers. Records go out while the transaction is open; `send` waits when
    the brokers are slower. After an error other than `CommitUnknown` the producer can only be aborted and closed.

    Where a request to end a transaction may be on its way still (`TransactionClient.perhaps_ended_twice`), the next one
    begins with another client, which has a later epoch: the brokers refuse that request then. It takes over the
    id again, so `confirm_current` is called before anything is written.
    """

    def __init__(
        self,
        cluster: Cluster,
        streams: Sequence[StreamDescriptor],
        owner: TransactionOwner,
        confirm_current: Callable[[], object] = lambda: None,
    ) -> None:
        """Take over the owner's transactional id; `confirm_current` raises if the owner is not the current one.

        Raises:
            StreamSystemError: the brokers can't be reached or refuse.
        """
        self._streams = {stream.name: stream for stream in streams}
        self._cluster = cluster
        self._counts: dict[str, int] = {}
        self._written: set[Ssp] = set()
        """The partitions that the open transaction writes to."""
        self._next_offsets: dict[Ssp, int] = {}
        self._waiting_bytes = 0
        self._failure: StreamSystemError | None = None
        self._committing = False
        self._confirm_current = confirm_current
        self._was_away = True
        """Whether that is said the next time, whatever the client knows."""
        self._client = _open_client(cluster, owner)

    def prepare(self) -> None:
        """Take over the id again where the last request to end a transaction may be on its way still.

        Raises:
            Fenced: a later producer has the id.
            StreamSystemError: the brokers can't be reached or refuse.
        """
        if not self._written and not self._committing and self._client.perhaps_ended_twice:
            self._take_over_again()

    def was_away(self) -> bool:
        """Return whether a broker was away, or slow to end a transaction, since this was asked last."""
        away = self._client.take_lost_connection() or self._client.perhaps_ended_twice or self._was_away
        self._was_away = False
        return away

    def send(self, ssp: Ssp, value: bytes | None, *, key: bytes | None = None, timestamp: int) -> None:
        """Add one record, as `Producer.send` says; waits when too much is on its way already.

        Kafka knows no times before 1970: such timestamps are written as 1.

        Raises:
            Fenced: a later producer has the id.
            StreamSystemError: the partition does not exist, the record is too large, or the brokers don't take it.
        """
        self.send_all(ssp, SentRecords.of(timestamps=[timestamp], keys=[key], values=[value]))

    def send_all(self, ssp: Ssp, records: SentRecords) -> None:
        """Add records, as `Producer.send_all` says; see `send`."""
        self._check_open()
        for start in range(0, len(records), _BATCH):
            self._send_batch(ssp, records[start : start + _BATCH])

    def _send_batch(self, ssp: Ssp, batch: SentRecords) -> None:
        """Hand records to the client; in two or more parts, with a wait in between, if they are large.

        Only the last one reports its offset. All go at once: brokers answer one request after the other, one for each
        partition, so what is sent before the commit makes it shorter.
        """
        size = _size(batch)
        if size > MAXIMUM_BYTES and len(batch) > 1:
            half = len(batch) // 2
            self._send_batch(ssp, batch[:half])
            self._send_batch(ssp, batch[half:])
            return
        if ssp not in self._written:
            self._begin(ssp)
            self._written.add(ssp)
            self._client.topics = {self._streams[known.stream].address for known in self._written}
        if len(batch) > 1:
            self._produce(ssp, batch[:-1])
        self._produce(ssp, batch[-1:], partial(self._delivered, ssp))
        self._waiting_bytes += size
        if self._waiting_bytes > MAXIMUM_BYTES:
            self._flush()

    def commit(self) -> Mapping[Ssp, int]:
        """Commit, as `Producer.commit` says.

        The next offset of a partition is the one after its last record; the transaction's marker takes it.

        Raises:
            Fenced: a later producer has the id, or the transaction took too long.
            CommitUnknown: no answer came; commit again or exit.
            StreamSystemError: nothing was written; abort.
        """
        if not self._written:
            return {}
        if not self._committing:
            self._check_open()
            self._flush()
            self._committing = True
        try:
            self._client.commit()
        except CommitUnknown:
            raise
        except StreamSystemError as error:
            self._committing, self._failure = False, error
            raise
        next_offsets = {ssp: self._next_offsets[ssp] for ssp in sorted(self._written)}
        self._forget()
        return next_offsets

    def abort(self) -> None:
        """Abort the open transaction; a producer that failed has to be closed then, and another one opened.

        Raises:
            CommitUnknown: it is perhaps committed already.
            Fenced: a later producer has the id.
            StreamSystemError: the brokers don't answer; the next producer of this id aborts it.
        """
        if self._committing:
            raise CommitUnknown(f"producer {self._client.owner.id}: a commit without an answer can't be aborted: exit")
        if self._written:
            self._client.abort()
        self._forget()

    def close(self) -> None:
        """Abort what is open, unless it is perhaps committed, and release the connections.

        What can't be aborted, since the brokers are away for example, is left to them: the next producer of the id, or
        15 s, abort it.
        """
        if not isinstance(self._failure, Unavailable):
            with suppress(StreamSystemError):
                self.abort()
        self._forget()
        self._client.drop()

    def _check_open(self) -> None:
        if self._committing:
            raise CommitUnknown(f"producer {self._client.owner.id}: commit again before anything else, or exit")
        if self._failure is not None:
            raise self._failure

    def _begin(self, ssp: Ssp) -> None:
        """Check a partition that is to be written to, and open a transaction if there is none."""
        stream = self._streams.get(ssp.stream)
        if stream is None:
            known = ", ".join(sorted(self._streams)) or "none"
            raise StreamSystemError(
                f"{ssp}: this stream was not given when the producer was opened; there were {known}"
            )
        if ssp.partition >= self._counts.get(stream.name, 0):
            with closing(KafkaAdmin(self._cluster)) as admin:
                counts = ask_until_known(
                    lambda: admin.partitions(list(self._streams.values())),
                    lambda found: ssp.partition < found.get(stream.name, 0),
                )
            self._counts.update(counts)
        if ssp.partition >= self._counts.get(stream.name, 0):
            raise StreamSystemError(
                f"{ssp}: {self._cluster} has no partition {ssp.partition} of topic {stream.address}. Create the topic "
                "first; if it was there before, it was deleted"
            )
        if not self._written:
            self.prepare()
            self._client.begin()

    def _take_over_again(self) -> None:
        """Go on with another client of the same id, if its owner is still the current one.

        That is asked before, too: to open the client fences a successor, which would have to start again.
        """
        self._confirm_current()
        client = _open_client(self._cluster, self._client.owner)
        try:
            self._confirm_current()
        except BaseException:
            client.drop()
            raise
        self._client.drop()
        self._client, self._was_away = client, True

    def _produce(self, ssp: Ssp, records: SentRecords, on_delivery: OnDelivery | None = None) -> None:
        topic = self._streams[ssp.stream].address
        try:
            send_records(self._client.producer, topic, ssp.partition, records, on_delivery)
        except (KafkaException, SystemError) as error:
            self._refused(ssp, topic, error)

    def _refused(self, ssp: Ssp, topic: str, error: KafkaException | SystemError) -> NoReturn:
        """Fail the transaction: a record of it could not even be handed to the client."""
        try:
            with self._client.explained(f"{ssp} (topic {topic})"):
                raise self._client.refusal_cause(error)
        except StreamSystemError as failure:
            self._failure = failure
            raise

    def _flush(self) -> None:
        try:
            self._client.flush()
        except StreamSystemError as error:
            self._failure = error
            raise
        self._waiting_bytes = 0

    def _delivered(self, ssp: Ssp, error: KafkaError | None, message: Message) -> None:
        """Note where a partition's last record so far went; a failed one makes the commit fail."""
        if error is None:
            self._next_offsets[ssp] = (message.offset() or 0) + 1

    def _forget(self) -> None:
        self._written, self._next_offsets = set(), {}
        self._waiting_bytes, self._committing = 0, False


def _open_client(cluster: Cluster, owner: TransactionOwner) -> TransactionClient:
    client = TransactionClient(cluster, owner)
    try:
        client.initialise()
    except BaseException:
        client.drop()
        raise
    return client


def _size(records: SentRecords) -> int:
    size: int = _OVERHEAD * len(records) + records.keys.nbytes + records.values.nbytes
    return size
