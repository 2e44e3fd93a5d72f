"""Streams of Avro: what is declared fits the schema, or is refused where it is written."""

import json

import pytest

from support.plan_documents import accepted, check_refused, document, found, planned

KAFKA = {"kafka": {"bootstrapServers": "k:1", "schemaRegistry": {"url": "http://r:1", "secretName": "login"}}}
SYSTEMS = {"log": {"log": {"path": "l.db"}}, "kafka": KAFKA, "files": {"file": {"path": "."}}}
COUNTS = {"in": 2, "out": 2}
RECORD = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "who", "type": {"type": "record", "name": "Who", "fields": [{"name": "name", "type": "string"}]}},
        {"name": "either", "type": ["null", "int", "string"]},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
    ],
}
BARE = {"system": "log", "format": "avro", "avro": {"schema": json.dumps(RECORD)}}


def app(source=None, output=None, *, select="*"):
    streams = {"in": {**BARE, **(source or {})}, "out": {"system": "log", "format": "avro", **(output or {})}}
    operators = [{"name": "some", "from": "in", "map": select}, {"name": "sent", "from": "some", "sendTo": "out"}]
    return document(operators, streams=streams, systems=SYSTEMS, defaultSystem=streams["out"]["system"])


def test_the_columns_of_what_is_read_are_those_of_its_schema():
    plan = accepted(app(), COUNTS)
    assert str(plan.streams["in"].schema) == (
        "id bigint, at timestamp, price decimal(9,2), who struct<name:string>, "
        "either struct<member0:int,member1:string>, tags map<string,int>"
    )


@pytest.mark.parametrize(
    "schema",
    [
        "id double, at bigint, price decimal(12,4)",
        "ID_OF string, id decimal(19,0)",
        "who struct<name:binary>, either struct<member1:string>",
        "price binary, tags map<string,double>",
    ],
)
def test_columns_may_be_declared_as_far_as_values_fit(schema):
    """A column whose name no field has is refused, the others are not."""
    problems = found(app({"schema": schema}), COUNTS)
    assert problems == ({("UnknownColumn", "spec.streams.in.schema")} if "ID_OF" in schema else set())


@pytest.mark.parametrize(
    "schema, reason",
    [
        ("id int", "`id`: long is no int; declare bigint"),
        ("id timestamp", "timestamp_millis(...)"),
        ("id smallint", "declare bigint, and cast it in a map"),
        ("price decimal(9,1)", "declare decimal(9,2)"),
        ("price double", "declare decimal(9,2)"),
        ("who struct<name:int>", "`who.name`: string is no int; declare string"),
        ("either string", "int is no string"),
        ("either struct<member2:int>", "`either.member2`: [null, int, string] has 2 branches beside null"),
        ("tags map<string,struct<a:int>>", "`tags.value`: int is no struct<a:int>"),
        ("tags array<int>", "map of int is no array<int>; declare map<string,int>"),
        ("at timestamp_ntz", "declare timestamp"),
    ],
)
def test_a_column_that_values_do_not_fit_is_refused(schema, reason):
    (problem,) = planned(app({"schema": schema}), COUNTS).problems
    assert (str(problem.code), problem.path) == ("TypeMismatch", "spec.streams.in.schema")
    assert reason in problem.message


@pytest.mark.parametrize(
    "refused, code, path",
    [
        ({"source": {"avro": {}, "schema": "id int"}}, "InvalidSpec", "in.avro"),
        ({"source": {"avro": {"schema": "{"}}}, "InvalidSpec", "in.avro.schema"),
        ({"source": {"avro": {"schema": '"long"'}}}, "InvalidSpec", "in.avro.schema"),
        ({"source": {"avro": {**BARE["avro"], "recordName": "A"}}}, "NotSupported", "in.avro.recordName"),
        ({"source": {"format": "json", "schema": "id int"}}, "NotSupported", "in.avro"),
        ({"source": {"system": "kafka", "avro": {}, "schema": "k variant"}}, "TypeMismatch", "in.schema"),
        ({"source": {"system": "kafka", "avro": {}, "schema": "k map<int,int>"}}, "TypeMismatch", "in.schema"),
        ({"source": {"system": "kafka", "avro": {}}}, "InvalidSpec", "in"),
        ({"output": {"avro": BARE["avro"]}, "select": "id"}, "UnknownColumn", "out.avro.schema"),
        ({"output": {"avro": BARE["avro"]}, "select": "* except (id), 1D as id"}, "TypeMismatch", "out.avro.schema"),
        ({"output": {"avro": {"schemaFile": "a.avsc"}}}, "InvalidSpec", "out.avro.schemaFile"),
        ({"output": {"avro": {**BARE["avro"], "recordName": "A"}}}, "NotSupported", "out.avro.recordName"),
        ({"output": {"avro": {"schema": "{"}}}, "InvalidSpec", "out.avro.schema"),
        ({"select": "id as `a-b`"}, "NotSupported", "out"),
        ({"select": "map(id, 1) as m"}, "NotSupported", "out"),
        ({"select": "parse_json('1') as v"}, "NotSupported", "out"),
        ({"output": {"system": "files"}}, "NotSupported", "out.format"),
    ],
)
def test_what_can_not_be_is_refused(refused, code, path):
    check_refused(app(**refused), code, f"spec.streams.{path}", COUNTS)


def test_an_output_may_have_a_schema_of_its_own():
    assert accepted(app(output={"avro": BARE["avro"]}), COUNTS).streams["out"].schema is not None


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
        ('{"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}', "holds itself"),
        ('{"type": "record", "name": "N", "fields": [{"name": "a", "type": "Other"}]}', "no type `Other`"),
        ('{"type": "record", "name": "N", "fields": [{"name": "a"}]}', "null is no type"),
        (
            '{"type": "record", "name": "N", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}',
            "have no bytes",
        ),
        ("[" * 100 + '"int"' + "]" * 100, "nested in more than"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_reason(schema, reason):
    (problem,) = planned(app({"avro": {"schema": schema[:60_000]}}), COUNTS).problems
    assert problem.path == "spec.streams.in.avro.schema"
    assert reason in problem.message


def test_types_that_name_each_other_are_counted_before_they_are_read():
    """Each of thirty records has the one before twice: a billion types in a few lines."""
    fields = '{"name": "a", "type": %s}, {"name": "b", "type": %s}'
    inner = '"int"'
    for number in range(30):
        second = inner if number == 0 else f'"R{number - 1}"'
        inner = f'{{"type": "record", "name": "R{number}", "fields": [{fields % (inner, second)}]}}'
    (problem,) = planned(app({"avro": {"schema": inner}}), COUNTS).problems
    assert "more than 10,000 types" in problem.message
