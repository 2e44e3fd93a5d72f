"""Avro decoded by the native library: what it is sure of is what NumPy's decoder finds, whatever the records are."""

import json
import os
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.avro.avro_columns import columns_of_avro
from streamapp_core.avro.avro_schema import parse_avro_schema
from streamapp_core.schema import parse_schema
from streamapp_runtime.rows.native_first import NativeFirstReader
from streamapp_systems.avro.avro_decoding import AvroRowReader
from streamapp_systems.native.avro_programs import NativeAvroDecoder
from streamapp_systems.native.decoded_messages import MessageKind, NativeDecodingError
from support.avro_decoders import check_records, compare_records, random_records
from support.binary_messages import exactly
from support.compilers import compiler, native
from support.hostile_avro import random_avro

ROUNDS = int(os.environ.get("STREAMAPP_FUZZED_BINARY", "20"))
"""A hundred records each."""
ROW, UNSURE, NO_VALUE = MessageKind.ROW, MessageKind.UNSURE, MessageKind.NO_VALUE


@pytest.fixture(autouse=True, scope="module")
def _library():
    compiler()
    native()


def record(**fields):
    made = [{"name": name, "type": kind} for name, kind in fields.items()]
    return parse_avro_schema(json.dumps({"type": "record", "name": "r", "fields": made}))


def kinds(avro, columns, *values):
    found = NativeAvroDecoder(avro, parse_schema(columns)).decode(exactly(values))
    found.rows.validate(full=True)
    return found.kinds.tolist(), found.rows.to_pylist()


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_both_decoders_judge_and_read_alike(draw, records):
    compare_records(draw, records)


def test_what_the_library_is_sure_of_is_what_numpy_finds():
    found = [compare_records(random.Random(seed), 100) for seed in range(ROUNDS)]
    sure, kept = np.sum(found, axis=0)
    assert sure > 0.9 * kept > 10 * ROUNDS


def test_records_without_oddities_are_all_read():
    for seed in range(20):
        draw = random.Random(seed)
        avro, schema = random_avro(draw)
        assert check_records(avro, schema, random_records(draw, avro, 30, oddities=0, harmed=0)) == (30, 30)


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(0, 20))
def test_what_is_not_sure_is_judged_by_numpy(draw, records):
    avro, schema = random_avro(draw)
    made = [b"head" + value for value in random_records(draw, avro, records, oddities=0.1, harmed=1)]
    reader = AvroRowReader(avro, schema)
    found, kept, why = NativeFirstReader(NativeAvroDecoder(avro, schema), reader).read(made, 4)
    expected, expected_kept, reasons = reader.read(made, 4)
    assert (kept.tolist(), why) == (expected_kept.tolist(), reasons)
    assert repr(found.to_pylist()) == repr(expected.to_pylist())


def test_what_ends_early_is_not_read():
    avro = record(s="string", n="long", d="double", a={"type": "array", "items": ["null", "string"]})
    whole = b"\x0eexactly" + b"\x80\x80\x01" + bytes(8) + b"\x04\x00\x02\x02x\x00"
    columns = str(columns_of_avro(avro))
    for end in range(len(whole) + 1):
        expected = ROW if end == len(whole) else UNSURE
        assert kinds(avro, columns, whole[:end])[0] == [expected]
        assert kinds(avro, "n bigint", whole[:end])[0] == [expected]
    assert kinds(avro, columns, whole + b"\x00", whole)[0] == [UNSURE, ROW]
    _, rows = kinds(record(s="string"), "s string", *(bytes([2 * length]) + b"x" * length for length in range(60)))
    assert [row["s"] for row in rows] == ["x" * length for length in range(60)]


def test_a_record_that_is_refused_leaves_nothing_in_any_column():
    avro = record(a={"type": "array", "items": {"type": "map", "values": "string"}}, n=["null", "int"], b="boolean")
    good = b"\x02\x02\x02k\x02v\x00\x00" + b"\x00" + b"\x01"
    refused = good[:-1] + b"\x02"
    found, rows = kinds(avro, str(columns_of_avro(avro)), refused, good, refused, refused, good)
    assert found == [UNSURE, ROW, UNSURE, UNSURE, ROW]
    assert rows == [{"a": [[("k", "v")]], "n": None, "b": True}] * 2


@pytest.mark.parametrize("columns", ["a array<bigint>, m map<string,bigint>", "other int"])
def test_what_claims_to_be_large_is_refused_at_once(columns):
    avro = record(a={"type": "array", "items": "long"}, m={"type": "map", "values": "long"})
    most, least = b"\xfe" + b"\xff" * 8 + b"\x01", b"\xff" * 9 + b"\x01"
    claims = [
        most,
        least,
        least + b"\x00",
        b"\x80\x80\x80\x80\x80\x80\x80\x80\x20",
        b"\xff" * 9 + b"\x02",
        b"\x80" * 10,
    ]
    values = [claim + bytes(30) for claim in claims] + [b"\x00" + claim + bytes(30) for claim in claims]
    values += [b"\x00\x02" + claim + bytes(30) for claim in claims] + claims
    assert kinds(avro, columns, *values, b"\x00\x00")[0] == [UNSURE] * len(values) + [ROW]


def test_records_behind_another_header_are_left():
    decoder = NativeAvroDecoder(record(n="long"), parse_schema("n bigint"))
    values = exactly([None, b"\x00\x07\x02", b"\x00\x08\x02", b"\x00", b"", b"\x00\x07", b"\x00\x07\x06", None])
    for begin in range(8):
        found = decoder.decode(values[begin:], b"\x00\x07")
        assert found.kinds.tolist() == [NO_VALUE, ROW, UNSURE, UNSURE, UNSURE, UNSURE, ROW, NO_VALUE][begin:]
        assert found.rows["n"].to_pylist() == [n for at, n in ((1, 1), (6, 3)) if at >= begin]
    assert len(decoder.decode(values[:0], b"\x00\x07").rows) == 0
    assert len(decoder.decode(pa.array([], pa.binary())).rows) == 0


@pytest.mark.parametrize("count", [2, 12, 13, 500])
def test_a_key_that_is_twice_in_a_map_is_left(count):
    avro = record(m={"type": "map", "values": "null"})
    keys = [f"{number:03}" for number in range(count)]
    once = b"".join(b"\x02\x06" + key.encode() for key in keys)
    found, rows = kinds(avro, "m map<string,int>", once + b"\x00", once + b"\x02\x06000\x00")
    assert found == [ROW, UNSURE]
    assert rows == [{"m": [(key, None) for key in keys]}]


def test_schemas_that_do_not_fit_are_left_to_numpy():
    for avro, columns in [
        (record(n="string"), "n bigint"),
        (record(n="long"), "n int"),
        (record(n="long"), "n decimal(18,0)"),
        (record(n={"type": "record", "name": "i", "fields": []}), "n string"),
        (parse_avro_schema('"long"'), "n bigint"),
    ]:
        with pytest.raises(NativeDecodingError):
            NativeAvroDecoder(avro, parse_schema(columns))
