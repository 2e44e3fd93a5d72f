"""Rows that wait for the watermark, and are taken in the order of their event times.

What is still there at a flush goes to the store as chunks: Arrow batches sorted by event time, then by arrival. A chunk
is written once. The place up to which rows have been taken is stored beside the chunks; a chunk is deleted when all of
it lies before that place.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_runtime.operators.window_bounds import BEGINNING
from streamapp_runtime.rows.arrow_ipc import encode_rows
from streamapp_runtime.rows.event_time_column import event_times
from streamapp_runtime.state.chunked_values import delete_chunks, get_chunks, put_chunks
from streamapp_runtime.state.store import Store

Numbers = npt.NDArray[np.int64]
_ARRIVAL = pa.field("__arrival", pa.int64())
_PREFIX = b"p"
_PROGRESS, _INDEX, _ROWS, _RETURNED = (_PREFIX + kind for kind in (b"p", b"i", b"r", b"b"))
_NAME = struct.Struct(">Q")
_EARLIEST = struct.Struct(">q")
_PLACE = struct.Struct(">qqq")
_CHUNK_ROWS = 50_000
_LOADED_ROWS = 1_000_000


@dataclass(slots=True, eq=False)
class SortedRows:
    """Rows in the order of event time, then arrival; those before `start` are taken."""

    numbered: pa.Table
    start: int = 0
    times: Numbers = field(init=False)
    arrivals: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.times, _ = event_times(self.numbered)
        self.arrivals = self.numbered.column(_ARRIVAL.name).to_numpy()

    def __len__(self) -> int:
        return len(self.times) - self.start

    @property
    def rows(self) -> pa.Table:
        """The rows as they came."""
        return self.numbered.drop_columns([_ARRIVAL.name]).slice(self.start)

    @property
    def earliest(self) -> int:
        """The first time."""
        return int(self.times[self.start])

    def filter(self, mask: npt.NDArray[np.bool_]) -> "SortedRows":
        """Return some of the rows."""
        return SortedRows(self.numbered.slice(self.start).filter(pa.array(mask)).combine_chunks())

    def count_until(self, time: int) -> int:
        """Return how many rows have at most this time."""
        return int(np.searchsorted(self.times, time, "right")) - self.start

    def skip(self, place: tuple[int, int]) -> None:
        """Skip the rows up to a time and an arrival."""
        time, arrival = place
        taken = (self.times < time) | ((self.times == time) & (self.arrivals <= arrival))
        self.start = int(taken.sum())


@dataclass(slots=True, eq=False)
class _Chunk:
    """Sorted rows in the store, and in memory if they are in use."""

    name: bytes
    earliest: int
    rows: SortedRows | None = None


class PendingRows:
    """The rows of an operator that the watermark has not reached; all have event times."""

    def __init__(self, store: Store, chunk_rows: int = _CHUNK_ROWS, loaded_rows: int = _LOADED_ROWS) -> None:
        """Open the entries of an operator's store that begin with `p`."""
        self._store = store
        self._chunk_rows, self._loaded_rows = chunk_rows, loaded_rows
        self._stored_place = store.get(_PROGRESS)
        place = (BEGINNING, -1, 0) if self._stored_place is None else _PLACE.unpack(self._stored_place)
        self._taken: tuple[int, int] = place[:2]
        self._arrived: int = place[2]
        returned = get_chunks(store, _RETURNED)
        self._returned = [] if returned is None else [_decode(returned)]
        self._returned_changed = False
        self._unflushed: list[SortedRows] = []
        self._chunks = [_Chunk(at[len(_INDEX) :], _EARLIEST.unpack(value)[0]) for at, value in self._index()]
        self._next_name = 1 + max((_NAME.unpack(chunk.name)[0] for chunk in self._chunks), default=0)
        for chunk in self._chunks:
            if chunk.earliest <= self._taken[0]:
                self._load(chunk)

    @property
    def earliest(self) -> int | None:
        """The first time; None without rows."""
        chunks = [chunk.earliest for chunk in self._chunks if chunk.rows is None]
        return min([*chunks, *(rows.earliest for rows in self._in_memory())], default=None)

    def add(self, rows: pa.Table) -> None:
        """Add rows in the order of their arrival."""
        arrivals = np.arange(self._arrived, self._arrived + len(rows))
        self._arrived += len(rows)
        times, _ = event_times(rows)
        numbered = rows.append_column(_ARRIVAL, pa.array(arrivals))
        if (times[1:] < times[:-1]).any():
            numbered = numbered.take(pa.array(np.argsort(times, kind="stable")))
        self._unflushed.append(SortedRows(numbered.combine_chunks()))

    def stored(self) -> Iterator[pa.Table]:
        """Iterate over the rows that are in the store and have not been taken, each chunk of them by event time."""
        for source in (*self._returned, *map(self._load_again, self._chunks)):
            if len(source):
                yield source.rows

    def take(self, until: int, limit: int) -> SortedRows | None:
        """Remove the first rows up to a time, at most `limit`; return them."""
        sources, until = self._sources(until, limit)
        counts = [rows.count_until(until) for rows in sources]
        if not sum(counts):
            return None
        times, arrivals = _joined(sources, counts)
        first = np.lexsort((arrivals, times))[:limit]
        counts = np.bincount(np.repeat(np.arange(len(sources)), counts)[first], minlength=len(sources)).tolist()
        taken = _merged(sources, counts)
        for rows, count in zip(sources, counts, strict=True):
            rows.start += count
        self._returned_changed |= any(rows in sources for rows in self._returned)
        self._taken = max(self._taken, (int(taken.times[-1]), int(taken.arrivals[-1])))
        self._drop_taken()
        return taken

    def put_back(self, rows: SortedRows) -> None:
        """Put some of the rows back that were taken last: they come first."""
        self._returned = [_merged([rows, *self._returned], [len(rows), *map(len, self._returned)])]
        self._returned_changed = True

    def flush(self) -> None:
        """Write what is here, and not in the store, to the store."""
        unflushed = [rows for rows in self._unflushed if len(rows)]
        if unflushed:
            merged = _merged(unflushed, list(map(len, unflushed))).numbered
            for start in range(0, len(merged), self._chunk_rows):
                self._store_chunk(merged.slice(start, self._chunk_rows).combine_chunks())
        self._unflushed = []
        if self._returned_changed:
            delete_chunks(self._store, _RETURNED)
            for rows in self._returned:
                put_chunks(self._store, _RETURNED, encode_rows(rows.numbered.slice(rows.start)))
            self._returned_changed = False
        place = _PLACE.pack(*self._taken, self._arrived)
        if self._arrived and place != self._stored_place:
            self._store.put(_PROGRESS, place)
            self._stored_place = place
        self._unload()

    def _sources(self, until: int, limit: int) -> tuple[Sequence[SortedRows], int]:
        """Load what may hold the first rows; return these, and up to which time nothing else has any."""
        sources = [rows for rows in self._in_memory() if rows.earliest <= until]
        unloaded = [chunk for chunk in self._chunks if chunk.rows is None and chunk.earliest <= until]
        for chunk in sorted(unloaded, key=lambda chunk: chunk.earliest):
            if sum(rows.count_until(chunk.earliest - 1) for rows in sources) >= limit:
                return sources, chunk.earliest - 1
            sources.append(self._load(chunk))
        return sources, until

    def _in_memory(self) -> list[SortedRows]:
        chunks = [chunk.rows for chunk in self._chunks if chunk.rows is not None]
        return [rows for rows in (*self._returned, *self._unflushed, *chunks) if len(rows)]

    def _drop_taken(self) -> None:
        self._returned = [rows for rows in self._returned if len(rows)]
        self._unflushed = [rows for rows in self._unflushed if len(rows)]
        for chunk in [chunk for chunk in self._chunks if chunk.rows is not None and not len(chunk.rows)]:
            delete_chunks(self._store, _ROWS + chunk.name)
            self._store.delete(_INDEX + chunk.name)
            self._chunks.remove(chunk)

    def _store_chunk(self, numbered: pa.Table) -> None:
        rows = SortedRows(numbered)
        chunk = _Chunk(_NAME.pack(self._next_name), rows.earliest, rows)
        self._next_name += 1
        put_chunks(self._store, _ROWS + chunk.name, encode_rows(numbered))
        self._store.put(_INDEX + chunk.name, _EARLIEST.pack(chunk.earliest))
        self._chunks.append(chunk)

    def _load(self, chunk: _Chunk) -> SortedRows:
        chunk.rows = self._load_again(chunk)
        return chunk.rows

    def _load_again(self, chunk: _Chunk) -> SortedRows:
        data = get_chunks(self._store, _ROWS + chunk.name)
        assert data is not None
        rows = _decode(data)
        rows.skip(self._taken)
        return rows

    def _unload(self) -> None:
        """Free the memory of the chunks that are needed last; the rows before `start` of others are known no more."""
        loaded = 0
        for chunk in sorted(self._chunks, key=lambda chunk: chunk.earliest):
            loaded += 0 if chunk.rows is None else len(chunk.rows)
            if loaded > self._loaded_rows and chunk.rows is not None and chunk.rows.start == 0:
                chunk.rows = None

    def _index(self) -> list[tuple[bytes, bytes]]:
        return list(self._store.scan(_INDEX, _INDEX + b"\xff" * (_NAME.size + 1)))


def _decode(data: bytes) -> SortedRows:
    return SortedRows(pa.ipc.open_stream(data).read_all().combine_chunks())


def _joined(sources: Sequence[SortedRows], counts: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return the times and the arrivals of the first rows of each."""
    spans = [(rows, slice(rows.start, rows.start + count)) for rows, count in zip(sources, counts, strict=True)]
    return (
        np.concatenate([rows.times[span] for rows, span in spans]),
        np.concatenate([rows.arrivals[span] for rows, span in spans]),
    )


def _merged(sources: Sequence[SortedRows], counts: Sequence[int]) -> SortedRows:
    """Return the first rows of each as one."""
    times, arrivals = _joined(sources, counts)
    rows = pa.concat_tables(
        rows.numbered.slice(rows.start, count) for rows, count in zip(sources, counts, strict=True) if count
    )
    if sum(map(bool, counts)) > 1:
        rows = rows.take(pa.array(np.lexsort((arrivals, times))))
    return SortedRows(rows.combine_chunks())
