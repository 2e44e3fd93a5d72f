"""Keys of several columns: the text that is hashed, the same in every batch and for every reader."""

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.rows.partitioning import partition_numbers
from streamapp_runtime.rows.record_keys import RecordKey, joined_keys, key_objects
from streamapp_runtime.rows.tombstones import KeyObject, replace_tombstones
from streamapp_systems.protocols import Message, MessageTuple
from support.hashed_keys import partition_of

MOMENT = datetime(2024, 5, 1, 9, 0, 0, 250_000, tzinfo=UTC)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
FORMS = {
    pa.string(): (TEXTS, lambda value: json.dumps(value, ensure_ascii=False)),
    pa.int64(): (st.integers(-(2**63), 2**63 - 1), str),
    pa.bool_(): (st.booleans(), json.dumps),
    pa.float64(): (st.floats(allow_nan=False, allow_infinity=False), lambda value: json.dumps(value + 0.0)),
    pa.binary(): (st.binary(max_size=5), lambda value: json.dumps(base64.b64encode(value).decode())),
    pa.date32(): (st.dates(), lambda value: json.dumps(value.isoformat())),
}


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("Zürich", pa.string(), '"Zürich"'),
        ('a"b\\c\n\x01\x7f', pa.string(), '"a\\"b\\\\c\\n\\u0001\x7f"'),
        (None, pa.string(), "null"),
        (7, pa.int32(), "7"),
        (-0.0, pa.float64(), "0.0"),
        (1e16, pa.float64(), "1e+16"),
        (float("nan"), pa.float64(), '"NaN"'),
        (float("-inf"), pa.float64(), '"-Infinity"'),
        (True, pa.bool_(), "true"),
        (b"\x00\xff", pa.binary(), '"AP8="'),
        (date(2024, 5, 1), pa.date32(), '"2024-05-01"'),
        (MOMENT, pa.timestamp("us", "UTC"), '"2024-05-01T09:00:00.250000Z"'),
        (Decimal("1.50"), pa.decimal128(10, 2), '"1.50"'),
    ],
)
def test_a_part_has_one_text(value, kind, text):
    (found,) = key_objects([column([value], kind), column([1])], ("a", "b")).to_pylist()
    assert found == f'{{"a":{text},"b":1}}'
    assert list(json.loads(found)) == ["a", "b"]


@given(st.data())
def test_the_text_is_json_without_spaces_whatever_batch_rows_are_in(data):
    kinds = data.draw(st.lists(st.sampled_from(list(FORMS)), min_size=2, max_size=3))
    values = [FORMS[kind][0] for kind in kinds]
    rows = data.draw(st.lists(st.tuples(*(st.none() | value for value in values)), max_size=8))
    names = [f'c"{number}' for number in range(len(kinds))]
    columns = [column([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    parts = [["null" if v is None else FORMS[k][1](v) for v, k in zip(row, kinds, strict=True)] for row in rows]
    expected = [
        "{" + ",".join(f"{json.dumps(n)}:{text}" for n, text in zip(names, row, strict=True)) + "}" for row in parts
    ]
    assert key_objects(columns, names).to_pylist() == expected
    cut = data.draw(st.integers(0, len(rows)))
    divided = [pa.chunked_array([c.slice(0, cut).combine_chunks(), c.slice(cut).combine_chunks()]) for c in columns]
    assert key_objects(divided, names).to_pylist() == expected
    meeting = [None if "null" in row and None in values_ else row for row, values_ in zip(parts, rows, strict=True)]
    found = joined_keys(columns).to_pylist()
    assert [key is None for key in found] == [None in row for row in rows]
    for one, key in zip(meeting, found, strict=True):
        assert [other == one for other in meeting] == [other == key for other in found]


@given(st.lists(st.tuples(st.none() | TEXTS, st.none() | st.integers(-5, 5)), min_size=1))
def test_rows_are_partitioned_by_the_bytes_of_the_key(rows):
    table = pa.table(
        {"B": pa.array([n for _, n in rows], pa.int32()), "a": pa.array([t for t, _ in rows], pa.string())}
    )
    keys = RecordKey(("a", "b"), ("a", "n")).values(table)
    for (text, number), key, partition in zip(rows, keys.to_pylist(), partition_numbers(keys, 5), strict=True):
        written = json.dumps({"a": text, "n": number}, ensure_ascii=False, separators=(",", ":"))
        assert (key, partition) == (written, partition_of(written.encode(), 5))


def test_a_key_of_one_column_is_its_values():
    table = pa.table({"a": ["x", None]})
    assert RecordKey(("a",)).values(table) is not None
    assert RecordKey(("a",)).values(table).equals(table.column("a"))
    assert joined_keys([table.column("a")]).equals(table.column("a"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"a":"x","b":1}', b'{"a":"x","b":1}'),
        (b'{"a": null, "b": 1}', b'{"a": null, "b": 1}'),
        (b'{"b":1,"a":"x"}', b'[{"b":1,"a":"x"}]'),
        (b'{"a":"x"}', b'[{"a":"x"}]'),
        (b'{"a":"x","b":1,"c":2}', b'[{"a":"x","b":1,"c":2}]'),
        (b'["a","b"]', b'[["a","b"]]'),
        (b"x", b"[x]"),
        (b"\xff", b"[\xff]"),
        (b"[" * 100_000, b"[" * 100_001 + b"]"),
        (None, b"{}"),
    ],
)
def test_a_deletion_has_the_columns_of_its_key_or_is_no_row(key, value):
    (found,) = replace_tombstones(
        MessageTuple([Message(offset=0, timestamp=0, key=key, value=None)]), KeyObject(("a", "b"))
    )
    assert found.value == value
