"""JSON decoded by the native library: what it is sure of is what Python's decoder finds, whatever the messages are."""

import os
import random
import struct
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import JsonTimestamps
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.native.decoded_messages import MessageKind, NativeDecodingError
from streamapp_systems.native.json_decoding import NativeJsonDecoder, leading_bits
from streamapp_systems.native.library import native_library
from support.binary_messages import exactly
from support.compilers import compiler
from support.json_decoders import check_sure_messages, compare_decoders, compare_file_readers

ROUNDS = int(os.environ.get("STREAMAPP_FUZZED_JSON", "3"))
"""A thousand messages each."""


@pytest.fixture(autouse=True, scope="module")
def _library():
    compiler()
    if native_library().functions is None:
        pytest.skip(str(native_library().why_absent))


def decode(schema, *messages, timestamps=JsonTimestamps.TEXT, left_out=()):
    fields = arrow_schema(parse_schema(schema)) if isinstance(schema, str) else schema
    found = NativeJsonDecoder(fields, timestamps, left_out).decode(exactly(messages))
    for column in found.columns:
        if column is not None:
            column.validate(full=True)
    return found


def one_column(kind, *values):
    """Return what values of a column are read as; "unsure" of those that are left to Python."""
    found = decode(pa.schema([("v", kind)]), *(b'{"v":%b}' % value for value in values))
    rows = iter(found.columns[0].to_pylist())
    return [next(rows) if each == MessageKind.ROW else "unsure" for each in found.kinds]


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_both_decoders_judge_and_read_alike(draw, messages):
    compare_decoders(draw, messages)


@settings(max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_lines_of_files_are_judged_and_read_alike(draw, lines):
    with TemporaryDirectory() as folder:
        compare_file_readers(draw, Path(folder) / "lines.json", lines)


def test_what_the_library_is_sure_of_is_what_python_finds():
    sure = sum(check_sure_messages(random.Random(seed), 1_000) for seed in range(ROUNDS))
    assert sure > 100 * ROUNDS


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 20))
@example(2.0**53, 0)
def test_doubles_are_the_nearest_ones(value, digits):
    texts = [repr(value), f"{value:.{digits}e}"]
    if abs(value) < 1e15:
        texts.append(f"{float(value):.25f}")
        half = (Fraction(value) + Fraction(float(np.nextafter(value, np.inf)))) / 2
        texts.append(f"{half.numerator * 10**30 // half.denominator}e-30")
    found = one_column(pa.float64(), *map(str.encode, texts))
    for text, read in zip(texts, found, strict=True):
        assert read == "unsure" or struct.pack("d", read) == struct.pack("d", float(text)), text
    assert found[0] == value


@given(st.integers(-(2**64), 2**64), st.integers(-320, 320))
def test_whole_numbers_with_powers_of_ten_are_rounded_once(digits, power):
    text = f"{digits}e{power}".encode()
    for kind in (pa.float64(), pa.float32()):
        (read,) = one_column(kind, text)
        expected = pa.array([text.decode()]).cast(kind)[0].as_py()
        assert read == ("unsure" if abs(expected) == float("inf") else expected)


@pytest.mark.parametrize("power", [-342, -100, -28, -27, -1, 0, 1, 55, 56, 308])
def test_powers_of_five_have_their_leading_bits(power):
    bits = leading_bits(power)
    assert bits.bit_length() == 128
    exact = Fraction(5) ** power
    scale = Fraction(2) ** (exact.numerator.bit_length() - exact.denominator.bit_length() - 128)
    places = [bits * scale * 2**more for more in (0, 1, 2)]
    nearest = min(places, key=lambda place: abs(place - exact))
    assert abs(nearest - exact) <= nearest / bits
    assert nearest >= exact if -27 <= power < 0 else nearest <= exact


def test_what_ends_with_its_buffer_is_read_and_what_does_not_end_is_not():
    text = b'{"s":"0123456789abcdef0123456789abcdef"}'
    for end in range(len(text) + 1):
        found = decode("s string", text[:end])
        assert found.kinds.tolist() == [MessageKind.ROW if end == len(text) else MessageKind.UNSURE]
    found = decode("s string", *(b'{"s":"%b"}' % (b"x" * length) for length in range(70)))
    assert found.columns[0].to_pylist() == ["x" * length for length in range(70)]


