"""Checked expressions, evaluated by DuckDB on small tables."""

import datetime
import math
import resource

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import (
    check_aggregate,
    check_condition,
    check_flat_map,
    check_select,
    filter_sql,
    nested,
    partials_sql,
    select_sql,
    table,
)
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema
from support import aggregates

SCHEMA = parse_schema("k string, n int, b bigint, d double, m decimal(10,2), at timestamp")
INTS = st.none() | st.integers(-(2**31), 2**31 - 1)
LONGS = st.none() | st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.none() | st.floats()
TEXTS = st.none() | st.text(max_size=12)


@pytest.fixture(scope="module")
def engine():
    with SqlEngine() as engine:
        yield engine


def rows(**columns):
    size = len(next(iter(columns.values())))
    values = {name: columns.get(name, [None] * size) for name in SCHEMA.names}
    return pa.table(values, schema=arrow_schema(SCHEMA))


def evaluate(engine, text, **columns):
    select = check_select(f"{text} as x", SCHEMA)
    result = engine.query(select_sql(select.columns, table("t")), t=rows(**columns))
    assert result.schema == arrow_schema(select.schema)
    return result["x"].to_pylist()


def wrapped(value, bits):
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@pytest.mark.parametrize(
    "text", ["array_repeat(k, 300000000)", "lpad('', '3e8', 'xy')", "rpad(unhex(''), 3e8, unhex('00'))", "space(3e8)"]
)
def test_what_is_too_long_is_never_made_even_of_constants(engine, text):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert evaluate(engine, text, k=["a"]) == [None]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # KB


def test_dates_that_no_timestamp_reaches_have_no_sequence(engine):
    days = [400_000_000, 1]
    text = "sequence(date_add(at, n), date_add(at, n + 1){})"
    expected = [None, [datetime.date(1970, 1, 2), datetime.date(1970, 1, 3)]]
    assert evaluate(engine, text.format(""), n=days, at=[0, 0]) == expected
    assert evaluate(engine, text.format(", interval 1 month"), n=days, at=[0, 0]) == [None, expected[1][:1]]


def test_what_fails_twice_is_null_too(engine):
    text = "hour(date_add(at, n)) + hour(date_add(at, n))"
    assert evaluate(engine, text, n=[400_000_000, 1], at=[0, 0]) == [None, 0]


@settings(deadline=None)
@given(st.lists(INTS, min_size=1, max_size=20))
def test_int_arithmetic_wraps_around(engine, values):
    expected = [None if value is None else wrapped(value * 3 - 7, 32) for value in values]
    assert evaluate(engine, "n * 3 - 7", n=values) == expected


@settings(deadline=None)
@given(st.lists(LONGS, min_size=1, max_size=20))
def test_bigint_arithmetic_wraps_around(engine, values):
    expected = [None if value is None else wrapped(-(value * value), 64) for value in values]
    assert evaluate(engine, "-(b * b)", b=values) == expected


EVERYTHING = """
cast(k as int); cast(k as double); cast(k as decimal(5,2)); cast(k as date); cast(k as timestamp);
cast(k as boolean); cast(d as int); cast(d as string); cast(d as decimal(10,2)); cast(b as timestamp); n / b;
b % n; pmod(b, n); power(d, n); ln(d); sqrt(d); round(d, 3); round(b, -3); substring(k, n, b); left(k, n);
upper(k); lower(k); reverse(k); lpad(k, 5, k); k rlike '[a-z]+$'; date_add(k, n); timestamp_millis(b); md5(k);
greatest(d, n); m * n / b; m / n; date_trunc('month', timestamp_millis(b)); year(timestamp_millis(b));
coalesce(cast(k as int), n, d)
"""


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(TEXTS, INTS, LONGS, DOUBLES), min_size=1, max_size=10))
def test_no_row_is_an_error(engine, values):
    k, n, b, d = (list(column) for column in zip(*values, strict=True))
    texts = [text for line in EVERYTHING.splitlines() for text in line.split(";") if text.strip()]
    select = check_select(", ".join(f"{text} as x{i}" for i, text in enumerate(texts)), SCHEMA)
    result = engine.query(select_sql(select.columns, table("t")), t=rows(k=k, n=n, b=b, d=d))
    assert result.schema == arrow_schema(select.schema)
    assert result.num_rows == len(values)


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_a_double_is_the_double_of_its_text(engine, values):
    assert evaluate(engine, "cast(cast(d as string) as double)", d=values) == values


