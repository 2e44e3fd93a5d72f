"""NDJSON files, read: one JSON object a line, in UTF-8.

A field that is absent or null is null; fields the schema lacks are ignored. Dates and binary values are text, decimals
numbers (or text), timestamps text or numbers, as the options say. An object or array where the schema says `string` is
its text.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import BinaryIO

import pyarrow as pa
import pyarrow.json

from streamapp_core.spec.streams import PLAIN_JSON, JsonOptions, JsonTimestamps
from streamapp_systems.file.compressed_files import open_bytes
from streamapp_systems.file.file_chunks import BLOCK_SIZE, Chunk, UnreadableRow, divide, unreadable_value
from streamapp_systems.file.json_layout import object_schema, to_row_columns
from streamapp_systems.file.json_nested import Texts, field_texts, only_fields, parse_nested
from streamapp_systems.file.native_json import NativeJsonReader, native_json_reader
from streamapp_systems.file.text_values import parse_text, shorten
from streamapp_systems.objects import Place
from streamapp_systems.variants.variant_columns import is_variant
from streamapp_systems.variants.variant_json import NO_VARIANTS

_BRACE = ord("{")
_ONE_LINE = "; in a file each object is one line (`jq -c .` writes it so)"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonFormat:
    """Reads NDJSON files. Lines with nothing but white space are no records."""

    def __init__(self, options: JsonOptions = PLAIN_JSON) -> None:
        self._options = options

    def count(self, path: Place) -> int:
        """Count records, as `FileFormat` says."""
        with open_bytes(path) as file:
            return sum(map(len, _blocks(file)))

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """Read records, as `FileFormat` says."""
        native = native_json_reader(schema, (), self._options, "UTC")
        with open_bytes(path) as file:
            for block in _blocks(file):
                lines = block[start:]
                start -= len(block) - len(lines)
                if lines:
                    yield from _read_natively(lines, native) or parse_lines(lines, schema, self._options)


def parse_lines(lines: list[bytes], schema: pa.Schema, options: JsonOptions = PLAIN_JSON) -> Iterator[Chunk]:
    """Read lines of one JSON object each, with their line ends, as rows with exactly these columns."""
    return divide(
        lines, partial(_parse_rows, schema=schema, options=options), partial(_explain, schema=schema, options=options)
    )


def _read_natively(lines: list[bytes], native: NativeJsonReader | None) -> list[pa.RecordBatch]:
    """Read lines by the native library; nothing is returned unless it is sure of all."""
    values = None if native is None else pa.array(lines, pa.binary())
    if native is None or not isinstance(values, pa.BinaryArray):
        return []
    found = native.read(values)
    batches: list[pa.RecordBatch] = [] if found is None or len(found.rows) < len(lines) else found.rows.to_batches()
    return batches


def _blocks(file: BinaryIO) -> Iterator[list[bytes]]:
    """Read the lines that are records, about a block at a time."""
    lines = [file.readline().removeprefix(_BYTE_ORDER_MARK)]
    while lines:
        yield [line for line in lines if line and not line.isspace()]
        lines = file.readlines(BLOCK_SIZE)


def _parse_rows(lines: list[bytes], *, schema: pa.Schema, options: JsonOptions) -> pa.RecordBatch:
    """Parse one record a line.

    Raises:
        ValueError, pa.ArrowException: a line is no record of this schema.
    """
    objects = _parse_objects(lines, object_schema(schema, options))
    columns = to_row_columns(objects.columns, schema, options.timestamps)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _parse_objects(lines: list[bytes], schema: pa.Schema) -> pa.RecordBatch:
    plain = pa.schema([field for field in schema if not pa.types.is_nested(field.type)])
    if len(plain) == len(schema):
        return _parse_plain(lines, schema)
    nested = {field.name: field.type for field in schema if pa.types.is_nested(field.type)}
    columns = dict(zip(plain.names, _parse_plain(lines, plain).columns, strict=True)) if len(plain) else {}
    if not columns:
        b"".join(lines).decode()
    try:
        texts = field_texts([line.removeprefix(_BYTE_ORDER_MARK) for line in lines], tuple(nested))
        for (name, kind), column in zip(nested.items(), texts, strict=True):
            columns[name] = parse_nested(column, kind, _parse_values)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _parse_values(texts: Texts, to: pa.DataType) -> pa.Array:
    """Parse plain values that stand in nested ones, as if they were a column."""
    if not texts:
        return pa.array([], to)
    lines = [b"{}\n" if text is None else b'{"v":' + text + b"}\n" for text in texts]
    return _parse_plain(lines, pa.schema([("v", to)])).column(0)


def _parse_plain(lines: list[bytes], schema: pa.Schema) -> pa.RecordBatch:
    try:
        return _parse_as_they_are(lines, schema)
    except (ValueError, pa.ArrowException):
        strings = {field.name for field in schema if pa.types.is_string(field.type)}
        try:
            known = [only_fields(line, tuple(schema.names), strings) for line in lines]
        except (ValueError, RecursionError):
            known = lines
        if known == lines:
            raise
        return _parse_as_they_are(known, schema)


def _parse_as_they_are(lines: list[bytes], schema: pa.Schema) -> pa.RecordBatch:
    if any(first != _BRACE for first in map(itemgetter(0), lines)):
        _refuse_others(lines)
    data = b"".join(lines)
    if not data.isascii():
        data.decode()  # The parser does not check that text is UTF-8.
    parsed = pa.json.read_json(
        pa.BufferReader(data),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pa.json.ParseOptions(
            explicit_schema=pa.schema([(field.name, _parsed_type(field.type)) for field in schema]),
            unexpected_field_behavior="ignore",
        ),
    )
    if parsed.num_rows != len(lines):
        raise ValueError(f"it holds {parsed.num_rows} JSON objects")
    (rows,) = parsed.combine_chunks().to_batches()
    for column in rows.columns:
        if pa.types.is_decimal(column.type):
            column.validate(full=True)  # The parser lets more digits through than the type has.
    columns = [
        parse_text(column, field.type) if pa.types.is_string(column.type) else column
        for column, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _refuse_others(lines: Sequence[bytes]) -> None:
    """Refuse what does not begin as an object: the parser takes `null` for one, or crashes."""
    if not all(line.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{") for line in lines):
        raise ValueError("it is no JSON object")


def _parsed_type(to: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_temporal(to) or pa.types.is_binary(to) else to


def _explain(lines: list[bytes], error: str, *, schema: pa.Schema, options: JsonOptions) -> UnreadableRow:
    """Return this one line as an unreadable row, with the reason."""
    shown = shorten(lines[0].decode(errors="replace").strip())
    try:
        record = json.loads(lines[0])
    except (ValueError, RecursionError) as reason:
        cut = isinstance(reason, json.JSONDecodeError) and reason.pos >= len(reason.doc.strip())
        return UnreadableRow(reason=f"{shown} is no JSON: {reason}{_ONE_LINE if cut else ''}")
    if not isinstance(record, dict):
        lines_of_array = "; in a file each line is one object (`jq -c '.[]'` writes an array so)"
        return UnreadableRow(reason=f"{shown} is no JSON object{lines_of_array if isinstance(record, list) else ''}")
    for field in schema:
        try:
            _parse_rows(lines, schema=pa.schema([field]), options=options)
        except (ValueError, pa.ArrowException):
            return _explain_value(field, record.get(options.field_of(field.name)), options)
    return UnreadableRow(reason=f"{shown} is no record: {error}")


def _explain_value(field: pa.Field, value: object, options: JsonOptions) -> UnreadableRow:
    if pa.types.is_string(field.type) and isinstance(value, int | float):
        kind, types = ("a boolean", "boolean") if isinstance(value, bool) else ("a number", "int, bigint or double")
        return UnreadableRow(
            reason=f"column {field.name}: {json.dumps(value)} is no text but {kind}: declare the column as {types}"
        )
    reason = unreadable_value(field, value).reason
    if is_variant(field.type):
        reason += f": {NO_VARIANTS}"
    if pa.types.is_timestamp(field.type) and field.type.tz is not None:
        if options.timestamps is not JsonTimestamps.TEXT:
            reason += f" as a whole number of {options.timestamps} (`json.timestamps`) of the years 1 to 9999"
        elif type(value) is int:
            reason += (
                " as text: if it counts from 1970, set the stream's `json.timestamps` to seconds, millis or micros"
            )
    return UnreadableRow(reason=reason)
