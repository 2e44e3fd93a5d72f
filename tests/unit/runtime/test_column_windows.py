"""Windows as columns give what windows of plain rows give: the same results, and the same bytes in the store."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import parse_schema
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.arrow_types import arrow_schema
from support.changelogs import changed_pairs
from support.compilers import native

COLUMNS = parse_schema("k string, n bigint, f double")
ARROW = arrow_schema(COLUMNS).append(EVENT_TIME_FIELD)
ENGINE = SqlEngine()
LENGTH, STEP = 20, 10
SELECTS = ["count(*) as c, sum(n) as s", "min(f) as l, max(n) as g", "avg(n) as a"]
BY = [["k"], ["k", "n"], ["f"]]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "é", "", None, "x" * 300]),
        st.none() | st.integers(-3, 3),
        st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan")]),
        st.none() | st.integers(-40, 100),
    ),
    min_size=1,
    max_size=6,
)
STEPS = st.lists(
    st.one_of(ROWS, ROWS, st.integers(-30, 60), st.sampled_from(["flush", "restart", "long key"])), max_size=10
)


def table(rows):
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), ARROW, strict=True)]
    return pa.Table.from_arrays(columns, schema=ARROW)


class Side:
    """One operator and its store, in memory or in LMDB."""

    def __init__(self, environment, aggregation, *, columns):
        self.environment, self.aggregation, self.columns = environment, aggregation, columns
        self.watermark = -1_000
        self.open()

    def open(self):
        store = self.environment.store("w")
        self.operator = AlignedWindow(ENGINE, store, self.aggregation, length=LENGTH, step=STEP, limit=2)
        self.operator.resume(self.watermark)
        assert self.operator._columns is not None or not self.columns
        if not self.columns:
            self.operator._columns = None

    def advance(self, watermark):
        self.watermark = max(self.watermark, watermark)
        results = [self.operator.advance_watermark(self.watermark)]
        while self.operator.has_pending_results:
            results.append(self.operator.advance_watermark(self.watermark))
        return [repr(row) for result in results if result is not None for row in result.to_pylist()]

    def flush(self):
        self.operator.flush()
        changes = changed_pairs(self.environment.changes("w"))
        self.environment.commit()
        return changes

    def contents(self):
        return dict(self.environment.store("w").scan())


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SELECTS), st.sampled_from(BY), STEPS, st.booleans())
def test_results_and_state_are_those_of_rows(tmp_path_factory, select, by, steps, on_disk):
    native()
    aggregation = check_aggregate(select, by, COLUMNS)
    first = LmdbEnvironment(tmp_path_factory.mktemp("state")) if on_disk else MemoryEnvironment()
    one, other = Side(first, aggregation, columns=True), Side(MemoryEnvironment(), aggregation, columns=False)
    for step in [*steps, END_OF_TIME, "flush"]:
        if step == "restart":
            one.flush()
            other.flush()
            one.open()
            other.open()
        elif step == "flush":
            changed, expected = dict(one.flush()), dict(other.flush())
            assert {key: expected.get(key) for key in changed} == changed
            assert one.contents() == other.contents()
        elif isinstance(step, int):
            assert one.advance(step) == other.advance(step)
        else:
            rows = table([("y" * 600, 1, 2.0, 50)] if step == "long key" else step)
            assert one.operator.process(rows) is other.operator.process(rows) is None
    assert one.operator.counters() == other.operator.counters()
    first.close()
