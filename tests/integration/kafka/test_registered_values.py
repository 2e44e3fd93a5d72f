"""Avro and Protobuf on a real broker, with a real registry: what others write is read, what is written they read."""

import io
import json
import os
from functools import cache
from random import Random
from urllib.request import Request, urlopen

import fastavro
import pyarrow as pa
import pytest
import yaml
from google.protobuf.message_factory import GetMessageClass
from tools.kafka.jars import default_cache
from tools.kafka.registry import Registry

from streamapp_core.protobuf.proto_files import compile_proto, find_message
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.rows.partitioning import partition_numbers
from support import apps, crashes
from support.kafka import ssp_of, write

COUNT, MANY = 400, 20_000
KILLS = int(os.environ.get("STREAMAPP_KILL_RUNS", "5"))
FIRST = {"type": "record", "name": "Order", "fields": [{"name": "k", "type": "string"}, {"name": "n", "type": "int"}]}
TAGS = {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []}
SECOND = {**FIRST, "fields": [FIRST["fields"][0], {"name": "n", "type": "long"}, TAGS]}
COLUMNS = "k string, n bigint, tags array<string>"


@pytest.fixture(scope="module")
def registry():
    with Registry(default_cache()) as found:
        request(found, "/config", {"compatibility": "BACKWARD"}, method="PUT")
        yield found


def request(registry, path, body=None, method="POST"):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(registry.url + path, data, headers, method=method if data else "GET")) as answer:
        return json.load(answer)


def encoded(number, schema, value):
    out = io.BytesIO()
    out.write(b"\0" + number.to_bytes(4, "big"))
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def app_of(kafka, registry, source, out, form):
    system = {"bootstrapServers": kafka.bootstrap_servers, "schemaRegistry": {"url": registry.url}}
    return {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": source.address[-40:].strip("-.").replace(".", "-")},
        "spec": {
            "systems": {"hub": {"kafka": system}},
            "streams": {
                "in": {
                    "system": "hub",
                    "name": source.address,
                    "format": form,
                    "schema": COLUMNS,
                    "bounded": True,
                },
                "out": {"system": "hub", "name": out.address, "format": form},
            },
            "operators": [
                {"name": "by", "from": "in", "partitionBy": {"key": "k"}},
                {"name": "counted", "from": "by", "map": "k, n, size(tags) as tags"},
                {"name": "sent", "from": "counted", "sendTo": "out"},
            ],
            "job": {"onError": "deadLetter"},
        },
    }


def write_records(topics, registry, source, count):
    """Write records of Avro, of two schemas by turns."""
    subject = f"/subjects/{source.address}-value/versions"
    ids = [request(registry, subject, {"schema": json.dumps(schema)})["id"] for schema in (FIRST, SECOND)]
    values = []
    for n in range(count):
        number, schema = (ids[0], FIRST) if n % 2 else (ids[1], SECOND)
        values.append(encoded(number, schema, {"k": f"k{n % 5}", "n": n, "tags": ["a"]}))
    write(topics, source, values)


def read_records(topics, registry, out):
    rows = []
    for number, value in registered_values(topics, out):
        schema = json.loads(registered_schema(registry, number))
        rows.append(fastavro.schemaless_reader(io.BytesIO(value), schema, None))
    return sorted((row["n"], row["k"], row["tags"]) for row in rows)


def registered_values(topics, out):
    """Give the values of a topic, each with the number of its schema before it."""
    values = [value for some in topics.values(out).values() for value in some]
    return [(int.from_bytes(value[1:5], "big"), value[5:]) for value in values]


@cache
def registered_schema(registry, number):
    return request(registry, f"/schemas/ids/{number}")["schema"]


def expected(count):
    return [(n, f"k{n % 5}", -1 if n % 2 else 1) for n in range(count)]


def test_records_are_read_by_their_schemas_and_rows_are_written_by_a_registered_one(topics, kafka, registry, tmp_path):
    source, out = topics.create("in", 2), topics.create("out")
    write_records(topics, registry, source, COUNT)
    write(topics, source, [b"\0\0\xff\xff\xff\0"], partition=1)
    app = app_of(kafka, registry, source, out, "avro")
    summary = apps.run(app, tmp_path)
    assert (summary.written, summary.not_used) == ({"out": COUNT}, {"in": {"dead letters": 1}})
    assert read_records(topics, registry, out) == expected(COUNT)
    app["spec"]["streams"]["in"]["schema"] = COLUMNS.replace("bigint", "int")
    app["spec"]["operators"][1]["map"] = "k, cast(n as string) as n"
    with pytest.raises(PlanRefused, match=r"(?s)spec\.streams\.in\.schema: TypeMismatch.*spec\.streams\.out: NotSup"):
        apps.run(app, tmp_path, run_id="r2")


KEY = {"type": "record", "name": "Key", "fields": [{"name": "k", "type": "string"}]}


