"""Whole apps that read and write Avro without a registry: rows, tables with deletions, and records that are none."""

import io
import json
from contextlib import closing

import fastavro
import pytest

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import BadRecord, StreamDescriptor, TransactionOwner
from streamapp_systems.registry import local_systems
from support import apps

LOG = SystemSpec.model_validate({"log": {"path": "log.db"}})
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "k", "type": "string"},
        {"name": "items", "type": {"type": "array", "items": ["null", "string", "long"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
NAME_FIELDS = [{"name": "id", "type": "string"}, {"name": "name", "type": "string"}]
NAME = {"type": "record", "name": "Name", "fields": NAME_FIELDS}
OUT = ("k", "first", "at", "name")


def stream(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.AVRO)


def encoded(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def app(**job):
    form = {"system": "log", "bounded": True, "format": "avro"}
    document = apps.document(
        [
            {"name": "named", "from": "orders", "joinTable": {"table": "name", "on": "k", "type": "left"}},
            {"name": "some", "from": "named", "map": "k, items[0].member0 as first, at, name"},
            {"name": "sent", "from": "some", "sendTo": "out"},
        ],
        tables={"name": {"key": "id", "sideInputs": ["names"], "bootstrap": True}},
        job=job,
        orders={**form, "key": "k", "avro": {"schema": json.dumps(ORDER)}, "eventTime": {"column": "at"}},
        names={**form, "key": "id", "avro": {"schema": json.dumps(NAME)}},
        out={"system": "log", "format": "avro", "key": "k", "avro": {"recordName": "shop.Out"}},
    )
    for name, declared in document["spec"]["streams"].items():
        declared["name"] = name
    return document


def write(folder, *more):
    streams = [stream("orders"), stream("names")]
    owner = TransactionOwner(id="source", epoch=1)
    with closing(local_systems(folder).open_transactional_admin("log", LOG)) as admin:
        admin.create(dict.fromkeys(streams, 1))
    with closing(local_systems(folder).open_producer("log", LOG, streams, owner)) as producer:
        for name in ("a", "b"):
            value = encoded(NAME, {"id": name, "name": f"name of {name}"})
            producer.send(Ssp("log", "names", 0), value, key=name.encode(), timestamp=1)
        producer.send(Ssp("log", "names", 0), None, key=b"b", timestamp=1)
        for number, key in enumerate("abc"):
            order = {"k": key, "items": [f"item {number}", None, 7], "at": 1_000 * number}
            producer.send(Ssp("log", "orders", 0), encoded(ORDER, order), key=None, timestamp=1)
        for value in more:
            producer.send(Ssp("log", "orders", 0), value, key=None, timestamp=1)
        producer.commit()


def read(folder):
    with closing(local_systems(folder).open_consumer("log", LOG, [stream("out")])) as consumer:
        consumer.assign({Ssp("log", "out", 0): 0}, {})
        batches = list(consumer.poll([Ssp("log", "out", 0)], 100, 0))
    types = ("string", "string", {"type": "long", "logicalType": "timestamp-micros"}, "string")
    fields = [{"name": name, "type": ["null", kind]} for name, kind in zip(OUT, types, strict=True)]
    schema = fastavro.parse_schema({"type": "record", "name": "Out", "fields": fields})
    found = [
        (message.key, message.timestamp, fastavro.schemaless_reader(io.BytesIO(message.value), schema, None))
        for batch in batches
        for message in batch.messages
    ]
    return [(key, time, value["k"], value["first"], value["name"]) for key, time, value in found]


def test_rows_are_read_joined_with_a_table_and_written(tmp_path):
    write(tmp_path)
    assert apps.run(app(), tmp_path).written == {"out": 3}
    assert read(tmp_path) == [
        (b"a", 0, "a", "item 0", "name of a"),
        (b"b", 1_000, "b", "item 1", None),
        (b"c", 2_000, "c", "item 2", None),
    ]


def test_a_record_that_can_not_be_read_is_named_or_left_out(tmp_path):
    write(tmp_path, b"\x02", None, b'{"k": "x"}')
    with pytest.raises(BadRecord, match=r"log\.orders\[0\], offset 3: it ends in k"):
        apps.run(app(), tmp_path)
    summary = apps.run(app(onError="skip"), tmp_path, fresh=False)
    assert summary.written == {"out": 3}
    assert summary.not_used["orders"] == {"unreadable": 2, "without value": 1}
