from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import (
    ExpressionError,
    check_aggregate,
    check_condition,
    check_flat_map,
    check_select,
)
from streamapp_core.expressions.checker import MAX_ISSUES
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import parse_schema

SCHEMA = parse_schema(
    "carrier string, tail string, n int, b bigint, f float, d double, m decimal(10,2), big decimal(38,2), "
    "day date, at timestamp, ok boolean, raw binary"
)


def issues(check, *arguments):
    with pytest.raises(ExpressionError) as refused:
        check(*arguments, SCHEMA)
    return [(issue.code, issue.message) for issue in refused.value.issues]


def kind(text):
    return str(check_select(f"{text} as x", SCHEMA).columns[0].type)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("n + n", "int"),
        ("n + b", "bigint"),
        ("b + f", "float"),
        ("n / n", "double"),
        ("n + '1'", "double"),
        ("m + n", "decimal(13,2)"),
        ("m + 1", "decimal(11,2)"),
        ("m * m", "decimal(21,4)"),
        ("m / 3", "decimal(14,6)"),
        ("m + d", "double"),
        ("-n", "int"),
        ("+carrier", "double"),
        ("1.50", "decimal(3,2)"),
        ("3000000000", "bigint"),
        ("-2147483648", "int"),
        ("1e3", "double"),
        ("n = '1'", "boolean"),
        ("coalesce(n, carrier)", "string"),
        ("coalesce(n, m)", "decimal(12,2)"),
        ("case when ok then day else at end", "timestamp"),
        ("if(ok, null, b)", "bigint"),
        ("ceil(d)", "bigint"),
        ("floor(m)", "decimal(9,0)"),
        ("round(m, 1)", "decimal(10,1)"),
        ("m - 1L", "decimal(11,2)"),
        ("m - cast(1 as bigint)", "decimal(23,2)"),
        ("concat(n, at)", "string"),
        ("raw || raw", "binary"),
        ("length(raw)", "int"),
        ("cast(null as date)", "date"),
    ],
)
def test_the_type_of_an_expression_is_sparks(text, expected):
    assert kind(text) == expected


