"""What two decoders of JSON find in the same messages: the native one has to find what Python's does."""

import random
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.spec.streams import JsonOptions, JsonTimestamps
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.json_objects import JsonObjectDecoder
from streamapp_runtime.rows.message_rows import MessageRows, select_messages
from streamapp_systems.arrow_types import in_time_zone
from streamapp_systems.file.file_chunks import Chunk, UnreadableRow
from streamapp_systems.file.json_format import JsonFormat, parse_lines
from streamapp_systems.file.native_json import native_json_reader
from streamapp_systems.native.decoded_messages import MessageKind
from streamapp_systems.protocols import Message, MessageTuple
from support.hostile_json import mutated, random_message, random_schema

SSP = Ssp("k", "s", 0)
_TIMESTAMPS = [JsonTimestamps.TEXT, JsonTimestamps.TEXT, *JsonTimestamps]


def messages_of(values: Sequence[bytes | None]) -> MessageTuple:
    """Return messages with these values, one a place."""
    return MessageTuple(Message(offset * 2, offset * 10, None, value) for offset, value in enumerate(values))


def assert_same(found: MessageRows, expected: MessageRows, left_out: Collection[str] = ()) -> None:
    """Check that two decoders have found the same, but for values of columns that may be left out."""
    assert [str(bad) for bad in found.bad] == [str(bad) for bad in expected.bad]
    assert list(found.messages) == list(expected.messages)
    assert found.rows.schema == expected.rows.schema
    found.rows.validate(full=True)
    for name in expected.rows.schema.names:
        column, other = (read.rows.column(name).combine_chunks() for read in (found, expected))
        if name in left_out:
            kept = column.is_valid()
            column, other = column.filter(kept), other.filter(kept)
        not_a_number_equals_itself = repr(column.to_pylist()) == repr(other.to_pylist())
        assert column.equals(other) or not_a_number_equals_itself, (column, other)
        for one, another in zip(_floats(column), _floats(other), strict=True):
            assert np.array_equal(np.signbit(one), np.signbit(another)), (column, other)


def compare_decoders(draw: random.Random, messages: int) -> None:
    """Compare what both decoders find in random messages of a random schema, some of them harmed."""
    schema = random_schema(draw)
    settings = _random_settings(draw)
    unread = [name for name in schema.names if draw.random() < draw.choice([0, 0, 0.5])]
    values = _random_values(draw, schema, messages)
    found = JsonDecoder(schema, unread, *settings).decode(messages_of(values), SSP)
    assert_same(found, JsonObjectDecoder(schema, (), *settings).decode(messages_of(values), SSP), unread)


def check_sure_messages(draw: random.Random, messages: int) -> int:
    """Check that Python's decoder finds the same in what the native one is sure of; return how many messages that is.

    All others are Python's to judge, which takes long.
    """
    schema = random_schema(draw)
    settings = _random_settings(draw)
    given = messages_of([value for value in _random_values(draw, schema, messages) if value is not None])
    native = native_json_reader(schema, (), *settings)
    read = native and native.read(pa.array(given.values, pa.binary()))
    if read is None:  # a value that the library leaves to Python is none of its type
        return 0
    sure = select_messages(given, np.flatnonzero(read.kinds == MessageKind.ROW))
    found = MessageRows(rows=read.rows, messages=sure, bad=())
    assert_same(found, JsonObjectDecoder(schema, (), *settings).decode(sure, SSP))
    return len(sure)


def compare_file_readers(draw: random.Random, file: Path, lines: int) -> None:
    """Compare what the reader of files finds in random lines with what it finds without the native library."""
    options, zone = _random_settings(draw)
    schema = in_time_zone(random_schema(draw), zone)
    values = (value for value in _random_values(draw, schema, lines) if value)
    texts = [value.replace(b"\n", b" ") + b"\n" for value in values if not value.startswith(b"\xef\xbb\xbf")]
    given = [text for text in texts if not text.isspace()]
    file.write_bytes(b"".join(texts))
    found = list(JsonFormat(options).read(file, schema, 0))
    expected = list(parse_lines(given, schema, options)) if given else []
    assert _records(found) == _records(expected)
    one, other = (pa.Table.from_batches(_batches(chunks), schema) for chunks in (found, expected))
    assert one.equals(other)


def _batches(chunks: Sequence[Chunk]) -> list[pa.RecordBatch]:
    return [chunk for chunk in chunks if not isinstance(chunk, UnreadableRow)]


def _records(chunks: Sequence[Chunk]) -> list[str]:
    """Return, for each record, why it can't be read, if so."""
    told = ([chunk.reason] if isinstance(chunk, UnreadableRow) else [""] * len(chunk) for chunk in chunks)
    return [reason for reasons in told for reason in reasons]


def _random_settings(draw: random.Random) -> tuple[JsonOptions, str]:
    return JsonOptions(timestamps=draw.choice(_TIMESTAMPS)), draw.choice(["UTC", "UTC", "Europe/Berlin"])


def _random_values(draw: random.Random, schema: pa.Schema, count: int) -> list[bytes | None]:
    oddities, harmed = draw.choice([0, 0, 0.02, 0.1]), draw.choice([0, 1, 4])
    values: list[bytes | None] = []
    while len(values) < count:
        message = random_message(draw, schema, oddities)
        values += [message, *(mutated(draw, message) for _ in range(harmed))]
        if draw.random() < 0.02:
            values.append(None)
    draw.shuffle(values)
    return values


def _floats(column: pa.Array) -> Iterator[np.ndarray]:
    if pa.types.is_floating(column.type):
        yield pc.fill_null(column, 0).to_numpy()
    elif pa.types.is_struct(column.type):
        for child in column.flatten():
            yield from _floats(child)
    elif pa.types.is_list(column.type):
        yield from _floats(column.flatten())
    elif pa.types.is_map(column.type):
        entries = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
        yield from _floats(column.cast(pa.list_(entries)).flatten())
