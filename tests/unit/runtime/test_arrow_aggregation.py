import datetime as dt
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.expressions import check_aggregate, check_select, partials_sql, select_sql, table
from streamapp_core.schema import parse_schema
from streamapp_runtime.operators.arrow_aggregation import arrow_group_by
from streamapp_runtime.rows.projection import plain_projection
from streamapp_runtime.rows.row_codec import to_plain_rows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema

SCHEMA = parse_schema("k string, b boolean, n bigint, i int, t timestamp, d double")
SELECT = "count(*) as c, count(d) as v, sum(n) as s, sum(i) as u, min(i) as l, max(n) as h, min(t) as f, max(t) as z"
AGGREGATION = check_aggregate(SELECT, ["k", "b"], SCHEMA)
ENGINE = SqlEngine()

ROW = st.fixed_dictionaries(
    {
        "k": st.sampled_from(["x", "", None]),
        "b": st.sampled_from([True, None]),
        "n": st.none() | st.sampled_from([-(2**63), -1, 0, 2**62, 2**63 - 1]),
        "i": st.none() | st.integers(-(2**31), 2**31 - 1),
        "t": st.none()
        | st.integers(-(2**50), 2**50).map(
            lambda n: dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=n)
        ),
        "d": st.none() | st.floats(),
    }
)
ROWS = st.lists(ROW, min_size=1, max_size=12).map(lambda rows: pa.Table.from_pylist(rows, arrow_schema(SCHEMA)))


@given(ROWS)
def test_plain_aggregates_are_those_of_their_sql_also_where_sums_wrap_around(rows):
    found = arrow_group_by(AGGREGATION, []).aggregate(rows)
    expected = ENGINE.query(partials_sql(AGGREGATION, table("rows")), rows=rows)
    assert [column.type for column in found.columns] == [column.type for column in expected.columns]
    assert Counter(to_plain_rows(found.columns)) == Counter(to_plain_rows(expected.columns))


@pytest.mark.parametrize(
    ("select", "by"),
    [
        ("sum(d) as s", ["k"]),
        ("max(d) as s", ["k"]),
        ("sum(n + 1) as s", ["k"]),
        ("count(distinct n) as s", ["k"]),
        ("avg(n) as s", ["k"]),
        ("count(*) as s", ["d"]),
        ("count(*) as s", []),
    ],
)
def test_what_is_not_plain_takes_sql(select, by):
    assert arrow_group_by(check_aggregate(select, by, SCHEMA), []) is None


@given(ROWS)
def test_plain_select_lists_are_those_of_their_sql(rows):
    columns = check_select("n as m, K as key, t", SCHEMA).columns
    expected = ENGINE.query(select_sql(columns, table("rows"), ["d"]), rows=rows)
    assert repr(plain_projection(columns, after=["d"]).apply(rows).to_pylist()) == repr(expected.to_pylist())


def test_a_select_list_that_computes_takes_sql():
    assert plain_projection(check_select("n, i + 1 as j", SCHEMA).columns) is None
