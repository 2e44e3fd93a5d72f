"""Streams of Protobuf: what is declared fits the message, or is refused where it is written."""

import pytest

from support.plan_documents import accepted, check_refused, document, found, planned

KAFKA = {"kafka": {"bootstrapServers": "k:1", "schemaRegistry": {"url": "http://r:1", "secretName": "login"}}}
SYSTEMS = {"log": {"log": {"path": "l.db"}}, "kafka": KAFKA, "files": {"file": {"path": "."}}}
COUNTS = {"in": 2, "out": 2}
COMMON = 'syntax = "proto3"; package common; message Who { string name = 1; }'
ORDER = """
syntax = "proto3";
package com.shop;
import "common.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  int64 id = 1;
  google.protobuf.Timestamp at = 2;
  common.Who who = 3;
  oneof either { int32 number = 4; string text = 5; }
  map<string, uint32> tags = 6;
  enum Kind { NEW = 0; OLD = 1; }
  repeated Kind kinds = 7;
  google.protobuf.BoolValue paid = 8;
  fixed64 size = 9;
}
"""
BARE = {"system": "log", "format": "protobuf", "protobuf": {"schema": ORDER, "imports": {"common.proto": COMMON}}}


def app(source=None, output=None, *, select="id, who"):
    streams = {"in": {**BARE, **(source or {})}, "out": {"system": "log", "format": "protobuf", **(output or {})}}
    operators = [{"name": "some", "from": "in", "map": select}, {"name": "sent", "from": "some", "sendTo": "out"}]
    return document(operators, streams=streams, systems=SYSTEMS, defaultSystem=streams["out"]["system"])


def proto(text):
    return {"protobuf": {"schema": text}}


def test_the_columns_of_what_is_read_are_those_of_its_message():
    plan = accepted(app(), COUNTS)
    assert str(plan.streams["in"].schema) == (
        "id bigint, at timestamp, who struct<name:string>, number int, text string, tags map<string,bigint>, "
        "kinds array<string>, paid boolean, size decimal(20,0)"
    )


def test_columns_may_be_declared_as_far_as_values_fit():
    schema = "id decimal(22,3), at struct<seconds:bigint>, kinds array<int>, paid struct<value:boolean>, size bigint"
    assert found(app({"schema": schema}, select="id, at"), COUNTS) == {("NotSupported", "spec.streams.out")}
    assert found(app({"schema": schema}, select="size, kinds"), COUNTS) == set()
    assert found(app({"schema": "ID_OF string, id bigint"}, select="id"), COUNTS) == {
        ("UnknownColumn", "spec.streams.in.schema")
    }


@pytest.mark.parametrize(
    "schema, reason",
    [
        ("id int", "`id`: int64 is no int; declare bigint, and cast it in a map"),
        ("id double", "declare bigint, and cast it in a map"),
        ("id decimal(18,0)", "declare bigint"),
        ("at bigint", "google.protobuf.Timestamp is no bigint; declare timestamp"),
        ("who struct<name:int>", "`who.name`: string is no int; declare string"),
        ("who string", "common.Who is no string; declare struct<name:string>"),
        ("tags map<string,int>", "`tags.value`: uint32 is no int; declare bigint"),
        ("tags array<int>", "map<string, uint32> is no array<int>; declare map<string,bigint>"),
        ("kinds string", "repeated com.shop.Order.Kind is no string; declare array<string>"),
        ("number array<int>", "int32 is no array<int>; declare int"),
        ("paid string", "bool is no string; declare boolean"),
        ("size int", "fixed64 is no int; declare decimal(20,0), and cast it in a map"),
    ],
)
def test_a_column_that_values_do_not_fit_is_refused(schema, reason):
    (problem,) = planned(app({"schema": schema}, select="1 as a"), COUNTS).problems
    assert (str(problem.code), problem.path) == ("TypeMismatch", "spec.streams.in.schema")
    assert reason in problem.message


