"""The schemas of a registry: columns are judged by the newest, outputs are checked, registered, and have their ids."""

import json

import pytest

from streamapp_core.avro.avro_schema import AvroSchemaError
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
