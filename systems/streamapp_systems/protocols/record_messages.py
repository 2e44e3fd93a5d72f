"""The records of a stream that stores bytes."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

Headers = tuple[tuple[str, bytes | None], ...]
"""The names and values of a record's headers, in order; names may come twice."""


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

    def headers(self, at: int) -> Headers | None:
        """Return the headers of one message; None if they can't be read, as a name is no UTF-8."""
        ...

    def between(self, begin: int, end: int) -> "Messages":
        """Return those from one offset on and below another."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Message]: ...

    def __getitem__(self, at: int, /) -> Message: ...


class MessageTuple(tuple[Message, ...]):
    """Messages in a tuple; they have no headers."""

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

    def headers(self, at: int) -> Headers:  # noqa: ARG002 - none has any
        """See `Messages.headers`."""
        return ()

    def between(self, begin: int, end: int) -> "MessageTuple":
        """See `Messages.between`."""
        return MessageTuple(message for message in self if begin <= message.offset < end)
