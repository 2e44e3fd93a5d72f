"""The schemas of a registry: columns are judged by the newest, outputs are checked, registered, and have their ids."""

import json

import pytest

from streamapp_core.avro.avro_schema import AvroSchemaError
from streamapp_core.protobuf.proto_files import ProtoError
from streamapp_runtime.registered_key_schemas import (
    find_key_schema_problems,
    first_key_schema,
    key_headers,
    register_key_schemas,
)
from streamapp_runtime.registered_schemas import RegistrySchemas, find_schema_problems, output_headers, register_schemas
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import local_systems
from support.plan_documents import accepted, document
from support.schema_registry import stub_registry

COUNTS = {"in": 1, "out": 1}


@pytest.fixture
def registry():
    with stub_registry() as found:
        yield found


def planned(registry, schema, **output):
    systems = {"hub": {"kafka": {"bootstrapServers": "k:1", "schemaRegistry": {"url": registry.url}}}}
    streams = {
        "in": {"system": "hub", "name": "shop.in", "format": "avro", "schema": schema},
        "out": {"system": "hub", "name": "9.shop-out", "format": "avro", **output},
    }
    operators = [{"name": "sent", "from": "in", "sendTo": "out"}]
    return accepted(document(operators, streams=streams, systems=systems, defaultSystem="hub"), COUNTS)


