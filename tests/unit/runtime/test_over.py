"""Aggregates over the last rows of a key against DuckDB's window functions, whatever comes when, over restarts."""

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import OverFrames, check_aggregate, check_ordering
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.over import Over
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.arrow_types import arrow_schema

ENGINE = SqlEngine()
SCHEMA = parse_schema("k string, x int, name string")
COLUMNS = arrow_schema(SCHEMA)
ROWS = pa.schema([*COLUMNS, EVENT_TIME_FIELD])
SELECT = (
    "count(*) as n, sum(x) as total, avg(x) as mean, min(x) as least, max(x) as most, first(x) as first, "
    "last(x) as last, count(distinct x) as different, array_agg(x) as held, stddev(x) as spread"
)
FRAMES = OverFrames(aggregation=check_aggregate(SELECT, ("k",), SCHEMA), ordering=check_ordering(None, ("k",), SCHEMA))
EXPECTED = """
SELECT k, x, name, t, len(frame) AS n, list_sum(held) AS total, list_avg(held) AS mean, list_min(held) AS least,
  list_max(held) AS most, frame[1].x AS first, frame[-1].x AS last, len(list_distinct(held)) AS different,
  held, CASE WHEN len(held) > 1 THEN list_stddev_samp(held) END AS spread
FROM (SELECT *, list_filter(list_transform(frame, lambda one: one.x), lambda one: one IS NOT NULL) AS held FROM (
  SELECT *, list_filter(list(struct_pack(x := x, t := t)) OVER (PARTITION BY k ORDER BY {order} {frame}),
    lambda one: one.t >= t - {reach}) AS frame FROM expected))
"""

KEYS = st.sampled_from(["a", "b", None, "c" * 600])
VALUES = st.tuples(KEYS, st.none() | st.integers(-3, 3), st.sampled_from(["m", "n", None]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.lists(st.tuples(VALUES, st.integers(0, 30)), min_size=1, max_size=8)),
        st.tuples(st.just("watermark"), st.integers(0, 20)),
        st.tuples(st.sampled_from(["flush", "restart"]), st.none()),
    ),
    max_size=25,
)


def table(rows):
    names = [*COLUMNS.names, EVENT_TIME_COLUMN]
    return pa.Table.from_pylist([dict(zip(names, (*values, time), strict=True)) for values, time in rows], ROWS)


def expected(rows, count, reach):
    database = duckdb.connect()
    database.execute("CREATE TABLE expected (k VARCHAR, x INT, name VARCHAR, t BIGINT)")
    if rows:
        database.executemany("INSERT INTO expected VALUES (?, ?, ?, ?)", [[*values, time] for values, time in rows])
    by_rows = count is not None
    frame = f"ROWS BETWEEN {count - 1} PRECEDING AND CURRENT ROW" if by_rows else ""
    query = EXPECTED.format(
        order="t, k, x, name" if by_rows else "t",
        frame=frame or f"RANGE BETWEEN {reach} PRECEDING AND CURRENT ROW",
        reach=1 << 40 if reach is None else reach,
    )
    return comparable(database.execute(query).fetchall(), ordered=by_rows)


def comparable(rows, *, ordered):
    """Round averages; rows of one time come in no order in DuckDB where all of them count."""
    return sorted(
        repr(
            [
                *row[:9],
                *(row[9:11] if ordered else ()),
                row[11],
                row[12] if ordered else sorted(row[12]),
                None if row[13] is None else round(row[13], 9),
            ]
        )
        for row in rows
    )


class Driven:
    """The operator, on a store that outlives restarts; what it has emitted."""

    def __init__(self, count, reach, limit):
        self.environment, self.options = MemoryEnvironment(), {"rows": count, "reach": reach, "limit": limit}
        self.watermark, self.emitted, self.late = 0, [], 0
        self.open()

    def open(self):
        self.operator = Over(ENGINE, self.environment.store("o"), FRAMES, COLUMNS, **self.options)
        self.operator.resume(self.watermark)

    def restart(self):
        self.operator.flush()
        self.late += self.operator.counters()["late"]
        self.open()

    def advance(self, watermark, restarts=False):
        self.watermark = watermark
        while True:
            found = self.operator.advance_watermark(watermark)
            if found is not None:
                assert found.schema.names[-1] == EVENT_TIME_COLUMN
                names = [*COLUMNS.names, EVENT_TIME_COLUMN, *found.schema.names[3:-1]]
                self.emitted += zip(*found.select(names).to_pydict().values(), strict=True)
            if not self.operator.has_pending_results:
                return
            if restarts:
                self.restart()


@pytest.mark.parametrize(("count", "reach"), [(1, None), (3, None), (None, 7), (None, 0), (2, 5)])
@settings(max_examples=25)
@given(steps=STEPS, limit=st.sampled_from([1, 3, 1000]))
def test_each_row_in_time_has_the_aggregates_of_the_rows_before_it(count, reach, steps, limit):
    tested, in_time, late = Driven(count, reach, limit), [], 0
    for step, argument in steps:
        if step == "rows":
            rows = [(values, time + tested.watermark - 5) for values, time in argument]
            kept = [row for row in rows if row[1] >= tested.watermark]
            late += len(rows) - len(kept)
            in_time += kept
            assert tested.operator.process(table(rows)) is None
        elif step == "watermark":
            tested.advance(tested.watermark + argument, restarts=True)
        elif step == "flush":
            tested.operator.flush()
        else:
            tested.restart()
    tested.restart()
    tested.advance(END_OF_TIME)
    times = [row[3] for row in tested.emitted]
    assert times == sorted(times)
    assert tested.late == late
    assert comparable(tested.emitted, ordered=count is not None) == expected(in_time, count, reach)


def test_rows_of_the_same_time_count_in_an_order_that_does_not_depend_on_how_they_came():
    rows = [(("a", x, name), 4) for x in (3, 1, 2) for name in ("m", "n")]

    def emitted(batches):
        tested = Driven(2, None, 1)
        for batch in batches:
            tested.operator.process(table(batch))
        tested.advance(END_OF_TIME)
        return tested.emitted

    assert emitted([rows]) == emitted([[row] for row in reversed(rows)])


def test_a_group_without_rows_that_may_still_count_leaves_nothing_in_the_store():
    tested = Driven(None, 64, 1000)
    tested.operator.process(table([(("a", 1, None), 10), (("b", 1, None), 20)]))
    tested.advance(50)
    tested.operator.flush()
    held = len(list(tested.environment.store("o").scan()))
    tested.advance(1_000)
    tested.operator.flush()
    assert held - len(list(tested.environment.store("o").scan())) == 2 * len(["rows", "when they end"])
