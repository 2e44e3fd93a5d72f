"""Values of any size in a store: in chunks that each fit a changelog record, which brokers limit to about 1 MB."""

import struct
from collections.abc import Iterable, Iterator
from itertools import count

from streamapp_runtime.state.store import Store

CHUNK_BYTES = 900_000
_NUMBER = struct.Struct(">I")


def put_chunks(store: Store, key: bytes, value: bytes) -> None:
    """Put a value: its first chunk under its key, the others under the key and their number.

    So no other key may be that key and four bytes more.
    """
    chunks = max(-(-len(value) // CHUNK_BYTES), 1)
    for number in range(chunks):
        store.put(_chunk_key(key, number), value[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES])
    _delete_from(store, key, chunks)


def get_chunks(store: Store, key: bytes) -> bytes | None:
    """Return the value that `put_chunks` put; None if there is none."""
    first = store.get(key)
    if first is None or len(first) < CHUNK_BYTES:
        return first
    chunks = [first]
    while (chunk := store.get(_chunk_key(key, len(chunks)))) is not None:
        chunks.append(chunk)
    return b"".join(chunks)


def chunked_names(store: Store, prefix: bytes, length: int) -> list[bytes]:
    """Return what follows a prefix in the keys of values that `put_chunks` put, where all are of one length."""
    names = (key[len(prefix) :] for key, _ in store.scan(prefix, prefix + b"\xff" * length))
    return [name for name in names if len(name) == length]


def join_chunks(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Put values together again that `put_chunks` put: a scan gives their chunks one after the other."""
    first, chunks = b"", list[bytes]()
    for key, value in entries:
        if chunks and len(chunks[-1]) == CHUNK_BYTES and key == _chunk_key(first, len(chunks)):
            chunks.append(value)
            continue
        if chunks:
            yield first, b"".join(chunks)
        first, chunks = key, [value]
    if chunks:
        yield first, b"".join(chunks)


def delete_chunks(store: Store, key: bytes) -> None:
    """Delete the value that `put_chunks` put, if there is one."""
    store.delete(key)
    _delete_from(store, key, 1)


def _delete_from(store: Store, key: bytes, first: int) -> None:
    for number in count(first):
        chunk = _chunk_key(key, number)
        if store.get(chunk) is None:
            return
        store.delete(chunk)


def _chunk_key(key: bytes, number: int) -> bytes:
    return key + _NUMBER.pack(number) if number else key
