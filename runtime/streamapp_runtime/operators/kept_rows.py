"""The rows of one side of a join that has no bound in time, in the order in which they came.

Rows are stored in blocks, which are numbered by their first row. A flush appends a block; many small neighbours are
compacted into one, until it has about a megabyte. Which rows have a key is known by sorted hashes in
memory (12 bytes a row); they are stored beside their block, unsorted. Rows may end: those before a time match no more,
and a block is dropped when all of its rows have ended.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.murmur2 import Hashes
from streamapp_runtime.operators.joined_rows import join_keys
from streamapp_runtime.operators.sorted_run import RowIndices, indices_of_ranges
from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.arrow_ipc import encode_rows
from streamapp_runtime.rows.event_time_column import event_times, latest_event_time
from streamapp_runtime.rows.partitioning import key_hashes
from streamapp_runtime.state.chunked_values import chunked_names, delete_chunks, get_chunks, put_chunks
from streamapp_runtime.state.row_cache import RowCache
from streamapp_runtime.state.store import Store

_ROWS, _HASHES = b"r", b"i"
_FIRST = struct.Struct(">Q")
_HEADER = struct.Struct(">Qq")
_BLOCK_BYTES = 1 << 20
_COMPACTED = 8
_SIZE_CLASS_BITS = 3
_FULL = _BLOCK_BYTES.bit_length() // _SIZE_CLASS_BITS
_CACHED_BYTES = 256 << 20
_PAIRS_AT_ONCE = 1 << 11
"""Few enough for rows of a megabyte: a column of texts holds 2 GB."""
_STALE_INDEX = 1.25
"""The index may be so many times larger than what is left: to drop from it is to copy it."""
_FULL_INDEX = 64
"""Larger than any size class: indices are compacted however large they are."""


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows with consecutive numbers, none later than `latest`; rows and hashes are here until they are stored."""

    first: int
    length: int
    size: int
    latest: int
    rows: pa.Table | None = None
    hashes: Hashes | None = None

    @property
    def size_class(self) -> int:
        return self.size.bit_length() // _SIZE_CLASS_BITS


@dataclass(frozen=True, slots=True)
class _IndexRun:
    """Hashes in their order, and the numbers of their rows."""

    hashes: Hashes
    numbers: RowIndices

    @property
    def size_class(self) -> int:
        return len(self.hashes).bit_length() // _SIZE_CLASS_BITS

    def within(self, starts: RowIndices, ends: RowIndices) -> "_IndexRun":
        """Return the part with the numbers of some ranges [start, end), which are in order."""
        place = np.searchsorted(starts, self.numbers, "right") - 1
        left = (place >= 0) & (self.numbers < ends[place]) if len(starts) else np.zeros(len(self.numbers), np.bool_)
        return _IndexRun(self.hashes[left], self.numbers[left])


