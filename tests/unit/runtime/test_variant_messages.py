"""Variants in messages: values of JSON, whatever they are; what is null is not there."""

import pyarrow as pa
import pytest

from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file.json_format import parse_lines
from streamapp_systems.protocols import Message, MessageTuple
from streamapp_systems.variants.variant_columns import format_variants

SCHEMA = parse_schema("k int, v variant, a array<variant>, m map<string,variant>, s struct<x:variant,y:int>")
PLACES = ['{"v":%s}', '{"a":[1,%s]}', '{"m":{"b":%s}}', '{"s":{"y":1,"x":%s}}']


def decoded(*values: bytes, schema: str | None = None) -> MessageRows:
    messages = MessageTuple(Message(offset, 0, None, value) for offset, value in enumerate(values))
    columns = SCHEMA if schema is None else parse_schema(schema)
    return JsonDecoder(arrow_schema(columns)).decode(messages, Ssp("system", "stream", 0))


@pytest.mark.parametrize(
    "value, written",
    [
        (b'{"k":1,"v":{"b":1.50,"a":[null,true,"x"]}}', '{"k":1,"v":{"a":[null,true,"x"],"b":1.5},'),
        (b'{"k":1,"v":null}', '{"k":1,"v":null,'),
        (b'{"v":"1","k":1}', '{"k":1,"v":"1",'),
        (b'{"k":1,"v":12345678901234567890}', '{"k":1,"v":12345678901234567890,'),
        (b'{"k":1,"v":1e400}', '{"k":1,"v":"Infinity",'),
        (b'{"k":1,"v":1e3}', '{"k":1,"v":1000.0,'),
        (b'{"k":1,"v":-0}', '{"k":1,"v":0,'),
        ('{"k":1,"v":"é\\n\\u0001🙂"}'.encode(), '{"k":1,"v":"é\\n\\u0001🙂",'),
        (b'{"k":1,"v":1,"v":[ 2 ,3]}', '{"k":1,"v":[2,3],'),
        (b'{"k":1}', '{"k":1,"a":null,"m":null}'),
        (b'{"k":1,"a":[null,{}]}', '{"k":1,"a":[null,{}],'),
        (b'{"k":1,"m":{"q":null,"r":[]}}', '{"k":1,"a":null,"m":{"q":null,"r":[]},'),
        (b'{"k":1,"s":{}}', '"s":{"y":null}}'),
        (b'{"k":1,"s":{"x":null}}', '"s":{"x":null,"y":null}}'),
    ],
)
def test_a_value_is_read_and_written_as_it_is_and_left_out_where_it_was_missing(value, written):
    if '"s"' not in value.decode() and written.endswith("}"):
        written = f'{written[:-1]},"s":null}}'
    found = decoded(value)
    (text,) = encode_json(found.rows).to_pylist()
    assert written in text.decode()
    assert decoded(text).rows.column("v").is_null() == found.rows.column("v").is_null()
    (lines,) = parse_lines([value + b"\n"], arrow_schema(SCHEMA))
    assert pa.Table.from_batches([lines]).equals(found.rows)  # without the fast way of reading


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "value",
    ['{"a":1,"a":2}', '{"b":[{"a":1,"a":1}]}', '"\\ud83d"', '{"\\udc00":1}', "[" * 300 + "]" * 300, "x", "01", "NaN"],
    ids=lambda value: value[:12],
)
def test_what_no_variant_holds_makes_its_record_bad_and_no_other(place, value):
    found = decoded(b'{"k":1}', (place % value).encode(), b'{"k":3}')
    assert [bad.offset for bad in found.bad] == [1]
    assert found.rows.column("k").to_pylist() == [1, 3]


def test_a_bad_variant_is_explained():
    (bad,) = decoded(b'{"v":{"a":1,"a":2}}').bad
    assert "column v: " in bad.reason
    assert "is no variant: an object has a field twice" in bad.reason


def test_many_variants_in_one_message_are_read_part_by_part():
    padding = "x" * 100_000
    values = [f'{{"k":{number},"v":["{padding}",{number}]}}'.encode() for number in range(20)]
    rows = decoded(*values).rows
    texts = format_variants(rows.column("v").combine_chunks()).to_pylist()
    assert texts == [f'["{padding}",{number}]' for number in range(20)]


def test_fields_with_names_that_the_fast_reader_has_not_are_read():
    found = decoded(b'{"a\\"b":{"x":1}}', schema='`a"b` variant')
    assert format_variants(found.rows.column(0).combine_chunks()).to_pylist() == ['{"x":1}']
    assert encode_json(found.rows).to_pylist() == [b'{"a\\"b":{"x":1}}']


def test_an_object_of_variants_that_are_all_missing_is_empty():
    assert encode_json(decoded(b"{}", b'{"w":1}', schema="v variant, w variant").rows).to_pylist() == [
        b"{}",
        b'{"w":1}',
    ]
