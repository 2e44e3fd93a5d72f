"""Values of any size in a store: in pieces that each fit a record of a changelog, which brokers limit to about 1 MB."""

import struct
from itertools import count

from streamapp_runtime.state.store import Store

CHUNK_BYTES = 900_000
_NUMBER = struct.Struct(">I")


def put_chunks(store: Store, key: bytes, value: bytes) -> None:
    """Write a value: its first piece under its key, the others under the key and their number.

    So no other key may be that key and four bytes more.
    """
    pieces = max(-(-len(value) // CHUNK_BYTES), 1)
    for number in range(pieces):
        store.put(_piece_key(key, number), value[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES])
    _delete_from(store, key, pieces)


def get_chunks(store: Store, key: bytes) -> bytes | None:
    """Read what `put_chunks` wrote; None if there is nothing."""
    pieces: list[bytes] = []
    while (piece := store.get(_piece_key(key, len(pieces)))) is not None:
        pieces.append(piece)
    return b"".join(pieces) if pieces else None


def delete_chunks(store: Store, key: bytes) -> None:
    """Delete what `put_chunks` wrote, if there is anything."""
    store.delete(key)
    _delete_from(store, key, 1)


def _delete_from(store: Store, key: bytes, first: int) -> None:
    for number in count(first):
        piece = _piece_key(key, number)
        if store.get(piece) is None:
            return
        store.delete(piece)


def _piece_key(key: bytes, number: int) -> bytes:
    return key + _NUMBER.pack(number) if number else key
