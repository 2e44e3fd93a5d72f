"""Protobuf decoded by the native library: what it is sure of is what the libraries' decoder finds, whatever is sent."""

import os
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.protobuf.proto_columns import columns_of_message
from streamapp_core.protobuf.proto_files import compile_proto, find_message
from streamapp_core.schema import parse_schema
from streamapp_runtime.rows.native_first import NativeFirstReader
from streamapp_systems.native.decoded_messages import MessageKind, NativeDecodingError
from streamapp_systems.native.proto_programs import NativeProtoDecoder
from streamapp_systems.protobuf.proto_decoding import ProtoRowReader
from support.binary_messages import exactly
from support.compilers import compiler, native
from support.hostile_proto import random_proto
from support.proto_decoders import check_messages, compare_messages, random_messages

ROUNDS = int(os.environ.get("STREAMAPP_FUZZED_BINARY", "20"))
"""A hundred messages each."""
ROW, UNSURE, NO_VALUE = MessageKind.ROW, MessageKind.UNSURE, MessageKind.NO_VALUE
PROTO3 = 'syntax = "proto3";\n'


@pytest.fixture(autouse=True, scope="module")
def _library():
    compiler()
    native()


def message_of(text):
    return find_message(compile_proto(PROTO3 + text), "M")


def kinds(text, columns, *values):
    message = message_of(text)
    schema = columns_of_message(message) if columns is None else parse_schema(columns)
    found = NativeProtoDecoder(message, schema).decode(exactly(values))
    found.rows.validate(full=True)
    return found.kinds.tolist(), found.rows.to_pylist()


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_both_decoders_judge_and_read_alike(draw, messages):
    compare_messages(draw, messages)


def test_what_the_library_is_sure_of_is_what_the_libraries_find():
    found = [compare_messages(random.Random(seed), 100) for seed in range(ROUNDS)]
    sure, kept = np.sum(found, axis=0)
    assert sure > 0.8 * kept > 10 * ROUNDS


def test_nearly_all_messages_without_oddities_are_read():
    found = []
    for seed in range(20):
        draw = random.Random(seed)
        message, schema = random_proto(draw)
        found.append(check_messages(message, schema, random_messages(draw, message, 30, oddities=0, harmed=0)))
    sure, kept = np.sum(found, axis=0)
    assert sure > 0.95 * kept > 400


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(0, 20))
def test_what_is_not_sure_is_judged_by_the_libraries(draw, messages):
    message, schema = random_proto(draw)
    made = [b"head" + value for value in random_messages(draw, message, messages, oddities=0.1, harmed=1)]
    reader = ProtoRowReader(message, schema)
    found, kept, why = NativeFirstReader(NativeProtoDecoder(message, schema), reader).read(made, 4)
    expected, expected_kept, reasons = reader.read(made, 4)
    assert (kept.tolist(), why) == (expected_kept.tolist(), reasons)
    assert repr(found.to_pylist()) == repr(expected.to_pylist())


def test_what_ends_early_is_not_read():
    text = "message M { I i = 1; message I { string s = 1; repeated sint32 n = 2; fixed64 f = 3; } }"
    whole = b"\x0a\x18\x0a\x08exactly8\x12\x03\x01\x80\x01\x19" + bytes(8)
    for end in range(len(whole) + 1):
        expected = ROW if end in (0, len(whole)) else UNSURE
        assert kinds(text, None, whole[:end])[0] == [expected]
    assert kinds(text, None, whole)[1] == [{"i": {"s": "exactly8", "n": [-1, 64], "f": 0}}]
    assert kinds(text, None, whole + b"\x00", whole + b"\x0b", whole)[0] == [UNSURE, UNSURE, ROW]
    _, rows = kinds("message M { string s = 1; }", None, *(bytes([10, length]) + b"x" * length for length in range(60)))
    assert [row["s"] for row in rows] == ["x" * length for length in range(60)]


def test_a_message_that_is_refused_leaves_nothing_in_any_column():
    text = (
        "message M { repeated I l = 1; map<string, string> m = 2; int32 n = 3; message I { repeated string s = 1; } }"
    )
    good = b"\x0a\x03\x0a\x01x\x0a\x00\x12\x03\x0a\x01k\x18\x01"
    refused = good + b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    found, rows = kinds(text, None, refused, good, refused, refused, good)
    assert found == [UNSURE, ROW, UNSURE, UNSURE, ROW]
    assert rows == [{"l": [{"s": ["x"]}, {"s": []}], "m": [("k", "")], "n": 1}] * 2


