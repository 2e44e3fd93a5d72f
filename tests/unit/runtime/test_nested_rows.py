"""Nested rows on their way: JSON, Arrow, SQL, state and JSON again."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.schema import Schema, parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.arrow_ipc import decode_rows, encode_rows
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_runtime.rows.row_codec import decode_row, encode_row, to_arrow_table, to_plain_rows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file.json_format import parse_lines
from streamapp_systems.protocols import Message, MessageTuple
from support.nested_rows import json_object, rows, schemas

SSP = Ssp("system", "stream", 0)


def decoded(schema: Schema, *values: bytes) -> MessageRows:
    messages = MessageTuple(Message(offset, 0, None, value) for offset, value in enumerate(values))
    return JsonDecoder(arrow_schema(schema)).decode(messages, SSP)


def texts(schema: Schema, found: list[dict[str, object]]) -> list[bytes]:
    return [json_object(row, schema.columns).encode() for row in found]


@given(st.data())
def test_rows_of_any_schema_come_back_from_json_state_and_sql(data):
    schema = data.draw(schemas())
    given_rows = data.draw(rows(schema))
    expected = pa.Table.from_pylist(given_rows, arrow_schema(schema))
    values = texts(schema, given_rows)

    read = decoded(schema, *values)
    assert read.bad == ()
    assert read.rows.equals(expected)
    (batch,) = parse_lines([value + b"\n" for value in values], arrow_schema(schema))
    assert pa.Table.from_batches([batch]).equals(expected)  # without the fast way of reading

    encoded = encode_json(read.rows).to_pylist()
    again = decoded(schema, *encoded)
    assert again.rows.to_pylist() == given_rows
    assert decode_rows(encode_rows(read.rows), arrow_schema(schema), SSP, 0).equals(expected)
    with SqlEngine() as engine:
        assert engine.query("SELECT * FROM t", t=read.rows).to_pylist() == given_rows
    for part in (read.rows, read.rows.slice(1), read.rows.take(pa.array([0, 0]))):
        stored = [encode_row(row) for row in to_plain_rows(part.columns)]
        assert to_arrow_table([decode_row(row) for row in stored], arrow_schema(schema)).to_pylist() == part.to_pylist()
        assert encode_json(part).to_pylist() == [encoded[row] for row in indices(part, read.rows)]


def indices(part: pa.Table, all_rows: pa.Table) -> list[int]:
    if len(part) == len(all_rows) and part.equals(all_rows):
        return list(range(len(all_rows)))
    return list(range(1, len(all_rows))) if part.equals(all_rows.slice(1)) else [0, 0]


SCHEMA = parse_schema(
    "s string, a array<int>, m map<int,string>, p struct<x:int,t:timestamp,`in`:struct<d:decimal(4,2)>>"
)


@pytest.mark.parametrize(
    "value, row",
    [
        (b"{}", {}),
        (b'{"a":null,"p":null,"other":[{}]}', {}),
        (b'{"a":[1,null,3]}', {"a": [1, None, 3]}),
        (b'{"p":{"x":1,"more":[2]}}', {"p": {"x": 1, "t": None, "in": None}}),
        (b'{"p":{"x":1,"x":2}}', {"p": {"x": 2, "t": None, "in": None}}),
        (b'{"m":{"1":"a","2":null}}', {"m": [(1, "a"), (2, None)]}),
        (b'{"m":{"1":{"b" :[]}}}', {"m": [(1, '{"b" :[]}')]}),
        (b'{"s":{"a": [1, 2]}}', {"s": '{"a": [1, 2]}'}),
        ('{"s":["é\\n"]}'.encode(), {"s": '["é\\n"]'}),
    ],
)
def test_what_is_missing_is_null_and_an_object_for_a_text_is_its_text(value, row):
    found = decoded(SCHEMA, value)
    assert found.bad == ()
    assert found.rows.to_pylist() == [{**dict.fromkeys(SCHEMA.names), **row}]


@pytest.mark.parametrize(
    "value, says",
    [
        (b'{"a":{}}', "column a"),
        (b'{"a":1}', "column a"),
        (b'{"a":[1.5]}', "column a"),
        (b'{"a":["1"]}', "column a"),
        (b'{"a":[2147483648]}', "column a"),
        (b'{"p":[]}', "column p"),
        (b'{"p":{"x":true}}', "column p"),
        (b'{"p":{"t":"yesterday"}}', "column p"),
        (b'{"p":{"in":{"d":123.4}}}', "column p"),
        (b'{"m":{"x":"a"}}', "column m"),
        (b'{"m":{"1":"a","01":"b"}}', "column m"),
        (b'{"s":1}', "column s"),
        (b'{"a":[1}', "no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"p":{"x":1}', "no JSON"),
    ],
)
def test_a_wrong_value_makes_its_record_bad_and_no_other(value, says):
    found = decoded(SCHEMA, b'{"a":[1]}', value, b'{"a":[2]}')
    assert [bad.offset for bad in found.bad] == [1]
    assert says in found.bad[0].reason
    assert found.rows.column("a").to_pylist() == [[1], [2]]


def test_deep_nesting_where_it_is_not_expected_is_no_danger():
    deep = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert len(decoded(SCHEMA, deep, b'{"a":[7]}').bad) == 1


def test_zeros_of_both_signs_are_one_key_of_a_map():
    schema = parse_schema("m map<double,int>")
    read = decoded(schema, b'{"m": {"0.0": 1, "-0.0": 2}}', b'{"m": {"-0.0": 2, "1": 3}}')
    assert [bad.offset for bad in read.bad] == [0]
    with SqlEngine() as engine:
        assert engine.query("SELECT cardinality(m) AS n FROM t", t=read.rows)["n"].to_pylist() == [2]


def test_messages_of_several_megabytes_are_decoded_part_by_part_and_come_back_as_one_table():
    schema = parse_schema("n int, parts array<struct<name:string,marks:array<int>>>, ratios map<string,double>")
    padding = "x" * 50_000

    def message(number: int) -> dict[str, object]:
        empty = {"n": number, "parts": None, "ratios": None}
        marks = [None, [], [number, None]][number % 3]
        parts = [{"name": padding, "marks": marks}, None]
        return empty if number % 7 == 0 else {"n": number, "parts": parts, "ratios": {"a": number / 4, "b": None}}

    rows = [message(number) for number in range(60)]
    values = [json.dumps(row).encode() for row in rows]
    table = decoded(schema, *values).rows
    assert [{**row, "ratios": row["ratios"] and dict(row["ratios"])} for row in table.to_pylist()] == rows
    assert all(column.num_chunks == 1 for column in table.columns)
    read = decoded(schema, *values, b'{"n": 1, "parts": 7}')
    assert read.rows == table
    assert [bad.offset for bad in read.bad] == [60]
