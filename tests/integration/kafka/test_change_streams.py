"""Changes from topic to topic, killed again and again: the newest results are those of the newest rows."""

import json
from collections import defaultdict
from random import Random

import pyarrow as pa
import yaml

from streamapp_runtime.rows.partitioning import partition_numbers
from support import crashes
from support.json_logs import newest
from support.kafka import ssp_of

PARTITIONS, CHANGES, ITEMS = 2, 20_000, 500
LONGEST = (1.5, 3.0)
"""Seconds until a kill, at most."""


def app(topics, source, out, bootstrap_servers):
    return {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": topics.prefix[-40:].lstrip("-")},
        "spec": {
            "systems": {"kafka": {"kafka": {"bootstrapServers": bootstrap_servers}}},
            "streams": {
                "items": {
                    "system": "kafka",
                    "name": source.address,
                    "schema": "item string, category string, price bigint",
                    "key": "item",
                    "changes": "upsert",
                    "bounded": True,
                },
                "totals": {"system": "kafka", "name": out.address, "key": "category"},
            },
            "operators": [
                {"name": "by-category", "from": "items", "partitionBy": {"key": "category"}},
                {
                    "name": "total",
                    "from": "by-category",
                    "aggregate": {"by": ["category"], "select": "count(*) as n, sum(price) as price"},
                },
                {"name": "sent", "from": "total", "sendTo": "totals"},
            ],
            "job": {"commitInterval": "20ms", "watermarkInterval": "1ms"},
            "processors": {"count": 2},
        },
    }


def written(topics, source, random):
    """Write changes of items, of which some delete; return the newest rows."""
    rows = {}
    names = [f"item {number}" for number in range(ITEMS)]
    places = dict(zip(names, partition_numbers(pa.chunked_array([names]), PARTITIONS).tolist(), strict=True))
    with topics.producer(source, name="shop") as producer:
        for number in range(CHANGES):
            item = random.choice(names)
            row = {"item": item, "category": f"c{random.randrange(9)}", "price": random.randrange(-99, 99)}
            rows[item] = row = None if random.random() < 0.2 else row
            value = None if row is None else json.dumps(row).encode()
            producer.send(ssp_of(source, places[item]), value, key=item.encode(), timestamp=number)
            if number % 5_000 == 0:
                producer.commit()
        producer.commit()
    return [row for row in rows.values() if row is not None]


def test_totals_of_changes_are_exact_when_runs_are_killed(tmp_path, kafka, topics):
    random = Random(20)
    source, out = topics.create("items", PARTITIONS, keyed=True), topics.create("totals", PARTITIONS, keyed=True)
    totals = defaultdict(lambda: [0, 0])
    for row in written(topics, source, random):
        totals[row["category"]][0] += 1
        totals[row["category"]][1] += row["price"]
    (tmp_path / "app.yaml").write_text(yaml.safe_dump(app(topics, source, out, kafka.bootstrap_servers)))
    killed = crashes.run_with_kills(tmp_path, random, LONGEST)
    parts = topics.read(out).values()
    found = newest((m.key, m.value) for fetched in parts for part in fetched for m in part.messages)
    assert {row["category"]: [row["n"], row["price"]] for row in found.values()} == totals
    assert killed
