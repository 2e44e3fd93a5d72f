"""Entries of stores as columns of keys and values, from operators to LMDB and the changelog without an object each."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import lmdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_systems.native.key_groups import order_of
from streamapp_systems.native.library import native_library
from streamapp_systems.native.lmdb_batches import get_values, lmdb_handle, put_entries

_ENTRIES = 20_000
_BYTES = 64 << 20
"""Bytes of values that make a column, which has room for 2 GB; single values are a few MB at most."""
_MOST_BYTES = 1 << 30
"""Bytes that are put into LMDB in one order."""


class Entries(NamedTuple):
    """Some entries: their keys, and their values, null where a key is deleted."""

    keys: pa.BinaryArray
    values: pa.BinaryArray


class WrittenColumns:
    """Entries that were written to a store as columns, the oldest first."""

    def __init__(self) -> None:
        self._written: list[Entries] = []
        self._sorted = False

    @property
    def is_sorted(self) -> bool:
        """Whether there are any, no key comes twice, and all are in their order."""
        return bool(self._written) and self._sorted

    def append(self, entries: Entries, *, is_sorted: bool) -> None:
        """Add entries that were written behind all others; whether no key of them comes twice, and all are in order."""
        if not len(entries.keys):
            return
        last = self._written[-1].keys[-1].as_py() if self._written else b""
        self._sorted = is_sorted and (not self._written or self._sorted) and last < entries.keys[0].as_py()
        self._written.append(entries)

    def sort(self) -> bool:
        """Bring all into the order of keys, of each the newest value; return whether that could be done natively."""
        library = native_library().functions
        if library is None or sum(map(_size, self._written)) > _MOST_BYTES:
            return False
        if not self.is_sorted:
            joined = _joined(self._written)
            order = order_of(library, joined.keys)
            keys = joined.keys.take(pa.array(order))
            newest = np.ones(len(keys), np.bool_)
            newest[:-1] = pc.not_equal(keys[:-1], keys[1:]).to_numpy(zero_copy_only=False)
            chosen = pa.array(newest)
            self._written = [Entries(keys.filter(chosen), joined.values.take(pa.array(order[newest])))]
            self._sorted = True
        return True

    def clear(self) -> None:
        """Forget all."""
        self._written.clear()

    def write(self, transaction: lmdb.Transaction, database: "lmdb._Database") -> bool:
        """Put all into a transaction, of each key the newest value; return whether that could be done natively.

        Raises:
            lmdb.Error: the transaction must be aborted.
        """
        handle = lmdb_handle(transaction, database)
        if handle is None:
            return False
        if self.is_sorted:
            for some in self._written:
                put_entries(handle, *some)
            return True
        for some in _together(self._written):
            put_entries(handle, *some, order_of(handle.lmdb.library, some.keys))
        return True

    def __bool__(self) -> bool:
        return bool(self._written)

    def __iter__(self) -> Iterator[Entries]:
        return iter(self._written)


def read_values(
    transaction: lmdb.Transaction, database: "lmdb._Database", keys: pa.BinaryArray
) -> pa.BinaryArray | None:
    """Return the value of each key, null where there is none; None if that can't be done natively."""
    handle = lmdb_handle(transaction, database)
    return None if handle is None else get_values(handle, keys)


def entry_columns(entries: Iterable[tuple[bytes, bytes | None]]) -> Iterator[Entries]:
    """Yield entries as columns, some at a time, in their order."""
    left = iter(entries)
    while some := list(islice(left, _ENTRIES)):
        yield from _parts([key for key, _ in some], [value for _, value in some])


def _parts(keys: Sequence[bytes], values: Sequence[bytes | None]) -> Iterator[Entries]:
    if len(values) > 1 and sum(map(len, filter(None, values))) > _BYTES:
        half = len(values) // 2
        yield from _parts(keys[:half], values[:half])
        yield from _parts(keys[half:], values[half:])
    else:
        yield Entries(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))


def _together(written: Sequence[Entries]) -> Iterator[Entries]:
    """Join columns, as many as one has room for."""
    some: list[Entries] = []
    size = 0
    for entries in written:
        more = _size(entries)
        if some and size + more > _MOST_BYTES:
            yield _joined(some)
            some, size = [], 0
        some.append(entries)
        size += more
    if some:
        yield _joined(some)


def _size(entries: Entries) -> int:
    return int(entries.keys.nbytes + entries.values.nbytes)


def _joined(some: Sequence[Entries]) -> Entries:
    if len(some) == 1:
        return some[0]
    return Entries(pa.concat_arrays([each.keys for each in some]), pa.concat_arrays([each.values for each in some]))
