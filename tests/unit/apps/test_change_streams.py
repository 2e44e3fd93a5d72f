"""Streams of changes as inputs: whatever reads them follows the newest rows, and keys that are deleted."""

import json
from collections import defaultdict
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamapp_runtime.rows.partitioning import partition_numbers
from support import apps, json_logs

PARTITIONS = 2
SCHEMA = "item string, category string, price bigint"
OPERATORS = [
    {"name": "dear", "from": "items", "filter": "price > 0"},
    {"name": "dear-sent", "from": "dear", "sendTo": "positive"},
    {"name": "by-category", "from": "items", "partitionBy": {"key": "category"}},
    {
        "name": "total",
        "from": "by-category",
        "aggregate": {"by": ["category"], "select": "count(*) as n, sum(price) as price, max(price) as most"},
    },
    {"name": "sent", "from": "total", "sendTo": "totals"},
    {"name": "dearest", "from": "by-category", "topN": {"by": ["category"], "orderBy": "price desc", "n": 1}},
    {"name": "best-sent", "from": "dearest", "sendTo": "best"},
    {"name": "table-sent", "from": "total", "sendTo": "table"},
    {"name": "history-sent", "from": "dear", "sendTo": "history"},
    {"name": "prices-sent", "from": "dear", "sendTo": "prices"},
]


def app(processors=1, **job):
    log = {"system": "log"}
    keys = {"totals": "category", "best": "category", "positive": "item"}
    spec = {
        "systems": {"log": {"log": {"path": "log.db"}}, "files": {"file": {"path": "."}}},
        "defaultSystem": "log",
        "streams": {
            "items": {**log, "schema": SCHEMA, "key": "item", "changes": "upsert", "bounded": True},
            **{name: {**log, "key": key, "partitions": 2} for name, key in keys.items()},
            "history": {**log, "changes": "log", "partitions": 1},
            "prices": {"system": "files", "name": "out/prices", "format": "json", "changes": "log"},
            "table": {"system": "files", "name": "out/table", "format": "json", "changes": "final"},
        },
        "operators": OPERATORS,
        "job": {"commitInterval": "10ms", "watermarkInterval": "1ms", **job},
        "processors": {"count": processors},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def written(folder, changes, epoch=1):
    """Write each change to the partition of its key; what is None deletes."""
    places = partition_numbers(pa.chunked_array([[item for item, _ in changes]], pa.string()), PARTITIONS)
    values = [None if row is None else {"item": item, "category": row[0], "price": row[1]} for item, row in changes]
    keyed = zip(np.asarray(places).tolist(), (item for item, _ in changes), values, strict=True)
    json_logs.write(folder, "items", PARTITIONS, keyed, epoch=epoch)


def by_category(changes):
    groups = defaultdict(dict)
    for item, row in dict(changes).items():
        if row is not None:
            groups[row[0]][item] = row[1]
    return groups


class Stopped(KeyboardInterrupt):
    """Ends a run from its listener."""


def stop(summary):
    raise Stopped


def lines(folder):
    return [json.loads(line) for part in apps.parts(folder) for line in part.read_text().splitlines()]


def newest(folder, stream):
    return {key.decode(): row for key, row in json_logs.newest(json_logs.records(folder, stream, 2)).items()}


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(
        st.tuples(st.sampled_from("abcd"), st.none() | st.tuples(st.sampled_from(["x", "y", "z"]), st.integers(-9, 9))),
        min_size=1,
        max_size=16,
    ),
    processors=st.integers(1, 2),
    killed=st.integers(0, 2),
)
def test_what_reads_changes_has_the_results_of_the_newest_rows(tmp_path_factory, changes, processors, killed):
    folder = tmp_path_factory.mktemp("app")
    written(folder, changes)
    document = app(processors)
    for number in range(killed):
        with pytest.raises(Stopped):
            apps.run(document, folder, fresh=number == 0, listener=stop)
    apps.run(document, folder, fresh=not killed)
    groups = by_category(changes)
    totals = {
        category: {"category": category, "n": len(items), "price": sum(items.values()), "most": max(items.values())}
        for category, items in groups.items()
    }
    assert newest(folder, "totals") == totals
    assert sorted(lines(folder / "out/table"), key=itemgetter("category")) == [
        totals[category] for category in sorted(totals)
    ]
    history = [json.loads(value) for _, value in json_logs.records(folder, "history", 1)]
    for changed in (history, lines(folder / "out/prices")):
        last = {row["item"]: row for row in changed}
        assert {item for item, row in last.items() if row["__op"] == "u"} == {
            item for items in groups.values() for item, price in items.items() if price > 0
        }
        assert all((row["price"] is None or row["price"] <= 0) == (row["__op"] == "d") for row in changed)
    best = {category: min(items, key=lambda item: (-items[item], item)) for category, items in groups.items()}
    assert {category: row["item"] for category, row in newest(folder, "best").items()} == best
    positive = {item for items in groups.values() for item, price in items.items() if price > 0}
    assert newest(folder, "positive").keys() == positive


RIGHT = {"item": "a", "category": "x", "price": 1}
WRONG = [("b", {"item": "c", "category": "x", "price": 1}), (None, RIGHT), ("a", {"category": "x"}), (None, None)]


def test_records_with_another_key_than_their_row_are_bad(tmp_path):
    json_logs.write(tmp_path, "items", 1, [(0, key, value) for key, value in [("a", RIGHT), *WRONG]])
    summary = apps.run(app(onError="skip"), tmp_path)
    assert summary.not_used == {"items": {"unreadable": len(WRONG)}}
    assert newest(tmp_path, "totals") == {"x": {"category": "x", "n": 1, "price": 1, "most": 1}}
    assert "its key is b'b', and its `item` is 'c'" in str(summary.bad_rows)
