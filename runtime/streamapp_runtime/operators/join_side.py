"""The rows of one side of a join that may still match: sorted runs in a store, as in an LSM tree.

Each batch is a run. A flush divides the runs since the last flush into buckets of time and stores a run for each; many
small runs of a bucket are compacted into one. So a row is written a few times at most, a batch is compared with few
runs, and expired rows are deleted by whole runs. In memory are the sorted indices (about 20 bytes a row) and the rows
of the runs used last.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_runtime.operators.joined_rows import join_keys
from streamapp_runtime.operators.sorted_run import RowIndices, SortedRun, sorted_order
from streamapp_runtime.rows.arrow_ipc import encode_rows
from streamapp_runtime.rows.event_time_column import event_times
from streamapp_runtime.rows.partitioning import key_hashes
from streamapp_runtime.state.chunked_values import chunked_names, delete_chunks, get_chunks, put_chunks
from streamapp_runtime.state.row_cache import RowCache
from streamapp_runtime.state.store import Store

_ROWS, _INDEX, _MATCHED = b"r", b"i", b"s"
_ID = struct.Struct(">QQ")
_INDEX_BYTES = 12
_BEGINNING = 1 << 63
_MAX_UNFLUSHED = 8
_COMPACTED = 8
_SIZE_CLASS_BITS = 3
_CACHED_BYTES = 256 << 20
_BUCKETS = 64
_SHORTEST_BUCKET = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePairs:
    """Pairs of a batch's rows and rows of one run here: their indices, and all rows of the run."""

    batch: RowIndices
    here: RowIndices
    rows: pa.Table
    stored: "_StoredRun"


@dataclass(slots=True, eq=False)
class _StoredRun:
    """A run with its name in the store (empty: not stored yet); `changed`: `matched` differs from the store."""

    run: SortedRun
    bucket: int = 0
    name: bytes = b""
    changed: bool = False

    @property
    def size_class(self) -> int:
        return len(self.run).bit_length() // _SIZE_CLASS_BITS


