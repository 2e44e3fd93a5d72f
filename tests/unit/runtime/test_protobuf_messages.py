"""Messages of Protobuf that are found by their place in a file, and those of files that no registry has."""

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.protobuf.proto_files import compile_proto, message_at
from streamapp_core.schema import parse_schema
from streamapp_runtime.rows.protobuf_messages import ProtobufDecoder
from streamapp_systems.protobuf.message_indexes import message_header, schema_place
from streamapp_systems.schema_header import header_of
from support.registered_messages import PROTO_SCHEMAS, PROTOBUF, proto_decoder, proto_value, read


def test_a_field_that_no_schema_has_is_null():
    assert read(proto_decoder("nothing string"), PROTOBUF.firsts[1]).rows.to_pylist() == [{"nothing": None}]


def test_a_message_may_be_another_than_the_first_and_inside_of_one():
    second, inner = proto_value(2, b"\x02\x02", "Z", k=5), proto_value(1, b"\x04\x00\x00", "R.In", k=6)
    assert read(proto_decoder("k bigint", name="Z"), second).rows.to_pylist() == [{"k": 5}]
    assert read(proto_decoder("k bigint", name="R.In"), inner).rows.to_pylist() == [{"k": 6}]
    first, last = PROTOBUF.firsts[1], PROTOBUF.firsts[2]
    spelled_out = header_of(1) + b"\x02\x00" + first[6:]
    assert read(proto_decoder("k bigint"), last, spelled_out).rows.to_pylist() == [{"k": 2}, {"k": 1}]


def test_messages_without_a_registry_have_no_header_and_may_be_empty():
    decoder = ProtobufDecoder(parse_schema("k int"), message_at(compile_proto(PROTO_SCHEMAS[1]), (0,)))
    assert read(decoder, b"", b"\x08\x05", None).rows.to_pylist() == [{"k": 0}, {"k": 5}]
    assert len(read(decoder).rows) == 0


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
