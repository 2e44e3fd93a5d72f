"""NDJSON files, read and written: one JSON object a line, in UTF-8.

A field that is absent or null is null; fields the schema lacks are ignored. Timestamps, dates and binary values are
text, decimals numbers (or text). JSON has no NaN and no infinities: they are written as null.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from streamapp_systems.file.file_chunks import BLOCK_SIZE, Chunk, UnreadableRow, divide, unreadable_value
from streamapp_systems.file.text_values import format_text, parse_text, shorten

_BRACE = ord("{")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_encode_text = json.JSONEncoder(ensure_ascii=False).encode


class JsonFormat:
    """Reads NDJSON files. Lines with nothing but white space are no records."""

    def count(self, path: Path) -> int:
        """Count records, as `FileFormat` says."""
        with path.open("rb") as file:
            return sum(map(len, _blocks(file)))

    def read(self, path: Path, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """Read records, as `FileFormat` says."""
        with path.open("rb") as file:
            for block in _blocks(file):
                lines = block[start:]
                start -= len(block) - len(lines)
                if lines:
                    yield from parse_lines(lines, schema)


def parse_lines(lines: list[bytes], schema: pa.Schema) -> Iterator[Chunk]:
    """Read lines of one JSON object each, with their line ends, as rows with exactly these columns."""
    return divide(lines, partial(_parse_lines, schema=schema), partial(_explain, schema=schema))


def json_lines(rows: pa.Table) -> Iterator[str]:
    """Write rows as JSON objects, one a line, without the line ends.

    Raises:
        pa.ArrowException: a column's type has no text form.
    """
    for batch in rows.to_batches():
        yield from json_texts(batch).to_pylist()


def json_texts(rows: pa.RecordBatch) -> pa.Array:
    """Write rows as a column of JSON objects; see `json_lines`."""
    texts: list[str | pa.Array] = []
    before = "{"
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        quote, values = _values(column)
        texts += [f"{before}{_encode_text(name)}:{quote}", values]
        before = f"{quote},"
    return pc.binary_join_element_wise(*texts, before.removesuffix(",") + "}", "")


def _values(column: pa.Array) -> tuple[str, pa.Array]:
    """Write a column as JSON, but for the quotes that still have to be put around each of its values, if any."""
    texts = format_text(column)
    if pa.types.is_floating(column.type):
        texts = pc.if_else(pc.is_finite(column), texts, None)
    elif not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type)):
        if not _is_plain(texts):
            texts = pa.array([None if text is None else _encode_text(text) for text in texts.to_pylist()], pa.string())
        elif texts.null_count == 0:
            return '"', texts
        else:
            texts = pc.binary_join_element_wise('"', texts, '"', "")
    return "", pc.fill_null(texts, "null")


def _is_plain(texts: pa.Array) -> bool:
    """Return whether no text has anything that JSON writes with a backslash."""
    _, offsets, data = texts.buffers()
    if data is None:
        return True
    bounds = np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4)
    used = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    return not np.any((used < ord(" ")) | (used == ord('"')) | (used == ord("\\")))


def _blocks(file: BinaryIO) -> Iterator[list[bytes]]:
    """Read the lines that are records, about a block at a time."""
    lines = [file.readline().removeprefix(_BYTE_ORDER_MARK)]
    while lines:
        yield [line for line in lines if line and not line.isspace()]
        lines = file.readlines(BLOCK_SIZE)


def _parse_lines(lines: list[bytes], *, schema: pa.Schema) -> pa.RecordBatch:
    """Parse one record a line.

    Raises:
        ValueError, pa.ArrowException: a line is no record of this schema.
    """
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


def _explain(lines: list[bytes], error: str, *, schema: pa.Schema) -> UnreadableRow:
    """Return this one line as an unreadable row, with the reason."""
    shown = shorten(lines[0].decode(errors="replace").strip())
    try:
        record = json.loads(lines[0])
    except ValueError as reason:
        return UnreadableRow(reason=f"{shown} is no JSON: {reason}")
    if not isinstance(record, dict):
        return UnreadableRow(reason=f"{shown} is no JSON object")
    for field in schema:
        try:
            _parse_lines(lines, schema=pa.schema([field]))
        except (ValueError, pa.ArrowException):
            return unreadable_value(field, record.get(field.name))
    return UnreadableRow(reason=f"{shown} is no record: {error}")
