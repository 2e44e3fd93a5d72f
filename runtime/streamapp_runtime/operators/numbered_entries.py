"""Entries of groups in a store: each group has a number, which the names of its entries begin with.

The entries of a group that has ended are deleted some at a time; if it starts again, it has another number.
"""

from collections.abc import Iterator
from typing import TypeAlias

from streamapp_runtime.state.chunked_values import CHUNK_BYTES, get_chunks, join_chunks, put_chunks
from streamapp_runtime.state.prefixed_store import PrefixedStore
from streamapp_runtime.state.store import Store

Stored: TypeAlias = dict[int, int]
"""The number of a group whose values are entries, and how many values it has."""

_PREFIX = b"d"
_VALUE, _ENDED, _NEXT = b"v", b"w", b"x"
_NUMBER_BYTES = 8
_LONGEST_NAME = 32
_DELETED_AT_ONCE = 20_000


class NumberedEntries:
    """The entries of groups in a part of a store, which begins with `d`. The names in a group are of one length."""

    def __init__(self, store: Store) -> None:
        self._store = PrefixedStore(store, _PREFIX)
        self._may_have_ended = True

    def begin(self) -> int:
        """Return the number of a new group."""
        number = int(self._store.get(_NEXT) or b"0")
        self._store.put(_NEXT, b"%d" % (number + 1))
        return number

    def get(self, number: int, name: bytes) -> bytes | None:
        """Return the value of an entry; None if there is none."""
        return get_chunks(self._store, _start(number) + name)

    def put(self, number: int, name: bytes, value: bytes) -> None:
        """Set the value of an entry, which is not smaller than before if it took several chunks."""
        if len(value) < CHUNK_BYTES:
            self._store.put(_start(number) + name, value)
        else:
            put_chunks(self._store, _start(number) + name, value)

    def delete(self, number: int, name: bytes) -> None:
        """Delete an entry, whose value took one chunk."""
        self._store.delete(_start(number) + name)

    def scan(self, number: int) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over the names and values of a group in the order of the names."""
        start = _start(number)
        for key, value in join_chunks(self._store.scan(start, _end(start))):
            yield key[len(start) :], value

    def end(self, stored: Stored) -> None:
        """Note that a group has ended, so that its entries are deleted."""
        for number in stored:
            self._store.put(_ENDED + _name(number), b"")
        self._may_have_ended = True

    def delete_ended(self, limit: int = _DELETED_AT_ONCE) -> None:
        """Delete at most so many entries of groups that have ended."""
        if not self._may_have_ended:
            return
        for ended, _ in self._store.scan(_ENDED, _NEXT):
            start = _VALUE + ended[len(_ENDED) :]
            found = list(self._store.scan(start, _end(start), limit))
            for entry, _ in found:
                self._store.delete(entry)
            limit -= len(found)
            if not limit:
                return
            self._store.delete(ended)
        self._may_have_ended = False


def _start(number: int) -> bytes:
    return _VALUE + _name(number)


def _end(start: bytes) -> bytes:
    return start + b"\xff" * (_LONGEST_NAME + 1)


def _name(number: int) -> bytes:
    return number.to_bytes(_NUMBER_BYTES, "big")
