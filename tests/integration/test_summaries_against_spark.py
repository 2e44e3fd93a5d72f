"""Aggregates of which a summary is kept give what Spark gives of generated rows, in whatever batches they come."""

import random
import re
import string

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_aggregate, check_select, select_sql
from streamapp_core.expressions import table as of
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.summaries import summary_of
from streamapp_systems.arrow_types import arrow_schema
from support import aggregates
from support.spark_oracle import judge_session

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SCHEMA = parse_schema("i int, b bigint, d double, s string, x binary, t boolean")
ROW = st.tuples(
    st.none() | st.integers(-9, 9) | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.integers(-40, 40).map(lambda number: number / 4) | st.floats().map(lambda number: number + 0.0),
    st.none() | st.text(string.ascii_letters + "éΩ", max_size=3),
    st.none() | st.binary(max_size=6),
    st.none() | st.booleans(),
)
AGGREGATES = """
max_by(i, b, 3); min_by(s, d, 2); max_by(x, i % 3, 4); min_by(b, t, 2) filter (where i > 0); max_by(d, s, 5)
mode(i % 5); mode(s); mode(b, false); mode(t); mode(cast(i as tinyint)) filter (where t); mode(i)
approx_count_distinct(i); approx_count_distinct(s, 0.3); approx_count_distinct(d); approx_count_distinct(x, 0.02)
histogram_numeric(i, 3); histogram_numeric(d, 4); histogram_numeric(b, 2); histogram_numeric(i % 10, 5)
percentile_approx(i, 0.5, 3); percentile_approx(d, array(0.9, 0.1, 1, 0), 2); percentile_approx(b, 0.3)
count_min_sketch(i, 0.1d, 0.9d, 1); count_min_sketch(s, 0.2d, 0.99d, -7); count_min_sketch(x, 0.3d, 0.5d, 0)
theta_sketch_agg(i, 4); theta_sketch_agg(b, 5); theta_sketch_agg(d, 4); theta_sketch_agg(s); theta_sketch_agg(x)
approx_top_k(i, 4); approx_top_k(s, 10, 12); approx_top_k(t) filter (where i > 0); approx_top_k(tinyint(i % 50), 2, 3)
approx_top_k_accumulate(i % 20, 3); approx_top_k_accumulate(s, 5); approx_top_k_accumulate(t) filter (where t)
approx_top_k_estimate(approx_top_k_accumulate(b, 9), 9); approx_top_k_estimate(approx_top_k_accumulate(s))
tuple_sketch_estimate_double(tuple_sketch_agg_double(s, b, 4))
tuple_sketch_theta_double(tuple_sketch_agg_double(i, i, 4)); tuple_sketch_agg_double(i % 1, i) filter (where t)
tuple_sketch_summary_double(tuple_sketch_agg_double(d, i, 4, 'max'), 'min')
tuple_sketch_summary_integer(tuple_sketch_agg_integer(x, i, 5))
tuple_sketch_estimate_integer(tuple_sketch_agg_integer(b, i))
tuple_sketch_summary_integer(tuple_sketch_agg_integer(i % 9, b), 'max')
hll_sketch_agg(i, 4); hll_sketch_agg(b, 8); hll_sketch_agg(s); hll_sketch_agg(i % 50, 7) filter (where t)
hll_sketch_estimate(hll_sketch_agg(b, 5)); hll_union(hll_sketch_agg(i, 4), hll_sketch_agg(b, 4))
kll_sketch_agg_bigint(i); kll_sketch_agg_bigint(b, 300); kll_sketch_agg_double(d)
kll_sketch_agg_float(float(d) + float(0), 500)
kll_sketch_agg_double(float(d) + float(0)) filter (where t); kll_sketch_agg_bigint(tinyint(i % 100), 200)
kll_sketch_to_string_double(kll_sketch_agg_double(double(i))); kll_sketch_to_string_bigint(kll_sketch_agg_bigint(i))
kll_sketch_merge_bigint(kll_sketch_agg_bigint(i), kll_sketch_agg_bigint(b))
kll_sketch_get_n_float(kll_sketch_agg_float(float(d) + float(0)))
if(count(i) > 0, kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(i), array(0.0, 0.1, 0.5, 1.0)), null)
if(count(b) > 0, kll_sketch_get_rank_bigint(kll_sketch_agg_bigint(b), 7), null)
if(count_if(d > 0) > 1, kll_sketch_get_rank_double(kll_sketch_agg_double(d), array(-3.5, 2, 1e10)), null)
if(count_if(d > 0) > 1, kll_sketch_get_quantile_float(kll_sketch_agg_float(float(d) + float(0)), 0.7), null)
bitmap_or_agg(x); bitmap_and_agg(x) filter (where t); bitmap_construct_agg(bitmap_bit_position(b))
""".replace("\n", "; ").split("; ")
TEXTS = [text for text in AGGREGATES if text]
SELECT = [f"{text} as c{at}" for at, text in enumerate(TEXTS)]
AGGREGATION = check_aggregate(", ".join(SELECT), [], SCHEMA)