class KeptRows:
    """The rows of one side: all of them, or those that have not ended."""

    def __init__(self, store: Store, prefix: bytes, key: Sequence[str]) -> None:
        """Open the entries with `prefix`; `key` are the columns to join on."""
        self._store = store
        self._prefix = prefix
        self._key = key
        loaded = [self._load_block(first) for first in self._stored_blocks()]
        self._blocks = [block for block, _ in loaded]
        self._next = _end(self._blocks)
        runs = [_index_run(block.first, hashes) for block, hashes in loaded]
        self._index = [_merged(runs)] if runs else []
        self._indexed = sum(block.length for block in self._blocks)
        """The number of rows in the index; some may have been dropped."""
        self._earliest = BEGINNING
        self._cache: RowCache[int] = RowCache(_CACHED_BYTES)

    def add(self, rows: pa.Table) -> None:
        """Add a batch."""
        rows = rows.combine_chunks()
        hashes = key_hashes(join_keys(rows, self._key))
        self._blocks.append(_block(self._next, rows, hashes))
        self._index.append(_index_run(self._next, hashes))
        self._indexed += len(rows)
        self._next += len(rows)
        while (tail := _small_tail(self._index, _FULL_INDEX)) > 1:
            self._index[-tail:] = [_merged(self._index[-tail:])]

    def candidates(self, keys: pa.ChunkedArray) -> Iterator[tuple[RowIndices, pa.Table]]:
        """Find the rows whose keys have the hashes of these: the indices of the keys, and a row for each index.

        Those of one block come together, and not more at once than fit in memory.
        """
        if not self._index:
            return
        hashes = key_hashes(keys)
        found = [_find(hashes, run) for run in self._index]
        given, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(numbers, kind="stable")
        given, numbers = given[order], numbers[order]
        starts = np.array([block.first for block in self._blocks], np.int64)
        places = np.searchsorted(starts, numbers, "right") - 1
        if self._indexed > self._kept:
            lengths = np.array([block.length for block in self._blocks], np.int64)
            left = (places >= 0) & (numbers < (starts + lengths)[places])
            given, numbers, places = given[left], numbers[left], places[left]
        for place in np.unique(places):
            start, end = np.searchsorted(places, [place, place + 1])
            for part in range(start, end, _PAIRS_AT_ONCE):
                pairs = slice(part, min(part + _PAIRS_AT_ONCE, end))
                rows = self._rows_of(self._blocks[place])
                found = rows.take(pa.array(numbers[pairs] - starts[place]))
                if self._earliest == BEGINNING:
                    yield given[pairs], found
                else:
                    alive = event_times(found)[0] >= self._earliest
                    yield given[pairs][alive], found.filter(pa.array(alive))

    def stored(self) -> Iterator[pa.Table]:
        """Iterate over the rows in the store that have not ended, in the order in which they came."""
        for block in self._blocks:
            rows = self._load_rows(block.first)
            yield rows if self._earliest == BEGINNING else rows.filter(pa.array(event_times(rows)[0] >= self._earliest))

    def expire(self, earliest: int) -> None:
        """End the rows before an event time, which only rises."""
        self._earliest = earliest
        ended = [block for block in self._blocks if block.latest < earliest]
        if not ended:
            return
        for block in ended:
            if block.rows is None:
                self._drop(block)
        self._blocks = [block for block in self._blocks if block.latest >= earliest]
        if self._indexed > self._kept * _STALE_INDEX:
            self._drop_from_index()

    def resume(self, earliest: int) -> None:
        """Continue where the rows before an event time have ended."""
        self._earliest = earliest

    @property
    def _kept(self) -> int:
        return sum(block.length for block in self._blocks)

    def _drop_from_index(self) -> None:
        starts = np.array([block.first for block in self._blocks], np.int64)
        ends = np.array([block.first + block.length for block in self._blocks], np.int64)
        left = [run.within(starts, ends) for run in self._index]
        self._index = [run for run in left if len(run.hashes)]
        self._indexed = sum(len(run.hashes) for run in self._index)

    def flush(self) -> None:
        """Write everything to the store."""
        unstored = [block for block in self._blocks if block.rows is not None]
        if not unstored:
            return
        del self._blocks[-len(unstored) :]
        for blocks in _neighbours(unstored):
            for block in _divide(self._merge_blocks(blocks)):
                self._store_block(block)
        while (tail := _small_tail(_neighbours(self._blocks)[-1], _FULL)) > 1:
            small = self._blocks[-tail:]
            merged = self._merge_blocks(small)
            for block in small:
                self._drop(block)
            del self._blocks[-tail:]
            self._store_block(merged)

    def _merge_blocks(self, blocks: Sequence[_Block]) -> _Block:
        rows = pa.concat_tables([self._rows_of(block) for block in blocks]).combine_chunks()
        hashes = np.concatenate([self._hashes_of(block) for block in blocks])
        return _Block(blocks[0].first, len(rows), rows.nbytes, max(block.latest for block in blocks), rows, hashes)

    def _store_block(self, block: _Block) -> None:
        assert block.rows is not None
        assert block.hashes is not None
        put_chunks(self._store, self._entry(_ROWS, block.first), encode_rows(block.rows))
        header = _HEADER.pack(block.size, block.latest)
        put_chunks(self._store, self._entry(_HASHES, block.first), header + block.hashes.tobytes())
        self._blocks.append(replace(block, rows=None, hashes=None))
        self._cache.put(block.first, block.rows)

    def _rows_of(self, block: _Block) -> pa.Table:
        if block.rows is not None:
            return block.rows
        return self._cache.get(block.first, lambda: self._load_rows(block.first))

    def _load_rows(self, first: int) -> pa.Table:
        data = get_chunks(self._store, self._entry(_ROWS, first))
        assert data is not None
        return pa.ipc.open_stream(data).read_all().combine_chunks()

    def _hashes_of(self, block: _Block) -> Hashes:
        return self._load_block(block.first)[1] if block.hashes is None else block.hashes

    def _drop(self, block: _Block) -> None:
        for kind in (_ROWS, _HASHES):
            delete_chunks(self._store, self._entry(kind, block.first))
        self._cache.drop(block.first)

    def _stored_blocks(self) -> list[int]:
        return [_FIRST.unpack(name)[0] for name in chunked_names(self._store, self._prefix + _HASHES, _FIRST.size)]

    def _load_block(self, first: int) -> tuple[_Block, Hashes]:
        data = get_chunks(self._store, self._entry(_HASHES, first))
        assert data is not None
        size, latest = _HEADER.unpack_from(data)
        hashes = np.frombuffer(data, np.uint32, offset=_HEADER.size)
        return _Block(first, len(hashes), size, latest), hashes

    def _entry(self, kind: bytes, first: int) -> bytes:
        return self._prefix + kind + _FIRST.pack(first)


