"""Keys of one or several columns: of records, and of rows that meet (docs/kafka.md).

A key of several columns is a text: JSON without spaces, in which equal values of a type have equal texts. Texts escape
only what JSON has to (RFC 8785); the forms of other types are those of keys of one column.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.plan.plan import PlannedStream
from streamapp_core.spec.streams import KeyFormat
from streamapp_runtime.rows.partitioning import key_texts

_ESCAPED = r'["\\\x00-\x1f]'
_NO_NUMBERS = pa.array(["NaN", "Infinity", "-Infinity"], pa.large_string())
"""Floating numbers that JSON doesn't have stand in it as texts."""


@dataclass(frozen=True, slots=True)
class RecordKey:
    """The columns whose values are the key of a record; if they are several, by these fields of a JSON object."""

    columns: tuple[str, ...]
    fields: tuple[str, ...] = ()
    form: KeyFormat = KeyFormat.STRING

    def values(self, rows: pa.Table) -> pa.ChunkedArray:
        """Return the key of each row: the values of its column, or the texts of JSON objects, of which none is null."""
        found = [rows.column(_name(rows, column)) for column in self.columns]
        return found[0] if len(found) == 1 else key_objects(found, self.fields)


def record_key(stream: PlannedStream) -> RecordKey:
    """Return the key of the records of a stream that has one."""
    return RecordKey(stream.key, stream.key_fields, stream.key_format)


def key_objects(columns: Sequence[pa.ChunkedArray], fields: Sequence[str]) -> pa.ChunkedArray:
    """Return a JSON object for each row, with a field for each column; null is `null`."""
    parts = [pc.fill_null(_texts(column), "null") for column in columns]
    names = [f"{'{' if number == 0 else ','}{_text(field)}:" for number, field in enumerate(fields)]
    return _concatenated([piece for pair in zip(names, parts, strict=True) for piece in pair], "}")


def joined_keys(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return a key by which rows meet: a column, or texts that are equal if all columns are; null if one is null."""
    if len(columns) == 1:
        return columns[0]
    first, *others = [_texts(column) for column in columns]
    return _concatenated(["[", first, *(piece for part in others for piece in (",", part))], "]")


def _name(rows: pa.Table, column: str) -> str:
    names: list[str] = rows.column_names
    return column if column in names else next(name for name in names if name.lower() == column.lower())


def _concatenated(pieces: Sequence[str | pa.Array], end: str) -> pa.ChunkedArray:
    texts = [pa.scalar(piece, pa.large_string()) if isinstance(piece, str) else piece for piece in (*pieces, end, "")]
    return pa.chunked_array([pc.binary_join_element_wise(*texts).cast(pa.string())])


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """Return the JSON of each value; each different one is written once."""
    encoded = column.combine_chunks().dictionary_encode()
    return _distinct_texts(encoded.dictionary).take(encoded.indices)


def _distinct_texts(values: pa.Array) -> pa.Array:
    if pa.types.is_binary(values.type):
        texts = [None if value is None else f'"{base64.b64encode(value).decode()}"' for value in values.to_pylist()]
        return pa.array(texts, pa.large_string())
    if not pa.types.is_string(values.type):
        texts = key_texts(values).cast(pa.large_string())
        if pa.types.is_floating(values.type):
            quoted = _quoted(texts)
            texts = pc.if_else(pc.is_in(texts, value_set=_NO_NUMBERS), quoted, texts)
        return texts
    values = values.cast(pa.large_string())
    if pc.any(pc.match_substring_regex(values, _ESCAPED)).as_py():
        return pa.array([None if value is None else _text(value) for value in values.to_pylist()], pa.large_string())
    return _quoted(values)


def _quoted(texts: pa.Array) -> pa.Array:
    quote, nothing = (pa.scalar(text, pa.large_string()) for text in ('"', ""))
    return pc.binary_join_element_wise(quote, texts, quote, nothing)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