@pytest.fixture(scope="module")
def spark():
    with judge_session() as session:
        yield session


@settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(ROW, min_size=1, max_size=120), size=st.integers(1, 50))
def test_summaries_of_generated_rows_are_sparks(spark, rows, size):
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), arrow_schema(SCHEMA), strict=True)
    ]
    data = pa.table(columns, schema=arrow_schema(SCHEMA))
    theirs = spark.createDataFrame(data).coalesce(1).selectExpr(*SELECT).toArrow().to_pylist()
    with SqlEngine() as engine:
        ours = aggregates.computed(engine, AGGREGATION, aggregates.split(data, size)).to_pylist()
    for text, name in zip(TEXTS, theirs[0], strict=True):
        assert repr(ours[0][name]) == repr(theirs[0][name]).replace("-0.0", "0.0"), text


SKETCHED = st.tuples(st.sampled_from([0, 3, 700]), st.sampled_from([0, 1, 5, 20, 300]), st.sampled_from([4, 5, 12]))


def check_summaries(spark, table, schema, texts, *, batches):
    """Hold aggregates over a table, which comes in so many batches, to Spark's."""
    select = [f"{text} as c{at}" for at, text in enumerate(texts)]
    theirs = spark.createDataFrame(table).coalesce(1).selectExpr(*select).toArrow().to_pylist()
    aggregation = check_aggregate(", ".join(select), [], parse_schema(schema))
    with SqlEngine() as engine:
        assert aggregates.computed(engine, aggregation, aggregates.split(table, batches)).to_pylist() == theirs


