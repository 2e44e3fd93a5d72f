"""Rows that wait are taken in the order of their times, from however many chunks, and survive restarts."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.pending_rows import PendingRows
from streamapp_runtime.state.memory_store import MemoryEnvironment

# Rows that come (their times, from the last watermark on); how far the watermark rises; then what happens.
STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 30), max_size=12),
        st.integers(0, 8),
        st.sampled_from(["nothing", "flush", "restart"]),
        st.integers(1, 5),
    ),
    max_size=25,
)


def rows(numbers, times):
    return pa.table({"n": pa.array(numbers, pa.int64()), EVENT_TIME_COLUMN: pa.array(times, pa.int64())})


@given(steps=STEPS, chunk=st.integers(1, 6), loaded=st.integers(0, 10), back=st.integers(0, 2))
def test_rows_are_taken_by_time_then_arrival_each_once(steps, chunk, loaded, back):
    store = MemoryEnvironment().store("p")
    pending = PendingRows(store, chunk, loaded)
    watermark, number, waiting, taken = 0, 0, [], []
    for times, rises, after, limit in [*steps, ([], 1_000, "flush", 3)]:
        if times:
            numbers = range(number, number + len(times))
            pending.add(rows(numbers, [watermark + time for time in times]))
            waiting += [(watermark + time, n) for time, n in zip(times, numbers, strict=True)]
            number += len(times)
        watermark += rises
        due = sorted(row for row in waiting if row[0] <= watermark)
        assert pending.earliest == min((time for time, _ in waiting), default=None)
        while (some := pending.take(watermark, limit)) is not None:
            assert 0 < len(some) <= limit
            kept = max(len(some) - back, 1)
            if kept < len(some):
                some, rest = some.filter(mask(kept, len(some))), some.filter(~mask(kept, len(some)))
                pending.put_back(rest)
            taken += some.rows["n"].to_pylist()
            if after == "restart":
                pending.flush()
                pending = PendingRows(store, chunk, loaded)
        waiting = [row for row in waiting if row[0] > watermark]
        assert taken[len(taken) - len(due) :] == [n for _, n in due]
        if after != "nothing":
            pending.flush()
        if after == "restart":
            pending = PendingRows(store, chunk, loaded)
    assert sorted(taken) == list(range(number))
    assert {key for key, _ in store.scan()} <= {b"pp"}


def mask(count, length):
    return pa.array([index < count for index in range(length)]).to_numpy(zero_copy_only=False)


def test_few_chunks_are_loaded_for_the_first_rows():
    store = MemoryEnvironment().store("p")
    pending = PendingRows(store, 10, 0)
    pending.add(rows(range(100), range(100)))
    pending.flush()
    pending = PendingRows(store, 10, 0)
    read = []
    get = store.get
    store.get = lambda key: read.append(key) or get(key)
    some = pending.take(99, 10)
    assert some.rows["n"].to_pylist() == list(range(10))
    assert len({key[:10] for key in read}) == 1


def test_rows_put_back_come_before_rows_of_their_time_that_came_later():
    pending = PendingRows(MemoryEnvironment().store("p"))
    pending.add(rows([0, 1, 2], [5, 5, 5]))
    some = pending.take(5, 10)
    pending.put_back(some.filter(~mask(1, 3)))
    pending.add(rows([3], [5]))
    assert pending.take(5, 2).rows["n"].to_pylist() == [1, 2]
    assert pending.take(5, 2).rows["n"].to_pylist() == [3]
    assert pending.take(5, 2) is None
