"""Joins of two streams: pairs of rows with equal keys and near event times, emitted when the second row arrives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from streamapp_core.spec.operators import JoinType
from streamapp_runtime.operators.join_side import CandidatePairs, JoinSide
from streamapp_runtime.operators.joined_rows import (
    LEFT,
    RIGHT,
    JoinedRows,
    PairCondition,
    equal_keys,
    join_keys,
    stored_sides,
)
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.sorted_run import SortedRun
from streamapp_runtime.operators.timely_rows import TimelyRows
from streamapp_runtime.rows.stored_rows import StoredRows
from streamapp_runtime.state.store import Store

_PAIRS_AT_ONCE = 1 << 18
"""Pairs that are looked at together: some hundred MB."""
_EMITS_ALONE: Mapping[JoinType, Sequence[bool]] = {
    JoinType.INNER: (False, False),
    JoinType.LEFT: (True, False),
    JoinType.RIGHT: (False, True),
    JoinType.FULL: (True, True),
}


class IntervalJoin(BaseOperator):
    """Pairs of rows near each other in time; an unmatched row of an outer side is emitted alone, with nulls.

    A row older than the watermark is late, one without event time matches nothing: both are dropped and counted. Rows
    that can't match any more are deleted (Flink's interval join).
    """

    def __init__(
        self,
        store: Store,
        *,
        keys: tuple[Sequence[str], Sequence[str]],
        schemas: tuple[pa.Schema, pa.Schema],
        kind: JoinType,
        before: int,
        after: int,
        condition: PairCondition | None = None,
    ) -> None:
        """Take for the left and the right side the columns to join on and all columns.

        The right row of a pair is at most `before` milliseconds earlier and `after` later than the left one, and the
        `condition` is true of both.
        """
        self._reach = after, before
        """How much later than a row of either side its partner may be: so long it is kept."""
        length = max(before, after)
        self._sides = [JoinSide(store, name, key, length) for name, key in zip((b"l", b"r"), keys, strict=True)]
        self._keys = keys
        self._joined = JoinedRows(keys, schemas)
        self._condition = condition
        self._emits_alone = _EMITS_ALONE[kind]
        self.max_output_delay = max(
            reach if emits else 0 for reach, emits in zip(self._reach, self._emits_alone, strict=True)
        )
        """The most by which an emitted row may be older than the watermark."""
        self._timely = TimelyRows()

    def process_left(self, rows: pa.Table) -> pa.Table | None:
        """Process a batch of the left stream; return the pairs it completes."""
        return self._process(rows, LEFT)

    def process_right(self, rows: pa.Table) -> pa.Table | None:
        """Process a batch of the right stream; return the pairs it completes."""
        return self._process(rows, RIGHT)

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Emit the unmatched rows of outer sides that can't match any more, and delete what has expired."""
        self._timely.advance(watermark)
        unmatched = [
            side.expire(watermark - reach, emit_unmatched=emit)
            for side, reach, emit in zip(self._sides, self._reach, self._emits_alone, strict=True)
        ]
        alone = [self._joined.left_alone(rows) for rows in unmatched[LEFT]] + [
            self._joined.right_alone(rows) for rows in unmatched[RIGHT]
        ]
        return pa.concat_tables(alone) if alone else None

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""
        self._timely.advance(watermark)

    def flush(self) -> None:
        """See `Operator.flush`."""
        for side in self._sides:
            side.flush()

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return self._timely.counters()

    def stored_rows(self) -> Iterator[StoredRows]:
        """See `HoldsRows.stored_rows`."""
        return stored_sides(self._keys, [side.stored() for side in self._sides])

    def _process(self, rows: pa.Table, side: int) -> pa.Table | None:
        rows = self._usable(rows, side)
        if not len(rows):
            return None
        mine, theirs = self._sides[side], self._sides[1 - side]
        run, sorted_rows = mine.sort(rows)
        keys, pairs = join_keys(sorted_rows, self._keys[side]), []
        for found in self._candidates(run, side):
            equal = equal_keys(
                keys.take(pa.array(found.batch)),
                join_keys(found.rows, self._keys[1 - side]).take(pa.array(found.here)),
            )
            batch, here = found.batch[equal], found.here[equal]
            if not len(batch):
                continue
            both = sorted_rows.take(pa.array(batch)), found.rows.take(pa.array(here))
            joined = self._joined.pair(*(both if side == LEFT else reversed(both)))
            if self._condition is not None:
                met = self._condition.is_met(joined)
                batch, here, joined = batch[met], here[met], joined.filter(pa.array(met))
            if len(batch):
                run.matched[batch] = True
                if self._emits_alone[1 - side]:
                    theirs.mark_matched(found, here)
                pairs.append(joined)
        mine.add(run, sorted_rows)
        return pa.concat_tables(pairs) if pairs else None

    def _candidates(self, run: SortedRun, side: int) -> Iterator[CandidatePairs]:
        """Find the rows of the other side that may match, not too many pairs at once: most may not meet a condition."""
        for found in self._sides[1 - side].candidates(run, before=self._reach[1 - side], after=self._reach[side]):
            for start in range(0, len(found.batch), _PAIRS_AT_ONCE):
                pairs = slice(start, start + _PAIRS_AT_ONCE)
                yield replace(found, batch=found.batch[pairs], here=found.here[pairs])

    def _usable(self, rows: pa.Table, side: int) -> pa.Table:
        """Drop rows that are late or undated, and those that can neither match nor be emitted alone."""
        usable = self._timely.filter(rows)
        if self._emits_alone[side]:
            return usable
        keys = join_keys(usable, self._keys[side])
        return usable.filter(keys.is_valid()) if keys.null_count else usable
