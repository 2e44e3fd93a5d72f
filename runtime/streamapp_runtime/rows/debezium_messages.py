"""Rows of tables in the envelopes that Debezium writes: JSON, with or without Connect's schema, or Avro.

A record's key is that of its row, so that a deletion, and a record without a value, which is all that may be left of
one in a compacted topic, say by themselves which row is gone.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.plan.debezium_envelopes import AFTER, KIND, TIME_UNITS, envelope_schema, row_columns, time_name
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import JsonOptions, StreamFormat, StreamSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_keys import AvroKeys
from streamapp_runtime.rows.avro_messages import AvroDecoder, WriterSchemas
from streamapp_runtime.rows.connect_schemas import ConnectSchemas
from streamapp_runtime.rows.debezium_keys import JsonKeys
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.key_readers import KeyReader
from streamapp_runtime.rows.message_rows import MessageDecoder, MessageRows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import BadRecord, Message, Messages, MessageTuple
from streamapp_systems.variants.variant_columns import is_variant
from streamapp_systems.variants.variant_encoding import encoded_text

_ADDS, _DELETES = frozenset("cru"), "d"
_UNAVAILABLE = "__debezium_unavailable_value"
"""What stands for a large value that a change left as it was, if the database's log does not have it."""
_UNAVAILABLE_VARIANT = encoded_text(_UNAVAILABLE)
_FIRST, _END = -62_135_596_800_000_000, 253_402_300_800_000_000
"""Microseconds: the years 1 to 9999 that Spark's timestamps have."""
_NO_KEY = (
    "it has no key, so nobody knows which row it is about: Debezium takes the primary key of a table, or the columns "
    "of its setting `message.key.columns`"
)


class _Top(msgspec.Struct):
    """The top of an object: Connect's has a schema and a payload, an envelope has an `op`."""

    schema: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    op: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_top = msgspec.json.Decoder(_Top).decode


