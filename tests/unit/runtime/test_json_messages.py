"""Messages as rows: the fast readers find what the exact one does, whatever the messages are."""

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_runtime.rows.json_objects import JsonObjectDecoder
from streamapp_systems.protocols import Message, MessageColumns, MessageTuple
from streamapp_systems.protocols.message_columns import encode_headers

SSP = Ssp("k", "s", 0)
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("small", pa.int32()),
        ("large", pa.int64()),
        ("real", pa.float64()),
        ("single", pa.float32()),
        ("price", pa.decimal128(5, 2)),
        ("whole", pa.decimal128(38, 0)),
        ("yes", pa.bool_()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("raw", pa.binary()),
    ]
)
USUAL = {
    "text": [b'"a"', b'""', b'"\\u00e4\\n"', '"ä"'.encode(), b'"\\ud83d\\ude00"', b"null"],
    "small": [b"1", b"-0", b"2147483647", b"null"],
    "large": [b"1", b"-9223372036854775808", b"null"],
    "real": [b"1.5", b"-0", b"0", b"-0.0", b"1e3", b"9007199254740993", b"12345678901234567890", b"1e-400", b"null"],
    "single": [b"1.5", b"-0", b"-0.0", b"0.1", b"16777217", b"1e-3", b"1e-400", b"3.5e38", b"null"],
    "price": [b"1.5", b"-0", b'"2.50"', b"123.45", b"0", b"null"],
    "whole": [b"1", b'"-12"', b"99999999999999999999999999999999999999", b"null"],
    "yes": [b"true", b"false", b"null"],
    "at": [b'"2024-05-01T10:00:00Z"', b'"2024-05-01 10:00:00.123456789+02:00"', b'""', b'" 2024-05-01T10:00:00"'],
    "day": [b'"2024-05-01"', b"null"],
    "raw": [b'"YWI="', b"null"],
    "unknown": [b"[1, {}]", b'"\xc3\xa4"', b'{"text": 1}', b"1e999", b"12345678901234567890123"],
}
STRANGE = [
    b"2147483648", b"1.0", b"1e400", b"12345678901234567890123", b'"x"', b"7", b"true", b"[]", b"{}", b"NaN", b"01",
    b"-Infinity", b"1.50000", b"1.555", b"999.999", b"1000", b"1e2", b"0e10", b'"1e2"', b'"+1"', b'"1.5 "', b'"null"',
    b'"\\u0031"', b'"NaN"', b"100000000000000000000000000000000000000", b"9100190009000010110991009000000001111101",
    b'"\xff"', b'"\\ud800"', b'"\t"', b'"a\nb"', b"nul", b"", b'"2024-13-01"', b'"*"', b'"2024-05-01"',
]  # fmt: skip
GAPS = st.sampled_from([b"", b"", b" ", b"\n", b"\r\n"])


@st.composite
def usual_messages(draw: st.DrawFn) -> bytes:
    """Objects with the fields of the schema, in any order, some absent, some twice."""
    names = draw(st.lists(st.sampled_from(list(USUAL)), max_size=6))
    return b"{" + b",".join(_field(draw, name, draw(st.sampled_from(USUAL[name]))) for name in names) + b"}"


@st.composite
def strange_messages(draw: st.DrawFn) -> bytes:
    """Anything that is nearly such an object."""
    names = draw(st.lists(st.sampled_from(list(USUAL)), max_size=3))
    fields = [_field(draw, name, draw(st.sampled_from([*USUAL[name], *STRANGE]))) for name in names]
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([b"null", b" null", b"[]", b"1", b"{} null"]))
    end = draw(st.sampled_from([b"}", b"}", b"}", b"", b"} x", b"}{}", b",}"]))
    return draw(st.sampled_from([b"{", b"{", b"\xef\xbb\xbf{", b"[{"])) + b",".join(fields) + end


def _field(draw: st.DrawFn, name: str, value: bytes) -> bytes:
    return draw(GAPS) + b'"' + name.encode() + b'"' + draw(GAPS) + b":" + draw(GAPS) + value


def messages_of(values: list[bytes | None]) -> MessageTuple:
    return MessageTuple(Message(offset, offset * 10, None, value) for offset, value in enumerate(values))


