"""Texts are read by the same clocks as expressions: Arrow's and DuckDB's time zones give the same moments."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import UserFunctions, check_select, select_sql, table
from streamapp_core.expressions.time_zones import app_zone
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.file.text_values import parse_text
from streamapp_systems.zoned_clocks import moments_of

ZONES = ["America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Europe/London", "+05:30", "-03:00"]
TURNS = ["2024-03-10T02:30:00", "2024-11-03T01:30:00", "2024-04-07T01:45:00", "2024-10-06T02:15:00"]
HOUR = 3_600_000_000


@pytest.fixture(scope="module")
def engine():
    with SqlEngine() as engine:
        yield engine


@pytest.mark.parametrize("zone", ZONES)
@settings(max_examples=20)
@given(micros=st.lists(st.integers(-2_000_000 * HOUR // 10, 700_000 * HOUR), min_size=1, max_size=20))
def test_arrow_and_duckdb_read_clocks_alike(engine, zone, micros):
    near = pa.array(TURNS).cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    clocks = pa.array([*near, *micros, None], pa.int64()).cast(pa.timestamp("us"))
    ours = moments_of(clocks, pa.timestamp("us", tz=zone)).cast(pa.int64())
    select = check_select(
        "cast(n as timestamp) as t", parse_schema("n timestamp_ntz"), UserFunctions(time_zone=app_zone(zone))
    )
    theirs = engine.query(select_sql(select.columns, table("t")), t=pa.table({"n": clocks})).column(0)
    assert ours.to_pylist() == theirs.cast(pa.int64()).to_pylist()


def test_texts_are_read_in_the_zone_of_their_type_or_their_own():
    texts = pa.array(
        ["2024-07-01T12:00:00", "2024-07-01 12:00:00.5", "2024-07-01T12:00:00Z", "2024-07-01T12:00:00+02:00"]
    )
    found = parse_text(texts, pa.timestamp("us", tz="America/New_York")).cast(pa.timestamp("us", tz="UTC"))
    assert [str(moment) for moment in found.cast(pa.string())] == [
        "2024-07-01 16:00:00.000000Z",
        "2024-07-01 16:00:00.500000Z",
        "2024-07-01 12:00:00.000000Z",
        "2024-07-01 10:00:00.000000Z",
    ]
