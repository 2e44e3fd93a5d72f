"""Columns of a stream that no operator, key, event time or table uses are unread."""

import pytest

from streamapp_core.plan.columns_read import unread_columns
from support.plan_documents import accepted, document

SCHEMA = "k string, Word string, n int, at timestamp, note string"
EXPRESSIONS = {"select": "count(*) as c, max(upper(word)) as w"}
SENT = {"name": "sent", "from": "last", "sendTo": "out"}


def unread(*operators, stream=None, **app):
    """Plan an app whose last operator is named so; tell which columns of its input are unread."""
    streams = {"in": {"schema": SCHEMA, "key": "k", **(stream or {})}, "out": {}, **app.pop("streams", {})}
    return unread_columns(accepted(document([*operators, SENT], streams=streams, **app)), "in")


@pytest.mark.parametrize(
    ("operator", "left"),
    [
        ({"map": "k, n + 1 as m"}, {"Word", "at", "note"}),
        ({"map": "k, case when WORD = 'n' then 1 end as note"}, {"n", "at", "note"}),
        ({"flatMap": "k, explode(split(note, ' ')) as word"}, {"Word", "n", "at"}),
        ({"aggregate": {"by": ["k"], **EXPRESSIONS}}, {"n", "at", "note"}),
        ({"aggregate": {"by": ["k"], "select": "count(*) as c"}}, {"Word", "n", "at", "note"}),
        ({"filter": "n > 1"}, set()),
        ({"partitionBy": {"key": "k"}}, set()),
    ],
)
def test_columns_that_an_operator_does_not_name_are_unread(operator, left):
    assert unread({"name": "last", "from": "in", **operator}) == left


def test_a_filter_reads_what_its_condition_names_and_its_readers():
    filtered = {"name": "some", "from": "in", "filter": "note <> ''"}
    assert unread(filtered, {"name": "last", "from": "some", "map": "k, n"}) == {"Word", "at"}


def test_a_join_reads_all_columns_whatever_its_condition_names():
    parts = [{"name": f"by-{name}", "from": name, "partitionBy": {"key": "k"}} for name in ("in", "other")]
    joined = {"with": "by-other", "on": "k", "within": "1h", "condition": "n > m"}
    streams = {"other": {"schema": "k string, m int, t timestamp", "eventTime": {"column": "t"}}}
    last = {"name": "last", "from": "by-in", "join": joined}
    assert unread(*parts, last, stream={"eventTime": {"column": "at"}}, streams=streams) == set()


def test_all_readers_count():
    other = [{"name": "b", "from": "in", "map": "k, note"}, {"name": "also", "from": "b", "sendTo": "out"}]
    assert unread({"name": "last", "from": "in", "map": "k, n"}, *other) == {"Word", "at"}


def test_the_column_of_event_times_is_read():
    mapped = {"name": "last", "from": "in", "map": "k, n"}
    assert unread(mapped, stream={"eventTime": {"column": "at"}}) == {"Word", "note"}


def test_the_fields_of_event_times_are_read():
    mapped = {"name": "last", "from": "in", "map": "k, n"}
    schema = "k string, n int, Shipped struct<At:timestamp>, ordered struct<at:timestamp>, note string"
    dated = {"schema": schema, "eventTime": {"column": "shipped.at", "orElse": ["ordered.at"]}}
    assert unread(mapped, stream=dated) == {"note"}


def test_what_fills_a_table_is_read_whole():
    tables = {"words": {"sideInputs": ["in"], "key": "k"}}
    streams = {"other": {"schema": "k string", "key": "k"}}
    joined = {"name": "last", "from": "other", "joinTable": {"table": "words", "on": "k"}}
    assert unread(joined, tables=tables, streams=streams) == set()