def test_keys_of_avro_delete_rows_and_place_results_as_a_java_producer_does(topics, kafka, registry, tmp_path):
    source, out = topics.create("in", 2), topics.create("out", 3)
    keys = request(registry, f"/subjects/{source.address}-key/versions", {"schema": json.dumps(KEY)})["id"]
    named = {**KEY, "doc": "of another topic"}
    other = request(registry, f"/subjects/{source.address}-other/versions", {"schema": json.dumps(named)})["id"]
    with topics.producer(source) as producer:
        first = json.dumps({"k": "k0", "n": 100}).encode()
        for partition in range(2):
            producer.send(ssp_of(source, partition), first, key=encoded(other, named, {"k": "k0"}), timestamp=1)
        for k in range(20):
            key = encoded(keys, KEY, {"k": f"k{k}"})
            values = [json.dumps({"k": f"k{k}", "n": n}).encode() for n in (k, k + 1)]
            for value in values if k % 4 else [*values, None]:
                producer.send(ssp_of(source, k % 2), value, key=key, timestamp=1)
        producer.commit()
    app = app_of(kafka, registry, source, out, "json")
    columns = {"schema": "k string, n bigint", "key": "k", "keyFormat": "avro"}
    app["spec"]["streams"]["in"] |= {**columns, "changes": "upsert"}
    app["spec"]["streams"]["out"] |= {"key": "k", "keyFormat": "avro"}
    app["spec"]["operators"] = [
        {"name": "last", "from": "in", "aggregate": {"by": ["k"], "select": "sum(n) as n"}},
        {"name": "sent", "from": "last", "sendTo": "out"},
    ]
    assert apps.run(app, tmp_path).not_used == {"in": {"dead letters": 2}}
    schema = json.loads(request(registry, f"/subjects/{out.address}-key/versions/latest")["schema"])
    table = {}
    for ssp, batches in topics.read(out).items():
        for record in (message for batch in batches for message in batch.messages):
            key = fastavro.schemaless_reader(io.BytesIO(record.key[5:]), schema, None)["k"]
            assert partition_numbers(pa.chunked_array([[record.key]]), 3).tolist() == [ssp.partition]
            table[key] = None if record.value is None else json.loads(record.value)["n"]
    assert {k: n for k, n in table.items() if n is not None} == {f"k{k}": k + 1 for k in range(20) if k % 4}


TAG_FILE = 'syntax = "proto3"; package common; message Tag { string text = 1; }'
OLD = 'syntax = "proto3"; message Order { string k = 1; int64 n = 2; }'
NEW = (
    'syntax = "proto3"; import "common/tag.proto"; '
    "message Order { string k = 1; int64 n = 2; repeated string tags = 3; common.Tag first = 4; }"
)


def write_messages(topics, registry, source, count):
    """Write messages of Protobuf, of two schemas by turns, of which one imports a file."""
    subject = f"/subjects/{source.address}-value/versions"
    imported = {"schema": TAG_FILE, "schemaType": "PROTOBUF"}
    request(registry, f"/subjects/{source.address}-tag/versions", imported)
    references = [{"name": "common/tag.proto", "subject": f"{source.address}-tag", "version": 1}]
    old = request(registry, subject, {"schema": OLD, "schemaType": "PROTOBUF"})["id"]
    new = request(registry, subject, {"schema": NEW, "schemaType": "PROTOBUF", "references": references})["id"]
    files = {old: compile_proto(OLD), new: compile_proto(NEW, (("common/tag.proto", TAG_FILE),))}
    classes = {number: GetMessageClass(find_message(file, None)) for number, file in files.items()}
    values = []
    for n in range(count):
        number = old if n % 2 else new
        fields = {"k": f"k{n % 5}", "n": n} | ({"tags": ["a"], "first": {"text": "a"}} if number == new else {})
        values.append(b"\0" + number.to_bytes(4, "big") + b"\0" + classes[number](**fields).SerializeToString())
    write(topics, source, values)


def read_messages(topics, registry, out):
    rows = []
    for number, value in registered_values(topics, out):
        assert value[:1] == b"\0"
        rows.append(message_class(registry, number).FromString(value[1:]))
    return sorted((row.n, row.k, row.tags) for row in rows)


@cache
def message_class(registry, number):
    return GetMessageClass(find_message(compile_proto(registered_schema(registry, number)), None))


def test_messages_are_read_by_their_files_and_rows_are_written_by_a_registered_one(topics, kafka, registry, tmp_path):
    """A file that others import is known by its reference; fields of what is written keep their numbers."""
    source, out = topics.create("in", 2), topics.create("out")
    write_messages(topics, registry, source, COUNT)
    write(topics, source, [b"\0\0\xff\xff\xff\0"], partition=1)
    app = app_of(kafka, registry, source, out, "protobuf")
    summary = apps.run(app, tmp_path)
    assert (summary.written, summary.not_used) == ({"out": COUNT}, {"in": {"dead letters": 1}})
    assert read_messages(topics, registry, out) == expected(COUNT)
    app["spec"]["streams"]["in"]["schema"] = COLUMNS.replace("bigint", "int")
    app["spec"]["operators"][1]["map"] = "n as k, k as n"
    with pytest.raises(PlanRefused, match=r"(?s)spec\.streams\.in\.schema: TypeMismatch.*spec\.streams\.out: NotSup"):
        apps.run(app, tmp_path, run_id="r2")


@pytest.mark.parametrize(
    ("form", "write_all", "read_all"),
    [("avro", write_records, read_records), ("protobuf", write_messages, read_messages)],
)
def test_registered_values_are_there_once_though_drivers_die(
    topics, kafka, registry, tmp_path, form, write_all, read_all
):
    source, out = topics.create("in", 2), topics.create("out")
    write_all(topics, registry, source, MANY)
    app = app_of(kafka, registry, source, out, form)
    app["spec"] |= {"processors": {"count": 2}, "job": {"commitInterval": "20ms"}}
    (tmp_path / "app.yaml").write_text(yaml.safe_dump(app))
    assert crashes.run_with_kills(tmp_path, Random(form), [3.0] * KILLS, zombies=True)
    assert read_all(topics, registry, out) == expected(MANY)
