"""The rows of one side of a join that may still meet a partner: sorted runs, kept in a store.

Rows come in batches, and each batch is a run. A flush cuts what came since the last one into buckets of time and stores
a run for each; many small runs of a bucket become one. So a row is written a few times at most, a batch looks for its
partners in few runs, and what has expired goes by whole runs. In memory are the sorted indices (about 20 bytes a row)
and the rows of the runs used last.
"""

import struct
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_runtime.operators.sorted_run import RowIndices, SortedRun, sorted_order
from streamapp_runtime.rows.arrow_ipc import encode_rows
from streamapp_runtime.rows.event_time_column import event_times
from streamapp_runtime.rows.partitioning import key_hashes
from streamapp_runtime.state.chunked_values import delete_chunks, get_chunks, put_chunks
from streamapp_runtime.state.store import Store

_ROWS, _INDEX, _SETTLED = b"r", b"i", b"s"
_ID = struct.Struct(">QQ")
_INDEX_BYTES = 12
_BEGINNING = 1 << 63
_FRESH = 8
_ALIKE = 8
_SIZE_CLASS_BITS = 3
_CACHED_BYTES = 256 << 20
_BUCKETS = 64
_SHORTEST_BUCKET = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePairs:
    """Pairs of a batch's rows and rows of one run here: their positions, and all rows of the run."""

    batch: RowIndices
    here: RowIndices
    rows: pa.Table
    kept: "_Kept"


@dataclass(slots=True, eq=False)
class _Kept:
    """A run with its name in the store (none yet: empty); `changed`: its settled rows are not those the store knows."""

    run: SortedRun
    bucket: int = 0
    name: bytes = b""
    changed: bool = False

    @property
    def size_class(self) -> int:
        return len(self.run).bit_length() // _SIZE_CLASS_BITS


