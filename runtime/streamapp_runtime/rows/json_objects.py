"""JSON messages as rows by way of Python objects: this decides what is a row, and what is wrong with what is none."""

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.spec.streams import PLAIN_JSON, JsonOptions
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_columns import ColumnBuilder
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_systems.arrow_types import in_time_zone, in_utc
from streamapp_systems.file.file_chunks import UnreadableRow
from streamapp_systems.file.json_column_values import double_columns, is_raw, parse_column
from streamapp_systems.file.json_format import parse_lines
from streamapp_systems.file.json_layout import object_schema, to_row_columns
from streamapp_systems.file.json_nested import object_type, only_fields
from streamapp_systems.protocols import BadRecord, Message, Messages, MessageTuple

_PLAIN = {pa.bool_(): bool, pa.float64(): float, **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), int)}
_LIST: Any = list
_DICT: Any = dict
_MINUS_ZERO = re.compile(rb"-0(?<=[:\[,\s]-0)\s*[,}\]]")
"""A whole number, or the like of it in a text. A search for what begins with plain characters is six times as fast."""
_PART_BYTES, _NESTED_PART_BYTES = 512 << 10, 128 << 10
"""JSON that is decoded at once: of more, the objects would not stay in a processor's caches until they are columns.

Nested ones take more room, and their columns fewer calls of Arrow.
"""


class JsonObjectDecoder:
    """Decodes the messages of one stream.

    Typed decoding with msgspec takes half the time of Arrow's parser, but does not support all types and numbers, and
    does not explain what is wrong. A batch with anything it refuses is read by Arrow's, which alone decides what is a
    row.
    """

    def __init__(
        self,
        schema: pa.Schema,
        unread: Collection[str] = (),
        options: JsonOptions = PLAIN_JSON,
        time_zone: str = "UTC",
    ) -> None:
        """Take the columns that rows have, and the time zone of texts of timestamps that name none.

        Texts of `unread` columns are validated like all others, and then perhaps left out: such a column may be null.
        """
        self._schema = schema
        self._shown = in_time_zone(schema, time_zone)
        self._options = options
        self._objects = object_schema(self._shown, options)
        texts = (name for name in unread if pa.types.is_string(schema.field(name).type))
        left_out = {options.field_of(name) for name in texts}
        row = _object_type(list(self._objects))
        self._typed = row is not None
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(row or object).decode
        self._columns = [
            ColumnBuilder(f"field{number}", field.type, left_out=field.name in left_out)
            for number, field in enumerate(self._objects)
        ]
        nested = any(pa.types.is_nested(field.type) for field in self._objects)
        self._part_bytes = _NESTED_PART_BYTES if nested else _PART_BYTES

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`."""
        if self._typed:
            try:
                rows = self._decode_typed(messages.values)
            except (ValueError, TypeError, OverflowError, RecursionError):
                pass
            else:
                return MessageRows(rows=rows, messages=messages, bad=())
        return self._decode_each(MessageTuple(message for message in messages if message.value is not None), ssp)

    def _decode_typed(self, values: Sequence[Any]) -> pa.Table:
        """Decode values; after any error Arrow's parser must read them."""
        if not all(map(bytes.isascii, values)):
            b"\n".join(values).decode()  # what is skipped must be UTF-8, too
        size = max(len(values) * self._part_bytes // max(sum(map(len, values)), 1), 1)
        parts = [self._decode_part(values[start : start + size]) for start in range(0, max(len(values), 1), size)]
        built = parts[0] if len(parts) == 1 else map(pa.concat_arrays, zip(*parts, strict=True))
        columns = [parse_column(column, field.type) for column, field in zip(built, self._objects, strict=True)]
        zeros = (pc.any(pc.equal(numbers, 0)).as_py() for column in columns for numbers in double_columns(column))
        if any(zeros) and any(map(_MINUS_ZERO.search, values)):
            raise ValueError("a whole number has lost its sign")
        rows = to_row_columns(columns, self._shown, self._options.timestamps)
        return in_utc(pa.Table.from_arrays(rows, schema=self._shown), self._schema)

    def _decode_part(self, values: Sequence[Any]) -> list[pa.Array]:
        objects = list(map(self._decode, values))
        return [column.build(objects) for column in self._columns]

    def _decode_each(self, messages: MessageTuple, ssp: Ssp) -> MessageRows:
        lines = [self._line(message.value or b"") for message in messages]
        batches: list[pa.RecordBatch] = []
        good: list[Message] = []
        bad: list[BadRecord] = []
        for chunk in parse_lines(lines, self._shown, self._options) if lines else ():
            position = len(good) + len(bad)
            if isinstance(chunk, UnreadableRow):
                bad.append(BadRecord(ssp, messages[position].offset, chunk.reason))
            else:
                batches.append(chunk)
                good += messages[position : position + len(chunk)]
        rows = in_utc(pa.Table.from_batches(batches, self._shown), self._schema)
        return MessageRows(rows=rows, messages=MessageTuple(good), bad=tuple(bad))

    def _line(self, value: bytes) -> bytes:
        """Return the known fields of an object on one line, each once; what is no JSON stays, and is refused later."""
        with suppress(ValueError, RecursionError):
            return only_fields(value, tuple(self._objects.names))
        return value.replace(b"\n", b" ") + b"\n"


def _python_type(kind: pa.DataType) -> Any:  # noqa: ANN401 - types are put together from it
    """Return the type that msgspec decodes exactly as Arrow does; None if there is none."""
    if is_raw(kind):
        return msgspec.Raw
    if pa.types.is_string(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind):
        return str
    if pa.types.is_struct(kind):
        return _object_type(kind.fields)
    if pa.types.is_list(kind):
        element = _python_type(kind.value_type)
        return None if element is None else _LIST[_or_null(element)]
    if pa.types.is_map(kind):
        value = _python_type(kind.item_type)
        return None if value is None else _DICT[str, _or_null(value)]
    return _PLAIN.get(kind)


def _object_type(fields: Sequence[pa.Field]) -> type | None:
    kinds = [_python_type(field.type) for field in fields]
    if None in kinds:
        return None
    return object_type((field.name, _or_null(kind)) for field, kind in zip(fields, kinds, strict=True))


def _or_null(kind: Any) -> Any:  # noqa: ANN401 - types are put together from it
    """Return a type that takes JSON's null, too, as what is raw does already."""
    return kind if kind is msgspec.Raw else kind | None
