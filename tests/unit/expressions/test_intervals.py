"""Intervals in expressions: how they are written, what they give, and where they are refused."""

import datetime as dt
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.expressions import ExpressionError, check_aggregate, check_select, select_sql, table
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema
from support import aggregates

SCHEMA = parse_schema("a timestamp, b timestamp, n int")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MOMENTS = st.integers(-15_000_000_000_000_000, 17_000_000_000_000_000).map(
    lambda microseconds: EPOCH + dt.timedelta(microseconds=microseconds)
)


@pytest.fixture(scope="module")
def engine():
    with SqlEngine() as engine:
        yield engine


def computed(engine: SqlEngine, text: str, a: dt.datetime = EPOCH, b: dt.datetime = EPOCH, n: int = 0) -> Any:
    row = pa.Table.from_pylist([{"a": a, "b": b, "n": n}], arrow_schema(SCHEMA))
    return engine.query(select_sql(check_select(f"{text} as c", SCHEMA).columns, table("t")), t=row)["c"][0].as_py()


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("interval 3 days 2 hours", "INTERVAL '3 02' DAY TO HOUR"),
        ("interval '3 days 2 hours'", "INTERVAL '3 02' DAY TO HOUR"),
        ("interval -3 days", "INTERVAL '-3' DAY"),
        ("interval -'100' year", "INTERVAL '-100' YEAR"),
        ("interval '1' week", "INTERVAL '7' DAY"),
        ("interval 1 milliseconds 1 microseconds", "INTERVAL '00.001001' SECOND"),
        ("interval '1.1234567' second", "INTERVAL '01.123456' SECOND"),
        ("interval '-1 02:03:04.5' day to second", "INTERVAL '-1 02:03:04.5' DAY TO SECOND"),
        ("interval '105:07' hour to minute", "INTERVAL '105:07' HOUR TO MINUTE"),
        ("interval '7:08.120' minute to second", "INTERVAL '07:08.12' MINUTE TO SECOND"),
        ("interval '-1-2' year to month", "INTERVAL '-1-2' YEAR TO MONTH"),
        ("interval 1 day * 2", "INTERVAL '2 00:00:00' DAY TO SECOND"),
        ("interval 1 day 2 hours * 2", "INTERVAL '2 04:00:00' DAY TO SECOND"),
        ("interval '5' month / 2", "INTERVAL '0-3' YEAR TO MONTH"),
        ("interval '106751991 04:00:54.775807' day to second", "INTERVAL '106751991 04:00:54.775807' DAY TO SECOND"),
    ],
)
def test_a_literal_has_the_text_that_spark_gives_it(engine, literal, text):
    assert computed(engine, f"cast({literal} as string)") == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("interval 1 month 1 day", "years and months don't mix"),
        ("interval 1.5 days", "is no interval"),
        ("interval '1:70' hour to minute", "is no interval"),
        ("interval '1' second to day", "there are no intervals `second to day`"),
        ("interval '106751992' day", "longer than an interval can be"),
        ("interval '1' year > interval '1' day", "can't be compared"),
        ("interval '1' day = '1'", "can't be compared"),
        ("interval '1' day + interval '1' month", "takes numbers"),
        ("a + 1", "takes numbers"),
        ("extract(hour from interval '5' minute)", "has no hour"),
        ("cast(cast(interval '5' day as double) as string)", "can't be cast to double"),
        ("interval '5' day", "which no column can hold"),
        ("a - b", "cast it to string, or to bigint (so many seconds)"),
        ("timestampadd('month', 1, a)", "a unit without quotes"),
        ("timestampadd(fortnight, 1, a)", "there is no unit fortnight"),
        ("from_utc_timestamp(a, 'Europe/Atlantis')", "there is no time zone 'Europe/Atlantis'"),
        ("from_utc_timestamp(a, '+19:00')", "there is no time zone '+19:00'"),
        ("make_timestamp(2024, 1)", "with a time zone or without"),
        ("to_timestamp_ntz('2024', 'yyyy Z')", "has a time zone"),
        ("to_timestamp('', 'yyyy[MM]')", "must begin with a sign"),
        ("to_timestamp('', 'yyyy[-MM]-dd')", "the end of an optional part can't be seen"),
        ("to_timestamp('', 'HH[:mm[:ss]]:SSS')", "the end of an optional part can't be seen"),
        ("to_timestamp('', 'yyyy[-MM')", "has a `[` without `]`"),
        ("to_timestamp('', 'yyyy]')", "has a `]` without `[`"),
        ("to_timestamp('', 'yyyy[ hh a]')", "not supported there"),
        ("to_timestamp('', 'MM DDD')", "`D` stands with `y`"),
        ("date_format(a, 'ww')", "which is not supported"),
        ("timestamp_ntz '2024-01-01 00:00:00Z'", "without time zone"),
        ("time_bucket(interval 1 day, cast(a as date))", "takes an interval and a timestamp"),
        ("time_bucket(interval 1 day, a, timestamp_ntz '2024-01-01')", "is of the type of the timestamp"),
        ("make_interval(1) is null", "use timestamp + make_interval"),
        ("n + make_interval(1)", "is added to a date or timestamp"),
        ("a + make_interval(1, 2, 3, 4, 5, 6, 7, 8)", "up to 7 numbers"),
        ("make_interval(1) - a", "there is no function make_interval"),
        ("now()", "use the event time"),
        ("a > 'today'", "'today' would give another result"),
        ("cast(' Now UTC' as timestamp)", "use the event time"),
        ("a > '12:30'", "write the date, too"),
        ("cast(' T1:02:03' as timestamp)", "has no date"),
        ("hour('7:15:00')", "has no date"),
        ("datediff('yesterday', a)", "use the event time"),
        ("to_timestamp_ntz('epoch UTC')", "use the event time"),
        ("datediff(current_date, a)", "use the event time"),
    ],
)
def test_what_is_refused_says_why(text, reason):
    with pytest.raises(ExpressionError) as caught:
        check_select(f"{text} as c", SCHEMA)
    assert reason in str(caught.value)


