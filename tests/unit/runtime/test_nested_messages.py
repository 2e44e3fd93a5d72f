"""Nested messages as rows: the fast readers find what the exact one does, whatever the messages are."""

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import JsonOptions, JsonTimestamps
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.json_objects import JsonObjectDecoder
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import Message, MessageTuple
from streamapp_systems.variants.variant_columns import is_variant

SCHEMA = arrow_schema(
    parse_schema(
        "p struct<n:int,t:timestamp,r:double,q:struct<s:string,b:binary,c:decimal(5,2)>,v:variant,f:float>,"
        "a array<struct<n:bigint,tags:array<string>,p:struct<d:date,a:array<array<double>>>>>,"
        "m map<string,double>, k map<int,array<struct<y:boolean>>>, o map<timestamp,variant>, l array<map<string,int>>,"
        "s string"
    )
)
USUAL: dict[pa.DataType, Sequence[bytes]] = {
    pa.string(): [b'"a"', b'""', b'"\\u00e4\\n"', '"ä"'.encode(), b'"\\ud83d\\ude00"'],
    pa.int32(): [b"1", b"-0", b"2147483647"],
    pa.int64(): [b"0", b"-9223372036854775808"],
    pa.float64(): [b"1.5", b"-0", b"0", b"-0.0", b"9007199254740993", b"12345678901234567890", b"1e-400"],
    pa.float32(): [b"1.5", b"-0", b"0.1", b"16777217", b"1e-3", b"3.5e38", b"null"],
    pa.decimal128(5, 2): [b"1.5", b"-0", b'"2.50"', b"123.45", b"1e2", b"1.50000", b"999.999", b"1000", b'"+1"'],
    pa.bool_(): [b"true", b"false"],
    pa.timestamp("us", tz="UTC"): [b'"2024-05-01T10:00:00Z"', b'" 2024-05-01 10:00:00.123456789+02:00"', b'""', b"7"],
    pa.date32(): [b'"2024-05-01"', b'" 2024-05-01"'],
    pa.binary(): [b'"YWI="'],
}
STRANGE = [
    b"2147483648", b"9223372036854775808", b"1.0", b"1e400", b"12345678901234567890123", b'"x"', b"7", b"true", b"[]",
    b"{}", b"[[]]", b"[null]", b'{"n":{}}', b"NaN", b"01", b'"\xff"', b'"\\ud800"', b'{"\\ud800":1}', b'"\t"',
    b'"a\nb"', b"nul", b"", b'"2024-13-01"', b'"*"', b"[" * 2_000 + b"]" * 2_000,
    b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
]  # fmt: skip
KEYS = {
    pa.string(): [b"a", b"b", b"", b"\\u0061", "ä".encode()],
    pa.int32(): [b"1", b"2", b"01", b" 1", b"x", b""],
    pa.timestamp("us", tz="UTC"): [b"2024-05-01", b"2024-05-01 00:00:00Z", b"2024-05-01T02:00:00+02:00", b""],
}
GAPS = st.sampled_from([b"", b"", b"", b" ", b"\n", b"\r\n"])
SSP = Ssp("k", "s", 0)


@st.composite
def texts(draw: st.DrawFn, kind: pa.DataType, oddities: int) -> bytes:
    """Return JSON of a value of a type, or, one time in so many, of another type, or no JSON at all."""
    if draw(st.integers(0, 9)) == 0:
        return b"null"
    if oddities and draw(st.integers(1, oddities)) == oddities:
        return draw(st.sampled_from(STRANGE))
    if is_variant(kind):
        return draw(st.sampled_from([b"1.50", b"-0", b'"x"', b'[{"b":null,"a":1}]', b'{"a":1}', b"[]"]))
    if pa.types.is_list(kind):
        return b"[" + b",".join(draw(st.lists(texts(kind.value_type, oddities), max_size=3))) + b"]"
    if pa.types.is_map(kind):
        entries = st.tuples(st.sampled_from(KEYS[kind.key_type]), texts(kind.item_type, oddities))
        return _object(draw, draw(st.lists(entries, max_size=3)))
    if pa.types.is_struct(kind):
        return draw(objects(kind.fields, oddities))
    return draw(st.sampled_from(USUAL[kind]))


@st.composite
def objects(draw: st.DrawFn, fields: Sequence[pa.Field], oddities: int) -> bytes:
    """Return an object with some of these fields, in any order, perhaps one of them twice, perhaps with others."""
    members = []
    for field in draw(st.lists(st.sampled_from([*fields, None]), max_size=len(fields) + 1)):
        if field is None:
            members.append((b"unknown", draw(st.sampled_from([b"1e999", b'[{"n":[]}]', b'"\xc3\xa4"']))))
        else:
            members.append((field.name.encode(), draw(texts(field.type, oddities))))
    return _object(draw, members)


def _object(draw: st.DrawFn, members: Sequence[tuple[bytes, bytes]]) -> bytes:
    gaps = [draw(GAPS) for _ in range(3)] if members else []
    return b"{" + b",".join(b'%b"%b"%b:%b%b' % (gaps[0], name, gaps[1], gaps[2], text) for name, text in members) + b"}"


Found = tuple[dict[str, list[str]], list[Message], list[str]]


def found(
    values: Sequence[bytes],
    schema: pa.Schema,
    timestamps: JsonTimestamps,
    decoder: type[JsonDecoder | JsonObjectDecoder] = JsonObjectDecoder,
) -> Found:
    messages = MessageTuple(Message(offset, offset * 10, None, value) for offset, value in enumerate(values))
    read = decoder(schema, options=JsonOptions(timestamps=timestamps)).decode(messages, SSP)
    read.rows.validate(full=True)
    columns = {name: list(map(repr, read.rows.column(name).to_pylist())) for name in SCHEMA.names}
    return columns, list(read.messages), [str(bad) for bad in read.bad]


@given(
    st.integers(0, 1).flatmap(lambda odd: st.lists(objects(list(SCHEMA), odd * 12), max_size=5)),
    st.sampled_from([JsonTimestamps.TEXT, JsonTimestamps.MILLIS]),
)
@example([b'{"m":{"a":-0}}'], JsonTimestamps.TEXT)
@example([b'{"m":{"a":1,"a":2},"p":{"n":1,"n":null}}', b'{"l":[null,{},{"a":null}]}'], JsonTimestamps.TEXT)
@example([b'{"p":{"q":null,"v":null}}', b'{"p":null}', b'{"p":{"q":{}}}'], JsonTimestamps.TEXT)
@example([b'{"k":{"1":[],"01":null}}', b'{"o":{"":1}}'], JsonTimestamps.TEXT)
@example([b'{"a":[{"n":9223372036854775808}]}', b'{"p":{"n":2147483648}}'], JsonTimestamps.TEXT)
@example([b'{"o":{"2024-05-01":1},"p":{"t":7}}', b'{"p":{"t":null}}'], JsonTimestamps.MILLIS)
def test_nested_messages_are_judged_and_read_alike_by_all(values: list[bytes], timestamps: JsonTimestamps) -> None:
    exact = SCHEMA.append(pa.field('exact"', pa.int32()))  # a name that only the exact reader knows
    expected = found(values, exact, timestamps)
    assert found(values, SCHEMA, timestamps) == expected
    assert found(values, SCHEMA, timestamps, JsonDecoder) == expected
