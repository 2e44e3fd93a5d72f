from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.schema import (
    INT,
    MAX_COLUMNS,
    MAX_SCHEMA_LENGTH,
    MAX_TYPE_DEPTH,
    STRING,
    Column,
    DataType,
    Schema,
    SchemaError,
    TypeKind,
    array_of,
    map_of,
    parse_schema,
    parse_type,
    struct_of,
)
from support.data_types import FIELD_NAMES, data_types

NAMES = FIELD_NAMES.filter(lambda name: not name.startswith("__"))
TYPES = data_types()


def test_a_column_list_is_parsed_in_order():
    schema = parse_schema("carrier string, dep_delay double, at timestamp, `a b` decimal(10, 2), n:long")
    assert schema.names == ("carrier", "dep_delay", "at", "a b", "n")
    assert [str(column.type) for column in schema.columns] == [
        "string",
        "double",
        "timestamp",
        "decimal(10,2)",
        "bigint",
    ]


@given(st.lists(st.builds(Column, NAMES, TYPES), min_size=1, max_size=8, unique_by=lambda column: column.name.lower()))
def test_a_schema_is_the_schema_of_its_text(columns):
    schema = Schema(tuple(columns))
    assert parse_schema(str(schema)) == schema


def test_columns_are_found_whatever_the_case():
    schema = parse_schema("Carrier string")
    assert schema.get("cARRIER") == Column("Carrier", DataType(TypeKind.STRING))
    assert schema.get("other") is None


def test_nested_types_are_parsed():
    schema = parse_schema("a array<int>, m Map< string , array<struct<x int,`y z`:decimal(3,1)>>>, s int")
    inner = struct_of([Column("x", INT), Column("y z", DataType(TypeKind.DECIMAL, 3, 1))])
    assert [column.type for column in schema.columns] == [array_of(INT), map_of(STRING, array_of(inner)), INT]
    assert str(schema) == "a array<int>, m map<string,array<struct<x:int,`y z`:decimal(3,1)>>>, s int"


def test_fields_are_found_whatever_the_case():
    assert parse_type("struct<Lat:double,__op:int>").get("lAT") == Column("Lat", DataType(TypeKind.DOUBLE))
    assert parse_type("struct<Lat:double>").get("lon") is None


@pytest.mark.parametrize(
    "text, kind",
    [
        ("INTEGER", "int"),
        ("Long", "bigint"),
        ("real", "float"),
        ("decimal", "decimal(10,0)"),
        ("numeric(5)", "decimal(5,0)"),
    ],
)
def test_sparks_other_names_of_types_are_known(text, kind):
    assert str(parse_type(text)) == kind


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "empty"),
        ("k", 'at "k"'),
        ("k string,", "expected a column"),
        ("k string v int", 'expected a comma or the end at "v int"'),
        ("k text", "`text` is no type. The types are string, boolean, tinyint, smallint, int"),
        ("k varchar(3)", "lengths of texts are not checked; write string"),
        ("k void", "`void` is no type"),
        ("k string, K int", "named `K`"),
        ("__event_time bigint", "reserved"),
        ("k int(3)", "takes no parameters"),
        ("k decimal(39)", "1 to 38"),
        ("k decimal(4,5)", "0 to the precision"),
        ("k decimal(x)", "decimal(precision,scale)"),
        ("k array", "write the type of the elements, as in array<int>"),
        ("k array<int", "expected `>`"),
        ("k array<int>>", "expected a comma or the end"),
        ("k map<int>", "a comma and the type of the values"),
        ("k map<array<map<int,int>>,int>", "can't be or hold maps"),
        ("k struct<>", "one field at least"),
        ("k struct<a:int,A:int>", "two fields of a struct are named `A`"),
        ("k struct<a:nope>", "column `k`: column `a`: `nope` is no type"),
        ("k " + "array<" * MAX_TYPE_DEPTH + "int" + ">" * MAX_TYPE_DEPTH, "more than 20 levels"),
        ("k " + "array<" * 9_000, "more than 20 levels"),
        ("k struct<" + ", ".join(f"c{i}:int" for i in range(MAX_COLUMNS)) + ">", "nested types included"),
        ("1k int", "expected a column"),
        ("`` int", "expected a column"),
        (f"`{'k' * 256}` int", "1 to 255"),
        ("`a\nb` int", "printable"),
        (" " * (MAX_SCHEMA_LENGTH + 1), "longer"),
        (", ".join(f"c{i} int" for i in range(MAX_COLUMNS + 1)), "more than"),
    ],
)
def test_a_text_that_is_no_schema_is_refused_with_the_reason(text, says):
    with pytest.raises(SchemaError) as refused:
        parse_schema(text)
    assert says in str(refused.value)


@given(st.text(max_size=200))
def test_any_text_gives_a_schema_or_a_schema_error(text):
    with suppress(SchemaError):
        assert parse_schema(text).columns
