"""Rows written by a schema that the spec gives: fastavro reads them, and what the schema does not hold is refused."""

import datetime
import decimal
import io
import json

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given

from streamapp_core.avro.avro_columns import columns_of_avro
from streamapp_core.avro.avro_schema import parse_avro_schema
from streamapp_core.avro.avro_targets import find_unwritable_by
from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.avro.avro_decoding import AvroRowReader
from streamapp_systems.avro.avro_encoding import AvroRowWriter
from streamapp_systems.protocols import StreamSystemError
from unit.avro.test_avro_rows import MANY, cases, same, written


@given(cases())
def test_what_is_read_by_a_schema_is_written_by_it_again(case):
    """Blocks of arrays and maps may be others, but not what fastavro reads."""
    schema, rows = case
    avro = parse_avro_schema(json.dumps(schema))
    columns = columns_of_avro(avro)
    if list(find_unwritable_by(avro, columns)):
        return
    given_values = [written(schema, row) for row in rows]
    table, _, _ = AvroRowReader(avro, columns).read(given_values * MANY)
    encoded = AvroRowWriter(avro, columns).write(table, b"head").to_pylist()
    again, good, _ = AvroRowReader(avro, columns).read(encoded, 4)
    assert good.all()
    assert same(again.to_pylist(), table.to_pylist())
    theirs = fastavro.parse_schema(plain(schema))
    for ours, value in zip(encoded, given_values, strict=False):
        assert repr(read(theirs, ours[4:])) == repr(read(theirs, value))


def plain(schema):
    """Return a schema without the meanings of its types, which fastavro does not hold all values of."""
    match schema:
        case dict():
            return {name: plain(part) for name, part in schema.items() if name != "logicalType"}
        case list():
            return [plain(part) for part in schema]
        case _:
            return schema


def read(theirs, value):
    stream = io.BytesIO(value)
    found = fastavro.schemaless_reader(stream, theirs, None)
    assert stream.read() == b""
    return found


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
UUID = {"type": "string", "logicalType": "uuid"}


def record(name="R", **fields):
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def writer(columns, schema):
    avro, of = parse_avro_schema(json.dumps(schema)), parse_schema(columns)
    assert list(find_unwritable_by(avro, of)) == []
    return lambda *rows: (
        AvroRowWriter(avro, of).write(pa.Table.from_pylist([*rows], schema=arrow_schema(of))).to_pylist()
    )


@pytest.mark.parametrize(
    "column, kind, value, expected",
    [
        ("string", ["string", "null"], "x", "x"),
        ("string", ["string", "null"], None, None),
        ("string", [ENUM, "null", "string"], "A", "A"),
        ("string", [ENUM, "null"], "B", "B"),
        ("string", [UUID, "bytes"], "6f0e3a5c-0d3a-4a53-9c8f-0a1b2c3d4e5f", "6f0e3a5c-0d3a-4a53-9c8f-0a1b2c3d4e5f"),
        ("bigint", ["int", "long"], 1 << 40, 1 << 40),
        ("int", ["null", "string", "long"], 7, 7),
        ("decimal(5,1)", DECIMAL, "12.5", b"\x04\xe2"),
        ("decimal(4,2)", {**DECIMAL, "type": "fixed", "name": "D", "size": 20}, "-0.01", b"\xff" * 20),
        ("decimal(4,2)", {**DECIMAL, "type": "fixed", "name": "D", "size": 3}, "-99.99", b"\xff\xd8\xf1"),
        ("timestamp", MILLIS, "1969-12-31T23:59:59.999500Z", -1),
        ("timestamp", {**MILLIS, "logicalType": "timestamp-micros"}, "1970-01-01T00:00:00.000007Z", 7),
        ("bigint", MILLIS, 5, 5),
        ("binary", FIXED, b"ab", b"ab"),
        ("float", "double", 0.5, 0.5),
        ("struct<member0:int,member1:string>", ["null", "int", "string"], {"member0": None, "member1": "x"}, "x"),
        ("struct<member0:int,member1:string>", ["int", "null", "string"], {"member0": None, "member1": None}, None),
        ("map<string,int>", {"type": "map", "values": "long"}, [("a", 1)], {"a": 1}),
        ("array<struct<x:int>>", {"type": "array", "items": record("In", x="int")}, [{"x": 1}], [{"x": 1}]),
    ],
)
def test_values_have_the_forms_of_the_schema(column, kind, value, expected):
    schema = record(c=kind, e="string")
    given_value = value
    if column.startswith("decimal"):
        given_value = decimal.Decimal(value)
    elif column == "timestamp":
        given_value = datetime.datetime.fromisoformat(value)
    (encoded,) = writer(f"e string, c {column}", schema)({"c": given_value, "e": "end"})
    assert read(fastavro.parse_schema(plain(schema)), encoded) == {"c": expected, "e": "end"}


