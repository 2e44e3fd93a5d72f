"""Envelopes of Debezium: rows and deletions in each of its forms, and reasons why records are none."""

import io
import json

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.avro.avro_schema import parse_avro_schema
from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.message_formats import message_decoder
from streamapp_systems.protocols import Message, MessageTuple

SSP = Ssp("log", "customers", 0)
COLUMNS = "id bigint, name string, tags array<string>, at timestamp, changed timestamp, how string, position bigint"
PLACES = {"changed": "source.ts_ms", "how": "op", "position": "source.lsn"}
ROW = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": ["null", {"type": "array", "items": "string"}], "default": None},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
    ],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [{"name": "ts_ms", "type": "long"}, {"name": "lsn", "type": ["null", "long"]}],
            },
        },
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ],
}
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}
LINE = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}, {"name": "line", "type": "int"}]}
OP = {"name": "op", "type": "string"}
SCHEMAS = {1: KEY, 2: ENVELOPE, 3: LINE}


class Registry:
    """The schemas of a registry."""

    def writer(self, number):
        return parse_avro_schema(json.dumps(SCHEMAS[number]))


def decoder(form, schema=COLUMNS, places=PLACES, **fields):
    spec = StreamSpec.model_validate(
        {
            "system": "log",
            "schema": schema,
            "key": "id",
            "changes": "debezium",
            "format": "avro" if form == "avro" else "json",
            "json": {"timestamps": "micros"},
            "debezium": {"columns": places},
            **fields,
        },
        strict=False,
    )
    return message_decoder(parse_schema(schema), spec, (), Registry(), "UTC")


def encoded(form, value, number):
    if value is None:
        return None
    if form == "avro":
        out = io.BytesIO()
        fastavro.schemaless_writer(out, SCHEMAS[number], value)
        return b"\0" + number.to_bytes(4, "big") + out.getvalue()
    wrapped = value if form == "json" else {"schema": {"type": "struct", "name": "payload"}, "payload": value}
    return json.dumps(wrapped).encode()


def message(form, offset, key, value):
    return Message(offset, 0, encoded(form, key, 1), encoded(form, value, 2))


def change(op, after=None, time=1, position=None):
    source = {"ts_ms": time, "lsn": position}
    return {"before": None, "after": after, "source": source, "op": op, "ts_ms": time + 1}


def read(form, *messages, **options):
    return decoder(form, **options).decode(MessageTuple(messages), SSP)


FORMS = ["json", "json with schema", "avro"]
TEXTS = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
ROWS = st.fixed_dictionaries(
    {
        "name": TEXTS,
        "tags": st.none() | st.lists(st.text(st.characters(codec="utf-8"), max_size=2), max_size=2),
        "at": st.none() | st.integers(0, 1 << 50),
    }
)
CHANGES = st.tuples(st.integers(0, 3), st.sampled_from(["c", "r", "u", "d", None]), ROWS, st.integers(0, 1 << 40))


@pytest.mark.parametrize("form", FORMS)
@given(changes=st.lists(CHANGES, max_size=8))
def test_each_envelope_is_the_newest_row_of_its_key_or_deletes_it(form, changes):
    messages, expected = [], []
    for offset, (key, op, fields, time) in enumerate(changes):
        row = {"id": key, **fields}
        gone = op in ("d", None)
        value = None if op is None else change(op, None if gone else row, time, offset)
        messages.append(message(form, offset, {"id": key}, value))
        shown = {"name": None, "tags": None, "at": None} if gone else fields
        beside = (None, None, None) if op is None else (time * 1_000, op, offset)
        expected.append(((key, shown["name"], shown["tags"], shown["at"], *beside), gone))
    found = read(form, *messages)
    assert found.bad == ()
    rows = found.rows.set_column(3, "at", found.rows["at"].cast("int64"))
    rows = rows.set_column(4, "changed", rows["changed"].cast("int64"))
    values = [tuple(row.values()) for row in rows.to_pylist()]
    assert list(zip(values, found.deleted.tolist(), strict=True)) == expected
    assert [m.offset for m in found.messages] == list(range(len(changes)))


