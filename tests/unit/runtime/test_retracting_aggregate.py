"""Aggregates of rows that replace each other give what an aggregate of the rows as they are now gives."""

import math

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.retracting_aggregate import RetractingAggregate
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.tombstones import DELETED_COLUMN, DELETED_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.arrow_types import arrow_schema

ENGINE = SqlEngine()
SCHEMA = parse_schema("id int, g string, v bigint, d double, m decimal(20,2)")
COLUMNS = pa.schema([*arrow_schema(SCHEMA), EVENT_TIME_FIELD, DELETED_FIELD])
EXACT = (
    "count(*) as n, count(distinct v) as kinds, count(distinct d, g) as pairs, count(v) as vs, sum(v) as total, "
    "avg(v) as mean, sum(m) as paid, sum(d) as ds, avg(d) as dm"
)
MERGED = (
    "max(v) as most, min(d) as least, max(d) as top, count(distinct v) as kinds, first(v) as first, last(d) as last, "
    "collect_list(v) as all, max_by(v, d) as best, stddev(v) as spread, median(v) as middle, bit_xor(v) as bits, "
    "sum(v) filter (where d > 0) as positive, string_agg(cast(v as string), ',') as texts"
)

rows = st.fixed_dictionaries(
    {
        "g": st.sampled_from(["x", "y", None]),
        "v": st.one_of(st.none(), st.integers(-5, 5), st.sampled_from([2**63 - 1, -(2**63)])),
        "d": st.sampled_from([None, 0.1, -0.2, 1e300, -1e300, 5e-324, 3.0, math.nan, math.inf, -math.inf]),
        "m": st.one_of(st.none(), st.decimals(-(10**9), 10**9, places=2)),
    }
)
changes = st.tuples(st.integers(0, 5), st.one_of(st.none(), rows))
batches = st.lists(st.lists(changes, min_size=1, max_size=6), max_size=6)


def table(batch, first):
    dictionaries = [
        {"id": key, **(row or {}), EVENT_TIME_COLUMN: first + place, DELETED_COLUMN: row is None}
        for place, (key, row) in enumerate(batch)
    ]
    return pa.Table.from_pylist(dictionaries, COLUMNS)


def shown(row):
    return {name: "nan" if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}


def check(select, batches, restarts):
    aggregation = check_aggregate(select, ("g",), SCHEMA)
    environment, current, results, time = MemoryEnvironment(), {}, {}, 0
    operator = RetractingAggregate(ENGINE, environment.store("a"), aggregation, ["id"], inline=2)
    for batch in batches:
        if restarts:
            operator.flush()
            operator = RetractingAggregate(ENGINE, environment.store("a"), aggregation, ["id"], inline=2)
        changed = operator.process(table(batch, time))
        for place, (key, row) in enumerate(batch):
            current.pop(key, None)
            if row is not None:
                current[key] = {**row, EVENT_TIME_COLUMN: time + place}
        time += len(batch)
        for row in [] if changed is None else changed.to_pylist():
            del row[EVENT_TIME_COLUMN]
            if row.pop(DELETED_COLUMN):
                assert results.pop(row["g"], None) is not None
            else:
                results[row["g"]] = shown(row)
        expected = Aggregate(ENGINE, MemoryEnvironment().store("b"), aggregation)
        whole = None
        if current:
            now = sorted(current.items(), key=lambda item: item[1][EVENT_TIME_COLUMN])
            whole = expected.process(
                pa.Table.from_pylist([{"id": key, **row} for key, row in now], COLUMNS).drop_columns([DELETED_COLUMN])
            )
        found = {} if whole is None else {row["g"]: shown(row) for row in whole.to_pylist()}
        for row in found.values():
            del row[EVENT_TIME_COLUMN]
        assert results.keys() == found.keys()
        for group, row in found.items():
            assert results[group] == exact(row, [one["d"] for one in current.values() if one["g"] == group])
    operator.flush()
    if not current:
        assert [key for key, _ in environment.store("a").scan() if key not in (b"n", b"dx")] == []


def exact(row, values):
    """Replace floating sums, of which the last digits depend on the order, by the nearest ones there are."""
    if "ds" not in row:
        return row
    known = [value for value in values if value is not None]
    if not known:
        return {**row, "ds": None, "dm": None}
    opposite = {math.inf, -math.inf} <= set(known)
    total = math.nan if opposite else math.fsum(known)
    return shown({**row, "ds": total, "dm": total / len(known)})


@settings(max_examples=70)
@given(batches=batches, restarts=st.booleans())
def test_sums_and_counts_take_back_what_a_row_had_given(batches, restarts):
    check(EXACT, batches, restarts)


@settings(max_examples=70)
@given(batches=batches, restarts=st.booleans())
def test_other_results_are_those_of_the_rows_that_are_left(batches, restarts):
    check(MERGED, batches, restarts)


def test_floating_sums_do_not_drift_however_often_rows_change():
    aggregation = check_aggregate("sum(d) as total, avg(d) as mean", ("g",), SCHEMA)
    operator = RetractingAggregate(ENGINE, MemoryEnvironment().store("a"), aggregation, ["id"])
    for number in range(500):
        value = 1e300 if number % 2 else 0.1 * number
        operator.process(table([(0, {"g": "x", "v": 1, "d": value, "m": None})], number))
    result = operator.process(
        table([(0, {"g": "x", "v": 1, "d": 0.1, "m": None}), (1, {"g": "x", "v": 1, "d": 0.2, "m": None})], 500)
    ).to_pylist()
    assert (result[0]["total"], result[0]["mean"]) == (math.fsum([0.1, 0.2]), math.fsum([0.1, 0.2]) / 2)
