"""Messages of Protobuf behind the ids of their schemas: each is read by its own writer's, or is a bad record."""

import pyarrow as pa
import pytest
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.protobuf.proto_files import ProtoError, compile_proto, find_message, message_at
from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_runtime.rows.protobuf_messages import ProtobufDecoder
from streamapp_runtime.rows.tombstones import KeyColumn, replace_tombstones
from streamapp_systems.protobuf.message_indexes import message_header, schema_place
from streamapp_systems.protocols import Message, MessageTuple, Unavailable
from streamapp_systems.schema_header import header_of

SSP = Ssp("k", "s", 0)
FIRST = 'syntax = "proto3"; message R { int32 k = 1; string old = 2; float v = 3; message In { int32 k = 1; } }'
SECOND = (
    'syntax = "proto3"; message R { optional double v = 1; repeated string new = 2; int64 k = 3; } '
    "message Z { int32 k = 1; }"
)
OTHER = 'syntax = "proto3"; message R { string k = 1; }'
SCHEMAS = {1: FIRST, 2: SECOND, 3: OTHER}


class Writers:
    asked = 0

    def file(self, number):
        self.asked += 1
        if number == 99:
            raise Unavailable("the registry is away")
        if number not in SCHEMAS:
            raise ProtoError("there is none")
        return compile_proto(SCHEMAS[number])


def value(number, places=b"\x00", name="R", **fields):
    message = GetMessageClass(find_message(compile_proto(SCHEMAS[number]), name))(**fields)
    return header_of(number) + places + message.SerializeToString()


FIRSTS = [value(1, k=n, old="x", v=n / 2) for n in range(3)]
SECONDS = [value(2, k=2**40 + n, new=["y"]) for n in range(3)]


def read(decoder, *values) -> MessageRows:
    return decoder.decode(MessageTuple(Message(10 + n, 0, None, value) for n, value in enumerate(values)), SSP)


def new_decoder(columns="k bigint, v double", writers=None, name=None):
    return ProtobufDecoder(parse_schema(columns), writers or Writers(), name)


def test_each_message_is_read_by_the_schema_it_was_written_with():
    writers = Writers()
    decoder = new_decoder(writers=writers)
    mixed = [SECONDS[0], FIRSTS[1], None, SECONDS[1], FIRSTS[2]]
    found = read(decoder, *mixed)
    assert found.bad == ()
    assert found.rows.to_pylist() == [
        {"k": 2**40, "v": None},
        {"k": 1, "v": 0.5},
        {"k": 2**40 + 1, "v": None},
        {"k": 2, "v": 1.0},
    ]
    assert [message.offset for message in found.messages] == [10, 11, 13, 14]
    assert read(decoder, *mixed).rows == found.rows
    assert read(decoder, *FIRSTS).rows["k"].to_pylist() == [0, 1, 2]
    assert writers.asked == 2


def test_a_field_that_a_later_schema_lacks_is_null():
    assert read(new_decoder("k bigint, old string"), FIRSTS[1], SECONDS[0]).rows.to_pylist() == [
        {"k": 1, "old": "x"},
        {"k": 2**40, "old": None},
    ]
    assert read(new_decoder("nothing string"), FIRSTS[1]).rows.to_pylist() == [{"nothing": None}]


def test_a_message_may_be_another_than_the_first_and_inside_of_one():
    second, inner = value(2, b"\x02\x02", "Z", k=5), value(1, b"\x04\x00\x00", "R.In", k=6)
    assert read(new_decoder("k bigint", name="Z"), second).rows.to_pylist() == [{"k": 5}]
    assert read(new_decoder("k bigint", name="R.In"), inner).rows.to_pylist() == [{"k": 6}]
    spelled_out = header_of(1) + b"\x02\x00" + FIRSTS[1][6:]
    assert read(new_decoder("k bigint"), FIRSTS[2], spelled_out).rows.to_pylist() == [{"k": 2}, {"k": 1}]


@pytest.mark.parametrize(
    "broken, reason",
    [
        (b"", "it has no schema id"),
        (b"\x00\x00\x00", "it has no schema id"),
        (header_of(1), "it has no schema id"),
        (header_of(1) + b"\xff\xff\xff\xff\xff\xff", "it has no schema id"),
        (header_of(1) + b"\x06\x00", "it has no schema id"),
        (header_of(1) + b"\x01\x08\x01", "it has no schema id"),
        (header_of(1) + b"\x02\x02", "schema 1: there is no message at [1]"),
        (header_of(1) + b"\x02\x01", "schema 1: there is no message at [-1]"),
        (b'{"k": 1, "v": 2}', "it has no schema id"),
        (header_of(7) + b"\x00", "schema 7: there is none"),
        (value(2, b"\x02\x02", "Z", k=1), "it is a Z, and the stream's messages are R"),
        (value(3, k="x"), "schema 3: column k: string is no bigint; declare string"),
        (FIRSTS[1][:-1], "it is no message R"),
        (FIRSTS[0] + b"\x00", "it is no message R"),
    ],
)
def test_what_can_not_be_read_is_a_bad_record_among_others(broken, reason):
    for values in ([broken], [FIRSTS[0], broken, SECONDS[0]], [FIRSTS[0], SECONDS[0], broken, FIRSTS[1]]):
        found = read(new_decoder(), *values)
        place = values.index(broken)
        assert [(bad.offset, bad.reason[: len(reason)]) for bad in found.bad] == [(10 + place, reason)]
        assert [message.offset - 10 for message in found.messages] == [n for n in range(len(values)) if n != place]
        assert len(found.rows) == len(values) - 1


def test_a_registry_that_is_away_makes_no_bad_records():
    with pytest.raises(Unavailable):
        read(new_decoder(), FIRSTS[0], header_of(99) + b"\x00")


def test_messages_without_a_registry_have_no_header_and_may_be_empty():
    decoder = ProtobufDecoder(parse_schema("k int"), message_at(compile_proto(FIRST), (0,)))
    assert read(decoder, b"", b"\x08\x05", None).rows.to_pylist() == [{"k": 0}, {"k": 5}]
    assert len(read(decoder).rows) == 0


def test_tombstones_are_rows_with_their_key_in_their_place():
    key = KeyColumn(pa.field("k", pa.int64()))
    messages = MessageTuple(
        Message(n, 0, key, value) for n, (key, value) in enumerate([(b"5", None), (b"", FIRSTS[1]), (b"x", None)])
    )
    found = new_decoder().decode(replace_tombstones(messages, key), SSP)
    assert found.rows.to_pylist() == [{"k": 5, "v": None}, {"k": 1, "v": 0.5}]
    assert [bad.offset for bad in found.bad] == [2]


def zigzag(number):
    left, found = number * 2, b""
    while left >= 0x80:
        found += bytes([left & 0x7F | 0x80])
        left >>= 7
    return found + bytes([left])


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 10_000), max_size=20), st.binary(max_size=9))
def test_places_are_read_as_they_were_written(number, places, rest):
    header = header_of(number) + zigzag(len(places)) + b"".join(map(zigzag, places))
    assert message_header(header + rest) == header
    assert schema_place(header) == (number, tuple(places) or (0,))


@given(st.binary(max_size=30))
def test_any_bytes_have_a_header_that_they_begin_with(value):
    assert value.startswith(message_header(value))
    schema_place(message_header(value))
