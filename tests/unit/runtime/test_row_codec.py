import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.rows.row_codec import (
    MAXIMUM_KEY,
    decode_row,
    encode_key,
    encode_row,
    to_arrow_table,
    to_plain_rows,
)

COLUMNS = {
    "s": (pa.string(), st.text(max_size=5)),
    "b": (pa.bool_(), st.booleans()),
    "i": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "l": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "f": (pa.float32(), st.floats(width=32)),
    "d": (pa.float64(), st.floats()),
    "n": (pa.decimal128(10, 2), st.decimals(-99999, 99999, places=2)),
    "t": (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
    "y": (pa.date32(), st.dates()),
    "x": (pa.binary(), st.binary(max_size=5)),
}
SCHEMA = pa.schema([pa.field(name, kind) for name, (kind, _) in COLUMNS.items()])
ROWS = st.lists(st.fixed_dictionaries({name: st.none() | values for name, (_, values) in COLUMNS.items()}), max_size=5)


def same(left, right):
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return left == right


@given(ROWS)
def test_rows_come_back_from_bytes_as_they_were(rows):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    stored = [encode_row(row) for row in to_plain_rows(table.columns)]
    back = to_arrow_table([decode_row(row) for row in stored], SCHEMA)
    assert back.schema == SCHEMA
    for before, after in zip(table.to_pylist(), back.to_pylist(), strict=True):
        assert all(same(before[name], after[name]) for name in before)


def test_both_zeros_and_all_nans_are_one_key():
    column = pa.chunked_array([pa.array([0.0, -0.0, math.nan, -math.nan])])
    keys = [encode_key(row) for row in to_plain_rows([column])]
    assert keys[0] == keys[1]
    assert keys[2] == keys[3]


@given(st.lists(st.text(min_size=100, max_size=2_000), min_size=2, max_size=4, unique=True))
def test_long_keys_fit_a_store_and_stay_apart(texts):
    keys = [encode_key([text]) for text in texts]
    assert max(map(len, keys)) <= MAXIMUM_KEY
    assert len(set(keys)) == len(keys)


@given(st.tuples(st.text(max_size=3), st.text(max_size=3)), st.tuples(st.text(max_size=3), st.text(max_size=3)))
def test_keys_of_several_columns_do_not_run_together(left, right):
    assert (encode_key(left) == encode_key(right)) == (left == right)


def test_values_of_all_types_are_what_they_were():
    row = {"t": datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), "y": date(1, 1, 1), "n": Decimal("-0.01")}
    table = pa.Table.from_pylist([row], schema=SCHEMA)
    (back,) = to_arrow_table(to_plain_rows(table.columns), SCHEMA).to_pylist()
    assert {name: back[name] for name in row} == row
