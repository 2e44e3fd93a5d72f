import json
import struct
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.murmur2 import murmur2, partitions
from streamapp_core.spec.streams import KeyFormat
from streamapp_runtime.rows.partitioning import key_bytes, key_texts, partition_numbers


def partition_of(key: bytes, count: int) -> int:
    return int(partitions(murmur2(np.frombuffer(key, np.uint8), np.array([0, len(key)])), count)[0])


@given(st.lists(st.none() | st.text(max_size=12), max_size=30), st.integers(1, 50))
def test_text_goes_where_its_utf8_hashes_and_null_to_0(keys, count):
    numbers = partition_numbers(pa.chunked_array([pa.array(keys, pa.string())]), count)
    assert numbers.tolist() == [0 if key is None else partition_of(key.encode(), count) for key in keys]


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=30), st.integers(1, 50))
def test_whole_numbers_hash_as_their_decimal_text(keys, count):
    numbers = partition_numbers(pa.chunked_array([pa.array(keys, pa.int64())]), count)
    assert numbers.tolist() == [0 if key is None else partition_of(str(key).encode(), count) for key in keys]


@pytest.mark.parametrize(("form", "kind", "layout"), [(KeyFormat.INT, "int32", ">i"), (KeyFormat.LONG, "int64", ">q")])
@given(data=st.data(), count=st.integers(1, 50))
def test_whole_numbers_hash_as_javas_binary_ones_where_the_stream_says_so(form, kind, layout, data, count):
    limits = np.iinfo(kind)
    keys = data.draw(st.lists(st.none() | st.integers(int(limits.min), int(limits.max)), max_size=10))
    array = pa.array(keys, pa.type_for_alias(kind))
    expected = [None if key is None else struct.pack(layout, key) for key in keys]
    assert key_bytes(array, form).to_pylist() == expected
    numbers = partition_numbers(pa.chunked_array([array]), count, form)
    assert numbers.tolist() == [0 if key is None else partition_of(key, count) for key in expected]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, pa.bool_(), b"true"),
        (1.5, pa.float64(), b"1.5"),
        (Decimal("1.50"), pa.decimal128(10, 2), b'"1.50"'),
        (date(2013, 1, 31), pa.date32(), b'"2013-01-31"'),
        (datetime(2013, 1, 1, 10, tzinfo=UTC), pa.timestamp("us", tz="UTC"), b'"2013-01-01T10:00:00.000000Z"'),
        (b"\x00\xff", pa.binary(), b"\x00\xff"),
        ("ü", pa.string(), "ü".encode()),
    ],
)
def test_each_type_has_one_text(value, kind, text):
    assert key_texts(pa.array([value, None], kind)).to_pylist() == [text, None]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_other_keys_are_json(keys):
    texts = key_texts(pa.array(keys, pa.float64())).to_pylist()
    assert [json.loads(text) for text in texts] == keys


def test_a_slice_of_keys_hashes_as_the_whole():
    keys = pa.array(["a", "b", None, "c", "d"])
    whole = partition_numbers(pa.chunked_array([keys]), 7).tolist()
    assert partition_numbers(pa.chunked_array([keys.slice(2)]), 7).tolist() == whole[2:]
    assert partition_numbers(pa.chunked_array([keys.slice(0, 2), keys.slice(2)]), 7).tolist() == whole


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_both_zeros_are_one_key(kind):
    keys = pa.chunked_array([pa.array([0.0, -0.0, float("nan"), float("nan")], kind)])
    zero, negative, *nans = partition_numbers(keys, 1_000).tolist()
    assert zero == negative
    assert len(set(nans)) == 1
