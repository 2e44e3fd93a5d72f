"""Distinct, first, last and collected values: batch by batch, with restarts, they are what DuckDB makes of all rows."""

import datetime as dt
import math
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.operators.session_window import SessionWindow
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.arrow_types import arrow_schema

ENGINE = SqlEngine()
SCHEMA = parse_schema("k string, s string, d double, m decimal(6,2), t timestamp, x binary, n int")
DATED = pa.schema([*arrow_schema(SCHEMA), pa.field(EVENT_TIME_COLUMN, pa.int64())])
NAMES = SCHEMA.names[1:]
GAP, LIMIT, NOTHING = 4, 3, -(2**63)
SELECT = ", ".join(
    f"count(distinct {name}) as {name}_distinct, first({name}, true) as {name}_first, last({name}) as {name}_last"
    for name in NAMES
)
COLLECTED = f"array_join(slice(collect_list(n), 1, {LIMIT}), '; ') as n_some"
OTHERS = {
    "max_by(s, n)": "last(s ORDER BY n, time, i) FILTER (n IS NOT NULL)",
    "min_by(n, d)": "first(n ORDER BY d, time DESC, i DESC) FILTER (d IS NOT NULL)",
    "min_by(n, m) filter (where n > 1)": "first(n ORDER BY m, time DESC, i DESC) FILTER (m IS NOT NULL AND n > 1)",
    "listagg(n, '-')": "array_to_string(list(n ORDER BY time, i) FILTER (n IS NOT NULL), '-')",
    "listagg(distinct s) within group (order by s desc)": "array_to_string(list_sort(list(DISTINCT s), 'DESC'), '')",
    "percentile_disc(0.5) within group (order by n)": "CAST(quantile_disc(n, 0.5) AS DOUBLE)",
    "mode(s, true)": "list(s ORDER BY frequency DESC, s)[1]",
    "bit_xor(n)": "bit_xor(n)",
    "sum(n) filter (where n > 1)": "CAST(sum(n) FILTER (n > 1) AS BIGINT)",
    "try_sum(n)": "CAST(sum(n) AS BIGINT)",
    "variance(n)": "round(var_samp(n), 9)",
    "count(distinct n, s)": "count(DISTINCT {'n': n, 's': s}) FILTER (n IS NOT NULL AND s IS NOT NULL)",
    "count(distinct array(d))": """count(DISTINCT CASE WHEN isnan(d) THEN 'nan' WHEN d = 0 THEN '0'
        ELSE coalesce(CAST(d AS VARCHAR), 'null') END)""",
    "sum(distinct n)": "CAST(sum(DISTINCT n) AS BIGINT)",
    "sum(cast(m as decimal(38,2)))": "CAST(sum(m) AS DECIMAL(38,2))",
    "max(struct(n, s)).s": "last(s ORDER BY n NULLS FIRST, s NULLS FIRST)",
    "min(array(m))[0]": "first(m ORDER BY m NULLS FIRST)",
    "max_by(array(s), struct(n))[0]": "last(s ORDER BY n NULLS FIRST, time, i)",
    "first(struct(s)).s": "first(s ORDER BY time, i)",
    "size(collect_set(struct(n, s)))": "CAST(count(DISTINCT {'n': n, 's': s}) AS INTEGER)",
    "collect_set(struct(n))[0].n": "first(n ORDER BY n NULLS FIRST)",
}
LISTED = ", ".join(f"{text} as o{i}" for i, text in enumerate(OTHERS)).replace("variance(n)", "round(variance(n), 9)")
AGGREGATION = check_aggregate(f"{SELECT}, {COLLECTED}, {LISTED}", ["k"], SCHEMA)

MOMENTS = [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)]
ROW = st.tuples(
    st.sampled_from(["a", "b", None]),
    *(
        st.none() | st.sampled_from(values)
        for values in (
            ["", "x", "é"],
            [0.0, -0.0, 1.5, math.nan, math.inf],
            [Decimal("0.00"), Decimal("-1.50"), Decimal("1.50")],
            MOMENTS,
            [b"", b"\0"],
            [1, 2, 3],
        )
    ),
)
TIMED = st.tuples(ROW, st.integers(0, 20))
BATCHES = st.lists(st.tuples(st.lists(TIMED, min_size=1, max_size=8), st.booleans()), min_size=1, max_size=5)
KINDS = {
    "aggregate": lambda store, inline: Aggregate(ENGINE, store, AGGREGATION, inline=inline),
    "tumbling": lambda store, inline: AlignedWindow(ENGINE, store, AGGREGATION, length=6, step=6, inline=inline),
    "sliding": lambda store, inline: AlignedWindow(ENGINE, store, AGGREGATION, length=6, step=3, inline=inline),
    "session": lambda store, inline: SessionWindow(ENGINE, store, AGGREGATION, GAP, inline=inline),
}
WINDOWS = {
    "aggregate": "SELECT *, 0 AS w FROM t",
    "tumbling": "SELECT *, time // 6 AS w FROM t",
    "sliding": "SELECT *, time // 3 AS w FROM t UNION ALL SELECT *, time // 3 - 1 AS w FROM t",
    "session": f"""
        SELECT * EXCLUDE far, sum(far) OVER (PARTITION BY k ORDER BY time ROWS UNBOUNDED PRECEDING) AS w FROM
          (SELECT *, CASE WHEN time - lag(time) OVER (PARTITION BY k ORDER BY time) > {GAP} THEN 1 ELSE 0 END AS far
           FROM t)""",
}


