"""Aggregates of running results, over shuffles: the newest values are right, and keys that are gone are deleted."""

import json
from collections import defaultdict
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import apps, json_logs
from support.json_logs import records

PARTITIONS = 2


def app(processors, commit_interval):
    """The items as they are now, counted by category; of these, the categories with some items only."""
    schema = "item string, category string, price bigint, at timestamp"
    log = {"system": "log"}
    spec = {
        "systems": {"log": {"log": {"path": "log.db"}}},
        "streams": {
            "items": {
                **log,
                "schema": schema,
                "eventTime": {"column": "at"},
                "partitions": 2,
                "bounded": True,
                "json": {"timestamps": "millis"},
            },
            "totals": {**log, "key": "category", "partitions": 3},
            "large": {**log, "key": "category", "partitions": 1},
            "first": {**log, "key": "category", "partitions": 2},
        },
        "operators": [
            {"name": "by-item", "from": "items", "partitionBy": {"key": "item"}},
            {"name": "newest", "from": "by-item", "dedup": {"by": ["item"], "keep": "last"}},
            {"name": "by-category", "from": "newest", "partitionBy": {"key": "category"}},
            {
                "name": "total",
                "from": "by-category",
                "aggregate": {"by": ["category"], "select": "count(*) as n, sum(price) as price, max(price) as most"},
            },
            {"name": "sent", "from": "total", "sendTo": "totals"},
            {"name": "of-all", "from": "total", "map": "category, n, price, most, 'all' as one"},
            {"name": "together", "from": "of-all", "partitionBy": {"key": "one"}},
            {"name": "best", "from": "together", "topN": {"by": ["one"], "orderBy": "n desc, price", "n": 2}},
            {"name": "best-sent", "from": "best", "sendTo": "first"},
            {"name": "several", "from": "total", "filter": "n > 1"},
            {"name": "kept", "from": "several", "sendTo": "large"},
        ],
        "job": {"commitInterval": commit_interval, "watermarkInterval": "1ms", "intermediateStreamPartitions": 3},
        "processors": {"count": processors},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


class Stopped(KeyboardInterrupt):
    """Ends a run from its listener."""


def stop(summary):
    raise Stopped


def written(folder, rows):
    """Write each item's rows to one partition, so that they have an order."""
    values = [
        {"item": item, "category": category, "price": price, "at": 1_714_550_400_000 + place}
        for place, (item, category, price) in enumerate(rows)
    ]
    json_logs.write(folder, "items", PARTITIONS, [(ord(value["item"]) % PARTITIONS, None, value) for value in values])


def folded(found):
    return {value["category"]: value for value in json_logs.newest(found).values()}


def totals(rows):
    newest = {item: (category, price) for item, category, price in rows}
    groups = defaultdict(list)
    for category, price in newest.values():
        groups[category].append(price)
    return {
        category: {"category": category, "n": len(prices), "price": sum(prices), "most": max(prices)}
        for category, prices in groups.items()
    }


def shown(value):
    """A category with its totals."""
    return value["category"], tuple(value[name] for name in ("category", "n", "price", "most"))


def explained(rows):
    """All totals of a category that some prefix of each item's rows gives."""
    items = defaultdict(list)
    for item, category, price in rows:
        items[item].append((item, category, price))
    prefixes = [[of_item[:length][-1:] for length in range(len(of_item) + 1)] for of_item in items.values()]
    return {
        (category, tuple(total.values()))
        for newest in product(*prefixes)
        for category, total in totals([row for last in newest for row in last]).items()
    }


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["x", "y", "z"]), st.integers(-9, 9)),
        min_size=1,
        max_size=14,
    ),
    processors=st.integers(1, 3),
    commit_interval=st.sampled_from(["10ms", "50ms"]),
    killed=st.integers(0, 3),
)
def test_the_newest_values_are_right_and_every_value_was(tmp_path_factory, rows, processors, commit_interval, killed):
    folder = tmp_path_factory.mktemp("app")
    written(folder, rows)
    document = app(processors, commit_interval)
    for number in range(killed):
        with pytest.raises(Stopped):
            apps.run(document, folder, fresh=number == 0, listener=stop)
    apps.run(document, folder, fresh=not killed)
    found = records(folder, "totals", 3)
    assert folded(found) == totals(rows)
    assert {shown(json.loads(value)) for _, value in found if value is not None} <= explained(rows)
    first = records(folder, "first", 2)
    assert {shown(json.loads(value)) for _, value in first if value is not None} <= explained(rows)
    best = sorted(totals(rows).values(), key=lambda total: (-total["n"], total["price"], total["category"]))[:2]
    assert {shown(value) for value in folded(first).values()} == {shown(total) for total in best}
    assert folded(records(folder, "large", 1)) == {k: v for k, v in totals(rows).items() if v["n"] > 1}


def test_a_category_without_items_is_deleted_by_a_record_without_a_value(tmp_path):
    written(tmp_path, [("a", "x", 1)])
    document = app(1, "10ms")
    del document["spec"]["streams"]["items"]["bounded"]
    apps.run_until(tmp_path, document, lambda: folded(records(tmp_path, "totals", 3)).keys() == {"x"})
    value = {"item": "a", "category": "y", "price": 5, "at": 1_714_550_500_000}
    json_logs.write(tmp_path, "items", PARTITIONS, [(ord("a") % PARTITIONS, None, value)], epoch=2)
    apps.run_until(tmp_path, document, lambda: folded(records(tmp_path, "totals", 3)).keys() == {"y"})
    assert (b"x", None) in records(tmp_path, "totals", 3)
