"""Groups as columns give what groups of plain rows give: the same results, and the same bytes in the store."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import parse_schema
from streamapp_runtime.operators.column_states import column_states
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.row_codec import encode_key, encode_row
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.memory_store import MemoryStore
from streamapp_systems.arrow_types import arrow_schema
from support.changelogs import changed_pairs
from support.compilers import native

COLUMNS = parse_schema("k string, n bigint, f double, at timestamp, b boolean, s string")
ARROW = arrow_schema(COLUMNS).append(EVENT_TIME_FIELD)
ENGINE = SqlEngine()
EDGES = [0, 1, -1, (1 << 63) - 1, -(1 << 63)]
SELECTS = [
    "count(*) as c, sum(n) as s",
    "min(n) as l, max(n) as g, sum(f) as s, count(f) as c",
    "min(f) as l, max(f) as g, avg(n) as a",
    "min(at) as l, max(at) as g, bool_and(b) as e, bool_or(b) as o, bit_and(n) as x, bit_xor(n) as y",
]
BY = [["k"], ["k", "b"], ["n"], ["f", "at"]]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "", None, "x" * 300]),
        st.none() | st.sampled_from(EDGES),
        st.none() | st.sampled_from([0.0, -0.0, 1.5, float("inf"), -float("inf"), float("nan")]),
        st.none() | st.integers(-5, 5),
        st.none() | st.booleans(),
        st.just("text"),
        st.none() | st.integers(0, 9),
    ),
    min_size=1,
    max_size=6,
)
STEPS = st.lists(st.one_of(ROWS, st.sampled_from(["flush", "restart"])), max_size=8)


def table(rows):
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), ARROW, strict=True)]
    return pa.Table.from_arrays(columns, schema=ARROW)


def operator(aggregation, store, *, columns):
    made = Aggregate(ENGINE, store, aggregation)
    assert made._columns is not None or not columns
    if not columns:
        made._columns = None
    return made


def plain(result):
    """Return rows in which not-a-number is equal to itself."""
    return [repr(row) for row in result.to_pylist()]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SELECTS), st.sampled_from(BY), STEPS)
def test_results_and_state_are_those_of_rows(select, by, steps):
    native()
    aggregation = check_aggregate(select, by, COLUMNS)
    stores = MemoryStore(), MemoryStore()
    operators = [operator(aggregation, store, columns=place == 0) for place, store in enumerate(stores)]
    for step in [*steps, "flush"]:
        if step == "restart":
            operators = [operator(aggregation, store, columns=place == 0) for place, store in enumerate(stores)]
            for store in stores:
                assert dict(store.scan()) == dict(stores[0].scan())
        elif step == "flush":
            for each in operators:
                each.flush()
            assert list(stores[0].scan()) == list(stores[1].scan())
        else:
            results = [each.process(table(step)) for each in operators]
            assert results[0].schema == results[1].schema
            assert plain(results[0]) == plain(results[1])


@pytest.mark.parametrize("key", ["x" * 500, "y" * 70_000])
def test_a_key_that_is_cut_is_for_rows(key):
    native()
    aggregation = check_aggregate("sum(n) as s", ["k"], COLUMNS)
    store = MemoryStore()
    made = operator(aggregation, store, columns=True)
    short = ("a", 1, None, None, None, "", 0)
    made.process(table([short]))
    result = made.process(table([short, (key, 5, None, None, None, "", 0)]))
    assert dict(zip(result["k"].to_pylist(), result["s"].to_pylist(), strict=True)) == {"a": 2, key: 5}
    made.flush()
    again = operator(aggregation, store, columns=True).process(table([(key, 5, None, None, None, "", 0), short]))
    assert dict(zip(again["k"].to_pylist(), again["s"].to_pylist(), strict=True)) == {"a": 3, key: 10}


def test_many_groups_are_forgotten_and_read_again():
    library = native()
    store = MemoryStore()
    aggregation = check_aggregate("count(*) as c", ["n"], COLUMNS)
    states = type(column_states(store, aggregation))(library, store, 1, aggregation.partials, 3_000)
    keys = pa.array(range(5_000))
    for turn in (1, 2, 3):
        (counts,) = states.merge([keys], [pa.array([1] * len(keys))])
        assert set(counts.to_pylist()) == {turn}
        states.flush()
        assert len(states._groups) == 0


def test_groups_that_are_sorted_in_parts_are_changes_in_order(tmp_path):
    library = native()
    aggregation = check_aggregate("count(*) as c", ["n"], COLUMNS)
    environment = LmdbEnvironment(tmp_path)
    store = environment.store("a")
    states = type(column_states(store, aggregation))(library, store, 1, aggregation.partials, sorted_at_once=700)
    keys = [number * 7_919 % 5_000 for number in range(5_000)]
    for turn in (1, 2):
        states.merge([pa.array(keys)], [pa.array([1] * len(keys))])
        states.flush()
        changes = changed_pairs(environment.changes("a"))
        assert changes == [(encode_key([key]), encode_row([key, turn])) for key in sorted(keys, key=encode_one)]
        environment.commit()
        assert list(store.scan()) == changes
    environment.close()


def encode_one(key):
    return encode_key([key])


@pytest.mark.parametrize("select", ["max(s) as m", "count(distinct n) as d", "stddev(f) as d", "first(n) as f"])
def test_what_takes_more_than_a_value_has_no_columns(select):
    native()
    assert column_states(MemoryStore(), check_aggregate(select, ["k"], COLUMNS)) is None
