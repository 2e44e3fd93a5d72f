"""One partition of a simulated broker: its records and markers, what it knows of producers, and its offsets."""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from confluent_kafka import KafkaError

from simulation.kafka_requests import (
    FetchedRecord,
    FetchedRecords,
    KafkaRecord,
    ProducerIdentity,
    RequestError,
    TopicSettings,
)

_REMEMBERED_BATCHES = 5
"""Batches of a producer that a partition recognises when they come again."""


class EntryKind(Enum):
    """The kinds of what takes an offset."""

    RECORD = "record"
    COMMIT = "commit marker"
    ABORT = "abort marker"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What lies at one offset."""

    offset: int
    kind: EntryKind
    producer_id: int
    record: KafkaRecord


@dataclass(frozen=True, slots=True)
class _Batch:
    first_sequence: int
    last_sequence: int
    offset: int


@dataclass(slots=True)
class _ProducerState:
    """One producer id, as a partition knows it."""

    epoch: int
    batches: deque[_Batch] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_BATCHES))
    transaction_start: int | None = None

    def find(self, epoch: int, first_sequence: int, last_sequence: int) -> _Batch | None:
        """Return the batch with these sequences, if it is one of the last that were written."""
        same = (
            batch
            for batch in self.batches
            if (batch.first_sequence, batch.last_sequence) == (first_sequence, last_sequence)
        )
        return next(same, None) if epoch == self.epoch else None

    def check(self, epoch: int, sequence: int) -> None:
        """Check that a batch is of the current epoch or a later one, and follows the one before.

        Raises:
            RequestError: it does not.
        """
        if epoch < self.epoch:
            raise RequestError(KafkaError.INVALID_PRODUCER_EPOCH)
        expected = self.batches[-1].last_sequence + 1 if self.batches and epoch == self.epoch else 0
        if sequence != expected:
            raise RequestError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def raise_epoch(self, epoch: int) -> None:
        if epoch > self.epoch:
            self.epoch = epoch
            self.batches.clear()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The lowest sequence with which a producer has tried to write since its last marker or batch here."""

    epoch: int
    lowest_sequence: int