GOOD = {"id": 7, "name": "ann", "tags": ["a"], "at": 5}
BAD = [
    ({"id": 7}, change("t"), "truncated"),
    ({"id": 7}, change("x", GOOD), "its `op` is 'x'"),
    ({"id": 7}, change("u"), "no row in `after`"),
    ({"id": 8}, change("u", GOOD), "its key has `id` 8, and its row 7"),
    (None, change("u", GOOD), "no key"),
    (None, None, "no key"),
    ({"id": 7}, change("u", {**GOOD, "name": "__debezium_unavailable_value"}), "replica identity full"),
    ({"id": 7}, change("u", {**GOOD, "tags": ["a", "__debezium_unavailable_value"]}), "replica identity full"),
    ({"id": 7}, change("u", GOOD, time=1 << 60), "no time of the years"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("key", "value", "reason"), BAD, ids=[reason for _, _, reason in BAD])
def test_what_says_nothing_of_one_row_is_a_bad_record(form, key, value, reason):
    right = message(form, 1, {"id": 7}, change("c", GOOD))
    found = read(form, message(form, 0, key, value), right)
    assert [bad.offset for bad in found.bad] == [0]
    assert reason in found.bad[0].reason
    assert [m.offset for m in found.messages] == [1]
    assert found.rows.column("id").to_pylist() == [7]
    assert found.deleted.tolist() == [False]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("variant", "__debezium_unavailable_value"),
        ("map<string, string>", {"__debezium_unavailable_value": "__debezium_unavailable_value"}),
        ("map<string, array<string>>", {"a": ["b"], "c": ["__debezium_unavailable_value"]}),
        ("struct<a: int, b: string>", {"a": 1, "b": "__debezium_unavailable_value"}),
    ],
)
def test_values_that_a_database_does_not_know_are_found_in_columns_of_any_type(kind, value):
    known = value if kind == "variant" else None
    changes = [change("u", {"id": 7, "doc": shown}) for shown in (None, value, {"a": known} if known else {})]
    messages = (message("json", offset, {"id": 7}, changed) for offset, changed in enumerate(changes))
    found = read("json", *messages, schema=f"id bigint, doc {kind}", places={})
    assert [bad.offset for bad in found.bad] == [1]
    assert "replica identity full" in found.bad[0].reason


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b"7", None, "Expected `object`"),
        (b"{", None, "its key is"),
        (b"[]", b"{}", "no `op`"),
        (b'{"id": 7, "line": 1}', None, "it has the fields `id`, `line`"),
        (b'{"id": null}', None, "its key has no `id`"),
        (b'{"id": "x"}', None, "its key"),
        (b'{"schema": null, "payload": null}', None, "its key"),
        (b'{"id": 7}', b"", "JSON"),
        (b'{"id": 7}', b"[" * 100_000, ""),
        (b'{"id": 7}', b'{"id": 7, "name": "ann"}', "`changes: upsert`"),
        (b'{"id": 7}', b'{"schema": null, "payload": null}', ""),
        (b'{"id": 7}', b'{"op": "u", "after": [1]}', ""),
        (b'{"id": 7}', b'{"op": 7, "after": {"id": 7}}', ""),
    ],
)
def test_hostile_objects_are_bad_records(key, value, reason):
    right = message("json", 1, {"id": 7}, change("c", GOOD))
    found = read("json", Message(0, 0, key, value), right)
    assert [bad.offset for bad in found.bad] == [0]
    assert reason in found.bad[0].reason
    assert found.rows.column("id").to_pylist() == [7]


@pytest.mark.parametrize("key", [b"", b"\0", encoded("avro", {"id": 7, "line": 1}, 3)])
def test_keys_of_avro_that_are_not_those_of_the_table_are_bad_records(key):
    found = read("avro", Message(0, 0, key, None), message("avro", 1, {"id": 7}, None))
    assert [bad.offset for bad in found.bad] == [0]
    assert (found.rows.column("id").to_pylist(), found.deleted.tolist()) == ([7], [True])