def record(**fields):
    return {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def problems(registry, folder, schema):
    found = find_schema_problems(planned(registry, schema), local_systems(folder))
    return [(str(problem.code), problem.path, problem.message) for problem in found]


def test_the_newest_schema_says_what_columns_hold(registry, tmp_path):
    registry.add("shop.in-value", record(a="string", b="int"))
    registry.add("shop.in-value", record(b="long", c="int"))
    assert problems(registry, tmp_path, "b bigint, a string, c int") == []
    (mismatch,) = problems(registry, tmp_path, "b int")
    assert mismatch == (
        "TypeMismatch",
        "spec.streams.in.schema",
        "schema 2 of shop.in-value: `b`: long is no int; declare bigint, and cast it in a map",
    )
    (missing,) = problems(registry, tmp_path, "d int")
    assert missing[:2] == ("UnknownColumn", "spec.streams.in.schema")


def test_without_a_schema_nothing_is_judged_yet(registry, tmp_path):
    assert problems(registry, tmp_path, "d int") == []


@pytest.mark.parametrize("schema, more", [("syntax = ...", {"schemaType": "PROTOBUF"}), ('"int"', {}), ("{", {})])
def test_what_is_no_record_of_avro_is_refused(registry, tmp_path, schema, more):
    registry.add("shop.in-value", schema, **more)
    assert [path for _, path, _ in problems(registry, tmp_path, "d int")] == (
        ["spec.streams.in.schema"] if schema == '"int"' else ["spec.streams.in"]
    )


def test_outputs_are_registered_and_have_their_ids(registry, tmp_path):
    plan, systems = planned(registry, "a int"), local_systems(tmp_path)
    with pytest.raises(StreamSystemError, match=r"is not registered as 9\.shop-out-value any more"):
        output_headers(plan, systems)
    registry.add("other", '"int"')
    register_schemas(plan, systems)
    register_schemas(plan, systems)
    assert output_headers(plan, systems) == {"out": b"\x00\x00\x00\x00\x02"}
    assert list(registry.subjects) == ["other", "9.shop-out-value"]
    assert json.loads(registry.schemas[1]["schema"]) == {
        "type": "record",
        "name": "_9_shop_out",
        "fields": [{"name": "a", "type": ["null", "int"], "default": None}],
    }
    named = planned(registry, "a int", avro={"recordName": "com.shop.Out"})
    register_schemas(named, systems)
    assert json.loads(registry.schemas[2]["schema"])["name"] == "com.shop.Out"


def test_a_schema_that_the_spec_gives_is_registered_as_it_is(registry, tmp_path):
    text = json.dumps({**record(a=["int", "string"]), "namespace": "shop", "doc": "kept"})
    plan, systems = planned(registry, "a int", avro={"schema": text}), local_systems(tmp_path)
    assert find_schema_problems(plan, systems) == ()
    register_schemas(plan, systems)
    assert [found["schema"] for found in registry.schemas] == [text]
    assert output_headers(plan, systems) == {"out": b"\x00\x00\x00\x00\x01"}


def test_an_output_that_the_registry_refuses_is_a_problem_of_the_plan(registry, tmp_path):
    registry.add("9.shop-out-value", record(a="string"))
    registry.refusal = "TYPE_MISMATCH"
    (problem,) = problems(registry, tmp_path, "a int")
    assert problem[:2] == ("NotSupported", "spec.streams.out")
    assert "not compatible with the newest of 9.shop-out-value: TYPE_MISMATCH" in problem[2]


def test_writers_are_found_by_id_with_those_they_refer_to(registry, tmp_path):
    inner = {"type": "record", "name": "In", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}
    registry.add("inner", inner)
    references = [{"name": "n.In", "subject": "inner", "version": 1}]
    number = registry.add("outer", record(i="n.In"), references=references)
    proto = registry.add("proto", "syntax", schemaType="PROTOBUF")
    plan = planned(registry, "a int")
    systems = local_systems(tmp_path)
    writers = RegistrySchemas(lambda: systems.open_schema_registry("hub", plan.app.system("hub")))
    assert str(writers.writer(number).fields[0].type) == "record n.In"
    with pytest.raises(AvroSchemaError, match="it is PROTOBUF, not Avro"):
        writers.writer(proto)
    with pytest.raises(AvroSchemaError, match="there is none with this id"):
        writers.writer(77)


PROTO = 'syntax = "proto3"; message R {{ {} }}'


def protobuf(registry, schema, columns="*", source=None, **output):
    systems = {"hub": {"kafka": {"bootstrapServers": "k:1", "schemaRegistry": {"url": registry.url}}}}
    streams = {
        "in": {"system": "hub", "name": "shop.in", "format": "protobuf", "schema": schema, **(source or {})},
        "out": {"system": "hub", "name": "9.shop-out", "format": "protobuf", **output},
    }
    operators = [{"name": "some", "from": "in", "map": columns}, {"name": "sent", "from": "some", "sendTo": "out"}]
    return accepted(document(operators, streams=streams, systems=systems, defaultSystem="hub"), COUNTS)


def judged(plan, folder):
    found = find_schema_problems(plan, local_systems(folder))
    return [(str(problem.code), problem.path, problem.message) for problem in found]


def test_the_newest_message_says_what_columns_hold(registry, tmp_path):
    for fields in ("string a = 1; int32 b = 2;", "int64 b = 1; int32 c = 2;"):
        registry.add("shop.in-value", PROTO.format(fields), schemaType="PROTOBUF")
    assert judged(protobuf(registry, "b bigint, a string, c int"), tmp_path) == []
    (mismatch,) = judged(protobuf(registry, "b int"), tmp_path)
    assert mismatch == (
        "TypeMismatch",
        "spec.streams.in.schema",
        "schema 2 of shop.in-value: `b`: int64 is no int; declare bigint, and cast it in a map",
    )
    (missing,) = judged(protobuf(registry, "d int"), tmp_path)
    assert missing[:2] == ("UnknownColumn", "spec.streams.in.schema")
    (named,) = judged(protobuf(registry, "b bigint", source={"protobuf": {"message": "Other"}}), tmp_path)
    assert named[:2] == ("NotSupported", "spec.streams.in")
    assert "there is no message `Other`: there are `R`" in named[2]


def test_messages_that_a_schema_imports_come_with_it(registry, tmp_path):
    registry.add("common", 'syntax = "proto3"; package c; message In { int32 x = 1; }', schemaType="PROTOBUF")
    references = [{"name": "c/common.proto", "subject": "common", "version": 1}]
    text = 'syntax = "proto3"; import "c/common.proto"; message R { c.In i = 1; }'
    number = registry.add("shop.in-value", text, schemaType="PROTOBUF", references=references)
    assert judged(protobuf(registry, "i struct<x:int>"), tmp_path) == []
    plan, systems = protobuf(registry, "i struct<x:int>"), local_systems(tmp_path)
    schemas = RegistrySchemas(lambda: systems.open_schema_registry("hub", plan.app.system("hub")))
    assert list(schemas.file(number).message_types_by_name) == ["R"]
    avro = registry.add("other", '"int"')
    with pytest.raises(ProtoError, match="it is AVRO, not Protobuf"):
        schemas.file(avro)
    with pytest.raises(ProtoError, match="there is none with this id"):
        schemas.file(77)


def test_messages_that_are_written_are_registered_and_have_their_ids(registry, tmp_path):
    plan, systems = protobuf(registry, "a int"), local_systems(tmp_path)
    registry.add("other", '"int"')
    register_schemas(plan, systems)
    register_schemas(plan, systems)
    assert output_headers(plan, systems) == {"out": b"\x00\x00\x00\x00\x02\x00"}
    text = 'syntax = "proto3";\nmessage M9_shop_out {\n  optional int32 a = 1;\n}\n'
    assert registry.schemas[1] == {"schema": text, "schemaType": "PROTOBUF"}
    register_schemas(protobuf(registry, "a int", protobuf={"message": "com.shop.Out"}), systems)
    assert "package com.shop;\nmessage Out {" in registry.schemas[2]["schema"]


@pytest.mark.parametrize(
    "columns, reason",
    [
        ("a, b, 1 as c", None),
        ("a", None),
        ("b, a", "`b` would be field 1 and was 2; new columns stand last, `a` would be field 2 and was 1"),
        ("a, 1 as c", "field 2 would be `c` and was `b`"),
        ("a, named_struct('y', 1, 'x', 2) as b", "`y` would be field 1 and was 2"),
    ],
)
def test_fields_keep_their_numbers(registry, tmp_path, columns, reason):
    """Registries take a field that is renamed, or two that are exchanged, for compatible."""
    inner = "message In { int32 x = 1; int32 y = 2; } In b = 2;"
    registry.add("9.shop-out-value", PROTO.format(f"int32 a = 1; {inner}"), schemaType="PROTOBUF")
    found = judged(protobuf(registry, "a int, b struct<x:int,y:int>", columns), tmp_path)
    assert [path for _, path, _ in found] == ([] if reason is None else ["spec.streams.out"])
    assert reason is None or reason in found[0][2]


def test_a_message_that_the_registry_refuses_is_a_problem_of_the_plan(registry, tmp_path):
    registry.add("9.shop-out-value", '"string"')
    registry.refusal = "FIELD_SCALAR_KIND_CHANGED"
    (problem,) = judged(protobuf(registry, "a int"), tmp_path)
    assert problem[:2] == ("NotSupported", "spec.streams.out")
    assert "FIELD_SCALAR_KIND_CHANGED; change the columns or `protobuf.message`" in problem[2]


KEYED = {"key": ["b", "a"], "keyFormat": "avro"}


def keyed(registry, output=KEYED, *, counts=COUNTS, **source):
    """A plan of streams with keys of Avro, of which `out` has those of two columns."""
    systems = {"hub": {"kafka": {"bootstrapServers": "k:1", "schemaRegistry": {"url": registry.url}}}}
    streams = {
        "in": {"system": "hub", "name": "shop.in", "schema": "a int, b string", **source},
        "out": {"system": "hub", "name": "shop.out", **output},
    }
    operators = [{"name": "sent", "from": "in", "sendTo": "out"}]
    return accepted(document(operators, streams=streams, systems=systems, defaultSystem="hub"), counts)


def test_schemas_of_keys_are_registered_and_have_their_ids(registry, tmp_path):
    plan, systems = keyed(registry), local_systems(tmp_path)
    with pytest.raises(StreamSystemError, match=r"is not registered as shop\.out-key any more"):
        key_headers(plan, systems)
    register_key_schemas(plan, systems)
    assert key_headers(plan, systems) == {"out": b"\x00\x00\x00\x00\x01"}
    (registered,) = (json.loads(entry["schema"]) for entry in registry.schemas)
    assert (registered["name"], [field["name"] for field in registered["fields"]]) == ("shop_outKey", ["b", "a"])
    registry.refusal = "fields may not go"
    (problem,) = find_key_schema_problems(plan, systems)
    assert (problem.path, "fields may not go" in problem.message) == ("spec.streams.out.key", True)


@pytest.mark.parametrize(
    ("schemas", "key", "reason"),
    [
        ([], "a", None),
        ([record(a="int")], "a", None),
        (['"int"'], "a", None),
        ([record(a="int", b="string")], ["a", "b"], None),
        ([record(a="int", b="string")], "a", "it has the fields `a`, `b`, and the stream's `key` is `a`"),
        ([record(a="long")], "a", "`a`: long is no int"),
        (['"string"'], "a", "`a`: string is no int"),
        (["{"], "a", "schema 1 of shop.in-key"),
        ([record(a="int"), '"int"'], "a", "has 2 schemas, whose ids are a part of keys"),
    ],
)
def test_keys_that_are_read_are_judged_by_their_newest_schema(registry, tmp_path, schemas, key, reason):
    for schema in schemas:
        registry.add("shop.in-key", schema)
    plan = keyed(registry, {}, key=key, keyFormat="avro", counts={"in": 2, "out": 1})
    found = [problem.message for problem in find_key_schema_problems(plan, local_systems(tmp_path))]
    assert len(found) == (reason is not None)
    assert all(reason in message for message in found)


@pytest.mark.parametrize(
    ("more", "partitions", "refused"),
    [
        ({"changes": "upsert"}, 1, True),
        ({"changes": "append"}, 1, False),
        ({"changes": "append"}, 2, True),
    ],
)
def test_keys_that_delete_rows_or_have_several_partitions_have_one_schema(
    registry, tmp_path, more, partitions, refused
):
    """What is compacted keeps a row of one schema's key where that of another deletes it."""
    registry.add("shop.in-key", record(a="int"))
    registry.add("shop.in-key", '"int"')
    counts = {"in": partitions, "out": partitions}
    plan = keyed(registry, {"key": "a"}, key="a", keyFormat="avro", counts=counts, **more)
    found = [problem.path for problem in find_key_schema_problems(plan, local_systems(tmp_path))]
    assert found == (["spec.streams.in.key"] if refused else [])
    systems = local_systems(tmp_path)
    assert first_key_schema(plan.streams["in"], systems.open_schema_registry("hub", plan.app.system("hub"))) == 1
    written = keyed(registry, {"key": "a", "keyFormat": "avro"}, key="a", counts=counts, **more)
    assert list(find_key_schema_problems(written, systems)) == []
    registry.add("shop.out-key", record(a="int"))
    found = [problem.path for problem in find_key_schema_problems(written, systems)]
    assert found == (["spec.streams.out.key"] if refused else [])
    register_key_schemas(written, systems)
    registry.subjects["shop.out-key"].pop(0)
    assert list(find_key_schema_problems(written, systems)) == []