@settings(max_examples=10, deadline=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
@given(sketched=st.lists(SKETCHED, min_size=1, max_size=4), logarithm=st.sampled_from([4, 12]), data=st.data())
def test_sketches_of_sketches_are_sparks(spark, sketched, logarithm, data):
    sketches = [
        spark.sql(f"select theta_sketch_agg(id, {size}) from range({start}, {start + count})").first()[0]
        for start, count, size in sketched
    ]
    texts = [f"theta_union_agg(s, {logarithm})", "theta_intersection_agg(s)", f"theta_union_agg(s, {logarithm})"]
    texts[2] = f"theta_sketch_estimate({texts[2]})"
    texts += [
        f"theta_union(min(s), max(s), {logarithm})",
        "theta_intersection(max(s), min(s))",
        f"theta_difference({texts[0]}, min(s))",
        f"theta_difference(max(s), {texts[0]})",
    ]
    table = pa.table({"s": pa.array([*map(bytes, sketches), None], pa.binary())})
    check_summaries(spark, table, "s binary", texts, batches=data.draw(st.integers(1, len(table))))


@settings(max_examples=5, deadline=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
@given(
    items=st.lists(st.lists(st.none() | st.integers(-9, 30), min_size=1, max_size=80), min_size=1, max_size=4),
    tracked=st.sampled_from([5, 20, 10_000]),
)
def test_sketches_of_items_are_combined_as_in_spark(spark, items, tracked):
    made = f"approx_top_k_accumulate(cast(v as string), {tracked}) as x"
    parts = [
        spark.createDataFrame(pa.table({"v": pa.array(values, pa.int64())})).coalesce(1).selectExpr(made).toArrow()
        for values in items
    ]
    sketches = pa.concat_tables(parts)
    texts = [
        "approx_top_k_combine(x)",
        "approx_top_k_combine(x, 8)",
        "approx_top_k_estimate(approx_top_k_combine(x, 5))",
    ]
    schema = "x struct<sketch:binary,maxItemsTracked:int,itemDataType:string,itemDataTypeDDL:string>"
    check_summaries(spark, sketches, schema, texts, batches=2)


@settings(max_examples=5, deadline=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
@given(
    keys=st.lists(st.lists(st.integers(0, 40), max_size=60), min_size=1, max_size=4),
    mode=st.sampled_from(["sum", "min", "max", "alwaysone"]),
)
def test_tuple_sketches_of_sketches_are_sparks(spark, keys, mode):
    made = [
        "tuple_sketch_agg_double(k, k / 4d, 5) as d",
        "tuple_sketch_agg_integer(k, k - 20, 4, 'max') as i",
        "theta_sketch_agg(k % 30, 4) as t",
    ]
    frames = [spark.createDataFrame(pa.table({"k": pa.array(some, pa.int64())})).coalesce(1) for some in keys]
    sketches = pa.concat_tables([frame.selectExpr(*made).toArrow() for frame in frames])
    texts = [
        f"tuple_sketch_{asked}_{kind}({text})"
        for kind, of, size in (("double", "d", 4), ("integer", "i", 5))
        for text in (
            f"tuple_union_agg_{kind}({of}, {size}, '{mode}')",
            f"tuple_intersection_agg_{kind}({of}, '{mode}')",
            f"tuple_union_{kind}(min({of}), max({of}), {size}, '{mode}')",
            f"tuple_union_theta_{kind}(min({of}), max(t), {size}, '{mode}')",
            f"tuple_intersection_{kind}(min({of}), max({of}), '{mode}')",
            f"tuple_intersection_theta_{kind}(min({of}), max(t), '{mode}')",
            f"tuple_difference_{kind}(max({of}), min({of}))",
            f"tuple_difference_theta_{kind}(min({of}), max(t))",
        )
        for asked in ("estimate", "summary", "theta")
    ]
    check_summaries(spark, sketches, "d binary, i binary, t binary", texts, batches=2)


COUNTED = st.tuples(
    st.sampled_from([0, 3, 700]), st.sampled_from([0, 1, 7, 30, 300, 3000]), st.sampled_from([4, 8, 12])
)


@settings(max_examples=5, deadline=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
@given(counted=st.lists(COUNTED, min_size=1, max_size=4), data=st.data())
def test_unions_of_registers_estimate_what_sparks_do(spark, counted, data):
    sketches = [
        spark.sql(f"select hll_sketch_agg(id, {size}) from range({start}, {start + count}, 1, 1)").first()[0]
        for start, count, size in counted
    ]
    texts = ["hll_sketch_estimate(hll_union_agg(s, true))", "max(hll_sketch_estimate(s))"]
    texts += [f"hll_sketch_estimate(hll_union(any_value(s), hll_sketch_agg(1, {size}), true))" for size in (4, 12)]
    table = pa.table({"s": pa.array([*map(bytes, sketches), None], pa.binary())})
    check_summaries(spark, table, "s binary", texts, batches=data.draw(st.integers(1, len(table))))


@settings(max_examples=5, deadline=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
@given(
    kind=st.sampled_from(["bigint", "float", "double"]),
    counts=st.lists(st.sampled_from([0, 1, 2, 9, 200, 5000]), min_size=1, max_size=3),
    k=st.sampled_from([8, 9, 50, 200]),
    seed=st.integers(0, 9),
)
def test_spark_finds_in_sketches_of_many_values_what_is_found_here(spark, kind, counts, k, seed):
    numbers = random.Random(seed)
    sketches = [summary_of("kll_of_values", (kind, k)) for _ in counts]
    values = [[numbers.randrange(-3000, 3000) / 4 for _ in range(count)] for count in counts]
    made = [one.result(one.add(None, some)) for one, some in zip(sketches, values, strict=True)]
    table = pa.table({"s": pa.array(made, pa.binary())})
    found = f"kll_sketch_get_quantile_{kind}(s, array(0.0, 0.01, 0.5, 0.9, 1.0)), kll_sketch_get_rank_{kind}(s, 17)"
    select = f"kll_sketch_to_string_{kind}(s) as a, if(kll_sketch_get_n_{kind}(s) > 0, struct({found}), null) as b"
    theirs = spark.createDataFrame(table).selectExpr(*split_list(select)).toArrow().to_pylist()
    merged = f"kll_merge_agg_{kind}(s)", f"kll_merge_agg_{kind}(s, 20)"
    described = ", ".join(f"kll_sketch_to_string_{kind}({text}) as c{at}" for at, text in enumerate(merged))
    theirs_merged = spark.createDataFrame(table).coalesce(1).selectExpr(*split_list(described)).toArrow().to_pylist()
    with SqlEngine() as engine:
        ours = engine.query(select_sql(check_select(select, parse_schema("s binary")).columns, of("t")), t=table)
        aggregation = check_aggregate(described, [], parse_schema("s binary"))
        ours_merged = aggregates.computed(engine, aggregation, aggregates.split(table, 2)).to_pylist()
    assert ours.to_pylist() == theirs
    assert ours_merged == theirs_merged


def split_list(select: str) -> list[str]:
    """Cut a select list behind the names of its items."""
    return re.split(r"(?<= as \w), |(?<= as \w\d), ", select)
