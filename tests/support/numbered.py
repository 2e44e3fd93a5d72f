"""Numbered, keyed records through a table join and two shuffles, from one stream of a log or a broker to others.

What comes out proves that none is lost or doubled, and that each key stays in order: the records themselves, and a
running count of each key, which is kept in the state.
"""

import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.verify_run import verify_run
from streamapp_runtime.errors import Drained
from streamapp_runtime.execution_context import local_context
from streamapp_systems.protocols import SentRecords, StreamDescriptor, TransactionOwner
from streamapp_systems.registry import Systems, local_systems
from support import apps
from support.waiting import eventually

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
            "counts": {**form, "name": f"{name}.counts", "partitions": OUT_PARTITIONS},
            "names": names,
        },
        "tables": {"name": {"key": "k", "sideInputs": ["names"]}},
        "operators": [
            {"name": "named", "from": "in", "joinTable": {"table": "name", "on": "k", "type": "left"}},
            {"name": "by-name", "from": "named", "partitionBy": {"key": "name"}},
            {"name": "again", "from": "by-name", "partitionBy": {"key": "k"}},
            {"name": "sent", "from": "again", "sendTo": "out"},
            {"name": "counted", "from": "again", "aggregate": {"by": ["k"], "select": "count(*) as c, max(n) as n"}},
            {"name": "counts-sent", "from": "counted", "sendTo": "counts"},
        ],
        "job": {"commitInterval": "50ms", "watermarkInterval": "1ms", "intermediateStreamPartitions": 5},
        "processors": {"count": 2},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": name}, "spec": spec}


def lay_out(
    folder: Path,
    system: dict = LOG,
    name: str = "app",
    *,
    records: int = RECORDS,
    bounded: bool = True,
    systems: Systems | None = None,
) -> None:
    """Write the app, its table and its records: of each key the numbers 0, 1, 2, ... in order, in its partition."""
    systems = systems or local_systems(folder)
    (folder / "names.csv").write_text("k,name\n" + "".join(f"{k},name {k}\n" for k in range(KEYS)))
    (folder / "app.yaml").write_text(json.dumps(app(system, name, bounded)))
    stream, spec = stream_of(name, "in"), SystemSpec.model_validate_json(json.dumps(system))
    with closing(systems.open_transactional_admin(HUB, spec)) as admin:
        admin.create({stream: PARTITIONS})
    write_records(systems, spec, name, range(records))


