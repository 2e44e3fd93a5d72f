"""Joins of two streams without a bound in time: every pair of rows with equal keys, once both have come."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.joined_rows import LEFT, RIGHT, JoinedRows, equal_keys, join_keys, stored_sides
from streamapp_runtime.operators.kept_rows import KeptRows
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.timely_rows import TimelyRows
from streamapp_runtime.rows.stored_rows import StoredRows
from streamapp_runtime.state.store import Store


class RegularJoin(BaseOperator):
    """Inner joins that keep both sides for ever, where no row is late (Flink's regular join), or for a time.

    A pair is emitted with the later row, and has the later of both event times. With a `ttl`, a row matches until the
    watermark is later than its event time by more than that; rows that come when they have ended, or have no event
    time, are dropped and counted.
    """

    max_output_delay = 0

    def __init__(
        self,
        store: Store,
        *,
        keys: tuple[Sequence[str], Sequence[str]],
        schemas: tuple[pa.Schema, pa.Schema],
        ttl: int | None = None,
    ) -> None:
        """Take for the left and the right side the columns to join on and all columns; `ttl` is in milliseconds."""
        self._sides = [KeptRows(store, name, key) for name, key in zip((b"l", b"r"), keys, strict=True)]
        self._keys = keys
        self._joined = JoinedRows(keys, schemas)
        self._timely = None if ttl is None else TimelyRows(ttl)

    def process_left(self, rows: pa.Table) -> pa.Table | None:
        """Process a batch of the left stream; return the pairs it completes."""
        return self._process(rows, LEFT)

    def process_right(self, rows: pa.Table) -> pa.Table | None:
        """Process a batch of the right stream; return the pairs it completes."""
        return self._process(rows, RIGHT)

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """End the rows whose time is over at this watermark."""
        if self._timely is not None and watermark != END_OF_TIME:
            self._timely.advance(watermark)
            for side in self._sides:
                side.expire(self._timely.earliest)
        return None

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        if self._timely is not None:
            self._timely.advance(watermark)
            for side in self._sides:
                side.resume(self._timely.earliest)

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {} if self._timely is None else self._timely.counters()

    def flush(self) -> None:
        """See `Operator.flush`."""
        for side in self._sides:
            side.flush()

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        return stored_sides(self._keys, [side.stored() for side in self._sides])

    def _process(self, rows: pa.Table, side: int) -> pa.Table | None:
        if self._timely is not None:
            rows = self._timely.filter(rows)
        keys = join_keys(rows, self._keys[side])
        if keys.null_count:
            rows, keys = rows.filter(keys.is_valid()), keys.drop_null()
        if not len(rows):
            return None
        pairs = []
        for given, found in self._sides[1 - side].candidates(keys):
            equal = equal_keys(keys.take(pa.array(given)), join_keys(found, self._keys[1 - side]))
            mine, theirs = rows.take(pa.array(given[equal])), found.filter(pa.array(equal))
            if len(mine):
                pairs.append(self._joined.pair(*((mine, theirs) if side == LEFT else (theirs, mine))))
        self._sides[side].add(rows)
        return pa.concat_tables(pairs) if pairs else None
