"""JSON objects as rows by the native library, as far as it is sure of them."""

from collections.abc import Collection

import pyarrow as pa

from streamapp_core.spec.streams import JsonOptions
from streamapp_systems.arrow_types import in_time_zone, in_utc
from streamapp_systems.file.json_column_values import parse_column
from streamapp_systems.native.decoded_messages import NativeDecodingError, NativeRows
from streamapp_systems.native.json_decoding import NativeJsonDecoder


class NativeJsonReader:
    """Reads the objects of one stream."""

    def __init__(self, decoder: NativeJsonDecoder, shown: pa.Schema, schema: pa.Schema) -> None:
        """Take the decoder of columns, and their schema in the stream's time zone and in UTC."""
        self._decoder = decoder
        self._shown = shown
        self._schema = schema

    def read(self, values: pa.BinaryArray) -> NativeRows | None:
        """Read one object a value; None if another decoder has to read all of them."""
        found = self._decoder.decode(values)
        try:
            columns = [
                pa.nulls(found.count, field.type) if column is None else parse_column(column, field.type)
                for column, field in zip(found.columns, self._shown, strict=True)
            ]
        except (ValueError, TypeError, OverflowError, RecursionError, pa.ArrowException):
            return None
        return NativeRows(
            kinds=found.kinds, rows=in_utc(pa.Table.from_arrays(columns, schema=self._shown), self._schema)
        )


def native_json_reader(
    schema: pa.Schema, unread: Collection[str], options: JsonOptions, time_zone: str
) -> NativeJsonReader | None:
    """Return the reader of objects with these columns; None if there is none, as the native library is absent.

    Texts of timestamps that name no time zone are in `time_zone`. Columns that are `unread` may be null.
    """
    if not len(schema):
        return None
    shown = in_time_zone(schema, time_zone)
    fields = pa.schema([(options.field_of(field.name), field.type) for field in shown])
    left_out = {options.field_of(name) for name in unread}
    try:
        return NativeJsonReader(NativeJsonDecoder(fields, options.timestamps, left_out), shown, schema)
    except NativeDecodingError:
        return None
