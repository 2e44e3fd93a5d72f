"""The table that changes lead to: the newest row of each key, kept until the end of all inputs and written then."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.window_bounds import EMITTED_AT_ONCE
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.latest_changes import latest_changes
from streamapp_runtime.rows.row_codec import digest, to_arrow_table, to_plain_rows
from streamapp_runtime.rows.stored_rows import StoredRows, in_batches
from streamapp_runtime.state.chunked_values import delete_chunks, join_chunks, put_chunks
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode


class FinalRows(BaseOperator):
    """Passes the newest rows on once nothing more can come; keys that were deleted have none.

    What has been passed on is deleted in the same commit, so a restart goes on with the others.
    """

    def __init__(
        self,
        store: Store,
        schema: pa.Schema,
        key: Sequence[str],
        write: Callable[[pa.Table], pa.Table | None],
        limit: int | None = None,
    ) -> None:
        """Take the columns of the rows, those of the key, and who is given the rows, at most `limit` at once."""
        self._store = store
        self._schema = pa.schema([*schema, EVENT_TIME_FIELD])
        self._key = list(key)
        self._write = write
        self._limit = EMITTED_AT_ONCE if limit is None else limit
        self._unfinished = False

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        newest, gone = latest_changes(rows, self._key)
        for key in gone:
            delete_chunks(self._store, digest(key))
        places = [self._schema.get_field_index(name) for name in self._key]
        keys = to_plain_rows([newest.column(place) for place in places])
        exact = range(len(self._schema))
        for key, row in zip(keys, to_plain_rows(newest.select(self._schema.names).columns, exact), strict=True):
            put_chunks(self._store, digest(key), _encode(row))
        return None

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Pass some of the rows on, if the inputs have ended."""
        if watermark != END_OF_TIME:
            return None
        rows = []
        for name, data in join_chunks(self._store.scan()):
            rows.append(_decode(data))
            delete_chunks(self._store, name)
            if len(rows) == self._limit:
                break
        self._unfinished = len(rows) == self._limit
        if rows:
            self._write(to_arrow_table(rows, self._schema))
        return None

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        for rows in in_batches(_decode(data) for _, data in join_chunks(scan_pages(self._store))):
            yield StoredRows(kind="newest rows", key=tuple(self._key), rows=to_arrow_table(rows, self._schema))

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return self._unfinished
