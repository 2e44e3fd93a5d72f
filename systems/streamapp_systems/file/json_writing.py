"""Rows as JSON objects: columns of texts, made of whole columns at once.

Dates and binary values are text, decimals numbers, maps objects; timestamps are text or numbers, as the options say.
JSON has no NaN and no infinities: they are written as null. Of variants that are null, the field is left out.
"""

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.spec.streams import PLAIN_JSON, JsonOptions, JsonTimestamps
from streamapp_systems.file.json_layout import to_epoch
from streamapp_systems.file.text_values import format_text
from streamapp_systems.native.json_encoding import JsonKind, JsonMember, json_kind, write_objects
from streamapp_systems.native.library import native_library
from streamapp_systems.variants.variant_columns import format_variants, is_variant

_encode_text = json.JSONEncoder(ensure_ascii=False).encode


def json_lines(rows: pa.Table, options: JsonOptions = PLAIN_JSON) -> Iterator[str]:
    """Write rows as JSON objects, one a line, without the line ends.

    Raises:
        pa.ArrowException: a column's type has no text form.
    """
    for batch in rows.to_batches():
        yield from json_texts(batch, options).to_pylist()


def json_texts(rows: pa.RecordBatch, options: JsonOptions = PLAIN_JSON) -> pa.Array:
    """Write rows as a column of JSON objects; see `json_lines`."""
    names = [options.field_of(name) for name in rows.schema.names]
    return _objects(names, rows.columns, options.timestamps)


def _objects(names: list[str], columns: list[pa.Array], timestamps: JsonTimestamps) -> pa.Array:
    if any(is_variant(column.type) and column.null_count for column in columns):
        return _objects_without_missing(names, columns, timestamps)
    written = write_objects([*_members(names, columns, timestamps)]) if native_library().functions is not None else None
    return _joined_objects(names, columns, timestamps) if written is None else written


def _members(names: list[str], columns: list[pa.Array], timestamps: JsonTimestamps) -> Iterator[JsonMember]:
    before = "{"
    for name, column in zip(names, columns, strict=True):
        values = to_epoch(column, timestamps)
        kind = None if is_variant(values.type) else json_kind(values.type)
        if kind is None:
            quote, values = _values(values, timestamps)
            kind = JsonKind.WRITTEN_IN_QUOTES if quote else JsonKind.WRITTEN
        yield JsonMember(f"{before}{_encode_text(name)}:", values, kind)
        before = ","


def _joined_objects(names: list[str], columns: list[pa.Array], timestamps: JsonTimestamps) -> pa.Array:
    texts: list[str | pa.Array] = []
    before = "{"
    for name, column in zip(names, columns, strict=True):
        quote, values = _values(column, timestamps)
        texts += [f"{before}{_encode_text(name)}:{quote}", values]
        before = f"{quote},"
    return pc.binary_join_element_wise(*texts, before.removesuffix(",") + "}", "")


def _objects_without_missing(names: list[str], columns: list[pa.Array], timestamps: JsonTimestamps) -> pa.Array:
    """Write objects without the variants that are null: a null of JSON is a value that a variant has."""
    members = []
    for name, column in zip(names, columns, strict=True):
        quote, values = _values(column, timestamps)
        member = pc.binary_join_element_wise(f",{_encode_text(name)}:{quote}", values, quote, "")
        members.append(pc.if_else(column.is_valid(), member, "") if is_variant(column.type) else member)
    opened = pc.binary_replace_slice(pc.binary_join_element_wise(*members, ""), 0, 1, "{")
    return pc.binary_join_element_wise(opened, "}", "")


def _values(column: pa.Array, timestamps: JsonTimestamps) -> tuple[str, pa.Array]:
    """Write a column as JSON, but for the quotes that still have to be put around each of its values, if any."""
    if is_variant(column.type):
        return "", pc.fill_null(format_variants(column), "null")
    if pa.types.is_nested(column.type):
        return "", pc.if_else(column.is_valid(), _nested_values(column, timestamps), "null")
    column = to_epoch(column, timestamps)
    texts = format_text(column)
    if pa.types.is_floating(column.type):
        texts = pc.if_else(pc.is_finite(column), texts, None)
    elif not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type)):
        return _quoted(texts)
    return "", texts if texts.null_count == 0 else pc.fill_null(texts, "null")


def _quoted(texts: pa.Array) -> tuple[str, pa.Array]:
    if not _is_plain(texts):
        texts = pa.array([None if text is None else _encode_text(text) for text in texts.to_pylist()], pa.string())
    elif texts.null_count == 0:
        return '"', texts
    else:
        texts = pc.binary_join_element_wise('"', texts, '"', "")
    return "", pc.fill_null(texts, "null")


def _nested_values(column: pa.Array, timestamps: JsonTimestamps) -> pa.Array:
    if pa.types.is_struct(column.type):
        return _objects([field.name for field in column.type.fields], column.flatten(), timestamps)
    if pa.types.is_map(column.type):
        entries = column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
        key, value = entries.flatten().flatten()
        opening, names = _quoted(format_text(key))
        quote, values = _values(value, timestamps)
        members = pc.binary_join_element_wise(opening, names, f"{opening}:{quote}", values, quote, "")
        return _joined(entries, members, "{", "}")
    quote, values = _values(column.flatten(), timestamps)
    return _joined(column, pc.binary_join_element_wise(quote, values, quote, ""), "[", "]")


def _joined(lists: pa.Array, members: pa.Array, opening: str, closing: str) -> pa.Array:
    """Join the texts of the elements of each list."""
    lengths = pc.fill_null(lists.value_lengths(), 0).to_numpy(zero_copy_only=False)
    starts = pa.array(np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), pa.int32())
    joined = pc.binary_join(pa.ListArray.from_arrays(starts, members), ",")
    return pc.binary_join_element_wise(opening, joined, closing, "")


def _is_plain(texts: pa.Array) -> bool:
    """Return whether no text has anything that JSON writes with a backslash."""
    _, offsets, data = texts.buffers()
    if data is None:
        return True
    bounds = np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4)
    used = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    return not np.any((used < ord(" ")) | (used == ord('"')) | (used == ord("\\")))