class JoinSide:
    """The rows of one side, all with event times."""

    def __init__(self, store: Store, prefix: bytes, key: str, within: int) -> None:
        """Take the column to join on and how far apart in time partners may be; entries begin with `prefix`."""
        self._store = store
        self._prefix = prefix
        self._key = key
        self._bucket = max(within, _SHORTEST_BUCKET)
        self._within = within
        self._fresh: list[tuple[SortedRun, pa.Table]] = []
        self._kept: list[_Kept] = [self._stored(name) for name in self._names()]
        self._next = 1 + max((_ID.unpack(kept.name)[1] for kept in self._kept), default=0)
        self._rows: OrderedDict[bytes, pa.Table] = OrderedDict()
        self._cached = 0

    def sort(self, rows: pa.Table) -> tuple[SortedRun, pa.Table]:
        """Make a batch a run, with its rows in the run's order."""
        hashes, (times, _) = key_hashes(rows.column(self._key)), event_times(rows)
        order = sorted_order(hashes, times)
        run = SortedRun(hashes[order], times[order], np.zeros(len(rows), np.bool_))
        return run, _taken(rows, order)

    def add(self, run: SortedRun, rows: pa.Table) -> None:
        """Keep a batch."""
        self._fresh.append((run, rows))
        if len(self._fresh) == _FRESH:
            self._fresh = [_merged(self._fresh)]

    def partners(self, run: SortedRun) -> Iterator[CandidatePairs]:
        """Find the rows that may be partners of another side's batch: their keys have equal hashes."""
        for other, rows in self._fresh:
            batch, here = run.partners(other, self._within)
            if len(batch):
                yield CandidatePairs(batch=batch, here=here, rows=rows, kept=_Kept(other))
        for kept in self._kept:
            batch, here = run.partners(kept.run, self._within)
            if len(batch):
                yield CandidatePairs(batch=batch, here=here, rows=self._load(kept), kept=kept)

    def settle(self, partners: CandidatePairs, here: RowIndices) -> None:
        """Note which of the rows found were partners indeed."""
        settled = partners.kept.run.settled
        partners.kept.changed |= not settled[here].all()
        settled[here] = True

    def expire(self, limit: int, *, alone: bool) -> list[pa.Table]:
        """Let go of the rows before a time; with `alone`, give those that have met no partner."""
        given = []
        fresh, kept_on = [], []
        for run, rows in self._fresh:
            if alone:
                given += _unsettled(run, rows, limit)
            if run.latest >= limit:
                fresh.append((run, rows))
        for kept in self._kept:
            if alone and kept.run.earliest < limit:
                lonely = _unsettled_positions(kept.run, limit)
                if len(lonely):
                    given.append(self._load(kept).take(pa.array(lonely)))
                    kept.run.settled[lonely] = True
                    kept.changed = True
            if kept.run.latest >= limit:
                kept_on.append(kept)
            else:
                self._drop(kept)
        self._fresh, self._kept = fresh, kept_on
        return given

    def flush(self) -> None:
        """Bring everything to the store."""
        if self._fresh:
            run, rows = _merged(self._fresh)
            self._fresh = []
            length = max(self._bucket, (run.latest - run.earliest) // _BUCKETS)
            buckets = run.times - run.times % length
            for bucket in np.unique(buckets):
                self._keep(int(bucket), *_part(run, rows, np.flatnonzero(buckets == bucket)))
                self._compact(int(bucket))
        for kept in self._kept:
            if kept.changed:
                put_chunks(self._store, self._entry(_SETTLED, kept.name), np.packbits(kept.run.settled).tobytes())
                kept.changed = False

    def _keep(self, bucket: int, run: SortedRun, rows: pa.Table) -> None:
        name = _ID.pack(bucket + _BEGINNING, self._next)
        self._next += 1
        put_chunks(self._store, self._entry(_ROWS, name), encode_rows(rows))
        put_chunks(self._store, self._entry(_INDEX, name), run.times.tobytes() + run.hashes.tobytes())
        self._kept.append(_Kept(run, bucket, name, changed=bool(run.settled.any())))
        self._remember(name, rows)

    def _compact(self, bucket: int) -> None:
        """Make one run of many of a bucket that are about equally large, until there are none."""
        alike: dict[int, list[_Kept]] = {}
        for kept in self._kept:
            if kept.bucket == bucket:
                alike.setdefault(kept.size_class, []).append(kept)
        for group in alike.values():
            if len(group) >= _ALIKE:
                merged = _merged([(kept.run, self._load(kept)) for kept in group])
                for kept in group:
                    self._drop(kept)
                self._kept = [kept for kept in self._kept if kept not in group]
                self._keep(bucket, *merged)
                return self._compact(bucket)
        return None

    def _load(self, kept: _Kept) -> pa.Table:
        if kept.name not in self._rows:
            data = get_chunks(self._store, self._entry(_ROWS, kept.name))
            assert data is not None
            self._remember(kept.name, pa.ipc.open_stream(data).read_all().combine_chunks())
        self._rows.move_to_end(kept.name)
        return self._rows[kept.name]

    def _remember(self, name: bytes, rows: pa.Table) -> None:
        self._rows[name] = rows
        self._cached += rows.nbytes
        while self._cached > _CACHED_BYTES and len(self._rows) > 1:
            self._cached -= self._rows.popitem(last=False)[1].nbytes

    def _drop(self, kept: _Kept) -> None:
        for kind in (_ROWS, _INDEX, _SETTLED):
            delete_chunks(self._store, self._entry(kind, kept.name))
        rows = self._rows.pop(kept.name, None)
        self._cached -= 0 if rows is None else rows.nbytes

    def _names(self) -> list[bytes]:
        start = self._entry(_INDEX, b"")
        names = (key[len(start) :] for key, _ in self._store.scan(start, start + b"\xff" * _ID.size))
        return [name for name in names if len(name) == _ID.size]

    def _stored(self, name: bytes) -> _Kept:
        index = get_chunks(self._store, self._entry(_INDEX, name)) or b""
        count = len(index) // _INDEX_BYTES
        settled = np.zeros(count, np.bool_)
        bits = get_chunks(self._store, self._entry(_SETTLED, name))
        if bits is not None:
            settled[:] = np.unpackbits(np.frombuffer(bits, np.uint8), count=count)
        times, hashes = np.frombuffer(index, np.int64, count), np.frombuffer(index, np.uint32, count, 8 * count)
        run = SortedRun(hashes, times, settled)
        return _Kept(run, _ID.unpack(name)[0] - _BEGINNING, name)

    def _entry(self, kind: bytes, name: bytes) -> bytes:
        return self._prefix + kind + name


def _merged(runs: list[tuple[SortedRun, pa.Table]]) -> tuple[SortedRun, pa.Table]:
    if len(runs) == 1:
        return runs[0]
    hashes = np.concatenate([run.hashes for run, _ in runs])
    times = np.concatenate([run.times for run, _ in runs])
    settled = np.concatenate([run.settled for run, _ in runs])
    rows = pa.concat_tables([rows for _, rows in runs])
    order = sorted_order(hashes, times)
    return SortedRun(hashes[order], times[order], settled[order]), _taken(rows, order)


def _part(run: SortedRun, rows: pa.Table, positions: RowIndices) -> tuple[SortedRun, pa.Table]:
    """Make a run of some rows of another; over a shorter time the order is a finer one."""
    positions = positions[sorted_order(run.hashes[positions], run.times[positions])]
    part = SortedRun(run.hashes[positions], run.times[positions], run.settled[positions])
    return part, _taken(rows, positions)


def _taken(rows: pa.Table, positions: RowIndices) -> pa.Table:
    return rows.take(pa.array(positions)).combine_chunks()


def _unsettled(run: SortedRun, rows: pa.Table, limit: int) -> list[pa.Table]:
    lonely = _unsettled_positions(run, limit)
    run.settled[lonely] = True
    return [rows.take(pa.array(lonely))] if len(lonely) else []


def _unsettled_positions(run: SortedRun, limit: int) -> npt.NDArray[np.int64]:
    return np.flatnonzero(~run.settled & (run.times < limit))
