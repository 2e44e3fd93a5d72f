"""Joins of rows that replace each other give what a join of the rows as they are now gives, after every batch."""

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.upsert_join import UpsertJoin
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.tombstones import DELETED_COLUMN, DELETED_FIELD
from streamapp_runtime.state.memory_store import MemoryEnvironment

KINDS = {
    pa.string(): ["a", "b", "n" * 600, None],
    pa.float64(): [0.0, -0.0, math.nan, None, 1.5],
    pa.int32(): [1, 2, None],
}
WIDER = {pa.int32(): pa.int64()}

rows = st.none() | st.tuples(st.integers(0, 4), st.integers(-1, 1))
changes = st.tuples(st.booleans(), st.lists(st.tuples(st.integers(0, 4), rows), min_size=1, max_size=5))


class Join:
    """A join of `id, k, v` and `rid, rk, w`, with the rows as they are now."""

    def __init__(self, kind, *, unique, left=False):
        self.schemas = (
            pa.schema({"id": pa.int32(), "k": kind, "v": pa.int32()}),
            pa.schema({"rid": pa.int32(), "rk": WIDER.get(kind, kind), "w": pa.int32()}),
        )
        self.unique = unique
        self.left = left
        self.environment = MemoryEnvironment()
        self.values = KINDS[kind]
        self.now = ({}, {})
        self.results = {}
        self.restart()

    def restart(self):
        self.join = UpsertJoin(
            self.environment.store("join"),
            join_columns=(["k"], ["rk"]),
            schemas=self.schemas,
            keys=(["id"], ["rk"] if self.unique else ["rid"]),
            emitted_key=self.key,
            deletes=True,
            keeps_left=self.left,
        )

    @property
    def key(self):
        return ["id"] if self.unique else ["id", "rid"]

    def change(self, side, batch, time):
        """Process changes, and fold those of the pairs."""
        changed = []
        for number, row in batch:
            place = number % len(self.values) if row is None or (self.unique and side) else row[0] % len(self.values)
            value = self.values[place]
            values = (number, value, None if row is None else row[1])
            key = same(value) if self.unique and side else number
            self.now[side].pop(key, None)
            if row is not None:
                self.now[side][key] = values
            changed.append((*values, time, row is None))
        table = pa.Table.from_pylist(
            [dict(zip(self.fields(side).names, row, strict=True)) for row in changed], self.fields(side)
        )
        found = (self.join.process_right if side else self.join.process_left)(table)
        for row in [] if found is None else found.to_pylist():
            assert row.pop(EVENT_TIME_COLUMN) <= time
            key = tuple(row[name] for name in self.key)
            if row.pop(DELETED_COLUMN):
                assert self.results.pop(key, None) is not None
            else:
                self.results[key] = repr(list(row.values()))

    def fields(self, side):
        return pa.schema([*self.schemas[side], EVENT_TIME_FIELD, DELETED_FIELD])

    def expected(self):
        alone = {(left[0],): repr([*left, None, None]) for left in self.now[0].values()} if self.left else {}
        return alone | {
            (left[0],) if self.unique else (left[0], right[0]): repr([*left, right[0], right[2]])
            for left in self.now[0].values()
            for right in self.now[1].values()
            if left[1] is not None and same(left[1]) == same(right[1])
        }


def same(value):
    """Zeros of both signs are one key, and NaN is one."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("unique", "left"), [(False, False), (True, False), (True, True)])
@settings(max_examples=60)
@given(batches=st.lists(changes, max_size=10), restarts=st.booleans())
def test_folded_pairs_are_those_of_the_rows_as_they_are_now(kind, unique, left, batches, restarts):
    join = Join(kind, unique=unique, left=left)
    for time, (side, batch) in enumerate(batches):
        if restarts:
            join.join.flush()
            join.restart()
        join.change(int(side), batch, time)
        assert join.results == join.expected()
    for side in (0, 1):
        if join.now[side]:
            places = range(len(join.values)) if join.unique and side else join.now[side]
            gone = [(place, None) for place in places]
            join.change(side, gone, len(batches))
    assert join.results == {}
    assert list(join.environment.store("join").scan()) == []
