"""Rows in C are byte for byte those of `row_codec`, and only such rows are read."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.rows.row_codec import encode_row, to_plain_rows
from streamapp_systems.native.row_columns import (
    EncodedValues,
    RowKind,
    decode_numbers,
    decode_rows,
    encode_rows,
    row_kind,
)
from support.compilers import native

INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(
    [edge + by for bits in (5, 7, 8, 15, 16, 31, 32) for edge in (1 << bits, -(1 << bits)) for by in (-1, 0, 1)]
)
TEXTS = st.text("aé\u20ac\U0001f600\0", max_size=40)
LENGTHS = st.sampled_from([0, 1, 31, 32, 255, 256, 65_535, 65_536])
VALUES = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int64(): INTEGERS,
    pa.date32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.timestamp("us"): INTEGERS,
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): TEXTS | LENGTHS.map(lambda length: "x" * length),
    pa.binary(): st.binary(max_size=40) | LENGTHS.map(bytes),
}


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), max_size=4)) * draw(st.sampled_from([1, 1, 1, 5]))
    rows = draw(st.integers(0, 5))
    columns = [
        pa.array(draw(st.lists(st.none() | VALUES[kind], min_size=rows + 2, max_size=rows + 2)), kind) for kind in kinds
    ]
    skipped = draw(st.integers(0, 2))  # columns of which the first values belong to others
    return rows, [column.slice(skipped, rows) for column in columns]


def by_python(rows, columns):
    plain = to_plain_rows([pa.chunked_array([column]) for column in columns]) if columns else [()] * rows
    return [encode_row(row) for row in plain]


def same(left, right):
    return left == right or (isinstance(left, float) and math.isnan(left) and math.isnan(right))


@given(tables())
def test_rows_are_those_of_python(table):
    rows, columns = table
    encoded = encode_rows(native(), columns, rows)
    encoded.validate(full=True)
    assert encoded.to_pylist() == by_python(rows, columns)


@given(tables())
def test_what_was_encoded_comes_back(table):
    rows, columns = table
    schema = pa.schema([(f"c{place}", column.type) for place, column in enumerate(columns)])
    decoded = decode_rows(native(), encode_rows(native(), columns, rows), schema)
    decoded.validate(full=True)
    assert by_python(rows, [column.combine_chunks() for column in decoded.columns]) == by_python(rows, columns)


def test_values_that_are_encoded_already_come_first():
    names, counts = pa.array(["a", "", None]), pa.array([1, 300, -1])
    keys = encode_rows(native(), [names], 3, prefixes=np.frombuffer(b"ABC", np.uint8).reshape(3, 1))
    assert keys.to_pylist() == [b"A\x91\xa1a", b"B\x91\xa0", b"C\x91\xc0"]
    rows = encode_rows(native(), [counts], 3, first=EncodedValues(texts=keys, skipped=2, count=1))
    assert rows.to_pylist() == by_python(3, [names, counts])


def test_what_rows_have_not_is_python_s():
    for kind in (pa.list_(pa.int64()), pa.decimal128(10, 2), pa.uint64(), pa.large_string()):
        assert row_kind(kind) is None


ROW = st.lists(st.none() | st.booleans() | INTEGERS | st.floats() | TEXTS | st.binary(max_size=5), max_size=4)
KINDS = {RowKind.BOOLEAN: bool, RowKind.INTEGER: int, RowKind.NUMBER: float}


@given(st.lists(ROW, max_size=4), st.lists(st.sampled_from([RowKind.SKIPPED, *KINDS]), max_size=4))
def test_only_rows_of_the_kinds_are_read(rows, kinds):
    encoded = pa.array([encode_row(row) for row in rows], pa.binary())
    decoded = decode_numbers(native(), encoded, kinds)
    fits = all(
        len(row) == len(kinds)
        and all(value is None or not kind or type(value) is KINDS[kind] for value, kind in zip(row, kinds, strict=True))
        for row in rows
    )
    assert (decoded is not None) is fits
    if decoded is not None:
        read = [place for place, kind in enumerate(kinds) if kind]
        for place, column in zip(read, decoded, strict=True):
            values = [value if there else None for value, there in zip(column.values, column.present, strict=True)]
            assert all(same(value, row[place]) for value, row in zip(values, rows, strict=True))


@given(st.binary(max_size=30), st.lists(st.sampled_from(list(RowKind)[:-1]), max_size=4))
def test_any_bytes_are_read_or_refused(data, kinds):
    types = {RowKind.TEXT: pa.binary(), RowKind.BYTES: pa.binary(), RowKind.NUMBER: pa.float64()}
    schema = pa.schema([(f"c{place}", types.get(kind, pa.int64())) for place, kind in enumerate(kinds)])
    rows = pa.array([data], pa.binary())
    decoded = decode_rows(native(), rows, schema)
    if decoded is not None:
        decoded.validate(full=True)
    decode_numbers(native(), rows, [kind for kind in kinds if kind not in (RowKind.TEXT, RowKind.BYTES)])


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_row_that_is_cut_off_is_refused(cut):
    whole = encode_row([70_000, "some text", 1.5, b"123"])
    schema = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.float64()), ("d", pa.binary())])
    assert (decode_rows(native(), pa.array([whole[:cut]]), schema) is not None) is (cut >= len(whole))
    assert decode_rows(native(), pa.array([whole + b"\xc0"]), schema) is None
