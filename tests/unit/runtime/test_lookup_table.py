"""A table against a dictionary, over updates, deletions and lookups in any order."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryStore
from streamapp_runtime.tables.lookup_table import LookupTable
from streamapp_runtime.tables.table_changes import SqlChangeExtractor

COLUMNS = pa.schema([("v", pa.int64())])
ENGINE = SqlEngine()
KEYS = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.lists(
    st.tuples(st.just("fill"), st.lists(st.tuples(KEYS, st.none() | st.integers(0, 9)), min_size=1, max_size=4))
    | st.tuples(st.just("look"), st.lists(st.none() | KEYS, max_size=6)),
    max_size=12,
)


@given(STEPS, st.sampled_from([2, 100]))
def test_lookups_find_the_last_row_of_a_key_however_few_are_cached(steps, cached):
    table = LookupTable(
        MemoryStore(), SqlChangeExtractor(ENGINE, "SELECT k, v FROM rows", 1), pa.string(), COLUMNS, cached
    )
    expected = {}
    for step, items in steps:
        if step == "fill":
            rows = pa.table({"k": [key for key, _ in items], "v": pa.array([v or 0 for _, v in items], pa.int64())})
            table.fill(with_deleted_column(rows, [value is None for _, value in items]))
            expected.update(items)
        else:
            rows, found = table.lookup(pa.chunked_array([pa.array(items, pa.string())]))
            assert rows.column("v").to_pylist() == [expected.get(key) for key in items]
            assert found.to_pylist() == [expected.get(key) is not None for key in items]
