"""Aggregates over rows that replace each other against DuckDB's window functions over the rows as they are."""

import math

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import OverFrames, check_aggregate, check_ordering
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.upsert_over import UpsertOver
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.tombstones import DELETED_COLUMN, DELETED_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.arrow_types import arrow_schema

ENGINE = SqlEngine()
SCHEMA = parse_schema("id int, g double, price double, name string")
COLUMNS = arrow_schema(SCHEMA)
CHANGES = pa.schema([*COLUMNS, EVENT_TIME_FIELD, DELETED_FIELD])
SELECT = "count(*) as n, sum(price) as total, first(id) as first, array_agg(id) as ids"
FRAMES = OverFrames(
    aggregation=check_aggregate(SELECT, ("g",), SCHEMA),
    ordering=check_ordering("price desc, upper(name)", ("g",), SCHEMA),
)
EXPECTED = """
SELECT id, g, price, name, count(*) OVER w, sum(price) OVER w, first(id) OVER w, list(id) OVER w FROM expected
WINDOW w AS (PARTITION BY g ORDER BY price DESC NULLS LAST, upper(name) NULLS FIRST, id ROWS {} PRECEDING)
"""

LONG = "n" * 600
"""Its sort key is longer than a key of a store."""
ROWS = st.tuples(
    st.sampled_from([1.0, math.nan, None]),
    st.sampled_from([None, 4.0, 1.0, -1.0, 2.5]),
    st.sampled_from(["a", "B", "b", None, LONG, LONG + "b", LONG + "a"]),
)
BATCHES = st.lists(st.lists(st.tuples(st.integers(0, 9), st.none() | ROWS), min_size=1, max_size=8), max_size=8)


def table(batch, time, columns=CHANGES):
    dictionaries = [
        {"id": id_, **dict(zip(COLUMNS.names[1:], row or (None,) * 3, strict=True)), EVENT_TIME_COLUMN: time}
        | {DELETED_COLUMN: row is None}
        for id_, row in batch
    ]
    return pa.Table.from_pylist(dictionaries, columns)


def expected(current, n):
    database = duckdb.connect()
    database.execute("CREATE TABLE expected (id INT, g DOUBLE, price DOUBLE, name VARCHAR)")
    if current:
        database.executemany("INSERT INTO expected VALUES (?, ?, ?, ?)", [[id_, *row] for id_, row in current.items()])
    return {row[0]: repr(row) for row in database.execute(EXPECTED.format(n - 1)).fetchall()}


def opened(environment, n, *, deletes=True):
    return UpsertOver(ENGINE, environment.store("o"), FRAMES, COLUMNS, ["id"], rows=n, deletes=deletes)


@pytest.mark.parametrize("n", [1, 2, 3])
@settings(max_examples=30)
@given(batches=BATCHES)
def test_results_are_always_those_of_the_rows_as_they_are_now(n, batches):
    environment, current, results = MemoryEnvironment(), {}, {}
    for time, batch in enumerate(batches):
        operator = opened(environment, n)
        emitted = operator.process(table(batch, time))
        operator.flush()
        for id_, row in batch:
            current.pop(id_, None)
            current |= {} if row is None else {id_: row}
        for row in [] if emitted is None else emitted.to_pylist():
            assert row.pop(EVENT_TIME_COLUMN) == time
            if row.pop(DELETED_COLUMN):
                del results[row["id"]]
            else:
                results[row["id"]] = repr(tuple(row.values()))
        assert results == expected(current, n)


def test_a_change_is_emitted_with_the_rows_that_it_reaches_and_no_others():
    environment = MemoryEnvironment()
    plain = pa.schema([*COLUMNS, EVENT_TIME_FIELD])
    operator = opened(environment, 3, deletes=False)
    rows = [(id_, (1.0, float(-id_), "a")) for id_ in range(8)]
    assert operator.process(table(rows, 1, plain))["ids"].to_pylist()[-1] == [5, 6, 7]
    emitted = operator.process(table([(2, (1.0, -1.5, "a"))], 2, plain))
    assert emitted["id"].to_pylist() == [2, 3, 4]
    assert DELETED_COLUMN not in emitted.schema.names
    emitted = operator.process(table([(2, (1.0, -6.5, "a"))], 3, plain))
    assert emitted["ids"].to_pylist() == [[0, 1, 3], [1, 3, 4], [5, 6, 2], [6, 2, 7]]


def test_a_deletion_of_what_was_never_there_is_nothing():
    assert opened(MemoryEnvironment(), 3).process(table([(2, None)], 1)) is None