@pytest.mark.parametrize(
    "text, code, says",
    [
        ("zzz > 15", ProblemCode.UNKNOWN_COLUMN, "unknown column `zzz`; columns: carrier, tail, n"),
        ("carier = 'x'", ProblemCode.UNKNOWN_COLUMN, "did you mean `carrier`?"),
        ("n >", ProblemCode.INVALID_EXPRESSION, "syntax error"),
        ("ok && n > 1", ProblemCode.INVALID_EXPRESSION, "near `&&` (line 1, column 5): write `and`"),
        ("tumble(at, interval '1' hour) > at", ProblemCode.INVALID_EXPRESSION, "use window(at, '1 hour')"),
        ("n > when", ProblemCode.INVALID_EXPRESSION, "if `when` is a column, write it in backquotes"),
        ("", ProblemCode.INVALID_EXPRESSION, "empty"),
        ("n + 1", ProblemCode.TYPE_MISMATCH, "expected a condition (boolean), got int"),
        ("carrier", ProblemCode.TYPE_MISMATCH, "got string"),
        ("ok < 1", ProblemCode.TYPE_MISMATCH, "boolean and int can't be compared"),
        ("at + 1 > at", ProblemCode.TYPE_MISMATCH, "`+` takes numbers, got timestamp"),
        ("not n", ProblemCode.TYPE_MISMATCH, "got int"),
        ("big = cast(n as decimal(38,10))", ProblemCode.TYPE_MISMATCH, "46 digits"),
        ("upper(carrier, tail) = 'x'", ProblemCode.INVALID_EXPRESSION, "upper(text)"),
        ("uper(carrier) = 'x'", ProblemCode.INVALID_EXPRESSION, "did you mean upper?"),
        ("year(n) > 1", ProblemCode.TYPE_MISMATCH, "date of year(date): expected date, got int"),
        ("count(*) > 1", ProblemCode.INVALID_EXPRESSION, "`window` and `aggregate` only"),
        ("explode(split(carrier, ',')) = 'x'", ProblemCode.INVALID_EXPRESSION, "`flatMap` only"),
        ("read_csv('/etc/passwd') = 1", ProblemCode.INVALID_EXPRESSION, "no function read_csv"),
        ("n > 1; drop table x", ProblemCode.INVALID_EXPRESSION, "semicolon"),
        ("n > 1 from t", ProblemCode.INVALID_EXPRESSION, "no SELECT, FROM"),
        ("n in (select 1)", ProblemCode.INVALID_EXPRESSION, "list of expressions"),
        ("exists (select 1)", ProblemCode.INVALID_EXPRESSION, "subquery"),
        ("(select ok)", ProblemCode.INVALID_EXPRESSION, "subquery"),
        ("sum(n) over () > 1", ProblemCode.INVALID_EXPRESSION, "window functions"),
        ("t.n > 1", ProblemCode.INVALID_EXPRESSION, "by its name alone"),
        ("n > :x", ProblemCode.INVALID_EXPRESSION, "not supported"),
        ("n > 1 as ok2", ProblemCode.INVALID_EXPRESSION, "one condition"),
        ("ok, ok", ProblemCode.INVALID_EXPRESSION, "one condition"),
        ("carrier rlike tail", ProblemCode.INVALID_EXPRESSION, "text literal"),
        ("carrier like 'a\\\\b'", ProblemCode.INVALID_EXPRESSION, "stands before %"),
        ("carrier rlike '(?=a)'", ProblemCode.INVALID_EXPRESSION, "unsupported group"),
        ("day = date 'now'", ProblemCode.INVALID_EXPRESSION, "date '2024-02-29'"),
        ("carrier = 'it' 's'", ProblemCode.INVALID_EXPRESSION, "side by side"),
        ("array_contains(array(n), null)", ProblemCode.INVALID_EXPRESSION, "looks for no null"),
        (r"regexp_replace(tail, '\\r$', '') = ''", ProblemCode.INVALID_EXPRESSION, "takes a return"),
        ("regexp_replace(tail, '[^a]$', '') = ''", ProblemCode.INVALID_EXPRESSION, "takes a return"),
        ("regexp_replace(tail, 'a', 'b', 99999999999999999999) = ''", ProblemCode.INVALID_EXPRESSION, "is no int"),
        ("regexp_replace(tail, 'a$', '$0') = ''", ProblemCode.INVALID_EXPRESSION, "no $0"),
        (r"split(tail, '\\ba') = array('')", ProblemCode.INVALID_EXPRESSION, "hold `"),
        ("cast(n as array<int>) = 1", ProblemCode.TYPE_MISMATCH, "can't be cast to array<int>"),
        ("cast(n as array) = 1", ProblemCode.INVALID_EXPRESSION, "write the type of the elements"),
        ("cast(n as uuid) = 1", ProblemCode.INVALID_EXPRESSION, "no type uuid"),
        ("cast(day as int) = 1", ProblemCode.TYPE_MISMATCH, "date can't be cast to int"),
        ("cast(n as date) = day", ProblemCode.TYPE_MISMATCH, "use date_from_unix_date of days"),
        ("at > n", ProblemCode.TYPE_MISMATCH, "by timestamp_millis"),
        ("hash(map(n, 1)) = 1", ProblemCode.TYPE_MISMATCH, "maps have no hash"),
        ("uuid() = carrier", ProblemCode.INVALID_EXPRESSION, "when the same rows are read again"),
        ("rand() > 0.5", ProblemCode.INVALID_EXPRESSION, "when the same rows are read again"),
        ("grouping(n) = 1", ProblemCode.INVALID_EXPRESSION, "use one aggregate for each way of grouping"),
        ("repeat(carrier, 1000000) = ''", ProblemCode.INVALID_EXPRESSION, "at most 10000"),
        ("round(d, n) > 1", ProblemCode.INVALID_EXPRESSION, "must be a literal"),
        ("make_timestamp(at, time'01:02:03') = at", ProblemCode.TYPE_MISMATCH, "takes a date and a time"),
        ("make_timestamp(day, time'24:00:00') = at", ProblemCode.INVALID_EXPRESSION, "write time literals as"),
        ("time'01:02:03' = at", ProblemCode.INVALID_EXPRESSION, "no type time"),
        ("array_insert(array(1), 0, n) = null", ProblemCode.INVALID_EXPRESSION, "not 0"),
        ("size(str_to_map(carrier, ',*')) = 1", ProblemCode.INVALID_EXPRESSION, "empty text"),
        ("upper(str => carrier) = ''", ProblemCode.INVALID_EXPRESSION, "by position"),
        ("mask(str => carrier, 'X') = ''", ProblemCode.INVALID_EXPRESSION, "before those with one"),
        ("mask(str => carrier, str => carrier) = ''", ProblemCode.INVALID_EXPRESSION, "once, got `str`"),
        ("mask(upperChar => 'X') = ''", ProblemCode.INVALID_EXPRESSION, "argument str is missing"),
        ("concat_ws(carrier, array('a')) = ''", ProblemCode.INVALID_EXPRESSION, "text literal"),
        ("assert_true(ok) is null", ProblemCode.INVALID_EXPRESSION, "can't stop an app"),
        ("n = 300Y", ProblemCode.INVALID_EXPRESSION, "the number 300 is no tinyint"),
        ("raw = x 'FG'", ProblemCode.INVALID_EXPRESSION, "hexadecimal digits"),
        ("overlay(raw placing carrier from 1) = raw", ProblemCode.TYPE_MISMATCH, "two texts or two binaries"),
        ("sequence(day, at, 1) is null", ProblemCode.TYPE_MISMATCH, "an interval, got date, timestamp, int"),
        ("date_trunc('fortnight', at) = at", ProblemCode.INVALID_EXPRESSION, "no unit 'fortnight'"),
    ],
)
def test_a_wrong_condition_is_refused_with_its_reason(text, code, says):
    found = issues(check_condition, text)
    assert [given_code for given_code, _ in found] == [code]
    assert says in found[0][1]


