"""Distinct values by entries against sets, over restarts; what one more value costs, and what an end leaves."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import parse_schema
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.compound_partials import how_many
from streamapp_runtime.operators.distinct_entries import DistinctEntries
from streamapp_runtime.operators.numbered_entries import NumberedEntries
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.row_codec import decode_row, encode_row
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment, MemoryStore

values = st.one_of(st.integers(0, 9), st.sampled_from(["a", "b"]), st.tuples(st.integers(0, 2), st.none()))
steps = st.lists(st.tuples(st.sampled_from(["x", "y"]), st.lists(values, max_size=4), st.booleans()), max_size=12)


@settings(max_examples=150)
@given(steps=steps)
def test_counted_values_are_those_of_a_multiset(steps):
    store, present, kept = MemoryStore(), {"x": Counter(), "y": Counter()}, {"x": None, "y": None}
    for group, batch, taken_back in steps:
        entries = DistinctEntries(NumberedEntries(store), counted=True, inline=3)
        if taken_back:
            known = present[group] & Counter(batch)
            present[group] -= known
            kept[group] = entries.count_values(kept[group], list(known.elements()), -1)
        else:
            present[group] += Counter(batch)
            kept[group] = entries.count_values(kept[group], batch)
        kept = {name: None if one is None else decode_row(encode_row([one]))[0] for name, one in kept.items()}
        assert {name: how_many(one or ()) for name, one in kept.items()} == {
            name: len(one) for name, one in present.items()
        }
    numbered = NumberedEntries(store)
    for one in kept.values():
        if isinstance(one, dict):
            numbered.end(one)
    numbered.delete_ended()
    assert [key for key, _ in store.scan() if key != b"dx"] == []


def test_one_more_value_of_a_large_group_is_one_entry():
    store = MemoryStore()
    entries = DistinctEntries(NumberedEntries(store), counted=False)
    kept = entries.store(set(range(1_000)))
    store.changed.clear()
    kept = entries.add(kept, [7, 1_000, 8])
    assert how_many(kept) == 1_001
    assert len(store.changed) == 1
    assert len(encode_row([kept])) < 20


def test_the_entries_of_a_group_that_has_ended_are_deleted_some_at_a_time():
    store = MemoryStore()
    numbered = NumberedEntries(store)
    entries = DistinctEntries(numbered, counted=False)
    ended, alive = entries.store(range(25)), entries.store(range(5))
    numbered.end(ended)
    left = []
    for _ in range(3):
        numbered.delete_ended(10)
        left.append(len([key for key, _ in store.scan(b"dv", b"dw")]))
    assert left == [20, 10, 5]
    assert how_many(entries.add(alive, range(6))) == 6


@pytest.mark.parametrize("inline", [1, 50, 1_000])
def test_a_result_has_all_values_however_they_are_kept(inline):
    store, engine, schema = MemoryStore(), SqlEngine(), parse_schema("k string, v bigint")
    aggregation = check_aggregate(
        "count(distinct v) as n, count(v) as all, count(distinct v, k) as pairs", ["k"], schema
    )
    for begin in range(0, 100, 10):
        operator = Aggregate(engine, store, aggregation, inline=inline)
        rows = pa.table({"k": ["x"] * 20, "v": [*range(begin, begin + 10)] * 2})
        (result,) = operator.process(rows.append_column(EVENT_TIME_FIELD, pa.nulls(20, pa.int64()))).to_pylist()
        operator.flush()
        assert (result["n"], result["all"], result["pairs"]) == (begin + 10, 2 * (begin + 10), begin + 10)


@pytest.mark.parametrize("inline", [1, 1_000])
@pytest.mark.parametrize("step", [50, 25])
def test_a_window_has_all_values_however_they_are_kept_and_leaves_nothing(inline, step):
    environment, engine, schema = MemoryEnvironment(), SqlEngine(), parse_schema("k string, v bigint")
    aggregation = check_aggregate("count(distinct v) as n, count(*) as all", ["k"], schema)
    found = {}
    times = [*range(10, 200, 10), END_OF_TIME]
    for begin, watermark in zip(range(0, 200, 10), times, strict=True):
        store = environment.store("w")
        operator = AlignedWindow(engine, store, aggregation, length=50, step=step, inline=inline)
        operator.resume(begin)
        rows = pa.table({"k": ["x", "y"] * 10, "v": [number // 2 for number in range(2 * begin, 2 * begin + 20)]})
        operator.process(rows.append_column(EVENT_TIME_FIELD, rows.column("v")))
        closed = operator.advance_watermark(watermark)
        for row in [] if closed is None else closed.to_pylist():
            found[row["k"], row["window_end"].timestamp() * 1000] = row["n"], row["all"]
        operator.flush()
    ends = {} if step == 50 else {25: (25, 25), 225: (25, 25)}
    whole = dict.fromkeys(range(50, 201, step), (50, 50)) | ends
    assert found == {(key, end): counts for key in ("x", "y") for end, counts in whole.items()}
    assert [key for key, _ in environment.store("w").scan() if not key.endswith(b"dx")] == []