def test_fused_steps_are_one_query(engine):
    first = check_condition("n > 1", SCHEMA)
    swap = check_select("b as n, n as b, d", SCHEMA)
    second = check_condition("b < 4", swap.schema)
    data = rows(n=[1, 2, 3, 4], b=[10, 20, 30, 40]).append_column(EVENT_TIME_COLUMN, pa.array([7, 8, 9, 10]))
    mapped = select_sql(swap.columns, nested(filter_sql(first, table("t"))), [EVENT_TIME_COLUMN])
    result = engine.query(filter_sql(second, nested(mapped)), t=data)
    assert result.to_pydict() == {"n": [20, 30], "b": [2, 3], "d": [None, None], EVENT_TIME_COLUMN: [8, 9]}


def test_a_condition_that_is_null_drops_the_row(engine):
    result = engine.query(filter_sql(check_condition("1 / n > 0", SCHEMA), table("t")), t=rows(n=[0, 1, None]))
    assert result["n"].to_pylist() == [1]


def test_explode_repeats_the_other_columns(engine):
    select = check_flat_map("n, explode(split(k, ', *')) as part", SCHEMA)
    data = rows(k=["a, b", None, ""], n=[1, 2, 3]).append_column(EVENT_TIME_COLUMN, pa.array([7, 8, 9]))
    result = engine.query(select_sql(select.columns, table("t"), [EVENT_TIME_COLUMN]), t=data)
    assert result.to_pydict() == {"n": [1, 1, 3], "part": ["a", "b", ""], EVENT_TIME_COLUMN: [7, 7, 9]}


NESTED = parse_schema("n int, a array<int>, m map<string,int>, s array<struct<x:int,y:string>>")


def _entries(mapping):
    return list(mapping.items())


_PAIRS = st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(0, 3), "y": st.none() | st.text("ab")})


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "n": st.integers(0, 9),
                "a": st.none() | st.lists(st.none() | st.integers(0, 3), max_size=4),
                "m": st.none() | st.dictionaries(st.text("ab", max_size=2), st.integers(0, 3)).map(_entries),
                "s": st.none() | st.lists(_PAIRS, max_size=4),
            }
        ),
        max_size=6,
    )
)
def test_generators_make_a_row_of_each_element(engine, values):
    data = pa.Table.from_pylist(values, arrow_schema(NESTED))

    def made(text):
        return engine.query(select_sql(check_flat_map(text, NESTED).columns, table("t")), t=data).to_pylist()

    def outer(column, nothing):
        return [(row["n"], place, value) for row in values for place, value in enumerate(row[column] or [nothing])]

    def inner(column):
        return [(row["n"], place, value) for row in values for place, value in enumerate(row[column] or [])]

    assert made("n, explode(a) as x") == [{"n": n, "x": x} for n, _, x in inner("a")]
    assert made("posexplode(a), n") == [{"pos": place, "col": x, "n": n} for n, place, x in inner("a")]
    assert made("n, explode(m)") == [{"n": n, "key": k, "value": v} for n, _, (k, v) in inner("m")]
    assert made("explode_outer(m) as (k, v)") == [{"k": k, "v": v} for _, _, (k, v) in outer("m", (None, None))]
    assert made("inline_outer(s)") == [pair or {"x": None, "y": None} for _, _, pair in outer("s", None)]
    places = [
        {"p": place if row["a"] else None, "x": x} for row in values for place, x in enumerate(row["a"] or [None])
    ]
    assert made("posexplode_outer(a) as (p, x)") == places
    assert made("stack(2, n, 1, n + 1)") == [
        line for row in values for line in ({"col0": row["n"], "col1": 1}, {"col0": row["n"] + 1, "col1": None})
    ]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", None]), LONGS), min_size=1, max_size=30),
    st.integers(1, 7),
)
def test_partial_results_merge_in_any_split(engine, values, size):
    aggregation = check_aggregate("count(*) as c, sum(b) as s, min(b) as lo, max(b) as hi, avg(b) as a", ["k"], SCHEMA)
    keys, numbers = (list(column) for column in zip(*values, strict=True))
    data = rows(k=keys, b=numbers)
    result = aggregates.computed(engine, aggregation, aggregates.split(data, size)).to_pylist()
    assert {row["k"] for row in result} == set(keys)
    assert len(result) == len(set(keys))
    for row in result:
        mine = [number for key, number in values if key == row["k"]]
        known = [number for number in mine if number is not None]
        assert row["c"] == len(mine)
        assert row["s"] == (wrapped(sum(known), 64) if known else None)
        assert (row["lo"], row["hi"]) == (min(known, default=None), max(known, default=None))
        assert (row["a"] is None) == (not known)


