"""The first row of each key within a span of event time: state ends when no duplicate can come any more."""

from collections.abc import Iterator, Mapping

import msgspec
import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.timely_rows import TimelyRows
from streamapp_runtime.operators.window_bounds import BEGINNING, end_key
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD, event_times
from streamapp_runtime.rows.row_codec import encode_key, to_plain_rows
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches, with_keys
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_BY_KEY, _AFTER_KEYS, _BY_TIME = b"k", b"l", b"t"
_DELETED_AT_ONCE = 100_000
_TIME_BYTES = 8

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[int]).decode


class DedupWithin(BaseOperator):
    """Emits a row unless one of its key was emitted at most `within` before or after it in event time.

    A row older than the watermark is late, one without event time is a duplicate of nothing: both are dropped and
    counted. The store has the times of each key's emitted rows, and an entry for each of them by time.
    """

    def __init__(self, store: Store, by: pa.Schema, within: int) -> None:
        """Take the columns of the key, and the span in milliseconds."""
        self._store = store
        self._by = by
        self._within = within
        self._timely = TimelyRows()

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        usable = self._timely.filter(rows)
        keys = map(encode_key, to_plain_rows(usable.select(self._by.names).columns))
        emitted = [
            index
            for index, (key, time) in enumerate(zip(keys, event_times(usable)[0].tolist(), strict=True))
            if self._is_first(key, time)
        ]
        return usable.take(pa.array(emitted)) if emitted else None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Delete the times that no row can be near to any more, some at a time: those that are left do no harm."""
        self._timely.advance(watermark)
        if watermark == END_OF_TIME:
            return None
        end = _BY_TIME + end_key(max(watermark - self._within, BEGINNING))
        for entry, _ in self._store.scan(_BY_TIME, end, _DELETED_AT_ONCE):
            self._forget(entry[len(_BY_TIME) + _TIME_BYTES :], watermark)
            self._store.delete(entry)
        return None

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        self._timely.advance(watermark)

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return self._timely.counters()

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`: the keys, with the event times of the rows that were emitted."""
        entries = scan_pages(self._store, _BY_KEY, _AFTER_KEYS)
        for keys in in_batches((at[len(_BY_KEY) :], [time]) for at, data in entries for time in _decode(data)):
            rows = with_keys(keys, self._by, pa.schema([EVENT_TIME_FIELD]))
            yield StoredRows(kind="keys", key=tuple(self._by.names), rows=rows)

    def _is_first(self, key: bytes, time: int) -> bool:
        known = self._times(key)
        if any(abs(time - other) <= self._within for other in known):
            return False
        self._store.put(_BY_KEY + key, _encode([*known, time]))
        self._store.put(_BY_TIME + end_key(time) + key, b"")
        return True

    def _forget(self, key: bytes, watermark: int) -> None:
        left = [time for time in self._times(key) if time >= watermark - self._within]
        if left:
            self._store.put(_BY_KEY + key, _encode(left))
        else:
            self._store.delete(_BY_KEY + key)

    def _times(self, key: bytes) -> list[int]:
        data = self._store.get(_BY_KEY + key)
        return [] if data is None else _decode(data)