def _divide(block: _Block) -> Iterator[_Block]:
    """Divide a block into some of a few megabytes at most, if its rows are about equally large."""
    assert block.rows is not None
    assert block.hashes is not None
    count = max(block.size // (_COMPACTED * _BLOCK_BYTES), 1)
    length = -(-len(block.rows) // count)
    for start in range(0, len(block.rows), length):
        rows = block.rows if count == 1 else block.rows.slice(start, length)
        yield _block(block.first + start, rows, block.hashes[start : start + length])


def _block(first: int, rows: pa.Table, hashes: Hashes) -> _Block:
    latest = latest_event_time(rows)
    return _Block(first, len(rows), rows.nbytes, BEGINNING if latest is None else latest, rows, hashes)


def _end(blocks: Sequence[_Block]) -> int:
    return blocks[-1].first + blocks[-1].length if blocks else 0


def _neighbours(blocks: Sequence[_Block]) -> list[list[_Block]]:
    """Divide blocks where others between them have been dropped: numbers of rows are consecutive in each part."""
    parts: list[list[_Block]] = []
    for block in blocks:
        if parts and _end(parts[-1]) == block.first:
            parts[-1].append(block)
        else:
            parts.append([block])
    return parts


def _small_tail(parts: Sequence[_Block] | Sequence[_IndexRun], full: int) -> int:
    """Return how many of the last parts are to be compacted into one: many of about one size; 0 if there are not."""
    tail = 0
    for size_class in range(full):
        while tail < len(parts) and parts[-1 - tail].size_class <= size_class:
            tail += 1
        if tail >= _COMPACTED:
            return tail
        if tail == len(parts):
            return 0
    return 0


def _index_run(first: int, hashes: Hashes) -> _IndexRun:
    order = np.argsort(hashes, kind="stable")
    return _IndexRun(hashes[order], first + order)


def _merged(runs: Sequence[_IndexRun]) -> _IndexRun:
    hashes = np.concatenate([run.hashes for run in runs])
    order = np.argsort(hashes, kind="stable")
    return _IndexRun(hashes[order], np.concatenate([run.numbers for run in runs])[order])


def _find(hashes: npt.NDArray[np.uint32], run: _IndexRun) -> tuple[RowIndices, RowIndices]:
    """Return the pairs of equal hashes: indices of these, and numbers of rows."""
    first = np.searchsorted(run.hashes, hashes, "left")
    mine, theirs = indices_of_ranges(first, np.searchsorted(run.hashes, hashes, "right"))
    return mine, run.numbers[theirs]
