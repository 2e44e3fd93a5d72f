"""The Nexmark queries from topic to topic, killed again and again: they find what the oracle finds in the events.

`make test` takes two of them; `make soak` sets STREAMAPP_NEXMARK_SEEDS and runs all, each with so many seeds. Only q10
is not among them, whose results lie in folders.
"""

import os
from datetime import UTC, datetime
from random import Random

import pytest
import yaml
from examples.nexmark.check import HERE, QUERIES, Oracle
from examples.nexmark.generate import make, write_files, write_topic

from support import crashes

SEEDS = int(os.environ.get("STREAMAPP_NEXMARK_SEEDS", "0"))
OF_TOPICS = [query for query in QUERIES if query != "q10"]
RUNS = [(query, seed) for seed in range(1, SEEDS + 1) for query in OF_TOPICS] or [("q08", 1), ("q17", 2)]
EVENTS, RATE, DISORDER = 20_000, 500, 4000
LONGEST = (1.0, 2.5, 4.0)
"""Seconds until a kill, at most. In the first second no run comes to its end: programs take as long to be loaded."""


def lay_out(folder, query, random, topics, bootstrap_servers):
    """Write the app of a query with topics as input and output, and some commit interval and number of processors."""
    app = yaml.safe_load((HERE / "queries" / f"{query}.yaml").read_text())
    app["metadata"]["name"] = topics.prefix[-40:].lstrip("-")
    spec = app["spec"]
    spec["systems"] = {"files": {"file": {"path": ".."}}, "kafka": {"kafka": {"bootstrapServers": bootstrap_servers}}}
    spec["defaultSystem"] = "kafka"
    spec["streams"]["events"] |= {"system": "kafka", "name": f"{topics.prefix}.events", "bounded": True}
    spec["streams"]["results"] |= {"system": "kafka", "name": f"{topics.prefix}.results", "partitions": 3}
    spec["job"] = {"commitInterval": random.choice(["20ms", "100ms", "500ms", "5s"]), "watermarkInterval": "1ms"}
    spec["processors"]["count"] = random.randint(1, 3)
    (folder / "app").mkdir()
    (folder / "app" / "app.yaml").write_text(yaml.safe_dump(app))


def written(topics, folder):
    """Copy what was committed to the output into a file, partition by partition: a key is in one of them."""
    results = topics.values(topics.named(f"{topics.prefix}.results"))
    folder.mkdir()
    lines = [value + b"\n" for _, values in sorted(results.items()) for value in values]
    (folder / "part-1.json").write_bytes(b"".join(lines))
    return folder


@pytest.mark.parametrize(("query", "seed"), RUNS)
def test_a_query_that_is_killed_finds_what_its_oracle_finds(query, seed, tmp_path, kafka, topics):
    random = Random(f"{query} {seed}")
    partitions = random.randint(1, 4)
    start = datetime(2024, 2, 29, 23, 59, 45, tzinfo=UTC)
    lines = [*make(events=EVENTS, seed=seed, rate=RATE, start=start, disorder=DISORDER)]
    write_files(tmp_path / "data", lines, partitions)
    write_topic(kafka.bootstrap_servers, f"{topics.prefix}.events", lines, partitions)
    lay_out(tmp_path, query, random, topics, kafka.bootstrap_servers)
    assert crashes.run_with_kills(tmp_path / "app", random, LONGEST) > 0
    with Oracle(tmp_path / "data") as oracle:
        comparison = oracle.compare(query, written(topics, tmp_path / "results"))
    assert comparison.equal, comparison
    assert comparison.rows > 0
