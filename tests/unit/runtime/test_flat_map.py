"""Flat maps make what one query makes, in parts that fit in memory, and refuse rows that make too much."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_flat_map, lists_sql, select_sql, table
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_core.spec.job import OnError
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.operators.flat_map import TOO_LARGE, FlatMap
from streamapp_runtime.operators.row_operators import SqlOperator
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.tasks.pipeline import Node, Pipeline
from streamapp_systems.arrow_types import arrow_schema

SCHEMA = parse_schema("n int, s string, a array<string>, m map<string, int>")
TEXTS = st.none() | st.text("ab", max_size=5)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(0, 9),
            "s": TEXTS,
            "a": st.none() | st.lists(TEXTS, max_size=6),
            "m": st.none() | st.dictionaries(st.text("ab", max_size=2), st.none() | st.integers(0, 9), max_size=3),
        }
    ),
    max_size=12,
)
LISTS = [
    "n, s, explode(a) as word",
    "posexplode_outer(a) as (place, word), upper(s) as s",
    "explode(m), a, s",
    "s, stack(2, n, s, 1, 'x')",
    "a, explode(sequence(1, n)) as one",
]
ENGINE = SqlEngine()


def batch(rows):
    columns = pa.Table.from_pylist(rows, arrow_schema(SCHEMA))
    return columns.append_column(EVENT_TIME_COLUMN, pa.array(range(len(rows)), pa.int64()))


def flat_map(text, on_error=OnError.FAIL, **bounds):
    columns = check_flat_map(text, SCHEMA).columns
    lists = SqlOperator(ENGINE, lists_sql(columns, table("rows"), (EVENT_TIME_COLUMN,)))
    bad_rows = BadRows()
    bad_rows.place = "log.in[0], offsets 1 to 9"
    return FlatMap("words", lists, columns, ENGINE, on_error=on_error, bad_rows=bad_rows, **bounds), bad_rows


def made(operator, rows):
    return [part.to_pylist() for part in map(operator.process, operator.divide(batch(rows))) if part is not None]


@given(st.sampled_from(LISTS), ROWS, st.integers(1, 60))
@settings(deadline=None)
def test_the_parts_have_the_rows_that_one_query_makes_in_their_order(text, rows, at_once):
    whole = select_sql(check_flat_map(text, SCHEMA).columns, table("rows"), (EVENT_TIME_COLUMN,))
    operator, _ = flat_map(text, at_once=at_once)
    assert [row for part in made(operator, rows) for row in part] == ENGINE.query(whole, rows=batch(rows)).to_pylist()


def test_a_part_holds_as_many_rows_as_are_made_of_what_fits():
    rows = [{"n": number, "s": "x" * 9, "a": ["y"] * 10, "m": None} for number in range(6)]
    operator, _ = flat_map("s, explode(a) as word", at_once=250)  # a row and its words: 10 * (1 + 9) + 10 * 2
    assert [len(part) for part in made(operator, rows)] == [20, 20, 20]


def test_a_row_that_makes_too_much_is_a_bad_one():
    rows = [{"n": 1, "s": "x" * size, "a": ["y"] * 10, "m": None} for size in (3, 1_000, 4)]
    operator, _ = flat_map("s, explode(a) as word", most=5_000)
    with pytest.raises(RuntimeFailure, match=r"log.in\[0\], offsets 1 to 9: operator `words`: .* more than 5,000"):
        made(operator, rows)
    operator, bad_rows = flat_map("s, explode(a) as word", OnError.SKIP, most=5_000)
    assert [row for part in made(operator, rows) for row in part] == [
        {"s": "x" * size, "word": "y", EVENT_TIME_COLUMN: time} for size, time in ((3, 0), (4, 2)) for _ in range(10)
    ]
    assert operator.counters() == {TOO_LARGE: 1}
    assert len(bad_rows.descriptions) == 1


class Counted:
    """Counts the rows that come, and the most that come at once."""

    has_pending_results = False

    def __init__(self):
        self.rows = self.most = 0

    def process(self, rows):
        self.rows, self.most = self.rows + len(rows), max(self.most, rows.nbytes)


def test_many_large_rows_come_to_the_next_operator_some_at_a_time():
    rows = [{"n": 1, "s": "x" * 9_990, "a": ["y"] * 1_000, "m": None}] * 20
    operator, _ = flat_map("s, explode(a) as word")
    end = Counted()
    nodes = [
        Node(
            name="words",
            operator=operator,
            inputs=("in",),
            ports=(operator.process,),
            streams=frozenset({"in"}),
            divide=operator.divide,
        ),
        Node(name="end", operator=end, inputs=("words",), ports=(end.process,), streams=frozenset({"in"})),
    ]
    Pipeline(nodes).push("in", batch(rows))
    assert end.rows == 20_000
    assert end.most < 30_000_000, "all at once are 200 MB"