def test_all_issues_of_a_text_come_at_once_and_once_each():
    found = issues(check_select, "nope + zzz(n) as a, upper(nope) as b, not n as c, d * 2, n as A")
    assert [code for code, _ in found] == [
        ProblemCode.UNKNOWN_COLUMN,
        ProblemCode.INVALID_EXPRESSION,
        ProblemCode.TYPE_MISMATCH,
        ProblemCode.INVALID_EXPRESSION,
        ProblemCode.INVALID_EXPRESSION,
    ]
    assert "item 4 of the list" in found[3][1]
    assert "two columns would be named `A`" in found[4][1]


def test_a_select_list_names_and_types_its_columns():
    select = check_select("CARRIER, n as late, upper(tail) as t, (n) as same, `day`", SCHEMA)
    assert str(select.schema) == "CARRIER string, late int, t string, same int, day date"
    assert [column.source_column for column in select.columns] == ["carrier", "n", None, "n", "day"]


def test_a_star_stands_for_all_columns():
    select = check_select("*, n + 1 as next", SCHEMA)
    assert select.schema.names == (*SCHEMA.names, "next")
    assert select.columns[0].source_column == "carrier"


@pytest.mark.parametrize("text", ["n as __x", "n, *", "null as x", "count(*) as x", "n as `a\nb`"])
def test_a_select_list_that_can_not_be_is_refused(text):
    assert issues(check_select, text)


def test_a_flat_map_has_one_generator():
    select = check_flat_map("n, explode(split(carrier, ',')) as part", SCHEMA)
    assert str(select.schema) == "n int, part string"
    assert issues(check_flat_map, "n")
    assert issues(check_flat_map, "explode(split(carrier, ',')) as a, explode(split(tail, ',')) as b")
    assert issues(check_flat_map, "explode(carrier) as a")
    assert issues(check_flat_map, "upper(explode(split(carrier, ','))) as a")
    assert issues(check_flat_map, "explode(split(carrier, 'x*')) as a")
    several = check_flat_map("posexplode_outer(split(carrier, ',')) as (place, part), n", SCHEMA)
    assert str(several.schema) == "place int, part string, n int"
    assert str(check_flat_map("explode(map(carrier, n))", SCHEMA).schema) == "key string, value int"
    for refused in ("posexplode(array(n)) as a", "explode(array(n)) as (a, b)", "explode(array(n)) as (n), n",
                    "inline(array(n))", "stack(n, 1) as a", "stack(0, 1) as a", "stack(1, n, carrier) as (a, a)",
                    "explode() as a", "explode(array(null)) as a", "n as (a, b), explode(array(n)) as c"):  # fmt: skip
        assert issues(check_flat_map, refused), refused


