"""Sequence numbers of the messages between tasks: a reader notices that one is missing (docs/control-messages.md).

The idea is that of idempotent producers of Kafka, where brokers notice it; here the reader does, so that what brokers
lose after they have confirmed it is noticed too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.control.messages import MalformedMessage, MissingMessage
from streamapp_core.ssp import Ssp

_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class SequenceNumber:
    """The number of a message, from 1, among those of the task `sender` in the same partition."""

    sender: str
    number: int
    offset: int
    """Where the message was read."""


def encode_key(sender: str, number: int) -> bytes:
    """Return the key of the record that has the message."""
    return f"{number} {sender}".encode()


def decode_key(key: bytes, *, ssp: Ssp, offset: int) -> SequenceNumber:
    """Return what `encode_key` wrote.

    Raises:
        MalformedMessage: it is another key.
    """
    number, _, sender = key.partition(b" ")
    if not number.isdigit() or len(number) > _MOST_DIGITS or not sender:
        raise MalformedMessage(ssp, offset, "its key is no sequence number; does something else write to this stream?")
    return SequenceNumber(sender.decode(errors="replace"), int(number), offset)


class SentSequences:
    """The numbers that one task has given to messages, by stream and partition."""

    def __init__(self, partitions: Mapping[str, int]) -> None:
        """Begin with 1 in every partition; `partitions` is the number of them in each stream."""
        self._last = {stream: [0] * count for stream, count in partitions.items()}

    def take_next(self, stream: str, partition: int) -> int:
        """Return the number of the next message."""
        self._last[stream][partition] += 1
        return self._last[stream][partition]

    def has_taken(self, stream: str, partition: int) -> bool:
        """Return whether a message had a number there."""
        return self._last[stream][partition] > 0

    def snapshot(self) -> dict[str, list[int]]:
        """Return the last number of each partition, for the checkpoint; streams without messages are left out."""
        return {stream: list(numbers) for stream, numbers in self._last.items() if any(numbers)}

    def restore(self, snapshot: Mapping[str, Sequence[int]]) -> None:
        """Continue from a snapshot; streams that are no more are left out."""
        for stream, numbers in snapshot.items():
            if stream in self._last:
                self._last[stream][: len(numbers)] = numbers


class ReceivedSequences:
    """The last number that one task has read from each sender, by stream and partition."""

    def __init__(self) -> None:
        self._last: defaultdict[tuple[str, int], dict[str, int]] = defaultdict(dict)

    def take(self, ssp: Ssp, found: SequenceNumber, *, late_start: bool = False) -> None:
        """Note that a message was read.

        After a `late_start`, behind messages that had been deleted, the first one of a sender may have any number.

        Raises:
            MissingMessage: it is not the next one of its sender: others are missing, or it comes again.
        """
        last = self._last[ssp.stream, ssp.partition]
        expected = last.get(found.sender, 0) + 1
        if found.number != expected and not (late_start and found.sender not in last):
            raise MissingMessage(ssp, found.offset, found.sender, found.number, expected)
        last[found.sender] = found.number

    def snapshot(self) -> dict[str, dict[int, dict[str, int]]]:
        """Return the last numbers by stream, partition and sender, for the checkpoint."""
        numbers: dict[str, dict[int, dict[str, int]]] = {}
        for (stream, partition), last in self._last.items():
            numbers.setdefault(stream, {})[partition] = dict(last)
        return numbers

    def restore(self, stream: str, partition: int, last: Mapping[str, int]) -> None:
        """Continue from what a snapshot has of one partition."""
        self._last[stream, partition] = dict(last)