def test_all_nan_are_one_group_and_both_zeros_another(engine):
    aggregation = check_aggregate("count(*) as c", ["d"], SCHEMA)
    data = rows(d=[math.nan, -math.nan, 0.0, -0.0, None])
    result = engine.query(partials_sql(aggregation, table("t")), t=data).to_pylist()
    assert sorted((str(row["d"]), row["__p0"]) for row in result) == [("0.0", 2), ("None", 1), ("nan", 2)]


def test_an_engine_serves_one_name_with_several_schemas(engine):
    assert engine.query("SELECT * FROM t", t=pa.table({"a": [1]})).to_pydict() == {"a": [1]}
    assert engine.query("SELECT * FROM t", t=pa.table({"a": ["x"]})).to_pydict() == {"a": ["x"]}
    assert engine.query("SELECT * FROM t", t=pa.record_batch({"a": [2, 3]})).to_pydict() == {"a": [2, 3]}


def test_an_engine_goes_on_after_an_error(engine):
    with pytest.raises(duckdb.Error):
        engine.query("SELECT error('x') FROM t", t=pa.table({"a": [1]}))
    assert engine.query("SELECT a FROM t", t=pa.table({"a": [1]})).num_rows == 1


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM read_csv('/etc/hostname')", "SELECT * FROM engine", "SET threads = 4", "ATTACH '/tmp/x.db'"]
)
def test_an_engine_reaches_nothing_but_its_tables(engine, sql):
    with pytest.raises(duckdb.Error):
        engine.query(sql)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4 | 2 & 1", 4),
        ("6 ^ 2 | 1", 5),
        ("7 & 3 >> 1", 1),
        ("1 << 3 >>> 1", 4),
        ("-8 >>> 1 + 1", 1073741822),
        ("'a' || 2 * 3", "a6"),
        ("'1' || 2 - 1", 11.0),
        ("1 = 2 is null", False),
        ("1 < 2 in (true)", True),
        ("1 = 1 = true", True),
        ("1 = 1 is distinct from true", False),
        ("not 1 = 2 and 1 | 2 = 3", True),
    ],
)
def test_operators_bind_as_in_spark(engine, text, expected):
    assert evaluate(engine, text, n=[1]) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "array_insert(array(1), 2147483647, 2)",
        "array_insert(array(1), -2147483648, 2)",
        "array_insert(array(1), n, 2)",
        "sequence(date'0001-01-01', date'9999-12-31')",
        "sequence(date'2024-01-01', date'2024-01-02', interval '1' hour)",
        "sequence(date'2024-01-02', date'2024-01-01', interval '1' month)",
        "sequence(at, at + interval '3' hour, interval '0.000001' second)",
        "str_to_map('a:1,a:2')",
        "try_to_binary('YQ= =', 'base64')",
    ],
)
def test_what_has_no_result_or_a_huge_one_is_null(engine, text):
    assert evaluate(engine, text, n=[0], at=[0]) == [None]


def test_arguments_may_have_names_where_spark_has_some(engine):
    assert evaluate(engine, "mask(k, lowerChar => 'z', otherChar => '-')", k=["aB1 "]) == ["zXn-"]
    names = check_flat_map("explode(collection => array(n)) as c", SCHEMA).schema.names
    assert names == ("c",)