def test_an_aggregation_shares_equal_partial_results():
    aggregation = check_aggregate("sum(d) as s, avg(d) as a, count(d) as c, count(*) as n", ["carrier"], SCHEMA)
    assert [str(partial.merge) for partial in aggregation.partials] == ["sum", "sum", "sum"]
    assert [str(column.type) for column in aggregation.columns] == ["double", "double", "bigint", "bigint"]
    assert [column.name for column in aggregation.by_columns] == ["carrier"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("sum(n)", "bigint"),
        ("sum(m)", "decimal(20,2)"),
        ("sum(f)", "double"),
        ("avg(n)", "double"),
        ("avg(m)", "decimal(14,6)"),
        ("min(day)", "date"),
        ("max(f)", "float"),
        ("round(avg(d), 1)", "double"),
        ("upper(carrier)", "string"),
        ("sum(n) / count(*)", "double"),
        ("count(distinct tail)", "bigint"),
        ("first(day)", "date"),
        ("last(m)", "decimal(10,2)"),
        ("array_join(slice(collect_list(n), 1, 1000), ', ')", "string"),
        ("array_join(slice(collect_list(n), 2, 1001), ', ')", "string"),
        ("collect_list(n)", "array<int>"),
        ("size(collect_set(carrier))", "int"),
        ("count_if(ok)", "bigint"),
        ("bool_and(ok)", "boolean"),
        ("bit_or(n)", "int"),
        ("max_by(day, n)", "date"),
        ("stddev(m)", "double"),
        ("corr(n, m)", "double"),
        ("regr_count(n, m)", "bigint"),
        ("try_sum(n)", "bigint"),
        ("median(n)", "double"),
        ("percentile_disc(0.5) within group (order by n desc)", "double"),
        ("percentile(n, array(0.1, 0.9))", "array<double>"),
        ("mode(day, true)", "date"),
        ("sum(big)", "decimal(38,2)"),
        ("avg(big)", "decimal(38,6)"),
        ("count(distinct n, ok)", "bigint"),
        ("avg(distinct m)", "decimal(14,6)"),
        ("max(struct(n, d))", "struct<n:int,d:double>"),
        ("listagg(carrier, ',')", "string"),
        ("sum(m) filter (where ok)", "decimal(20,2)"),
        ("last(n) filter (where ok) ignore nulls", "int"),
    ],
)
def test_the_type_of_an_aggregate_is_sparks(text, expected):
    aggregation = check_aggregate(f"{text} as x", ["carrier"], SCHEMA)
    assert str(aggregation.columns[0].type) == expected


@pytest.mark.parametrize(
    "text, says",
    [
        ("tail as x", "neither in `by` nor inside an aggregate"),
        ("sum(n) + n as x", "column `n` is neither"),
        ("sum(max(n)) as x", "inside another aggregate"),
        ("sum(*) as x", "name a column"),
        ("stddev(distinct n) as x", "without distinct"),
        ("sum(distinct n, d) as x", "sum takes one argument, got 2"),
        ("sum(distinct big) as x", "goes by their order"),
        ("sum(n, n) as x", "takes one argument, got 2"),
        ("corr(n) as x", "takes two arguments, got 1"),
        ("median() as x", "takes a value"),
        ("sum() as x", "takes one argument, got 0"),
        ("sum(n) filter (where n) as x", "expected a condition"),
        ("sum(n) filter (where max(n) > 1) as x", "inside another aggregate"),
        ("upper(carrier) filter (where ok) as x", "behind an aggregate only"),
        ("sum(n) ignore nulls as x", "leaves them out"),
        ("first(n, carrier) as x", "true or false"),
        ("max(n) within group (order by n) as x", "has no `within group`"),
        ("percentile(n, 2) as x", "a number from 0 to 1"),
        ("percentile(n, d) as x", "a number from 0 to 1"),
        ("percentile(n, array(0.5, 2)) as x", "a number from 0 to 1"),
        ("percentile(n, array()) as x", "a number from 0 to 1"),
        ("percentile(n, array(0.5, n)) as x", "a number from 0 to 1"),
        ("median(n, array(0.5)) as x", "median takes one argument"),
        ("percentile_cont(0.5) as x", "within group (order by a)"),
        ("mode(cast(n as decimal)) as x", "Spark may take any"),
        ("mode(n, carrier) as x", "write mode(a, true)"),
        ("percentile_approx(n) as x", "with a number from 0 to 1"),
        ("percentile_approx(n, 0.5, 0) as x", "an accuracy from 1 to 100000"),
        ("percentile_approx(carrier || 'a', 2) as x", "with a number from 0 to 1"),
        ("percentile_approx(big, 0.5) as x", "cast it to double"),
        ("approx_count_distinct(n, 0.5) as x", "from 0.009 to 0.39"),
        ("approx_count_distinct(n, n) as x", "a number such as 0.05"),
        ("histogram_numeric(n, 1) as x", "bins from 2 to 1000"),
        ("histogram_numeric(ok, 5) as x", "takes numbers, dates and timestamps"),
        ("count_min_sketch(n, 0.5, 0.5, 1) as x", "as doubles"),
        ("count_min_sketch(n, 1e-9, 0.9d, 1) as x", "more than 100000 counts"),
        ("count_min_sketch(d, 0.1d, 0.9d, 1) as x", "whole numbers, texts or bytes"),
        ("bitmap_or_agg(carrier) as x", "takes bitmaps"),
        ("theta_union_agg(carrier) as x", "takes sketches"),
        ("theta_sketch_agg(ok) as x", "takes int, bigint"),
        ("theta_sketch_agg(n, 17) as x", "a number from 4 to 16"),
        ("bitmap_or_agg(n, n) as x", "takes other arguments"),
        ("max_by(n, d, n) as x", "a number from 1 to 100000"),
        ("max_by(n, d, 100001) as x", "a number from 1 to 100000"),
        ("mode(d, true) as x", "cast it to a decimal"),
        ("listagg(distinct carrier) as x", "has no order"),
        ("listagg(carrier) within group (order by n) as x", "within group (order by a)"),
        ("listagg(carrier, carrier) as x", "must be a text literal"),
        ("max_by(n) as x", "what orders it"),
        ("bit_and(d) as x", "whole numbers"),
        ("count_if(n) as x", "expected a condition"),
        ("stddev(ok) as x", "expected double"),
        ("count(distinct *) as x", "takes expressions, not *"),
        ("collect_list(n, d) as x", "takes one argument"),
        ("collect_set(map(n, d)) as x", "collect_set takes no map<int,double> there, as maps can't be compared"),
        ("mode(array(n)) as x", "takes no array<int>"),
        ("max_by(n, array(n), 2) as x", "goes by no array<int>"),
        ("array_join(slice(collect_list(n), 1, 3), carrier) as x", "must be a literal"),
        ("array_join(slice(collect_list(max(n)), 1, 3), ',') as x", "inside another aggregate"),
        ("sum(n)", "as name"),
        ("carrier", "`carrier` is in `by`, whose columns stand in the result anyway: leave it out of the list"),
        ("sum(ok) as x", "expected a number"),
        ("sum(nope) as x", "unknown column `nope`"),
    ],
)
def test_a_wrong_aggregate_is_refused_with_its_reason(text, says):
    found = issues(lambda text, schema: check_aggregate(text, ["carrier"], schema), text)
    assert says in found[0][1]