@pytest.mark.parametrize("columns", ["s string, n array<bigint>", "other int"])
def test_what_claims_to_be_large_is_refused_at_once(columns):
    text = "message M { string s = 1; repeated sfixed64 n = 2; int32 other = 3; }"
    claims = [b"\xff\xff\xff\xff\x07", b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x02", b"\x80" * 10, b"\x80\x00", b"\x7f"]
    values = [tag + claim + bytes(30) for claim in claims for tag in (b"\x0a", b"\x12", b"\x22")]
    assert kinds(text, columns, *values, b"")[0] == [UNSURE] * len(values) + [ROW]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("message M { int32 n = 1; }", b"\x08\x01\x08\x02"),
        ("message M { I i = 1; message I { int32 n = 1; } }", b"\x0a\x00\x0a\x00"),
        ("message M { oneof o { int32 a = 1; int32 b = 2; } }", b"\x08\x01\x10\x02"),
        ("message M { map<string, int32> m = 1; }", b"\x0a\x00\x0a\x00"),
        ("message M { map<sint64, int32> m = 1; }", b"\x0a\x02\x08\x05\x0a\x02\x08\x05"),
        ("message M { int32 n = 1; }", b"\x0d\x01\x00\x00\x00"),
        ("message M { int32 n = 1; }", b"\x0a\x01\x01"),
        ("message M { int32 n = 1; }", b"\x88\x00\x01"),
        ("message M { int32 n = 1; }", b"\x08\xff\xff\xff\xff\x0f"),
        ("message M { uint32 n = 1; }", b"\x08\xff\xff\xff\xff\x1f"),
        ("message M { bool b = 1; }", b"\x08\x02"),
        ("message M { E e = 1; enum E { A = 0; B = 5; } }", b"\x08\x04"),
        ("message M { string s = 1; }", b"\x0a\x01\xff"),
        ("message M { int32 n = 1; }", b"\x0b\x0c"),
        ("message M { int32 n = 1; }", b"\x00\x01"),
    ],
)
def test_what_is_rare_is_left(text, value):
    assert kinds(text, None, value, b"")[0] == [UNSURE, ROW]


@pytest.mark.parametrize("count", [2, 12, 13, 500])
@pytest.mark.parametrize(("kind", "column"), [("fixed32", "bigint"), ("sfixed32", "int"), ("fixed64", "decimal(20,0)")])
def test_a_number_that_is_twice_a_key_of_a_map_is_left(kind, column, count):
    tag, width = (b"\x0d", 4) if kind.endswith("32") else (b"\x09", 8)
    entries = [b"\x0a" + bytes([width + 1]) + tag + number.to_bytes(width, "little") for number in range(count)]
    once = b"".join(entries)
    found, rows = kinds(f"message M {{ map<{kind}, int32> m = 1; }}", f"m map<{column},int>", once, once + entries[0])
    assert found == [ROW, UNSURE]
    assert rows == [{"m": [(number, 0) for number in range(count)]}]


def test_messages_behind_another_header_are_left():
    decoder = NativeProtoDecoder(message_of("message M { int32 n = 1; }"), parse_schema("n int"))
    values = exactly([None, b"\x00\x07\x08\x01", b"\x00\x08\x08\x02", b"\x00", b"", b"\x00\x07", None])
    for begin in range(7):
        found = decoder.decode(values[begin:], b"\x00\x07")
        assert found.kinds.tolist() == [NO_VALUE, ROW, UNSURE, UNSURE, UNSURE, ROW, NO_VALUE][begin:]
        assert found.rows["n"].to_pylist() == [n for at, n in ((1, 1), (5, 0)) if at >= begin]
    assert len(decoder.decode(pa.array([], pa.binary())).rows) == 0


def test_many_fields_are_found_in_any_order():
    numbers = [*range(1, 250)]
    text = f"message M {{ {' '.join(f'int32 f{number} = {number * 7};' for number in numbers)} }}"
    tags = [number * 7 << 3 for number in numbers]
    fields = [bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7]) for tag in tags]
    random.Random(1).shuffle(fields)
    found, rows = kinds(text, None, b"".join(field + b"\x05" for field in fields[:200]))
    assert found == [ROW]
    assert sorted(rows[0].values()) == [0] * 49 + [5] * 200


def test_messages_that_do_not_fit_are_left_to_the_libraries():
    many = " ".join(f"int32 f{number} = {number};" for number in range(1, 300))
    for text, columns in [
        ("message M { string n = 1; }", "n bigint"),
        ("message M { map<bool, int32> n = 1; }", "n map<boolean,int>"),
        ("message M { uint64 n = 1; }", "n decimal(19,0)"),
        (f"message M {{ {many} }}", ", ".join(f"f{number} int" for number in range(1, 300))),
    ]:
        with pytest.raises(NativeDecodingError):
            NativeProtoDecoder(message_of(text), parse_schema(columns))
