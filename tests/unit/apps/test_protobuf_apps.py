"""Apps that read and write Protobuf without a registry: rows, tables with deletions, messages that are none."""

import pytest
from google.protobuf.message_factory import GetMessageClass

from streamapp_core.protobuf.proto_files import compile_proto, find_message
from streamapp_core.protobuf.proto_writing import proto_text_of
from streamapp_core.schema import parse_schema
from streamapp_systems.protocols import BadRecord, StreamSystemError
from support import apps, log_messages
from support.log_messages import LogRecord

COMMON = 'syntax = "proto3"; package common; message Item { string name = 1; }'
ORDER = (
    'syntax = "proto3"; import "common.proto"; import "google/protobuf/timestamp.proto"; '
    "message Order { string k = 1; repeated common.Item items = 2; google.protobuf.Timestamp at = 3; }"
)
NAME = 'syntax = "proto3"; message Name { string id = 1; string name = 2; }'
OUT = "k string, first string, at timestamp, name string"


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
    names = [LogRecord(encoded(NAME, id=k, name=f"name of {k}"), k.encode()) for k in ("a", "b")]
    log_messages.write(folder, "names", 1, [*names, LogRecord(None, b"b")])
    orders = [
        encoded(ORDER, k=key, items=[{"name": f"item {number}"}] * number, at={"seconds": number})
        for number, key in enumerate("abc")
    ]
    log_messages.write(folder, "orders", 1, map(LogRecord, [*orders, *more]))


def read(folder):
    parse = GetMessageClass(find_message(compile_proto(proto_text_of(parse_schema(OUT), "shop.Out")), None)).FromString
    found = [(message.key, message.timestamp, parse(message.value)) for message in log_messages.read(folder, "out")]
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