class JoinSide:
    """The rows of one side, all with event times, and which of them have been matched."""

    def __init__(self, store: Store, prefix: bytes, key: Sequence[str], length: int) -> None:
        """Open the entries with `prefix`; `key` are the columns to join on, `length` how far apart matches may be."""
        self._store = store
        self._prefix = prefix
        self._key = key
        self._bucket = max(length, _SHORTEST_BUCKET)
        self._unflushed: list[tuple[SortedRun, pa.Table]] = []
        names = chunked_names(store, prefix + _INDEX, _ID.size)
        self._stored: list[_StoredRun] = [self._load_run(name) for name in names]
        self._next = 1 + max((_ID.unpack(stored.name)[1] for stored in self._stored), default=0)
        self._rows: RowCache[bytes] = RowCache(_CACHED_BYTES)

    def sort(self, rows: pa.Table) -> tuple[SortedRun, pa.Table]:
        """Return a batch as a run, with its rows in the run's order."""
        hashes, (times, _) = key_hashes(join_keys(rows, self._key)), event_times(rows)
        order = sorted_order(hashes, times)
        run = SortedRun(hashes[order], times[order], np.zeros(len(rows), np.bool_))
        return run, _take(rows, order)

    def add(self, run: SortedRun, rows: pa.Table) -> None:
        """Add a batch to this side."""
        self._unflushed.append((run, rows))
        if len(self._unflushed) == _MAX_UNFLUSHED:
            self._unflushed = [_merge_runs(self._unflushed)]

    def candidates(self, run: SortedRun, *, before: int, after: int) -> Iterator[CandidatePairs]:
        """Find the rows that may match the other side's batch: the hashes of their keys are equal.

        They are at most `before` milliseconds earlier and `after` later than the batch's.
        """
        for other, rows in self._unflushed:
            batch, here = run.matches(other, before, after)
            if len(batch):
                yield CandidatePairs(batch=batch, here=here, rows=rows, stored=_StoredRun(other))
        for stored in self._stored:
            batch, here = run.matches(stored.run, before, after)
            if len(batch):
                yield CandidatePairs(batch=batch, here=here, rows=self._rows_of(stored), stored=stored)

    def stored(self) -> Iterator[pa.Table]:
        """Iterate over the rows in the store."""
        return (self._load_rows(stored.name) for stored in self._stored)

    def mark_matched(self, candidates: CandidatePairs, here: RowIndices) -> None:
        """Mark those of the candidates that have matched."""
        matched = candidates.stored.run.matched
        candidates.stored.changed |= not matched[here].all()
        matched[here] = True

    def expire(self, limit: int, *, emit_unmatched: bool) -> list[pa.Table]:
        """Delete the rows before a time; with `emit_unmatched`, return those that were never matched."""
        emitted = []
        unflushed, remaining = [], []
        for run, rows in self._unflushed:
            if emit_unmatched:
                emitted += _take_unmatched(run, rows, limit)
            if run.latest >= limit:
                unflushed.append((run, rows))
        for stored in self._stored:
            if emit_unmatched and stored.run.earliest < limit:
                unmatched = _unmatched_indices(stored.run, limit)
                if len(unmatched):
                    emitted.append(self._rows_of(stored).take(pa.array(unmatched)))
                    stored.run.matched[unmatched] = True
                    stored.changed = True
            if stored.run.latest >= limit:
                remaining.append(stored)
            else:
                self._drop(stored)
        self._unflushed, self._stored = unflushed, remaining
        return emitted

    def flush(self) -> None:
        """Write everything to the store."""
        if self._unflushed:
            run, rows = _merge_runs(self._unflushed)
            self._unflushed = []
            length = max(self._bucket, (run.latest - run.earliest) // _BUCKETS)
            buckets = run.times - run.times % length
            for bucket in np.unique(buckets):
                self._store_run(int(bucket), *_sub_run(run, rows, np.flatnonzero(buckets == bucket)))
                self._compact(int(bucket))
        for stored in self._stored:
            if stored.changed:
                put_chunks(self._store, self._entry(_MATCHED, stored.name), np.packbits(stored.run.matched).tobytes())
                stored.changed = False

    def _store_run(self, bucket: int, run: SortedRun, rows: pa.Table) -> None:
        name = _ID.pack(bucket + _BEGINNING, self._next)
        self._next += 1
        put_chunks(self._store, self._entry(_ROWS, name), encode_rows(rows))
        put_chunks(self._store, self._entry(_INDEX, name), run.times.tobytes() + run.hashes.tobytes())
        self._stored.append(_StoredRun(run, bucket, name, changed=bool(run.matched.any())))
        self._rows.put(name, rows)

    def _compact(self, bucket: int) -> None:
        """Compact runs of a bucket that are about equally large into one, until there are few of each size."""
        by_size: dict[int, list[_StoredRun]] = {}
        for stored in self._stored:
            if stored.bucket == bucket:
                by_size.setdefault(stored.size_class, []).append(stored)
        for group in by_size.values():
            if len(group) >= _COMPACTED:
                merged = _merge_runs([(stored.run, self._rows_of(stored)) for stored in group])
                for stored in group:
                    self._drop(stored)
                self._stored = [stored for stored in self._stored if stored not in group]
                self._store_run(bucket, *merged)
                return self._compact(bucket)
        return None

    def _rows_of(self, stored: _StoredRun) -> pa.Table:
        return self._rows.get(stored.name, lambda: self._load_rows(stored.name))

    def _load_rows(self, name: bytes) -> pa.Table:
        data = get_chunks(self._store, self._entry(_ROWS, name))
        assert data is not None
        return pa.ipc.open_stream(data).read_all().combine_chunks()

    def _drop(self, stored: _StoredRun) -> None:
        for kind in (_ROWS, _INDEX, _MATCHED):
            delete_chunks(self._store, self._entry(kind, stored.name))
        self._rows.drop(stored.name)

    def _load_run(self, name: bytes) -> _StoredRun:
        index = get_chunks(self._store, self._entry(_INDEX, name)) or b""
        count = len(index) // _INDEX_BYTES
        matched = np.zeros(count, np.bool_)
        bits = get_chunks(self._store, self._entry(_MATCHED, name))
        if bits is not None:
            matched[:] = np.unpackbits(np.frombuffer(bits, np.uint8), count=count)
        times, hashes = np.frombuffer(index, np.int64, count), np.frombuffer(index, np.uint32, count, 8 * count)
        run = SortedRun(hashes, times, matched)
        return _StoredRun(run, _ID.unpack(name)[0] - _BEGINNING, name)

    def _entry(self, kind: bytes, name: bytes) -> bytes:
        return self._prefix + kind + name


def _merge_runs(runs: list[tuple[SortedRun, pa.Table]]) -> tuple[SortedRun, pa.Table]:
    if len(runs) == 1:
        return runs[0]
    hashes = np.concatenate([run.hashes for run, _ in runs])
    times = np.concatenate([run.times for run, _ in runs])
    matched = np.concatenate([run.matched for run, _ in runs])
    rows = pa.concat_tables([rows for _, rows in runs])
    order = sorted_order(hashes, times)
    return SortedRun(hashes[order], times[order], matched[order]), _take(rows, order)


def _sub_run(run: SortedRun, rows: pa.Table, indices: RowIndices) -> tuple[SortedRun, pa.Table]:
    """Return some rows of a run as a run of their own; over a shorter time its order is a finer one."""
    indices = indices[sorted_order(run.hashes[indices], run.times[indices])]
    part = SortedRun(run.hashes[indices], run.times[indices], run.matched[indices])
    return part, _take(rows, indices)


def _take(rows: pa.Table, indices: RowIndices) -> pa.Table:
    return rows.take(pa.array(indices)).combine_chunks()


def _take_unmatched(run: SortedRun, rows: pa.Table, limit: int) -> list[pa.Table]:
    unmatched = _unmatched_indices(run, limit)
    run.matched[unmatched] = True
    return [rows.take(pa.array(unmatched))] if len(unmatched) else []


def _unmatched_indices(run: SortedRun, limit: int) -> npt.NDArray[np.int64]:
    return np.flatnonzero(~run.matched & (run.times < limit))