DEFAULTS = [
    ("string", "x"),
    ("int", -7),
    ("long", 1 << 60),
    ("float", 0.5),
    ("double", 2),
    ("boolean", True),
    ("null", None),
    ("bytes", "\u00ff\u0000"),
    (FIXED, "ab"),
    (ENUM, "B"),
    (["null", "int"], None),
    (["int", "null"], 3),
    (["null", "string"], "later branch"),
    ({"type": "array", "items": "int"}, [1, 2]),
    ({"type": "map", "values": ["null", "string"]}, {"a": None}),
    (record("In", x="int", y=["null", "int"]), {"x": 1, "y": None}),
]


@pytest.mark.parametrize("kind, default", DEFAULTS)
def test_a_field_that_no_column_fills_has_its_default(kind, default):
    schema = record(c="int", d=kind)
    schema["fields"][1]["default"] = default
    (encoded,) = writer("c int", schema)({"c": 1})
    found = read(fastavro.parse_schema(schema), encoded)["d"]
    assert found == (default.encode("latin-1") if isinstance(found, bytes) else default)


@pytest.mark.parametrize(
    "kind, default",
    [
        ("int", "x"),
        ("int", 1 << 31),
        ("long", 1 << 63),
        ("int", True),
        (ENUM, "C"),
        (FIXED, "a"),
        ("bytes", "\u0100"),
        (["null", "int"], "x"),
        ({"type": "array", "items": "int"}, {}),
        (record("In", x="int"), {}),
        ("double", "x"),
        ("string", 1),
        ("null", 1),
        ("boolean", 1),
        ({"type": "map", "values": "int"}, {"a": None}),
    ],
)
def test_a_default_that_is_no_value_of_its_type_is_refused(kind, default):
    schema = record(c="int", d=kind)
    schema["fields"][1]["default"] = default
    (mismatch,) = find_unwritable_by(parse_avro_schema(json.dumps(schema)), parse_schema("c int"))
    assert "its default" in mismatch.reason


@pytest.mark.parametrize(
    "columns, schema, path",
    [
        ("a int", record(a="int", b="int"), "b"),
        ("a int, b int", record(a="int"), "b"),
        ("a bigint", record(a="int"), "a"),
        ("a string", record(a=["null", "int", "bytes"]), "a"),
        ("a decimal(10,2)", record(a=DECIMAL), "a"),
        ("a decimal(5,3)", record(a=DECIMAL), "a"),
        ("a decimal(5,2)", record(a={**DECIMAL, "type": "fixed", "name": "D", "size": 2}), "a"),
        ("a timestamp_ntz", record(a=MILLIS), "a"),
        ("a double", record(a="float"), "a"),
        ("a map<int,int>", record(a={"type": "map", "values": "int"}), "a"),
        ("a struct<x:int,y:int>", record(a=record(x="int")), "a.y"),
        ("a struct<member0:int,member2:int>", record(a=["int", "string"]), "a.member2"),
        ("a array<string>", record(a={"type": "array", "items": "int"}), "a.element"),
        ("a string", record(a=[ENUM, UUID]), "a"),
        ("a int", "int", ""),
    ],
)
def test_what_a_schema_does_not_hold_is_refused(columns, schema, path):
    found = find_unwritable_by(parse_avro_schema(json.dumps(schema)), parse_schema(columns))
    assert [mismatch.path for mismatch in found] == [path]


@pytest.mark.parametrize(
    "column, kind, value, reason",
    [
        ("int", "int", None, "c is null, and its type in the schema, int, has no null"),
        ("string", ENUM, "C", "has no symbol `C`: there are A, B"),
        ("binary", FIXED, b"abc", "has 2 bytes, and a value has 3"),
        ("string", UUID, "x", "c: `x` is no UUID"),
        ("struct<member0:int,member1:string>", ["int", "string"], {"member0": 1, "member1": "x"}, "several members"),
        ("struct<member0:int,member1:string>", ["int", "string"], {}, "no member"),
        ("array<int>", {"type": "array", "items": "int"}, [None], r"c\[\] is null"),
    ],
)
def test_a_value_that_a_schema_does_not_hold_ends_the_app(column, kind, value, reason):
    with pytest.raises(StreamSystemError, match=reason):
        writer(f"c {column}", record(c=kind))({"c": value})
