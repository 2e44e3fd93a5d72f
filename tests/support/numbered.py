"""Numbered, keyed records through two shuffles and a table join, from one stream of a log or a broker to another."""

import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import StreamDescriptor, Transactional
from streamapp_systems.registry import open_consumer, open_producer, open_transactional_admin

LOG = {"log": {"path": "log.db"}}
HUB = "hub"
PARTITIONS, OUT_PARTITIONS, RECORDS, KEYS = 4, 3, 40_000, 97


def app(system: dict, name: str = "app", bounded: bool = True) -> dict:
    """Give the app, its streams in a system (`{log: ...}` or `{kafka: ...}`); topics begin with the app's name."""
    form = {"system": HUB, "key": "k"}
    names = {"system": "files", "name": "names.csv", "format": "csv", "schema": "k int, name string", "broadcast": True}
    spec = {
        "systems": {HUB: system, "files": {"file": {"path": "."}}},
        "defaultSystem": HUB,
        "streams": {
            "in": {**form, "name": f"{name}.in", "schema": "k int, n int", "bounded": bounded},
            "out": {**form, "name": f"{name}.out", "partitions": OUT_PARTITIONS},
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
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": name}, "spec": spec}


def lay_out(folder: Path, system: dict = LOG, name: str = "app") -> None:
    """Write the app, its table and its records: of each key the numbers 0, 1, 2, ... in order, in its partition."""
    (folder / "names.csv").write_text("k,name\n" + "".join(f"{k},name {k}\n" for k in range(KEYS)))
    (folder / "app.yaml").write_text(json.dumps(app(system, name)))
    stream, spec = _stream(name, "in"), SystemSpec.model_validate_json(json.dumps(system))
    with closing(open_transactional_admin(HUB, spec, folder)) as admin:
        admin.create({stream: PARTITIONS})
    owner = Transactional(id=f"{name}-source", epoch=1)
    with closing(open_producer(HUB, spec, folder, [stream], owner)) as producer:
        for number in range(RECORDS):
            key, n = number % KEYS, number // KEYS
            value = json.dumps({"k": key, "n": n}).encode()
            producer.send(Ssp(HUB, "in", key % PARTITIONS), value, timestamp=number + 1)
        producer.commit()


def check(folder: Path) -> None:
    """Prove from the output that no record is lost or doubled, and that each key is in one partition and in order."""
    document = json.loads((folder / "app.yaml").read_text())
    name, system = document["metadata"]["name"], document["spec"]["systems"][HUB]
    found = defaultdict(list)
    partitions = defaultdict(set)
    for partition, row in _rows(folder, SystemSpec.model_validate_json(json.dumps(system)), _stream(name, "out")):
        assert row["name"] == f"name {row['k']}"
        found[row["k"]].append(row["n"])
        partitions[row["k"]].add(partition)
    expected = {key: list(range(len(range(key, RECORDS, KEYS)))) for key in range(KEYS)}
    assert {key: sorted(numbers) for key, numbers in found.items()} == expected
    assert dict(found) == expected
    assert all(len(numbers) == 1 for numbers in partitions.values())


def _stream(name: str, which: str) -> StreamDescriptor:
    return StreamDescriptor(name=which, system=HUB, address=f"{name}.{which}", format=StreamFormat.JSON)


def _rows(folder: Path, system: SystemSpec, stream: StreamDescriptor):
    with closing(open_transactional_admin(HUB, system, folder)) as admin:
        ends = admin.end_offsets([stream])
    with closing(open_consumer(HUB, system, folder, [stream])) as consumer:
        consumer.assign(dict.fromkeys(ends, 0), ends)
        reading = set(ends)
        while reading:
            for part in consumer.poll(reading, 100_000, 1.0):
                for message in part.messages:
                    yield part.ssp.partition, json.loads(message.value)
                if part.ended:
                    reading.discard(part.ssp)
