"""The rows that changes lead to: each once, at the end, over restarts."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_runtime.operators.final_rows import FinalRows
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.tombstones import DELETED_FIELD
from streamapp_runtime.state.memory_store import MemoryEnvironment

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), ("x", pa.struct([("y", pa.float64())]))])
ROWS = st.tuples(
    st.integers(0, 5),
    st.booleans(),
    st.none() | st.text(max_size=2) | st.just("v" * 1_000_000),
    st.none() | st.floats(allow_nan=False),
)


def batch(rows):
    values = {
        "k": [key for key, _, _, _ in rows],
        "v": [None if gone else value for _, gone, value, _ in rows],
        "x": [None if gone or number is None else {"y": number} for _, gone, _, number in rows],
        EVENT_TIME_FIELD.name: [None] * len(rows),
        DELETED_FIELD.name: [gone for _, gone, _, _ in rows],
    }
    return pa.table(values, pa.schema([*SCHEMA, EVENT_TIME_FIELD, DELETED_FIELD]))


@given(st.lists(st.lists(ROWS, min_size=1, max_size=6), max_size=5), st.sampled_from([1, 2, 1000]))
def test_the_newest_row_of_each_key_comes_once_at_the_end(batches, limit):
    environment, written, expected = MemoryEnvironment(), [], {}
    opened = [FinalRows(environment.store("s"), SCHEMA, ["k"], written.append, limit)]
    for rows in batches:
        assert opened[-1].process(batch(rows)) is None
        for key, gone, value, number in rows:
            row = {"k": key, "v": value, "x": None if number is None else {"y": number}}
            expected[key] = None if gone else row
        assert opened[-1].advance_watermark(5) is None
        opened.append(FinalRows(environment.store("s"), SCHEMA, ["k"], written.append, limit))
    assert not written
    opened[-1].advance_watermark(END_OF_TIME)
    while opened[-1].has_pending_results:
        opened.append(FinalRows(environment.store("s"), SCHEMA, ["k"], written.append, limit))
        opened[-1].advance_watermark(END_OF_TIME)
    assert all(len(rows) <= limit for rows in written)
    found = [row for rows in written for row in rows.select(SCHEMA.names).to_pylist()]
    assert sorted(found, key=lambda row: row["k"]) == [expected[key] for key in sorted(expected) if expected[key]]
