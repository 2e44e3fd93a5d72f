"""Messages in the formats of other programs: fields of other names, times as numbers, texts and bytes as they are."""

import datetime
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import JsonTimestamps, StreamSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.message_formats import encode_messages, message_decoder
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import Message, MessageTuple

SSP = Ssp("k", "s", 0)
UNITS = {"seconds": 1_000_000, "millis": 1_000, "micros": 1}
FIRST, END = -62_135_596_800, 253_402_300_800
TIMES = st.datetimes(timezones=st.just(datetime.UTC)) | st.none()
NESTED = "at timestamp, parts array<struct<at:timestamp,local:timestamp_ntz>>, last map<timestamp,timestamp>, n int"


def stream(**spec) -> StreamSpec:
    return StreamSpec.model_validate({"system": "k", **spec}, strict=False)


def read(values, schema: str, *, unread=(), **spec) -> MessageRows:
    messages = MessageTuple(Message(offset, 0, None, value) for offset, value in enumerate(values))
    return message_decoder(parse_schema(schema), stream(**spec), unread, None, "UTC").decode(messages, SSP)


def judged(values, schema: str, **spec) -> tuple[list[dict[str, object]], list[int]]:
    """Read messages together and each alone, which is to give the same rows and the same bad records."""
    together = read(values, schema, **spec)
    alone = [read([value], schema, **spec) for value in values]
    assert together.rows.to_pylist() == [row for one in alone for row in one.rows.to_pylist()]
    assert [bad.offset for bad in together.bad] == [offset for offset, one in enumerate(alone) if one.bad]
    return together.rows.to_pylist(), [bad.offset for bad in together.bad]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("exact", ["", ", d decimal(5,2)"], ids=["fast", "exact"])
def test_times_are_whole_numbers_since_1970(unit, exact):
    size = 1_000_000 // UNITS[unit]
    numbers = [0, -1, 1_700_000_000 * size + 7, FIRST * size, END * size - 1]
    beyond = [FIRST * size - 1, END * size, 2**63 - 1, -(2**63), 2**63]
    values = [b'{"at": %d}' % number for number in numbers + beyond]
    values += [b'{"at": null}', b"{}", b'{"at": "2024-05-01T10:00:00Z"}', b'{"at": 1.5}', b'{"at": true}']
    rows, bad = judged(values, f"at timestamp{exact}", json={"timestamps": unit})
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    expected = [epoch + datetime.timedelta(microseconds=number * UNITS[unit]) for number in numbers]
    assert [row["at"] for row in rows] == [*expected, None, None]
    assert bad == [5, 6, 7, 8, 9, 12, 13, 14]


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "at": TIMES,
                "parts": st.none()
                | st.lists(st.none() | st.fixed_dictionaries({"at": TIMES, "local": st.datetimes() | st.none()})),
                "last": st.none() | st.dictionaries(st.datetimes(timezones=st.just(datetime.UTC)), TIMES, max_size=2),
                "n": st.none() | st.integers(-9, 9),
            }
        ),
        max_size=4,
    ),
    timestamps=st.sampled_from(list(JsonTimestamps)),
    fields=st.sampled_from([{}, {"at": "a t", "n": '"n"'}, {"at": "n", "n": "at"}, {"last": "ä\\"}]),
)
def test_what_is_written_is_read_again(rows, timestamps, fields):
    schema = arrow_schema(parse_schema(NESTED))
    entries = [row if row["last"] is None else {**row, "last": list(row["last"].items())} for row in rows]
    table = pa.Table.from_pylist(entries, schema=schema)
    options = {"timestamps": timestamps, "fields": fields}
    values = encode_messages(table, stream(json=options)).to_pylist()
    found = read(values, NESTED, json=options)
    assert found.bad == ()
    if timestamps in (JsonTimestamps.TEXT, JsonTimestamps.MICROS):
        assert found.rows.equals(table)
    assert encode_messages(found.rows, stream(json=options)).to_pylist() == values
    assert all(set(json.loads(value)) == {fields.get(name, name) for name in schema.names} for value in values)


def test_times_are_written_rounded_down():
    times = pa.table({"at": pa.array([-1, 1_999_999, None], pa.int64()).cast(pa.timestamp("us", tz="UTC"))})
    written = encode_messages(times, stream(json={"timestamps": "seconds"})).to_pylist()
    assert written == [b'{"at":-1}', b'{"at":1}', b'{"at":null}']


def test_columns_stand_in_fields_of_other_names():
    fields = {"id": "order-id", "text": "when"}
    values = [b'{"order-id": 1, "id": 2, "when": "x"}', b'{"id": 2}', b'{"order-id": "x"}']
    rows, bad = judged(values, "id int, text string", json={"fields": fields})
    assert (rows, bad) == ([{"id": 1, "text": "x"}, {"id": None, "text": None}], [2])
    left_out = read(values[:1], "id int, text string", unread=["text"], json={"fields": fields})
    assert left_out.rows.to_pylist() == [{"id": 1, "text": None}]


def test_a_number_where_text_is_expected_is_told_what_to_set():
    (bad,) = read([b'{"at": 1714557600000}'], "at timestamp").bad
    assert "set the stream's `json.timestamps` to seconds, millis or micros" in str(bad)
    (bad,) = read([b'{"at": "2024-05-01"}'], "at timestamp", json={"timestamps": "millis"}).bad
    assert "as a whole number of millis (`json.timestamps`)" in str(bad)
    (bad,) = read([b'{"at": 1714557600000}'], "at timestamp_ntz").bad
    assert "json.timestamps" not in str(bad)


def test_texts_and_bytes_are_values_as_they_are():
    values = [b"a\n", b"", b'{"a": 1}', b"\xff", None]
    rows, bad = judged(values[:4], "line string", format="text")
    assert (rows, bad) == ([{"line": "a\n"}, {"line": ""}, {"line": '{"a": 1}'}], [3])
    found = read(values, "data binary", format="raw")
    assert found.rows.column("data").to_pylist() == values[:4]
    assert [message.offset for message in found.messages] == [0, 1, 2, 3]


@given(values=st.lists(st.none() | st.binary(max_size=4)))
def test_a_null_is_written_as_a_message_without_value(values):
    assert (
        encode_messages(pa.table({"data": pa.array(values, pa.binary())}), stream(format="raw")).to_pylist() == values
    )