@pytest.mark.parametrize(
    "refused, code, path",
    [
        ({"source": {"protobuf": {}, "schema": "id bigint, who string"}}, "InvalidSpec", "in.protobuf"),
        ({"source": {"protobuf": {**BARE["protobuf"], "message": "Line"}}}, "InvalidSpec", "in.protobuf.schema"),
        ({"source": {"format": "json", "schema": "id int, who int"}}, "NotSupported", "in.protobuf"),
        ({"source": {"system": "kafka", "protobuf": {}, "schema": "id variant, who int"}}, "TypeMismatch", "in.schema"),
        ({"source": {"system": "kafka", "protobuf": {}, "schema": "id date, who int"}}, "TypeMismatch", "in.schema"),
        ({"source": {"system": "kafka", "protobuf": {}}}, "InvalidSpec", "in"),
        (
            {"source": {"system": "kafka", "protobuf": {"imports": {"a": "b"}}, "schema": "id int, who int"}},
            "NotSupported",
            "in.protobuf.imports",
        ),
        ({"source": {"changes": "debezium", "key": "id"}}, "NotSupported", "in.changes"),
        ({"output": {"protobuf": {"schema": COMMON}}}, "NotSupported", "out.protobuf.schema"),
        ({"output": {"protobuf": {"imports": {"a": "b"}}}}, "NotSupported", "out.protobuf.imports"),
        ({"select": "id as `a-b`"}, "NotSupported", "out"),
        ({"select": "id as `_a`"}, "NotSupported", "out"),
        ({"select": "size"}, "NotSupported", "out"),
        ({"select": "to_date(at) as d"}, "NotSupported", "out"),
        ({"select": "array(array(id)) as a"}, "NotSupported", "out"),
        ({"select": "map(1.5D, id) as m"}, "NotSupported", "out"),
        ({"select": "parse_json('1') as v"}, "NotSupported", "out"),
        ({"output": {"system": "files"}}, "NotSupported", "out.format"),
    ],
)
def test_what_can_not_be_is_refused(refused, code, path):
    check_refused(app(**refused), code, f"spec.streams.{path}", COUNTS)


@pytest.mark.parametrize("system, registry", [("log", False), ("kafka", True)])
def test_only_kafka_is_said_to_have_a_registry(system, registry):
    document = app({"system": system, "protobuf": {}, "schema": "id bigint, who string"})
    document["spec"]["systems"]["kafka"] = {"kafka": {"bootstrapServers": "k:1"}}
    (problem,) = planned(document, COUNTS).problems
    assert ("kafka.schemaRegistry" in problem.message) is registry


def test_what_is_sent_to_an_output_has_one_schema():
    two = app()
    two["spec"]["operators"] += [
        {"name": "other", "from": "in", "map": "id"},
        {"name": "sent-too", "from": "other", "sendTo": "out"},
    ]
    assert found(two, COUNTS) == {("NotSupported", "spec.streams.out")}


@pytest.mark.parametrize(
    "schema, reason",
    [
        ("message {", "line 1, column 9"),
        ("com/shop/order.proto\n", "put in what com/shop/order.proto holds"),
        ('edition = "2023"; message A {}', "files are of proto2 or proto3"),
        ("message A { Foo x = 1; }", "couldn't resolve name 'Foo'"),
        ('import "x.proto"; message A { optional x.Foo a = 1; }', "it imports `x.proto`, not given"),
        ("message A { optional int32 a = 1; optional int32 b = 1; }", "duplicate field number"),
        ("message A { optional int32 a = 010; }", "without the 0 before it"),
        ("message A { optional int32 a = 0x10; }", "invalid literal"),
        ('syntax = "proto3"; message A { required int32 a = 1; }', "cannot be required"),
        ("message A {} message B {}", "there are the messages `A`, `B`: say which as `protobuf.message`"),
        ("message A {}", "are no columns"),
        ("message A { repeated A a = 1; }", "A holds itself"),
        ("message A { optional B b = 1; } ", "couldn't resolve"),
        ("", "it has no message"),
        ("message A { " * 3_000, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_schema_is_refused_with_its_reason(schema, reason):
    (problem,) = planned(app(proto(schema), select="1 as a"), COUNTS).problems
    assert problem.path == "spec.streams.in.protobuf.schema"
    assert reason in problem.message


def test_a_message_is_found_with_its_package_and_without_and_inside_of_others():
    text = "package a.b; message A { optional int32 x = 1; message I { optional string y = 1; } } message B {}"
    for name, columns in (("A", "x int"), ("a.b.A", "x int"), ("A.I", "y string"), ("a.b.A.I", "y string")):
        source = {"protobuf": {"schema": text, "message": name}}
        assert str(accepted(app(source, select="1 as a"), COUNTS).streams["in"].schema) == columns
