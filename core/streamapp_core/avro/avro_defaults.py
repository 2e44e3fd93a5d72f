"""The default of a field, which a schema has as JSON, as a value of Avro."""

import json
import struct
from collections.abc import Mapping
from typing import Any

from streamapp_core.avro.avro_schema import AvroField, AvroKind, AvroSchemaError, AvroType

_WIDTHS = {AvroKind.INT: 31, AvroKind.LONG: 63}
_FORMS = {AvroKind.FLOAT: "<f", AvroKind.DOUBLE: "<d"}


def default_value(field: AvroField) -> bytes | None:
    """Return the bytes of a field's default; None if it has none.

    Raises:
        AvroSchemaError: it is no value of the field's type.
    """
    if field.default is None:
        return None
    try:
        return _encoded(field.type, json.loads(field.default))
    except (TypeError, ValueError, OverflowError, struct.error):
        raise AvroSchemaError(f"field {field.name}: its default, {field.default[:80]}, is no {field.type}") from None


def _encoded(avro: AvroType, value: Any) -> bytes:  # noqa: ANN401, PLR0911 - JSON; one for each type
    """Return the bytes of a value; of a union it is one of the first branch that it fits.

    Raises:
        TypeError, ValueError, OverflowError, struct.error: it is none.
    """
    match avro.kind:
        case AvroKind.UNION:
            return _of_union(avro, value)
        case AvroKind.RECORD if isinstance(value, dict):
            return b"".join(_of_record(field, value) for field in avro.fields)
        case AvroKind.ARRAY if isinstance(value, list):
            return _block([_encoded(avro.parts[0], item) for item in value])
        case AvroKind.MAP if isinstance(value, dict):
            return _block([_text(key.encode()) + _encoded(avro.parts[0], item) for key, item in value.items()])
        case AvroKind.ENUM:
            return encode_number(avro.symbols.index(value))
        case _ if isinstance(value, str):
            return _of_text(avro, value)
    return _plain(avro.kind, value)


def _of_text(avro: AvroType, value: str) -> bytes:
    match avro.kind:
        case AvroKind.STRING:
            return _text(value.encode())
        case AvroKind.BYTES:
            return _text(value.encode("latin-1"))
        case AvroKind.FIXED if len(value) == avro.size:
            return value.encode("latin-1")
    return _no_value()


def _plain(kind: AvroKind, value: Any) -> bytes:  # noqa: ANN401 - JSON
    match kind:
        case AvroKind.NULL if value is None:
            return b""
        case AvroKind.BOOLEAN if isinstance(value, bool):
            return bytes([value])
        case AvroKind.INT | AvroKind.LONG if type(value) is int and -1 <= value >> _WIDTHS[kind] <= 0:
            return encode_number(value)
        case AvroKind.FLOAT | AvroKind.DOUBLE if not isinstance(value, bool):
            return struct.pack(_FORMS[kind], value)
    return _no_value()


def _no_value() -> bytes:
    raise ValueError("it is no value of the type")


def _of_union(avro: AvroType, value: Any) -> bytes:  # noqa: ANN401 - JSON
    for number, branch in enumerate(avro.parts):
        try:
            return encode_number(number) + _encoded(branch, value)
        except (TypeError, ValueError, OverflowError, struct.error):
            continue
    return _no_value()


def _of_record(field: AvroField, values: Mapping[str, Any]) -> bytes:
    if field.name in values:
        return _encoded(field.type, values[field.name])
    default = default_value(field)
    return _no_value() if default is None else default


def _block(items: list[bytes]) -> bytes:
    return b"".join((encode_number(len(items)), *items, b"\x00")) if items else b"\x00"


def _text(value: bytes) -> bytes:
    return encode_number(len(value)) + value


def encode_number(value: int) -> bytes:
    """Return a whole number in zigzag and of variable length: an int, a long, or the number of a union's branch."""
    left = (value << 1) ^ (value >> 63)
    found = bytearray()
    while left > 0x7F:  # noqa: PLR2004 - the bits that a byte holds
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*found, left))