def test_no_aggregate_keeps_intervals():
    for text in ("max(a - b) as m", "avg(a - b) as m"):
        with pytest.raises(ExpressionError, match="`m` is an interval"):
            check_aggregate(text, [], SCHEMA)
    for text in ("collect_list(a - b)", "max_by(n, a - b)", "median(a - b)", "mode(a - b)"):
        with pytest.raises(ExpressionError, match=r"what .* takes is an interval"):
            check_aggregate(f"cast({text} as string) as m", [], SCHEMA)
    with pytest.raises(ExpressionError, match="no column can hold"):
        check_aggregate("max(a) - min(b) as m", [], SCHEMA)
    check_aggregate("cast(max(a) - min(b) as bigint) as m", [], SCHEMA)


def test_no_schema_has_intervals():
    with pytest.raises(ValueError, match=r"expected|no type"):
        parse_schema("a interval day")


@given(a=MOMENTS, b=MOMENTS)
def test_the_time_between_moments_takes_one_to_the_other(engine, a, b):
    assert computed(engine, "b + (a - b)", a, b) == a
    assert computed(engine, "a - (a - b)", a, b) == b
    assert computed(engine, "cast((a - b) as bigint)", a, b) == int((a - b) / dt.timedelta(seconds=1))


@given(st.lists(st.none() | st.integers(-(10**12) + 1, 10**12 - 1), min_size=1, max_size=12), st.integers(1, 5))
def test_aggregates_of_intervals_are_those_of_their_lengths(engine, seconds, size):
    schema = parse_schema("n bigint")
    rows = pa.table({"n": pa.array(seconds, pa.int64())})
    known = [length for length in seconds if length is not None]

    def result(name: str) -> list[int | None]:
        aggregation = check_aggregate(f"cast({name}(make_dt_interval(0, 0, 0, n)) as bigint) as m", [], schema)
        return aggregates.computed(engine, aggregation, aggregates.split(rows, size))["m"].to_pylist()

    assert result("max") == [max(known, default=None)]
    assert result("min") == [min(known, default=None)]
    if all(abs(sum(known[:end])) < 9 * 10**12 for end in range(len(known) + 1)):
        assert result("sum") == [sum(known) if known else None]
        mean = Fraction(sum(known), len(known)) if known else None
        (average,) = result("avg")
        assert average == mean or abs(average - mean) < 1


@given(a=MOMENTS, n=st.integers(-10_000, 10_000))
def test_units_that_are_added_lie_between(engine, a, n):
    for unit in ("microsecond", "second", "day", "week"):
        assert computed(engine, f"timestampdiff({unit}, a, timestampadd({unit}, n, a))", a, n=n) == n
    if a.day <= 28:
        assert computed(engine, "timestampdiff(month, a, timestampadd(month, n, a))", a, n=n % 1000) == n % 1000


@given(a=MOMENTS)
def test_a_zones_clock_and_back(engine, a):
    for zone in ("+05:30", "UTC", "GMT-11:15", "Asia/Kolkata"):
        shown = f"to_utc_timestamp(from_utc_timestamp(a, '{zone}'), '{zone}')"
        if zone != "Asia/Kolkata" or a.year > 1950:
            assert computed(engine, shown, a) == a


@given(a=MOMENTS, n=st.integers(1, 10_000))
def test_a_bucket_holds_its_moment(engine, a, n):
    start = computed(engine, "time_bucket(make_dt_interval(0, 0, n), a)", a, n=n)
    assert start <= a < start + dt.timedelta(minutes=n)
    assert (start - EPOCH) % dt.timedelta(minutes=n) == dt.timedelta(0)
    start = computed(engine, "time_bucket(make_ym_interval(0, n), a)", a, n=n % 600 + 1)
    assert start <= a < computed(engine, "a + make_ym_interval(0, n)", start, n=n % 600 + 1)


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        ("2024-03-31 02:30:00", "2024-03-31 01:30:00"),
        ("2024-10-27 02:30:00", "2024-10-27 00:30:00"),
        ("2024-10-27 03:00:00", "2024-10-27 02:00:00"),
        ("1850-01-01 00:00:00", "1849-12-31 23:50:39"),
        ("0001-01-01 00:00:00", "0000-12-31 23:50:39"),
        ("9999-07-01 00:00:00", "9999-06-30 22:00:00"),
    ],
)
def test_times_that_clocks_skip_or_show_twice(engine, local, utc):
    """The first is skipped, so it counts as an hour later; the second is shown twice, so the first is meant."""
    assert computed(engine, f"cast(to_utc_timestamp('{local}', 'Europe/Paris') as string)") == utc
