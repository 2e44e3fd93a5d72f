"""The records of a stream that stores bytes."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """One record of a stream whose values are bytes; without a value it deletes its key (a tombstone).

    A tuple, since there is one per record: it takes a fifth of the time of a frozen dataclass to make.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Messages(Protocol):
    """The messages of a batch, in order; also by column, since an object per message costs more than reading it."""

    @property
    def values(self) -> list[bytes | None]:
        """The values alone."""
        ...

    @property
    def keys(self) -> list[bytes | None]:
        """The keys alone."""
        ...

    @property
    def timestamps(self) -> list[int]:
        """The timestamps alone."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Message]: ...

    def __getitem__(self, at: int, /) -> Message: ...


class MessageTuple(tuple[Message, ...]):
    """Messages in a tuple."""

    __slots__ = ()

    @property
    def values(self) -> list[bytes | None]:
        """See `Messages.values`."""
        return [message.value for message in self]

    @property
    def keys(self) -> list[bytes | None]:
        """See `Messages.keys`."""
        return [message.key for message in self]

    @property
    def timestamps(self) -> list[int]:
        """See `Messages.timestamps`."""
        return [message.timestamp for message in self]
