"""Messages behind the ids of their schemas: each is read by its own writer's schema, or is a bad record."""

import numpy as np
import pyarrow as pa
import pytest

from streamapp_runtime.rows.tombstones import KeyColumn, replace_tombstones
from streamapp_systems.native.library import without_native_library
from streamapp_systems.protocols import Message, MessageColumns, MessageTuple, Unavailable
from streamapp_systems.schema_header import header_of
from support.json_decoders import assert_same
from support.registered_messages import (
    AVRO,
    AWAY,
    FIRST_OFFSET,
    PROTOBUF,
    SSP,
    Writers,
    avro_value,
    proto_value,
    read,
)

forms = pytest.mark.parametrize("form", [AVRO, PROTOBUF], ids=str)


@forms
def test_each_message_is_read_by_the_schema_it_was_written_with(form):
    writers = Writers()
    decoder = form.new_decoder(writers=writers)
    mixed = [form.seconds[0], form.firsts[1], None, form.seconds[1], form.firsts[2]]
    found = read(decoder, *mixed)
    assert found.bad == ()
    assert found.rows.to_pylist() == [
        {"k": 2**40, "v": None},
        {"k": 1, "v": 0.5},
        {"k": 2**40 + 1, "v": None},
        {"k": 2, "v": 1.0},
    ]
    assert [message.offset - FIRST_OFFSET for message in found.messages] == [0, 1, 3, 4]
    assert read(decoder, *mixed).rows == found.rows
    assert read(decoder, *form.firsts).rows["k"].to_pylist() == [0, 1, 2]
    assert writers.asked == 2


@forms
def test_rows_and_reasons_are_the_same_without_the_native_library(form):
    values = [*form.firsts, *form.seconds, form.firsts[0][:-1], form.seconds[0] + b"x", b"", header_of(7), None]
    messages = MessageTuple(
        Message(FIRST_OFFSET + n, 0, None, value) for n, value in enumerate([*values, *values[::-1]])
    )
    columns = MessageColumns(
        offset_column=np.arange(FIRST_OFFSET, FIRST_OFFSET + len(messages)),
        timestamp_column=np.zeros(len(messages), np.int64),
        key_column=pa.nulls(len(messages), pa.binary()),
        value_column=pa.array(messages.values, pa.binary()),
    )
    with without_native_library():
        expected = form.new_decoder().decode(messages, SSP)
    decoder = form.new_decoder()
    for given in (messages, columns, messages, columns):
        assert_same(decoder.decode(given, SSP), expected)
    assert len(expected.bad) == 8


@forms
def test_nothing_is_read_of_no_messages(form):
    found = read(form.new_decoder())
    assert (found.rows.schema.names, len(found.rows), len(found.messages)) == (["k", "v"], 0, 0)
    assert len(read(form.new_decoder(), None, None).messages) == 0


@forms
def test_a_field_that_a_later_schema_lacks_is_null(form):
    assert read(form.new_decoder("k bigint, old string"), form.firsts[1], form.seconds[0]).rows.to_pylist() == [
        {"k": 1, "old": "x"},
        {"k": 2**40, "old": None},
    ]


NO_SCHEMA = [
    (b"", "it has no schema id"),
    (b"\x00\x00\x00", "it has no schema id"),
    (b'{"k": 1, "v": 2}', "it has no schema id"),
]
NO_AVRO = [
    (header_of(7), "schema 7: there is none"),
    (avro_value(3, k="x"), "schema 3: column k: string is no bigint; declare string"),
    (AVRO.firsts[0][:-1], "it ends in v"),
    (AVRO.firsts[0] + b"\x00", "bytes are left after the record"),
]
NO_PROTOBUF = [
    (header_of(1), "it has no schema id"),
    (header_of(1) + b"\xff\xff\xff\xff\xff\xff", "it has no schema id"),
    (header_of(1) + b"\x06\x00", "it has no schema id"),
    (header_of(1) + b"\x01\x08\x01", "it has no schema id"),
    (header_of(1) + b"\x02\x02", "schema 1: there is no message at [1]"),
    (header_of(1) + b"\x02\x01", "schema 1: there is no message at [-1]"),
    (header_of(7) + b"\x00", "schema 7: there is none"),
    (proto_value(2, b"\x02\x02", "Z", k=1), "it is a Z, and the stream's messages are R"),
    (proto_value(3, k="x"), "schema 3: column k: string is no bigint; declare string"),
    (PROTOBUF.firsts[1][:-1], "it is no message R"),
    (PROTOBUF.firsts[0] + b"\x00", "it is no message R"),
]


@pytest.mark.parametrize(
    "form, broken, reason",
    [(AVRO, *case) for case in NO_SCHEMA + NO_AVRO] + [(PROTOBUF, *case) for case in NO_SCHEMA + NO_PROTOBUF],
)
def test_what_can_not_be_read_is_a_bad_record_among_others(form, broken, reason):
    (first, last, _), (second, *_) = form.firsts, form.seconds
    for values in ([broken], [first, broken, second], [first, second, broken, last]):
        found = read(form.new_decoder(), *values)
        place = values.index(broken)
        assert [(bad.offset, bad.reason[: len(reason)]) for bad in found.bad] == [(FIRST_OFFSET + place, reason)]
        others = [n for n in range(len(values)) if n != place]
        assert [message.offset - FIRST_OFFSET for message in found.messages] == others
        assert len(found.rows) == len(values) - 1


@forms
def test_a_registry_that_is_away_makes_no_bad_records(form):
    with pytest.raises(Unavailable):
        read(form.new_decoder(), form.firsts[0], header_of(AWAY) + b"\x00")


@forms
def test_tombstones_are_rows_with_their_key_in_their_place(form):
    key = KeyColumn(pa.field("k", pa.int64()))
    values = [(b"5", None), (b"", form.firsts[1]), (b"x", None)]
    messages = MessageTuple(Message(n, 0, key, value) for n, (key, value) in enumerate(values))
    found = form.new_decoder().decode(replace_tombstones(messages, key), SSP)
    assert found.rows.to_pylist() == [{"k": 5, "v": None}, {"k": 1, "v": 0.5}]
    assert [bad.offset for bad in found.bad] == [2]
