"""Messages of Avro behind the ids of their schemas: each is read by its own writer's schema, or is a bad record."""

import io
import json

import fastavro
import pyarrow as pa
import pytest

from streamapp_core.avro.avro_schema import AvroSchemaError, parse_avro_schema
from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_messages import AvroDecoder
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_runtime.rows.tombstones import KeyColumn, replace_tombstones
from streamapp_systems.protocols import Message, MessageTuple, Unavailable
from streamapp_systems.schema_header import header_of

SSP = Ssp("k", "s", 0)


def record(**fields):
    return {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}


FIRST = record(k="int", old="string", v="float")
SECOND = record(v=["null", "double"], new={"type": "array", "items": "string"}, k="long")
OTHER = record(k="string")
SCHEMAS = {1: FIRST, 2: SECOND, 3: OTHER}


class Writers:
    asked = 0

    def writer(self, number):
        self.asked += 1
        if number == 99:
            raise Unavailable("the registry is away")
        if number not in SCHEMAS:
            raise AvroSchemaError("there is none")
        return parse_avro_schema(json.dumps(SCHEMAS[number]))


def value(number, **fields):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMAS[number], fields)
    return header_of(number) + out.getvalue()


FIRSTS = [value(1, k=n, old="x", v=n / 2) for n in range(3)]
SECONDS = [value(2, k=2**40 + n, new=["y"], v=None) for n in range(3)]


def read(decoder, *values) -> MessageRows:
    return decoder.decode(MessageTuple(Message(10 + n, 0, None, value) for n, value in enumerate(values)), SSP)


def new_decoder(columns="k bigint, v double", writers=None):
    return AvroDecoder(parse_schema(columns), writers or Writers())


def test_each_record_is_read_by_the_schema_it_was_written_with():
    writers = Writers()
    decoder = new_decoder(writers=writers)
    mixed = [SECONDS[0], FIRSTS[1], None, SECONDS[1], FIRSTS[2]]
    found = read(decoder, *mixed)
    assert found.bad == ()
    assert found.rows.to_pylist() == [
        {"k": 2**40, "v": None},
        {"k": 1, "v": 0.5},
        {"k": 2**40 + 1, "v": None},
        {"k": 2, "v": 1.0},
    ]
    assert [message.offset for message in found.messages] == [10, 11, 13, 14]
    assert read(decoder, *mixed).rows == found.rows
    assert writers.asked == 2


def test_nothing_is_read_of_no_messages():
    found = read(new_decoder())
    assert (found.rows.schema.names, len(found.rows), len(found.messages)) == (["k", "v"], 0, 0)
    assert len(read(new_decoder(), None, None).messages) == 0


def test_a_field_that_a_later_schema_lacks_is_null():
    assert read(new_decoder("k bigint, old string"), FIRSTS[1], SECONDS[0]).rows.to_pylist() == [
        {"k": 1, "old": "x"},
        {"k": 2**40, "old": None},
    ]


@pytest.mark.parametrize(
    "broken, reason",
    [
        (b"", "it has no schema id"),
        (b"\x00\x00\x00", "it has no schema id"),
        (b'{"k": 1, "v": 2}', "it has no schema id"),
        (header_of(7), "schema 7: there is none"),
        (value(3, k="x"), "schema 3: column k: string is no bigint; declare string"),
        (FIRSTS[0][:-1], "it ends in v"),
        (FIRSTS[0] + b"\x00", "bytes are left after the record"),
    ],
)
def test_what_can_not_be_read_is_a_bad_record_among_others(broken, reason):
    for values in ([broken], [FIRSTS[0], broken, SECONDS[0]], [FIRSTS[0], SECONDS[0], broken, FIRSTS[1]]):
        found = read(new_decoder(), *values)
        place = values.index(broken)
        assert [(bad.offset, bad.reason[: len(reason)]) for bad in found.bad] == [(10 + place, reason)]
        assert [message.offset - 10 for message in found.messages] == [n for n in range(len(values)) if n != place]
        assert len(found.rows) == len(values) - 1


def test_a_registry_that_is_away_makes_no_bad_records():
    with pytest.raises(Unavailable):
        read(new_decoder(), FIRSTS[0], header_of(99) + b"\x00")


def test_tombstones_are_rows_with_their_key_in_their_place():
    key = KeyColumn(pa.field("k", pa.int64()))
    messages = MessageTuple(
        Message(n, 0, key, value) for n, (key, value) in enumerate([(b"5", None), (b"", FIRSTS[1]), (b"x", None)])
    )
    found = new_decoder().decode(replace_tombstones(messages, key), SSP)
    assert found.rows.to_pylist() == [{"k": 5, "v": None}, {"k": 1, "v": 0.5}]
    assert [bad.offset for bad in found.bad] == [2]
