"""Apps that read and write Protobuf without a registry: rows, tables with deletions, messages that are none."""

from contextlib import closing

import pytest
from google.protobuf.message_factory import GetMessageClass

from streamapp_core.protobuf.proto_files import compile_proto, find_message
from streamapp_core.protobuf.proto_writing import proto_text_of
from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import BadRecord, StreamDescriptor, StreamSystemError, TransactionOwner
from streamapp_systems.registry import local_systems
from support import apps

LOG = SystemSpec.model_validate({"log": {"path": "log.db"}})
COMMON = 'syntax = "proto3"; package common; message Item { string name = 1; }'
ORDER = (
    'syntax = "proto3"; import "common.proto"; import "google/protobuf/timestamp.proto"; '
    "message Order { string k = 1; repeated common.Item items = 2; google.protobuf.Timestamp at = 3; }"
)
NAME = 'syntax = "proto3"; message Name { string id = 1; string name = 2; }'
OUT = "k string, first string, at timestamp, name string"


def stream(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.PROTOBUF)


def encoded(text, **fields):
    message = find_message(compile_proto(text, (("common.proto", COMMON),)), None)
    return GetMessageClass(message)(**fields).SerializeToString()


def app(first="items[0].name as first", **job):
    form = {"system": "log", "bounded": True, "format": "protobuf"}
    order = {"schema": ORDER, "imports": {"common.proto": COMMON}}
    document = apps.document(
        [
            {"name": "named", "from": "orders", "joinTable": {"table": "name", "on": "k", "type": "left"}},
            {"name": "some", "from": "named", "map": f"k, {first}, at, name"},
            {"name": "sent", "from": "some", "sendTo": "out"},
        ],
        tables={"name": {"key": "id", "sideInputs": ["names"], "bootstrap": True}},
        job=job,
        orders={**form, "key": "k", "protobuf": order, "eventTime": {"column": "at"}},
        names={**form, "key": "id", "protobuf": {"schema": NAME}},
        out={"system": "log", "format": "protobuf", "key": "k", "protobuf": {"message": "shop.Out"}},
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
            value = encoded(NAME, id=name, name=f"name of {name}")
            producer.send(Ssp("log", "names", 0), value, key=name.encode(), timestamp=1)
        producer.send(Ssp("log", "names", 0), None, key=b"b", timestamp=1)
        for number, key in enumerate("abc"):
            items = [{"name": f"item {number}"}] * number
            value = encoded(ORDER, k=key, items=items, at={"seconds": number})
            producer.send(Ssp("log", "orders", 0), value, key=None, timestamp=1)
        for value in more:
            producer.send(Ssp("log", "orders", 0), value, key=None, timestamp=1)
        producer.commit()


def read(folder):
    with closing(local_systems(folder).open_consumer("log", LOG, [stream("out")])) as consumer:
        consumer.assign({Ssp("log", "out", 0): 0}, {})
        batches = list(consumer.poll([Ssp("log", "out", 0)], 100, 0))
    parse = GetMessageClass(find_message(compile_proto(proto_text_of(parse_schema(OUT), "shop.Out")), None)).FromString
    found = [(m.key, m.timestamp, parse(m.value)) for batch in batches for m in batch.messages]
    return [
        (key, time, *(getattr(row, name) if row.HasField(name) else None for name in ("k", "first", "name")))
        for key, time, row in found
    ]


def test_rows_are_read_joined_with_a_table_and_written(tmp_path):
    write(tmp_path)
    assert apps.run(app(), tmp_path).written == {"out": 3}
    assert read(tmp_path) == [
        (b"a", 0, "a", None, "name of a"),
        (b"b", 1_000, "b", "item 1", None),
        (b"c", 2_000, "c", "item 2", None),
    ]


def test_a_message_that_can_not_be_read_is_named_or_left_out(tmp_path):
    write(tmp_path, b"\x02", None, b'{"k": "x"}')
    with pytest.raises(BadRecord, match=r"log\.orders\[0\], offset 3: it is no message Order"):
        apps.run(app(), tmp_path)
    summary = apps.run(app(onError="skip"), tmp_path, fresh=False)
    assert summary.written == {"out": 3}
    assert summary.not_used["orders"] == {"unreadable": 2, "without value": 1}


def test_a_null_that_would_be_read_as_another_value_ends_the_app_with_what_to_do(tmp_path):
    write(tmp_path)
    with pytest.raises(StreamSystemError, match=r"element of first is null.*filter\(first, x -> x is not null\)"):
        apps.run(app("array(items[0].name) as first"), tmp_path)