@given(st.binary(max_size=30), st.none() | st.binary(max_size=30), st.sampled_from(["json", "avro"]))
def test_whatever_bytes_come_are_bad_records(key, value, form):
    found = read(form, Message(0, 0, key, value))
    assert len(found.bad) + len(found.rows) == 1


def test_fields_of_rows_have_other_names_where_the_spec_says_so():
    fields = {"timestamps": "text", "fields": {"id": "customerId", "name": "full name"}}
    value = {"op": "c", "after": {"customerId": 1, "full name": "ann"}}
    keyed = Message(0, 0, b'{"customerId": 1}', json.dumps(value).encode())
    found = read("json", keyed, schema="id bigint, name string", places={}, json=fields)
    assert found.rows.to_pylist() == [{"id": 1, "name": "ann"}]


@pytest.mark.parametrize("form", FORMS)
def test_keys_have_all_columns_and_tell_rows_apart(form):
    schema = "n int, line int, id bigint, name string"
    rows = [change("c", {"id": 7, "line": line, "name": "a", "n": line}) for line in (1, 2)]
    keys = [{"id": 7, "line": 1}, {"line": 2, "id": 7}]
    if form == "avro":
        fields = [{"name": name, "type": kind} for name, kind in (("id", "long"), ("line", "int"), ("n", "int"))]
        row = {"type": "record", "name": "Row", "fields": [*fields, {"name": "name", "type": "string"}]}
        table = {"type": "record", "name": "Table", "fields": [{"name": "after", "type": ["null", row]}, OP]}
        SCHEMAS[4] = table
        values = [encoded(form, {"after": value["after"], "op": "c"}, 4) for value in rows]
    else:
        values = [encoded(form, value, 2) for value in rows]
    messages = [Message(at, 0, encoded(form, keys[at], 3), values[at]) for at in range(2)]
    deleted = Message(2, 0, encoded(form, keys[0], 3), None)
    lacking = Message(3, 0, encoded(form, {"id": 7}, 1), None)
    found = read(form, *messages, deleted, lacking, schema=schema, places={}, key=["line", "id"])
    assert [tuple(row.values()) for row in found.rows.to_pylist()] == [
        (1, 1, 7, "a"),
        (2, 2, 7, "a"),
        (None, 1, 7, None),
    ]
    assert found.deleted.tolist() == [False, False, True]
    assert [bad.offset for bad in found.bad] == [3]
    assert "the fields `id`, and the stream's `key` is `id`, `line`" in found.bad[0].reason


def connect(**names):
    """An object of Connect with the types of a row's fields."""
    fields = [{"field": field, "type": "any", "optional": True, "name": name} for field, name in names.items()]
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
    value = {"op": "c", "after": {"id": 1, "amount": "1234", "at": 5}}
    return Message(0, 0, b'{"id": 1}', json.dumps({"schema": schema, "payload": value}).encode())


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"id": None, "amount": None, "at": None}, None),
        ({"at": "io.debezium.time.MicroTimestamp"}, None),
        ({"amount": "org.apache.kafka.connect.data.Decimal"}, "decimal.handling.mode: string"),
        ({"at": "io.debezium.time.Timestamp"}, "set `json.timestamps` to millis"),
        ({"at": "io.debezium.time.NanoTimestamp"}, "declare a bigint"),
        ({"other": "org.apache.kafka.connect.data.Decimal"}, None),
    ],
)
def test_a_schema_that_is_against_the_columns_makes_a_record_bad(names, said):
    schema = "id bigint, amount decimal(9,2), at timestamp"
    found = read("json", connect(**names), schema=schema, places={})
    assert [said in bad.reason for bad in found.bad] == ([] if said is None else [True])
    assert len(found.rows) == (said is None)


@pytest.mark.parametrize(("path", "number"), [("ts_us", 1_500), ("ts_ns", 1_500_999), ("ts_ms", 1)])
def test_times_have_the_unit_of_their_name(path, number):
    value = {"op": "d", path: number}
    keyed = Message(0, 0, b'{"id": 1}', json.dumps(value).encode())
    found = read("json", keyed, schema="id bigint, t timestamp", places={"t": path})
    assert found.rows.column("t").cast("int64").to_pylist() == [1_000 if path == "ts_ms" else 1_500]
