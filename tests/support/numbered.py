"""Numbered, keyed records through two shuffles and a table join, from one stream of a log to another."""

import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import StreamDescriptor, Transactional

IN = StreamDescriptor(name="in", system="log", address="in", format=StreamFormat.JSON)
OUT = StreamDescriptor(name="out", system="log", address="out", format=StreamFormat.JSON)
PARTITIONS, RECORDS, KEYS = 4, 40_000, 97


def lay_out(folder: Path) -> None:
    """Write the app, its table and its records: of each key the numbers 0, 1, 2, ... in order, in its partition."""
    (folder / "names.csv").write_text("k,name\n" + "".join(f"{k},name {k}\n" for k in range(KEYS)))
    form = {"system": "log", "key": "k"}
    names = {"system": "files", "name": "names.csv", "format": "csv", "schema": "k int, name string", "broadcast": True}
    spec = {
        "systems": {"log": {"log": {"path": "log.db"}}, "files": {"file": {"path": "."}}},
        "streams": {
            "in": {**form, "schema": "k int, n int", "bounded": True},
            "out": {**form, "partitions": 3},
            "names": names,
        },
        "tables": {"name": {"key": "k", "sideInputs": ["names"]}},
        "operators": [
            {"name": "named", "from": "in", "joinTable": {"table": "name", "on": "k", "type": "left"}},
            {"name": "by-name", "from": "named", "partitionBy": {"key": "name"}},
            {"name": "again", "from": "by-name", "partitionBy": {"key": "k"}},
            {"name": "sent", "from": "again", "sendTo": "out"},
        ],
        "job": {"commitInterval": "50ms", "watermarkInterval": "1ms", "intermediateStreamPartitions": 5},
        "processors": {"count": 2},
    }
    app = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}
    (folder / "app.yaml").write_text(json.dumps(app))
    with closing(LogAdmin(folder / "log.db")) as admin:
        admin.create({IN: PARTITIONS})
    with closing(LogProducer(folder / "log.db", [IN], Transactional(id="source", epoch=1))) as producer:
        for number in range(RECORDS):
            key, n = number % KEYS, number // KEYS
            value = json.dumps({"k": key, "n": n}).encode()
            producer.send(Ssp("log", "in", key % PARTITIONS), value, timestamp=number)
        producer.commit()


def check(folder: Path) -> None:
    """Prove from the output that no record is lost or doubled, that each key is in one partition and in order."""
    found = defaultdict(list)
    partitions = defaultdict(set)
    for partition, row in _rows(folder):
        assert row["name"] == f"name {row['k']}"
        found[row["k"]].append(row["n"])
        partitions[row["k"]].add(partition)
    expected = {key: list(range(len(range(key, RECORDS, KEYS)))) for key in range(KEYS)}
    assert {key: sorted(numbers) for key, numbers in found.items()} == expected
    assert dict(found) == expected
    assert all(len(numbers) == 1 for numbers in partitions.values())


def _rows(folder: Path):
    ssps = [Ssp("log", "out", partition) for partition in range(3)]
    with closing(LogConsumer(folder / "log.db", [OUT])) as consumer:
        consumer.assign(dict.fromkeys(ssps, 0), {})
        while fetched := consumer.poll(ssps, 100_000, 0):
            for part in fetched:
                for message in part.messages:
                    yield part.ssp.partition, json.loads(message.value)