def test_messages_without_a_value_and_slices_are_read():
    values = exactly([None, b'{"n":1}', b"no", b'{"n":3}', None, b'{"n":5}'])
    decoder = NativeJsonDecoder(pa.schema([("n", pa.int8())]), JsonTimestamps.TEXT, ())
    for begin in range(6):
        found = decoder.decode(values[begin:])
        assert found.kinds.tolist() == [2, 0, 1, 0, 2, 0][begin:]
        assert found.columns[0].to_pylist() == [n for at, n in ((1, 1), (3, 3), (5, 5)) if at >= begin]
    assert decoder.decode(values[:0]).count == 0
    assert decoder.decode(pa.array([None], pa.binary())).kinds.tolist() == [MessageKind.NO_VALUE]


def test_a_message_that_is_refused_leaves_nothing_in_any_column():
    schema = "a array<struct<s:string,m:map<string,int>>>, s string, n int, b boolean, last int"
    good = b'{"a":[{"s":"x","m":{"k":1}},null],"s":"y","n":null,"b":true,"last":1}'
    refused = good.replace(b'"last":1', b'"last":"no"')
    found = decode(schema, refused, good, refused, good, b"{}", refused)
    row = [[{"s": "x", "m": [("k", 1)]}, None], "y", None, True, 1]
    assert [column.to_pylist() for column in found.columns] == [[value, value, None] for value in row]


def test_values_of_columns_that_are_left_out_are_checked():
    schema = "n int, s string, p struct<a:array<struct<d:date>>,t:timestamp>, m map<string,int>, k double"
    good = b'{"n":1,"s":"x","p":{"a":[{"d":"2024-01-01"},{}],"t":""},"m":{"a":1},"k":1}'
    wrong = [
        good.replace(*change)
        for change in [(b'"x"', b'"\xff"'), (b"2024", b"y"), (b'"a":1', b'"a":1.5'), (b'"n":1', b'"n":2147483648')]
    ]
    found = decode(schema, good, *wrong, good, b"{}", left_out=["n", "s", "p", "m"])
    assert found.kinds.tolist() == [0, 1, 1, 1, 1, 0, 0]
    assert [column is None for column in found.columns] == [True, True, True, False, False]
    assert found.columns[4].to_pylist() == [1, 1, None]


@pytest.mark.parametrize("count", [2, 12, 13, 500])
def test_a_key_that_is_twice_in_a_map_is_left_to_python(count):
    keys = [f"key {number}" for number in range(count)]
    once = b"{%b}" % b",".join(b'"%b":1' % key.encode() for key in keys)
    twice = once[:-1] + b',"key 0":2}'
    read, left = one_column(pa.map_(pa.string(), pa.int32()), once, twice)
    assert read == [(key, 1) for key in keys]
    assert left == "unsure"


def test_objects_with_many_names_in_any_order_are_read():
    schema = pa.schema([(f"n{number}", pa.int32()) for number in range(300)])
    draw = random.Random(1)
    rows = []
    for _ in range(50):
        numbers = draw.sample(range(400), 200)
        rows.append({f"n{number}": number for number in numbers})
    texts = (b"{%b}" % b",".join(b'"%b" :%d' % (name.encode(), n) for name, n in row.items()) for row in rows)
    found = decode(schema, *texts)
    assert [column.to_pylist() for column in found.columns] == [
        [row.get(name) for row in rows] for name in schema.names
    ]


def test_nesting_is_followed_some_way_and_no_further():
    shallow, deep = b"[" * 60 + b"]" * 60, b"[" * 100_000 + b"]" * 100_000
    assert decode("n int", b'{"x":%b,"n":1}' % shallow, b'{"x":%b}' % deep, b'{"x":%b' % deep).kinds.tolist() == [
        0,
        1,
        1,
    ]
    nested = pa.int32()
    for _ in range(50):
        nested = pa.list_(nested)
    with pytest.raises(NativeDecodingError, match="too deep"):
        decode(pa.schema([("v", nested)]))


@pytest.mark.parametrize(
    ("timestamps", "number", "micros"),
    [
        (JsonTimestamps.SECONDS, 253_402_300_799, 253_402_300_799_000_000),
        (JsonTimestamps.SECONDS, 253_402_300_800, None),
        (JsonTimestamps.MILLIS, -62_135_596_800_000, -62_135_596_800_000_000),
        (JsonTimestamps.MILLIS, -62_135_596_800_001, None),
        (JsonTimestamps.MICROS, 1, 1),
        (JsonTimestamps.SECONDS, 2**63 - 1, None),
    ],
)
def test_timestamps_as_numbers_are_of_the_years_1_to_9999(timestamps, number, micros):
    found = decode("t timestamp", b'{"t":%d}' % number, timestamps=timestamps)
    assert found.columns[0].cast(pa.int64()).to_pylist() == ([] if micros is None else [micros])
