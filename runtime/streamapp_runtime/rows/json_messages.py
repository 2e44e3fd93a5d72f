"""Rows as JSON messages: one object a message, for streams that other programs read and write.

A field that is absent or null is null; fields the schema lacks are ignored; of a field given twice the last one counts.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.ssp import Ssp
from streamapp_systems.file.file_chunks import UnreadableRow
from streamapp_systems.file.json_format import json_texts, parse_lines
from streamapp_systems.file.text_values import parse_text
from streamapp_systems.protocols import BadRecord, Message, Messages, MessageTuple

_NULL = msgspec.Raw(b"null")
_MINUS_ZERO = re.compile(rb":\s*-0\s*[,}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRows:
    """The rows of some messages, the messages that became rows, and the unreadable ones."""

    rows: pa.Table
    messages: Messages
    bad: tuple[BadRecord, ...]


class JsonDecoder:
    """Decodes the messages of one stream.

    Typed decoding with msgspec takes half the time of Arrow's parser, but does not support all types and numbers, and
    does not explain what is wrong. A batch with anything it refuses is read by Arrow's, which alone decides what is a
    row.
    """

    def __init__(self, schema: pa.Schema, unread: Collection[str] = ()) -> None:
        """Take the columns that rows have.

        Texts of `unread` columns are validated like all others, and then perhaps left out: such a column may be null.
        """
        self._schema = schema
        self._left_out = {name for name in unread if pa.types.is_string(schema.field(name).type)}
        kinds = [_python_type(field.type) for field in schema]
        names = {f"field{number}": name for number, name in enumerate(schema.names)}
        typed = [(name, kind | None, None) for name, kind in zip(names, kinds, strict=True) if kind is not None]
        self._typed = len(typed) == len(schema)
        self._decode = msgspec.json.Decoder(msgspec.defstruct("Row", typed, rename=names, gc=False)).decode
        self._attributes = list(map(attrgetter, names))
        untyped = [(name, msgspec.Raw, _NULL) for name in names]
        self._decode_untyped = msgspec.json.Decoder(msgspec.defstruct("Untyped", untyped, rename=names)).decode

    def decode(self, messages: Messages, ssp: Ssp) -> JsonRows:
        """Decode messages; those without a value are left out."""
        if self._typed:
            try:
                rows = self._decode_typed(messages.values)
            except (ValueError, TypeError, OverflowError, RecursionError):
                pass
            else:
                return JsonRows(rows=rows, messages=messages, bad=())
        return self._decode_each(MessageTuple(message for message in messages if message.value is not None), ssp)

    def _decode_typed(self, values: Sequence[Any]) -> pa.Table:
        """Decode values; after any error Arrow's parser must read them."""
        if not all(map(bytes.isascii, values)):
            b"\n".join(values).decode()  # what is skipped must be UTF-8, too
        objects = list(map(self._decode, values))
        columns = [
            pa.nulls(len(objects), field.type)
            if field.name in self._left_out
            else self._column(list(map(attribute, objects)), field, values)
            for attribute, field in zip(self._attributes, self._schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _column(self, decoded: list[object], field: pa.Field, values: Sequence[Any]) -> pa.Array:
        if pa.types.is_temporal(field.type) or pa.types.is_binary(field.type):
            return parse_text(pa.array(decoded, pa.string()), field.type)
        column = pa.array(decoded, field.type)
        zeros = pa.types.is_floating(field.type) and pc.any(pc.equal(column, 0)).as_py()
        if zeros and any(map(_MINUS_ZERO.search, values)):
            raise ValueError("a whole number has lost its sign")
        return column

    def _decode_each(self, messages: MessageTuple, ssp: Ssp) -> JsonRows:
        lines = [self._line(message.value or b"") for message in messages]
        batches: list[pa.RecordBatch] = []
        good: list[Message] = []
        bad: list[BadRecord] = []
        for chunk in parse_lines(lines, self._schema) if lines else ():
            position = len(good) + len(bad)
            if isinstance(chunk, UnreadableRow):
                bad.append(BadRecord(ssp, messages[position].offset, chunk.reason))
            else:
                batches.append(chunk)
                good += messages[position : position + len(chunk)]
        return JsonRows(rows=pa.Table.from_batches(batches, self._schema), messages=MessageTuple(good), bad=tuple(bad))

    def _line(self, value: bytes) -> bytes:
        """Return the known fields of an object on one line, each once; what is no JSON stays, and is refused later."""
        with suppress(ValueError, RecursionError):
            value = msgspec.json.encode(self._decode_untyped(value))
        return value.replace(b"\n", b" ") + b"\n"


def encode_json(rows: pa.Table) -> list[bytes]:
    """Encode each row as the value of a message."""
    return [value for batch in rows.to_batches() for value in json_texts(batch).cast(pa.binary()).to_pylist()]


def _python_type(kind: pa.DataType) -> type | None:
    """Return the type that msgspec decodes exactly as Arrow does; None if there is none."""
    if pa.types.is_string(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind):
        return str
    if pa.types.is_integer(kind):
        return int
    return {pa.bool_(): bool, pa.float64(): float}.get(kind)