def table_of(batch):
    rows = [(*row, time) for row, time in batch]
    return pa.Table.from_pylist([dict(zip(DATED.names, row, strict=True)) for row in rows], schema=DATED)


def expected(kind, batches):
    rows = pa.concat_tables([table_of(batch) for batch, _ in batches]).rename_columns([*SCHEMA.names, "time"])
    columns = ["k"]
    for name in NAMES:
        value = "CASE WHEN isnan(d) THEN 'nan' ELSE d + 0 END" if name == "d" else name
        columns.append(f"count(DISTINCT {value}) AS {name}_distinct")
        columns += [
            f"first({name} ORDER BY time, i) FILTER ({name} IS NOT NULL) AS {name}_first",
            f"last({name} ORDER BY time, i) AS {name}_last",
        ]
    some = f"(list(n ORDER BY time, i) FILTER (n IS NOT NULL))[:{LIMIT}]"
    columns.append(f"coalesce(array_to_string({some}, '; '), '') AS n_some")
    columns += [f"{sql} AS o{i}" for i, sql in enumerate(OTHERS.values())]
    numbered = rows.append_column("i", pa.array(range(len(rows)), pa.int64()))
    counting = "CASE WHEN s IS NULL THEN 0 ELSE count(*) OVER (PARTITION BY k, w, s) END AS frequency"
    sql = f"SELECT {', '.join(columns)} FROM (SELECT *, {counting} FROM ({WINDOWS[kind]})) GROUP BY k, w"
    return counted(ENGINE.query(sql, t=numbered).to_pylist())


def counted(rows):
    """Count rows without the bounds of windows; both zeros are one, and so are all NaN."""
    hidden = {"window_start", "window_end", EVENT_TIME_COLUMN}
    return Counter(
        tuple(
            repr(value + 0.0 if isinstance(value, float) else value)
            for name, value in row.items()
            if name not in hidden
        )
        for row in rows
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(batches=BATCHES, inline=st.sampled_from([0, 1, 3, None]))
def test_results_are_those_of_all_rows_at_once(kind, batches, inline):
    environment = MemoryEnvironment()
    operator, found = KINDS[kind](environment.store("o"), inline), {}
    for batch, restarted in batches:
        results = operator.process(table_of(batch))
        found |= {row["k"]: row for row in ([] if results is None else results.to_pylist())}
        if restarted:
            operator.flush()
            environment.commit()
            operator = KINDS[kind](environment.store("o"), inline)
    results = operator.advance_watermark(END_OF_TIME)
    rows = found.values() if results is None else results.to_pylist()
    assert counted(rows) == expected(kind, batches)
    operator.flush()
    left = [key for key, _ in environment.store("o").scan() if not key.endswith(b"dx")]
    assert kind == "aggregate" or left == []


def test_rows_without_event_time_count_in_the_order_of_arrival():
    operator = Aggregate(
        ENGINE, MemoryEnvironment().store("o"), check_aggregate("first(n) as a, last(n) as z", [], SCHEMA)
    )
    for numbers in ([3, 1], [2, 5]):
        batch = pa.Table.from_pylist([{"n": n} for n in numbers], schema=DATED)
        result = operator.process(batch).to_pylist()
    assert [(row["a"], row["z"]) for row in result] == [(3, 5)]


def test_the_most_frequent_decimal_is_given_as_one():
    aggregation = check_aggregate("mode(m, true) as a", [], SCHEMA)
    operator = Aggregate(ENGINE, MemoryEnvironment().store("o"), aggregation)
    rows = [{"m": Decimal(m)} for m in ("1.50", "-1.50", "10.00", "10.00")]
    (result,) = operator.process(pa.Table.from_pylist(rows, schema=DATED)).to_pylist()
    assert result["a"] == Decimal("10.00")


def test_a_sum_of_decimals_is_null_while_it_is_too_large():
    schema = parse_schema("m decimal(38,0)")
    aggregation = check_aggregate("sum(m) as a, avg(m) as b, count(m) as n", [], schema)
    operator = Aggregate(ENGINE, MemoryEnvironment().store("o"), aggregation)
    dated = pa.schema([*arrow_schema(schema), pa.field(EVENT_TIME_COLUMN, pa.int64())])
    most, found = Decimal(10**38 - 1), []
    for m in (most, Decimal(1), Decimal(-1)):
        (result,) = operator.process(pa.Table.from_pylist([{"m": m}], schema=dated)).to_pylist()
        found.append((result["a"], result["b"], result["n"]))
    assert found == [(most, None, 1), (None, None, 2), (most, None, 3)]