def write_records(systems: Systems, spec: SystemSpec, name: str, numbers: range) -> None:
    """Write the records of these numbers, which follow those that are there, to an app's input."""
    stream = stream_of(name, "in")
    owner = TransactionOwner(id=f"{name}-source", epoch=1)
    with closing(systems.open_producer(HUB, spec, [stream], owner)) as producer:
        for partition in range(PARTITIONS):
            here = [number for number in numbers if number % KEYS % PARTITIONS == partition]
            values = [json.dumps({"k": number % KEYS, "n": number // KEYS}).encode() for number in here]
            times = [number + 1 for number in here]
            sent = SentRecords.of(timestamps=times, keys=[None] * len(here), values=values)
            producer.send_all(Ssp(HUB, "in", partition), sent)
            producer.commit()
    assert eventually(lambda: settled(systems, spec, [stream]))


def write_more(folder: Path, numbers: range) -> None:
    """Write the records of these numbers, which follow those that are there, for an app that was laid out."""
    document = json.loads((folder / "app.yaml").read_text())
    spec = SystemSpec.model_validate_json(json.dumps(document["spec"]["systems"][HUB]))
    write_records(local_systems(folder), spec, document["metadata"]["name"], numbers)


def check(folder: Path, records: int = RECORDS) -> None:
    """Prove that so many records went through once and in order, and that the state is what its changelog says.

    The app has ended.
    """
    check_results(folder, records, local_systems(folder))
    (state,) = (folder / ".streamapp").iterdir()
    parsed = parse_text((folder / "app.yaml").read_text())
    assert parsed.app is not None
    verdicts = list(verify_run(parsed.app, local_context(folder), state))
    assert verdicts
    assert all(verdict.equal and verdict.position is not None for verdict in verdicts), verdicts


def check_results(folder: Path, records: int, systems: Systems) -> None:
    """Prove of the outputs what `check` does."""
    assert eventually(lambda: settled(systems, *outputs(folder)))
    found = read(systems, *outputs(folder))
    expected = {key: list(range(len(range(key, records, KEYS)))) for key in range(min(KEYS, records))}
    check_records(found["out"], expected)
    check_counts(found["counts"], expected)


def finish(folder: Path, records: int = RECORDS) -> None:
    """Go on with an app without an end until so many records have come out; then prove what `check` does."""
    text = (folder / "app.yaml").read_text()
    with pytest.raises(Drained):
        apps.run(text, folder, fresh=False, drain=lambda: len(results(folder)["out"]) >= records)
    check(folder, records)


def results(folder: Path) -> dict[str, list[tuple[int, dict]]]:
    """Read what has come out so far."""
    return read(local_systems(folder), *outputs(folder))


def settled(systems: Systems, system: SystemSpec, streams: list[StreamDescriptor]) -> bool:
    """Tell whether all that was written can be read: Kafka shows what was committed a moment later."""
    with closing(systems.open_transactional_admin(HUB, system)) as admin:
        return admin.end_offsets(streams) == admin.written_offsets(streams)


def outputs(folder: Path) -> tuple[SystemSpec, list[StreamDescriptor]]:
    """Give the outputs of an app and the system that they are in."""
    document = json.loads((folder / "app.yaml").read_text())
    name, system = document["metadata"]["name"], document["spec"]["systems"][HUB]
    streams = [stream_of(name, which) for which in ("out", "counts")]
    return SystemSpec.model_validate_json(json.dumps(system)), streams


def check_records(rows: list[tuple[int, dict]], expected: dict[int, list[int]]) -> None:
    """Prove that no record is lost or doubled, and that each key is in one partition and in order."""
    found = defaultdict(list)
    partitions = defaultdict(set)
    for partition, row in rows:
        assert row["name"] == f"name {row['k']}"
        found[row["k"]].append(row["n"])
        partitions[row["k"]].add(partition)
    assert {key: sorted(numbers) for key, numbers in found.items()} == expected
    assert dict(found) == expected
    assert all(len(numbers) == 1 for numbers in partitions.values())


def check_counts(rows: list[tuple[int, dict]], expected: dict[int, list[int]]) -> None:
    """Prove that the counts of each key only rise, each with the number it belongs to, and end where they must."""
    found = defaultdict(list)
    for _, row in rows:
        assert row["c"] == row["n"] + 1
        found[row["k"]].append(row["c"])
    assert all(counts == sorted(set(counts)) for counts in found.values())
    assert {key: counts[-1] for key, counts in found.items()} == {key: len(n) for key, n in expected.items()}


def stream_of(name: str, which: str) -> StreamDescriptor:
    return StreamDescriptor(name=which, system=HUB, address=f"{name}.{which}", format=StreamFormat.JSON)


def read(systems: Systems, system: SystemSpec, streams: list[StreamDescriptor]) -> dict[str, list[tuple[int, dict]]]:
    """Read what is committed now: by stream, the partition and the content of each record."""
    rows = {stream.name: [] for stream in streams}
    with closing(systems.open_transactional_admin(HUB, system)) as admin:
        ends = admin.end_offsets(streams)
    with closing(systems.open_consumer(HUB, system, streams)) as consumer:
        consumer.assign(dict.fromkeys(ends, 0), ends)
        reading = set(ends)
        while reading:
            for part in consumer.poll(reading, 100_000, 1.0):
                rows[part.ssp.stream] += [(part.ssp.partition, json.loads(message.value)) for message in part.messages]
                if part.ended:
                    reading.discard(part.ssp)
    return rows