Found = tuple[dict[str, list[str]], list[Message], list[str]]


def found(values: list[bytes | None], decoder: JsonDecoder | JsonObjectDecoder) -> Found:
    read = decoder.decode(messages_of(values), SSP)
    columns = {name: list(map(repr, read.rows.column(name).to_pylist())) for name in SCHEMA.names}
    return columns, list(read.messages), [str(bad) for bad in read.bad]


def one_by_one(values: list[bytes | None]) -> Found:
    """Read with a schema that only the exact reader knows, which has a column more."""
    decoder = JsonObjectDecoder(SCHEMA.append(pa.field('exact"', pa.int32())))
    return found(values, decoder)


@given(st.lists(usual_messages(), max_size=8))
@example([b'{"real":-0}'])
@example([b'{"small":1,"small":2}'])
def test_usual_messages_are_read_alike_by_all(values: list[bytes]) -> None:
    expected = one_by_one(values)
    assert found(values, JsonDecoder(SCHEMA)) == expected
    assert found(values, JsonObjectDecoder(SCHEMA)) == expected


@given(st.lists(usual_messages() | strange_messages() | st.none() | st.binary(max_size=5), max_size=6))
@example([b'{"text":"\\ud800"}', None, b""])
def test_strange_messages_are_judged_alike_by_all_be_their_columns_read_or_not(values: list[bytes | None]) -> None:
    expected = one_by_one(values)
    assert found(values, JsonDecoder(SCHEMA)) == expected
    assert found(values, JsonObjectDecoder(SCHEMA)) == expected
    columns, good, bad = found(values, JsonObjectDecoder(SCHEMA, unread=SCHEMA.names))
    assert ({**columns, "text": expected[0]["text"]}, good, bad) == expected
    columns, good, bad = found(values, JsonDecoder(SCHEMA, unread=SCHEMA.names))
    left_out = {
        name: [
            known if value == "None" else value for value, known in zip(columns[name], expected[0][name], strict=True)
        ]
        for name in columns
    }
    assert (left_out, good, bad) == expected


@given(st.lists(st.text(max_size=5) | st.none(), max_size=5))
def test_what_is_written_is_read_again(texts: list[str | None]) -> None:
    rows = pa.table({"text": pa.array(texts, pa.string())})
    read = JsonDecoder(rows.schema).decode(messages_of(encode_json(rows).to_pylist()), SSP)
    assert (read.rows.to_pylist(), read.bad) == (rows.to_pylist(), ())


def test_of_a_field_given_twice_the_last_one_counts() -> None:
    decoder = JsonDecoder(SCHEMA)
    twice = b'{"small": 1, "small": 2}'
    for values in ([twice], [twice, b'{"small": "x"}']):
        read = decoder.decode(messages_of(list(values)), SSP)
        assert read.rows.column("small").to_pylist() == [2]


def test_messages_in_columns_keep_their_offsets_keys_and_headers() -> None:
    values = [b'{"small":1}', None, b'{"small":1,"small":2}', b"no", b'{"small":3}']
    headers = encode_headers((("h", b"x"),))
    columns = MessageColumns(
        offset_column=np.array([2, 3, 5, 8, 9]),
        timestamp_column=np.arange(5),
        key_column=pa.array([b"a", b"b", None, b"c", b"d"], pa.binary()),
        value_column=pa.array(values, pa.binary()),
        header_column=pa.array([None, None, headers, None, headers], pa.binary()),
    )
    read = JsonDecoder(SCHEMA).decode(columns, SSP)
    assert read.rows.column("small").to_pylist() == [1, 2, 3]
    assert [(message.offset, message.timestamp, message.key) for message in read.messages] == [
        (2, 0, b"a"),
        (5, 2, None),
        (9, 4, b"d"),
    ]
    assert [bad.offset for bad in read.bad] == [8]
    only = JsonDecoder(SCHEMA).decode(columns.slice(0, 2), SSP).messages
    assert [message.offset for message in only] == [2]
    assert JsonDecoder(SCHEMA).decode(columns.between(9, 10), SSP).messages.headers(0) == (("h", b"x"),)
