"""Whole apps that read and write Avro without a registry: rows, tables with deletions, and records that are none."""

import io
import json

import fastavro
import pytest

from streamapp_systems.protocols import BadRecord
from support import apps, log_messages
from support.log_messages import LogRecord

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
    names = [LogRecord(encoded(NAME, {"id": k, "name": f"name of {k}"}), k.encode()) for k in ("a", "b")]
    log_messages.write(folder, "names", 1, [*names, LogRecord(None, b"b")])
    orders = [
        encoded(ORDER, {"k": key, "items": [f"item {number}", None, 7], "at": 1_000 * number})
        for number, key in enumerate("abc")
    ]
    log_messages.write(folder, "orders", 1, map(LogRecord, [*orders, *more]))


def read(folder):
    types = ("string", "string", {"type": "long", "logicalType": "timestamp-micros"}, "string")
    fields = [{"name": name, "type": ["null", kind]} for name, kind in zip(OUT, types, strict=True)]
    schema = fastavro.parse_schema({"type": "record", "name": "Out", "fields": fields})
    found = [
        (message.key, message.timestamp, fastavro.schemaless_reader(io.BytesIO(message.value), schema, None))
        for message in log_messages.read(folder, "out")
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


def test_rows_are_written_by_the_schema_of_the_output(tmp_path):
    """Enums, branches in another order than ours, and defaults stay what the schema says."""
    kinds = {"type": "enum", "name": "Kind", "symbols": ["b", "a"]}
    fields = [
        {"name": "n", "type": "int", "default": 5},
        {"name": "at", "type": [{"type": "long", "logicalType": "timestamp-millis"}, "null"]},
        {"name": "k", "type": ["null", kinds]},
    ]
    schema = {"type": "record", "name": "shop.Out", "fields": fields}
    document = app()
    document["spec"]["operators"][1]["map"] = "at, k"
    document["spec"]["operators"][0] = {"name": "named", "from": "orders", "filter": "k <> 'c'"}
    document["spec"]["streams"]["out"]["avro"] = {"schema": json.dumps(schema)}
    del document["spec"]["streams"]["names"], document["spec"]["tables"]
    write(tmp_path)
    assert apps.run(document, tmp_path).written == {"out": 2}
    found = [fastavro.schemaless_reader(io.BytesIO(m.value), schema, None) for m in log_messages.read(tmp_path, "out")]
    assert [(row["n"], row["at"].timestamp(), row["k"]) for row in found] == [(5, 0, "a"), (5, 1, "b")]


def test_keys_of_several_columns_are_json_objects_and_delete_what_has_them(tmp_path):
    """Values are records of Avro; changes come in and go out under such keys."""
    kinds = {"shop": "string", "item": "int", "n": "int"}
    schema = {"type": "record", "name": "Stock", "fields": [{"name": n, "type": ["null", k]} for n, k in kinds.items()]}
    key, text = ["shop", "item"], json.dumps(schema)
    document = apps.document(
        [
            {"name": "doubled", "from": "stock", "map": "shop, item, n * 2 as n"},
            {"name": "sent", "from": "doubled", "sendTo": "out"},
        ],
        stock={
            "system": "log",
            "bounded": True,
            "format": "avro",
            "avro": {"schema": text},
            "key": key,
            "changes": "upsert",
        },
        out={"system": "log", "format": "avro", "avro": {"schema": text}, "key": key},
    )
    for name, declared in document["spec"]["streams"].items():
        declared["name"] = name

    def key_of(shop, item):
        return json.dumps({"shop": shop, "item": item}, separators=(",", ":"), ensure_ascii=False).encode()

    changes = [("ü", 1, 3), ("b", None, 4), ("ü", 1, 5), ("b", None, None), ("b", 2, 7)]
    records = [
        LogRecord(None if n is None else encoded(schema, {"shop": shop, "item": item, "n": n}), key_of(shop, item))
        for shop, item, n in changes
    ]
    log_messages.write(tmp_path, "stock", 1, records)
    apps.run(document, tmp_path)
    found = {message.key: message.value for message in log_messages.read(tmp_path, "out")}
    left = {k: fastavro.schemaless_reader(io.BytesIO(v), schema, None) for k, v in found.items() if v is not None}
    assert left == {
        key_of("ü", 1): {"shop": "ü", "item": 1, "n": 10},
        key_of("b", 2): {"shop": "b", "item": 2, "n": 14},
    }
