"""Versions that were valid at the times of rows against DuckDB's ASOF JOIN, whatever comes when, over restarts."""

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.as_of_join import AsOfJoin
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment

ENGINE = SqlEngine()
LEFT = pa.schema([("k", pa.string()), ("n", pa.int32())])
RIGHT = pa.schema([("rk", pa.string()), ("rate", pa.int32())])
SIDES = {"left": LEFT, "right": RIGHT}
EXPECTED = """
WITH latest AS (SELECT rk, t, max(rate) AS rate FROM versions WHERE rk IS NOT NULL GROUP BY rk, t),
found AS (SELECT l.k, l.n, CASE WHEN r.t >= l.t - {within} THEN r.rate END AS rate, l.t,
  r.t IS NOT NULL AND r.t >= l.t - {within} AS valid
  FROM rows AS l ASOF LEFT JOIN latest AS r ON l.k = r.rk AND l.t >= r.t)
SELECT k, n, rate, t FROM found WHERE valid OR {keeps}
"""

KEYS = st.sampled_from(["a", "b", None, "c" * 600])
ROWS = st.lists(st.tuples(KEYS, st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=6)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["left", "right", "right"]), ROWS),
        st.tuples(st.just("watermark"), st.integers(0, 20)),
        st.tuples(st.sampled_from(["flush", "restart"]), st.none()),
    ),
    max_size=25,
)


def table(side, rows):
    schema = SIDES[side].append(EVENT_TIME_FIELD)
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def expected(rows, keeps, within):
    database = duckdb.connect()
    for name, side in (("rows", "left"), ("versions", "right")):
        database.register(name, table(side, rows[side]).rename_columns([*SIDES[side].names, "t"]))
    query = EXPECTED.format(within=1 << 40 if within is None else within, keeps=keeps)
    return sorted(map(repr, database.execute(query).fetchall()))


class Driven:
    """The operator, on a store that outlives restarts; what it has emitted."""

    def __init__(self, keeps, within, limit):
        self.environment = MemoryEnvironment()
        self.options = {"keeps_unmatched": keeps, "within": within, "limit": limit}
        self.watermark, self.emitted, self.late = 0, [], 0
        self.open()

    def open(self):
        store = self.environment.store("j")
        self.operator = AsOfJoin(ENGINE, store, keys=(["k"], ["rk"]), schemas=(LEFT, RIGHT), **self.options)
        self.operator.resume(self.watermark)

    def restart(self):
        self.operator.flush()
        self.late += self.operator.counters()["late"]
        self.open()

    def process(self, side, rows):
        port = self.operator.process_left if side == "left" else self.operator.process_right
        assert port(table(side, rows)) is None

    def advance(self, watermark, restarts=False):
        self.watermark = watermark
        while True:
            found = self.operator.advance_watermark(watermark)
            if found is not None:
                assert found.schema.names == ["k", "n", "rate", EVENT_TIME_COLUMN]
                self.emitted += zip(*found.to_pydict().values(), strict=True)
            if not self.operator.has_pending_results:
                return
            if restarts:
                self.restart()


@pytest.mark.parametrize(("keeps", "within"), [(True, None), (False, None), (True, 6), (False, 0)])
@settings(max_examples=40)
@given(steps=STEPS, limit=st.sampled_from([1, 3, 1000]))
def test_each_row_in_time_has_the_version_of_its_time(keeps, within, steps, limit):
    tested, in_time, late = Driven(keeps, within, limit), {"left": [], "right": []}, 0
    for step, argument in steps:
        if step in SIDES:
            rows = [(key, value, time + tested.watermark - 5) for key, value, time in argument]
            kept = [row for row in rows if row[2] >= tested.watermark]
            late += len(rows) - len(kept)
            in_time[step] += kept
            tested.process(step, rows)
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
    assert sorted(map(repr, tested.emitted)) == expected(in_time, keeps, within)


def test_of_versions_of_one_time_the_greatest_counts_when_they_do_not_fit_into_one_step():
    tested = Driven(True, None, 1)
    tested.process("right", [("a", rate, 3) for rate in (2, 7, 5)])
    tested.process("left", [("a", 1, 4)])
    tested.advance(10)
    assert tested.emitted == [("a", 1, 7, 4)]


def test_the_store_has_one_version_of_each_key_and_none_that_is_too_old():
    def held(tested):
        tested.operator.flush()
        return len(list(tested.environment.store("j").scan()))

    for within, left in ((None, 2), (64, 0)):
        tested = Driven(True, within, 1000)
        tested.process("right", [(key, number, number) for number in range(20) for key in ("a", "b")])
        tested.advance(1)
        waiting = held(tested)
        tested.advance(40)
        assert held(tested) < waiting
        before = held(tested)
        tested.advance(10_000)
        assert before - held(tested) == (0 if left else 2 * len(["version", "when it ends"]))
