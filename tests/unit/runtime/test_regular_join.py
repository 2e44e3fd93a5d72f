"""Joins without a bound in time against a plain reading of their definition, whatever comes when, over restarts."""

import tracemalloc
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.kept_rows import KeptRows
from streamapp_runtime.operators.regular_join import RegularJoin
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.memory_store import MemoryEnvironment

LEFT = pa.schema([("k", pa.string()), ("a", pa.int64())])
RIGHT = pa.schema([("key", pa.string()), ("b", pa.int64())])

batches = st.lists(
    st.tuples(st.sampled_from(["x", "y", "z", None]), st.one_of(st.none(), st.integers(-9, 9))), min_size=1, max_size=6
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("left"), batches),
        st.tuples(st.just("right"), batches),
        st.tuples(st.sampled_from(["watermark", "flush", "restart"]), st.just([])),
    ),
    max_size=30,
)


class Subject:
    """The operator, on a store that outlives restarts."""

    def __init__(self):
        self.environment = MemoryEnvironment()
        self.open()

    def open(self):
        self.join = RegularJoin(self.environment.store("join"), keys=(["k"], ["key"]), schemas=(LEFT, RIGHT))

    def restart(self):
        self.join.flush()
        self.open()

    def take(self, side, rows):
        schema = (LEFT if side == "left" else RIGHT).append(EVENT_TIME_FIELD)
        table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        return counted((self.join.process_left if side == "left" else self.join.process_right)(table))


def undated(columns):
    rows = pa.table(columns)
    return rows.append_column(EVENT_TIME_FIELD, pa.nulls(len(rows), pa.int64()))


def counted(table):
    if table is None:
        return Counter()
    assert table.schema.names == ["k", "a", "b", EVENT_TIME_COLUMN]
    return Counter(tuple(row.values()) for row in table.to_pylist())


def pairs_with(rows, others, *, swapped):
    pairs = Counter()
    for key, number, time in rows:
        for other_key, other, other_time in others:
            if key is not None and key == other_key:
                both = (other, number) if swapped else (number, other)
                pairs[key, *both, max((t for t in (time, other_time) if t is not None), default=None)] += 1
    return pairs


@settings(max_examples=150)
@given(steps=steps)
def test_every_pair_of_equal_keys_comes_once_with_the_later_row(steps):
    tested, number = Subject(), 0
    rows = {"left": [], "right": []}
    for step, argument in steps:
        if step == "watermark":
            assert tested.join.advance_watermark(END_OF_TIME) is None
        elif step == "flush":
            tested.join.flush()
        elif step == "restart":
            tested.restart()
        else:
            batch = [(key, number + index, time) for index, (key, time) in enumerate(argument)]
            number += len(batch)
            others = rows["right" if step == "left" else "left"]
            assert tested.take(step, batch) == pairs_with(batch, others, swapped=step == "right")
            rows[step] += batch


def test_many_small_blocks_become_few_and_nothing_is_lost():
    tested = Subject()
    for number in range(600):
        tested.take("left", [("x", number, None), (f"k{number}", number, 3)])
        tested.join.flush()
    blocks = [key for key, _ in tested.environment.store("join").scan(b"lr", b"ls")]
    assert len(blocks) < 30
    tested.restart()
    assert sum(tested.take("right", [("x", 0, 3), ("k150", 1, 3)]).values()) == 601


def test_large_batches_are_stored_in_blocks_of_some_megabytes():
    store = MemoryEnvironment().store("join")
    kept = KeptRows(store, b"l", ["k"])
    for first in range(0, 40, 20):
        texts = pa.array([f"{number}" + "x" * 1_000_000 for number in range(first, first + 20)])
        kept.add(undated({"k": pa.array(range(first, first + 20)), "text": texts}))
        kept.flush()
    blocks = [key for key, _ in store.scan(b"lr", b"ls") if len(key) == len(b"lr") + 8]
    assert 4 <= len(blocks) <= 8
    found = KeptRows(store, b"l", ["k"]).candidates(pa.chunked_array([range(40)]))
    assert sorted(text.partition("x")[0] for _, rows in found for text in rows["text"].to_pylist()) == sorted(
        map(str, range(40))
    )


def test_keys_with_equal_hashes_are_told_apart():
    """The batch is probed with keys that share nothing but, in a crowd this size, some hashes."""
    tested = Subject()
    tested.take("left", [(f"left-{number}", number, 0) for number in range(20_000)])
    assert tested.take("right", [(f"right-{number}", number, 0) for number in range(20_000)]) == Counter()


def test_more_pairs_than_are_taken_at_once():
    tested = Subject()
    tested.take("left", [("x", number, 0) for number in range(400)])
    pairs = tested.take("right", [("x", number, 1) for number in range(400)])
    assert len(pairs) == 160_000
    assert set(pairs.values()) == {1}


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_a_row_that_is_stored_takes_twelve_bytes_of_memory(tmp_path):
    environment, count, batches = LmdbEnvironment(tmp_path), 100_000, 4
    kept = KeptRows(environment.store("join"), b"l", ["k"])
    before, _ = tracemalloc.get_traced_memory()
    for first in range(0, count * batches, count):
        kept.add(undated({"k": pa.array(range(first, first + count))}))
        kept.flush()
        environment.commit()
    after, _ = tracemalloc.get_traced_memory()
    assert 12 <= (after - before) / (count * batches) < 13
    again = KeptRows(environment.store("join"), b"l", ["k"])
    reopened, _ = tracemalloc.get_traced_memory()
    assert 12 <= (reopened - after) / (count * batches) < 13
    assert [len(rows) for _, rows in again.candidates(pa.chunked_array([[7]]))] == [1]
    environment.close()
