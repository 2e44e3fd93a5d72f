"""Records of one partition as they were received, in order, kept until they are polled."""

from collections.abc import Iterator, Sequence
from typing import Protocol, Self, cast

from confluent_kafka import Message as Record

from streamapp_systems.protocols import Headers, Message, Messages


class RecordRun(Messages, Protocol):
    """Messages that can be cut, and joined with others that were received in the same way. There is at least one."""

    @property
    def first_offset(self) -> int:
        """The offset of the first one."""
        ...

    @property
    def last_offset(self) -> int:
        """The offset of the last one."""
        ...

    @property
    def value_bytes(self) -> int:
        """The bytes of all values; keys are small beside them."""
        ...

    def between(self, begin: int, end: int) -> Self:
        """See `Messages.between`."""
        ...

    def slice(self, first: int, last: int) -> Self:
        """Return the messages from one place on and before another."""
        ...

    def joined(self, more: Sequence[Self]) -> Self:
        """Return these messages and more of the partition, which follow them."""
        ...


class RecordMessages:
    """The client's records as messages; nothing is copied out of them before it is used."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._records = records

    @property
    def values(self) -> list[bytes | None]:
        """See `Messages.values`."""
        return list(map(Record.value, self._records))

    @property
    def keys(self) -> list[bytes | None]:
        """See `Messages.keys`."""
        return list(map(Record.key, self._records))

    @property
    def timestamps(self) -> list[int]:
        """See `Messages.timestamps`."""
        return [time for _, time in map(Record.timestamp, self._records)]

    def headers(self, at: int) -> Headers | None:
        """See `Messages.headers`."""
        try:
            found = self._records[at].headers()
        except SystemError:  # so the client tells of a name that is no UTF-8
            return None
        return tuple(cast("list[tuple[str, bytes | None]]", found or []))

    @property
    def first_offset(self) -> int:
        """See `RecordRun.first_offset`."""
        return _offset(self._records[0])

    @property
    def last_offset(self) -> int:
        """See `RecordRun.last_offset`."""
        return _offset(self._records[-1])

    @property
    def value_bytes(self) -> int:
        """See `RecordRun.value_bytes`."""
        return sum(map(len, self._records))

    def between(self, begin: int, end: int) -> "RecordMessages":
        """See `Messages.between`."""
        return RecordMessages([record for record in self._records if begin <= _offset(record) < end])

    def slice(self, first: int, last: int) -> "RecordMessages":
        """See `RecordRun.slice`."""
        return RecordMessages(self._records[first:last])

    def joined(self, more: "Sequence[RecordMessages]") -> "RecordMessages":
        """See `RecordRun.joined`."""
        return RecordMessages([record for run in (self, *more) for record in run._records])

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Message]:
        return map(_message, self._records)

    def __getitem__(self, at: int) -> Message:
        return _message(self._records[at])


def _message(record: Record) -> Message:
    return Message(_offset(record), record.timestamp()[1], record.key(), record.value())


def _offset(record: Record) -> int:
    offset = record.offset()
    assert offset is not None, "the record came from a broker"
    return offset