class DebeziumDecoder:
    """Decodes the envelopes of one table: the newest rows of its keys, and deletions."""

    _values: MessageDecoder
    _keys: KeyReader

    def __init__(self, schema: Schema, stream: StreamSpec, schemas: WriterSchemas, time_zone: str) -> None:
        """Take the columns that rows have, the stream, the schemas that Avro names, and the zone of texts with none."""
        key = [column for name in stream.key_columns if (column := schema.get(name)) is not None]
        self._schema = arrow_schema(schema)
        self._key = {column.name: place for place, column in enumerate(key)}
        self._metadata = stream.debezium.columns
        of_table = [name for name in schema.names if name not in self._metadata]
        self._fields = {name: place for place, name in enumerate(of_table)}
        self._in_json = stream.format is not StreamFormat.AVRO
        envelope, fields = envelope_schema(schema, stream), row_columns(schema, stream)
        key_fields = [fields[self._fields[column.name]] for column in key]
        self._schemas = ConnectSchemas(
            {field.name: self._schema.field(name) for field, name in zip(fields, of_table, strict=True)},
            stream.json_options.timestamps,
        )
        if self._in_json:
            options = JsonOptions(timestamps=stream.json_options.timestamps)
            self._values = JsonDecoder(arrow_schema(envelope), (), options, time_zone)
            self._keys = JsonKeys(key_fields, options, time_zone)
        else:
            self._values, self._keys = AvroDecoder(envelope, schemas), AvroKeys(key, schemas)

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`; records without a value delete."""
        every = MessageTuple(messages)
        keys = self._keys.read([message for message in every if message.key is not None], ssp)
        reasons = {message.offset: _NO_KEY for message in every if message.key is None}
        envelopes = self._values.decode(MessageTuple(self._envelopes(every, reasons)), ssp)
        reasons |= {record.offset: record.reason for record in keys.bad}
        changes = envelopes.rows.column(KIND).to_pylist()
        rows = envelopes.rows.column(AFTER).is_valid().to_pylist()
        for message, change, has_row in zip(envelopes.messages, changes, rows, strict=True):
            if reason := _refusal(change, has_row=has_row):
                reasons[message.offset] = reason
        reasons |= {record.offset: record.reason for record in envelopes.bad}
        places = {message.offset: row for row, message in enumerate(envelopes.messages)}
        kept = [row for row, message in enumerate(keys.messages) if message.offset not in reasons]
        offsets = [keys.messages[row].offset for row in kept]
        found = [places.get(offset) for offset in offsets]
        deleted = np.array([row is None or changes[row] == _DELETES for row in found], np.bool_)
        table, wrong = self._rows(keys.rows.take(_places(kept)), envelopes.rows, found, deleted)
        reasons |= {offsets[row]: reason for row, reason in wrong.items()}
        stays = np.array([row not in wrong for row in range(len(kept))], np.bool_)
        return MessageRows(
            rows=table.filter(pa.array(stays)),
            messages=MessageTuple(message for message in every if message.offset not in reasons),
            bad=tuple(BadRecord(ssp, offset, reasons[offset]) for offset in sorted(reasons)),
            deleted=deleted[stays],
        )

    def _envelopes(self, messages: Sequence[Message], reasons: dict[int, str]) -> Iterator[Message]:
        """Yield the messages with a value, without Connect's schemas; what these are against goes to `reasons`."""
        for message in messages:
            if message.value is None:
                continue
            top = _wrapped(message.value) if self._in_json else None
            if top is None:
                yield message
                continue
            reason = self._schemas.refusal(bytes(top[0]))
            if reason is not None:
                reasons[message.offset] = reason
            yield message._replace(value=bytes(top[1]))

    def _rows(
        self, keys: pa.Table, envelopes: pa.Table, found: Sequence[int | None], deleted: np.ndarray
    ) -> tuple[pa.Table, dict[int, str]]:
        """Return rows with these keys, of the envelopes where they were found, and why some are none."""
        wrong: dict[int, str] = {}
        after = [None if gone else row for row, gone in zip(found, deleted, strict=True)]
        values = envelopes.column(AFTER).take(_places(after)).combine_chunks().flatten()
        columns = []
        for field in self._schema:
            path = self._metadata.get(field.name)
            if path is not None:
                columns.append(self._beside(path, field, envelopes, found, wrong))
            elif field.name in self._key:
                columns.append(keys.column(self._key[field.name]).combine_chunks())
                _compare(field.name, columns[-1], values[self._fields[field.name]], deleted, wrong)
            else:
                columns.append(values[self._fields[field.name]])
                _find_unavailable(field.name, columns[-1], wrong)
        return pa.Table.from_arrays(columns, schema=self._schema), wrong

    def _beside(
        self, path: str, field: pa.Field, envelopes: pa.Table, found: Sequence[int | None], wrong: dict[int, str]
    ) -> pa.Array:
        """Return a column that stands beside the rows; times may be those of timestamps."""
        above, _, name = path.rpartition(".")
        column = envelopes.column(above or name).take(_places(found)).combine_chunks()
        if above:
            column = column.flatten()[column.type.get_field_index(name)]
        unit = time_name(path)
        if unit is None or not pa.types.is_timestamp(field.type):
            return column
        factor = TIME_UNITS[unit]
        numbers, missing = pc.fill_null(column, 0).to_numpy(), column.is_null().to_numpy(zero_copy_only=False)
        first, end = (_FIRST // factor, _END // factor) if factor > 0 else (_FIRST * -factor, _END * -factor)
        outside = ((numbers < first) | (numbers >= end)) & ~missing
        for row in np.flatnonzero(outside).tolist():
            wrong[row] = f"`{path}` is {numbers[row]}, no time of the years 1 to 9999"
        numbers = np.where(outside, 0, numbers)
        micros = numbers * factor if factor > 0 else np.floor_divide(numbers, -factor)
        return pa.array(micros, pa.int64(), mask=missing).cast(field.type)


def _compare(name: str, keys: pa.Array, in_rows: pa.Array, deleted: np.ndarray, wrong: dict[int, str]) -> None:
    """Find rows with another key than their record, and keys that are null."""
    alike = pc.fill_null(pc.equal(keys, in_rows), fill_value=False).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~alike & ~deleted).tolist():
        wrong[row] = (
            f"its key has `{name}` {keys[row].as_py()!r}, and its row {in_rows[row].as_py()!r}: "
            "a deletion by such a key would not find the row"
        )
    for row in np.flatnonzero(keys.is_null().to_numpy(zero_copy_only=False)).tolist():
        wrong[row] = f"its key has no `{name}`"


def _wrapped(value: bytes) -> tuple[msgspec.Raw, msgspec.Raw] | None:
    """Return the schema and the payload of Connect; None of an envelope alone, and of what is no JSON."""
    if b'"payload"' not in value:
        return None
    try:
        top = _top(value)
    except (ValueError, RecursionError):
        return None
    schema, payload = top.schema, top.payload
    if top.op is not msgspec.UNSET or schema is msgspec.UNSET or payload is msgspec.UNSET:
        return None
    return schema, payload


def _refusal(change: str | None, *, has_row: bool) -> str | None:
    """Return why an envelope is no change of a row; None if it is."""
    if change == _DELETES or (change in _ADDS and has_row):
        return None
    if change is None:
        return (
            "it is no envelope of Debezium: it has no `op`. Rows that a transform has taken out of them are read with "
            "`changes: upsert`"
        )
    if change in _ADDS:
        return f"it has no row in `{AFTER}`, though its `op` is {change}"
    if change == "t":
        return (
            "its table was truncated (`op` is t), which says of no key that it is gone: delete the rows one by one, or "
            "begin a new run with a new topic"
        )
    return f"its `op` is {change!r}, and rows are changed by c, r, u and d"


def _find_unavailable(name: str, column: pa.Array, wrong: dict[int, str]) -> None:
    """Find values that Debezium did not know: they are no values of the row."""
    for row in _unavailable(column).tolist():
        wrong[row] = (
            f"`{name}` is {_UNAVAILABLE}: the database's log does not have it. Let the log have whole rows (in "
            "PostgreSQL: alter table ... replica identity full), or leave the column out"
        )


def _unavailable(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return the places of a column whose values are what stands for one that nobody knows, or hold it."""
    kind = column.type
    if pa.types.is_map(kind):
        entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return _unavailable(column.cast(pa.list_(entry)))
    if pa.types.is_list(kind):
        parents = pc.list_parent_indices(column).to_numpy()
        return np.unique(parents[_unavailable(pc.list_flatten(column))])
    if is_variant(kind):
        alike = pc.equal(column.flatten()[0], _UNAVAILABLE_VARIANT)
    elif pa.types.is_struct(kind):
        return np.unique(np.concatenate([np.empty(0, np.int64), *map(_unavailable, column.flatten())]))
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        alike = pc.equal(column.cast(pa.binary()), _UNAVAILABLE.encode())
    else:
        return np.empty(0, np.int64)
    return np.flatnonzero(pc.fill_null(alike, fill_value=False).to_numpy(zero_copy_only=False))


def _places(rows: Sequence[int | None]) -> pa.Array:
    return pa.array(rows, pa.int64())