def test_an_unknown_column_of_by_is_an_issue():
    found = issues(lambda text, schema: check_aggregate(text, ["nope"], schema), "count(*) as n")
    assert found[0][0] is ProblemCode.UNKNOWN_COLUMN


HUGE = {
    "parentheses": "(" * 4000 + "n" + ")" * 4000,
    "open parentheses": "(" * 4000,
    "calls": "upper(" * 1500 + "carrier" + ")" * 1500,
    "nots": "not " * 2000 + "ok",
    "signs": "- " * 4000 + "n",
    "cases": "case when ok then " * 500 + "1" + " end" * 500,
    "sums": "+".join(["n"] * 4000),
    "fields": "n." * 4000 + "n",
    "betweens": "n between " * 900 + "1",
    "lambdas": "x -> " * 1900 + "x",
    "digits": "9" * 9000,
    "length": "n" * 10_001,
    "casts": "cast(cast(" * 400 + "d" + " as string) as double)" * 400,
    "groups in a pattern": "carrier rlike '" + "(" * 4000 + "'",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_huge_and_deep_texts_are_refused(text):
    assert issues(check_select, f"{text} as x")


def test_many_alternatives_are_one_level():
    check_condition(" or ".join(f"n = {i}" for i in range(900)), SCHEMA)


WORDS = """n d carrier ok at ( ( ) ) , . * + - / % = < > <=> || and or not is null in between like rlike case when then
else end cast( as int string decimal(3,1) upper( coalesce( sum( count( explode( split( date '' " ` 'a' '1' 1 2.5 1e3 ::
-> [ ] { } ; : ? @ # -- /* */ select from where over distinct interval exists any all"""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join) | st.text(max_size=60))
def test_any_text_is_checked_or_refused(text):
    for check in (check_condition, check_select, check_flat_map, lambda t, s: check_aggregate(t, ["n"], s)):
        with suppress(ExpressionError):
            check(text, SCHEMA)


def test_of_a_long_list_messages_say_which_item_is_wrong():
    with pytest.raises(ExpressionError) as error:
        check_select("n, carrier, nope as a, n + 1, upper(nope) as b, upper(n, 1) as c", SCHEMA)
    assert [issue.message[:7] for issue in error.value.issues] == ["item 3:", "item 4 ", "item 6:"]


def test_of_a_text_with_many_issues_the_first_ones_are_told():
    found = issues(check_condition, " or ".join(f"unknown{number}" for number in range(100)))
    assert len(found) == MAX_ISSUES
    assert {code for code, _ in found} == {ProblemCode.UNKNOWN_COLUMN}
