"""Which streams are checked: those whose declared key decides which rows meet."""

import pytest

from streamapp_core.plan import plan
from streamapp_core.plan.partition_claims import partition_claims
from streamapp_core.spec.parse import parse_document
from support import apps

COUNTED = {"aggregate": {"by": ["k"], "select": "count(*) as n"}}
DIRECT = [{"name": "counted", "from": "a", **COUNTED}, {"name": "sent", "from": "counted", "sendTo": "out"}]


def claims(operators, *, job=None, partitions=4, **a):
    """Plan an app over two streams of a log, and return its claims."""
    stream = {"system": "log", "format": "json", "schema": "k int, n int", "key": "k"}
    declared = {"a": {**stream, "name": "a", **a}, "b": {**stream, "name": "b"}, "out": {}}
    read = [name for name in declared if name in str(operators[0]["from"]) or name == "out"]
    document = apps.document(operators, job=job, **{name: declared[name] for name in read})
    result = plan(parse_document(document), dict.fromkeys(read[:-1], partitions))
    assert result.plan is not None, result.problems
    return partition_claims(result.plan)


def through(**operator):
    """Group what an operator makes of a stream."""
    return [
        {"name": "made", "from": "a", **operator},
        {"name": "counted", "from": "made", **COUNTED},
        {"name": "sent", "from": "counted", "sendTo": "out"},
    ]


@pytest.mark.parametrize(
    ("operators", "checked"),
    [
        (DIRECT, {"a": True}),
        (through(filter="n > 1"), {"a": False}),
        (through(map="k, n + 1 as n"), {"a": True}),
        (through(**{"from": ["a", "b"], "merge": {}}), {"a": True, "b": True}),
        (through(partitionBy={"key": "k"}), {}),
        ([{"name": "sent", "from": "a", "sendTo": "out"}], {}),
    ],
)
def test_streams_that_reach_a_group_are_checked_and_their_nulls_if_none_are_dropped_before(operators, checked):
    assert {name: claim.nulls_meet for name, claim in claims(operators).items()} == checked


@pytest.mark.parametrize("other", [{"partitions": 1}, {"broadcast": True}])
def test_a_stream_with_one_place_for_all_rows_claims_nothing(other):
    assert claims(DIRECT, **other) == {}
