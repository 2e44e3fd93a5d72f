"""The schemas that Connect writes beside envelopes in JSON: where they say that a value means something else.

A decimal may be bytes in base64, which can look like a number, and a timestamp may count other units than the spec
says.
"""

from collections.abc import Mapping

import msgspec
import pyarrow as pa

from streamapp_core.plan.debezium_envelopes import AFTER
from streamapp_core.spec.streams import JsonTimestamps

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_UNITS = {
    "io.debezium.time.Timestamp": JsonTimestamps.MILLIS,
    "org.apache.kafka.connect.data.Timestamp": JsonTimestamps.MILLIS,
    "io.debezium.time.MicroTimestamp": JsonTimestamps.MICROS,
    "io.debezium.time.NanoTimestamp": None,
    "io.debezium.time.ZonedTimestamp": JsonTimestamps.TEXT,
}
"""The units of timestamps, by the names of their types; None: nanoseconds, which no spec has."""
_KEPT = 1_000
"""Schemas whose judgement is kept: a topic has one after each change of its table."""


class _Field(msgspec.Struct):
    field: str = ""
    name: str | None = None
    fields: list["_Field"] = msgspec.field(default_factory=list)


_decode = msgspec.json.Decoder(_Field).decode


class ConnectSchemas:
    """Judges the schemas that come with envelopes, each once."""

    def __init__(self, columns: Mapping[str, pa.Field], timestamps: JsonTimestamps) -> None:
        """Take the columns of rows by their fields in JSON, and the unit in which timestamps are read."""
        self._columns = columns
        self._timestamps = timestamps
        self._known: dict[bytes, str | None] = {}

    def refusal(self, schema: bytes) -> str | None:
        """Return why rows with a schema can't be read as the spec says; None if nothing in it is against that."""
        if schema not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[schema] = self._judge(schema)
        return self._known[schema]

    def _judge(self, schema: bytes) -> str | None:
        try:
            envelope = _decode(schema)
        except (ValueError, RecursionError):
            return None  # it says nothing, as that of a record without one
        rows = [field for field in envelope.fields if field.field == AFTER]
        reasons = (self._judge_field(field) for row in rows for field in row.fields)
        return next((reason for reason in reasons if reason is not None), None)

    def _judge_field(self, field: _Field) -> str | None:
        column = self._columns.get(field.field)
        if column is None or field.name is None:
            return None
        if field.name == _DECIMAL and not pa.types.is_binary(column.type):
            return (
                f"`{column.name}` is a decimal as bytes in base64: let the connector write texts "
                "(`decimal.handling.mode: string`)"
            )
        if field.name not in _UNITS or not pa.types.is_timestamp(column.type):
            return None
        unit = _UNITS[field.name]
        if unit is self._timestamps:
            return None
        instead = "declare a bigint, and make a timestamp of it in a `map`"
        said = instead if unit is None else f"set `json.timestamps` to {unit}, or {instead}"
        return f"`{column.name}` is {field.name}, and timestamps are read as {self._timestamps}: {said}"
