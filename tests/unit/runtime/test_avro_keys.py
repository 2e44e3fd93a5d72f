"""Records with keys of Avro: rows that are their key's, deletions by it, and the bytes of keys that are written."""

import io
import json

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.avro.avro_schema import parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of
from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_keys import AvroKeys, avro_keys
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.keyed_rows import KeyedRows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import Message, MessageTuple
from streamapp_systems.schema_header import header_of

SSP = Ssp("hub", "customers", 0)
ROWS = parse_schema("id bigint, shop string, n int")
BOTH, ID = parse_schema("id bigint, shop string"), parse_schema("id bigint")
SCHEMAS = {
    1: avro_schema_of(BOTH, "Key"),
    2: {**avro_schema_of(BOTH, "Key"), "fields": avro_schema_of(BOTH, "Key")["fields"][::-1]},
    3: "long",
    4: avro_schema_of(ID, "Key"),
    5: ["null", "int"],
}


class Registry:
    """The schemas of a registry."""

    def writer(self, number):
        return parse_avro_schema(json.dumps(SCHEMAS[number]))


def key(number, value):
    if value is None:
        return None
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMAS[number], value)
    return header_of(number) + out.getvalue()


def message(offset, key, row):
    return Message(offset, 0, key, None if row is None else json.dumps(row).encode())


def read(messages, *, columns=BOTH, deletes=True, **alike):
    schema = arrow_schema(ROWS)
    keys = AvroKeys(columns.columns, Registry(), **alike)
    return KeyedRows(JsonDecoder(schema), keys, schema, deletes=deletes).decode(MessageTuple(messages), SSP)


IDS, SHOPS = st.none() | st.integers(0, 2), st.none() | st.sampled_from(["a", "\u00e9"])
CHANGES = st.tuples(st.sampled_from([1, 2]), IDS, SHOPS, st.booleans(), st.none() | st.integers(0, 3))


@given(changes=st.lists(CHANGES, max_size=8), deletes=st.booleans())
def test_each_record_is_the_row_of_its_key_or_deletes_it(changes, deletes):
    messages, expected = [], []
    for offset, (number, id_, shop, wrong, n) in enumerate(changes):
        fields = {"id": id_, "shop": shop}
        of_row = {**fields, "id": 7} if wrong else fields
        messages.append(message(offset, key(number, fields), None if n is None else {**of_row, "n": n}))
        if n is None and deletes:
            expected.append(({**fields, "n": None}, True))
        elif n is not None and not wrong:
            expected.append(({**fields, "n": n}, False))
    found = read(messages, deletes=deletes)
    deleted = [False] * len(found.rows) if found.deleted is None else found.deleted.tolist()
    assert list(zip(found.rows.to_pylist(), deleted, strict=True)) == expected
    assert (found.deleted is not None) == deletes
    bad = [offset for offset, (_, _, _, wrong, n) in enumerate(changes) if wrong and n is not None]
    assert [record.offset for record in found.bad] == bad
    assert len(found.messages) == len(expected)


ROW = {"id": 1, "shop": "a", "n": 2}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, "it has no key"),
        (b"1", "its key: it has no schema id"),
        (key(4, {"id": 1}), "its key has schema 4: it has the fields `id`, and the stream's `key` is `id`, `shop`"),
        (key(1, {"id": 1, "shop": "a"}) + b"x", "its key: "),
        (key(1, {"id": 1, "shop": "b"}), "its key has `shop` 'b', and its row 'a'"),
    ],
)
def test_a_record_with_another_key_is_bad(bad, reason):
    found = read([message(3, bad, ROW), message(4, key(1, {"id": 1, "shop": "a"}), ROW)])
    assert [(record.offset, record.reason[: len(reason)]) for record in found.bad] == [(3, reason)]
    assert found.rows.to_pylist() == [ROW]


@pytest.mark.parametrize("number", [3, 4, 5])
def test_a_key_of_one_column_may_be_a_plain_value(number):
    fields = {"id": 1} if number == 4 else 1
    found = read([message(0, key(number, fields), ROW), message(1, key(number, fields), None)], columns=ID)
    assert found.rows.to_pylist() == [ROW, {"id": 1, "shop": None, "n": None}]


def test_keys_of_another_schema_are_bad_where_their_hash_matters():
    messages = [message(n, key(number, {"id": 1, "shop": "a"}), ROW) for n, number in enumerate([1, 2, 1])]
    assert read(messages).bad == ()
    (bad,) = read(messages, one_schema=True).bad
    assert (bad.offset, "its key has schema 2, and earlier ones have schema 1" in bad.reason) == (1, True)
    assert [record.offset for record in read(messages, one_schema=True, first=2).bad] == [0, 2]


WRITTEN = parse_schema("a double, b string, c decimal(5,2), d timestamp")
VALUES = st.fixed_dictionaries(
    {
        "a": st.none() | st.floats(allow_nan=False),
        "b": st.none() | st.text(max_size=3),
        "c": st.none() | st.decimals(-9, 9, places=2),
        "d": st.none() | st.integers(0, 1 << 50),
    }
)


@given(rows=st.lists(VALUES, min_size=1, max_size=5))
def test_keys_that_are_written_are_read_as_they_were_by_others(rows):
    table = pa.Table.from_arrays(
        [
            pa.array([row["d"] for row in rows], pa.int64()).cast(pa.timestamp("us", "UTC")),
            pa.array([row["b"] for row in rows]),
            pa.array([row["a"] for row in rows], pa.float64()),
            pa.array([row["c"] for row in rows], pa.decimal128(5, 2)),
        ],
        names=["D", "b", "a", "c"],
    )
    schema = fastavro.parse_schema(avro_schema_of(WRITTEN, "Key"))
    for row, written in zip(rows, avro_keys(table, WRITTEN, header_of(9)).to_pylist(), strict=True):
        assert written[:5] == b"\0\0\0\0\x09"
        found = fastavro.schemaless_reader(io.BytesIO(written[5:]), schema, None)
        time = None if found["d"] is None else round(found["d"].timestamp() * 1_000_000)
        assert {**found, "d": time} == row


def test_zeros_of_both_signs_are_one_key():
    keys = avro_keys(pa.table({"a": [0.0, -0.0]}), parse_schema("a double"), b"").to_pylist()
    assert keys[0] == keys[1]
