"""Joins of two streams against a plain reading of their definition, whatever comes when, over restarts."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import Condition
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.operators import JoinType
from streamapp_runtime.operators.interval_join import IntervalJoin
from streamapp_runtime.operators.joined_rows import PairCondition
from streamapp_runtime.rows.event_time_column import add_event_time
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment

LEFT = pa.schema([("k", pa.string()), ("a", pa.int64()), ("at", pa.int64())])
RIGHT = pa.schema([("key", pa.string()), ("b", pa.int64()), ("bt", pa.int64())])
BOUNDS = [(10, 10), (0, 15), (12, 3), (0, 0)]
"""How much earlier and how much later than the left row the right one may be."""

CONDITION = Condition("a % 3 < b % 3")
ENGINE = SqlEngine()

keys = st.sampled_from(["x", "y", "z", None])
times = st.integers(-30, 60)
batches = st.lists(st.tuples(keys, times), min_size=1, max_size=6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("left"), batches),
        st.tuples(st.just("right"), batches),
        st.tuples(st.just("watermark"), times),
        st.tuples(st.just("flush"), st.none()),
        st.tuples(st.just("restart"), st.none()),
    ),
    max_size=30,
)


class Defined:
    """The definition of the join, row by row."""

    def __init__(self, kind, before, after, condition=None):
        self.kind = kind
        self.condition = condition
        self.before, self.after = before, after
        self.rows = {"left": [], "right": []}
        self.watermark = -(10**9)
        self.late = 0

    def take(self, side, batch):
        given = Counter()
        for key, number, time in batch:
            if time < self.watermark:
                self.late += 1
                continue
            row = {"key": key, "n": number, "t": time, "met": False}
            for other in self.rows["right" if side == "left" else "left"]:
                left, right = (row, other) if side == "left" else (other, row)
                near = -self.before <= right["t"] - left["t"] <= self.after
                met = self.condition is None or left["n"] % 3 < right["n"] % 3
                if key is not None and other["key"] == key and near and met:
                    row["met"] = other["met"] = True
                    given[key, left["n"], left["t"], right["n"], right["t"], max(time, other["t"])] += 1
            self.rows[side].append(row)
        return given

    def advance(self, watermark):
        self.watermark = max(self.watermark, watermark)
        given = Counter()
        for side, outer, reach in (("left", ("left", "full"), self.after), ("right", ("right", "full"), self.before)):
            gone = [row for row in self.rows[side] if self.watermark > row["t"] + reach]
            self.rows[side] = [row for row in self.rows[side] if row not in gone]
            for row in gone:
                if not row["met"] and self.kind in outer:
                    numbers = (row["n"], row["t"], None, None) if side == "left" else (None, None, row["n"], row["t"])
                    given[row["key"], *numbers, row["t"]] += 1
        return given


class Subject:
    """The operator, on a store that outlives restarts."""

    def __init__(self, kind, before=10, after=10, condition=None):
        self.kind = JoinType(kind)
        self.condition = None if condition is None else PairCondition(ENGINE, condition)
        self.before, self.after = before, after
        self.environment = MemoryEnvironment()
        self.watermark = None
        self.late = 0
        self.open()

    def open(self):
        self.join = IntervalJoin(
            self.environment.store("join"),
            keys=(["k"], ["key"]),
            schemas=(LEFT, RIGHT),
            kind=self.kind,
            before=self.before,
            after=self.after,
            condition=self.condition,
        )
        if self.watermark is not None:
            assert self.join.advance_watermark(self.watermark) is None

    def restart(self):
        self.join.flush()
        self.late += self.join.counters()["late"]
        self.open()

    def take(self, side, batch):
        schema = LEFT if side == "left" else RIGHT
        table = add_event_time(
            pa.table(dict(zip(schema.names, map(list, zip(*batch, strict=True)), strict=True)), schema),
            [schema.names[2]],
        )
        process = self.join.process_left if side == "left" else self.join.process_right
        return counted(process(table))

    def advance(self, watermark):
        if self.watermark is not None and watermark <= self.watermark:
            return Counter()
        self.watermark = watermark
        return counted(self.join.advance_watermark(watermark))


def counted(table):
    if table is None:
        return Counter()
    assert table.schema.names == ["k", "a", "at", "b", "bt", EVENT_TIME_COLUMN]
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
@settings(max_examples=80)
@given(steps=steps, bounds=st.sampled_from(BOUNDS), condition=st.sampled_from([None, CONDITION]))
def test_every_pair_comes_once_and_every_unmatched_row_once(kind, steps, bounds, condition):
    tested, defined = Subject(kind, *bounds, condition), Defined(kind, *bounds, condition)
    number = 0
    for step, argument in [*steps, ("watermark", END_OF_TIME)]:
        if step == "watermark":
            assert tested.advance(argument) == defined.advance(argument)
        elif step == "flush":
            tested.join.flush()
        elif step == "restart":
            tested.restart()
        else:
            batch = [(key, number + index, time) for index, (key, time) in enumerate(argument)]
            number += len(batch)
            assert tested.take(step, batch) == defined.take(step, batch)
    assert tested.late + tested.join.counters()["late"] == defined.late
    tested.join.flush()
    assert list(tested.environment.store("join").scan()) == []


def test_many_small_runs_become_few_and_nothing_is_lost():
    tested = Subject("inner")
    for number in range(200):
        tested.take("left", [("x", number, number % 7), (f"k{number}", number, 3)])
        tested.join.flush()
    runs = [key for key, _ in tested.environment.store("join").scan(b"lr", b"ls")]
    assert len(runs) < 30
    tested.restart()
    assert sum(tested.take("right", [("x", 0, 3), ("k150", 1, 3)]).values()) == 201


def test_rows_years_apart_in_one_batch_find_their_partners():
    subject = Subject("inner")
    year = 365 * 86_400_000
    moments = [age * year + step for age in (0, 3, 40) for step in (9, 3, 6)]
    subject.take("left", [("x", number, time) for number, time in enumerate(moments)])
    subject.join.flush()
    for age in (0, 3, 40):
        assert sum(subject.take("right", [("x", 0, age * year - 4)]).values()) == 2


def test_keys_with_equal_hashes_are_told_apart():
    """The batch is probed with a key that shares nothing but, in a crowd this size, some hashes."""
    tested = Subject("full")
    size = 20_000
    tested.take("left", [(f"left-{number}", number, 0) for number in range(size)])
    assert tested.take("right", [(f"right-{number}", number, 0) for number in range(size)]) == Counter()
    assert len(tested.advance(END_OF_TIME)) == 2 * size


def test_of_many_pairs_of_one_key_those_that_meet_a_condition_are_found():
    tested = Subject("full", condition=Condition("a = b + 1"))
    tested.take("left", [("x", number, 0) for number in range(800)])
    met = tested.take("right", [("x", number, 0) for number in range(800)])
    assert met == Counter(("x", number + 1, 0, number, 0, 0) for number in range(799))
    assert tested.advance(END_OF_TIME) == Counter([("x", 0, 0, None, None, 0), ("x", None, None, 799, 0, 0)])