class PartitionLog:
    """Appends batches and markers, and answers what may be read of them."""

    def __init__(self, settings: TopicSettings) -> None:
        self.settings = settings
        self.entries: list[LogEntry] = []
        self.start_offset = 0
        self.high_watermark = 0
        self._producers: dict[int, _ProducerState] = {}
        self._attempts: dict[int, _Attempt] = {}
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        """By producer: the first offset of each transaction that was aborted, and that of its marker."""
        self._tombstones_until: dict[int, int] = {}
        """By the offset of a tombstone that a compaction has kept: the time from which on a later one removes it."""

    @property
    def last_stable_offset(self) -> int:
        """The offset of the first record whose transaction is open, even if it was deleted, or the end."""
        starts = [p.transaction_start for p in self._producers.values() if p.transaction_start is not None]
        return min(starts, default=self.high_watermark)

    def has_open_transaction(self, producer: ProducerIdentity) -> bool:
        """Return whether this producer has written here since its last marker."""
        known = self._producers.get(producer.id)
        return known is not None and known.epoch == producer.epoch and known.transaction_start is not None

    def note_attempt(self, producer: ProducerIdentity, sequence: int) -> None:
        """Note that a producer, which has nothing open here, is about to write.

        Until it has written, nothing may come with a higher sequence: it would overtake a batch that is tried again.
        So one that was late, and is refused or known, makes the producer's next batch fail.
        """
        known = self._attempts.get(producer.id, _Attempt(producer.epoch, sequence))
        if producer.epoch > known.epoch or (producer.epoch == known.epoch and sequence < known.lowest_sequence):
            known = _Attempt(producer.epoch, sequence)
        self._attempts[producer.id] = known

    def append(self, producer: ProducerIdentity, sequence: int, records: tuple[KafkaRecord, ...], now: int) -> int:
        """Append a batch and return the offset of its first record; one that came before stays where it is.

        Raises:
            RequestError: a later epoch has written here, batches are missing, or a record is not allowed.
        """
        last, first = sequence + len(records) - 1, self.high_watermark
        known = self._producers.get(producer.id)
        if known is not None:
            repeated = known.find(producer.epoch, sequence, last)
            if repeated is not None:
                return repeated.offset
            known.check(producer.epoch, sequence)
        attempt = self._attempts.get(producer.id)
        if attempt is not None and sequence > attempt.lowest_sequence:
            raise RequestError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self._check_records(records, now)
        self._attempts.pop(producer.id, None)
        state = self._producers.setdefault(producer.id, _ProducerState(producer.epoch))
        state.raise_epoch(producer.epoch)
        for record in records:
            self._add(EntryKind.RECORD, producer.id, record)
        state.batches.append(_Batch(sequence, last, first))
        if state.transaction_start is None:
            state.transaction_start = first
        return first

    def append_marker(self, producer: ProducerIdentity, *, commit: bool, now: int) -> None:
        """End what this producer has open here; a marker takes an offset, whether something was open or not."""
        state = self._producers.setdefault(producer.id, _ProducerState(producer.epoch))
        if producer.epoch < state.epoch:
            return
        state.raise_epoch(producer.epoch)
        self._attempts.pop(producer.id, None)
        marker = self.high_watermark
        self._add(EntryKind.COMMIT if commit else EntryKind.ABORT, producer.id, KafkaRecord(now, None, None))
        if not commit and state.transaction_start is not None:
            self._aborted.setdefault(producer.id, []).append((state.transaction_start, marker))
        state.transaction_start = None

    def read(self, offset: int, maximum_records: int, *, read_committed: bool) -> FetchedRecords:
        """Return records from an offset on.

        Raises:
            RequestError: the offset lies before the first record that is there, or beyond the end.
        """
        if not self.start_offset <= offset <= self.high_watermark:
            raise RequestError(KafkaError.OFFSET_OUT_OF_RANGE)
        end = self.last_stable_offset if read_committed else self.high_watermark
        records: list[FetchedRecord] = []
        for entry in islice(self.entries, bisect_left(self.entries, offset, key=_offset), None):
            if entry.offset >= end or len(records) == maximum_records:
                end = min(end, entry.offset)
                break
            if entry.kind is EntryKind.RECORD and not (read_committed and self._is_aborted(entry)):
                records.append(FetchedRecord(entry.offset, *entry.record))
        return FetchedRecords(records=tuple(records), next_offset=max(end, offset))

    def offset_for_time(self, timestamp: int, end: int) -> int:
        """Return the offset of the first record below an end that is not older than a time, or the end."""
        records = (entry for entry in self.entries if entry.kind is EntryKind.RECORD and entry.offset < end)
        return next((entry.offset for entry in records if entry.record[0] >= timestamp), end)

    def delete_before(self, offset: int) -> None:
        """Delete the records below an offset, as a request or retention does.

        Raises:
            RequestError: it lies beyond the end.
        """
        if offset > self.high_watermark:
            raise RequestError(KafkaError.OFFSET_OUT_OF_RANGE)
        self.start_offset = max(self.start_offset, offset)
        del self.entries[: bisect_left(self.entries, self.start_offset, key=_offset)]

    def compact(self, now: int) -> None:
        """Keep the newest record of each key among those below the last stable offset, and no aborted ones.

        A tombstone that is the newest of its key stays until a compaction that comes `delete_retention_ms` after the
        first one that saw it. Markers stay, and so does what lies at the last offset.
        """
        end = self.last_stable_offset
        newest: dict[bytes | None, int] = {}
        for entry in self.entries:
            if entry.offset < end and entry.kind is EntryKind.RECORD and not self._is_aborted(entry):
                newest[entry.record.key] = entry.offset
        self.entries = [entry for entry in self.entries if entry.offset >= end or self._is_kept(entry, newest, now)]

    def _is_kept(self, entry: LogEntry, newest: dict[bytes | None, int], now: int) -> bool:
        if entry.kind is not EntryKind.RECORD:
            return True
        if self._is_aborted(entry) or newest[entry.record.key] != entry.offset:
            return False
        if entry.record.value is not None:
            return True
        until = self._tombstones_until.setdefault(entry.offset, now + self.settings.delete_retention_ms)
        return now <= until

    def _is_aborted(self, entry: LogEntry) -> bool:
        return any(first <= entry.offset < marker for first, marker in self._aborted.get(entry.producer_id, ()))

    def _add(self, kind: EntryKind, producer_id: int, record: KafkaRecord) -> None:
        self.entries.append(LogEntry(self.high_watermark, kind, producer_id, record))
        self.high_watermark += 1

    def _check_records(self, records: tuple[KafkaRecord, ...], now: int) -> None:
        """Check what a broker validates.

        Raises:
            RequestError: the batch is too large, or a record has no key where it needs one, or is from the future.
        """
        if sum(len(record.key or b"") + len(record.value or b"") for record in records) > self.settings.maximum_bytes:
            raise RequestError(KafkaError.MSG_SIZE_TOO_LARGE)
        if self.settings.compacted and any(record.key is None for record in records):
            raise RequestError(KafkaError.INVALID_RECORD)
        after = self.settings.timestamps_after_ms
        if after is not None and any(record.timestamp > now + after for record in records):
            raise RequestError(KafkaError.INVALID_TIMESTAMP)


def _offset(entry: LogEntry) -> int:
    return entry.offset
